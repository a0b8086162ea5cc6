"""Linear machines on the features of landmarks, chosen on validation samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

#: The strongest penalty first: of equally good ones the first is taken.
ALPHAS = 10.0 ** np.arange(2, -7, -1)


def ridge_on(features: Any, X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray) -> Any:
    """Return features fitted on the training samples, with the ridge regression that is best on validation samples."""
    return best_linear(features, (Ridge(alpha=alpha) for alpha in ALPHAS), X, y, train, validation)


def best_linear(
    features: Any, models: Iterable[Any], X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray
) -> Any:
    """Return features fitted once, followed by the first of the models that score best on the validation samples."""
    features.fit(X[train], y[train])
    F, F_validation = features.transform(X[train]), features.transform(X[validation])
    fits = (model.fit(F, y[train]) for model in models)
    return make_pipeline(features, max(fits, key=lambda model: model.score(F_validation, y[validation])))
