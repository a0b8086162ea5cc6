"""Columns whose product in threes goes with the targets, though no column and no pair of them may show anything.

Paths and polishes follow slopes. Where a target is a product of three columns, all slopes are nothing until two of the
three are in, and then it is chance that finds them. A third moment shows them at once.
"""

from __future__ import annotations

import numpy as np

MOST_SEEN = 100  # columns: their 160,000 triples take 0.01 s on 400 rows, and the time grows with the cube
MOST_TAKEN = 12  # columns
CHANCE = 0.05  # of naming any triple where none goes with the targets
SHARE = 0.05  # of the targets' variance that a triple must explain: real tables have many of less, and no need of them
FAR = 1.0  # deviations at which columns and targets are cut: a few far rows would decide on the sum of a product


def triple_interactions(X: np.ndarray, T: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the columns of the triples that go most with targets, and whether they do so by more than chance.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows of at least three columns.
    T : ndarray of shape (n, m)
        Targets.
    weight : ndarray of shape (n,)
        Weights of the rows; a weight of 2 stands for a row given twice.
    """
    X, T = bounded(X, weight), bounded(T, weight)
    R = residual(X, T, weight)
    triples, scores = triple_scores(X, R, weight)
    # A sum over its own deviation has tails no heavier than a Gaussian's.
    by_chance = 2 * np.log(2 * R.shape[1] * len(triples) / CHANCE)
    left = (weight @ np.square(R)).sum() / max((weight @ np.square(T)).sum(), 1e-30)
    least = np.sqrt(max(by_chance, SHARE * weight.sum() / max(left, 1e-30)))
    order = np.argsort(-scores, kind="stable")
    taken = triples[order[0]]
    for triple in triples[order[: np.count_nonzero(scores > least)]]:
        more = np.union1d(taken, triple)
        if len(more) > MOST_TAKEN:
            break
        taken = more
    return taken, bool(scores[order[0]] > least)


def bounded(A: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the columns of A in deviations, cut at :data:`FAR`, around their means; constant ones become zero."""
    share = weight / weight.sum()
    mean = share @ A
    A = A - mean
    deviation = np.sqrt(share @ np.square(A))
    A = np.clip(A / np.where(deviation > 1e-6 * np.abs(mean), deviation, np.inf), -FAR, FAR)
    return np.asarray(A - share @ A)


def residual(X: np.ndarray, T: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return what least squares leave of the targets."""
    root = np.sqrt(weight)[:, None]
    return np.asarray(T - X @ np.linalg.lstsq(root * X, root * T, rcond=None)[0])


def triple_scores(X: np.ndarray, R: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all triples of columns, (t, 3), and of each |sum of r x_i x_j x_k| over its deviation, (t,).

    Of several residuals the largest number counts.
    """
    # Chance is far above the rounding of single precision, which is more than twice as quick.
    X, R, weight = X.astype(np.float32), R.astype(np.float32), weight.astype(np.float32)
    squares = np.square(X)
    triples, scores = [], []
    for i in range(X.shape[1] - 2):
        later, later_squares = X[:, i + 1 :], squares[:, i + 1 :]
        j, k = np.triu_indices(later.shape[1], 1)
        best = np.zeros(len(j))
        for r in R.T:
            sums = later.T @ ((weight * r * X[:, i])[:, None] * later)
            variances = later_squares.T @ ((weight * r**2 * squares[:, i])[:, None] * later_squares)
            best = np.maximum(best, np.abs(sums[j, k]) / np.sqrt(np.maximum(variances[j, k], 1e-30)))
        triples.append(np.column_stack([np.full(len(j), i), i + 1 + j, i + 1 + k]))
        scores.append(best)
    return np.concatenate(triples), np.concatenate(scores)
