"""MNIST, one joint model of ten classes: test accuracy in percent, and the time of a fit on two threads.

Pixels are float32 over 255, with scale="common"; all else is the default but for the loss, which the rows name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, at_least, at_most
from benchmarks._timing import seconds_of
from spkm import SPKMClassifier

LOSSES = ("log", "squared_hinge")
SMALL = (6000, 10, 91.5)  # samples, vectors, accuracy to reach
FULL = ((10, 92.5, 3.0), (100, 97.7, 14.0), (200, 98.3, 29.0))  # vectors, accuracy and seconds to reach


def run(settings: Settings) -> Iterator[Row]:
    (data,) = settings.load("mnist")
    X, X_test = (data[k].astype(np.float32) / np.float32(255) for k in ("X_train", "X_test"))
    y, y_test = data["y_train"], data["y_test"]
    for loss in LOSSES:
        yield from small_subsets(X, y, X_test, y_test, loss, settings)
    for loss in LOSSES:
        n = settings.size(len(y), 6000)
        for R, accuracy, seconds in FULL[: settings.size(len(FULL), 1)]:
            runs = [fit(X[:n], y[:n], X_test, y_test, R, loss, seed) for seed in range(settings.n_seeds(1))]
            score, time = np.mean(runs, axis=0)
            yield Row(f"{n:,} samples, {R} vectors, {loss}, accuracy %", score, at_least(accuracy))
            yield Row(f"{n:,} samples, {R} vectors, {loss}, seconds", time, at_most(seconds), "{:.1f}")


def small_subsets(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, loss: str, settings: Settings
) -> Iterator[Row]:
    """Yield the rows of fits on random subsets."""
    n, R, accuracy = settings.size(SMALL[0], 1000), *SMALL[1:]
    runs = []
    for seed in range(settings.n_seeds(5)):
        rows = np.random.default_rng(seed).permutation(len(y))[:n]
        runs.append(fit(X[rows], y[rows], X_test, y_test, R, loss, seed))
    score, time = np.mean(runs, axis=0)
    yield Row(f"{n:,} samples, {R} vectors, {loss}, accuracy %, mean of {len(runs)}", score, at_least(accuracy))
    yield Row(f"{n:,} samples, {R} vectors, {loss}, seconds", time, form="{:.1f}")


def fit(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, R: int, loss: str, seed: int
) -> tuple[float, float]:
    """Return test accuracy and seconds of a fit."""
    model = SPKMClassifier(R, loss=loss, scale="common", n_jobs=2, random_state=seed)
    seconds = seconds_of(lambda: model.fit(X, y))
    return 100 * model.score(X_test, y_test), seconds


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["mnist", *sys.argv[1:]])
