"""Blocks on threads of our own, with BLAS held to one thread meanwhile."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import OpenBLASController, ThreadpoolController

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as malloc.h of the C library of Linux has them


class OnThreads:
    """Base of all that runs blocks on threads."""

    _pool: ThreadPoolExecutor | None = None
    _n_threads = 1

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


def windowed(
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


def take_in_order(
    pool: ThreadPoolExecutor,
    n_threads: int,
    function: Callable[[Any], Any],
    items: Iterable[Any],
    take: Callable[[Any], None],
) -> None:
    """Call ``take(function(item))`` for every item, in order and never twice at a time, with functions on threads.

    The calling thread is one of the ``n_threads``: if it only waited, it would wake up for every result and take
    the interpreter's lock, which the others need. Each thread takes the next item when it is done with one.
    """
    todo = enumerate(items)
    early: dict[int, Any] = {}  # results that earlier ones have to come before
    n_added = 0
    stopped = False
    lock = Lock()

    def work() -> None:
        nonlocal n_added, stopped
        try:
            while True:
                with lock:
                    i, item = next(todo, (-1, None))
                if i < 0 or stopped:
                    return
                result = function(item)
                with lock:
                    early[i] = result
                    while n_added in early:
                        take(early.pop(n_added))
                        n_added += 1
        except BaseException:
            stopped = True  # the others end with the item they have
            raise

    helpers = [pool.submit(work) for _ in range(n_threads - 1)]
    try:
        work()
    finally:
        started = [helper for helper in helpers if not helper.cancel()]
        errors = [helper.exception() for helper in started]  # waits for it
    for error in errors:
        if error is not None:
            raise error


class _BlasLimit:
    """A limit of the whole process that several threads may set: the first sets it, the last takes it back."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.count = 0
        self.limiter: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.count == 0:
                self.limiter = _controller("blas").limit(limits=1)
                _give_up_control()
            self.count += 1

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                with self.limiter:  # leaving it restores what was set before, in whichever thread that is
                    pass


_blas_limit = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread: on small products their own threads cost more than they bring."""
    _hold_on_to_memory()
    # The limit of OpenMP is one of each thread, that of BLAS one of the process.
    with _controller("openmp").limit(limits=1):
        _blas_limit.enter()
        before = shorten_buffers()
        try:
            yield
        finally:
            np.setbufsize(before)
            _blas_limit.leave()


def _give_up_control() -> None:
    """Let other threads set BLAS's number of threads, too: the last one to leave need not be the first that came.

    threadpoolctl 3.8 and later let the thread alone do so that was the first.
    """
    give_up = getattr(OpenBLASController, "clear_controlling_thread", None)  # before 3.8 there is none
    if give_up is not None:
        give_up()


def _hold_on_to_memory() -> None:
    """Let the allocator keep the memory of blocks from one to the next.

    The C library of Linux gives arrays above 128 kB back to the system when they are freed, and every page of the next
    one costs a fault: half of the time of a fit, measured. It raises that bound, up to 32 MB, to the size of the
    largest array it has seen freed. This one is never written to, so it takes no memory itself.
    """
    _let_bounds_rise()
    np.empty(31 * 2**20, dtype=np.uint8)


@cache
def _let_bounds_rise() -> None:
    """Set the bounds to the highest that they rise to, where the environment holds them fixed.

    Processes of Dask's workers have MALLOC_TRIM_THRESHOLD_ = 65536, so that memory goes back to the system early: a
    pass then takes 2.7 times as long. Set here, up to 64 MB of a worker stay with it.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    # Other C libraries than GNU's have none.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, 64 * 2**20)
        mallopt(M_MMAP_THRESHOLD, 32 * 2**20)


def shorten_buffers() -> int:
    """Let this thread's NumPy operations go along the rows of a block where they lie, and return what was set before.

    If shapes differ, as in K -= norms, NumPy copies the shorter operand over and over until a buffer is full. With
    the 8,192 entries that it has by itself such operations on blocks take up to three times as long.
    """
    return np.setbufsize(512)


@cache
def _controller(user_api: str) -> ThreadpoolController:
    # Looking the libraries up takes milliseconds: once is enough. A limiter restores all libraries of its controller.
    return ThreadpoolController().select(user_api=user_api)
