"""Figures measured one after another, or several at a time in processes of their own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from time import perf_counter

from benchmarks.ratchet import costs, estimators, parts, readings, samples
from benchmarks.ratchet.record import FIGURES, Figure, Skipped

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
