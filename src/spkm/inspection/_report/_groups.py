"""Quality by group: one table for each column that the samples are parted by, with intervals and the largest gap."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from spkm._arrays import label_places, with_shape
from spkm._frames import labels_of, name_of
from spkm.inspection._intervals import LEVEL_TEXT, area_under_curve, mean_gap, mean_interval, share_gap, share_interval
from spkm.inspection._reading import Reading
from spkm.inspection._report._quality import BINS, calibration_error
from spkm.inspection._report._samples import rounded

MOST_LEVELS = 12  # groups of a column; those of a number are quarters of the samples
FEW = 10  # samples of a group below which it is counted, but not judged


def group_values(X: Any, groups: Any) -> dict[str, np.ndarray]:
    """Return for each column that samples are parted by its values, one for each sample.

    Parameters
    ----------
    X : table
        Samples as the user holds them.
    groups : str, int, Series, array, frame, list of these or None
        Columns of X by name or number, or values that the model does not read.
    """
    if groups is None:
        return {}
    if labels_of(groups) is not None:
        return {str(name): _values(groups[name], len(groups)) for name in labels_of(groups)}
    listed = groups if isinstance(groups, list | tuple) else [groups]
    found: dict[str, np.ndarray] = {}
    for k, one in enumerate(listed):
        if isinstance(one, str | int | np.integer):
            name, values = _column(X, one)
        else:
            name, values = name_of(one) or f"group {k + 1}", one
        n = with_shape(X).shape[0]
        found[name] = _values(values, n)
    return found


def _column(X: Any, one: Any) -> tuple[str, Any]:
    """Return name and values of a column of a table."""
    columns = labels_of(X)
    if columns is not None:
        if one not in list(columns):
            raise ValueError(f"groups must name a column of X, or hold a value for each sample; got {one!r}.")
        return str(one), X[one]
    if isinstance(one, str) or not 0 <= int(one) < np.shape(X)[1]:
        raise ValueError(f"groups must be the number of a column of X, or hold a value for each sample; got {one!r}.")
    return f"x{one}", np.asarray(X)[:, int(one)]


def _values(values: object, n: int) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != 1 or len(values) != n:
        raise ValueError(f"groups must have a value for each of the {n} samples; got shape {values.shape}.")
    return values


def by_group(reading: Reading, scores: np.ndarray, y: np.ndarray, parts: dict[str, np.ndarray]) -> list[Any]:
    """Return for each column the quality in every group, and the gap between the best and the worst of them."""
    if np.ndim(y) != 1:
        raise ValueError("groups needs one target for each sample; y has several.")
    return [_of_column(reading, scores, y, name, values) for name, values in parts.items()]


def _of_column(reading: Reading, scores: np.ndarray, y: np.ndarray, name: str, values: np.ndarray) -> dict[str, Any]:
    labels, codes = _levels(values)
    head, judge = (_of_numbers if reading.labels is None else _of_classes)(reading, scores, y)
    rows, judged = [], []
    for label, own in ((label, codes == k) for k, label in enumerate(labels) if np.any(codes == k)):
        figures, each = judge(own)
        rows.append([label, len(each), *figures])
        judged += [(label, each)] if len(each) >= FEW else []
    gap = _gap(judged, "mean absolute error" if reading.labels is None else "accuracy", reading.labels is None)
    return {"name": name, "head": head, "rows": rows, "gap": gap, "n_few": sum(row[1] < FEW for row in rows)}


def _levels(values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return names of the groups and the group of every sample; numbers of many values become quarters."""
    missing = np.array([value is None or value != value for value in values.tolist()])
    numbers = values.dtype.kind in "iuf" and len(np.unique(values[~missing])) > MOST_LEVELS
    if numbers:
        edges = np.unique(np.percentile(values[~missing].astype(float), [0, 25, 50, 75, 100]))
        codes = np.clip(np.searchsorted(edges, np.where(missing, edges[0], values).astype(float), "right") - 1, 0, None)
        codes = np.minimum(codes, len(edges) - 2)
        labels = [f"{a:.4g} to {b:.4g}" for a, b in pairwise(edges)]
    else:
        texts = np.array([str(value) for value in values.tolist()], dtype=object)
        texts[missing] = "(missing)"
        names, codes, counts = np.unique(texts.astype(str), return_inverse=True, return_counts=True)
        labels = [str(one) for one in names]
        if len(names) > MOST_LEVELS:
            kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1])
            place = {int(k): j for j, k in enumerate(kept)}
            codes = np.array([place.get(int(k), len(kept)) for k in codes])
            labels = [*(str(names[k]) for k in kept), f"{len(names) - len(kept)} others"]
        return labels, np.asarray(codes).ravel()
    if missing.any():
        codes[missing] = len(labels)
        labels.append("(missing)")
    return labels, codes


