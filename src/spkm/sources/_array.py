"""Rows in memory, in a memory map or in a CSR matrix: anything that can be sliced by rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from spkm.sources._base import Block, Source
from spkm.sources._rows import SMALL, pick_rows
from spkm.sources._scaling import Scaling

# Scaled rows of fewer than SMALL entries are kept; of more, blocks are scaled whenever they are read.


class ArraySource(Source):
    """Rows of an array.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Rows, float32 or float64; never changed, and copied only if small and scaled.
    Y : ndarray of shape (n, m), default=None
        Targets.
    weight : ndarray of shape (n,), default=None
        Weights of the rows, not yet summing to one.
    scaling : Scaling, default=None
        Applied to every block.
    """

    def __init__(
        self, X: Any, Y: np.ndarray | None = None, weight: np.ndarray | None = None, scaling: Scaling | None = None
    ) -> None:
        self.n_rows, self.n_features = X.shape
        self.dtype = X.dtype
        if scaling is not None and X.shape[0] * X.shape[1] <= SMALL:
            X, scaling = scaling(X), None
        self.X = X
        self.scaling = scaling
        Y = np.zeros((self.n_rows, 0)) if Y is None else Y
        self.Y = Y.astype(self.dtype, copy=False)
        self.n_outputs = self.Y.shape[1]
        weight = np.ones(self.n_rows) if weight is None else weight
        self.total_weight = float(weight.sum())
        self.w = (weight / self.total_weight).astype(self.dtype)[:, None]
        self._caches: dict[tuple[int, int], dict] = {}

    def block(self, start: int, stop: int) -> Block:
        rows = self.X[start:stop]
        X = rows if self.scaling is None else self.scaling(rows)
        return Block(X, self.Y[start:stop], self.w[start:stop], self._caches.setdefault((start, stop), {}))

    def take(self, rows: np.ndarray) -> Block:
        """Return the given rows with their weights made to sum to one."""
        X = self.X[rows]
        w = self.w[rows]
        return Block(X if self.scaling is None else self.scaling(X), self.Y[rows], w / w.sum(), {})

    def subset(self, rows: np.ndarray) -> ArraySource:
        """Return a source of the given rows, on the same threads."""
        weight = self.w[rows, 0] * self.total_weight
        part = type(self)(self._picked(rows), self.Y[rows], weight, self.scaling)
        part._pool, part._n_threads = self._pool, self._n_threads
        return part

    def _picked(self, rows: np.ndarray) -> Any:
        return pick_rows(self.X, rows)

    def columns(self, columns: np.ndarray) -> ArraySource:
        """Return a source of the given columns, on the same threads."""
        scaling = None if self.scaling is None else self.scaling.columns(columns)
        part = type(self)(self.X[:, columns], self.Y, self.w[:, 0] * self.total_weight, scaling)
        part._pool, part._n_threads = self._pool, self._n_threads
        return part

    def with_targets(self, function: Callable[[np.ndarray], np.ndarray]) -> ArraySource:
        """Return the same rows with ``function`` applied to their targets."""
        other = copy(self)
        other.Y = function(self.Y)
        return other

    def dense(self, rows: np.ndarray) -> np.ndarray:
        """Return the given rows as a dense array: for start points and heuristics, on few rows."""
        X = self.take(rows).X
        return X.toarray() if sparse.issparse(X) else np.asarray(X)
