"""Features on a common footing: (x - mean) / standard deviation, clipped, undone for what is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

CLIP = 5.0  # standard deviations; measured: 3 harms, none lets rare indicators dominate
CHUNK = 2**17  # entries of X looked at together while statistics are taken: 1 MB
FULL = 0.5  # share of entries not zero from which a sparse feature is centred: it costs at most twice the memory


@dataclass(frozen=True, eq=False)
class Scaling:
    """A feature-wise affine map with a clip: (x - center) / scale, at most ``clip`` away from ``middle``.

    Parameters
    ----------
    center, scale : ndarray of shape (d,)
        The map is (x - center) / scale; ``scale`` is positive.
    clip : ndarray of shape (d,), default=None
        Largest distance from ``middle`` of what comes out; five when None.
    middle : ndarray of shape (d,), default=None
        Image of the mean of the feature: 0, but for features of sparse samples that are not centred.
    """

    center: np.ndarray
    scale: np.ndarray
    clip: np.ndarray = None  # type: ignore[assignment]
    middle: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        d = len(self.scale)
        object.__setattr__(self, "clip", np.full(d, CLIP) if self.clip is None else self.clip)
        object.__setattr__(self, "middle", np.zeros(d) if self.middle is None else self.middle)
        for part in self._parts:
            part.setflags(write=False)

    def __reduce__(self) -> Any:
        # Made anew from its parts: pickle would give arrays back that can be written to.
        return Scaling, self._parts

    @property
    def _parts(self) -> tuple[np.ndarray, ...]:
        return self.center, self.scale, self.clip, self.middle

    def __call__(self, X: Any) -> Any:
        """Return scaled samples, a new array of X's own kind and dtype."""
        return self._sparse(X) if sparse.issparse(X) else self._dense(X)

    def _dense(self, X: np.ndarray) -> np.ndarray:
        scaled = (X - self.center.astype(X.dtype)).astype(X.dtype, copy=False)
        # Division, not a product with the inverse: the inverse of a scale of 1e-310 would overflow.
        scaled /= self.scale.astype(X.dtype)
        low, high = (self.middle - self.clip).astype(X.dtype), (self.middle + self.clip).astype(X.dtype)
        return np.asarray(np.clip(scaled, low, high, out=scaled))

    def _sparse(self, X: Any) -> sparse.csr_array:
        """Return CSR samples; features with a center are few, or nearly without zeros, and get all their entries."""
        centred = np.flatnonzero(self.center)
        if len(centred) > FULL * X.shape[1]:
            return sparse.csr_array(self._dense(X.toarray()))
        scaled = sparse.csr_array(X, copy=True)
        at = scaled.indices
        scaled.data = (scaled.data / self.scale[at]).astype(X.dtype)
        low, high = (self.middle - self.clip).astype(X.dtype), (self.middle + self.clip).astype(X.dtype)
        np.clip(scaled.data, low[at], high[at], out=scaled.data)
        if len(centred) == 0:
            return scaled
        scaled.data[np.isin(at, centred)] = 0.0
        scaled.eliminate_zeros()
        part = self.columns(centred)._dense(sparse.csr_array(X)[:, centred].toarray())
        indptr = np.arange(0, part.size + 1, len(centred))
        return sparse.csr_array(
            scaled + sparse.csr_array((part.ravel(), np.tile(centred, len(part)), indptr), shape=X.shape)
        )

    def columns(self, columns: np.ndarray | slice) -> Scaling:
        """Return the scaling of the given features alone."""
        return Scaling(*(part[columns] for part in self._parts))

    def leaving(self, columns: np.ndarray) -> Scaling:
        """Return the same scaling but for the given features, which stay as they are."""
        parts = [part.copy() for part in self._parts]
        for part, neutral in zip(parts, (0.0, 1.0, np.inf, 0.0), strict=True):
            part[columns] = neutral
        return Scaling(*parts)

    @staticmethod
    def joined(left: Scaling, right: Scaling) -> Scaling:
        """Return the scaling of two tables side by side."""
        return Scaling(*(np.concatenate(pair) for pair in zip(left._parts, right._parts, strict=True)))

    def inverse(self, Z: np.ndarray) -> np.ndarray:
        """Return scaled points in the user's units (what was clipped stays clipped)."""
        return np.asarray(Z * self.scale + self.center)

    def forward_points(self, U: np.ndarray) -> np.ndarray:
        """Return points given in the user's units on the scale of the model, without the clip."""
        return np.asarray((U - self.center) / self.scale)


