"""SARCOS (the test file), torque 1: squared error over that of ridge on 300 Nystroem features, and of kernel ridge.

80 % of the samples to learn, 20 % to test. The two competitors choose gamma and alpha on a fifth of the learning
samples and are fitted again on all of them; ours has its defaults. Geometric means over the splits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._data import Settings, parts
from benchmarks._report import Row, at_most, below
from benchmarks._ridge import geometric_mean, kernel_ridge, nystroem_ridge, squared_error, tuned
from spkm import SPKMRegressor

COLUMNS = ("R2 of ours", "R2 of theirs")
PAIRS = (
    (20, "Nystroem(300) and ridge, tuned", below(1.0)),
    (100, "kernel ridge, tuned", at_most(1.15)),
)
NEIGHBOURS = {"Nystroem(300) and ridge, tuned": nystroem_ridge, "kernel ridge, tuned": kernel_ridge}


def run(settings: Settings) -> Iterator[Row]:
    (data,) = settings.load("sarcos_test")
    rows = slice(None, 1000 if settings.quick else None)
    X, y = data["X"][rows], data["y"][rows, 0]
    splits = [errors(X, y, seed, settings.quick) for seed in range(settings.n_seeds(3))]
    for R, name, reach in PAIRS:
        ours, theirs = (np.array([s[who] for s in splits]) for who in (R, name))
        more = (f"{1 - ours.mean():.4f}", f"{1 - theirs.mean():.4f}")
        yield Row(f"{R} vectors over {name}", geometric_mean(ours / theirs), reach, "{:.3f}", more)


def errors(X: np.ndarray, y: np.ndarray, seed: int, quick: bool) -> dict[object, float]:
    """Return test errors over the variance of the test targets, by neighbour and by our number of vectors."""
    train, test = parts(len(y), (0.8, 0.2), seed)
    y = y / y[test].std()
    inner, held_out = np.split(train, [int(0.8 * len(train))])  # in random order already
    found: dict[object, float] = {}
    for name, make in NEIGHBOURS.items():
        _, chosen = tuned(make, (X[inner], y[inner]), (X[held_out], y[held_out]), quick)
        found[name] = squared_error(make(*chosen).fit(X[train], y[train]), X[test], y[test])
    for R, *_ in PAIRS:
        found[R] = squared_error(SPKMRegressor(R, random_state=seed).fit(X[train], y[train]), X[test], y[test])
    return found


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["sarcos", *sys.argv[1:]])
