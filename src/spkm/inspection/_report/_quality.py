"""How good a model is on samples: metrics with intervals, tables, figures beside those of simple models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spkm._arrays import label_places
from spkm.inspection._intervals import (
    FEWEST,
    LEVEL_TEXT,
    NONE,
    Interval,
    area_interval,
    area_under_curve,
    mean_difference,
    mean_share_interval,
    resampled_interval,
    share_difference,
    share_interval,
)
from spkm.inspection._reading import Reading
from spkm.inspection._report._samples import Samples, dense_rows, rounded

BINS = 10  # of equal size, of a calibration curve: as in scikit-learn
MOST_CLASSES = 60  # of a confusion matrix
MOST = 20_000  # samples that resampled intervals are made from; those of more are narrow enough

Metric = Callable[[np.ndarray], float]
MOST_ENTRIES = 1e7  # of the samples that a linear model is fitted on
MOST_ROWS = 5000  # that it is fitted on, and judged on
PAIRS = 1500  # of these, where rows are pairs of wide tables


def quality(samples: Samples, outputs: list[str], seed: int) -> dict[str, Any] | None:
    """Return metrics and tables of a model's scores beside the targets, by output; None without targets."""
    reading, scores, y = samples.reading, samples.scores, samples.y
    if y is None:
        return None
    if reading.labels is None:
        return _of_numbers(reading, outputs, scores, y, seed)
    if np.ndim(y) == 2:
        return _of_labels(reading, outputs, scores, y)
    return _of_classes(reading, scores, y, seed)


def main_score(reading: Reading, scores: np.ndarray, y: np.ndarray) -> float:
    """Return accuracy, or R2 as a mean over outputs."""
    predicted = reading.decide(scores)
    if reading.labels is not None:
        right = predicted == np.asarray(y)
        return float(np.mean(right if right.ndim == 1 else right.all(axis=1)))
    spread = np.square(y - np.mean(y, axis=0)).sum(axis=0)
    return float(np.mean(1 - np.square(y - predicted).sum(axis=0) / np.where(spread > 0, spread, 1.0)))


def _metric(name: str, value: float, interval: Interval, better: str = "higher") -> dict[str, Any]:
    low, high = interval
    return {"name": name, "value": rounded(value), "low": rounded(low), "high": rounded(high), "better": better}


def resampled(name: str, metric: Metric, n: int, seed: int, better: str) -> dict[str, Any]:
    """Return a metric on all samples, with a bootstrap interval where that is sound."""
    interval = resampled_interval(metric, n, seed) if n <= MOST else (np.nan, np.nan)
    return _metric(name, metric(np.arange(n)), interval, better)


def metric_of_mean(name: str, each: np.ndarray, seed: int, better: str) -> dict[str, Any]:
    """Return a metric that is the mean of values of the samples, (n,)."""
    return resampled(name, lambda rows: float(each[rows].mean()), len(each), seed, better)


def note_of(n: int) -> str:
    """Return how the intervals were made."""
    text = f"{LEVEL_TEXT} intervals for other samples of the same kind, the model as it is"
    if n < FEWEST:
        text += f"; below {FEWEST} samples shares and areas alone have one"
    return text if n <= MOST else text + f"; above {MOST:,} samples only where a formula gives them"


