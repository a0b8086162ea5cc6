"""Time of LassoNet's path over that of our whole choice with the same samples to validate, on one thread; d = 100.

Both fit the same 500 samples and look at 500 others; ours is ``SPKMClassifierCV`` with one split. LassoNet has its
defaults: its path ends when no feature is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._data import MissingData, Settings
from benchmarks._neighbours import has_lassonet, lassonet_path
from benchmarks._report import Row, at_least, progress
from benchmarks._ridge import geometric_mean
from benchmarks._selection import RELATIONS, chosen_on_validation, hidden_relation, summary, timed

COLUMNS = ("LassoNet, s", "ours, s", "points of its path")
FIRST_SEED = 5000


def run(settings: Settings) -> Iterator[Row]:
    if not has_lassonet():
        raise MissingData("needs the package lassonet.")
    n, d = settings.size(500, 100), settings.size(100, 20)
    for relation in RELATIONS:
        theirs, ours, points = [], [], []
        for seed in range(FIRST_SEED, FIRST_SEED + settings.n_seeds(1)):
            X, y, _ = hidden_relation(relation, 3 * n, d, seed)
            rows = (X, y, np.arange(n), np.arange(n, 2 * n))
            with threadpool_limits(1):
                ours.append(timed(partial(chosen_on_validation, *rows, random_state=seed, n_jobs=1))[1])
                model, seconds = timed(partial(lassonet_path, *rows, seed, settings.quick))
            theirs.append(seconds)
            points.append(len(model.path_))
            progress(f"{relation}, seed {seed}: LassoNet {seconds:.1f} s, {points[-1]} points; ours {ours[-1]:.1f} s")
        more = (summary(theirs, "{:.1f}"), summary(ours, "{:.1f}"), f"{np.mean(points):.0f}")
        ratio = geometric_mean(np.array(theirs) / np.array(ours))
        yield Row(f"{relation}, n = {n}, d = {d}", ratio, at_least(15), "{:.1f}", more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["lassonet_time", *sys.argv[1:]])
