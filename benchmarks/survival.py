"""Censored times: concordance, integrated Brier score and time-dependent AUC on new samples; mean ranks on ten sets.

Sets are those in the wheels of scikit-survival and lifelines. Categories become indicators; columns with more than a
fifth missing and samples with missing entries are left out; at most 1,000 samples are drawn. Ours is ``SPKMSurvival``
with its defaults (at most 10 vectors), beside scikit-survival's CoxPHSurvivalAnalysis (ridge, alpha 1),
CoxnetSurvivalAnalysis (l1 ratio 0.9, alpha by two inner folds), RandomSurvivalForest (100 trees, leaves of at
least 10) and GradientBoostingSurvivalAnalysis (100 trees). Columns are standardised for all. Five repeats of five
folds; Harrell's concordance, and of scikit-survival the Brier score (weighted by the inverse probability of censoring,
mean over times from the first to the ninth decile of events) and the cumulative AUC at the same times. Kaplan-Meier's
curve, the same for all samples, is the Brier score of no features. Ranks are those of the five methods on a set, 1 the
best; measured is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks._data import MissingData, Settings
from benchmarks._report import Row, progress
from spkm import SPKMSurvival
from spkm.losses import concordance

COLUMNS = ("ridge Cox", "Coxnet", "forest", "boosting", "Kaplan-Meier")
KINDS = ("concordance", "Brier score", "AUC")
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
        found = compared(X, event, time, (2, 1) if settings.quick else (5, 5))
        progress(f"{name}: {found.round(3).tolist()}")
        every.append(found)
        what = f"{name}, {X.shape[0]} samples, {X.shape[1]} features"
        for kind, values in zip(KINDS, found, strict=True):
            more = tuple("" if np.isnan(value) else f"{value:.3f}" for value in values[1:])
            yield Row(f"{what}, {kind}", values[0], form="{:.3f}", more=more)
    for k, kind in enumerate(KINDS):
        values = np.array([found[k, :-1] for found in every])
        mean = rankdata(values if kind == "Brier score" else -values, axis=1).mean(axis=0)
        more = (*(f"{rank:.2f}" for rank in mean[1:]), "")
        yield Row(f"mean rank, {kind}", mean[0], form="{:.2f}", more=more)


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

    coxnet = CoxnetSurvivalAnalysis(l1_ratio=0.9, fit_baseline_model=True)
    return [
        SPKMSurvival(random_state=0),
        CoxPHSurvivalAnalysis(alpha=1.0),
        GridSearchCV(coxnet, {"alphas": [[0.1], [0.03], [0.01], [0.003]]}, cv=2, error_score=0.5),
        RandomSurvivalForest(100, min_samples_leaf=10, random_state=0),
        GradientBoostingSurvivalAnalysis(random_state=0),
    ]


def compared(X: np.ndarray, event: np.ndarray, time: np.ndarray, folds: tuple[int, int]) -> np.ndarray:
    """Return mean concordance, Brier score and AUC of all methods and of Kaplan-Meier, (3, 6)."""
    y = np.rec.fromarrays([event, time], names="event,time")
    splits = RepeatedKFold(n_splits=folds[0], n_repeats=folds[1], random_state=0).split(X)
    return np.mean([_of_split(X, y, train, test) for train, test in splits], axis=0)


def _of_split(X: np.ndarray, y: Any, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    from sksurv.metrics import cumulative_dynamic_auc, integrated_brier_score
    from sksurv.nonparametric import kaplan_meier_estimator

    scaler = StandardScaler().fit(X[train])
    X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    before, new = _plain(y[train]), _plain(y[test])
    times = _times(before, new)
    # What happens after the last time that is judged does not count: weights there may be infinite.
    late = new["time"] > times[-1]
    judged = new.copy()
    judged["event"][late], judged["time"][late] = False, np.nextafter(times[-1], np.inf)
    found = np.full((len(KINDS), len(COLUMNS) + 1), np.nan)
    for k, model in enumerate(methods()):
        risk = model.fit(X_train, before).predict(X_test)
        found[0, k] = concordance(new["time"], new["event"], risk)
        found[1, k] = integrated_brier_score(before, judged, _curves(model, X_test, times), times)
        found[2, k] = cumulative_dynamic_auc(before, judged, risk, times)[1]
    steps, survival = kaplan_meier_estimator(before["event"], before["time"])
    one = np.concatenate([[1.0], survival])[np.searchsorted(steps, times, side="right")]
    found[1, -1] = integrated_brier_score(before, judged, np.tile(one, (len(test), 1)), times)
    return found


def _plain(y: Any) -> np.ndarray:
    return np.array(list(zip(y.event, y.time, strict=True)), dtype=[("event", bool), ("time", float)])


def _times(before: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return 30 times from the first to the ninth decile of events, with new samples before and after all of them."""
    low, high = np.quantile(before["time"][before["event"]], [0.1, 0.9])
    low = max(low, new["time"][new["event"]].min())
    high = min(high, np.nextafter(new["time"].max(), 0.0))
    return np.linspace(low, high, 30)


def _curves(model: Any, X: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the probability of no event until given times, (n, n_times)."""
    if isinstance(model, SPKMSurvival):
        return model.predict_survival_function(X, times)
    found = model if not isinstance(model, GridSearchCV) else model.best_estimator_
    return np.array([curve(np.clip(times, *curve.domain)) for curve in found.predict_survival_function(X)])


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["survival", *sys.argv[1:]])
