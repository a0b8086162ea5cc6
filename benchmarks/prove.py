"""Proofs about models of 2 to 8 features: planted violations, a grid that looks for contradictions, and seconds.

Models of ten basis vectors, fitted to made-up samples: a classifier and a regressor for each draw. The largest score in
the range of the samples is found to 0.1 % of the scores' spread; then "score <= t" is asked with t below it by 0.5 % of
the spread, a violation in a small corner, and with t above it by 0.5 %, which is true. "By 100,000 random samples" is
the share of violations that these find. A grid of about 100,000 points, and the random samples, look for scores above a
proved bound. Changes are the largest effect of one feature, to 1 % of the spread, "open" the share that is not settled
within 200,000 boxes. Seconds are CPU time of one answer on one thread, the median.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, progress
from spkm import SPKMClassifier, SPKMRegressor
from spkm.explain import Proof, prove

COLUMNS = ("proved", "by 100,000 random samples", "contradictions", "seconds", "changes, seconds", "open")
RANDOM = 100_000


@dataclass(frozen=True)
class Asked:
    """What one model answered."""

    refuted: bool
    proved: bool
    random: bool
    contradictions: int
    seconds: float
    change_seconds: float
    open: bool


def run(settings: Settings) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d in (2, 4, 6, 8):
            found = []
            for seed in range(settings.n_seeds(10)):
                for make in (SPKMRegressor, SPKMClassifier):
                    found.append(asked(make(10, random_state=seed, n_jobs=1), d, settings.size(400, 80), seed))
            progress(f"{d} features: {found[-1]}")
            share = {name: np.mean([getattr(one, name) for one in found]) for name in ("refuted", "proved", "random")}
            more = (
                f"{share['proved']:.0%}",
                f"{share['random']:.0%}",
                f"{sum(one.contradictions for one in found)}",
                f"{np.median([one.seconds for one in found]):.2f}",
                f"{np.median([one.change_seconds for one in found]):.2f}",
                f"{np.mean([one.open for one in found]):.0%}",
            )
            yield Row(f"{d} features: planted violations that are found", share["refuted"], None, "{:.0%}", more)


def asked(model: Any, d: int, n: int, seed: int) -> Asked:
    """Return the answers of one model."""
    rng = np.random.default_rng([seed, d])
    X = rng.normal(size=(n, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.5 * X[:, d // 2]
    y = f + 0.3 * rng.normal(size=n)
    model.fit(X, y if isinstance(model, SPKMRegressor) else (y > 0).astype(int))
    scores = model.model_.scores
    spread = float(np.std(scores(X)))
    top, _ = timed(model, "score <= ?", X, 1e-3 * spread)
    below, seconds = timed(model, f"score <= {top.found - 5e-3 * spread}", X, 1.0)
    above, _ = timed(model, f"score <= {top.found + 5e-3 * spread}", X, 1.0)
    change, change_seconds = timed(model, "changing x1 moves score by <= ?", X, 1e-2 * spread)
    low, high = X.min(axis=0), X.max(axis=0)
    drawn = rng.uniform(low, high, size=(RANDOM, d))
    count = max(2, int(RANDOM ** (1 / d)))
    grid = np.array(list(itertools.product(*(np.linspace(a, b, count) for a, b in zip(low, high, strict=True)))))
    tried = np.concatenate([scores(drawn), scores(grid)])[:, 0]
    contradictions = int(np.sum(tried > top.bound)) + int(above.status == "proved" and tried.max() > above.bound)
    return Asked(
        below.status == "refuted",
        above.status == "proved",
        bool(tried[:RANDOM].max() > top.found - 5e-3 * spread),
        contradictions,
        max(seconds, 0.0),
        change_seconds,
        change.status == "unknown",
    )


def timed(model: Any, statement: str, X: np.ndarray, tolerance: float) -> tuple[Proof, float]:
    """Return an answer and its CPU seconds."""
    start = process_time()
    proof = prove(model, statement, ranges=X, tolerance=tolerance)
    return proof, process_time() - start


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["prove", *sys.argv[1:]])
