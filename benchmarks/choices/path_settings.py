"""The numbers of a sparse path, one changed at a time: the share of the relevant features that its end has.

A polynomial of degree 3 on 400 samples, 10 of 100 features relevant by a relation of degree 2 or 5; of the path's end
the 20 strongest features count, which is what an elimination begins with. Mean and standard error over draws that no
other benchmark reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, progress
from benchmarks._selection import hidden_relation, summary
from spkm.kernels import Polynomial
from spkm.losses import Log
from spkm.selection import DEFAULTS, FeatureGroups
from spkm.selection._sparse_path import sparse_support
from spkm.sources import ArraySource

COLUMNS = ("degree 5", "CPU ms", "draws")
FIRST_SEED = 300
STRONGEST = 20
CHANGES: dict[str, tuple[float, ...]] = {
    "path_iterations": (10, 40, 80),
    "path_tolerance": (3e-4, 1e-4),
    "path_steps": (1, 2, 4),
    "path_ratio": (1.5, 3.0),
    "first_size": (0.1, 1.0),
    "n_starts": (1, 2, 8),
    "vectors_per_output": (2, 6),
}


def run(settings: Settings) -> Iterator[Row]:
    variants: list[dict[str, Any]] = [{}, *({name: value} for name, values in CHANGES.items() for value in values)]
    wanted = [v for v in variants if settings.wants(" ".join(v))][: settings.size(len(variants), 2)]
    for variant in wanted:
        found: dict[str, list[float]] = {"degree 2": [], "degree 5": []}
        start = process_time()
        for relation, shares in found.items():
            for seed in range(FIRST_SEED, FIRST_SEED + settings.n_seeds(8)):
                shares.append(share_found(relation, seed, settings.size(400, 60), settings.size(100, 12), variant))
        n_draws = len(found["degree 2"])
        milliseconds = 1000 * (process_time() - start) / (2 * n_draws)
        what = ", ".join(f"{name} = {value:g}" for name, value in variant.items()) or "as it is"
        more = (summary(found["degree 5"]), f"{milliseconds:.0f}", f"{n_draws}")
        progress(f"{what}: {summary(found['degree 2'])}, {more[0]}")
        yield Row(f"{what}, degree 2", float(np.mean(found["degree 2"])), None, more=more)


def share_found(relation: str, seed: int, n: int, d: int, variant: dict[str, Any]) -> float:
    """Return the share of the relevant features among the strongest at the end of a path."""
    X, y, relevant = hidden_relation(relation, n, d, seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = np.where(y == y.max(), 1.0, -1.0)[:, None]
    kernel, numbers = Polynomial(degree=3, coef0=1.0, gamma=1.0), replace(DEFAULTS, **variant)
    rng = np.random.default_rng(seed)
    end = sparse_support(ArraySource(X, Y), Log(), kernel, 1, FeatureGroups(d), True, rng, numbers)
    return float(np.isin(relevant, end.columns[np.argsort(end.rank)[:STRONGEST]]).mean())


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["path_settings", *sys.argv[1:]])
