"""Ordered classes: mean absolute error of class numbers and accuracy, five stratified folds, and mean ranks.

ERA, ESL, LEV, SWD and balance-scale come with skordinal; the others are quintiles of a real target (of SARCOS 1,500
samples). Ours is ``SPKMOrdinalClassifier`` with its defaults, beside ``SPKMClassifier`` and rounded ``SPKMRegressor``
with theirs, mord's LogisticAT (linear, alpha by three folds) and skordinal's REDSVM (RBF kernel, C and gamma by three
folds of the mean absolute error). Columns are standardised for all. The absolute error of ours is that of its median
class, its accuracy that of its most likely one. Ranks are those of the five methods on a set, 1 the best; measured is
ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks._data import MissingData, Settings
from benchmarks._report import Row, progress
from spkm import SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor

COLUMNS = ("classifier", "rounded", "LogisticAT", "REDSVM")
SHIPPED = ("era", "esl", "lev", "swd", "balance_scale")


def run(settings: Settings) -> Iterator[Row]:
    if find_spec("mord") is None or find_spec("skordinal") is None:
        raise MissingData("needs the packages mord and skordinal.")
    errors, hits = [], []
    for name, X, y in sets(settings):
        if settings.quick:
            kept = np.random.default_rng(0).permutation(len(y))[:200]
            X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
        error, hit = compared(X, y, 2 if settings.quick else 5)
        progress(f"{name}: {error}, {hit}")
        errors.append(error)
        hits.append(hit)
        yield Row(f"{name}, MAE", error[0], form="{:.3f}", more=tuple(f"{e:.3f}" for e in error[1:]))
        yield Row(f"{name}, accuracy %", hit[0], form="{:.1f}", more=tuple(f"{h:.1f}" for h in hit[1:]))
    for what, ranks in (("MAE", rankdata(errors, axis=1)), ("accuracy", rankdata(-np.array(hits), axis=1))):
        mean = ranks.mean(axis=0)
        yield Row(f"mean rank, {what}", mean[0], form="{:.2f}", more=tuple(f"{r:.2f}" for r in mean[1:]))


def sets(settings: Settings) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, samples and class numbers of each set."""
    from skordinal import datasets

    for name in SHIPPED:
        bunch = getattr(datasets, f"load_{name}")()
        yield name.upper(), np.asarray(bunch.data, float), np.unique(bunch.target, return_inverse=True)[1]
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes, quintiles", X, quintiles(y)
    boston, sarcos = settings.load("boston_housing", "sarcos_test")
    yield "Boston, quintiles", boston["X"], quintiles(boston["y"])
    some = np.random.default_rng(0).permutation(len(sarcos["X"]))[:1500]
    yield "SARCOS, quintiles", sarcos["X"][some], quintiles(sarcos["y"][some])


def quintiles(y: np.ndarray) -> np.ndarray:
    """Return the fifth that each target belongs to, 0 to 4."""
    y = y if y.ndim == 1 else y[:, 0]
    return np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))


def methods() -> list[Any]:
    """Return ours and the others, in the order of the columns."""
    import mord
    from skordinal.classifiers import REDSVM

    error = {"scoring": "neg_mean_absolute_error", "cv": 3}
    return [
        SPKMOrdinalClassifier(random_state=0),
        SPKMClassifier(random_state=0),
        SPKMRegressor(random_state=0),
        GridSearchCV(mord.LogisticAT(), {"alpha": [0.01, 0.1, 1.0, 10.0]}, **error),
        GridSearchCV(REDSVM(), {"C": [1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}, **error),
    ]


def compared(X: np.ndarray, y: np.ndarray, n_folds: int) -> tuple[list[float], list[float]]:
    """Return mean absolute errors and accuracies in percent of all methods."""
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))
    errors, hits = [], []
    for k in range(len(COLUMNS) + 1):
        predicted, middle = np.zeros(len(y)), np.zeros(len(y))
        for train, test in folds:
            scaler = StandardScaler().fit(X[train])
            model = methods()[k].fit(scaler.transform(X[train]), y[train])
            new = scaler.transform(X[test])
            predicted[test] = np.clip(np.rint(model.predict(new)), 0, y.max())
            middle[test] = model.predict_median(new) if k == 0 else predicted[test]
        errors.append(float(np.abs(middle - y).mean()))
        hits.append(float(100 * np.mean(predicted == y)))
    return errors, hits


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["ordinal", *sys.argv[1:]])
