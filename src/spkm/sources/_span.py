"""Samples in coordinates of their span.

Every sample is ``center + a @ axes`` with orthonormal axes, at most as many as there are samples. A point off the span
is ``center + v @ axes + rest`` with a rest that is orthogonal to all axes, so that its squared distance to a sample is
``|a - v|^2 + |rest|^2``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from spkm._arrays import Matrix
from spkm.sources._array import ArraySource
from spkm.sources._scaling import Scaling

NEGLIGIBLE = 1e-13  # of the largest coordinate: rounding, in a direction that no sample has


@dataclass(frozen=True, eq=False)
class Span:
    """Affine span of samples.

    Parameters
    ----------
    center : ndarray of shape (d,)
        Mean of the samples.
    axes : ndarray of shape (r, d)
        Orthonormal directions.
    """

    center: np.ndarray
    axes: np.ndarray

    @staticmethod
    def of(X: np.ndarray) -> tuple[Span, np.ndarray]:
        """Return the span of samples (n, d) and their coordinates (n, r), in double precision; r is at most n."""
        X = X.astype(np.float64)
        center = X.mean(axis=0)
        axes, coordinates = qr((X - center).T, mode="economic", overwrite_a=True, check_finite=False)
        size = np.abs(coordinates).max(axis=1)
        used = size > NEGLIGIBLE * size.max()
        used[0] = True  # samples that are all equal have no direction
        return Span(center, np.ascontiguousarray(axes.T[used])), np.ascontiguousarray(coordinates[used].T)

    def points(self, V: np.ndarray) -> np.ndarray:
        """Return the points of given coordinates."""
        return np.asarray(self.center + V @ self.axes)

    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of the nearest points of the span, and the rests off the span."""
        centred = X - self.center
        V = centred @ self.axes.T
        return V, centred - V @ self.axes


class SpanSource(ArraySource):
    """Samples of a table in coordinates of their span, in double precision.

    Attributes
    ----------
    table : ArraySource
        The samples with all features.
    span : Span
        Their span.
    """

    table: ArraySource
    span: Span

    @staticmethod
    def of(table: ArraySource) -> SpanSource:
        """Return the coordinates of all samples of a table, on the same threads."""
        span, coordinates = Span.of(table.dense())
        found = SpanSource(coordinates, table.Y, table.w[:, 0].astype(np.float64) * table.total_weight)
        found.table, found.span, found.groups = table, span, table.groups
        return table.shared(found)

    def _like(self, X: Matrix, Y: np.ndarray, weight: np.ndarray, scaling: Scaling | None) -> ArraySource:
        return self.shared(ArraySource(X, Y, weight, scaling))
