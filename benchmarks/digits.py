"""The example of the first page: is a handwritten digit even or odd? Ten vectors beside three other models.

Random splits of scikit-learn's 1,797 digits, three quarters to fit. C and gamma of the SVM are chosen by five folds of
the training samples; ours has one scale for all pixels, no linear part and nothing tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._data import Settings
from benchmarks._report import Row, standard_error
from spkm import SPKMClassifier

COLUMNS = ("± over splits", "vectors", "splits")
GRID = {"C": [1, 10, 100], "gamma": [0.0003, 0.001, 0.003]}  # of pixels from 0 to 16


def ours(n_basis: int = 10) -> SPKMClassifier:
    """Return the model of the first page."""
    return SPKMClassifier(n_basis=n_basis, scale="common", linear_part=False, random_state=0)


def linear() -> Any:
    """Return a logistic regression."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))


MODELS: dict[str, tuple[Callable[[], Any], Callable[[Any], int]]] = {
    "ours, 10 vectors": (ours, lambda model: len(model.basis_vectors_)),
    "ours, 5 vectors": (lambda: ours(5), lambda model: len(model.basis_vectors_)),
    "logistic regression": (linear, lambda model: 0),
    "SVM, tuned": (lambda: GridSearchCV(SVC(), GRID, cv=5), lambda model: int(model.best_estimator_.n_support_.sum())),
}


def run(settings: Settings) -> Iterator[Row]:
    """Yield the accuracy of each model, and its number of vectors."""
    X, digit = load_digits(return_X_y=True)
    y = np.where(digit % 2 == 0, "even", "odd")
    n_splits = settings.n_seeds(10)
    for name, (make, size) in MODELS.items():
        found, sizes = [], []
        for seed in range(n_splits):
            X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
            model = make().fit(X_train, y_train)
            found.append(100 * model.score(X_test, y_test))
            sizes.append(size(model))
        error = standard_error(np.array(found))
        more = ("" if np.isnan(error) else f"{error:.2f}", f"{np.mean(sizes):.0f}", str(n_splits))
        yield Row(f"even or odd: {name}, accuracy %", float(np.mean(found)), None, "{:.1f}", more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["digits", *sys.argv[1:]])
