"""The neighbours in regression, kernel ridge and ridge on Nystroem features: features and target standardised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ALPHAS = 10.0 ** np.arange(-4.0, 1.5, 0.5)
GAMMAS = 2.0 ** np.arange(-6, 3)  # over the number of features
Make = Callable[[float, float], Any]


def kernel_ridge(alpha: float, gamma: float) -> Any:
    return _prepared(KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma))


def nystroem_ridge(alpha: float, gamma: float, n_components: int = 300, seed: int = 0) -> Any:
    return _prepared(Nystroem(gamma=gamma, n_components=n_components, random_state=seed), Ridge(alpha=alpha))


def tuned(make: Make, train: tuple, validation: tuple, quick: bool = False) -> tuple[Any, tuple[float, float]]:
    """Return the model with the least error on validation samples among those of a grid, and its alpha and gamma."""
    step = 4 if quick else 1
    best: Any = (np.inf, None, (0.0, 0.0))
    for gamma in GAMMAS[::step] / train[0].shape[1]:
        for alpha in ALPHAS[::step]:
            model = make(alpha, gamma).fit(*train)
            error = squared_error(model, *validation)
            if error < best[0]:
                best = (error, model, (alpha, gamma))
    return best[1:]


def squared_error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared error."""
    return float(np.mean(np.square(model.predict(X) - y)))


def geometric_mean(ratios: Any) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def _prepared(*steps: Any) -> Any:
    return TransformedTargetRegressor(make_pipeline(StandardScaler(), *steps), transformer=StandardScaler())
