"""The model beside simple ones on the same samples: a constant, a linear model, the features that a test picks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.inspection._intervals import LEVEL_TEXT, mean_difference, resampled_interval, share_difference, share_interval
from spkm.inspection._reading import Reading
from spkm.inspection._report._rows import dense_rows, rounded

MOST_ENTRIES = 1e7  # of the samples that a linear model is fitted on
MOST_ROWS = 5000  # that it is fitted on, and judged on
PAIRS = 1500  # of these, where rows are pairs of wide tables


@dataclass(frozen=True)
class Difference:
    """How much better the model is than another one on the same samples.

    Attributes
    ----------
    name, short : str
        The other model, in a sentence and beside a dot.
    value : float
        Accuracy or R² of the other one.
    own : float
        That of the model on these samples.
    low, high : float
        Ends of the interval of the difference.
    text : str
        All of it in a sentence without its full stop.
    """

    name: str
    short: str
    value: float
    own: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Comparison:
    """The model beside a constant, and beside a linear model and one of as few features where there are such.

    Attributes
    ----------
    measure : str
        "accuracy" or "R²".
    own : tuple of float
        The model's figure and the ends of its interval.
    constant : Difference
        Beside the most common class, or the mean.
    others : dict from "linear" and "as few" to Difference
        Beside the others.
    """

    measure: str
    own: tuple[float, float, float]
    constant: Difference
    others: dict[str, Difference]

    def facts(self) -> dict[str, Any]:
        """Return the figures as plain data, the model's first."""
        rows: list[list[Any]] = [["this model", *rounded(self.own)]]
        rows += [[one.short, rounded(one.value), None, None] for one in (*self.others.values(), self.constant)]
        return {"measure": self.measure, "rows": rows}


def compared(
    reading: Reading, table: Any, scores: np.ndarray, y: np.ndarray | None, train: Any, seed: int
) -> Comparison | None:
    """Return the model beside simple ones; None without targets."""
    if y is None or len(y) == 0:
        return None
    own = reading.decide(scores)
    others: dict[str, Difference] = {}
    if train is not None and np.ndim(y) == 1:
        others = _linear_models(reading, table, own, y, train)
    flat = np.reshape(y, (len(y), -1))
    if reading.labels is None:
        constant = np.broadcast_to(flat.mean(axis=0), flat.shape)
    else:
        constant = np.broadcast_to(Counter(map(tuple, flat.tolist())).most_common(1)[0][0], flat.shape)
    beside = difference(reading, y, own, constant, "a constant prediction", "constant")
    return Comparison("R²" if reading.labels is None else "accuracy", _own(reading, y, own, seed), beside, others)


def _own(reading: Reading, y: np.ndarray, own: Any, seed: int) -> tuple[float, float, float]:
    """Return accuracy or R² with its interval."""
    truth, predicted = (np.reshape(part, (len(y), -1)) for part in (y, own))
    if reading.labels is not None:
        right = (truth == predicted).all(axis=1)
        return float(right.mean()), *share_interval(int(right.sum()), len(right))

    def r2(rows: np.ndarray) -> float:
        spread = np.square(truth[rows] - truth[rows].mean(axis=0)).sum(axis=0)
        errors = np.square(truth[rows] - predicted[rows]).sum(axis=0)
        return float(np.mean(1 - errors / spread)) if (spread > 0).all() else float("nan")

    few = len(y) <= 20_000
    return r2(np.arange(len(y))), *(resampled_interval(r2, len(y), seed) if few else (np.nan, np.nan))


def difference(reading: Reading, y: np.ndarray, own: Any, other: Any, name: str, short: str) -> Difference:
    """Return how two predictions of the same samples differ in quality, with an interval."""
    truth, own, other = (np.reshape(part, (len(y), -1)) for part in (y, own, other))
    if reading.labels is None:
        spread = np.square(truth - truth.mean(axis=0)).mean(axis=0)
        errors = [(np.square(truth - part) / np.where(spread > 0, spread, 1.0)).mean(axis=1) for part in (other, own)]
        measure, (apart, low, high) = "R²", mean_difference(*errors)
        figures = [round(1 - float(error.mean()), 12) + 0.0 for error in reversed(errors)]  # no -2e-16 of a constant
    else:
        right = [(truth == part).all(axis=1) for part in (own, other)]
        measure, (apart, low, high) = "accuracy", share_difference(*right)
        figures = [float(part.mean()) for part in right]
    text = (
        f"{measure} {figures[0]:.3f}; {name} has {figures[1]:.3f}. Difference {apart:+.3f}, "
        f"{LEVEL_TEXT} interval {low:+.3f} to {high:+.3f} over {len(y)} samples"
    )
    return Difference(name, short, figures[1], figures[0], low, high, text)


def _linear_models(reading: Reading, table: Any, own: Any, y: np.ndarray, train: Any) -> dict[str, Difference]:
    """Return comparisons with linear models of the same training samples: of all features, and of as few."""
    from sklearn.feature_selection import SelectKBest, f_classif, f_regression
    from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    columns, n = np.arange(len(reading.names)), train[0].shape[0]
    most = PAIRS if reading.is_pairs else MOST_ROWS
    rows = np.arange(0, n, max(1, -(-n // most)))
    if len(rows) * len(columns) > MOST_ENTRIES or len(reading.read) == 0:
        return {}
    known, targets = dense_rows(train[0], rows, columns), train[1][rows]
    test = np.arange(0, table.shape[0], max(1, -(-table.shape[0] // most)))
    given = dense_rows(table, test, columns)
    if reading.labels is not None:
        if len(np.unique(targets)) < 2:
            return {}
        step: Any = LogisticRegression(max_iter=300, tol=1e-3)
    else:
        wide = reading.is_pairs
        step = Ridge(alpha=len(rows) / 100) if wide else RidgeCV(alphas=np.logspace(-3, 3, 7))
    models = {
        "linear": ("a linear model of the same training samples", "linear model", make_pipeline(StandardScaler(), step))
    }
    few = len(reading.read)
    if few <= len(columns) // 2:
        test_of = f_regression if reading.labels is None else f_classif
        name = f"a linear model of {few} feature{'s' * (few != 1)} that a univariate test picks"
        short = f"linear, {few} by a test"
        models["as few"] = (name, short, make_pipeline(SelectKBest(_quiet(test_of), k=few), StandardScaler(), step))
    found = {}
    for key, (name, short, model) in models.items():
        predicted = model.fit(known, targets).predict(given)
        found[key] = difference(reading, y[test], np.asarray(own)[test], predicted, name, short)
    return found


def _quiet(test: Any) -> Any:
    """Return a univariate test that finds nothing, without a warning, in features that are constant."""

    def scores(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        usable = np.ptp(X, axis=0) > 0
        found = np.zeros(X.shape[1]), np.ones(X.shape[1])
        with np.errstate(all="ignore"):
            for part, values in zip(found, test(X[:, usable], y), strict=True):
                part[usable] = np.nan_to_num(values, nan=0.0, posinf=1e300)
        return found

    return scores
