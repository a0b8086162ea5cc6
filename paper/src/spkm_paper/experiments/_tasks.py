"""What an experiment consists of: tasks, their results, and how both are planned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import spkm
from spkm_paper.experiments._blocks import Figure, Table

#: What a task returns: numbers by name, or lists of them.
Numbers = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One fit or one choice among fits, on one split of one data set.

    Parameters
    ----------
    experiment, data, method : str
        Names: of the experiment, of the data set, and of what is fitted.
    seed : int
        Seed of the split, and of all that is random in the task.
    settings : mapping
        Everything else that the numbers depend on; plain numbers, texts, lists and mappings.
    version : int
        Of the experiment's code: a larger one makes earlier results stale.

    Examples
    --------
    >>> task = Task("table1", "ionosphere", 0, "KRR", {"grid": 11})
    >>> task.key == Task("table1", "ionosphere", 0, "KRR", {"grid": 11}).key
    True
    >>> task.key == Task("table1", "ionosphere", 0, "KRR", {"grid": 5}).key
    False
    """

    experiment: str
    data: str
    seed: int
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1

    @property
    def key(self) -> str:
        """Hash of the definition and of the library's version: equal keys promise equal numbers."""
        definition = [
            self.experiment,
            self.data,
            self.seed,
            self.method,
            self.settings,
            self.version,
            spkm.__version__,
        ]
        return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:24]

    def __str__(self) -> str:
        return f"{self.experiment}, {self.data}, split {self.seed}, {self.method}"


@dataclass(frozen=True)
class Result:
    """What came of a task: its numbers, or the error that ended it."""

    task: Task
    numbers: Numbers | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether there are no numbers."""
        return self.numbers is None


class Results:
    """The results of one experiment that have numbers, and how to look them up.

    Parameters
    ----------
    results : iterable of Result
        In the order of the plan; those that failed are left out.
    """

    def __init__(self, results: Iterable[Result]) -> None:
        self.all = [result for result in results if not result.failed]

    @property
    def data(self) -> list[str]:
        """Names of the data sets, in the order of the plan."""
        return list(dict.fromkeys(result.task.data for result in self.all))

    def methods(self, data: str) -> list[str]:
        """Return the methods of a data set, in the order of the plan."""
        return list(dict.fromkeys(result.task.method for result in self.all if result.task.data == data))

    def by_seed(self, data: str, method: str, measure: str) -> dict[int, Any]:
        """Return one measure of a method, by the seed of the split."""
        return {
            result.task.seed: result.numbers[measure]
            for result in self.all
            if result.task.data == data
            and result.task.method == method
            and result.numbers is not None
            and measure in result.numbers
        }

    def values(self, data: str, method: str, measure: str) -> np.ndarray:
        """Return the same as an array, in the order of the seeds."""
        found = self.by_seed(data, method, measure)
        return np.array([found[seed] for seed in sorted(found)], dtype=float)

    def mean(self, data: str, method: str, measure: str) -> float:
        """Return the mean over the splits; NaN, which figures leave out, where there is no result yet."""
        values = self.values(data, method, measure)
        return float(values.mean()) if len(values) else float("nan")


@dataclass(frozen=True)
class Plan:
    """What was asked for.

    Parameters
    ----------
    quick : bool
        A small version, of minutes.
    seeds : int or None
        Number of splits; None is what the experiment has by itself.
    data : Path or None
        Folder of the data sets; None is the one of :mod:`spkm_paper.datasets`.
    download : bool
        Whether to fetch data sets that are not there.
    """

    quick: bool = False
    seeds: int | None = None
    data: Path | None = None
    download: bool = False

    def n_seeds(self, usual: int) -> int:
        """Return how many splits to run."""
        return self.seeds or (2 if self.quick else usual)

    def size(self, full: Any, quick: Any) -> Any:
        """Return the first in a full run, the second in a quick one."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Parameters
    ----------
    name, title, about : str
        Name on the command line, a line for lists, and the protocol in a few sentences.
    tasks : callable
        Takes a plan and the names of the data sets that are there; returns tasks.
    run : callable
        Takes a task and the folder of the data; returns numbers by name. A function of a module, as processes call it.
    report : callable
        Takes results; returns tables and figures.
    data : tuple of str
        The data sets it needs. Those that are absent are skipped, and with the last of them the experiment.
    alone : bool
        Whether its tasks need the machine for themselves, as clocks do.
    makes_data : bool
        Whether it has made-up samples as well, and so something to do where all of ``data`` are absent.
    """

    name: str
    title: str
    about: str
    tasks: Callable[[Plan, Sequence[str]], Iterable[Task]]
    run: Callable[[Task, Path | None], Numbers]
    report: Callable[[Results], Sequence[Table | Figure]]
    data: tuple[str, ...] = ()
    alone: bool = False
    makes_data: bool = False
