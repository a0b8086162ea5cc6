"""Facts of a report about each feature that the model reads: its name, its unit, its range."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.explain import gradient
from spkm.inspection._reading import Reading
from spkm.inspection._report._rows import dense_rows, rounded

MOST = 1000  # features in the file; of more those with the steepest slopes
MOST_OF_PAIRS = 200  # of both sides; of wider tables the page speaks of entities, and of no feature
ROWS = 20  # samples that slopes are taken at


def listed_features(reading: Reading, sampled: np.ndarray) -> np.ndarray:
    """Return the features of a file, in rising order: all that are read, or those that matter most."""
    read = reading.read
    if reading.is_pairs:
        return read if len(read) <= MOST_OF_PAIRS else read[:0]
    if len(read) <= MOST:
        return read
    some = sampled[:: max(1, len(sampled) // ROWS)]
    size = np.abs(gradient(reading.model, some)).mean(axis=(0, 2)) * sampled.std(axis=0)
    return np.sort(read[np.argsort(-size[read], kind="stable")[:MOST]])


def feature_facts(reading: Reading, read: np.ndarray, table: Any, units: dict[str, str], ship: bool) -> dict[str, Any]:
    """Return the features of a file, in the order of the table, and how many it leaves out.

    Ranges are those of ``table``; in a file without rows they go from the 1st to the 99th percentile.
    """
    rows = np.arange(0, table.shape[0], max(1, table.shape[0] // 20_000))
    values = dense_rows(table, rows, read)
    ends = np.zeros((3, 0)) if len(read) == 0 else np.percentile(values, [0, 50, 100] if ship else [1, 50, 99], axis=0)
    found = [
        {
            "name": reading.names[c],
            "unit": units.get(reading.names[c], ""),
            "column": int(c),
            "low": rounded(ends[0, k], 6),
            "median": rounded(ends[1, k], 6),
            "high": rounded(ends[2, k], 6),
            "sd": rounded(values[:, k].std(), 5),
            "whole": bool(np.all(values[:, k] == np.rint(values[:, k]))),
        }
        for k, c in enumerate(read)
    ]
    return {
        "read": found,
        "n_unread": len(reading.names) - len(reading.read),
        "left_out": len(reading.read) - len(found),
    }
