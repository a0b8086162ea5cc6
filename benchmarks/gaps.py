"""Samples with gaps: expected probabilities and targets beside three imputers, with one model for all four.

Five tables; a model of the complete training samples, test samples of which 30 % of the numbers are missing at random.
Imputers (mean, five nearest neighbours, iterative) learn from the training samples, and the model predicts what they
fill in; ``with_gaps`` needs their means and covariances. Log loss of classes, root mean squared error of numbers over
the deviation of the targets; means over splits. "Nothing missing" is the same model on the test samples as they were.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_friedman1
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks._data import Settings
from benchmarks._report import Row, progress
from spkm import SPKMClassifier, SPKMRegressor
from spkm.explain import with_gaps

COLUMNS = ("mean", "5 nearest", "iterative", "nothing missing")
MISSING = 0.3


def sets() -> dict[str, tuple[np.ndarray, np.ndarray, bool]]:
    """Return samples, targets and whether they are classes, of five tables."""
    rng = np.random.default_rng(0)
    X, y = make_friedman1(600, n_features=5, noise=0.5, random_state=0)
    mixed = X @ rng.normal(size=(5, 8)) + 0.1 * rng.normal(size=(600, 8))  # eight columns of five causes
    return {
        "iris": (*load_iris(return_X_y=True), True),
        "wine": (*load_wine(return_X_y=True), True),
        "breast cancer": (*load_breast_cancer(return_X_y=True), True),
        "diabetes": (*load_diabetes(return_X_y=True), False),
        "friedman 1, mixed": (mixed, y, False),
    }


def run(settings: Settings) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (X, y, classes) in sets().items():
            found = np.mean([of_split(X, y, classes, seed) for seed in range(settings.n_seeds(10))], axis=0)
            progress(f"{name}: {found}")
            kind = "log loss" if classes else "error over deviation"
            yield Row(f"{name}: {kind}", found[0], None, "{:.3f}", tuple(f"{value:.3f}" for value in found[1:]))


def of_split(X: np.ndarray, y: np.ndarray, classes: bool, seed: int) -> tuple[float, ...]:
    """Return the loss with gaps, with the three imputers, and of the complete samples."""
    held = {"stratify": y} if classes else {}
    learn, test, y_learn, y_test = train_test_split(X, y, test_size=0.4, random_state=seed, **held)
    gaps = np.where(np.random.default_rng([seed, 1]).uniform(size=test.shape) < MISSING, np.nan, test)
    make: Any = SPKMClassifier if classes else SPKMRegressor
    model = make(random_state=seed, n_jobs=1).fit(learn, y_learn)
    read: Callable[[Any], np.ndarray] = model.predict_proba if classes else model.predict
    predictor = with_gaps(model, learn)
    imputers = (SimpleImputer(), KNNImputer(), IterativeImputer(random_state=0))
    scale = learn.std(axis=0)
    found = [predictor.predict_proba(gaps) if classes else predictor.predict(gaps)]
    found += [read(scale * imputer.fit(learn / scale).transform(gaps / scale)) for imputer in imputers]
    found.append(read(test))
    return tuple(loss_of(classes, y_test, guess, y_learn) for guess in found)


def loss_of(classes: bool, y: np.ndarray, predicted: np.ndarray, known: np.ndarray) -> float:
    """Return log loss, or the root mean squared error over the deviation of the training targets."""
    if classes:
        return float(log_loss(y, predicted, labels=np.unique(known)))
    return float(np.sqrt(np.mean((y - predicted) ** 2)) / known.std())


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["gaps", *sys.argv[1:]])
