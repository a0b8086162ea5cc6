"""How good a model is on samples: metrics with intervals, confusion, calibration, residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata

from spkm.inspection._reading import Reading
from spkm.inspection._report._rows import rounded

RESAMPLES = 200  # bootstrap resamples of the samples behind an interval
LEVEL = 0.9  # of the intervals of metrics
BINS = 10  # of equal size, of a calibration curve: as in scikit-learn
MOST_CLASSES = 60  # of a confusion matrix
MOST = 20_000  # samples that intervals are made from; those of more are narrow enough

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


def _with_intervals(metrics: dict[str, tuple[Metric, str]], n: int, seed: int) -> list[dict[str, Any]]:
    """Return each metric on all samples, with the middle 90 % of its values on bootstrap resamples."""
    rng = np.random.default_rng(seed)
    resamples = [rng.integers(0, n, n) for _ in range(RESAMPLES)] if n <= MOST else []
    found = []
    for name, (metric, better) in metrics.items():
        values = np.array([metric(rows) for rows in resamples])
        values = values[np.isfinite(values)]
        tails = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
        low, high = np.percentile(values, tails) if len(values) > 1 else (np.nan, np.nan)
        whole = metric(np.arange(n))
        found.append(
            {"name": name, "value": rounded(whole), "low": rounded(low), "high": rounded(high), "better": better}
        )
    return found


def _of_classes(reading: Reading, scores: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    labels = reading.labels
    assert labels is not None
    codes = np.searchsorted(labels, y)
    predicted = np.searchsorted(labels, reading.decide(scores))
    right = predicted == codes
    counts = np.bincount(codes, minlength=len(labels))
    metrics: dict[str, tuple[Metric, str]] = {
        "accuracy": (lambda rows: float(right[rows].mean()), "higher"),
        "balanced accuracy": (lambda rows: _balanced(codes[rows], right[rows], len(labels)), "higher"),
    }
    P = reading.probabilities(scores)
    if P is not None:
        own = np.maximum(P[np.arange(len(codes)), codes], 1e-15)
        metrics["log loss"] = (lambda rows: float(-np.log(own[rows]).mean()), "lower")
    if len(labels) == 2:
        second = scores[:, 0]
        metrics["area under ROC"] = (lambda rows: _area(second[rows], codes[rows]), "higher")
    confusion = None
    if len(labels) <= MOST_CLASSES:
        confusion = np.zeros((len(labels), len(labels)), dtype=int)
        np.add.at(confusion, (codes, predicted), 1)
    return {
        "n": len(codes),
        "metrics": _with_intervals(metrics, len(codes), seed),
        "baseline": {"name": "accuracy of always the most common class", "value": rounded(counts.max() / counts.sum())},
        "confusion": None if confusion is None else confusion.tolist(),
        "calibration": None if P is None else _calibration(P, codes, right),
    }


def _balanced(codes: np.ndarray, right: np.ndarray, count: int) -> float:
    total = np.bincount(codes, minlength=count)
    hits = np.bincount(codes, right, minlength=count)
    return float(np.mean(hits[total > 0] / total[total > 0]))


def _area(score: np.ndarray, codes: np.ndarray) -> float:
    positive = codes == 1
    n, m = int(positive.sum()), int((~positive).sum())
    if n == 0 or m == 0:
        return float("nan")
    return float((rankdata(score)[positive].sum() - n * (n + 1) / 2) / (n * m))


def _calibration(P: np.ndarray, codes: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """Return how often what has a probability happens: of the second class of two, else of the class predicted."""
    two = P.shape[1] == 2
    confidence, happened = (P[:, 1], codes == 1) if two else (P.max(axis=1), right)
    order = np.argsort(confidence, kind="stable")
    bins = []
    for part in np.array_split(order, min(BINS, len(order))):
        share, n = float(happened[part].mean()), len(part)
        low, high = _wilson(share, n)
        bins.append([rounded(confidence[part].mean()), rounded(share), rounded(low), rounded(high), n])
    error = sum(n * abs(p - q) for p, q, _, _, n in bins) / len(order)
    return {"of": "second class" if two else "predicted class", "bins": bins, "error": rounded(error)}


def _wilson(share: float, n: int, z: float = 1.6449) -> tuple[float, float]:
    """Return the 90 % interval of Wilson for a share of n samples."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return float(middle - half), float(middle + half)


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
    whole = float(np.mean(np.all(predicted == y, axis=1)))
    low, high = _wilson(whole, len(y))
    metric = {"name": "all labels right", "value": rounded(whole), "low": rounded(low), "high": rounded(high)}
    return {"n": len(y), "metrics": [{**metric, "better": "higher"}], "labels": rows}


def _of_numbers(reading: Reading, scores: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    predicted = np.reshape(reading.decide(scores), (len(y), -1))
    Y = np.reshape(np.asarray(y, dtype=np.float64), (len(y), -1))
    outputs = []
    for o, name in enumerate(reading.outputs):
        error, target = Y[:, o] - predicted[:, o], Y[:, o]

        def r2(rows: np.ndarray, e: np.ndarray = error, t: np.ndarray = target) -> float:
            spread = np.square(t[rows] - t[rows].mean()).sum()
            return float(1 - np.square(e[rows]).sum() / spread) if spread > 0 else float("nan")

        metrics: dict[str, tuple[Metric, str]] = {
            "R²": (r2, "higher"),
            "root mean squared error": (lambda rows, e=error: float(np.sqrt(np.square(e[rows]).mean())), "lower"),  # type: ignore[misc]
            "mean absolute error": (lambda rows, e=error: float(np.abs(e[rows]).mean()), "lower"),  # type: ignore[misc]
        }
        outputs.append(
            {
                "name": name,
                "metrics": _with_intervals(metrics, len(Y), seed),
                "baseline": {"name": "standard deviation of the target", "value": rounded(target.std())},
                "residuals": _residuals(predicted[:, o], error),
            }
        )
    first = outputs[0]
    return {"n": len(Y), "metrics": first["metrics"], "baseline": first["baseline"], "outputs": outputs}


def _residuals(predicted: np.ndarray, error: np.ndarray) -> list[list[Any]]:
    """Return for tenths of the samples by prediction: its mean, the 10, 50 and 90 % points of errors, how many."""
    order = np.argsort(predicted, kind="stable")
    rows = []
    for part in np.array_split(order, min(BINS, len(order))):
        points = np.percentile(error[part], [10, 50, 90])
        rows.append([rounded(predicted[part].mean()), *rounded(points), len(part)])
    return rows
