"""From names of experiments to a folder of tables, figures and a page."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import spkm
from spkm_paper.experiments._blocks import Figure
from spkm_paper.experiments._code import stamp
from spkm_paper.experiments._data import absence
from spkm_paper.experiments._figures import files, require_matplotlib
from spkm_paper.experiments._page import Section, page
from spkm_paper.experiments._progress import Progress
from spkm_paper.experiments._runner import Work, run_all
from spkm_paper.experiments._store import OutputError, Store, make_folder, write_bytes, write_text
from spkm_paper.experiments._tables import runs_csv
from spkm_paper.experiments._tasks import Experiment, Plan, Result, Results

PLANS = "plans.json"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib")


class Outcome(NamedTuple):
    """What :func:`reproduce` did: the page, what was skipped and why, and what failed."""

    page: Path
    skipped: dict[str, str]
    failed: list[Result]


def reproduce(
    experiments: Sequence[Experiment],
    out: Path,
    plan: Plan,
    jobs: int = 1,
    figures: bool = True,
    command: str = "spkm-paper reproduce",
    progress: Progress | None = None,
    others: Sequence[Experiment] = (),
) -> Outcome:
    """Run experiments, as far as they are not done yet, and write what came of them.

    Parameters
    ----------
    experiments : sequence of Experiment
        What to run.
    out : Path
        The folder: ``results.jsonl`` has every run as it came, ``<experiment>.csv`` and ``.md`` runs and tables, PNG
        and SVG files the figures, ``index.html`` all of it, with the experiments of earlier calls.
    plan : Plan
        Splits, size and folder of the data.
    jobs : int, default=1
        Processes at a time.
    figures : bool, default=True
        Whether to draw; needs matplotlib.
    command : str
        How to do the same again, for the page.
    progress : Progress, default=None
        Is told of every run.
    others : sequence of Experiment
        Experiments that are not run, but shown if earlier calls ran them.

    Raises
    ------
    OutputError
        If the folder cannot be written; what was written before is kept.
    """
    if figures:
        require_matplotlib()
    make_folder(out)
    store = Store(out / "results.jsonl")
    plans = _read_plans(out)
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    skipped: dict[str, str] = {}
    work: list[Work] = []
    chosen = []
    for experiment in experiments:
        absent = absent_sets(experiment, plan)
        skipped |= {f"{experiment.name}: {name}": reason for name, reason in absent.items()}
        sets = [name for name in experiment.data if name not in absent]
        if sets or experiment.makes_data or not experiment.data:
            chosen.append(experiment)
            work += [Work(task, experiment.run, experiment.alone) for task in experiment.tasks(plan, sets)]
            asked = {"quick": plan.quick, "seeds": plan.seeds, "sets": sets, "skipped": absent}
            plans[experiment.name] = {**asked, "command": command, "date": date}
    write_text(out / PLANS, json.dumps(plans, indent=1))
    try:
        run_all(work, store, jobs, plan.data, progress)
    finally:  # also after Ctrl-C: what is done is worth a look
        shown = [*others, *(experiment for experiment in experiments if experiment not in others)]
        sections = write_report(shown, out, figures)
        stamp(out, chosen)
        write_text(out / "index.html", page(sections, facts(), skipped))
    results = [result for s in sections if s.experiment in chosen for result in s.results]
    return Outcome(out / "index.html", skipped, [result for result in results if result.failed])


def absent_sets(experiment: Experiment, plan: Plan) -> dict[str, str]:
    """Return the data sets of an experiment that cannot be had, and why."""
    reasons = {name: absence(name, plan.data, plan.download) for name in experiment.data}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def write_report(experiments: Sequence[Experiment], out: Path, figures: bool) -> list[Section]:
    """Write the files of the experiments that have a plan in the folder, and return their sections."""
    found = Store(out / "results.jsonl").load()
    plans = _read_plans(out)
    sections = []
    for experiment in experiments:
        if experiment.name not in plans:
            continue
        fields = plans[experiment.name]
        tasks = list(experiment.tasks(Plan(fields["quick"], fields["seeds"]), fields["sets"]))
        results = [found[task.key] for task in tasks if task.key in found]
        finished = Results(results)
        blocks = experiment.report(finished) if finished.all else []
        images = {}
        for block in blocks:
            if figures and isinstance(block, Figure):
                drawn = files(block.draw())
                for kind, content in drawn.items():
                    write_bytes(out / f"{block.name}.{kind}", content)
                images[block.name] = drawn["svg"]
        section = Section(
            experiment,
            fields["command"],
            fields["date"],
            results,
            len(tasks),
            fields["quick"],
            fields["skipped"],
            blocks,
            images,
        )
        write_text(out / f"{experiment.name}.csv", runs_csv(results))
        write_text(out / f"{experiment.name}.md", section.markdown())
        sections.append(section)
    return sections


def facts() -> dict[str, str]:
    """Return what numbers and times may depend on."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "spkm": spkm.__version__,
        "Python": platform.python_version(),
        **versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _read_plans(out: Path) -> dict[str, Any]:
    path = out / PLANS
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise OutputError(f"{path} is damaged ({error}). Remove it: results are kept in another file.") from error
