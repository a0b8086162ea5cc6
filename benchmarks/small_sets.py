"""Accuracy with strict selection minus that of ten vectors on all columns, in points, and the number of columns.

Thirds of the rows, judged by the test third. First, all models learn from the training third alone and the validation
third chooses the columns; then all learn from both, the columns being chosen by five folds. Differences are paired over
the splits, with their standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks._data import Settings, thirds
from benchmarks._report import Row, at_least, at_most, progress, standard_error
from benchmarks._selection import Outcome, chosen_on_validation, mean_of, summary, timed
from spkm import SPKMClassifier, SPKMClassifierCV

COLUMNS = ("±", "accuracy", "of all columns", "columns (to reach)", "of", "seconds")
SETS = ("breast_cancer_wisconsin", "early_diabetes", "ionosphere", "qsar_biodeg")
ALL = "all columns"
Fit = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int], Any]


def on_third(X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, seed: int) -> Any:
    """Return ten vectors on all columns, fitted on the training third."""
    return SPKMClassifier(10, random_state=seed).fit(X[train], y[train])


def chosen_of_half(
    params: dict[str, Any], X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, seed: int
) -> Any:
    """Return a model of at most half of the columns, fitted on the training third."""
    most = X.shape[1] // 2
    return chosen_on_validation(X, y, train, validation, max_features=most, random_state=seed, **params)


def on_both(model: Any, X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, seed: int) -> Any:
    """Return a copy of the model, fitted on both thirds; where it selects, at most half of the columns."""
    rows = np.concatenate([train, validation])
    most = {} if model.selection is None else {"max_features": X.shape[1] // 2}
    return clone(model).set_params(random_state=seed, **most).fit(X[rows], y[rows])


#: In pairs: on all columns, and models that select.
PROTOCOLS: list[tuple[Fit, dict[str, Fit]]] = [
    (
        on_third,
        {
            "third, SPKMClassifierCV(max_basis=10)": partial(chosen_of_half, {"max_basis": 10}),
            "third, the same with kernel='rbf', n_basis=10": partial(chosen_of_half, {"kernel": "rbf", "n_basis": 10}),
        },
    ),
    (
        partial(on_both, SPKMClassifier(10)),
        {
            "two thirds, SPKMClassifierCV(max_basis=10)": partial(on_both, SPKMClassifierCV(max_basis=10)),
            "two thirds, 10 vectors": partial(on_both, SPKMClassifier(10, selection="strict")),
        },
    ),
]


def run(settings: Settings) -> Iterator[Row]:
    for name, data in zip(SETS, settings.load(*SETS), strict=True):
        for everything, selecting in PROTOCOLS[: 1 if settings.quick else None]:
            yield from compare(name, data["X"], data["y"], {ALL: everything, **selecting}, settings)


def compare(name: str, X: np.ndarray, y: np.ndarray, fits: dict[str, Fit], settings: Settings) -> Iterator[Row]:
    """Yield a row for each way to select, against the first way, which uses all columns."""
    found: dict[str, list[Outcome]] = {who: [] for who in fits}
    for seed in range(settings.n_seeds(20)):
        train, validation, test = thirds(len(y), seed)
        for who, fit in fits.items():
            model, seconds = timed(partial(fit, X, y, train, validation, seed))
            found[who].append(Outcome.of(model, X[test], y[test], seconds))
            progress(f"{name}, split {seed}, {who}: {found[who][-1]}")
    accuracy = {who: np.array([o.accuracy for o in outcomes]) for who, outcomes in found.items()}
    for who, outcomes in found.items():
        if who == ALL:
            continue
        difference = accuracy[who] - accuracy[ALL]
        more = (
            f"{standard_error(difference):.2f}" if len(difference) > 1 else "",
            f"{accuracy[who].mean():.2f}",
            f"{accuracy[ALL].mean():.2f}",
            summary([len(o.columns) for o in outcomes], "{:.1f}", at_most(X.shape[1] / 2)),
            f"{X.shape[1]}",
            summary([o.seconds for o in outcomes], "{:.1f}"),
        )
        yield Row(f"{name}, {who}", mean_of(difference), at_least(-0.3), "{:+.2f}", more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["small_sets", *sys.argv[1:]])
