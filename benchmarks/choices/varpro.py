"""Time of joint L-BFGS over that of variable projection, to the same objective, squared loss with the RKHS norm.

Variable projection runs to its own end. Then each is timed to when it first came within 1 % and 0.1 % of that end;
start points are the same and not counted. Where L-BFGS does not get there in its time, the ratio is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._data import MissingData, Settings
from benchmarks._report import Row, at_least
from benchmarks._timing import Watched
from spkm import SPKMRegressor
from spkm.datasets import make_inverse_dynamics
from spkm.solvers import LBFGS, VarPro

COLUMNS = ("VarPro, s", "L-BFGS, s", "VarPro, end", "L-BFGS, end")
WITHIN = (0.01, 0.001)
MOST_SECONDS = 120


def run(settings: Settings) -> Iterator[Row]:
    sizes = (500,) if settings.quick else (5000, 20_000)
    problems = {f"robot arm, n = {n:,}": make_inverse_dynamics(n, random_state=0) for n in sizes}
    try:
        (data,) = settings.load("sarcos_test")
        rows = slice(None, 500 if settings.quick else None)
        problems["sarcos_test, torque 1"] = (data["X"][rows], data["y"][rows, 0])
    except MissingData:
        yield Row("sarcos_test.npz is absent", "skipped", more=("",) * len(COLUMNS))
    for name, (X, y) in problems.items():
        for R in (20, 50):
            yield from compare(f"{name}, R = {R}", R, X, y, settings)


def compare(what: str, R: int, X: np.ndarray, y: np.ndarray, settings: Settings) -> Iterator[Row]:
    """Yield the rows of one problem."""
    eliminated = Watched(VarPro())
    end = fitted(R, eliminated, X, y).objective_
    joint = Watched(
        LBFGS(max_iter=100_000, tol=0.0), target=(1 + WITHIN[-1]) * end, seconds=settings.size(MOST_SECONDS, 5)
    )
    joint_end = fitted(R, joint, X, y).objective_
    for share in WITHIN:
        short, long = (solver.seconds_to((1 + share) * end) for solver in (eliminated, joint))
        short = eliminated.elapsed if np.isnan(short) else short  # only the polish at the end went so far
        bound = ">" if np.isnan(long) else ""
        long = joint.elapsed if bound else long
        more = (f"{short:.2f}", f"{bound}{long:.2f}", f"{end:.5f}", f"{joint_end:.5f}")
        yield Row(f"{what}, within {share:.1%}", long / short, at_least(5), "{:.1f}", more, bound)


def fitted(R: int, solver: Watched, X: np.ndarray, y: np.ndarray) -> SPKMRegressor:
    return SPKMRegressor(R, weight_penalty="rkhs", solver=solver, random_state=0).fit(X, y)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["varpro", *sys.argv[1:]])
