"""Test error of SPKMRegressor, untuned, over that of a kernel ridge regression tuned on a validation third.

Thirds of the rows for training, validation and test; both learn from the training third alone. Ratios of squared
errors, as geometric means over the splits and then over the sets. "free weights" is ``Evidence(ridge=0)``: without the
ridge that keeps contributions from cancelling.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

from benchmarks._data import Settings, thirds
from benchmarks._report import Row, at_most
from benchmarks._ridge import geometric_mean, kernel_ridge, squared_error, tuned
from spkm import SPKMRegressor
from spkm.penalties import Evidence

COLUMNS = ("with rbf", "free weights", "R2 of ours", "R2 of KRR")
OURS: dict[str, dict[str, Any]] = {
    "default": {},
    "with rbf": {"kernel": "rbf"},
    "free weights": {"weight_penalty": Evidence(ridge=0.0)},
}
SIZES = (20, 60)
REACH = {20: at_most(1.0), 60: at_most(0.95)}


def run(settings: Settings) -> Iterator[Row]:
    boston, sarcos = settings.load("boston_housing", "sarcos_test")
    sets = {
        "boston_housing": (boston["X"], boston["y"]),
        "sarcos_test, torque 1": (sarcos["X"], sarcos["y"][:, 0]),
        "diabetes": load_diabetes(return_X_y=True),
    }
    ratios: dict[tuple[int, str], list[float]] = {(R, kind): [] for R in SIZES for kind in OURS}
    for name, (X, y) in sets.items():
        rows = slice(None, 900 if settings.quick else None)
        splits = [compare(X[rows], y[rows], seed, settings.quick) for seed in range(settings.n_seeds(5))]
        ridge = np.array([s[0] for s in splits])
        for case, found in ratios.items():
            found.append(geometric_mean(np.array([s[1][case] for s in splits]) / ridge))
        for R in SIZES:
            left = np.mean([s[1][R, "default"] for s in splits])
            ours, *others = (ratios[R, kind][-1] for kind in OURS)
            more = (*(f"{ratio:.3f}" for ratio in others), f"{1 - left:.3f}", f"{1 - ridge.mean():.3f}")
            yield Row(f"{name}, {R} vectors", ours, form="{:.3f}", more=more)
    for R in SIZES:
        ours, *others = (geometric_mean(ratios[R, kind]) for kind in OURS)
        more = (*(f"{ratio:.3f}" for ratio in others), "", "")
        yield Row(f"geometric mean, {R} vectors", ours, REACH[R], "{:.3f}", more)


def compare(X: np.ndarray, y: np.ndarray, seed: int, quick: bool) -> tuple[float, dict[tuple[int, str], float]]:
    """Return test errors over the variance of the test targets: of the kernel ridge, and ours by vectors and kind."""
    train, validation, test = thirds(len(y), seed)
    y = y / y[test].std()
    ridge, _ = tuned(kernel_ridge, (X[train], y[train]), (X[validation], y[validation]), quick)
    ours = {}
    for R in SIZES:
        for kind, parameters in OURS.items():
            model = SPKMRegressor(R, random_state=seed, **parameters).fit(X[train], y[train])
            ours[R, kind] = squared_error(model, X[test], y[test])
    return squared_error(ridge, X[test], y[test]), ours


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["regression", *sys.argv[1:]])
