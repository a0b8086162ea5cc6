"""Columns on a common footing: (x - mean) / standard deviation, clipped, undone for what is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

CLIP = 5.0  # standard deviations; measured: 3 harms, none lets rare indicators dominate
CHUNK = 2**17  # entries of X looked at together while statistics are taken


class Scaling:
    """A column-wise affine map with a clip.

    Parameters
    ----------
    center, scale : ndarray of shape (d,)
        The map is (x - center) / scale; ``scale`` is positive.
    clip : ndarray of shape (d,), default=None
        Bound on the absolute value of what comes out; five when None.
    """

    def __init__(self, center: np.ndarray, scale: np.ndarray, clip: np.ndarray | None = None) -> None:
        self.center = center
        self.scale = scale
        self.clip = np.full(len(scale), CLIP) if clip is None else clip

    def __call__(self, X: Any) -> Any:
        """Return scaled rows, a new array of X's own kind and dtype."""
        if sparse.issparse(X) and np.any(self.center):
            X = X.toarray()  # the model was fitted on dense rows: centred, these have no zeros left
        if sparse.issparse(X):
            scaled = sparse.csr_array(X, copy=True)
            scaled.data = (scaled.data / self.scale[scaled.indices]).astype(X.dtype)
            bound = self.clip.astype(X.dtype)[scaled.indices]
            np.clip(scaled.data, -bound, bound, out=scaled.data)
            return scaled
        scaled = (X - self.center.astype(X.dtype)).astype(X.dtype, copy=False)
        # Division, not a product with the inverse: the inverse of a scale of 1e-310 would overflow.
        scaled /= self.scale.astype(X.dtype)
        bound = self.clip.astype(X.dtype)
        return np.clip(scaled, -bound, bound, out=scaled)

    def columns(self, columns: np.ndarray | slice) -> Scaling:
        """Return the scaling of the given columns alone."""
        return Scaling(self.center[columns], self.scale[columns], self.clip[columns])

    def leaving(self, columns: np.ndarray) -> Scaling:
        """Return the same scaling but for the given columns, which stay as they are."""
        center, scale, clip = self.center.copy(), self.scale.copy(), self.clip.copy()
        center[columns], scale[columns], clip[columns] = 0.0, 1.0, np.inf
        return Scaling(center, scale, clip)

    @staticmethod
    def joined(left: Scaling, right: Scaling) -> Scaling:
        """Return the scaling of two tables side by side."""
        parts = zip((left.center, left.scale, left.clip), (right.center, right.scale, right.clip), strict=True)
        return Scaling(*(np.concatenate(pair) for pair in parts))

    def inverse(self, Z: np.ndarray) -> np.ndarray:
        """Return scaled points in the user's units (what was clipped stays clipped)."""
        return Z * self.scale + self.center

    def forward_points(self, U: np.ndarray) -> np.ndarray:
        """Return points given in the user's units on the scale of the model, without the clip."""
        return (U - self.center) / self.scale


def fit_scaling(X: Any, weight: np.ndarray, common: bool) -> Scaling:
    """Return the scaling of weighted rows: one scale for each column, or a common one; sparse rows are not centred.

    Statistics are taken of x / max|x|, so that columns of 1e-150 or 1e150 neither vanish nor overflow.
    """
    n, d = X.shape
    weight = weight / weight.sum()
    rows = max(1, CHUNK // max(d, 1))
    cuts = [slice(i, min(i + rows, n)) for i in range(0, n, rows)]
    if sparse.issparse(X):
        size = np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()
    else:
        size = np.zeros(d)
        for c in cuts:
            np.maximum(size, np.maximum(X[c].max(axis=0), -X[c].min(axis=0)), out=size)
    size[size == 0] = 1.0
    if common:
        size[:] = size.max()
    mean = np.zeros(d)
    for c in cuts:
        mean += (X[c].T @ weight[c]) / size if sparse.issparse(X) else weight[c] @ (X[c] / size)
    variance = np.zeros(d)
    if sparse.issparse(X):
        squares = X.astype(np.float64)
        squares.data = (squares.data / size[squares.indices]) ** 2
        variance = np.maximum(squares.T @ weight - mean**2, 0.0)
    else:
        for c in cuts:
            variance += weight[c] @ np.square(X[c] / size - mean)
    if common:
        variance[:] = variance.mean()
    deviation = np.sqrt(variance)
    # A constant column leaves rounding only (of the square where rows are sparse); it says nothing, and must not be
    # blown up to unit size.
    deviation[deviation < (1e-7 if sparse.issparse(X) else 1e-13)] = 1.0
    tiny = np.finfo(X.dtype).tiny  # a scale below the smallest normal number would round to zero in X's dtype
    center = np.zeros(d) if sparse.issparse(X) else mean * size
    return Scaling(center, np.maximum(deviation * size, tiny))
