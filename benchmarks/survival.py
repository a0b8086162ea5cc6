"""Censored times: Harrell's concordance on new samples, three folds, and mean ranks over ten sets.

Sets are those in the wheels of scikit-survival and lifelines. Categories become indicators; columns with more than a
fifth missing and samples with missing entries are left out; at most 1,000 samples are drawn. Ours is ``SPKMSurvival``
with its defaults (at most 10 vectors), beside scikit-survival's CoxPHSurvivalAnalysis (ridge, alpha 1),
CoxnetSurvivalAnalysis (l1 ratio 0.9, alpha by two inner folds), RandomSurvivalForest (100 trees, leaves of at
least 10) and GradientBoostingSurvivalAnalysis (100 trees). Columns are
standardised for all. Ranks are those of the five methods on a set, 1 the best; measured is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler

from benchmarks._data import MissingData, Settings
from benchmarks._report import Row, progress
from spkm import SPKMSurvival
from spkm.losses import concordance

COLUMNS = ("ridge Cox", "Coxnet", "forest", "boosting")
SKSURV = ("gbsg2", "whas500", "veterans_lung_cancer", "breast_cancer", "aids", "flchain")
LIFELINES = {
    "rossi": ("week", "arrest"),
    "lung": ("time", "status"),
    "larynx": ("time", "death"),
    "kidney_transplant": ("time", "death"),
}
MOST_ROWS = 1000


def run(settings: Settings) -> Iterator[Row]:
    if find_spec("sksurv") is None or find_spec("lifelines") is None:
        raise MissingData("needs the packages scikit-survival and lifelines.")
    every = []
    for name, X, event, time in sets():
        if settings.quick:
            X, event, time = X[:120], event[:120], time[:120]
        found = compared(X, event, time, 2 if settings.quick else 3)
        progress(f"{name}: {found}")
        every.append(found)
        what = f"{name}, {X.shape[0]} samples, {X.shape[1]} features"
        yield Row(what, found[0], form="{:.3f}", more=tuple(f"{c:.3f}" for c in found[1:]))
    mean = rankdata(-np.array(every), axis=1).mean(axis=0)
    yield Row("mean rank", mean[0], form="{:.2f}", more=tuple(f"{r:.2f}" for r in mean[1:]))


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield name, samples, events and times of each set."""
    import lifelines.datasets
    import sksurv.datasets

    for name in SKSURV:
        frame, y = getattr(sksurv.datasets, f"load_{name}")()
        event, time = (np.asarray(y[field]) for field in y.dtype.names)
        yield name, *_numbers(frame, event.astype(bool), time)
    for name, (time, event) in LIFELINES.items():
        frame = getattr(lifelines.datasets, f"load_{name}")()
        status = frame[event].to_numpy()
        yield name, *_numbers(frame.drop(columns=[time, event]), status == status.max(), frame[time].to_numpy())


def _numbers(frame: Any, event: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    import pandas as pd

    frame = frame.loc[:, frame.notna().mean() > 0.8]  # flchain's chapter, a cause of death, is there for events alone
    kept = np.flatnonzero(frame.notna().all(axis=1) & np.isfinite(time))
    if len(kept) > MOST_ROWS:
        kept = np.sort(np.random.default_rng(0).choice(kept, size=MOST_ROWS, replace=False))
    X = pd.get_dummies(frame.iloc[kept], drop_first=True).to_numpy(dtype=float)
    return X[:, X.std(axis=0) > 0], event[kept], np.asarray(time, dtype=float)[kept]


def methods() -> list[Any]:
    """Return ours and the others, in the order of the columns."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis, RandomSurvivalForest
    from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis

    coxnet = CoxnetSurvivalAnalysis(l1_ratio=0.9, fit_baseline_model=False)
    return [
        SPKMSurvival(random_state=0),
        CoxPHSurvivalAnalysis(alpha=1.0),
        GridSearchCV(coxnet, {"alphas": [[0.1], [0.03], [0.01], [0.003]]}, cv=2, error_score=0.5),
        RandomSurvivalForest(100, min_samples_leaf=10, random_state=0),
        GradientBoostingSurvivalAnalysis(random_state=0),
    ]


def compared(X: np.ndarray, event: np.ndarray, time: np.ndarray, n_folds: int) -> list[float]:
    """Return the mean concordance of all methods."""
    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    found = []
    for train, test in KFold(n_folds, shuffle=True, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        fits = [model.fit(scaler.transform(X[train]), y[train]) for model in methods()]
        found.append([concordance(time[test], event[test], m.predict(scaler.transform(X[test]))) for m in fits])
    return np.mean(found, axis=0).tolist()


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["survival", *sys.argv[1:]])