def _of_classes(reading: Reading, scores: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    labels = reading.labels
    assert labels is not None
    codes, predicted = (label_places(labels, own) for own in (y, reading.decide(scores)))
    right = predicted == codes
    counts = np.bincount(codes, minlength=len(labels))
    hits = np.bincount(codes, right, minlength=len(labels))
    metrics = [
        _metric("accuracy", float(right.mean()), share_interval(int(right.sum()), len(right))),
        _metric(
            "balanced accuracy",
            float(np.mean((hits / np.maximum(counts, 1))[counts > 0])),
            mean_share_interval(hits, counts),
        ),
    ]
    if reading.model.target.task == "ordered":
        apart = np.abs(predicted - codes).astype(float)
        metrics.insert(1, metric_of_mean("mean absolute error in classes", apart, seed, "lower"))
    P = reading.probabilities(scores)
    if P is not None:
        loss = -np.log(np.maximum(P[np.arange(len(codes)), codes], 1e-15))
        metrics.append(metric_of_mean("log loss", loss, seed, "lower"))
    if len(labels) == 2:
        area = area_under_curve(scores[:, 0], codes == 1)
        metrics.append(_metric("area under ROC", area, area_interval(area, int(counts[1]), int(counts[0]))))
    confusion = None
    if len(labels) <= MOST_CLASSES:
        confusion = np.zeros((len(labels), len(labels)), dtype=int)
        np.add.at(confusion, (codes, predicted), 1)
    return {
        "n": len(codes),
        "metrics": metrics,
        "note": note_of(len(codes)),
        "baseline": {"name": "accuracy of always the most common class", "value": rounded(counts.max() / counts.sum())},
        "confusion": None if confusion is None else confusion.tolist(),
        "calibration": None if P is None else _calibration(P, codes, right),
    }


def _calibration(P: np.ndarray, codes: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """Return how often what has a probability happens: of the second class of two, else of the class predicted."""
    two = P.shape[1] == 2
    confidence, happened = (P[:, 1], codes == 1) if two else (P.max(axis=1), right)
    order = np.argsort(confidence, kind="stable")
    bins = []
    for part in np.array_split(order, min(BINS, len(order))):
        hits, n = int(happened[part].sum()), len(part)
        bins.append([*rounded([confidence[part].mean(), hits / n, *share_interval(hits, n)]), n])
    error = sum(n * abs(p - q) for p, q, _, _, n in bins) / len(order)
    return {"of": "second class" if two else "predicted class", "bins": bins, "error": rounded(error)}


def calibration_error(P: np.ndarray, codes: np.ndarray, right: np.ndarray) -> float:
    """Return how far probabilities are from shares that happened, on average over tenths of the samples."""
    return float(_calibration(P, codes, right)["error"])


def _of_labels(reading: Reading, names: list[str], scores: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    predicted = reading.decide(scores)
    rows = []
    for k in range(y.shape[1]):
        hits = int(((predicted[:, k] == 1) & (y[:, k] == 1)).sum())
        rows.append(
            {
                "name": names[k],
                "share": rounded(y[:, k].mean()),
                "accuracy": rounded((predicted[:, k] == y[:, k]).mean()),
                "precision": rounded(hits / max(1, int(predicted[:, k].sum()))),
                "recall": rounded(hits / max(1, int(y[:, k].sum()))),
            }
        )
    right = int(np.all(predicted == y, axis=1).sum())
    metric = _metric("all labels right", right / len(y), share_interval(right, len(y)))
    return {"n": len(y), "metrics": [metric], "note": note_of(len(y)), "labels": rows}


def _of_numbers(reading: Reading, names: list[str], scores: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    predicted = np.reshape(reading.decide(scores), (len(y), -1))
    Y = np.reshape(np.asarray(y, dtype=np.float64), (len(y), -1))
    outputs = []
    for o, name in enumerate(names):
        error, target = Y[:, o] - predicted[:, o], Y[:, o]
        metrics = [
            resampled("R²", partial(r2, Y[:, [o]], predicted[:, [o]]), len(Y), seed, "higher"),
            resampled("root mean squared error", partial(_root_mean_square, error), len(Y), seed, "lower"),
            resampled("mean absolute error", partial(_mean_size, error), len(Y), seed, "lower"),
        ]
        outputs.append(
            {
                "name": name,
                "metrics": metrics,
                "baseline": {"name": "standard deviation of the target", "value": rounded(target.std())},
                "residuals": _residuals(predicted[:, o], error),
            }
        )
    first = outputs[0]
    shared = {"metrics": first["metrics"], "baseline": first["baseline"], "note": note_of(len(Y))}
    return {"n": len(Y), **shared, "outputs": outputs}


def r2(truth: np.ndarray, predicted: np.ndarray, rows: np.ndarray) -> float:
    """Return the mean over outputs of the share of the variance that is explained; NaN if one does not vary."""
    spread = np.square(truth[rows] - truth[rows].mean(axis=0)).sum(axis=0)
    errors = np.square(truth[rows] - predicted[rows]).sum(axis=0)
    return float(np.mean(1 - errors / spread)) if (spread > 0).all() else float("nan")


def _root_mean_square(error: np.ndarray, rows: np.ndarray) -> float:
    return float(np.sqrt(np.square(error[rows]).mean()))


def _mean_size(error: np.ndarray, rows: np.ndarray) -> float:
    return float(np.abs(error[rows]).mean())


def _residuals(predicted: np.ndarray, error: np.ndarray) -> list[list[Any]]:
    """Return for tenths of the samples by prediction: its mean, the 10, 50 and 90 % points of errors, how many."""
    order = np.argsort(predicted, kind="stable")
    rows = []
    for part in np.array_split(order, min(BINS, len(order))):
        points = np.percentile(error[part], [10, 50, 90])
        rows.append([rounded(predicted[part].mean()), *rounded(points), len(part)])
    return rows


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


def compared(samples: Samples, seed: int) -> Comparison | None:
    """Return the model beside simple ones; None without targets."""
    reading, y, train = samples.reading, samples.y, samples.known
    if y is None or len(y) == 0:
        return None
    own = reading.decide(samples.scores)
    others: dict[str, Difference] = {}
    if train is not None and np.ndim(y) == 1:
        others = _linear_models(reading, samples.table, own, y, train)
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
    metric = partial(r2, truth, predicted)
    return metric(np.arange(len(y))), *(resampled_interval(metric, len(y), seed) if len(y) <= MOST else NONE)


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
