"""Accuracy with strict selection minus that of ten vectors on all columns, in points, and the number of columns.

Thirds of the rows; all learn from the training and validation thirds and are judged by the test third. Differences are
paired over the splits, with their standard error.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks._data import Settings, thirds
from benchmarks._report import Row, at_least, at_most, progress, standard_error
from benchmarks._selection import Outcome, mean_of, summary, timed
from spkm import SPKMClassifier, SPKMClassifierCV

COLUMNS = ("±", "accuracy", "of all columns", "columns (to reach)", "of", "seconds")
SETS = ("breast_cancer_wisconsin", "early_diabetes", "ionosphere", "qsar_biodeg")
ALL = "all columns"
MODELS = {
    ALL: partial(SPKMClassifier, n_basis=10),
    "SPKMClassifierCV(max_basis=10)": partial(SPKMClassifierCV, max_basis=10),
    "... of at most half the columns": partial(SPKMClassifierCV, max_basis=10, max_features="half"),
    "10 vectors, strict, at most half": partial(SPKMClassifier, n_basis=10, selection="strict", max_features="half"),
}


def run(settings: Settings) -> Iterator[Row]:
    for name, data in zip(SETS, settings.load(*SETS), strict=True):
        X, y = data["X"], data["y"]
        found: dict[str, list[Outcome]] = {who: [] for who in MODELS}
        for seed in range(settings.n_seeds(20)):
            train, validation, test = thirds(len(y), seed)
            rows = train if settings.quick else np.concatenate([train, validation])
            for who, make in MODELS.items():
                model = make(random_state=seed)
                if model.max_features is not None:
                    model.set_params(max_features=X.shape[1] // 2)
                model, seconds = timed(partial(model.fit, X[rows], y[rows]))
                found[who].append(Outcome.of(model, X[test], y[test], seconds))
                progress(f"{name}, split {seed}, {who}: {found[who][-1]}")
        accuracy = {who: np.array([o.accuracy for o in outcomes]) for who, outcomes in found.items()}
        d = X.shape[1]
        for who, outcomes in found.items():
            if who == ALL:
                continue
            difference = accuracy[who] - accuracy[ALL]
            more = (
                f"{standard_error(difference):.2f}" if len(difference) > 1 else "",
                f"{accuracy[who].mean():.2f}",
                f"{accuracy[ALL].mean():.2f}",
                summary([len(o.columns) for o in outcomes], "{:.1f}", at_most(d / 2)),
                f"{d}",
                summary([o.seconds for o in outcomes], "{:.1f}"),
            )
            yield Row(f"{name}, {who}", mean_of(difference), at_least(-0.3), "{:+.2f}", more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["small_sets", *sys.argv[1:]])
