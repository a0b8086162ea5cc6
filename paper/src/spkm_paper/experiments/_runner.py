"""Runs tasks in processes of one thread each, and puts every result on disk as it comes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spkm_paper.experiments._progress import Progress
from spkm_paper.experiments._store import Store
from spkm_paper.experiments._tasks import Numbers, Result, Task

Run = Callable[[Task, Path | None], Numbers]


class Work(NamedTuple):
    """A task, the function that does it, and whether it needs the machine for itself."""

    task: Task
    run: Run
    alone: bool = False


def run_all(
    work: Sequence[Work], store: Store, jobs: int = 1, data: Path | None = None, progress: Progress | None = None
) -> dict[str, Result]:
    """Do what is not done yet, and return the results of all the work by the tasks' keys.

    A task whose result is in the store is not repeated, one that failed is. A task that raises, or whose process dies,
    has its error recorded, and the rest goes on.

    Parameters
    ----------
    work : sequence of Work
        What to do. What needs the machine for itself comes last, one task at a time.
    store : Store
        Where results are, and go.
    jobs : int, default=1
        Processes at a time.
    data : Path, default=None
        Folder of the data sets, handed to the tasks.
    progress : Progress, default=None
        Is told of every result.
    """
    results = {key: result for key, result in store.load().items() if not result.failed}
    todo = list({w.task.key: w for w in work if w.task.key not in results}.values())
    known = list(results.values())
    progress = progress or Progress(quiet=True)
    with progress.watching([w.task for w in todo], known, jobs):
        for batch, n in (([w for w in todo if not w.alone], jobs), ([w for w in todo if w.alone], 1)):
            for result in _in_processes(batch, n, data):
                store.append(result)
                results[result.task.key] = result
                progress.told(result)
    return {w.task.key: results[w.task.key] for w in work}


class _Worker:
    """A process that does one task after the other; it knows nothing of Ctrl-C, which is for the parent to answer."""

    def __init__(self, data: Path | None) -> None:
        context = _context()
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, data), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Task | None = None

    def give(self, work: Work) -> None:
        self.task = work.task
        with suppress(ConnectionError):  # of a process that is dead already: take() tells
            self.connection.send((work.task, work.run))

    def take(self) -> Result:
        """Return the result; a dead process is one, too."""
        assert self.task is not None
        try:
            return self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            return Result(self.task, error=f"the process ended with code {self.process.exitcode}; out of memory?")

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.connection.close()


def _context() -> Any:
    """Return how to start processes: never by forking this one, whose threads (those of BLAS) would not be copied."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["spkm_paper.experiments"])  # imported once, not by every process
    return context


def _in_processes(work: Sequence[Work], jobs: int, data: Path | None) -> Any:
    """Yield results in the order in which they come."""
    waiting = deque(work)
    workers = [_Worker(data) for _ in range(min(jobs, len(waiting)))]
    try:
        busy: dict[Any, _Worker] = {}
        idle = list(workers)
        while waiting or busy:
            while waiting and idle:
                worker = idle.pop()
                worker.give(waiting.popleft())
                busy[worker.connection] = worker
            for connection in wait(list(busy)):
                worker = busy.pop(connection)
                result = worker.take()
                if not worker.process.is_alive():
                    worker.end()
                    workers.remove(worker)
                    worker = _Worker(data)
                    workers.append(worker)
                idle.append(worker)
                yield result
    finally:
        for worker in workers:
            worker.end()


def _serve(connection: Connection, data: Path | None) -> None:
    """Do tasks until the parent ends."""
    # A fit of ours answers Ctrl-C with the best so far, which must not pass for its result.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    with threadpool_limits(1):
        while True:
            try:
                task, run = connection.recv()
            except (EOFError, ConnectionError):
                return
            try:
                connection.send(execute(task, run, data))
            except ConnectionError:
                return


def execute(task: Task, run: Run, data: Path | None) -> Result:
    """Do a task and return its numbers, or the error it raised; warnings are counted, not shown."""
    start = perf_counter()
    numbers, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            numbers = _plain(run(task, data))
        except Exception as raised:
            error = "".join(traceback.format_exception(raised, limit=-3)).strip()
    counts = Counter(f"{w.category.__name__}: {w.message}".split("\n")[0][:160] for w in caught)
    texts = tuple(f"{count} x {text}" for text, count in counts.most_common(3))
    return Result(task, numbers, error, texts, round(perf_counter() - start, 3))


def _plain(numbers: Numbers) -> Numbers:
    """Return numbers as JSON has them, to full precision."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            return value.tolist()
        raise TypeError(f"a task returns numbers and lists of them; got {type(value).__name__}.")

    return json.loads(json.dumps(numbers, default=plain))
