"""Standard normal noise columns added: error with them over error without, and the share of chosen columns that count.

Two thirds of the rows to learn, one third to test. Regression: squared errors over the variance of the test targets, 50
noise columns, geometric means of ratios over the splits; both errors are of the same estimator. Precision is the share
of selected columns that are not noise. Kernel ridge has alpha and gamma chosen on at most 1,000 rows. Digits: 100 noise
columns, 50 vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks._data import Settings, parts
from benchmarks._report import Row, at_least, at_most, progress
from benchmarks._ridge import geometric_mean, kernel_ridge, squared_error, tuned
from benchmarks._selection import Outcome, mean_of, summary, timed
from spkm import SPKMClassifier, SPKMRegressor, SPKMRegressorCV

COLUMNS = ("with noise", "without", "precision (to reach)", "columns", "seconds", "KRR with", "KRR without")
MODELS = {"SPKMRegressor, strict": partial(SPKMRegressor, selection="strict"), "SPKMRegressorCV()": SPKMRegressorCV}
NOISE, NOISE_DIGITS = 50, 100
RIDGE_ROWS = 1000


def run(settings: Settings) -> Iterator[Row]:
    boston, sarcos = settings.load("boston_housing", "sarcos_test")
    rows = slice(None, 400 if settings.quick else None)
    yield from regression("boston_housing", boston["X"][rows], boston["y"][rows], settings, settings.n_seeds(5))
    yield from regression(
        "sarcos_test, torque 1", sarcos["X"][rows], sarcos["y"][rows, 0], settings, settings.n_seeds(3)
    )
    yield from digits(settings, settings.n_seeds(3))


def regression(name: str, X: np.ndarray, y: np.ndarray, settings: Settings, n_splits: int) -> Iterator[Row]:
    d = X.shape[1]
    errors: dict[str, list[list[float]]] = {}
    reads: dict[str, list[np.ndarray]] = {who: [] for who in MODELS}
    times: dict[str, list[float]] = {who: [] for who in MODELS}
    for seed in range(n_splits):
        train, test = parts(len(y), (2 / 3, 1 / 3), seed)
        target = y / y[test].std()
        tables = [with_noise(X, NOISE, seed), X]
        ridge = [ridge_error(table, target, train, test, settings.quick) for table in tables]
        errors.setdefault("KRR", []).append(ridge)
        progress(f"{name}, split {seed}, kernel ridge: error with noise, without {ridge[0]:.4f} {ridge[1]:.4f}")
        for who, make in MODELS.items():
            fits = [timed(partial(make(random_state=seed).fit, table[train], target[train])) for table in tables]
            both = [
                squared_error(model, table[test], target[test]) for (model, _), table in zip(fits, tables, strict=True)
            ]
            errors.setdefault(who, []).append(both)
            reads[who].append(fits[0][0].selected_features_)
            times[who].append(fits[0][1])
            noise = np.sum(reads[who][-1] >= d)
            progress(
                f"{name}, split {seed}, {who}: error with noise, without {both[0]:.4f} {both[1]:.4f}, "
                f"{len(reads[who][-1])} columns, {noise} of them noise, {fits[0][1]:.1f} s"
            )
    ridge_cells = tuple(f"{e:.4f}" for e in np.mean(errors["KRR"], axis=0))
    for who in MODELS:
        noisy, clean = np.array(errors[who]).T
        precision = [float(np.mean(columns < d)) if len(columns) else np.nan for columns in reads[who]]
        more = (
            f"{noisy.mean():.4f}",
            f"{clean.mean():.4f}",
            summary(precision, reach=at_least(0.9)),
            summary([len(columns) for columns in reads[who]], "{:.1f}"),
            summary(times[who], "{:.1f}"),
            *ridge_cells,
        )
        yield Row(f"{name}, {who}: error ratio", geometric_mean(noisy / clean), at_most(1.05), "{:.3f}", more)


def digits(settings: Settings, n_splits: int) -> Iterator[Row]:
    X, y = load_digits(return_X_y=True)
    if settings.quick:
        X, y = X[:300], y[:300]
    n_basis = settings.size(50, 10)
    pairs: list[tuple[Outcome, Outcome]] = []
    for seed in range(n_splits):
        train, test = parts(len(y), (2 / 3, 1 / 3), seed)
        found = []
        for table in (with_noise(X, NOISE_DIGITS, seed), X):
            make = SPKMClassifier(n_basis, selection="strict", random_state=seed)
            model, seconds = timed(partial(make.fit, table[train], y[train]))
            found.append(Outcome.of(model, table[test], y[test], seconds))
        pairs.append((found[0], found[1]))
        noise = np.sum(found[0].columns >= X.shape[1])
        progress(f"digits, split {seed}: with noise {found[0]}, {noise} of them noise; without {found[1]}")
    noisy, clean = zip(*pairs, strict=True)
    accuracies = [np.array([o.accuracy for o in outcomes]) for outcomes in (noisy, clean)]
    more = (
        f"{accuracies[0].mean():.2f} %",
        f"{accuracies[1].mean():.2f} %",
        summary([o.precision(np.arange(X.shape[1])) for o in noisy]),
        summary([len(o.columns) for o in noisy], "{:.1f}"),
        summary([o.seconds for o in noisy], "{:.1f}"),
        "",
        "",
    )
    chosen = [float(np.sum(o.columns >= X.shape[1])) for o in noisy]
    empty = ("",) * len(COLUMNS)
    yield Row(f"digits, {n_basis} vectors, strict: noise columns selected", mean_of(chosen), at_most(0), "{:.1f}", more)
    difference = mean_of(accuracies[0] - accuracies[1])
    yield Row("digits: accuracy minus that without noise, points", difference, at_least(-0.5), "{:+.2f}", empty)


def with_noise(X: np.ndarray, n_columns: int, seed: int) -> np.ndarray:
    """Return X with noise columns after its own."""
    return np.hstack([X, np.random.default_rng(1000 + seed).standard_normal((len(X), n_columns))])


def ridge_error(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, quick: bool) -> float:
    """Return the test error of a kernel ridge regression fitted on all training rows, tuned on some of them."""
    inner, held_out = np.split(train[:RIDGE_ROWS], [int(0.7 * min(len(train), RIDGE_ROWS))])  # in random order already
    _, chosen = tuned(kernel_ridge, (X[inner], y[inner]), (X[held_out], y[held_out]), quick)
    model: Any = kernel_ridge(*chosen).fit(X[train], y[train])
    return squared_error(model, X[test], y[test])


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["noise_columns", *sys.argv[1:]])
