"""The neighbours in classification: SVC, l1-logistic regression and LassoNet, chosen on validation rows.

The first two standardise their columns; of models that are equally good on the validation rows the smoothest or the
sparsest is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, l1_min_c

C_GRID = 2.0 ** np.arange(-3, 10)
GAMMA_GRID = 2.0 ** np.arange(-6, 4)  # over the number of columns
L1_GRID = np.geomspace(1.1, 1000.0, 20)  # over the smallest C with which anything is selected
INTERCEPT_SCALING = 10.0  # liblinear penalises the intercept: not by much


def tuned_svc(
    X: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    validation: np.ndarray,
    step: int = 1,
    columns: np.ndarray | None = None,
) -> Any:
    """Return an RBF SVC with every ``step``-th C and gamma of the grids tried, on the given columns or all."""
    chosen = np.arange(X.shape[1]) if columns is None else columns
    models = (
        make_pipeline(ColumnTransformer([("scaled", StandardScaler(), chosen)]), SVC(C=C, gamma=g / len(chosen)))
        for C in C_GRID[::step]
        for g in GAMMA_GRID[::step]
    )
    return _best(models, X, y, train, validation)


def tuned_l1_logistic(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, quick: bool = False
) -> Any:
    """Return an l1-logistic regression with the best of 20 strengths."""
    A = StandardScaler().fit_transform(X[train])
    least = l1_min_c(A, y[train], loss="log", intercept_scaling=INTERCEPT_SCALING)
    models = (
        make_pipeline(
            StandardScaler(),
            LogisticRegression(
                C=C, l1_ratio=1, solver="liblinear", intercept_scaling=INTERCEPT_SCALING, random_state=0
            ),
        )
        for C in least * L1_GRID[:: 4 if quick else 1]
    )
    return _best(models, X, y, train, validation)


def _best(models: Iterable[Any], X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray) -> Any:
    """Return the first of the models that are best on the validation rows, fitted on the training rows."""
    fits = (model.fit(X[train], y[train]) for model in models)
    return max(fits, key=lambda model: model.score(X[validation], y[validation]))


def has_lassonet() -> bool:
    """Whether LassoNet, which is not among our dependencies, can be imported."""
    return find_spec("lassonet") is not None


def lassonet_path(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, seed: int, quick: bool
) -> Any:
    """Return a LassoNet, defaults, that ran its path on one thread; the validation rows stop its training."""
    import torch
    from lassonet import LassoNetClassifier

    torch.set_num_threads(1)
    model = LassoNetClassifier(verbose=0, random_state=seed, torch_seed=seed, path_multiplier=1.3 if quick else 1.02)
    model.path(X[train], y[train], X_val=X[validation], y_val=y[validation], return_state_dicts=True)
    return model


class LassoNetOnPath:
    """LassoNet at the point of its path that is best on the validation rows."""

    def __init__(
        self, X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, seed: int, quick: bool
    ) -> None:
        self.model = lassonet_path(X, y, train, validation, seed, quick)
        self.classes_ = np.unique(y[train])
        points = [(self._at(point).score(X[validation], y[validation]), i) for i, point in enumerate(self.model.path_)]
        point = self.model.path_[max(points)[1]]  # of equals the last, which has the fewest columns
        self._at(point)
        self.selected_features_ = np.flatnonzero(point.selected.numpy())

    def _at(self, point: Any) -> LassoNetOnPath:
        self.model.load(point.state_dict)
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean(self.classes_[np.asarray(self.model.predict(X))] == y))
