"""The sign of the product of three of 50 standard normal columns: no column and no pair of them tells anything.

2,000 rows to learn, as many to test; ``SPKMClassifierCV`` with its defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, at_least, progress
from benchmarks._selection import Outcome, mean_of, summary, timed
from spkm import SPKMClassifierCV

COLUMNS = ("recall (to reach)", "precision (to reach)", "columns", "kernels", "seconds")
FIRST_SEED = 5000


def run(settings: Settings) -> Iterator[Row]:
    n, d = settings.size(2000, 300), settings.size(50, 8)
    outcomes, recalls, precisions, kernels = [], [], [], []
    for seed in range(FIRST_SEED, FIRST_SEED + settings.n_seeds(3)):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((2 * n, d))
        three = np.sort(rng.choice(d, 3, replace=False))
        y = (np.prod(X[:, three], axis=1) > 0).astype(int)
        model, seconds = timed(partial(SPKMClassifierCV(random_state=seed).fit, X[:n], y[:n]))
        outcomes.append(Outcome.of(model, X[n:], y[n:], seconds))
        recalls.append(outcomes[-1].recall(three))
        precisions.append(outcomes[-1].precision(three))
        kernels.append(type(model.best_params_["kernel"]).__name__)
        progress(f"seed {seed}: {outcomes[-1]}, {kernels[-1]}, selected {model.selected_features_}, made by {three}")
    more = (
        summary(recalls, reach=at_least(1)),
        summary(precisions, reach=at_least(1)),
        f"{np.mean([len(o.columns) for o in outcomes]):.1f}",
        ", ".join(sorted(set(kernels))),
        summary([o.seconds for o in outcomes], "{:.1f}"),
    )
    yield Row(f"accuracy %, n = {n}, d = {d}", mean_of([o.accuracy for o in outcomes]), at_least(85), more=more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["parity", *sys.argv[1:]])
