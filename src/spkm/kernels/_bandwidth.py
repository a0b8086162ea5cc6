"""Rules for the factor gamma of a kernel, which samples turn into a number."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from spkm._arrays import Array, Matrix
from spkm.kernels._base import Kernel, number


class ByRule(Kernel):
    """A kernel whose ``gamma`` may be a name in place of a number."""

    gamma: Any
    #: The names.
    rules: tuple[str, ...]

    def resolved(self, X: Matrix, weight: Array) -> Kernel:
        if not isinstance(self.gamma, str):
            number(self)
            return self
        if self.gamma not in self.rules:
            known = ", ".join(["a positive number", *map(repr, self.rules[:-1])])
            raise ValueError(f"gamma must be {known} or {self.rules[-1]!r}; got {self.gamma!r}.")
        return self.with_gamma(self.gamma_from(X, weight))

    def gamma_from(self, X: Matrix, weight: Array) -> float:
        """Return the number that the rule gives for samples X (n, d) of ``weight`` (n,)."""
        raise NotImplementedError


class PerColumn(ByRule):
    """gamma="auto": one over the number of features, so that a product of standardised samples is of order one."""

    rules = ("auto",)

    def gamma_from(self, X: Matrix, weight: Array) -> float:
        return 1.0 / max(X.shape[1], 1)


class ByDistances(ByRule):
    """gamma="mean" or "median": 1 / (2 t^2), with t the mean or median distance of training samples."""

    rules = ("mean", "median")

    def gamma_from(self, X: Matrix, weight: Array) -> float:
        return gamma_from_rows(X, weight, self.gamma)


def gamma_from_rows(X: Matrix, weight: Array, rule: str) -> float:
    """Return 1 / (2 t^2), t the weighted mean or median distance between different samples of ``X``."""
    table: Any = X
    rows = (table.toarray() if sparse.issparse(X) else table).astype(np.float64, copy=False)
    rows = rows - np.average(rows, axis=0, weights=weight)  # what all samples share would cost digits below
    norms = np.einsum("ij,ij->i", rows, rows)
    above = ~np.tri(len(rows), dtype=bool)
    sizes = (norms[:, None] + norms[None, :])[above]
    squared = sizes - 2 * (rows @ rows.T)[above]
    distance = np.sqrt(np.maximum(squared, 0.0))
    pair_weight = (weight[:, None] * weight[None, :])[above]
    pair_weight[squared <= 1e-12 * sizes] = 0.0  # copies of a sample, up to rounding, have no part in the scale
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
