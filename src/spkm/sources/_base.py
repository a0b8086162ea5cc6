"""Samples, in blocks: what a fit can do with data, whatever holds them.

``reduce`` adds up what a function returns for each block, ``map`` gives the results block by block, ``sample`` returns
some samples in memory and ``batches`` yields small blocks at random. Nothing above this layer knows whether samples lie
in memory, in a memory map, in a sparse matrix or elsewhere, and nothing asks for a sample by its number. A new kind of
source defines ``pieces`` and ``load`` (or ``reduce`` and ``map`` themselves), ``sample``, ``batches``, ``columns`` and
``encoded``. The functions handed to ``reduce`` and ``map`` are those of a module, so that any engine can ship them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from spkm.sources._sums import add_up, add_up_on_threads
from spkm.sources._threads import one_blas_thread, shorten_buffers

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


class Source:
    """Base of all sources."""

    n_rows: int
    n_features: int
    n_outputs: int
    dtype: np.dtype[Any]
    #: Sum of the sample weights before they were made to sum to one: the n in strengths that shrink with more samples.
    total_weight: float

    #: Whether what :meth:`map` yields stays in this process, so that it may hold functions.
    keeps_features = True

    _pool: ThreadPoolExecutor | None = None
    _n_threads = 1

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
        return tuple(add_up_on_threads(self._pool, self._n_threads, add_run, runs))

    def map(self, function: Callable[..., Any], *args: Any, width: int) -> Iterator[Any]:
        """Yield ``function(block, *args)`` for every block, in the order of samples."""
        yield from self.each(lambda piece: function(self.load(piece), *args), self.pieces(width))

    def each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for every item, in order, on the source's threads and a few items ahead."""
        if self._pool is None:
            return map(function, items)
        return _windowed(self._pool, function, items, 2 * self._n_threads)

    @contextmanager
    def threads(self, n_threads: int) -> Iterator[None]:
        """Run blocks on ``n_threads`` threads with BLAS held to one thread; what was set before comes back after."""
        with one_blas_thread():
            before = self._pool, self._n_threads
            pool = ThreadPoolExecutor(n_threads, initializer=partial(_begin, np.geterr())) if n_threads > 1 else None
            self._pool, self._n_threads = pool, n_threads
            try:
                yield
            finally:
                self._pool, self._n_threads = before
                if pool is not None:
                    pool.shutdown()


def _begin(errors: Any) -> None:
    """Let a thread of a pool compute as the caller does, to the bit, and report overflow and the like as it does."""
    np.seterr(**errors)
    shorten_buffers()


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


def equal_cuts(n_rows: int, most: int) -> list[tuple[int, int]]:
    """Return where blocks of at most so many samples begin and end, nearly equal ones.

    An even number of them, so that two threads end together, unless it is one; long ones are multiples of ALIGNED.
    """
    count = -(-n_rows // most)
    count += count % 2 if 1 < count < n_rows else 0
    if count == 0:
        return []
    size = -(-n_rows // count)
    aligned = -(-size // ALIGNED) * ALIGNED
    if count > 1 and ALIGNED**2 <= aligned <= most:
        edges = [*range(0, n_rows, aligned), n_rows]
    else:
        edges = [n_rows * i // count for i in range(count + 1)]
    return list(pairwise(edges))


def _windowed(
    pool: ThreadPoolExecutor, function: Callable[[Any], Any], items: Iterable[Any], ahead: int
) -> Iterator[Any]:
    """Like ``pool.map``, but with at most ``ahead`` results waiting: memory must not grow with the number of blocks."""
    pending = []
    for item in items:
        pending.append(pool.submit(function, item))
        if len(pending) > ahead:
            yield pending.pop(0).result()
    for future in pending:
        yield future.result()
