"""How far a run is, and how long it may take: a bar where rich is installed, else lines in the log."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from spkm_paper.experiments._tasks import Result, Task

SECONDS_BETWEEN_LINES = 5.0
_log = logging.getLogger(__name__)


class Progress:
    """Tells of results as they come: by a bar on a terminal, else by lines of the logger ``spkm_paper``.

    Parameters
    ----------
    quiet : bool, default=False
        Whether to say nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._left: dict[str, Task] = {}
        self._total = 0
        self._times = _Times([])
        self._jobs = 1
        self._bar: Any = None
        self._last_line = -SECONDS_BETWEEN_LINES

    @contextmanager
    def watching(self, tasks: Sequence[Task], known: Sequence[Result], jobs: int) -> Iterator[None]:
        """Expect tasks; results of earlier runs help to say how long they take."""
        self._left = {task.key: task for task in tasks}
        self._total, self._jobs, self._times = len(tasks), jobs, _Times(known)
        bar = None if self.quiet or not tasks or not sys.stderr.isatty() else _bar()
        if bar is None:
            yield
            return
        with bar:
            self._bar = bar, bar.add_task("", total=self._total, left="")
            yield
        self._bar = None

    def told(self, result: Result) -> None:
        """Take note of a result."""
        self._left.pop(result.task.key, None)
        self._times.add(result)
        if self.quiet:
            return
        left = f"about {duration(self._times.of(self._left.values()) / self._jobs)} left"
        done = self._total - len(self._left)
        if self._bar is not None:
            bar, number = self._bar
            bar.update(number, completed=done, description=str(result.task), left=left)
            if result.failed:
                bar.console.print(_failure(result), markup=False, highlight=False)
            return
        if result.failed:
            _log.error(_failure(result))
        if monotonic() - self._last_line >= SECONDS_BETWEEN_LINES or not self._left:
            self._last_line = monotonic()
            _log.info("[%d/%d] %s: %.1f s; %s", done, self._total, result.task, result.seconds, left)


class _Times:
    """Seconds that tasks took, to guess those of others: of the same method and data, else of the same experiment."""

    def __init__(self, known: Sequence[Result]) -> None:
        self._seconds: dict[tuple[str, ...], tuple[float, int]] = {}
        for result in known:
            self.add(result)

    def add(self, result: Result) -> None:
        for group in self._groups(result.task):
            total, count = self._seconds.get(group, (0.0, 0))
            self._seconds[group] = total + result.seconds, count + 1

    def of(self, tasks: Any) -> float:
        return sum(self._guess(task) for task in tasks)

    def _guess(self, task: Task) -> float:
        total, count = next((self._seconds[g] for g in self._groups(task) if g in self._seconds), (0.0, 1))
        return total / count

    @staticmethod
    def _groups(task: Task) -> list[tuple[str, ...]]:
        return [(task.experiment, task.data, task.method), (task.experiment, task.method), (task.experiment,), ()]


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Examples
    --------
    >>> duration(4), duration(200), duration(9000)
    ('4 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _failure(result: Result) -> str:
    reason = (result.error or "").splitlines()[-1:]
    return f"failed: {result.task}: {''.join(reason)}"


def _bar() -> Any:
    """Return a bar of rich; None where it is not installed."""
    try:
        from rich import progress
        from rich.console import Console
    except ImportError:
        return None
    columns = (
        progress.MofNCompleteColumn(),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[left]}"),
        progress.TextColumn("{task.description}", style="dim"),
    )
    return progress.Progress(*columns, console=Console(stderr=True))
