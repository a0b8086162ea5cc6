"""Stability of basis vectors: the same samples with another seed, and nine tenths of them with the same seed.

Vectors of two fits are matched one to one (Hungarian algorithm) by the similarity k(u, u') of the first fit's learned
kernel; a figure is the mean over vectors of a fit, weighted by their share |c_r| of the weights, and over pairs of
fits and sets. 1 is the same vectors, and chance is the matched similarity of as many training samples, drawn at random.
"Agreement" is that of the predictions on test samples: of classes the share of equal ones, of real targets R².
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks._data import Settings
from benchmarks._panel import OURS, halves, load, split
from benchmarks._report import Row, progress
from spkm import SPKMClassifier

COLUMNS = ("90 %", "chance", "agreement", "90 %")
MOST_TRAINING = 800
KEPT = 0.9  # share of the samples of the second kind of fit


def run(settings: Settings) -> Iterator[Row]:
    for group, (names, make) in OURS.items():
        for half, members in halves(names):
            found = []
            for name in members[: settings.size(len(members), 1)]:
                found.append(stability(settings, name, make))
                progress(f"{name}: " + ", ".join(f"{value:.2f}" for value in found[-1]))
            seed, tenth, chance, agreed_seed, agreed_tenth = np.mean(found, axis=0)
            more = tuple(f"{value:.2f}" for value in (tenth, chance, agreed_seed, agreed_tenth))
            yield Row(f"{group}, half {half}: matched similarity, another seed", seed, more=more)


def stability(settings: Settings, name: str, make: Callable[..., Any]) -> tuple[float, ...]:
    """Return matched similarities (another seed, nine tenths, chance) and agreements of predictions on one set."""
    X, y = load(settings, name)
    classes = make is SPKMClassifier
    found = []
    for seed in range(settings.n_seeds(1)):
        (X_train, y_train), _, (X_test, _) = split(X, y if classes else y.astype(np.float64), seed, classes)
        X_train, y_train = X_train[:MOST_TRAINING], y_train[:MOST_TRAINING]
        rng = np.random.default_rng(seed)
        kept = np.sort(rng.choice(len(y_train), int(KEPT * len(y_train)), replace=False))
        first = make(random_state=seed, n_jobs=1).fit(X_train, y_train)
        others = [
            make(random_state=seed + 1000, n_jobs=1).fit(X_train, y_train),
            make(random_state=seed, n_jobs=1).fit(X_train[kept], y_train[kept]),
        ]
        drawn = X_train[rng.choice(len(X_train), len(first.basis_vectors_), replace=False)]
        matched = [matched_similarity(first, U) for U in (*(other.basis_vectors_ for other in others), drawn)]
        found.append((*matched, *(agreement(first, other, X_test) for other in others)))
    return tuple(float(value) for value in np.mean(found, axis=0))


def matched_similarity(model: Any, others: np.ndarray) -> float:
    """Return the similarity of a model's basis vectors to their matches among others, weighted by |c_r|."""
    held = model.model_
    K = held.terms[0].views[0].kernel(held.scaled(model.basis_vectors_), held.scaled(others))
    rows, columns = linear_sum_assignment(-K)
    size = np.abs(held.weights[held.vector_rows]).sum(axis=1)
    return float(np.average(K[rows, columns], weights=size[rows] if size[rows].sum() > 0 else None))


def agreement(first: Any, other: Any, X: np.ndarray) -> float:
    """Return the share of equal predictions of classes; of real targets R² of one model for the other's predictions."""
    a, b = first.predict(X), other.predict(X)
    if hasattr(first, "classes_"):
        return float(np.mean(a == b))
    return 1.0 - float(np.mean((a - b) ** 2) / max(np.var(a), 1e-300))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["stability", *sys.argv[1:]])
