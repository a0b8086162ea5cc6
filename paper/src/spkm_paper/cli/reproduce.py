"""The command ``spkm``."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import spkm
from spkm.experiments import EXPERIMENTS, Plan, PlotExtraMissing, Progress, by_reason, reproduce


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 where a run failed, 2 for bad usage, 130 after Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        print(_list())
        return 0
    by_name = {experiment.name: experiment for experiment in EXPERIMENTS}
    unknown = [name for name in options.names if name not in by_name]
    if unknown:
        parser.error(f"no experiment {', '.join(unknown)}; choose from {', '.join(by_name)}.")
    chosen = [by_name[name] for name in dict.fromkeys(options.names)] or list(EXPERIMENTS)
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data: there is no folder {options.data}.")
    command = shlex.join(["spkm", *arguments])
    download = not options.quick if options.download is None else options.download
    plan = Plan(options.quick, options.seeds, options.data, download)
    try:
        with _terminated_as_interrupted():
            outcome = reproduce(
                chosen, options.out, plan, options.jobs, options.figures, command, Progress(options.quiet), EXPERIMENTS
            )
    except PlotExtraMissing as error:
        print(f"spkm: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nStopped. All finished runs are in {options.out}; go on with: {command}", file=sys.stderr)
        return 130
    for line in by_reason(outcome.skipped):
        print(f"skipped {line}", file=sys.stderr)
    if outcome.failed:
        print(f"{len(outcome.failed)} runs failed and will be tried again by: {command}", file=sys.stderr)
    print(outcome.page)
    return 1 if outcome.failed else 0


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="spkm", description="Sparse pre-image kernel machines.")
    parser.add_argument("--version", action="version", version=f"spkm {spkm.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    sub = commands.add_parser(
        "reproduce",
        help="run the paper's experiments, and make its tables and figures",
        description="Run the paper's experiments and write tables, figures and a page that shows them all. What is "
        "finished is not repeated: after an interruption the same command goes on.",
        epilog=_list(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.add_argument("names", nargs="*", metavar="EXPERIMENT", help="which to run (default: all)")
    sub.add_argument("--list", action="store_true", help="list the experiments and the data they need, and end")
    sub.add_argument("--out", type=Path, default=Path("reproduction"), metavar="DIR", help="default: %(default)s")
    sub.add_argument("--data", type=Path, metavar="DIR", help="folder of the data sets (default: that of SPKM_DATA)")
    sub.add_argument(
        "--download",
        action=argparse.BooleanOptionalAction,
        help="fetch data sets that are not there (default: unless --quick)",
    )
    sub.add_argument("--quick", action="store_true", help="a small version of everything, of minutes")
    sub.add_argument("--seeds", type=_positive, metavar="N", help="number of splits (default: the experiment's own)")
    sub.add_argument("--jobs", type=_positive, metavar="N", default=_cores(), help="processes (default: %(default)s)")
    sub.add_argument("--no-figures", dest="figures", action="store_false", help="tables only; needs no matplotlib")
    sub.add_argument("--quiet", action="store_true", help="no progress")
    return parser


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


if __name__ == "__main__":
    sys.exit(main())
