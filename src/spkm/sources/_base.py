"""Rows, in blocks: what a fit can do with data, whatever holds them.

``reduce`` adds up what a function returns for each block, ``map`` gives the results block by block, ``take`` and
``subset`` pick rows. Nothing above this layer knows whether rows lie in memory, in a memory map or in a sparse matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

WIDE = 2**14  # entries of a row and what is computed from it
MAX_TASKS = 64  # blocks are added up in at most this many runs, so that sums do not depend on the number of threads


class Block(NamedTuple):
    """Some rows: X (n, d) dense or CSR, targets Y (n, m), weights w (n, 1); all rows' weights sum to one.

    ``cache`` keeps what depends on these rows alone, such as their norms, from one pass to the next.
    """

    X: Any
    Y: np.ndarray
    w: np.ndarray
    cache: dict[Any, np.ndarray]


class Source:
    """Base of all sources: a subclass tells the sizes below and makes the block of a slice."""

    n_rows: int
    n_features: int
    n_outputs: int
    dtype: np.dtype
    #: Targets (n, m) and weights (n, 1) of all rows; the weights sum to one.
    Y: np.ndarray
    w: np.ndarray
    #: Sum of the row weights before they were made to sum to one: the n in strengths that shrink with more rows.
    total_weight: float

    _pool: ThreadPoolExecutor | None = None
    _n_threads = 1

    def block(self, start: int, stop: int) -> Block:
        """Return rows ``start`` to ``stop``."""
        raise NotImplementedError

    def take(self, rows: np.ndarray) -> Block:
        """Return the given rows with their weights made to sum to one."""
        raise NotImplementedError

    def subset(self, rows: np.ndarray) -> Source:
        """Return a source of the given rows, on the same threads."""
        raise NotImplementedError

    def columns(self, columns: np.ndarray) -> Source:
        """Return a source of the given columns, on the same threads."""
        raise NotImplementedError

    def with_targets(self, function: Callable[[np.ndarray], np.ndarray]) -> Source:
        """Return the same rows with ``function`` applied to their targets."""
        raise NotImplementedError

    def dense(self, rows: np.ndarray) -> np.ndarray:
        """Return the given rows as a dense array: for start points and heuristics, on few rows."""
        raise NotImplementedError

    def slices(self, width: int) -> list[tuple[int, int]]:
        """Return the cuts into blocks for a model of ``width`` basis vectors."""
        size = rows_per_block(self.n_features, width)
        return [(i, min(i + size, self.n_rows)) for i in range(0, self.n_rows, size)]

    def reduce(self, function: Callable[..., tuple], *args: Any, width: int) -> tuple:
        """Return the sums over blocks of the arrays that ``function(block, *args)`` returns, added in a fixed order."""
        slices = self.slices(width)
        if len(slices) == 1:  # small fits make thousands of passes, and notice what is done around the one block
            return tuple(_sum([function(self.block(*slices[0]), *args)]))
        runs = np.array_split(np.arange(len(slices)), min(len(slices), MAX_TASKS))

        def add_run(run: np.ndarray) -> list:
            return _sum(function(self.block(*slices[i]), *args) for i in run)

        return tuple(_sum(self.each(add_run, runs)))

    def map(self, function: Callable[..., Any], *args: Any, width: int) -> Iterator[Any]:
        """Yield ``function(block, *args)`` for every block, in the order of rows."""
        yield from self.each(lambda cut: function(self.block(*cut), *args), self.slices(width))

    def each(self, function: Callable[[Any], Any], items: Any) -> Iterator[Any]:
        """Yield ``function(item)`` for every item, in order, on the source's threads and a few items ahead."""
        if self._pool is None:
            return map(function, items)
        return _windowed(self._pool, function, items, 2 * self._n_threads)

    @contextmanager
    def threads(self, n_threads: int) -> Iterator[None]:
        """Run blocks on ``n_threads`` threads with BLAS held to one thread; what was set before comes back after."""
        with one_blas_thread():
            before = self._pool, self._n_threads
            # Threads report overflow and the like as the caller does, whatever their number.
            pool = (
                ThreadPoolExecutor(n_threads, initializer=partial(np.seterr, **np.geterr())) if n_threads > 1 else None
            )
            self._pool, self._n_threads = pool, n_threads
            try:
                yield
            finally:
                self._pool, self._n_threads = before
                if pool is not None:
                    pool.shutdown()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: on small products its own threads cost more than they bring."""
    _hold_on_to_memory()
    with _threadpools().limit(limits=1):
        yield


def _hold_on_to_memory() -> None:
    """Let the allocator keep the memory of blocks from one to the next.

    The C library of Linux gives arrays above 128 kB back to the system when they are freed, and every page of the next
    one costs a fault: half of the time of a fit, measured. It raises that bound, up to 32 MB, to the size of the
    largest array it has seen freed. This one is never written to, so it takes no memory itself.
    """
    np.empty(31 * 2**20, dtype=np.uint8)


def rows_per_block(n_features: int, width: int) -> int:
    """Return how many rows make a block: 4,096 to 16,384 were quickest, fewer where they would not fit 32 MB.

    Very wide rows come in blocks of 8 MB: memory, not time, is what they are short of.
    """
    entries = n_features + 3 * width  # of a row and what is computed from it
    if entries > WIDE:
        return max(2**20 // entries, 4)  # several arrays of a block's size exist at a time
    return min(16384, max(2**21 // entries, min(4096, 2**22 // entries), 64))


def _windowed(pool: ThreadPoolExecutor, function: Callable[[Any], Any], items: Any, ahead: int) -> Iterator[Any]:
    """Like ``pool.map``, but with at most ``ahead`` results waiting: memory must not grow with the number of blocks."""
    pending = []
    for item in items:
        pending.append(pool.submit(function, item))
        if len(pending) > ahead:
            yield pending.pop(0).result()
    for future in pending:
        yield future.result()


def _sum(results: Any) -> list:
    total: list = []
    for result in results:
        if not total:
            total = [np.array(part, dtype=np.float64) for part in result]
        else:
            for k, part in enumerate(result):
                total[k] += part
    return total


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()  # looking the libraries up takes milliseconds: once is enough