#: Headings of a table, and a function from the samples of a group to its figures and a value for each sample.
Judge = tuple[list[str], Callable[[np.ndarray], tuple[list[Any], np.ndarray]]]


def _of_classes(reading: Reading, scores: np.ndarray, y: np.ndarray) -> Judge:
    names = reading.labels
    assert names is not None
    truth, predicted = (label_places(names, own) for own in (y, reading.decide(scores)))
    P, two = reading.probabilities(scores), len(names) == 2
    head = ["group", "samples", "accuracy", "low", "high"]
    head += [f"share of {names[1]}", f"predicted {names[1]}", "area under ROC"] if two else []
    head += ["calibration error"] if P is not None else []

    def judge(own: np.ndarray) -> tuple[list[Any], np.ndarray]:
        right = (truth == predicted)[own]
        n = len(right)
        row = rounded([right.mean(), *share_interval(int(right.sum()), n)])
        if two:
            area = area_under_curve(scores[own, 0], truth[own] == 1)
            row += rounded([truth[own].mean(), predicted[own].mean(), area])
        if P is not None:
            row += [rounded(calibration_error(P[own], truth[own], right)) if n >= 5 * BINS else None]
        return row, right

    return head, judge


def _of_numbers(reading: Reading, scores: np.ndarray, y: np.ndarray) -> Judge:
    error = np.asarray(y, dtype=float) - np.reshape(reading.decide(scores), -1)
    head = ["group", "samples", "mean absolute error", "low", "high", "mean of target − prediction", "low ", "high "]

    def judge(own: np.ndarray) -> tuple[list[Any], np.ndarray]:
        size, signed = np.abs(error[own]), error[own]
        low, high = mean_interval(size)
        return rounded([size.mean(), max(low, 0.0), high, signed.mean(), *mean_interval(signed)]), size

    return head, judge


def _gap(judged: list[tuple[str, np.ndarray]], measure: str, lower_is_better: bool) -> dict[str, Any] | None:
    """Return the two groups that lie furthest apart, and the interval of their difference for so many comparisons.

    The pair is picked because it is far apart, so its interval is that of all pairs at once (Bonferroni).
    """
    if len(judged) < 2:
        return None
    order = sorted(judged, key=lambda one: float(one[1].mean()), reverse=lower_is_better)
    (low_name, worst), (high_name, best) = order[0], order[-1]
    pairs = len(judged) * (len(judged) - 1) // 2
    apart, low, high = mean_gap(worst, best, pairs) if lower_is_better else share_gap(best, worst, pairs)
    sure = low > 0
    what = f"{measure} is {worst.mean():.3g} for {low_name} and {best.mean():.3g} for {high_name}"
    text = f"Largest gap: {what}, a difference of {apart:.3g} ({LEVEL_TEXT} interval {low:.3g} to {high:.3g}"
    text += f", for all {pairs} pairs of groups at once)" if pairs > 1 else ")"
    text += ": " + ("more than chance." if sure else "it may be chance.")
    return {"text": text, "sure": bool(sure), "values": rounded([apart, low, high])}
