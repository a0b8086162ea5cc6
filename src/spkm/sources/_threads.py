"""BLAS held to one thread while blocks run on threads of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController


class _Limit:
    """A limit that several threads may ask for at once: the first sets it, the last takes it back."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.count = 0
        self.limiter: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.count == 0:
                self.limiter = _controller().limit(limits=1)
                self.limiter.__enter__()
            self.count += 1

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                self.limiter.__exit__(None, None, None)


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: on small products its own threads cost more than they bring."""
    _hold_on_to_memory()
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


def _hold_on_to_memory() -> None:
    """Let the allocator keep the memory of blocks from one to the next.

    The C library of Linux gives arrays above 128 kB back to the system when they are freed, and every page of the next
    one costs a fault: half of the time of a fit, measured. It raises that bound, up to 32 MB, to the size of the
    largest array it has seen freed. This one is never written to, so it takes no memory itself.
    """
    np.empty(31 * 2**20, dtype=np.uint8)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking the libraries up takes milliseconds: once is enough
