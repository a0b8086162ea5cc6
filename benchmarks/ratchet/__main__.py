"""The command ``python -m benchmarks.ratchet``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# One BLAS thread, set before NumPy is imported: figures run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import spkm
from benchmarks.ratchet.measuring import Measured, measured
from benchmarks.ratchet.record import BEST, FIGURES, Best, Figure, has_fallen, read_best, recorded, write_best


def chosen(names: Sequence[str], figures: Mapping[str, Figure]) -> list[Figure]:
    """Return the figures whose name begins with one of the given texts; all if none is given."""
    for name in names:
        if not any(known.startswith(name) for known in figures):
            raise SystemExit(f"no figure begins with {name!r}; known: {', '.join(sorted(figures))}")
    return [f for name, f in figures.items() if not names or any(name.startswith(begin) for begin in names)]


def main(arguments: Sequence[str] | None = None, figures: Mapping[str, Figure] = FIGURES, path: Path = BEST) -> int:
    """Measure, compare with the best values of a file, and return 1 if a figure has fallen."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ratchet", description="One figure for each capability, beside the best known value."
    )
    parser.add_argument("names", nargs="*", metavar="name", help="only figures whose name begins so; default: all")
    parser.add_argument("--jobs", type=int, default=1, help="figures at a time (default: %(default)s)")
    parser.add_argument("--record", action="store_true", help="repeat with several seeds; store new and better values")
    parser.add_argument("--accept", metavar="REASON", default="", help="store values that are worse, with the reason")
    options = parser.parse_args(arguments)
    record = options.record or bool(options.accept)
    known, fallen, n = read_best(path), [], 0
    for outcome in measured(chosen(options.names, figures), options.jobs, record):
        figure, best = figures[outcome.name], known.get(outcome.name)
        print(line_of(figure, outcome, best), flush=True)
        if outcome.skipped:
            continue
        n += 1
        if outcome.failed or (best and has_fallen(figure, figure.of_runs(outcome.runs), best)):
            fallen.append(outcome.name)
        if record and not outcome.failed:
            entry = recorded(figure, outcome.runs, best, spkm.__version__, options.accept)
            known = known if entry is None else {**known, outcome.name: entry}
            write_best(known, path)
    print(f"{n} figures measured. Worse than the best known: {', '.join(fallen) or 'nothing'}")
    return 1 if fallen and not options.accept else 0


def line_of(figure: Figure, outcome: Measured, known: Best | None) -> str:
    """Return the line of the report for a figure."""
    text = f"{figure.name:24s} {figure.what}: "
    if outcome.skipped or outcome.failed:
        return text + (f"not measured, {outcome.skipped}" if outcome.skipped else f"FAILED, {outcome.failed}")
    value = figure.of_runs(outcome.runs)
    text += f"{value:.4g}"
    if known is None:
        return f"{text}, new   ({outcome.seconds:.0f} s)"
    text += f", best {known.best:.4g} in {known.version}, tolerance {known.tolerance:.2g}"
    return f"{text}{'   <-- FELL' if has_fallen(figure, value, known) else ''}   ({outcome.seconds:.0f} s)"


if __name__ == "__main__":
    sys.exit(main())
