"""Size of a report's page, and seconds of CPU to write it on one thread.

The page's own predictions are compared with Python's in tests/browser. Models are small: what is
measured is the report, not the fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from threadpoolctl import threadpool_limits

from benchmarks._data import Settings
from benchmarks._report import Row, below
from spkm import SPKMClassifier, SPKMRegressor
from spkm.inspection import report

COLUMNS = ("kB",)


def run(settings: Settings) -> Iterator[Row]:
    with threadpool_limits(1), warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # of fits that are cut short
        for name, (model, X, y), most in cases():
            start = process_time()
            path = report(model, Path(folder) / "page.html", X, y)
            seconds, size = process_time() - start, path.stat().st_size / 1000
            yield Row(f"{name}, seconds", seconds, below(2), "{:.2f}", (f"{size:.0f}",))
            yield Row(f"{name}, kB", size, below(most), "{:.0f}", ("",))


def cases() -> Iterator[tuple[str, tuple[Any, Any, Any], float]]:
    rng = np.random.default_rng(0)
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer, 569 rows", (SPKMClassifier(5, random_state=0).fit(X, y), X, y), 300
    X = rng.standard_normal((5000, 30))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    yield "30 features, 1,000 rows shipped", (SPKMClassifier(8, random_state=0).fit(X[:1000], y[:1000]), X, y), 300
    digits = load_digits()
    model = SPKMClassifier(20, random_state=0, scale="common", tol=1e-2).fit(digits.data, digits.target)
    yield "digits, ten classes", (model, digits.data, digits.target), 1000
    X = rng.standard_normal((600, 500))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    yield "500 features, RBF", (SPKMClassifier(10, random_state=0).fit(X, y), X, y), 1000
    yield (
        "500 features, Matern",
        (SPKMRegressor(10, random_state=0).fit(X, X[:, 0] + X[:, 2]), X, X[:, 0] + X[:, 2]),
        1000,
    )
