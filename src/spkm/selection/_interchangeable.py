"""Features that could stand for a selected one."""

from __future__ import annotations

import numpy as np

from spkm._arrays import dense
from spkm.kernels import squared
from spkm.sources import ArraySource, Block


def interchangeable(source: ArraySource, columns: np.ndarray, alike: float) -> dict[int, np.ndarray]:
    """Return for each of ``columns`` the other features whose |correlation| with it is at least ``alike``.

    Features without any are left out. Of those that are selected as well none is an alternative.
    """
    if len(columns) == 0:
        return {}
    sums, cross = source.reduce(_block_sums, columns, width=len(columns))
    mean, squares = sums
    deviation = np.sqrt(np.maximum(squares - mean**2, 1e-12 * squares))
    covariance = cross - np.outer(mean[columns], mean)
    correlation = np.abs(covariance) / np.maximum(np.outer(deviation[columns], deviation), 1e-300)
    correlation[:, columns] = 0.0
    found = {int(j): np.flatnonzero(row >= alike) for j, row in zip(columns, correlation, strict=True)}
    return {j: others for j, others in found.items() if len(others)}


def _block_sums(block: Block, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted sums over a block of x and x^2, (2, d), and of products with the features, (k, d)."""
    X = block.X
    chosen = dense(X[:, columns])
    sums = np.hstack([X.T @ block.w, squared(X).T @ block.w]).T
    return np.asarray(sums, dtype=np.float64), np.asarray(X.T @ (block.w * chosen), dtype=np.float64).T
