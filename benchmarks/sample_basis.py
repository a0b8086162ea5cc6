"""The price of basis vectors that are training samples: accuracy or R² in points, minus that of free vectors.

Splits of the panel with at most 800 samples for training; default numbers of vectors for classes, 20 for real targets.
Means over sets come with their standard error, and the worst set by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._panel import OURS, halves, load, split, timed_fit
from benchmarks._report import Row, progress, standard_error
from spkm import SPKMClassifier

COLUMNS = ("error", "median", "time x")
MOST_TRAINING = 800


def run(settings: Settings) -> Iterator[Row]:
    for group, (names, make) in OURS.items():
        for half, members in halves(names):
            members = members[: settings.size(len(members), 1)]
            found = np.array([price(settings, name, make) for name in members])
            differences, worst = found[:, 0], int(np.argmin(found[:, 0]))
            more = (f"± {standard_error(differences):.2f}", f"{np.median(differences):+.2f}")
            ratio = f"{np.exp(np.log(found[:, 1]).mean()):.2f}"
            yield Row(f"{group}, half {half}: mean", differences.mean(), form="{:+.2f}", more=(*more, ratio))
            where = f"{group}, half {half}: worst ({members[worst]})"
            yield Row(where, differences[worst], form="{:+.2f}", more=("", "", ""))


def price(settings: Settings, name: str, make: Callable[..., Any]) -> tuple[float, float]:
    """Return the difference of scores on one set, in points, and the ratio of times, both means over splits."""
    X, y = load(settings, name)
    classes = make is SPKMClassifier
    found = []
    for seed in range(settings.n_seeds(1)):
        (X_train, y_train), _, test = split(X, y if classes else y.astype(np.float64), seed, classes)
        train = X_train[:MOST_TRAINING], y_train[:MOST_TRAINING]
        free, samples = (make(random_state=seed, n_jobs=1, basis=basis) for basis in ("free", "samples"))
        times = [timed_fit(model, *train) for model in (free, samples)]
        found.append((100 * (samples.score(*test) - free.score(*test)), times[1] / times[0]))
    mean = np.mean(found, axis=0)
    progress(f"{name}: {mean[0]:+.2f}")
    return float(mean[0]), float(mean[1])


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["sample_basis", *sys.argv[1:]])
