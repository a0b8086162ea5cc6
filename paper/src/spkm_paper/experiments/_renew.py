"""Earlier results that hold today: a method of which one split, run again, agrees keeps the others."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from spkm_paper.experiments._code import same
from spkm_paper.experiments._progress import Progress
from spkm_paper.experiments._runner import Work, run_all
from spkm_paper.experiments._store import Store
from spkm_paper.experiments._tasks import Experiment, Plan, Result, Task

NOT_NUMBERS = ("data", "split", "method", "run_seconds", "warnings", "failure")  # columns of a run


def keep_what_agrees(
    experiment: Experiment,
    earlier: Path,
    store: Store,
    plan: Plan,
    sets: Sequence[str],
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[str]:
    """Fill a store with the first split of every method, and with earlier runs of the methods that agree with it.

    Parameters
    ----------
    experiment : Experiment
        The experiment, whose first splits are run here.
    earlier : Path
        Folder of earlier results, with ``<experiment>.csv``.
    store : Store
        The store that is filled. A call of ``reproduce`` with the same store runs what is missing.
    plan : Plan
        Splits and folder of the data.
    sets : sequence of str
        Names of the data sets that are there.
    jobs : int, default=1
        Processes at a time.
    progress : Progress, default=None
        Display of the runs.

    Returns
    -------
    list of str
        Data set and method of the runs that differ, whose other splits must be run again.
    """
    path = earlier / f"{experiment.name}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = {(row["data"], int(row["split"]), row["method"]): row for row in csv.DictReader(file)}
    tasks = list(experiment.tasks(plan, sets))
    first: dict[tuple[str, str], Task] = {}
    for task in tasks:
        first.setdefault((task.data, task.method), task)
    known = [task for task in first.values() if (task.data, task.seed, task.method) in rows]
    found = run_all([Work(task, experiment.run, experiment.alone) for task in known], store, jobs, plan.data, progress)
    agree = {
        (r.task.data, r.task.method) for r in found.values() if same(r, rows[r.task.data, r.task.seed, r.task.method])
    }
    for task in tasks:
        row = rows.get((task.data, task.seed, task.method))
        if row is not None and (task.data, task.method) in agree and task.key not in found:
            store.append(_result(task, row))
    return [f"{data}, {method}" for data, method in first if (data, method) not in agree]


def _result(task: Task, row: Mapping[str, str]) -> Result:
    """Return a run as a line of a CSV file has it."""
    texts = {name: text for name, text in row.items() if text and name not in NOT_NUMBERS}
    numbers = {name: int(text) if text.lstrip("-").isdigit() else float(text) for name, text in texts.items()}
    warned = ("a warning of an earlier run",) * int(row["warnings"] or 0)
    return Result(task, numbers, warnings=warned, seconds=float(row["run_seconds"]))
