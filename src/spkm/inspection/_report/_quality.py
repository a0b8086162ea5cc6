"""How good a model is on samples: metrics with intervals, confusion, calibration, residuals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from spkm._arrays import label_places
from spkm.inspection._intervals import (
    FEWEST,
    LEVEL_TEXT,
    Interval,
    area_interval,
    area_under_curve,
    mean_share_interval,
    resampled_interval,
    share_interval,
)
from spkm.inspection._reading import Reading
from spkm.inspection._report._rows import rounded

BINS = 10  # of equal size, of a calibration curve: as in scikit-learn
MOST_CLASSES = 60  # of a confusion matrix
MOST = 20_000  # samples that resampled intervals are made from; those of more are narrow enough

Metric = Callable[[np.ndarray], float]


def quality(reading: Reading, scores: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    """Return metrics and tables of a model's scores (n, m) beside the targets."""
    if reading.labels is None:
        return _of_numbers(reading, scores, y, seed)
    if np.ndim(y) == 2:
        return _of_labels(reading, scores, y)
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


def _of_labels(reading: Reading, scores: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    predicted = reading.decide(scores)
    rows = []
    for k in range(y.shape[1]):
        hits = int(((predicted[:, k] == 1) & (y[:, k] == 1)).sum())
        rows.append(
            {
                "name": str(k),
                "share": rounded(y[:, k].mean()),
                "accuracy": rounded((predicted[:, k] == y[:, k]).mean()),
                "precision": rounded(hits / max(1, int(predicted[:, k].sum()))),
                "recall": rounded(hits / max(1, int(y[:, k].sum()))),
            }
        )
    right = int(np.all(predicted == y, axis=1).sum())
    metric = _metric("all labels right", right / len(y), share_interval(right, len(y)))
    return {"n": len(y), "metrics": [metric], "note": note_of(len(y)), "labels": rows}


def _of_numbers(reading: Reading, scores: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    predicted = np.reshape(reading.decide(scores), (len(y), -1))
    Y = np.reshape(np.asarray(y, dtype=np.float64), (len(y), -1))
    outputs = []
    for o, name in enumerate(reading.outputs):
        error, target = Y[:, o] - predicted[:, o], Y[:, o]

        def r2(rows: np.ndarray, error: np.ndarray = error, target: np.ndarray = target) -> float:
            spread = np.square(target[rows] - target[rows].mean()).sum()
            return float(1 - np.square(error[rows]).sum() / spread) if spread > 0 else float("nan")

        metrics = [
            resampled("R²", r2, len(Y), seed, "higher"),
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
