"""Bandwidths from samples: how far from one another they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def gamma_from_rows(X: Any, weight: np.ndarray, rule: str) -> float:
    """Return 1 / (2 t^2), t the weighted mean or median distance between different rows of ``X``."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    X = X.astype(np.float64, copy=False)
    X = X - np.average(X, axis=0, weights=weight)  # what all rows share would cost digits below
    norms = np.einsum("ij,ij->i", X, X)
    above = np.triu_indices(len(X), k=1)
    sizes = (norms[:, None] + norms[None, :])[above]
    squared = sizes - 2 * (X @ X.T)[above]
    distance = np.sqrt(np.maximum(squared, 0.0))
    pair_weight = (weight[:, None] * weight[None, :])[above]
    pair_weight[squared <= 1e-12 * sizes] = 0.0  # copies of a row, but for rounding, say nothing of the scale
    total = pair_weight.sum()
    if not total > 0:
        return 1.0
    if rule == "median":
        order = np.argsort(distance, kind="stable")
        share = np.cumsum(pair_weight[order])
        typical = distance[order][np.searchsorted(share, 0.5 * share[-1])]
    else:
        typical = float(distance @ pair_weight / total)
    return 1.0 / (2.0 * typical**2)
