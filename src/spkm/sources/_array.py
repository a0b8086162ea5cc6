"""Samples in memory, in a memory map or in a CSR matrix: anything that can be sliced by rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from spkm._arrays import Matrix, dense
from spkm.sources._base import Block, Source, equal_cuts, rows_per_block
from spkm.sources._scaling import Scaling, fit_scaling

# Entries. Fewer are copied where some samples are picked, and kept if they are scaled; more stay where they are, and
# blocks are scaled whenever they are read.
SMALL = 2**22
MANY_ROWS = 2**17  # from here on samples do not fit the cache,
RUN = 8  # a batch is made of runs of so many neighbours: reading single samples would take longer than the step
FETCHED = 2**18  # entries of X that are read at once for batches


class ArraySource(Source):
    """Samples of an array.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Samples, float32 or float64; never changed, and copied only if small and scaled.
    Y : ndarray of shape (n, m), default=None
        Targets.
    weight : ndarray of shape (n,), default=None
        Weights of the samples, not yet summing to one.
    scaling : Scaling, default=None
        Applied to every block.

    Attributes
    ----------
    Y, w : ndarray of shapes (n, m), (n, 1)
        Targets and weights of all samples; the weights sum to one.
    """

    #: Kind of the blocks.
    block: type[Block] = Block

    @staticmethod
    def fit_scaling(X: Any, weight: np.ndarray, common: bool) -> Scaling:
        """Return the scaling of weighted samples: one scale for each feature, or a common one."""
        return fit_scaling(X, weight, common)

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
        self._caches: dict[tuple[int, int], dict[Any, np.ndarray]] = {}
        self._ranges: tuple[np.ndarray, np.ndarray] | None = None
        #: Groups of the samples that folds keep together; None if each sample is one of its own.
        self.groups: np.ndarray | None = None

    def pieces(self, width: int) -> Sequence[tuple[int, int]]:
        return equal_cuts(self.n_rows, rows_per_block(self.n_features + 3 * self.n_outputs, width))

    def load(self, piece: tuple[int, int]) -> Block:
        start, stop = piece
        rows = self.X[start:stop]
        X = rows if self.scaling is None else self.scaling(rows)
        return self.block(X, self.Y[start:stop], self.w[start:stop], self._caches.setdefault(piece, {}))

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        if self._ranges is None:
            lows, highs = zip(*self.map(_block_ranges, width=1), strict=True)
            self._ranges = np.min(lows, axis=0), np.max(highs, axis=0)
        return self._ranges

    def set_ranges(self, low: np.ndarray, high: np.ndarray) -> None:
        """Let the samples stand for more of them, of a larger range."""
        self._ranges = low, high

    def sample(self, n_rows: int, rng: np.random.Generator) -> ArraySource:
        if n_rows >= self.n_rows:
            return self
        return self.subset(np.sort(rng.choice(self.n_rows, size=n_rows, replace=False)))

    def samples(self, sizes: Sequence[int], rng: np.random.Generator) -> Iterator[ArraySource]:
        order = rng.permutation(self.n_rows) if sizes[0] < self.n_rows else np.arange(0)
        for size in sizes:
            yield self if size >= self.n_rows else self.subset(np.sort(order[:size]))

    def batches(self, size: int, n_steps: int, rng: np.random.Generator, dtype: DTypeLike) -> Iterator[Block]:
        # Several are read at once, on the source's threads, while steps are made of earlier ones.
        together = max(1, FETCHED // (size * self.n_features))
        batches = self._batch_rows(size, n_steps, rng)
        groups = iter(lambda: list(islice(batches, together)), [])
        for block in self.each(lambda group: self._take(np.concatenate(group)), groups):
            X, Y, w = (part.astype(dtype, copy=False) for part in block[:3])
            for start in range(0, len(w), size):
                cut = slice(start, start + size)
                yield self.block(X[cut], Y[cut], w[cut] / w[cut].sum(), {})

    def _batch_rows(self, size: int, n_steps: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield the samples of each step: random runs of neighbours (single ones if n is small), each once a pass."""
        run = RUN if size % RUN == 0 and self.n_rows >= MANY_ROWS else 1
        size, n_runs = size // run, self.n_rows // run
        order, at = rng.permutation(n_runs), 0
        for _ in range(n_steps):
            if at + size > n_runs:
                order, at = rng.permutation(n_runs), 0
            yield (run * order[at : at + size, None] + np.arange(run)).ravel()
            at += size

    def _take(self, rows: np.ndarray) -> Block:
        """Return the given samples with their weights made to sum to one."""
        X = self.X[rows]
        w = self.w[rows]
        return self.block(X if self.scaling is None else self.scaling(X), self.Y[rows], w / w.sum(), {})

    def subset(self, rows: np.ndarray) -> ArraySource:
        """Return a source of the given samples, on the same threads."""
        weight = self.w[rows, 0] * self.total_weight
        part = self._like(self._picked(rows), self.Y[rows], weight, self.scaling)
        part.groups = None if self.groups is None else self.groups[rows]
        return part

    def weighted(self, weight: np.ndarray) -> ArraySource:
        """Return the same samples with other weights, (n,)."""
        other = self._like(self.X, self.Y, weight, self.scaling)
        other._ranges = self._ranges
        return other

    def _picked(self, rows: np.ndarray) -> Any:
        return pick_rows(self.X, rows)

    def columns(self, columns: np.ndarray) -> ArraySource:
        if np.array_equal(columns, np.arange(self.n_features)):
            return self  # without a copy
        scaling = None if self.scaling is None else self.scaling.columns(columns)
        part = self._like(self.X[:, columns], self.Y, self.w[:, 0] * self.total_weight, scaling)
        if self._ranges is not None:
            part._ranges = self._ranges[0][columns], self._ranges[1][columns]
        return part

    def _like(self, X: Matrix, Y: np.ndarray, weight: np.ndarray, scaling: Scaling | None) -> ArraySource:
        part = type(self)(X, Y, weight, scaling)
        part._pool, part._n_threads = self._pool, self._n_threads
        return part

    def encoded(self, function: Callable[[np.ndarray], np.ndarray]) -> ArraySource:
        other = copy(self)
        other.Y = function(self.Y)
        return other

    def dense(self) -> np.ndarray:
        """Return all samples as a dense array: for start points and heuristics, on few samples."""
        rows = self.X[:]
        X = rows if self.scaling is None else self.scaling(rows)
        return dense(X)


