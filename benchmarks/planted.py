"""Counterfactuals whose answer is known: planted ones that exist, and planted ones that do not.

Models are fitted on made-up sets of four features. For a sample the largest score that a change of at most two features
within the ranges can reach is found apart from the library's search: by a grid of 101 points for each pair of features
and a local search from the best points of all pairs. A target just below that maximum exists; one just above it does
not. By how much, relative to the spread of the scores, stands beside each row. Right is an answer that meets the target
when it is checked by ``predict``, or a proof where none exists; wrong is a proof where one exists, or an answer that
does not meet its target. "Found beyond" are valid answers above the planted maximum, which the grid had missed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks._data import Settings
from benchmarks._report import Row, progress
from spkm import SPKMRegressor
from spkm.explain import counterfactual

COLUMNS = ("wrong", "undecided", "found beyond", "cases")
KERNELS = ("rbf", "matern", "laplacian", "polynomial")
DISTANCES = (0.001, 0.01, 0.1)  # of a target from the maximum, over the spread of the scores
POINTS = 101
BEST = 5  # points from which a local search starts


def run(settings: Settings) -> Iterator[Row]:
    found: dict[tuple[bool, float], list[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kernel in KERNELS[: settings.size(len(KERNELS), 1)]:
            for seed in range(settings.n_seeds(3)):
                for key, outcome in outcomes(kernel, seed, settings.size(6, 1)):
                    found.setdefault(key, []).append(outcome)
            progress(f"{kernel}: {sum(map(len, found.values()))} cases so far")
    for (exists, distance), all_of in found.items():
        counts = {name: all_of.count(name) for name in ("right", "wrong", "undecided", "beyond")}
        kind = "one exists" if exists else "none exists"
        what = f"{kind}, {distance:g} of the spread from the border: right answers"
        more = (*(str(counts[name]) for name in ("wrong", "undecided", "beyond")), str(len(all_of)))
        judged = max(len(all_of) - counts["beyond"], 1)
        yield Row(what, counts["right"] / judged, None, "{:.0%}", more)


def outcomes(kernel: str, seed: int, n_samples: int) -> Iterator[tuple[tuple[bool, float], str]]:
    """Yield what was asked, whether it exists and how far from the border, and how the answer turned out."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(200, 4))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 - X[:, 3] + 0.1 * rng.standard_normal(200)
    model = SPKMRegressor(8, kernel=kernel, random_state=seed).fit(X, y)
    spread = float(model.predict(X).std())
    for x in X[:n_samples]:
        top = highest(model, x, X)
        for distance in DISTANCES:
            for exists in (True, False):
                target = top + (-distance if exists else distance) * spread
                if exists and model.predict(x[None])[0] >= target:
                    continue
                answer = counterfactual(model, x, (target, np.inf), ranges=X)
                yield (exists, distance), judged(answer, model, x, X, target, exists)


def judged(answer: Any, model: Any, x: np.ndarray, X: np.ndarray, target: float, exists: bool) -> str:
    """Return how an answer turned out: right, wrong, undecided, or beyond what was planted."""
    if answer.found:
        inside = np.all((answer.x >= X.min(axis=0) - 1e-9) & (answer.x <= X.max(axis=0) + 1e-9))
        few = np.count_nonzero(answer.x != x) <= 2
        if not (inside and few and model.predict(answer.x[None])[0] >= target):
            return "wrong"
        return "right" if exists else "beyond"
    if answer.none_exists:
        return "wrong" if exists else "right"
    return "undecided"


def highest(model: Any, x: np.ndarray, X: np.ndarray) -> float:
    """Return the largest prediction within the ranges of X that differs from x in at most two features."""
    low, high = X.min(axis=0), X.max(axis=0)
    best = float(model.predict(x[None])[0])
    for i, j in combinations(range(len(x)), 2):
        a, b = np.meshgrid(np.linspace(low[i], high[i], POINTS), np.linspace(low[j], high[j], POINTS))
        rows = np.repeat(x[None], a.size, axis=0)
        rows[:, i], rows[:, j] = a.ravel(), b.ravel()
        values = model.predict(rows)

        def negative(pair: np.ndarray, i: int = i, j: int = j) -> float:
            row = x.copy()
            row[[i, j]] = pair
            return -float(model.predict(row[None])[0])

        for place in np.argsort(-values)[:BEST]:
            limits = [(low[i], high[i]), (low[j], high[j])]
            local = minimize(
                negative, rows[place, [i, j]], method="Nelder-Mead", bounds=limits, options={"xatol": 1e-6}
            )
            best = max(best, -float(local.fun), float(values[place]))
    return best


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["planted", *sys.argv[1:]])