def fit_scaling(X: Any, weight: np.ndarray, common: bool) -> Scaling:
    """Return the scaling of weighted samples: one scale for each feature, or a common one.

    Sparse samples are centred only in features that are nowhere near sparse. If they are not, zero is at most one
    standard deviation of the feature away from the mean, so that the clip, around the mean, leaves zeros alone.
    Statistics are taken of x / max|x|, so that features of 1e-150 or 1e150 neither vanish nor overflow.
    """
    n, d = X.shape
    if n == 0:
        return Scaling(np.zeros(d), np.ones(d))
    is_sparse = sparse.issparse(X)
    weight = weight / weight.sum()
    rows = max(1, CHUNK // max(d, 1))
    cuts = [slice(i, min(i + rows, n)) for i in range(0, n, rows)]
    full = np.ones(d, dtype=bool)
    if is_sparse:
        size = np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()
        by_entry = np.where(X.data != 0, np.repeat(weight, np.diff(X.indptr)), 0.0)
        full = np.bincount(X.indices, by_entry, minlength=d) >= FULL
    else:
        size = np.zeros(d)
        for c in cuts:
            np.maximum(size, np.maximum(X[c].max(axis=0), -X[c].min(axis=0)), out=size)
    size[size == 0] = 1.0
    if common:
        size[:] = size.max()
    mean, variance = _moments(lambda: ((X[c], weight[c]) for c in cuts), size, is_sparse)
    if is_sparse and full.any():  # a difference of squares would leave nothing of a small deviation far from zero
        dense = X[:, np.flatnonzero(full)]
        mean[full], variance[full] = _moments(
            lambda: ((dense[c].toarray(), weight[c]) for c in cuts), size[full], is_sparse=False
        )
    return _of_moments(mean, variance, size, common, full, float(np.finfo(X.dtype).tiny))


def scaling_of_moments(mean: np.ndarray, variance: np.ndarray, size: np.ndarray, common: bool) -> Scaling:
    """Return the scaling of dense samples with the given moments and largest absolute values of the features."""
    size = np.where(size > 0, size, 1.0)
    if common:
        size = np.full_like(size, size.max())
    # The variance is divided twice: the square of a size of 1e160 would overflow.
    return _of_moments(mean / size, variance / size / size, size, common, np.ones(len(size), dtype=bool), 0.0)


def _of_moments(
    mean: np.ndarray, variance: np.ndarray, size: np.ndarray, common: bool, full: np.ndarray, tiny: float
) -> Scaling:
    """Return the scaling of features whose x / size have the given moments; those that are not ``full`` are sparse."""
    deviation = np.sqrt(np.full_like(variance, variance.mean()) if common else variance)
    # A constant feature leaves rounding only (of the square where it is sparse); it says nothing, and must not be
    # blown up to unit size.
    deviation[deviation < np.where(full, 1e-13, 1e-7)] = 1.0
    # Under a common scale zero may lie beyond the clip. Such features have more than 25 times the mean variance, so
    # that they are at most one in 25, and are centred as well.
    full = full | (np.abs(mean) > CLIP * deviation)
    # A scale below ``tiny``, the smallest normal number of the samples' type, would round to zero in it.
    center = np.where(full, mean * size, 0.0)
    return Scaling(center, np.maximum(deviation * size, tiny), middle=np.where(full, 0.0, mean / deviation))


def _moments(
    chunks: Callable[[], Iterator[tuple[Any, np.ndarray]]], size: np.ndarray, is_sparse: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of x / size, in two passes over dense chunks or one over sparse ones."""
    mean, second = np.zeros(len(size)), np.zeros(len(size))
    for X, w in chunks():
        if is_sparse:
            mean += (X.T @ w) / size
            squares = X.astype(np.float64)
            squares.data = (squares.data / size[squares.indices]) ** 2
            second += squares.T @ w
        else:
            mean += w @ (X / size)
    if is_sparse:
        return mean, np.maximum(second - mean**2, 0.0)
    for X, w in chunks():
        second += w @ np.square(X / size - mean)
    return mean, second
