"""Peak memory of a fit above what the process held once X and y were made, in MB; X has 160 MB.

Each fit runs in a process of its own, after a small fit that loads what fits load.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from benchmarks._data import Settings, smooth_problem
from benchmarks._report import Row, below
from spkm import SPKMClassifier, SPKMRegressor

COLUMNS = ("X, MB",)
D = 20
ESTIMATORS = {"SPKMRegressor": SPKMRegressor, "SPKMClassifier": SPKMClassifier}


def run(settings: Settings) -> Iterator[Row]:
    n = settings.size(1_000_000, 50_000)
    for name in ESTIMATORS:
        fresh = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=fresh) as process:
            extra = process.submit(peak_of_fit, name, n).result()
        yield Row(
            f"{name}, defaults, n = {n:,}, d = {D}", extra, below(100), "{:.0f}", more=(f"{n * D * 8 / 1e6:.0f}",)
        )


def peak_of_fit(name: str, n: int) -> float:
    """Return the MB that a fit adds; to be run in a process of its own."""
    X, y = smooth_problem(n, D)
    if name == "SPKMClassifier":
        y = y > 0
    warnings.simplefilter("ignore", ConvergenceWarning)  # how far a fit gets is measured elsewhere
    estimator = ESTIMATORS[name](random_state=0)
    estimator.fit(X[:2000], y[:2000])
    before = held_after_reset()
    estimator.fit(X, y)
    return (peak() - before) / 1e6


def held_after_reset() -> float:
    """Return the bytes held now and set the peak back to them; where that cannot be done, return the peak so far."""
    reset = Path("/proc/self/clear_refs")
    try:
        reset.write_text("5")
    except OSError:
        return peak()
    return _status("VmRSS")


def peak() -> float:
    """Return the most bytes held since the last reset."""
    if Path("/proc/self/status").exists():
        return _status("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["memory", *sys.argv[1:]])
