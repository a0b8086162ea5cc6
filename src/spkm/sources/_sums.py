"""Sums over blocks in a fixed order, on any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np


def add_up(results: Iterable[Any]) -> list[Any]:
    """Return the sums of the arrays of all results, in float64 and in order."""
    total: list[Any] = []
    for result in results:
        _add(total, result)
    return total


def add_up_on_threads(
    pool: ThreadPoolExecutor, n_threads: int, function: Callable[[Any], Any], items: Iterable[Any]
) -> list[Any]:
    """Return the sums of the arrays of ``function(item)``, added in the order of items, to the bit as :func:`add_up`.

    The calling thread is one of the ``n_threads``: if it only waited, it would wake up for every result and ask for
    the interpreter's lock, which the others need. Each thread takes the next item when it is done with one.
    """
    todo = enumerate(items)
    total: list[Any] = []
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
                        _add(total, early.pop(n_added))
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
    return total


def _add(total: list[Any], result: Any) -> None:
    if not total:
        total += [np.array(part, dtype=np.float64) for part in result]
    else:
        for k, part in enumerate(result):
            total[k] += part
