"""Samples, in blocks: what a fit can do with data, whatever holds them.

``reduce`` adds up what a function returns for each block, ``map`` gives the results block by block, ``sample`` returns
some samples in memory and ``batches`` yields small blocks at random. No layer above depends on whether samples lie
in memory, in a memory map, in a sparse matrix or elsewhere, and nothing takes a sample by its number. A new kind of
source defines ``pieces`` and ``load`` (or ``reduce`` and ``map`` themselves), ``sample``, ``batches``, ``columns`` and
``encoded``. The functions handed to ``reduce`` and ``map`` are those of a module, so that any engine can ship them.

:class:`ArraySource` holds samples in memory, in a memory map or in a CSR matrix: anything that can be sliced by rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache, partial
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from spkm._arrays import Matrix
from spkm.sources._scaling import Scaling, fit_scaling
from spkm.sources._threads import OnThreads, take_in_order, windowed

FOLDS = 5  # as everywhere in scikit-learn
MOST_ROWS = 50_000  # of a block
ALIGNED = 128  # samples: values of blocks, and of tiles of them, then begin where vector instructions want them
WIDE = 2**14  # entries of a sample and what is computed from it
MAX_TASKS = 64  # blocks are added up in at most this many runs, so that sums do not depend on the number of threads


class Block(NamedTuple):
    """Some samples: X (n, d) dense or CSR, targets Y (n, m), weights w (n, 1); all samples' weights sum to one.

    ``cache`` keeps what depends on these samples alone, such as their norms, from one pass to the next.
    """

    X: Any
    Y: np.ndarray
    w: np.ndarray
    cache: dict[Any, np.ndarray]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the samples, and of what is computed from them."""
        found: np.dtype[Any] = self.X.dtype
        return found

    @property
    def place(self) -> Any:
        """Library and device of the arrays if they are not NumPy's; None here."""
        return None

    def columns(self, columns: np.ndarray | None) -> tuple[Any, np.ndarray | None]:
        """Return some features, rising, or all (None), and which row each sample is (None: in order)."""
        table = self.X
        if columns is None:
            return table, None
        # Neighbouring features are a slice of the block; others are copied, block by block.
        if len(columns) and columns[-1] - columns[0] + 1 == len(columns):
            return table[:, columns[0] : columns[-1] + 1], None
        return table[:, columns], None


AnySource = TypeVar("AnySource", bound="Source")


class Source(OnThreads):
    """Base of all sources."""

    n_rows: int
    n_features: int
    n_outputs: int
    dtype: np.dtype[Any]
    #: Sum of the sample weights before they were made to sum to one: the n in strengths that shrink with more samples.
    total_weight: float

    #: Whether what :meth:`map` yields stays in this process, so that it may hold functions.
    keeps_features = True

    def shared(self, other: AnySource) -> AnySource:
        """Return another source, which from now on runs its blocks on the same threads."""
        other._pool, other._n_threads = self._pool, self._n_threads
        return other

    def pieces(self, width: int) -> Sequence[Any]:
        """Return what :meth:`load` makes blocks of, for a model of ``width`` basis vectors."""
        raise NotImplementedError

    def load(self, piece: Any) -> Block:
        """Return a block."""
        raise NotImplementedError

    def sample(self, n_rows: int, rng: np.random.Generator) -> Any:
        """Return at most ``n_rows`` samples at random, in memory, on the same threads; itself if there are no more."""
        return next(self.samples([n_rows], rng))

    def samples(self, sizes: Sequence[int], rng: np.random.Generator) -> Iterator[Any]:
        """Yield samples of rising sizes, each of which holds the one before."""
        raise NotImplementedError

    def batches(self, size: int, n_steps: int, rng: np.random.Generator, dtype: DTypeLike) -> Iterator[Block]:
        """Yield ``n_steps`` blocks of ``size`` samples at random, whose weights sum to one, in the given precision."""
        raise NotImplementedError

    def columns(self, columns: np.ndarray) -> Source:
        """Return a source of the given features, on the same threads."""
        raise NotImplementedError

    def encoded(self, function: Callable[[np.ndarray], np.ndarray]) -> Source:
        """Return the same samples with ``function`` applied to their targets."""
        raise NotImplementedError

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest value of each feature, (d,), on the scale of the blocks."""
        raise NotImplementedError

    def reduce(self, function: Callable[..., tuple[Any, ...]], *args: Any, width: int) -> tuple[Any, ...]:
        """Return the sums over blocks of the arrays that ``function(block, *args)`` returns, added in a fixed order."""
        pieces = self.pieces(width)
        if len(pieces) == 1:  # small fits make thousands of passes, and notice what is done around the one block
            return tuple(add_up([function(self.load(pieces[0]), *args)]))
        runs = np.array_split(np.arange(len(pieces)), min(len(pieces), MAX_TASKS))

        def add_run(run: np.ndarray) -> list[Any]:
            return add_up(function(self.load(pieces[i]), *args) for i in run)

        if self._pool is None:
            return tuple(add_up(map(add_run, runs)))
        total: list[Any] = []
        take_in_order(self._pool, self._n_threads, add_run, runs, partial(_add, total))
        return tuple(total)

    def map(self, function: Callable[..., Any], *args: Any, width: int) -> Iterator[Any]:
        """Yield ``function(block, *args)`` for every block, in the order of samples."""
        yield from self.each(lambda piece: function(self.load(piece), *args), self.pieces(width))

    def each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for every item, in order, on the source's threads and a few items ahead."""
        if self._pool is None:
            return map(function, items)
        return windowed(self._pool, function, items, 2 * self._n_threads)


