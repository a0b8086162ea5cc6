"""A pass on Dask by two workers over one, and what a killed worker costs: ten million samples in 40 shards.

A pass is the gradient of a squared loss, RBF kernel, 20 features and 20 vectors. Workers are processes of one thread on
this machine: a cluster of one and a cluster of two, which take turns; seconds are those of the quickest pass by the
clock, so the figure means something on a machine that does nothing else. Then passes are made in a row on the cluster
of two, and a worker is killed by SIGKILL in the middle of the second. "Extra" is the time of that pass beyond that of a
quickest one, in passes, the median of three kills: the other worker makes the lost shards again and does the rest of
the pass. It keeps these shards, so that the passes after it take longer, too, until a solver's next fit. All sums must
be equal to the bit.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, at_least, below, progress
from benchmarks.dask_plan import Point, passes_over

COLUMNS = ("s of one", "s of two")
SHARDS, ROWS = 40, 250_000
ROUNDS = 5
KILLS = 3
Pass = Callable[[], tuple[np.ndarray, ...]]


def run(settings: Settings) -> Iterator[Row]:
    import dask
    import distributed  # noqa: F401, before its settings are changed

    rows = settings.size(ROWS, ROWS // 100)
    n = f"n = {SHARDS * rows:,}"
    quiet = {"distributed.admin.large-graph-warning-threshold": "1GB"}
    with dask.config.set(quiet), cluster(2) as pair:
        with cluster(1) as alone:
            clients = {1: alone, 2: pair}
            passes: dict[int, Pass] = {}
            for k, client in clients.items():
                with client.as_current():
                    passes[k] = passes_over(Point(k, SHARDS, rows))
            seconds, sums = taking_turns(clients, passes, settings.size(ROUNDS, 2))
        equal = all(same(found, sums[0]) for found in sums)
        one, two = (min(seconds[k]) for k in (1, 2))
        more = (f"{one:.2f}", f"{two:.2f}")
        yield Row(f"{n}, a pass: one worker over two", one / two, at_least(1.7), more=more)
        yield Row(f"{n}, sums of one and two workers equal to the bit", float(equal), at_least(1), "{:.0f}", ("", ""))
        found = [killed(pair, Point(2, SHARDS, rows), two) for _ in range(settings.size(KILLS, 1))]
        during, after = (np.array([times[k] / two for times, _ in found]) for k in (1, 2))
        of_each = ", ".join(f"{extra:.1f}" for extra in during - 1)
        yield Row(f"{n}, a worker killed: extra, in passes", np.median(during) - 1, below(2), more=("", of_each))
        yield Row(f"{n}, the pass after that, in passes", np.median(after), more=("", ""))
        equal = all(same(result, sums[0]) for _, results in found for result in results)
        yield Row(f"{n}, sums with a worker killed equal to the bit", float(equal), at_least(1), "{:.0f}", ("", ""))


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Give a client of a new cluster of processes."""
    from distributed import Client, LocalCluster

    settings: dict[str, Any] = {
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
        "silence_logs": logging.CRITICAL,
    }
    with LocalCluster(n_workers=workers, **settings) as local, Client(local, set_as_default=False) as client:
        yield client


def taking_turns(
    clients: dict[int, Any], passes: dict[int, Pass], rounds: int
) -> tuple[dict[int, list[float]], list[tuple[np.ndarray, ...]]]:
    """Return seconds of passes by number of workers, and the sums of all of them; the first round only warms up."""
    seconds: dict[int, list[float]] = {k: [] for k in clients}
    sums = []
    for i in range(rounds + 1):
        for k, client in clients.items():
            with client.as_current():
                started = time.perf_counter()
                sums.append(passes[k]())
                took = time.perf_counter() - started
            progress(f"{k} workers: {took:.2f} s")
            if i:
                seconds[k].append(took)
    return seconds, sums


def killed(client: Any, point: Point, usual: float) -> tuple[list[float], list[tuple[np.ndarray, ...]]]:
    """Return the seconds of three passes, in the second of which a worker is killed, and their sums."""
    client.wait_for_workers(2)
    seconds, sums = [], []
    with client.as_current():
        one_pass = passes_over(point)  # new shards, on both workers
        one_pass()
        victim = next(iter(client.run(os.getpid).values()))
        for k in range(3):
            timer = Timer(0.5 * usual, os.kill, (victim, signal.SIGKILL) if k == 1 else (os.getpid(), 0))
            started = time.perf_counter()
            timer.start()
            sums.append(one_pass())
            seconds.append(time.perf_counter() - started)
            timer.join()
    progress(f"a worker killed in the second of passes of {', '.join(f'{s:.2f}' for s in seconds)} s")
    return seconds, sums


def same(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> bool:
    """Whether two results are equal to the bit."""
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["dask_workers", *sys.argv[1:]])
