"""The command ``python -m benchmarks.ratchet``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

# One BLAS thread, set before NumPy is imported: figures run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import spkm
from benchmarks.ratchet import costs, estimators, parts, readings, samples
from benchmarks.ratchet.record import BEST, FIGURES, Best, Figure, Skipped, has_fallen, read_best, recorded, write_best

#: Modules whose import registers figures.
MODULES = (estimators, parts, samples, readings, costs)


@dataclass(frozen=True)
class Measured:
    """Values of a figure by seed, or the reason why there is none."""

    name: str
    runs: tuple[float, ...]
    seconds: float
    skipped: str = ""
    failed: str = ""


def measure(name: str, n_seeds: int, figure: Figure | None = None) -> Measured:
    """Measure a figure, that of the name if none is given, with the seeds 0, 1, ..."""
    start, figure = perf_counter(), figure or FIGURES[name]
    runs, skipped, failed = [], "", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runs = [float(figure.measure(seed)) for seed in range(n_seeds)]
    except (Skipped, ImportError) as error:
        skipped = str(error)
    except Exception as error:  # a figure that fails stops no other
        failed = f"{type(error).__name__}: {error}"
    return Measured(name, tuple(runs), perf_counter() - start, skipped, failed)


def measured(figures: Sequence[Figure], jobs: int, repeats: bool) -> Iterator[Measured]:
    """Yield the values of the figures: those of time last, one at a time."""
    beside = [figure for figure in figures if not figure.name.startswith("cost.")]
    alone = [figure for figure in figures if figure.name.startswith("cost.")]
    seeds = {figure.name: figure.kind.repeats if repeats else figure.seeds for figure in figures}
    if jobs == 1 or len(beside) < 2:
        yield from (measure(figure.name, seeds[figure.name], figure) for figure in beside)
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            names = [figure.name for figure in beside]
            yield from pool.map(measure, names, [seeds[name] for name in names])
    yield from (measure(figure.name, seeds[figure.name], figure) for figure in alone)


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