def rows_per_block(n_features: int, width: int) -> int:
    """Return how many samples make a block, for features and targets of so many columns in all.

    Large blocks, as every call of NumPy is a turn of the interpreter, for which threads wait: of 2 to 100 features and
    2 to 50 vectors those of 16 MB were quickest, on one thread and on two. Wide samples come in 4,096 where they fit 32
    MB, very wide ones in blocks of 8 MB: memory, not time, is what they are short of.
    """
    entries = n_features + 3 * width  # of a sample and what is computed from it
    if entries > WIDE:
        return max(2**20 // entries, 4)  # several arrays of a block's size exist at a time
    return min(MOST_ROWS, max(2**21 // entries, min(4096, 2**22 // entries), 64))


@lru_cache  # small fits make thousands of passes
def equal_cuts(n_rows: int, most: int) -> tuple[tuple[int, int], ...]:
    """Return where blocks of at most so many samples begin and end, nearly equal ones.

    An even number of them, so that two threads end together, unless it is one; long ones are multiples of ALIGNED.
    """
    count = -(-n_rows // most)
    count += count % 2 if 1 < count < n_rows else 0
    if count == 0:
        return ()
    size = -(-n_rows // count)
    aligned = -(-size // ALIGNED) * ALIGNED
    if count > 1 and ALIGNED**2 <= aligned <= most:
        edges = [*range(0, n_rows, aligned), n_rows]
    else:
        edges = [n_rows * i // count for i in range(count + 1)]
    return tuple(pairwise(edges))


# Entries. Fewer are copied where some samples are picked, and kept if they are scaled; more stay where they are, and
# blocks are scaled whenever they are read.
SMALL = 2**23
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

    #: From weighted samples to their scaling: one scale for each feature, or a common one.
    fit_scaling: Callable[[Any, np.ndarray, bool], Scaling] = staticmethod(fit_scaling)

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
        return self.shared(type(self)(X, Y, weight, scaling))

    def encoded(self, function: Callable[[np.ndarray], np.ndarray]) -> ArraySource:
        other = copy(self)
        other.Y = function(self.Y)
        return other

    def dense(self) -> np.ndarray:
        """Return all samples as a dense array: for start points and heuristics, on few samples."""
        rows = self.X[:]
        X = rows if self.scaling is None else self.scaling(rows)
        return np.asarray(X) if isinstance(X, np.ndarray) else X.toarray()


def _block_ranges(block: Block) -> tuple[np.ndarray, np.ndarray]:
    bounds = (block.X.min(axis=0), block.X.max(axis=0))
    low, high = (np.asarray(b.toarray() if sparse.issparse(b) else b, dtype=np.float64).ravel() for b in bounds)
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


def kinds_of(Y: np.ndarray) -> np.ndarray | None:
    """Return an integer for every row of signs, equal for equal ones: its class, or its set of labels; else None."""
    if not np.all(np.abs(Y) == 1):
        return None
    if Y.shape[1] == 1:
        return (Y[:, 0] > 0).astype(np.intp)
    if np.all((Y > 0).sum(axis=1) == 1):
        return np.asarray(np.argmax(Y, axis=1))
    return np.unique(Y > 0, axis=0, return_inverse=True)[1].ravel()


def add_up(results: Iterable[Any]) -> list[Any]:
    """Return the sums of the arrays of all results, in float64 and in order."""
    total: list[Any] = []
    for result in results:
        _add(total, result)
    return total


def _add(total: list[Any], result: Any) -> None:
    if not total:
        total += [np.array(part, dtype=np.float64) for part in result]
    else:
        for k, part in enumerate(result):
            total[k] += part


def dealt_folds(
    n: int,
    rng: np.random.Generator,
    kinds: np.ndarray | None = None,
    n_folds: int | None = None,
    groups: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return which of n samples to fit and to judge by: shuffled, and dealt kind by kind if they are of several kinds.

    Samples of one of the ``groups`` stay together.
    """
    if n < 2:
        raise ValueError(f"A choice by held-out samples needs at least 2 different samples; got n_samples = {n}.")
    n_folds = n_folds or FOLDS
    if groups is not None:
        fold = dealt_groups(groups, np.zeros(n, dtype=int) if kinds is None else kinds, rng, n_folds)
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]
    order = rng.permutation(n)
    if kinds is not None:
        # One after another, in the order of their first samples here: how classes are named must not matter.
        _, first, code = np.unique(kinds[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[code], kind="stable")]
    n_folds = min(n_folds, n)
    fold = np.empty(n, dtype=int)
    fold[order] = np.arange(n) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def dealt_groups(groups: np.ndarray, kinds: np.ndarray, rng: np.random.Generator, n_folds: int) -> np.ndarray:
    """Return the fold of each sample: whole groups, the largest first, go where kinds of samples become most even."""
    _, group = np.unique(groups, return_inverse=True)
    _, kind = np.unique(kinds, return_inverse=True)
    counts = np.zeros((group.max() + 1, kind.max() + 1))
    np.add.at(counts, (group, kind), 1.0)
    if len(counts) < 2:
        raise ValueError("groups must have at least 2 different values, to be held out one after another; got 1.")
    counts /= counts.sum(axis=0)  # shares, so that rare kinds count as much as others
    held = np.zeros((min(n_folds, len(counts)), counts.shape[1]))
    fold = np.empty(len(counts), dtype=int)
    order = rng.permutation(len(counts))
    for i in order[np.argsort(-counts[order].sum(axis=1), kind="stable")]:
        # The squares rise least there; ties, as of groups of a class each, by size: no fold may have all groups.
        fold[i] = int(np.lexsort((held.sum(axis=1), held @ counts[i]))[0])
        held[fold[i]] += counts[i]
    return fold[group]
