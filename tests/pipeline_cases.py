"""Fitted pipelines of our own steps, and rows of mixed tables for them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMNystroem, SPKMRegressor, SPKMSelector, TableEncoder

QUICK = {"n_basis": 3, "weight_penalty": "rkhs", "tol": 1e-2, "random_state": 0}


def mixed(n: int = 150, seed: int = 0) -> pd.DataFrame:
    """Return a frame of every kind of column with missing values, rare levels, and names that are no code."""
    rng = np.random.default_rng(seed)
    work = rng.choice(["private", "state's", 'self "own"', "café"], n, p=[0.5, 0.3, 0.18, 0.02]).astype(object)
    work[rng.random(n) < 0.1] = None
    age = np.round(rng.normal(40, 10, n), 1)
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "work; DROP": work,
            "hours": rng.integers(10, 60, n),
            "member": rng.random(n) < 0.4,
            "region": rng.choice([1, 2, 30], n),
            "planet": "earth",
        }
    )


def unseen() -> pd.DataFrame:
    """Return rows with what the fit never saw: new levels, and missing values where there were none."""
    rows = mixed(30, seed=1)
    rows["hours"] = rows["hours"].astype(float)
    rows["region"] = rows["region"].astype(object)
    rows["member"] = rows["member"].astype(object)
    rows["work; DROP"] = rows["work; DROP"].astype(object)
    rows.loc[0, "work; DROP"] = "unheard of"
    rows.loc[1, "hours"] = np.nan
    rows.loc[2, "region"] = None
    rows.loc[3, "member"] = None
    rows.loc[4, "region"] = 7
    return rows


def targets(frame: pd.DataFrame) -> np.ndarray:
    """Return numbers that depend on a few of the columns."""
    age = frame["age"].fillna(40.0).to_numpy(dtype=float)
    private = (frame["work; DROP"] == "private").to_numpy(dtype=float)
    return np.sin(age / 8) + private * frame["member"].to_numpy(dtype=float) + 0.02 * frame["hours"].to_numpy()


def encoder(**options) -> TableEncoder:
    return TableEncoder(categorical=["region"], **options)


def _makers():
    X = mixed()
    y = targets(X)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.4, 0.7]))]
    strict = SPKMClassifier(kernel="linear", selection="strict", **QUICK)
    yield "classes", lambda: make_pipeline(encoder(), SPKMClassifier(**QUICK)).fit(X, y > 0.7)
    yield "three classes", lambda: make_pipeline(encoder(), SPKMClassifier(**QUICK)).fit(X, labels)
    yield "rest", lambda: make_pipeline(encoder(), SPKMClassifier(multi_class="ovr", **QUICK)).fit(X, labels)
    yield "numbers", lambda: make_pipeline(encoder(), SPKMRegressor(**QUICK)).fit(X, y)
    yield "sparse", lambda: make_pipeline(encoder(sparse=True), SPKMRegressor(**QUICK)).fit(X, y)
    named = make_pipeline(encoder(), "passthrough", SPKMSelector(strict), SPKMClassifier(**QUICK))
    yield "selector, frames", lambda: named.set_output(transform="pandas").fit(X, y > 0.7)


MAKERS = dict(_makers())


@cache
def fitted(name: str):
    """Return the fitted pipeline of a name."""
    return MAKERS[name]()


@cache
def selector_alone():
    """Return a pipeline of a selector and a model, and samples."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    strict = SPKMRegressor(kernel="linear", selection="strict", **QUICK)
    y = X[:, 1] - 2 * X[:, 3] + 0.1 * rng.standard_normal(120)
    return make_pipeline(SPKMSelector(strict), SPKMRegressor(**QUICK)).fit(X, y), X


@cache
def landmarks():
    """Return a pipeline that transforms: no export has it."""
    X = mixed()
    return make_pipeline(encoder(), SPKMNystroem(4, random_state=0), SPKMRegressor(**QUICK)).fit(X, targets(X))
