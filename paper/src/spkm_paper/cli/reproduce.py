"""``spkm-paper reproduce``, which is ``spkm reproduce`` as well."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spkm.cli import CommandError
from spkm_paper.datasets._store import data_folder
from spkm_paper.experiments import (
    EXPERIMENTS,
    Experiment,
    OutputError,
    Plan,
    PlotExtraMissing,
    Progress,
    absent_sets,
    by_reason,
    check,
    keep_what_agrees,
    reproduce,
    stale,
    stamp,
)
from spkm_paper.experiments._store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Run the paper's experiments and write tables, figures and a page that shows them all. What is finished is not "
        "repeated: after an interruption the same command goes on."
    )
    parser.epilog, parser.formatter_class = _list(), argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("names", nargs="*", metavar="EXPERIMENT", help="which to run (default: all)")
    add("--list", action="store_true", help="list the experiments and the data they need, and end")
    add("--out", type=Path, default=Path("reproduction"), metavar="DIR", help="default: %(default)s")
    add("--data", type=Path, metavar="DIR", help="folder of the data sets (default: that of SPKM_DATA)")
    add(
        "--download",
        action=argparse.BooleanOptionalAction,
        help="fetch data sets that are not there (default: unless --quick)",
    )
    add("--quick", action="store_true", help="a small version of everything, of minutes")
    add("--seeds", type=_positive, metavar="N", help="number of splits (default: the experiment's own)")
    add("--jobs", type=_positive, metavar="N", default=_cores(), help="processes (default: %(default)s)")
    add("--no-figures", dest="figures", action="store_false", help="tables only; needs no matplotlib")
    add(
        "--stale",
        action="store_true",
        help="list experiments whose results in DIR are older than the code, and end",
    )
    add(
        "--check",
        action="store_true",
        help="run one split of each method again, and mark results in DIR as those of today's code where they agree",
    )
    add(
        "--renew",
        type=Path,
        metavar="EARLIER",
        help="folder of earlier results: run one split of each method again, and keep the others where they agree",
    )
    add("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Run the experiments and return the exit code: 0, 1 where a run failed or nothing can be written, 2, 130."""
    if options.list:
        print(_list())
        return 0
    chosen = _chosen(options.names)
    if options.data is not None and not options.data.is_dir():
        raise CommandError(f"--data must be an existing folder; there is no folder {options.data}.")
    try:
        data_folder(options.data)
    except NotADirectoryError as error:  # that of the environment
        raise CommandError(str(error)) from None
    if options.stale or options.check:
        return _check(chosen, options) if options.check else _stale(chosen, options.out)
    command = options.command_line
    download = not options.quick if options.download is None else options.download
    plan = Plan(options.quick, options.seeds, options.data, download)
    arguments = (options.out, plan, options.jobs, options.figures, command, Progress(options.quiet), EXPERIMENTS)
    try:
        with _told_on_the_error_stream(), _terminated_as_interrupted():
            if options.renew is not None:
                _keep_what_agrees(chosen, plan, options)
            outcome = reproduce(chosen, *arguments)
    except PlotExtraMissing as error:
        raise CommandError(str(error)) from None
    except OutputError as error:
        text = f"--out: {error} Runs that were written are kept; mend it or give another folder, then go on with: "
        raise CommandError(text + command, exit_code=1) from None
    except KeyboardInterrupt:
        print(f"\nStopped. All finished runs are in {options.out}; go on with: {command}", file=sys.stderr)
        return 130
    for line in by_reason(outcome.skipped):
        print(f"skipped {line}", file=sys.stderr)
    if outcome.failed:
        print(f"{len(outcome.failed)} runs failed and will be tried again by: {command}", file=sys.stderr)
    print(outcome.page)
    return 1 if outcome.failed else 0


def _stale(chosen: list[Experiment], out: Path) -> int:
    """Print the experiments whose results are older than the code; return 1 if there are any."""
    names = stale(out, chosen)
    print("\n".join(names) or "no results are older than the code")
    return 1 if names else 0


def _check(chosen: list[Experiment], options: argparse.Namespace) -> int:
    """Run one split of each method again; return 1 if any result differs."""
    left = stale(options.out, chosen)
    plan = Plan(False, options.seeds or 1, options.data, False)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for experiment in [experiment for experiment in chosen if experiment.name in left]:
            absent = absent_sets(experiment, plan)
            sets = [name for name in experiment.data if name not in absent]
            found = check(experiment, options.out, plan, sets, Store(Path(folder) / "results.jsonl"))
            if found.n_runs and not found.differ:
                stamp(options.out, [experiment])
            bad += bool(found.differ)
            print(f"{experiment.name}: {found.n_runs} runs done again, {len(found.differ)} differ")
            for line in found.differ[:5]:
                print(f"  {line}")
    return 1 if bad else 0


def _keep_what_agrees(chosen: list[Experiment], plan: Plan, options: argparse.Namespace) -> None:
    """Put the earlier results that today's code confirms into the folder of the results."""
    if not options.renew.is_dir():
        raise CommandError(f"--renew must be a folder of earlier results; there is no folder {options.renew}.")
    store = Store(options.out / "results.jsonl")
    for experiment in chosen:
        absent = absent_sets(experiment, plan)
        sets = [name for name in experiment.data if name not in absent]
        arguments = (options.renew, store, plan, sets, options.jobs, Progress(options.quiet))
        for line in keep_what_agrees(experiment, *arguments):
            print(f"{experiment.name}: {line} is run again", file=sys.stderr)


def _chosen(names: list[str]) -> list[Experiment]:
    """Return the experiments of these names; all, if there are none."""
    by_name = {experiment.name: experiment for experiment in EXPERIMENTS}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise CommandError(f"no experiment {', '.join(unknown)}; choose from {', '.join(by_name)}.")
    return [by_name[name] for name in dict.fromkeys(names)] or list(EXPERIMENTS)


@contextmanager
def _told_on_the_error_stream() -> Iterator[None]:
    """Show what the package logs, as it comes."""
    logger = logging.getLogger("spkm_paper")
    handler, level = logging.StreamHandler(sys.stderr), logger.level
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Answer the signal by which schedulers end a program as Ctrl-C: processes end, and the report is written."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _list() -> str:
    lines = ["experiments:"]
    for experiment in EXPERIMENTS:
        lines.append(f"  {experiment.name:<14}{experiment.title}")
        needs = ", ".join(experiment.data) or "no data"
        lines.append(f"  {'':<14}needs {needs}{', and does a part without' if experiment.makes_data else ''}")
    return "\n".join(lines)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text!r}")
    return int(text)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