def _block_ranges(block: Block) -> tuple[np.ndarray, np.ndarray]:
    bounds = (block.X.min(axis=0), block.X.max(axis=0))
    low, high = (np.asarray(dense(b), dtype=np.float64).ravel() for b in bounds)
    return low, high


class PickedRows:
    """Some samples of an array without a copy: sliced and indexed like an array, it gathers what is asked for.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The array.
    rows : ndarray of int
        The rows, in order.
    """

    ndim = 2

    def __init__(self, X: Any, rows: np.ndarray) -> None:
        self.X = X
        self.rows = rows
        self.shape = (len(rows), X.shape[1])
        self.dtype = X.dtype

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):  # features of all samples: only few are asked for
            return self.X[:, key[1]][self.rows[key[0]]]
        return self.X[self.rows[key]]


def pick_rows(X: Matrix, rows: np.ndarray) -> Any:
    """Return some samples of X, dense or CSR: a copy if small or CSR, else :class:`PickedRows`; X if it is all."""
    if len(rows) == X.shape[0] and np.array_equal(rows, np.arange(len(rows))):
        return X
    if isinstance(X, PickedRows):
        return pick_rows(X.X, X.rows[rows])
    if sparse.issparse(X) or len(rows) * X.shape[1] <= SMALL:
        return X[rows]
    return PickedRows(X, rows)
