"""The regressor's own standard deviations beside those of an exact Gaussian process, near the samples and away.

The exact process is scikit-learn's, with a Matern kernel of smoothness 5/2, a length scale for each feature, a learned
variance and learned noise, fitted by its marginal likelihood on standardised samples. Both learn from 300 samples of
six sets. Near: 200 test samples of the same distribution; the log density of their targets (higher is better), in units
of the deviation of the targets, and the share inside of 90 % intervals. Away: the same samples moved three and ten
deviations out, along the sign of each feature; the deviation that is predicted there over that of all targets, which is
where a process with a stationary kernel ends. Medians over samples, means over sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._data import Settings
from benchmarks._report import Row, progress
from spkm import SPKMRegressor

COLUMNS = ("inside 90 %", "deviation near", "3 away", "10 away")
NORMAL = 1.6448536269514722


def sets(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return samples and targets of six sets."""
    rng = np.random.default_rng(0)
    wave = rng.uniform(-2, 2, size=(n, 1))
    uneven = rng.normal(size=(n, 3))
    X, y = load_diabetes(return_X_y=True)
    return {
        "wave": (wave, np.sin(3 * wave[:, 0]) + 0.1 * rng.normal(size=n)),
        "friedman 1": make_friedman1(n, noise=1.0, random_state=0),
        "friedman 2": make_friedman2(n, noise=50.0, random_state=0),
        "friedman 3": make_friedman3(n, noise=0.1, random_state=0),
        "uneven noise": (uneven, np.sin(uneven[:, 0]) + (0.05 + 0.2 * np.abs(uneven[:, 1])) * rng.normal(size=n)),
        "diabetes": (X[:n], y[:n]),
    }


def exact(n_features: int) -> Any:
    kernel = ConstantKernel() * Matern(np.ones(n_features), nu=2.5) + WhiteKernel(0.1)
    return make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=0))


def run(settings: Settings) -> Iterator[Row]:
    found: dict[str, list[list[float]]] = {"SPKMRegressor": [], "exact Gaussian process": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (X, y) in list(sets(settings.size(500, 60)).items())[: settings.size(6, 1)]:
            for seed in range(settings.n_seeds(2)):
                order = np.random.default_rng(seed).permutation(len(y))
                learn, judge = np.split(order, [3 * len(y) // 5])
                for who, model in (
                    ("SPKMRegressor", SPKMRegressor(random_state=seed)),
                    ("exact Gaussian process", exact(X.shape[1])),
                ):
                    fitted = model.fit(X[learn], y[learn])
                    found[who].append(figures(fitted, X[learn], y[learn], X[judge], y[judge]))
            progress(f"{name}: " + "; ".join(f"{who} {values[-1][0]:.2f}" for who, values in found.items()))
    for who, values in found.items():
        density, *more = np.mean(values, axis=0)
        yield Row(f"{who}: mean log density of test targets", density, None, "{:.2f}", tuple(f"{v:.2f}" for v in more))


def figures(model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> list[float]:
    """Return log density, coverage, and the deviation near, three and ten deviations away, over that of the targets."""
    mean, deviation = model.predict(X_test, return_std=True)
    density = float(np.mean(norm.logpdf(y_test, mean, deviation)) + np.log(y.std()))
    inside = float(np.mean(np.abs(y_test - mean) <= NORMAL * deviation))
    centre, scale = X.mean(axis=0), X.std(axis=0)
    away = [
        float(np.median(model.predict(X_test + k * scale * np.sign(X_test - centre), return_std=True)[1])) / y.std()
        for k in (0, 3, 10)
    ]
    return [density, inside, *away]


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["deviations", *sys.argv[1:]])
