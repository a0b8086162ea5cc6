"""Where one solver overtakes another: seconds and final objective of each, for the rules of solver="auto".

"measured" is the solver that was first among those that ended within 1 % of the best objective. "growing" is L-BFGS
on a tenth of the samples, then on all; "tenth" is a basis learned on a tenth of them, with weights from all.
Start points are not counted. A time with + was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks._data import Settings, smooth_classes, smooth_problem
from benchmarks._report import Row
from benchmarks._timing import Watched
from spkm import SPKMClassifier, SPKMRegressor
from spkm.solvers import LBFGS, Adam, Solver, VarPro

SOLVERS = ("lbfgs", "lbfgs, growing", "adam", "varpro", "varpro, tenth")
COLUMNS = tuple(f"{name}: s, objective" for name in SOLVERS)
ROWS = (3000, 10_000, 30_000, 100_000)
MOST_SECONDS = 20


def run(settings: Settings) -> Iterator[Row]:
    rows, sizes, widths = (ROWS[:1], (5,), (10,)) if settings.quick else (ROWS, (10, 50), (20,))
    limit = settings.size(MOST_SECONDS, 5)
    for loss, d, n in product(("log", "log, 5 classes", "squared"), widths, rows):
        X, y = problem(loss, n, d)
        for R in sizes:
            runs = {name: fit(loss, R, solver, X, y, limit) for name, solver in solvers(n, loss).items()}
            # A run that was cut off may have stopped on a part of the samples: its objective is not comparable.
            whole = {name: run for name, run in runs.items() if not run[2]} or runs
            best = min(value for _, value, _ in whole.values())
            good = {name: seconds for name, (seconds, value, _) in whole.items() if value <= best + 0.01 * abs(best)}
            more = tuple(_cell(*runs[name]) if name in runs else "" for name in SOLVERS)
            yield Row(f"{loss}, d = {d}, n = {n:,}, R = {R}", min(good, key=good.__getitem__), more=more)


def problem(loss: str, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    if loss == "squared":
        return smooth_problem(n, d)
    return smooth_classes(n, d, n_classes=5 if "5" in loss else 2)


def solvers(n: int, loss: str) -> dict[str, Solver]:
    found: dict[str, Solver] = {"lbfgs": LBFGS(), "lbfgs, growing": LBFGS(first_rows=n // 10), "adam": Adam()}
    if loss == "squared":
        found |= {"varpro": VarPro(), "varpro, tenth": VarPro(basis_rows=n // 10)}
    return found


def fit(loss: str, R: int, solver: Solver, X: np.ndarray, y: np.ndarray, limit: float) -> tuple[float, float, bool]:
    """Return seconds, final objective and whether the time was up."""
    watched = Watched(solver, seconds=limit)
    model: Any = SPKMRegressor if loss == "squared" else SPKMClassifier
    fitted = model(R, weight_penalty="rkhs", solver=watched, random_state=0).fit(X, y)
    return watched.elapsed, fitted.objective_, watched.timed_out


def _cell(seconds: float, value: float, cut: bool) -> str:
    return f"{seconds:.2f}{'+' if cut else ''} {value:.4f}"


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["crossover", *sys.argv[1:]])
