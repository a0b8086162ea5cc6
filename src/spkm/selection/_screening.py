"""Which columns of a wide table a kernel that is not linear gets to see."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from spkm.selection._feature_groups import FeatureGroups
from spkm.sources import ArraySource, Block

SEEN = 500  # columns


def screened(source: ArraySource, units: FeatureGroups, always: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return at most about 500 allowed columns: those of ``always``, and those that go with the targets."""
    if len(allowed) <= SEEN:
        return allowed
    scores = np.zeros(len(units.size))
    np.maximum.at(scores, units.label, correlations(source))
    scores[units.label[always]] = np.inf
    forbidden = np.ones(len(scores), dtype=bool)
    forbidden[units.label[allowed]] = False
    scores[forbidden] = -np.inf
    order = np.argsort(-scores, kind="stable")
    within = (np.cumsum(units.size[order]) <= max(SEEN, len(always))) & ~forbidden[order]
    within[0] = True
    return units.columns(order[within])


def correlations(source: ArraySource) -> np.ndarray:
    """Return for each column the largest |covariance| of a target with x or x^2, over the deviation of x or x^2."""
    mean = source.reduce(_block_mean, width=1)[0]
    sums = source.encoded(lambda Y: Y - mean.astype(Y.dtype)).reduce(_block_sums, width=1)[0]
    x, squares, fourth = sums[:3]
    with_x, with_squares = np.split(np.abs(sums[3:]), 2)
    best = np.zeros(len(x))
    for cross, first, second in ((with_x, x, squares), (with_squares, squares, fourth)):
        spread = np.sqrt(np.maximum(second - first**2, 1e-12 * second))
        best = np.maximum(best, cross.max(axis=0) / np.where(spread > 0, spread, np.inf))
    return best


def varies(source: ArraySource) -> np.ndarray:
    """Return which columns are not constant, (d,): a kernel of a distance would carry a constant one along."""
    mean, squares = source.reduce(_block_moments, width=1)[0]
    return squares - mean**2 > 1e-12 * squares


def _squared(A: Any) -> Any:
    return A.multiply(A) if sparse.issparse(A) else np.square(A)


def _block_moments(block: Block) -> tuple[np.ndarray]:
    return (np.hstack([block.X.T @ block.w, _squared(block.X).T @ block.w]).T,)


def _block_mean(block: Block) -> tuple[np.ndarray]:
    return (block.w.T @ block.Y,)


def _block_sums(block: Block) -> tuple[np.ndarray]:
    """Return weighted sums over a block of x, x^2, x^4, then for each target of y x, then of y x^2."""
    squares = _squared(block.X)
    fourth = _squared(squares)
    targets = block.w * block.Y
    parts = [block.X.T @ block.w, squares.T @ block.w, fourth.T @ block.w, block.X.T @ targets, squares.T @ targets]
    return (np.hstack(parts).T,)
