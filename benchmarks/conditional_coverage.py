"""Coverage of 90 % intervals near each basis vector: conditional conformal prediction beside split conformal.

Five tables whose noise is not the same everywhere, a model of six basis vectors fitted to some of the samples; the
others are dealt at random, 200 times, to those that calibrate (at most 500) and those that judge. The coverage near
vector r is that of samples weighted by k(x, u_r), the mean over deals. A figure is the coverage that is farthest from
0.9, over vectors; widths are over the standard deviation of the targets. Milliseconds are CPU time of one prediction on
one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman3

from benchmarks._data import Settings
from benchmarks._report import Row, progress
from spkm import SPKMRegressor
from spkm.conformal import ConditionalConformalRegressor, SplitConformalRegressor

COLUMNS = ("all samples", "width", "randomized", "split", "split, width", "ms")
LEVEL = 0.9
MOST = 500  # samples that calibrate


def sets(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return samples and targets of five tables."""
    rng = np.random.default_rng(0)
    uneven = rng.uniform(-2, 2, size=(n, 3))
    noise = 0.05 + 0.6 * (uneven[:, 0] > 0.5) + 0.2 * np.abs(uneven[:, 1])
    cluster = rng.integers(5, size=n)
    places = 3.0 * rng.normal(size=(5, 2))[cluster] + 0.5 * rng.normal(size=(n, 2))
    steps = np.array([0.02, 0.1, 0.3, 0.6, 1.0])[cluster]
    exposed = rng.uniform(-1, 2, size=(n, 2))
    return {
        "diabetes": load_diabetes(return_X_y=True),
        "friedman 3": make_friedman3(n, noise=0.1, random_state=0),
        "uneven noise": (uneven, np.sin(uneven[:, 0]) + noise * rng.normal(size=n)),
        "five clusters": (places, np.sin(places[:, 0]) + steps * rng.normal(size=n)),
        "counts": (exposed, rng.poisson(np.exp(exposed.sum(axis=1))).astype(float)),
    }


def run(settings: Settings) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (X, y) in sets(settings.size(1500, 300)).items():
            found = of_table(X, y, settings.n_seeds(200))
            progress(f"{name}: {found}")
            more = tuple(f"{value:.2f}" for value in found[1:])
            yield Row(f"{name}: coverage near the worst vector", found[0], None, "{:.3f}", more)


def of_table(X: np.ndarray, y: np.ndarray, n_deals: int) -> tuple[float, ...]:
    """Return worst coverage, mean coverage and width, worst coverages of the others, and milliseconds."""
    rng = np.random.default_rng(1)
    order = rng.permutation(len(y))
    learn, rest = np.split(order, [len(y) // 4])
    model = SPKMRegressor(6, random_state=0, n_jobs=1).fit(X[learn], y[learn])
    held = model.model_
    near: dict[str, list[np.ndarray]] = {}
    widths: dict[str, list[float]] = {}
    seconds, count = 0.0, 0
    ways = {
        "plain": ConditionalConformalRegressor(model, confidence_level=LEVEL),
        "randomized": ConditionalConformalRegressor(model, confidence_level=LEVEL, randomize=True, random_state=rng),
        "split": SplitConformalRegressor(model, confidence_level=LEVEL),
    }
    for _ in range(n_deals):
        dealt = rng.permutation(rest)
        cut = min(MOST, 2 * len(rest) // 3)
        known, judge = dealt[:cut], dealt[cut : cut + 200]
        weights = np.hstack([np.ones((len(judge), 1)), held.similarities(X[judge])[:, held.vector_rows]])
        for way, conformal in ways.items():
            conformal.conformalize(X[known], y[known])
            start = process_time()
            low, high = conformal.predict_interval(X[judge])[1][:, :, 0].T
            if way == "plain":
                seconds, count = seconds + process_time() - start, count + len(judge)
            inside = (low <= y[judge]) & (y[judge] <= high)
            near.setdefault(way, []).append(np.array([inside @ weights, weights.sum(axis=0)]))
            widths.setdefault(way, []).append(float(np.median(high - low)) / y.std())
    covered = {way: np.divide(*np.sum(parts, axis=0)) for way, parts in near.items()}
    return (
        worst(covered["plain"]),
        float(covered["plain"][0]),
        float(np.mean(widths["plain"])),
        worst(covered["randomized"]),
        worst(covered["split"]),
        float(np.mean(widths["split"])),
        1e3 * seconds / max(count, 1),
    )


def worst(covered: Any) -> float:
    """Return the coverage near a vector that is farthest from the level."""
    return float(covered[1:][np.argmax(np.abs(covered[1:] - LEVEL))])


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["conditional_coverage", *sys.argv[1:]])
