"""Bandwidths from samples: how far from one another they are."""

from __future__ import annotations

from numbers import Real
from typing import Any, Protocol

import numpy as np

from spkm._arrays import Array, Matrix, dense


def gamma_from_rows(X: Matrix, weight: Array, rule: str) -> float:
    """Return 1 / (2 t^2), t the weighted mean or median distance between different samples of ``X``."""
    rows = dense(X).astype(np.float64, copy=False)
    rows = rows - np.average(rows, axis=0, weights=weight)  # what all samples share would cost digits below
    norms = np.einsum("ij,ij->i", rows, rows)
    above = np.triu_indices(len(rows), k=1)
    sizes = (norms[:, None] + norms[None, :])[above]
    squared = sizes - 2 * (rows @ rows.T)[above]
    distance = np.sqrt(np.maximum(squared, 0.0))
    pair_weight = (weight[:, None] * weight[None, :])[above]
    pair_weight[squared <= 1e-12 * sizes] = 0.0  # copies of a sample, up to rounding, tell nothing of the scale
    total = pair_weight.sum()
    if not total > 0:
        return 1.0
    if rule == "median":
        order = np.argsort(distance, kind="stable")
        share = np.cumsum(pair_weight[order])
        typical = float(distance[order][np.searchsorted(share, 0.5 * share[-1])])
    else:
        typical = float(distance @ pair_weight / total)
    return 1.0 / (2.0 * typical**2)


class WithGamma(Protocol):
    """A kernel with a number ``gamma``, which may be a rule until it meets samples."""

    gamma: Any


def number(kernel: WithGamma) -> float:
    """Return the kernel's gamma, or raise ValueError if it is no positive number."""
    gamma = kernel.gamma
    if type(gamma) is float and 0 < gamma < np.inf:  # as nearly always, and asked for in every pass
        return gamma
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma={gamma!r} of {type(kernel).__name__} is chosen from data when a model is fitted; "
            "give a number to evaluate the kernel by itself."
        )
    if not isinstance(gamma, Real) or not 0 < float(gamma) < np.inf:
        raise ValueError(f"gamma must be a positive number; got {gamma!r}.")
    return float(gamma)


class PerColumn:
    """gamma="auto": one over the number of features, so that a product of standardised samples is of order one."""

    gamma: Any

    def resolved(self, X: Matrix, weight: Array) -> Any:
        if not isinstance(self.gamma, str):
            return self
        if self.gamma != "auto":
            raise ValueError(f"gamma must be a positive number or 'auto'; got {self.gamma!r}.")
        return self.with_gamma(1.0 / max(X.shape[1], 1))  # type: ignore[attr-defined]
