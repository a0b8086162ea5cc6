"""The list of benchmarks, and the command line that runs them."""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks._data import Settings
from benchmarks._figures import draw_all
from benchmarks._front import with_figures, with_ranks
from benchmarks._report import print_facts, print_table
from benchmarks._tables import FOLDER, ROOT, fill_pages, stale, with_cells
from benchmarks._whole import LEFT_OUT, Done, module_of, names, process, run_whole


def parser_of(choices: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure the library; print Markdown tables."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"what to run: {', '.join(choices)}; by default all but {', '.join(LEFT_OUT)} and those of the folder "
        "choices, within about an hour of processor time",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="how many benchmarks run at a time where all are run (default: %(default)s)"
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("SPKM_DATA"), help="folder of .npz files (or set SPKM_DATA)"
    )
    parser.add_argument("--seeds", type=int, help="random splits, where a benchmark has them")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes and one seed: shows that it runs, measures nothing"
    )
    parser.add_argument("--minutes", type=float, help="how long hostile runs (default: 30)")
    parser.add_argument("--half", choices=("A", "B"), help="one half only, where a benchmark has two")
    parser.add_argument(
        "--families", nargs="+", default=(), metavar="TEXT", help="only the problems whose name contains such a text"
    )
    parser.add_argument(
        "--results", type=Path, help="CSV file where selection_panel keeps outcomes and takes known ones from"
    )
    parser.add_argument(
        "--tables", type=Path, default=FOLDER, help="folder that NAME.csv is written to (default: %(default)s)"
    )
    parser.add_argument("--stale", action="store_true", help="say which results the code has left behind, and stop")
    parser.add_argument("--pages", action="store_true", help="write the results into the pages of docs, and stop")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks that the command line names."""
    choices = names()
    parser = parser_of(choices)
    options = parser.parse_args(arguments)
    if options.pages:
        print("changed:", *fill_pages())
        print("drawn:", *draw_all())
        for front in (ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "numbers" / "ranks.md"):
            text = with_cells(with_ranks(with_figures(front.read_text(encoding="utf-8"))))
            front.write_text(text, encoding="utf-8")
        return
    if options.stale:
        print("\n".join(stale(options.tables)))
        return
    for name in options.names:
        if name not in choices:
            parser.error(f"unknown benchmark {name!r}; known: {', '.join(choices)}")
    if not options.names:
        sys.exit(bool(whole(parser, options)))
    settings = Settings(
        data=Path(options.data) if options.data else None,
        seeds=options.seeds,
        quick=options.quick,
        half=options.half,
        families=tuple(options.families),
        results=options.results,
        minutes=options.minutes,
    )
    print_facts()
    if settings.quick:
        print("This is a quick run on tiny sizes: it shows that the benchmarks work, its figures mean nothing.")
    for name in options.names:
        print_table(name, importlib.import_module(module_of(name)), settings, _command(name, options), options.tables)


def whole(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[Done]:
    """Run all benchmarks with the settings of a whole run; return those that wrote no table."""
    for key in ("seeds", "half", "families", "results"):
        if getattr(options, key):
            parser.error(f"--{key} needs the name of a benchmark; in a run of all each has its own settings")
    tables = options.tables.resolve()
    shared = ["--tables", str(tables), *(["--quick"] if options.quick else [])]
    shared += ["--data", str(Path(options.data).resolve())] if options.data else []
    print_facts()
    return run_whole(partial(process, shared=shared, folder=tables, quick=options.quick), options.jobs)


def _command(name: str, options: argparse.Namespace) -> str:
    given = {"seeds": options.seeds, "half": options.half, "families": shlex.join(options.families)}
    return " ".join([f"python -m benchmarks {name}", *(f"--{key} {value}" for key, value in given.items() if value)])


if __name__ == "__main__":
    main()
