"""Defaults on a panel of public tables: two classes, more classes and real targets, halves apart.

Splits of 60/20/20 %, at most 1,500 samples for training. Ours learns from the training part with its defaults; SVC, KRR
and SVR are chosen on the validation part. Rules and constants were chosen on half A and confirmed on half B. Means over
sets come with their standard error; differences are in points of accuracy or R².
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks._data import Settings
from benchmarks._panel import (
    MORE_CLASSES,
    REAL_TARGETS,
    TWO_CLASSES,
    classification_peers,
    halves,
    load,
    regression_peers,
    share_outside,
    split,
    timed_fit,
)
from benchmarks._report import Row, at_least, at_most, progress, standard_error
from spkm import SPKMClassifier, SPKMRegressor

COLUMNS = ("error", "LogReg", "HistGB")
GROUPS = {
    "two classes": (TWO_CLASSES, at_least(0.3)),
    "more classes": (MORE_CLASSES, at_least(0.0)),
}


def run(settings: Settings) -> Iterator[Row]:
    for group, (names, reach) in GROUPS.items():
        for half, members in halves(names):
            yield from classification_rows(settings, group, half, members, reach)
    for half, members in halves(REAL_TARGETS):
        yield from regression_rows(settings, half, members)
    yield from noise_rows(settings)


def classification_rows(settings: Settings, group: str, half: str, names: list[str], reach: Any) -> Iterator[Row]:
    """Yield the figures of one half of the classification sets."""
    found = []
    for name in names[: settings.size(len(names), 1)]:
        X, y = load(settings, name)
        splits = [classes_of_split(X, y, s, settings) for s in range(settings.n_seeds(3))]
        found.append({key: float(np.mean([s[key] for s in splits])) for key in splits[0]})
        progress(f"{name}: " + ", ".join(f"{key} {value:.2f}" for key, value in found[-1].items()))
    of = {key: np.array([f[key] for f in found]) for key in found[0]}
    svc, logistic = of["ours"] - of["SVC"], of["ours"] - of["LogisticRegression"]
    more = (f"± {standard_error(svc):.2f}", f"{logistic.mean():+.2f}", f"{(of['ours'] - of['HistGB']).mean():+.2f}")
    where = f"{group}, half {half}"
    yield Row(f"{where}: accuracy minus tuned SVC, mean", svc.mean(), reach, "{:+.2f}", more)
    worst = names[int(np.argmin(logistic))]
    yield Row(f"{where}: worst against LogReg ({worst})", logistic.min(), at_least(-1.0), "{:+.2f}", ("", "", ""))
    ratio, error = np.exp(of["log ratio"].mean()), standard_error(of["log ratio"])
    yield Row(f"{where}: log loss over calibrated SVC's", ratio, at_most(0.87), more=(f"± {error:.2f}", "", ""))
    yield from of_vectors(where, of, 2.0)


def of_vectors(where: str, of: dict[str, np.ndarray], most: float) -> Iterator[Row]:
    """Yield cancellation, coordinates outside the data and seconds."""
    yield Row(f"{where}: cancellation, median", np.median(of["cancellation"]), at_most(most), "{:.1f}", ("", "", ""))
    yield Row(f"{where}: coordinates outside the data, %", of["outside"].mean(), at_most(0.0), more=("", "", ""))
    yield Row(f"{where}: seconds of a fit, geometric mean", np.exp(np.log(of["seconds"]).mean()), more=("", "", ""))


def classes_of_split(X: np.ndarray, y: np.ndarray, seed: int, settings: Settings) -> dict[str, float]:
    """Return what is measured on one split of a classification set."""
    train, validation, test = split(X, y, seed, classes=True)
    found = classification_peers(train, validation, test, settings.size(1, 6))
    ours = SPKMClassifier(random_state=seed, n_jobs=1)
    found["seconds"] = timed_fit(ours, *train)
    found["ours"] = 100 * ours.score(*test)
    loss = log_loss(test[1], ours.predict_proba(test[0]), labels=ours.classes_)
    found["log ratio"] = float(np.log(loss / found["SVC log loss"]))
    return found | {"cancellation": ours.cancellation_, "outside": share_outside(ours, train[0])}


def regression_rows(settings: Settings, half: str, names: list[str]) -> Iterator[Row]:
    """Yield the figures of one half of the regression sets."""
    found, collapses, fits = [], 0, 0
    for name in names[: settings.size(len(names), 1)]:
        X, y = load(settings, name)
        splits = [reals_of_split(X, y, s, settings) for s in range(settings.n_seeds(3))]
        # The constant model, where a kernel machine has something to say.
        collapses += sum(s["spread"] < 0.1 and s["kernel"] > 25 for s in splits)
        fits += len(splits)
        found.append({key: float(np.mean([s[key] for s in splits])) for key in splits[0]})
        progress(f"{name}: " + ", ".join(f"{key} {value:.2f}" for key, value in found[-1].items()))
    of = {key: np.array([f[key] for f in found]) for key in found[0]}
    kernel, where = of["ours"] - of["kernel"], f"regression, half {half}"
    more = (f"± {standard_error(kernel):.2f}", "", f"{np.median(of['ours'] - of['HistGB']):+.2f}")
    yield Row(f"{where}: R² minus tuned KRR or SVR, median", np.median(kernel), at_least(1.5), "{:+.2f}", more)
    yield Row(f"{where}: collapses in {fits} fits", collapses, at_most(0), "{:.0f}", ("", "", ""))
    yield from of_vectors(where, of, 10.0)


def reals_of_split(X: np.ndarray, y: np.ndarray, seed: int, settings: Settings) -> dict[str, float]:
    """Return what is measured on one split of a regression set."""
    train, validation, test = split(X, y.astype(np.float64), seed, classes=False)
    found = regression_peers(train, validation, test, settings.size(1, 6))
    ours = SPKMRegressor("auto", random_state=seed, n_jobs=1)
    found["seconds"] = timed_fit(ours, *train)
    found["ours"] = 100 * ours.score(*test)
    found["spread"] = float(np.std(ours.predict(test[0])) / np.std(test[1]))
    return found | {"cancellation": ours.cancellation_, "outside": share_outside(ours, train[0])}


def noise_rows(settings: Settings) -> Iterator[Row]:
    """Yield the accuracy where 16 of 20 features are noise."""
    X_test, y_test = four_of_twenty(20_000, 99)
    for n, least in ((2_000, 96.5), (200_000, 97.3), (2_000_000, 97.3)):
        if settings.quick and n > 2_000:
            return
        ours = SPKMClassifier(20, random_state=0)
        seconds = timed_fit(ours, *four_of_twenty(n, 0))
        more = (f"{seconds:.1f} s", "", "")
        yield Row(
            f"4 of 20 features matter, n = {n:,}, accuracy %",
            100 * ours.score(X_test, y_test),
            at_least(least),
            more=more,
        )


def four_of_twenty(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal features and the sign of sin 2x0 + x1 x2 + x3²/2 + noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] ** 2 / 2 + 0.1 * rng.standard_normal(n)
    return X, (f > 0).astype(int)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["panel", *sys.argv[1:]])
