"""A million pairs of 5,000 x 5,000 entities with 500 features each: time and memory of a fit with 20 pairs of vectors,
and a pass over pairs against a pass over the same pairs as one table (100,000 of them: a million would be 8 GB).

Then Tanimoto on fingerprints of 2,048 bits, as CSR: a pass over pairs against one over the joined table.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from benchmarks._data import Settings
from benchmarks._report import Row, at_least, below
from benchmarks.memory import held_after_reset, peak
from spkm import PairwiseSPKMRegressor
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.kernels import RBF, Kernel, Tanimoto
from spkm.losses import Squared
from spkm.sources import ArraySource, PairSource, PairTable

COLUMNS = ("pass over pairs, s", "over joined table, s")
SOLVERS = {"auto": {}, "lbfgs": {"max_iter": 10}}


def run(settings: Settings) -> Iterator[Row]:
    n, entities, d = settings.size(1_000_000, 20_000), settings.size(5000, 200), settings.size(500, 20)
    joined = n * 2 * d * 8 / 1e6
    for solver in SOLVERS:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            seconds, megabytes = process.submit(time_and_memory, solver, n, entities, d).result()
        what = f"{n:,} pairs, solver {solver}" + (", 10 iterations" if solver == "lbfgs" else "")
        yield Row(f"{what}, s", seconds, below(60), "{:.1f}", ("", ""))
        yield Row(f"{what}, memory of the fit, MB", megabytes, below(joined), "{:,.0f}", ("", ""))
    few = n // 10
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((entities, d)), rng.standard_normal((entities, d))
    yield ratio("pass over the joined table, over one over pairs", left, right, RBF(0.5 / d), few)
    bits = settings.size(2048, 64)
    prints = [sparse.random_array((entities, bits), density=0.03, rng=rng, format="csr") for _ in range(2)]
    for table in prints:
        table.data[:] = 1.0
    yield ratio(f"the same, Tanimoto on {bits} bits", *prints, Tanimoto(), few)


def time_and_memory(solver: str, n: int, entities: int, d: int) -> tuple[float, float]:
    """Return the seconds of a fit and the MB that it adds; to be run in a process of its own."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((entities, d)), rng.standard_normal((entities, d))
    pairs = rng.integers(entities, size=(n, 2))
    y = left[pairs[:, 0], 0] * right[pairs[:, 1], 0] + 0.1 * rng.standard_normal(n)
    warnings.simplefilter("ignore", ConvergenceWarning)  # ten iterations are not enough, and said to be
    model = PairwiseSPKMRegressor(n_basis=20, solver=solver, random_state=0, **SOLVERS[solver])
    model.fit(pairs[:2000], y[:2000], left=left, right=right)
    before = held_after_reset()
    start = perf_counter()
    model.fit(pairs, y, left=left, right=right)
    return perf_counter() - start, (peak() - before) / 1e6


def ratio(what: str, left: Any, right: Any, kernel: Kernel, n: int) -> Row:
    """Return a row with the time of objective and gradient over the joined table, over that over pairs."""
    rng = np.random.default_rng(1)
    pairs = np.sort(rng.integers(left.shape[0], size=(n, 2)), axis=0)
    rng.shuffle(pairs[:, 1])
    X = PairTable(left, right, pairs)
    at = left.shape[1]
    term = Term(20, (View(kernel, np.arange(at)), View(kernel, np.arange(at, X.shape[1]))))
    model = PreimageModel([term], X.shape[1], 1)
    theta = rng.random(model.n_params)
    Y = rng.standard_normal((n, 1))
    stack = partial(sparse.hstack, format="csr") if sparse.issparse(left) else np.hstack
    rows = stack([left[pairs[:, 0]], right[pairs[:, 1]]])
    seconds = [_pass(Objective(model, Squared(), source), theta) for source in (PairSource(X, Y), ArraySource(rows, Y))]
    more = tuple(f"{s:.3f}" for s in seconds)
    return Row(f"{what}, {n:,} pairs", seconds[1] / seconds[0], at_least(1.0), "{:.1f}", more)


def _pass(objective: Objective, theta: np.ndarray) -> float:
    with objective.source.threads(2):
        objective.value_and_gradient(theta)
        times = []
        for _ in range(3):
            start = perf_counter()
            objective.value_and_gradient(theta)
            times.append(perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["pairs", *sys.argv[1:]])
