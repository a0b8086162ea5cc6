"""Defaults on a panel of public tables of classes, halves apart.

Splits of 60/20/20 %, at most 1,500 samples for training and 500 for validation; then five splits with at most 300 and
100, and up to 2,000 for the test. Ours learns from the training part with its defaults; the SVC
is chosen on the validation part, and so are xRFM's settings where it is installed. Rules and constants were chosen on
half A and confirmed on half B. Means over sets come with their standard error; differences are in points of accuracy.
The temperature is the factor that scores would have to be divided by for the lowest log loss on validation and test
samples. Version 0.1 is ``weight_penalty="rkhs", learn_bandwidth=True`` without linear part and bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

from benchmarks._data import Settings
from benchmarks._panel import (
    MORE_CLASSES,
    NOTHING,
    TWO_CLASSES,
    classification_peers,
    halves,
    load,
    of_vectors,
    share_outside,
    split,
    timed_fit,
)
from benchmarks._report import Row, at_least, at_most, progress, standard_error
from spkm import SPKMClassifier

OTHERS = ("LogisticRegression", "HistGB", "LightGBM", "xRFM")
COLUMNS = ("error", *OTHERS)
GROUPS = {
    "two classes": (TWO_CLASSES, at_least(0.3)),
    "more classes": (MORE_CLASSES, at_least(0.0)),
}
VERSION_0_1: dict[str, Any] = {
    "weight_penalty": "rkhs",
    "learn_bandwidth": True,
    "linear_part": False,
    "basis_bounds": None,
}


FEW = 300  # training samples of the second part, where the test has more samples


def run(settings: Settings) -> Iterator[Row]:
    for few in (None, FEW):
        for group, (names, reach) in GROUPS.items():
            title = group if few is None else f"{group}, {few} samples"
            for half, members in halves(names):
                if settings.half in (None, half) and settings.wants(title):
                    yield from classification_rows(settings, title, half, members, reach, few)
    if settings.wants("noise"):
        yield from noise_rows(settings)


def classification_rows(
    settings: Settings, group: str, half: str, names: list[str], reach: Any, few: int | None = None
) -> Iterator[Row]:
    """Yield the figures of one half of the sets."""
    found = []
    for name in names[: settings.size(len(names), 1)]:
        X, y = load(settings, name)
        seeds = range(settings.n_seeds(3 if few is None else 5))
        splits = [classes_of_split(X, y, s, settings, few) for s in seeds]
        found.append({key: float(np.mean([s[key] for s in splits])) for key in splits[0]})
        progress(f"{name}: " + ", ".join(f"{key} {value:.2f}" for key, value in found[-1].items()))
    of = {key: np.array([f[key] for f in found]) for key in found[0]}
    where, svc = f"{group}, half {half}", of["ours"] - of["SVC"]
    beside = (f"{(of['ours'] - of[peer]).mean():+.2f}" if peer in of else "" for peer in OTHERS)
    more = (f"± {standard_error(svc):.2f}", *beside)
    yield Row(f"{where}: accuracy minus tuned SVC, mean", svc.mean(), reach, "{:+.2f}", more)
    logistic = of["ours"] - of["LogisticRegression"]
    worst = f"{where}: worst against LogReg ({names[int(np.argmin(logistic))]})"
    yield Row(worst, logistic.min(), at_least(-1.0), "{:+.2f}", NOTHING)
    ratio, error = np.exp(of["log ratio"].mean()), standard_error(of["log ratio"])
    yield Row(f"{where}: log loss over calibrated SVC's", ratio, at_most(0.87), more=(f"± {error:.2f}", *NOTHING[1:]))
    yield Row(f"{where}: temperature, median", np.exp(np.median(of["log temperature"])), more=NOTHING)
    before, error = of["ours"] - of["version 0.1"], standard_error(of["ours"] - of["version 0.1"])
    yield Row(
        f"{where}: accuracy minus version 0.1's", before.mean(), None, "{:+.2f}", (f"± {error:.2f}", *NOTHING[1:])
    )
    slower = np.exp(np.median(of["log slower"]))
    yield Row(f"{where}: time over version 0.1's, median", slower, at_most(3.0), "{:.1f}", NOTHING)
    yield from of_vectors(where, of, 2.0)


def classes_of_split(
    X: np.ndarray, y: np.ndarray, seed: int, settings: Settings, few: int | None = None
) -> dict[str, float]:
    """Return what is measured on one split of a set."""
    train, validation, test = split(X, y, seed, classes=True, few=few)
    found = classification_peers(train, validation, test, settings.size(1, 6))
    ours = SPKMClassifier(random_state=seed, n_jobs=1)
    found["seconds"] = timed_fit(ours, *train)
    found["ours"] = 100 * ours.score(*test)
    loss = log_loss(test[1], ours.predict_proba(test[0]), labels=ours.classes_)
    found["log ratio"] = float(np.log(loss / found["SVC log loss"]))
    X_new, y_new = (np.concatenate(parts) for parts in zip(validation, test, strict=True))
    found["log temperature"] = log_temperature(ours.predict_proba(X_new), np.searchsorted(ours.classes_, y_new))
    before = SPKMClassifier(random_state=seed, n_jobs=1, **VERSION_0_1)
    found["log slower"] = float(np.log(found["seconds"] / timed_fit(before, *train)))
    found["version 0.1"] = 100 * before.score(*test)
    return found | {"cancellation": ours.cancellation_, "outside": share_outside(ours, train[0])}


def log_temperature(probabilities: np.ndarray, codes: np.ndarray) -> float:
    """Return the log of what scores would be divided by for the lowest log loss, within a factor of 20."""
    scores = np.log(np.maximum(probabilities, 1e-300))

    def loss(log_t: float) -> float:
        Z = scores / np.exp(log_t)
        Z = Z - Z.max(axis=1, keepdims=True)
        return float(np.mean(np.log(np.exp(Z).sum(axis=1)) - Z[np.arange(len(codes)), codes]))

    return float(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x)


def noise_rows(settings: Settings) -> Iterator[Row]:
    """Yield the accuracy where 16 of 20 features are noise."""
    X_test, y_test = four_of_twenty(20_000, 99)
    for n, least in ((2_000, 96.5), (200_000, 97.3), (2_000_000, 97.3)):
        if settings.quick and n > 2_000:
            return
        ours = SPKMClassifier(20, random_state=0)
        seconds = timed_fit(ours, *four_of_twenty(n, 0))
        accuracy = 100 * ours.score(X_test, y_test)
        more = (f"{seconds:.1f} s", *NOTHING[1:])
        yield Row(f"4 of 20 features matter, n = {n:,}, accuracy %", accuracy, at_least(least), more=more)


def four_of_twenty(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal features and the sign of sin 2x0 + x1 x2 + x3²/2 + noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] ** 2 / 2 + 0.1 * rng.standard_normal(n)
    return X, (f > 0).astype(int)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["panel_classes", *sys.argv[1:]])
