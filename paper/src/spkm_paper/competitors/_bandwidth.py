"""The gamma of an RBF kernel, where it is given by a rule."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from spkm._checks import check_real
from spkm.kernels import RBF

MOST_ROWS = 2000  # whose distances are looked at; of more, as many drawn with a fixed seed
RULES = ("mean", "median", "scale")


def check_gamma(gamma: Any) -> None:
    """Raise ValueError if gamma is neither a positive number nor the name of a rule."""
    if isinstance(gamma, Real):
        check_real("gamma", gamma, strict=True)
    elif gamma not in RULES:
        raise ValueError(f"gamma must be a positive number, 'mean', 'median' or 'scale'; got {gamma!r}.")


def resolved_gamma(gamma: Any, X: Any) -> float:
    """Return gamma as a number: 1 / (2 t^2) of a typical distance t, or 1 / (d var(X)) with "scale"."""
    check_gamma(gamma)
    if isinstance(gamma, Real):
        return float(gamma)
    if gamma == "scale":
        variance = _variance(X)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if X.shape[0] > MOST_ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], MOST_ROWS, replace=False))]
    return float(RBF(gamma).resolved(X, np.ones(X.shape[0])).gamma)


def _variance(X: Any) -> float:
    """Return the variance of all entries, as in scikit-learn."""
    if not sparse.issparse(X):
        return float(np.var(X))
    return float(X.multiply(X).mean() - X.mean() ** 2)
