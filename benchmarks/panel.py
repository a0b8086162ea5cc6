"""Defaults on a panel of public tables: two classes, more classes and real targets, halves apart.

Splits of 60/20/20 %, at most 1,500 samples for training. Ours learns from the training part with its defaults; SVC, KRR
and SVR are chosen on the validation part. Rules and constants were chosen on half A and confirmed on half B. Means over
sets come with their standard error, that of a single set with the one over splits; differences are in points of
accuracy or R². `--families` takes "two classes", "more classes", "noise" and "regression".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import panel_classes
from benchmarks._data import Settings
from benchmarks._panel import (
    NOTHING,
    REAL_TARGETS,
    halves,
    load,
    of_vectors,
    regression_peers,
    share_outside,
    split,
    timed_fit,
)
from benchmarks._report import Row, at_least, at_most, progress, standard_error
from spkm import SPKMRegressor

COLUMNS = panel_classes.COLUMNS


def run(settings: Settings) -> Iterator[Row]:
    yield from panel_classes.run(settings)
    for half, members in halves(REAL_TARGETS):
        if settings.half in (None, half) and settings.wants("regression"):
            yield from regression_rows(settings, half, members)


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
        yield row_of_set(f"regression, half {half}, {name}: R² minus tuned KRR or SVR", splits)
    of = {key: np.array([f[key] for f in found]) for key in found[0]}
    kernel, where = of["ours"] - of["kernel"], f"regression, half {half}"
    boosting = f"{np.median(of['ours'] - of['HistGB']):+.2f}"
    more = (f"± {median_error(kernel):.2f}", "", boosting, "", "")
    yield Row(f"{where}: R² minus tuned KRR or SVR, median", np.median(kernel), at_least(1.5), "{:+.2f}", more)
    yield Row(f"{where}: collapses in {fits} fits", collapses, at_most(0), "{:.0f}", NOTHING)
    yield from of_vectors(where, of, 10.0)


def row_of_set(what: str, splits: list[dict[str, float]]) -> Row:
    """Return the mean difference of one set, with its standard error over the splits."""
    kernel, boosting = (np.array([s["ours"] - s[peer] for s in splits]) for peer in ("kernel", "HistGB"))
    error = f"± {standard_error(kernel):.2f}" if len(splits) > 1 else ""
    return Row(what, kernel.mean(), None, "{:+.2f}", (error, "", f"{boosting.mean():+.2f}", "", ""))


def median_error(values: np.ndarray) -> float:
    """Return the standard error of a median of normal values, by their median absolute deviation."""
    deviation = 1.4826 * np.median(np.abs(values - np.median(values)))
    return float(np.sqrt(np.pi / 2) * deviation / np.sqrt(len(values)))


def reals_of_split(X: np.ndarray, y: np.ndarray, seed: int, settings: Settings) -> dict[str, float]:
    """Return what is measured on one split of a regression set."""
    train, validation, test = split(X, y.astype(np.float64), seed, classes=False)
    found = regression_peers(train, validation, test, settings.size(1, 6))
    ours = SPKMRegressor("auto", random_state=seed, n_jobs=1)
    found["seconds"] = timed_fit(ours, *train)
    found["ours"] = 100 * ours.score(*test)
    found["spread"] = float(np.std(ours.predict(test[0])) / np.std(test[1]))
    return found | {"cancellation": ours.cancellation_, "outside": share_outside(ours, train[0])}


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["panel", *sys.argv[1:]])
