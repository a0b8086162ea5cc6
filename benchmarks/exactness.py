"""What unselected columns change in a decision function, for every kernel: nothing.

Once they are replaced by noise of size 1e6, once they are left out with ``restricted()``. Largest change over test
rows, and that over the largest value of the function. A model of all columns would show nothing: it counts as a miss.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, at_most, progress
from spkm import SPKMClassifier
from spkm.kernels import KERNELS

COLUMNS = ("relative", "columns", "of")
SIZE = 1e6
LIMITS = {"replaced by noise": 0.0, "left out": 1e-12}


def run(settings: Settings) -> Iterator[Row]:
    n, d = settings.size(400, 120), 12
    for kernel in KERNELS:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((2 * n, d))
        f = X[:, 3] + X[:, 7] ** 2
        y = (f > np.median(f)).astype(int)
        if KERNELS.resolve(kernel).nonnegative:
            X = rng.poisson(2.0, (2 * n, d)).astype(float)  # counts
            y = (X[:, 3] > X[:, 7]).astype(int)
        model = SPKMClassifier(10, kernel=kernel, selection="strict", random_state=0).fit(X[:n], y[:n])
        rows, selected = X[n:], model.selected_features_
        noisy = SIZE * rng.standard_normal(rows.shape)
        noisy[:, selected] = rows[:, selected]
        before = model.decision_function(rows)
        after = {
            "replaced by noise": model.decision_function(noisy),
            "left out": model.restricted().decision_function(rows[:, selected]),
        }
        progress(f"{kernel}: {len(selected)} of {d} columns selected, accuracy {model.score(rows, y[n:]):.3f}")
        for what, values in after.items():
            change = np.abs(values - before).max() if len(selected) < d else np.nan
            relative = f"{change / np.abs(before).max():.1e}"
            more = (relative, f"{len(selected)}", f"{d}")
            yield Row(f"{kernel}, unselected columns {what}", change, at_most(LIMITS[what]), "{:.0e}", more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["exactness", *sys.argv[1:]])
