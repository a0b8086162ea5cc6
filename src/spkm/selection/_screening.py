"""Screens: which features go with the targets by themselves, in pairs or in threes, beyond chance.

Every statistic is a sum over samples of the residual times a function of the features, over its own deviation, so that
it is standard normal where the function means nothing. A feature's score is the largest, over all functions it is part
of, of -log(p) - log(number of functions of that kind): positive from where Bonferroni's correction calls it unlikely.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import log_ndtr

from spkm._arrays import dense
from spkm.kernels import squared
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._settings import DEFAULTS, SearchSettings
from spkm.sources import ArraySource, Block

# Half waves over the range of a feature that univariate screens look for: 4 and 16 make no difference on half A of the
# made-up families, nor do 1.5 and 3 deviations in the next number (`python -m benchmarks search_settings`).
WAVES = 8
FAR = 2.0  # deviations at which features and targets are cut: a few far samples would decide on the sum of a product
BLOCK = 256  # features that are looked at together
MAIN_EFFECTS = 20  # samples for each main effect taken off before products are looked at: Harrell's rule (2001)


def varies(source: ArraySource) -> np.ndarray:
    """Return which features are not constant, (d,): a stationary kernel would carry a constant one along."""
    mean, squares = source.reduce(_block_moments, width=1)[0]
    return np.asarray(squares - mean**2 > 1e-12 * squares)


def group_scores(
    source: ArraySource,
    targets: np.ndarray,
    units: FeatureGroups,
    allowed: np.ndarray,
    settings: SearchSettings = DEFAULTS,
) -> np.ndarray:
    """Return for each group of features the largest score of its allowed features; minus infinity where none is."""
    scores = np.full(len(units.size), -np.inf)
    np.maximum.at(scores, units.label[allowed], feature_scores(source.columns(allowed), targets, settings.work))
    return scores


def feature_scores(source: ArraySource, targets: np.ndarray, work: float) -> np.ndarray:
    """Return the score of every feature, (d,), from targets (n, m): by itself, in products of two and of three."""
    weight = source.w[:, 0] * source.total_weight
    T = bounded(targets, weight)
    scores = np.full(source.n_features, -np.inf)
    for start in range(0, source.n_features, BLOCK):
        some = np.arange(start, min(start + BLOCK, source.n_features))
        scores[some] = _univariate(bounded(source.columns(some).dense(), weight), T, weight)
    scores -= np.log(source.n_features)
    order = np.argsort(-scores, kind="stable")
    n = weight.sum()
    for degree in (2, 3):
        some = np.sort(order[: int((work / (n * T.shape[1])) ** (1 / degree))])
        if len(some) <= degree:
            continue
        X = bounded(source.columns(some).dense(), weight)
        main = np.argsort(-scores[some], kind="stable")[: max(1, int(n) // MAIN_EFFECTS)]
        R = _residual(X[:, main], T, weight)
        found = _pairs(X, R, weight) if degree == 2 else _triples(X, R, weight)
        scores[some] = np.maximum(scores[some], found)
    return scores


def bounded(A: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the columns of A in deviations, cut at :data:`FAR`, around their means; constant ones become zero."""
    share = weight / weight.sum()
    mean = share @ A
    A = A - mean
    deviation = np.sqrt(share @ np.square(A))
    A = np.clip(A / np.where(deviation > 1e-6 * np.abs(mean), deviation, np.inf), -FAR, FAR)
    return np.asarray(A - share @ A)


def _log_p(z: np.ndarray) -> np.ndarray:
    """Return minus the logarithm of the two-sided chance of a normal number beyond z."""
    return np.asarray(-log_ndtr(-np.abs(z)) - np.log(2.0))


