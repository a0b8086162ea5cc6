"""The Occam bound on models with rounded numbers: how often it holds, and how tight it is.

Coverage: 1,000 draws of samples each. "Coin tosses" are labels that no feature has a part in, so that every classifier
has an error of one half; "noisy rings" are circles of which a tenth of the labels are wrong, with the true error from
100,000 samples. The bound is asked for at 95 %, and must hold in at least 95 % of the draws; it holds for all models at
once, so that it is on the safe side. Beside it the bound by the training samples as if they had been held out, which
counts no bits and does not hold.

Tightness: the classifier's defaults with 2 and 10 basis vectors on sets of the panel, at most 5,000 training samples:
bound, error of the rounded model on the test samples, error of the model as it was fitted, the bound by the test
samples (which are held out), and bits of a number and of the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks._data import MissingData, Settings
from benchmarks._panel import load
from benchmarks._report import Row, at_least, progress
from spkm import SPKMClassifier, theory

COLUMNS = ("test error", "as fitted", "held out", "bits", "of the model")
SETS = "ringnorm pol adult10k phoneme electricity10k banknote dry_bean page_blocks".split()
MOST = 5_000
NOTHING = ("", "", "", "", "")
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def coin_tosses(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(n, 3)), rng.integers(2, size=n)


def noisy_rings(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 2))
    return X, ((X**2).sum(axis=1) > 1.4).astype(int) ^ (rng.random(n) < 0.1)


def run(settings: Settings) -> Iterator[Row]:
    draws = settings.size(1000, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, draw in (("coin tosses", coin_tosses), ("noisy rings", noisy_rings)):
            yield from coverage_rows(name, draw, draws)
        for name in SETS[: settings.size(len(SETS), 1)]:
            try:
                X, y = load(settings, name)
            except MissingData as reason:
                yield Row(f"{name}: {reason}", "skipped", more=NOTHING)
                continue
            yield from tightness_rows(name, X, y)


def coverage_rows(name: str, draw: Draw, draws: int) -> Iterator[Row]:
    """Yield the share of draws in which the bound held, and that of the bound that counts no bits."""
    fresh = draw(np.random.default_rng(10**6), 100_000)
    held, without, values = 0, 0, []
    for seed in range(draws):
        X, y = draw(np.random.default_rng(seed), 100)
        model = SPKMClassifier(3, weight_penalty="rkhs", linear_part=False, max_iter=30, random_state=0).fit(X, y)
        bound = theory.occam_bound(model, X, y)
        error = 0.5 if name == "coin tosses" else 1 - bound.estimator.score(*fresh)
        held += error <= bound.value
        without += error <= theory.held_out_bound(bound.estimator, X, y)
        values.append(bound.value)
    progress(f"{name}: {held / draws:.3f}, {without / draws:.3f} without the bits, mean bound {np.mean(values):.2f}")
    yield Row(
        f"{name}, {draws:,} draws of 100: share in which it holds", held / draws, at_least(0.95), "{:.3f}", NOTHING
    )
    yield Row(f"{name}: the same, no bits counted", without / draws, None, "{:.3f}", NOTHING)


def tightness_rows(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[Row]:
    """Yield the bound of models of two and ten basis vectors."""
    if name == "pol":  # a set of real targets
        y = (y > np.median(y)).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    cut = int(0.7 * len(y))
    learn, judge = order[:cut][:MOST], order[cut:]
    for n_basis in (2, 10):
        model = SPKMClassifier(n_basis, random_state=0).fit(X[learn], y[learn])
        bound = theory.occam_bound(model, X[learn], y[learn])
        errors = [1 - fitted.score(X[judge], y[judge]) for fitted in (bound.estimator, model)]
        held_out = theory.held_out_bound(bound.estimator, X[judge], y[judge])
        more = (*(f"{v:.3f}" for v in (*errors, held_out)), f"{bound.bits}", f"{bound.length:.0f}")
        progress(f"{name}, R = {n_basis}: {bound.value:.3f}, " + ", ".join(more))
        yield Row(f"{name}, {len(learn):,} samples, R = {n_basis}: bound", bound.value, None, "{:.3f}", more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["occam", *sys.argv[1:]])
