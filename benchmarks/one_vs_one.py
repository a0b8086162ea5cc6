"""MNIST, 6,000 samples: a binary model of two vectors for each of the 45 pairs, beside one joint model of 90 vectors.

Pixels are float32 over 255, with scale="common"; all else is the default but for the loss, which the rows name. The
SVC has C = 10 and gamma="scale". The steepness of votes was chosen on other seeds, and on training samples for a test.
``--families`` takes parts of the rows' names, such as "joint".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from benchmarks._data import Settings
from benchmarks._report import Row, at_least
from benchmarks._timing import seconds_of
from spkm import SPKMClassifier

LOSSES = ("log", "squared_hinge", "squared")
VECTORS = {"ovo": 2, "ovr": 9, "joint": 90}  # of each binary problem: 90 in all
TO_REACH = {"ovo": at_least(93.5)}
ROWS = 6000
COLUMNS = ("vectors", "seconds")


def run(settings: Settings) -> Iterator[Row]:
    (data,) = settings.load("mnist")
    X, X_test = (data[k].astype(np.float32) / np.float32(255) for k in ("X_train", "X_test"))
    y, y_test = data["y_train"], data["y_test"]
    n = settings.size(ROWS, 200)
    samples = [np.random.default_rng(seed).permutation(len(y))[:n] for seed in range(settings.n_seeds(3))]
    for kind, R in VECTORS.items():
        for loss in LOSSES:
            if not settings.wants(f"{kind}, {loss}"):
                continue
            model = SPKMClassifier(R, loss=loss, multi_class=kind, scale="common", n_jobs=2)
            outcomes = [measured(model, X[rows], y[rows], X_test, y_test, k) for k, rows in enumerate(samples)]
            yield row(f"{kind}, {loss}", outcomes, TO_REACH.get(kind))
    if not settings.wants("SVC"):
        return
    outcomes = [measured(SVC(C=10.0), X[rows], y[rows], X_test, y_test, k) for k, rows in enumerate(samples)]
    yield row("SVC", outcomes, None)


def measured(
    model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, seed: int
) -> tuple[float, int, float]:
    """Return test accuracy, number of vectors and seconds of a fit."""
    fitted = clone(model).set_params(random_state=seed)
    seconds = seconds_of(lambda: fitted.fit(X, y))
    vectors = len(fitted.support_ if isinstance(fitted, SVC) else fitted.basis_vectors_)
    return 100 * fitted.score(X_test, y_test), vectors, seconds


def row(what: str, outcomes: list[tuple[float, int, float]], reach: Any) -> Row:
    score, vectors, seconds = np.mean(outcomes, axis=0)
    return Row(f"{what}, accuracy %, mean of {len(outcomes)}", score, reach, more=(f"{vectors:,.0f}", f"{seconds:.0f}"))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["one_vs_one", *sys.argv[1:]])
