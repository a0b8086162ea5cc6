"""Tables: a benchmark yields rows, and each is printed as soon as it is there."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

import spkm
from benchmarks._data import MissingData, Settings
from benchmarks._tables import FOLDER, Table, today

WIDTHS = (61, 9, 10)  # of the columns what, reach and measured


@dataclass(frozen=True)
class Reach:
    """A figure to reach: at least it, at most it or below it."""

    relation: str
    limit: float

    def met_by(self, value: float) -> bool:
        return {"≥": value >= self.limit, "≤": value <= self.limit, "<": value < self.limit}[self.relation]


def at_least(limit: float) -> Reach:
    return Reach("≥", limit)


def at_most(limit: float) -> Reach:
    return Reach("≤", limit)


def below(limit: float) -> Reach:
    return Reach("<", limit)


@dataclass
class Row:
    """One line of a table.

    Parameters
    ----------
    what : str
        What was measured.
    measured : float or str
        The outcome; NaN is never reached.
    reach : Reach, default=None
        The figure to reach; without one the row only informs.
    form : str
        How the outcome and the figure are written.
    more : tuple of str
        Entries of the module's own columns, ``COLUMNS``.
    bound : str
        ">" where the outcome is a lower bound.
    """

    what: str
    measured: Any
    reach: Reach | None = None
    form: str = "{:.2f}"
    more: tuple[str, ...] = ()
    bound: str = ""

    @property
    def reached(self) -> bool:
        return self.reach is None or self.reach.met_by(self.measured)

    def cells(self) -> list[str]:
        reach = "" if self.reach is None else f"{self.reach.relation} {self.form.format(self.reach.limit)}"
        measured = self.measured if isinstance(self.measured, str) else self.bound + self.form.format(self.measured)
        return [self.what, reach, measured + ("" if self.reached else " *"), *self.more]


def with_error(differences: np.ndarray) -> str:
    """Return the mean of paired differences, with its sign and its standard error."""
    error = f" ± {standard_error(differences):.2f}" if len(differences) > 1 else ""
    return f"{differences.mean():+.2f}{error}"


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean; NaN of a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def progress(text: str) -> None:
    """Print a line on the error stream: what a long benchmark has so far, beside the table."""
    print(text, file=sys.stderr, flush=True)


def facts() -> dict[str, str]:
    """Return what the figures depend on: processor, cores, libraries, and how busy the machine is."""
    config: Any = np.show_config(mode="dicts")
    simd = config["SIMD Extensions"].get("found", [])
    avx512 = any(name.startswith(("AVX512", "X86_V4")) for name in simd)
    blas = {
        f"{i['internal_api']} {i['version']} ({i.get('architecture', '?')})"
        for i in threadpool_info()
        if i["user_api"] == "blas"
    }
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    simd_text = f"{' '.join(simd) or 'baseline only'}; AVX512: {'yes' if avx512 else 'no'}"
    return {
        "processor": f"{_processor()}, {cores} cores, load {os.getloadavg()[0]:.1f}",
        "versions": f"spkm {spkm.__version__}, Python {platform.python_version()}, {libraries}",
        "BLAS": ", ".join(sorted(blas)) or config["Build Dependencies"]["blas"]["name"],
        "SIMD of numpy": simd_text,
    }


def print_facts() -> None:
    """Print what the figures depend on."""
    for name, text in facts().items():
        print(f"- {name}: {text}")
    print("\nA figure with * is not reached.", flush=True)


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def print_table(name: str, module: ModuleType, settings: Settings, command: str = "", folder: Path = FOLDER) -> None:
    """Run a benchmark and print its rows; say so where data are absent, and count the warnings it gave.

    A run that is not quick also writes its rows to a file of the folder at the end: NAME.csv, of one half NAME_A.csv.
    """
    print(f"\n## {name}\n\n{(module.__doc__ or '').strip()}\n")
    columns = ("what", "reach", "measured", *getattr(module, "COLUMNS", ()))
    widths = [*WIDTHS, *(max(len(column), 9) for column in columns[3:])]
    start, results = perf_counter(), Table(f"{name}_{settings.half}" if settings.half else name, columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for i, row in enumerate(module.run(settings)):
                if i == 0:
                    _print_line(columns, widths)
                    print("|" + "|".join(" " + "-" * w + " " for w in widths) + "|")
                _print_line(row.cells(), widths)
                results.rows.append(row.cells())
        except MissingData as absent:
            print(f"skipped: {absent}")
    took = f"{perf_counter() - start:.0f} s"
    print(f"\n- took {took}", flush=True)
    if results.rows and not settings.quick:
        results.facts = {**today(), "command": command or f"python -m benchmarks {name}", "took": took, **facts()}
        print(f"- written to {results.write(folder).name}")
    for text, count in Counter(f"{w.category.__name__}: {_gist(w.message)}" for w in caught).most_common(5):
        print(f"- {count} x {text}", flush=True)


def _print_line(cells: Any, widths: list[int]) -> None:
    padded = [cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(cells, widths, strict=True))]
    print("| " + " | ".join(padded) + " |", flush=True)


def _gist(message: Any) -> str:
    """Return the first words of a warning, without the numbers by which two of a kind differ."""
    words = [word for word in str(message).split() if not any(letter.isdigit() for letter in word)]
    return " ".join(words[:12])
