"""Features in an order, such as wavelengths or times: curves over an axis instead of a row for each."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from spkm._frames import name_of
from spkm.explain import gradient
from spkm.inspection._reading import Reading
from spkm.inspection._report._samples import dense_rows, rounded

FEWEST = 12  # features whose names are numbers that make an axis by themselves
NAMELESS = "feature"  # an axis whose name is not known
MOST = 5000  # features of an axis
ROWS = 100  # samples that slopes are averaged over
OUTPUTS = 6  # outputs with a curve of slopes
NUMBER = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([^\d\s.+-][^\d]*)?")


def axis_of(reading: Reading, x: Any) -> dict[str, Any] | None:
    """Return where the features lie on an axis: as given, or by names that are numbers; None if they have no order.

    Parameters
    ----------
    reading : Reading
        The estimator.
    x : array-like of shape (d,), False or None
        Place of every feature; the name of a Series is that of the axis. None reads names such as "1210" or "1210 nm"
        if all are numbers that rise or fall; False takes features as they are.
    """
    if x is False:
        return None
    if x is not None:
        values, label = np.asarray(x, dtype=np.float64), name_of(x)
        if values.shape != (len(reading.names),) or not np.isfinite(values).all():
            raise ValueError(f"x must have a finite place for each of the {len(reading.names)} features; got {x!r}.")
        if not _has_order(values):
            raise ValueError("x must rise or fall from feature to feature. Sort the columns of X by it.")
        return {"label": label or NAMELESS, "values": values}
    found = [NUMBER.fullmatch(name) for name in reading.names]
    if not FEWEST <= len(found) <= MOST or not all(found):
        return None
    suffixes = {(one[2] or "").strip() for one in found if one is not None}
    values = np.array([float(one[1]) for one in found if one is not None])
    if len(suffixes) > 1 or not _has_order(values):
        return None
    return {"label": suffixes.pop() or NAMELESS, "values": values}


def _has_order(values: np.ndarray) -> bool:
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all())


def axis_facts(
    reading: Reading, axis: dict[str, Any], columns: list[dict[str, Any]], table: Any, sampled: np.ndarray
) -> dict[str, Any]:
    """Return curves over the axis: the samples' mean and middle 80 %, the slopes of the scores, what is read.

    A slope is the mean change of a score with one standard deviation more of the feature, all else equal.
    """
    rows = np.arange(0, table.shape[0], max(1, table.shape[0] // 2000))
    values = dense_rows(table, rows, np.arange(len(reading.names)))
    some = sampled[:: max(1, len(sampled) // ROWS)]
    slopes = gradient(reading.model, some).mean(axis=0) * values.std(axis=0)[:, None]
    return {
        "label": axis["label"],
        "values": rounded(axis["values"], 8),
        "mean": rounded(values.mean(axis=0), 4),
        "low": rounded(np.percentile(values, 10, axis=0), 4),
        "high": rounded(np.percentile(values, 90, axis=0), 4),
        "read": None if len(reading.read) == len(reading.names) else reading.read.tolist(),
        "variance": [column["variance"] for column in columns],
        "slopes": rounded(slopes.T[:OUTPUTS], 4),
    }


def in_columns(features: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return facts of many features as one list for each kind of fact, which takes a fourth of the room."""
    kept = {key: [feature[key] for feature in features] for key in ("name", "column", "low", "median", "high", "sd")}
    return {key: rounded(part) if isinstance(part[0], float) else part for key, part in kept.items() if part}
