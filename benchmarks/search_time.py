"""How long a search for kernel and features takes, in seconds of processor time, beside l1 models by cross-validation.

``SPKMClassifierCV`` and ``SPKMRegressorCV`` with their defaults, means over draws; the other is logistic regression
with an l1 penalty and ten strengths, or the lasso, with five folds. Relations have 3 to 10 features and noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._data import Settings
from benchmarks._report import Row, at_most, progress
from benchmarks.selection_panel import l1_logistic, machine, timed_fit
from spkm.datasets import make_sparse_relation

COLUMNS = ("of l1", "ratio", "features", "draws")
SIZES = ((500, 100, 3.0), (100, 5000, 3.0), (80, 5, 1.0))


def run(settings: Settings) -> Iterator[Row]:
    for n, d, most in SIZES[-1:] if settings.quick else SIZES:
        for task in ("classes", "numbers"):
            ours, theirs, counts = [], [], []
            for seed in range(settings.n_seeds(3)):
                X, y = drawn(n, d, task, seed)
                model = machine(task, seed)
                ours.append(timed_fit(model, X, y))
                theirs.append(timed_fit(rival(task), X, y))
                counts.append(len(model.selected_features_))
                progress(f"{n} x {d}, {task}, draw {seed}: {ours[-1]:.2f} s, l1 {theirs[-1]:.2f} s")
            mean, of_l1 = float(np.mean(ours)), float(np.mean(theirs))
            more = (f"{of_l1:.2f}", f"{mean / of_l1:.1f}", f"{np.mean(counts):.1f}", str(len(ours)))
            yield Row(f"{n:,} x {d:,}, {task}: CPU seconds of a search", mean, at_most(most), "{:.1f}", more)


def drawn(n: int, d: int, task: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and targets: of ten features by a polynomial, of five linearly, or of three with a product."""
    if d == 100 and task == "classes":
        X, y, _ = make_sparse_relation("quadratic", n, d, random_state=seed)
        return X, y
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d))
    f = X[:, :5].sum(axis=1) if d > n else X[:, 0] + X[:, 1] * X[:, 2]
    f = f + 0.3 * f.std() * rng.standard_normal(n)
    return X, (f > np.median(f)).astype(int) if task == "classes" else f


def rival(task: str) -> Any:
    """Return the l1 model of a task."""
    return l1_logistic() if task == "classes" else make_pipeline(StandardScaler(), LassoCV(cv=5))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["search_time", *sys.argv[1:]])
