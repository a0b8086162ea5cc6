"""The neighbours in classification: SVC, l1-logistic regression and LassoNet, chosen on validation samples."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from spkm_paper.competitors import tuned


def tuned_svc(
    X: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    validation: np.ndarray,
    step: int = 1,
    columns: np.ndarray | None = None,
) -> Any:
    """Return an RBF SVC with every ``step``-th C and gamma of the grids tried, on the given features or all."""
    chosen = np.arange(X.shape[1]) if columns is None else columns
    _, params = tuned("svm", X[:, chosen], y, train, validation, step=step)
    model = make_pipeline(ColumnTransformer([("scaled", StandardScaler(), chosen)]), SVC(**params))
    return model.fit(X[train], y[train])


def tuned_l1_logistic(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, quick: bool = False
) -> Any:
    """Return an l1-logistic regression with the best of 20 strengths."""
    return tuned("l1_logistic", X, y, train, validation, step=4 if quick else 1)[0]


def has_lassonet() -> bool:
    """Whether LassoNet, which is not among our dependencies, can be imported."""
    return find_spec("lassonet") is not None


def lassonet_path(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, seed: int, quick: bool
) -> Any:
    """Return a LassoNet, defaults, that ran its path on one thread; the validation samples stop its training."""
    import torch
    from lassonet import LassoNetClassifier

    torch.set_num_threads(1)
    model = LassoNetClassifier(verbose=0, random_state=seed, torch_seed=seed, path_multiplier=1.3 if quick else 1.02)
    model.path(X[train], y[train], X_val=X[validation], y_val=y[validation], return_state_dicts=True)
    return model


class LassoNetOnPath:
    """LassoNet at the point of its path that is best on the validation samples."""

    def __init__(
        self, X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, seed: int, quick: bool
    ) -> None:
        self.model = lassonet_path(X, y, train, validation, seed, quick)
        self.classes_ = np.unique(y[train])
        points = [(self._at(point).score(X[validation], y[validation]), i) for i, point in enumerate(self.model.path_)]
        point = self.model.path_[max(points)[1]]  # of equals the last, which has the fewest features
        self._at(point)
        self.selected_features_ = np.flatnonzero(point.selected.numpy())

    def _at(self, point: Any) -> LassoNetOnPath:
        self.model.load(point.state_dict)
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean(self.classes_[np.asarray(self.model.predict(X))] == y))
