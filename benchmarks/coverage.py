"""How often 90 % intervals hold the target, and how wide they are: the model's own deviations, and conformal ones.

Seven made-up and bundled sets of regression, several splits: half of the samples to learn from, a quarter to
conformalize, a quarter to judge. The model's own intervals are predictions ± 1.645 standard deviations, from
``return_std``; widths are over the standard deviation of the targets. Cross-conformal intervals learn from three
quarters.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3, make_regression

from benchmarks._data import Settings
from benchmarks._report import Row
from spkm import SPKMRegressor
from spkm.conformal import CrossConformalRegressor, SplitConformalRegressor
from spkm.datasets import make_inverse_dynamics

COLUMNS = ("width", "least", "most")
LEVEL, NORMAL = 0.9, 1.6448536269514722  # the normal quantile that leaves 5 % on either side


def sets(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return samples and targets of seven sets."""
    rng = np.random.default_rng(0)
    dynamics = make_inverse_dynamics(n, random_state=0)
    uneven = rng.uniform(-2, 2, size=(n, 3))
    return {
        "diabetes": load_diabetes(return_X_y=True),
        "friedman 1": make_friedman1(n, noise=1.0, random_state=0),
        "friedman 2": make_friedman2(n, noise=50.0, random_state=0),
        "friedman 3": make_friedman3(n, noise=0.1, random_state=0),
        "linear": make_regression(n, 10, n_informative=5, noise=20.0, random_state=0),
        "uneven noise": (uneven, np.sin(uneven[:, 0]) + (0.05 + 0.2 * np.abs(uneven[:, 1])) * rng.normal(size=n)),
        "dynamics": (dynamics[0], np.asarray(dynamics[1]).reshape(n, -1)[:, 0]),
    }


def run(settings: Settings) -> Iterator[Row]:
    found: dict[str, list[tuple[float, float]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for X, y in sets(settings.size(600, 80)).values():
            for seed in range(settings.n_seeds(5)):
                for way, (covered, width) in intervals_of(X, y, seed).items():
                    found.setdefault(way, []).append((covered, width))
    n_splits = settings.n_seeds(5)
    for way, both in found.items():
        covered, width = np.array(both).T
        by_set = covered.reshape(-1, n_splits).mean(axis=1)
        more = (f"{np.mean(width):.2f}", f"{by_set.min():.3f}", f"{by_set.max():.3f}")
        what = f"{way}: share of 90 % intervals that hold the target, mean over sets"
        yield Row(what, covered.mean(), None, "{:.3f}", more)


def intervals_of(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, tuple[float, float]]:
    """Return coverage and mean width of each way, on one split."""
    order = np.random.default_rng(seed).permutation(len(y))
    learn, conform, judge = np.split(order, [len(y) // 2, 3 * len(y) // 4])
    model = SPKMRegressor(random_state=seed).fit(X[learn], y[learn])
    more = np.concatenate([learn, conform])

    def judged(ends: Any) -> tuple[float, float]:
        low, high = ends
        return float(np.mean((low <= y[judge]) & (y[judge] <= high))), float(np.mean(high - low) / y.std())

    mean, deviation = model.predict(X[judge], return_std=True)
    result = {"the model's own": judged((mean - NORMAL * deviation, mean + NORMAL * deviation))}
    for score in ("absolute", "residual_normalized"):
        split = SplitConformalRegressor(model, conformity_score=score).conformalize(X[conform], y[conform])
        result[f"split, {score}"] = judged(split.predict_interval(X[judge])[1][:, :, 0].T)
        cross = CrossConformalRegressor(SPKMRegressor(random_state=seed), conformity_score=score)
        cross.fit_conformalize(X[more], y[more])
        result[f"cross, {score}"] = judged(cross.predict_interval(X[judge])[1][:, :, 0].T)
    return result


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["coverage", *sys.argv[1:]])
