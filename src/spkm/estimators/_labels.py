"""Targets of any number of labels for each row: an indicator matrix becomes signs, some labels need no model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def encode_labels(y: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return signs (n, labels to learn), and the scores (n_labels,) of the labels that are the same in all rows.

    Labels to learn have a score of NaN. That of the others is the logarithm of their odds by Laplace's rule of
    succession, log(n + 1) for a label that is always there.
    """
    indicator = y.toarray() if sparse.issparse(y) else y
    if not np.all((indicator == 0) | (indicator == 1)):
        raise ValueError(
            f"y of two dimensions must be an indicator matrix of 0 and 1; got {np.unique(indicator).tolist()}."
        )
    seen = indicator[weight > 0]
    learned = np.any(seen != seen[:1], axis=0)
    if not np.any(learned):
        raise ValueError("y must hold at least one label that is not the same in all rows of positive weight.")
    log_odds = np.where(seen[0] == 1, 1.0, -1.0) * np.log1p(weight.sum())
    return np.where(indicator[:, learned] == 1, 1.0, -1.0), np.where(learned, np.nan, log_odds)


def with_constant_labels(learned: np.ndarray, scores: np.ndarray, constant: Any) -> np.ndarray:
    """Return columns for all labels, from those of the labels that were learned and a ``constant`` for the others."""
    columns = np.empty((len(learned), len(scores)), dtype=learned.dtype)
    columns[:] = constant
    columns[:, np.isnan(scores)] = learned
    return columns