def _univariate(X: np.ndarray, T: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the scores of single features: of x and of its half waves cos(k theta), by Chebyshev's recursion."""
    cosine = np.clip(X / FAR, -1.0, 1.0)
    cosine = np.sin(0.5 * np.pi * cosine)  # of theta = pi (1 - x / FAR) / 2: even waves over the range
    before, now = np.ones_like(X), cosine
    best = np.abs(_standardized(X, T, weight))
    for _ in range(WAVES):
        best = np.maximum(best, np.abs(_standardized(now, T, weight)))
        before, now = now, 2 * cosine * now - before
    return np.asarray(_log_p(best) - np.log((WAVES + 1) * T.shape[1]))


def _standardized(Phi: np.ndarray, T: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the largest |z| over targets of the weighted sums of t times each (centred) column of Phi."""
    Phi = Phi - (weight / weight.sum()) @ Phi
    best = np.zeros(Phi.shape[1])
    for t in T.T:
        sums = (weight * t) @ Phi
        best = np.maximum(best, np.abs(sums) / np.sqrt(np.maximum((weight * t**2) @ np.square(Phi), 1e-30)))
    return best


def _residual(X: np.ndarray, T: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return what least squares on features and their squares leave of the targets."""
    root = np.sqrt(weight)[:, None]
    A = np.hstack([np.ones((len(X), 1)), X, np.square(X)])
    return np.asarray(T - A @ np.linalg.lstsq(root * A, root * T, rcond=1e-6)[0])


def _pairs(X: np.ndarray, R: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the scores of features by their best product with another."""
    X, R, weight = (A.astype(np.float32) for A in (X, R, weight))  # chance is far above the rounding
    squares = np.square(X)
    d = X.shape[1]
    best = np.zeros(d)
    for r in R.T:
        weighted, weighted_squares = (weight * r)[:, None] * X, (weight * r**2)[:, None] * squares
        for start, stop in pairwise([*range(0, d, BLOCK), d]):  # each pair once: with the features of later blocks
            sums = X[:, start:stop].T @ weighted[:, start:]
            variances = squares[:, start:stop].T @ weighted_squares[:, start:]
            z = _squared_z(sums, variances)
            np.fill_diagonal(z, 0.0)
            best[start:stop] = np.maximum(best[start:stop], z.max(axis=1))
            best[start:] = np.maximum(best[start:], z.max(axis=0))
    return np.asarray(_log_p(np.sqrt(best)) - np.log(d * (d - 1) / 2 * R.shape[1]))


def _squared_z(sums: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the squares of sums over their variances, in the memory of both."""
    np.square(sums, out=sums)
    sums /= np.maximum(variances, 1e-30, out=variances)
    return sums


def _triples(X: np.ndarray, R: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the scores of features by their best product with two others."""
    X, R, weight = (A.astype(np.float32) for A in (X, R, weight))
    squares = np.square(X)
    d = X.shape[1]
    best = np.zeros(d)
    for i in range(d - 2):
        later, later_squares = X[:, i + 1 :], squares[:, i + 1 :]
        for r in R.T:
            sums = later.T @ ((weight * r * X[:, i])[:, None] * later)
            variances = later_squares.T @ ((weight * r**2 * squares[:, i])[:, None] * later_squares)
            z = _squared_z(sums, variances)
            np.fill_diagonal(z, 0.0)
            rows = z.max(axis=1)
            best[i] = max(best[i], rows.max())
            best[i + 1 :] = np.maximum(best[i + 1 :], rows)
    return np.asarray(_log_p(np.sqrt(best)) - np.log(d * (d - 1) * (d - 2) / 6 * R.shape[1]))


def interchangeable(source: ArraySource, columns: np.ndarray, alike: float) -> dict[int, np.ndarray]:
    """Return for each of ``columns`` the other features whose |correlation| with it is at least ``alike``.

    Features without any are left out. A feature that is selected as well is no alternative.
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
    (sums,), chosen = _block_moments(block), dense(block.X[:, columns])
    return np.asarray(sums, dtype=np.float64), np.asarray(block.X.T @ (block.w * chosen), dtype=np.float64).T


def _block_moments(block: Block) -> tuple[np.ndarray]:
    """Return weighted sums over a block of x and x^2, (2, d)."""
    return (np.hstack([block.X.T @ block.w, squared(block.X).T @ block.w]).T,)
