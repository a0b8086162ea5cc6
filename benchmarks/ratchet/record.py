"""Figures, their best values in a CSV file, and the comparison of a new value with the best."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BEST = Path(__file__).with_name("best.csv")
COLUMNS = ("name", "best", "tolerance", "version", "runs", "note")


class Skipped(Exception):
    """A figure cannot be measured here; the text gives the reason."""


@dataclass(frozen=True)
class Kind:
    """Unit of a figure.

    Parameters
    ----------
    sign : {1, -1}
        1 if larger is better, -1 if smaller is better.
    absolute, relative : float
        Smallest tolerance, as a number and as a share of the best value. Covers what another CPU may change.
    factor : float, default=1
        Values are equal if one is at most this multiple of the other: for rounding errors, where only the order of
        magnitude counts.
    seeds, repeats : int, default=3, 6
        Number of seeds of a plain run and of a recording.
    """

    sign: int
    absolute: float
    relative: float
    factor: float = 1.0
    seeds: int = 3
    repeats: int = 6


#: Shares in percent, such as accuracy, 100 R2, 100 F1.
PERCENT = Kind(1, 0.4, 0.0)
#: Objectives, losses, widths.
LOSS = Kind(-1, 0.0, 0.02)
#: Rounding errors: largest difference of two computations that agree in exact arithmetic.
ERROR = Kind(-1, 1e-11, 0.0, factor=30.0, seeds=1, repeats=2)
#: Processor time over that of a fixed piece of arithmetic, or of a peer.
COST = Kind(-1, 0.0, 0.35, seeds=1, repeats=3)


@dataclass(frozen=True)
class Figure:
    """A capability and the function that measures it.

    Parameters
    ----------
    name : str
        Short name, ``group.subject``.
    what : str
        Sentence for the report.
    kind : Kind
        Unit and direction.
    measure : callable
        Function of a seed that returns the value.
    seeds : int
        Number of seeds of a plain run; by default that of the kind.
    worst : bool
        If true, the figure is the worst value over the seeds, else the mean.
    """

    name: str
    what: str
    kind: Kind
    measure: Callable[[int], float]
    seeds: int = 3
    worst: bool = False

    def of_runs(self, runs: Iterable[float]) -> float:
        """Return the figure for the values of the first seeds."""
        values = np.array(list(runs)[: self.seeds])
        if self.worst:
            return float(self.kind.sign * (self.kind.sign * values).min())
        return float(values.mean())


@dataclass(frozen=True)
class Best:
    """Best known value of a figure."""

    name: str
    best: float
    tolerance: float
    version: str
    runs: tuple[float, ...]
    note: str = ""


FIGURES: dict[str, Figure] = {}


def figure(
    name: str, what: str, kind: Kind, seeds: int | None = None, worst: bool = False
) -> Callable[[Callable[[int], float]], Callable[[int], float]]:
    """Register a function of a seed as a figure."""

    def register(measure: Callable[[int], float]) -> Callable[[int], float]:
        if name in FIGURES:
            raise ValueError(f"two figures have the name {name!r}")
        FIGURES[name] = Figure(name, what, kind, measure, seeds or kind.seeds, worst)
        return measure

    return register


def tolerance_of(figure: Figure, runs: Iterable[float]) -> float:
    """Return by how much a figure may be worse than its best value before it counts as fallen.

    Twice the standard error of the mean over the seeds of a plain run (for the worst of them, twice the deviation),
    estimated from all repeated runs, and at least the smallest tolerance of the kind.
    """
    values = np.array(list(runs))
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    spread /= 1.0 if figure.worst else np.sqrt(figure.seeds)
    at_least = max(figure.kind.absolute, figure.kind.relative * abs(figure.of_runs(values)))
    return max(2.0 * spread, at_least)


def has_fallen(figure: Figure, value: float, best: Best) -> bool:
    """Return whether a value is worse than the best by more than the tolerance."""
    sign, factor = figure.kind.sign, figure.kind.factor
    if not np.isfinite(value):
        return True
    if factor > 1.0 and value <= factor * best.best:
        return False
    return sign * (best.best - value) > best.tolerance


def is_better(figure: Figure, value: float, best: Best) -> bool:
    """Return whether a value is better than the best one, by any amount that a stored number can show."""
    return figure.kind.sign * (value - best.best) > 1e-3 * best.tolerance


def read_best(path: Path = BEST) -> dict[str, Best]:
    """Return the best values in a file, by name."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        row["name"]: Best(
            row["name"],
            float(row["best"]),
            float(row["tolerance"]),
            row["version"],
            tuple(float(value) for value in row["runs"].split()),
            row["note"],
        )
        for row in rows
    }


def write_best(known: dict[str, Best], path: Path = BEST) -> None:
    """Write the best values, sorted by name."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name in sorted(known):
            entry = known[name]
            runs = " ".join(f"{value:.6g}" for value in entry.runs)
            best, tolerance = f"{entry.best:.6g}", f"{entry.tolerance:.3g}"
            writer.writerow((name, best, tolerance, entry.version, runs, entry.note))


def recorded(figure: Figure, runs: tuple[float, ...], best: Best | None, version: str, reason: str) -> Best | None:
    """Return the entry to store for repeated runs, or None if the stored one stays.

    A better value replaces the best one. A value that has fallen replaces it only with a reason, which is stored.
    """
    value = figure.of_runs(runs)
    entry = Best(figure.name, value, tolerance_of(figure, runs), version, runs)
    if best is None:
        return entry
    if is_better(figure, value, best):
        return entry
    if reason and has_fallen(figure, value, best):
        note = f"{best.best:.6g} in {best.version}: {reason}"
        return Best(figure.name, value, entry.tolerance, version, runs, note)
    return None
