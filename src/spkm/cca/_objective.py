"""The correlation of two functions, one of each table, and its gradient: two passes over the samples."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spkm.cca._sides import Side
from spkm.sources import ArraySource

ROUNDED = 1e3  # a residual of less than so many roundings of the values is rounding
TINY = 1e-200  # squares of kernel values that vanish underflow
SHRINKAGE = 0.01  # variance, where values are at most one, that counts as noise: a bump over half of the range has 0.1


class Table:
    """The samples of one side, and what a component must not be correlated with.

    Parameters
    ----------
    side : Side
        Kernel and layout of the parameters.
    source : ArraySource
        The samples, n of them.
    known : ndarray of shape (n, r)
        Scores of earlier components.
    """

    def __init__(self, side: Side, source: ArraySource, known: np.ndarray) -> None:
        self.side = side
        self.source = source
        self.known = known
        constant = np.ones((source.n_rows, 1))
        self.explained = np.linalg.qr(np.hstack([constant, known]))[0]

    @property
    def shrinkage(self) -> float:
        """Number added to the squared length of a residual."""
        bound = self.side.kernel.largest_diagonal()
        return 0.0 if bound is None or not np.isfinite(bound) else SHRINKAGE * bound**2 * self.source.n_rows

    @property
    def rounding(self) -> float:
        """Share of the length of the function's values below which a residual is rounding."""
        return ROUNDED * float(np.finfo(self.source.dtype).eps)

    def columns(self, columns: np.ndarray) -> Table:
        """Return the same samples with some features only."""
        part = copy(self)
        part.side = replace(self.side, n_features=len(columns))
        part.source = self.source.columns(columns)
        return part

    def rows(self, rows: np.ndarray) -> Table:
        """Return some of the samples."""
        return Table(self.side, self.source.subset(rows), self.known[rows])

    def residual(self, a: np.ndarray) -> np.ndarray:
        """Return a without its mean and its projection onto the scores of earlier components."""
        for _ in range(2):  # once more for what the first leaves by rounding
            a = a - self.explained @ (self.explained.T @ a)
        return a

    def values(self, theta: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Return the function's value at every sample, (n,), and the map from dL/da (n,) to dL/dtheta."""
        side, source = self.side, self.source
        pieces = source.pieces(1)
        found = list(source.each(lambda piece: side.values(theta, source.load(piece).X), pieces))

        def pullback(g: np.ndarray) -> np.ndarray:
            jobs = [(pull, g[start:stop]) for (_, pull), (start, stop) in zip(found, pieces, strict=True)]
            return np.sum(list(source.each(lambda job: job[0](job[1]), jobs)), axis=0)

        return np.concatenate([values for values, _ in found]), pullback


class Evaluation(NamedTuple):
    """Criterion to maximise, the correlation itself, and a function that computes the gradients in both sides."""

    value: float
    correlation: float
    gradients: Callable[[], tuple[np.ndarray, np.ndarray]]


class Correlation:
    """Correlation of a component's two scores, each without what earlier components explain.

    The criterion is cov(a, b) / sqrt((var(a) + s_a) (var(b) + s_b)). With s = 0, for kernels that are not bounded,
    it is the correlation. For a kernel with values up to t, s is ``SHRINKAGE`` t^2: two spikes that both single out one
    sample are perfectly correlated but have next to no variance, and are not preferred.
    """

    def __init__(self, left: Table, right: Table) -> None:
        self.left = left
        self.right = right

    def __call__(self, left: np.ndarray, right: np.ndarray) -> Evaluation:
        """Return value, correlation and gradients at parameters of both sides."""
        (a, pull_a), (b, pull_b) = self.left.values(left), self.right.values(right)
        u, v = self.left.residual(a), self.right.residual(b)
        uu, vv, uv = float(u @ u), float(v @ v), float(u @ v)
        if uu <= self.left.rounding**2 * (a @ a) + TINY or vv <= self.right.rounding**2 * (b @ b) + TINY:
            return Evaluation(0.0, 0.0, lambda: (np.zeros_like(left), np.zeros_like(right)))
        wide_u, wide_v = uu + self.left.shrinkage, vv + self.right.shrinkage
        norm = np.sqrt(wide_u * wide_v)
        value = uv / norm

        def gradients() -> tuple[np.ndarray, np.ndarray]:
            d_a = self.left.residual(v) / norm - value / wide_u * u
            d_b = self.right.residual(u) / norm - value / wide_v * v
            return pull_a(d_a), pull_b(d_b)

        return Evaluation(value, uv / (np.sqrt(uu) * np.sqrt(vv)), gradients)


def component_scores(side: Side, theta: np.ndarray, source: ArraySource) -> np.ndarray:
    """Return a component's kernel values at every sample, (n,)."""
    pieces: Any = source.pieces(1)
    return np.concatenate(list(source.each(lambda piece: side.values(theta, source.load(piece).X)[0], pieces)))
