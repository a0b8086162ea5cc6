"""Columns that enter and leave a model together: single ones, or the user's groups."""

from __future__ import annotations

from typing import Any

import numpy as np


class FeatureGroups:
    """A partition of the features.

    Parameters
    ----------
    n_features : int
        Number of features.
    groups : array-like of shape (n_features,), default=None
        A label for every feature; features of one label are one unit. None makes each feature a unit of its own.
    """

    def __init__(self, n_features: int, groups: Any = None) -> None:
        self.label = np.arange(n_features)
        if groups is not None:
            labels = np.asarray(groups)
            if labels.shape != (n_features,):
                raise ValueError(
                    f"feature_groups must hold one label for each of the {n_features} features; "
                    f"got shape {labels.shape}."
                )
            if labels.dtype == object and any(label is None for label in labels):
                raise ValueError(
                    f"feature_groups must hold a label for each feature, without None; got {labels.tolist()}. "
                    "Give a feature without a group a label of its own."
                )
            self.label = np.unique(labels, return_inverse=True)[1]
        self.size = np.bincount(self.label, minlength=1)

    def of(self, columns: np.ndarray) -> FeatureGroups:
        """Return the partition of some features alone; its units are numbered anew."""
        return FeatureGroups(len(columns), self.label[columns])

    def members(self) -> list[np.ndarray]:
        """Return the features of every unit."""
        order = np.argsort(self.label, kind="stable")
        return np.split(order, np.cumsum(self.size)[:-1])

    def norms(self, G: np.ndarray) -> np.ndarray:
        """Return the l2 norm of every unit's features of G (R, d), over the root of the unit's size."""
        squares = np.bincount(self.label, weights=np.einsum("rj,rj->j", G, G), minlength=len(self.size))
        return np.sqrt(squares / self.size)

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return the features of the chosen units (a boolean array or indices), in order."""
        inside = np.zeros(len(self.size), dtype=bool)
        inside[chosen] = True
        return np.flatnonzero(inside[self.label])
