"""Time of full-batch L-BFGS over that of solver="auto", to the same objective within 1 %; n = 1,000,000.

"auto" runs once; then L-BFGS on all samples runs till its objective is at most 1.01 times the one "auto" ended with, or
until it has had 25 times as long: then the ratio is a lower bound. Both times are those of whole fits on all cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._data import Settings, smooth_problem
from benchmarks._report import Row, at_least
from benchmarks._timing import Watched, seconds_of
from spkm import SPKMClassifier, SPKMRegressor
from spkm.solvers import LBFGS

COLUMNS = ("auto, s", "auto, objective", "L-BFGS, s", "L-BFGS, objective")
WITHIN = 1.01
MOST_TIMES = 25


def run(settings: Settings) -> Iterator[Row]:
    n, d = settings.size(1_000_000, 60_000), 20
    X, y = smooth_problem(n, d)
    problems: list[tuple[str, type, np.ndarray, dict[str, Any]]] = [
        ("squared", SPKMRegressor, y, {"weight_penalty": "rkhs"}),
        ("log", SPKMClassifier, y > 0, {}),
    ]
    for R in (10, 50):
        for loss, estimator, target, given in problems:
            what = f"{loss}, n = {n:,}, d = {d}, R = {R}"
            if settings.wants(what):
                yield compare(what, estimator(R, random_state=0, **given), X, target, settings)


def compare(what: str, estimator: Any, X: np.ndarray, y: np.ndarray, settings: Settings) -> Row:
    """Return the row of one problem."""
    seconds = seconds_of(lambda: estimator.fit(X, y))
    value = estimator.objective_
    limit = settings.size(MOST_TIMES, 5) * seconds
    watched = Watched(LBFGS(max_iter=100_000, tol=0.0), target=WITHIN * value, seconds=limit)
    estimator.set_params(solver=watched)
    full_seconds = seconds_of(lambda: estimator.fit(X, y))
    reached = estimator.objective_ <= WITHIN * value
    more = (f"{seconds:.2f}", f"{value:.5f}", f"{full_seconds:.1f}", f"{estimator.objective_:.5f}")
    return Row(what, full_seconds / seconds, at_least(20), "{:.1f}", more, "" if reached else ">")


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["large", *sys.argv[1:]])
