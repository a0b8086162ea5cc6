"""Knockoffs: copies of the features that are made without the targets, and the threshold that they give.

Candes, Fan, Janson and Lv (2018), "Panning for gold: model-X knockoffs for high dimensional controlled variable
selection". The features are taken for a Gaussian copula: normal scores of their ranks are normal with a correlation
matrix that is estimated. The copies are drawn there and brought back by ranks, so that each copy is a rearrangement of
the values of its feature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.stats import norm, rankdata
from sklearn.covariance import ledoit_wolf

MOST_SWEEPS = 50  # of the coordinate descent for the variances; it ends by its tolerance after about ten
RIDGE = 0.01  # of the correlations: features that are exactly dependent still have copies
FALSE_ALARM = 0.01  # probability at which copies that are what they should be are called something else
TOLERANCE = 1e-3  # relative change of the sum it minimises: far below what a change of the copies' power would show


def normal_scores(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the normal quantiles of the ranks, rank / (n + 1); equal values are ranked in random order."""
    n = len(X)
    order = np.lexsort((rng.random(X.shape), X), axis=0)
    ranks = np.empty(X.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, n + 1)[:, None], axis=0)
    return np.asarray(norm.ppf(ranks / (n + 1)))


def correlation_of_scores(Z: np.ndarray) -> np.ndarray:
    """Return the correlation matrix of normal scores, positive definite.

    With at least two samples for each feature it is that of the samples but for one part in a hundred, so that copies
    have the samples' own moments: shrunk more, copies depend less on the other features than the features do, and too
    many features stand out. With fewer samples it is shrunk as Ledoit and Wolf (2004) do.
    """
    n, d = Z.shape
    covariance = ledoit_wolf(Z)[0] if n < 2 * d else np.atleast_2d(np.cov(Z.T))
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviations, deviations)
    return np.asarray(correlation if n < 2 * d else (1 - RIDGE) * correlation + RIDGE * np.eye(d))


def reconstruction_variances(correlation: np.ndarray) -> np.ndarray:
    """Return the s that minimise tr (2 C - S)^-1 + tr S^-1, by coordinate descent; S = diag(s).

    That sum is, but for a factor, the trace of the inverse correlation matrix of features and copies together (Spector
    and Janson 2022, "Powerful knockoffs via minimizing reconstructability"): copies from which a feature can hardly be
    reconstructed let a model separate the two. With A = (2 C - S)^-1, a = A_jj and c = |A_j|, the best change of s_j
    is (1 - c s_j) / (a + c), which keeps both matrices positive definite.
    """
    smallest = eigh(correlation, eigvals_only=True, subset_by_index=[0, 0])[0]
    s = np.full(len(correlation), min(1.0, smallest))
    A = np.linalg.inv(2 * correlation - np.diag(s))
    value = np.trace(A) + np.sum(1 / s)
    for _ in range(MOST_SWEEPS):
        for j in range(len(s)):
            a, c = A[j, j], np.linalg.norm(A[j])
            step = (1 - c * s[j]) / (a + c)
            A += np.outer(step / (1 - step * a) * A[j], A[j])
            s[j] += step
        A = np.linalg.inv(2 * correlation - np.diag(s))  # the updates' rounding errors do not add up
        value, before = np.trace(A) + np.sum(1 / s), value
        if before - value <= TOLERANCE * before:
            break
    return s


def gaussian_copies(Z: np.ndarray, correlation: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return copies of normal scores: given Z they are normal with mean Z - Z C^-1 S and covariance 2 S - S C^-1 S.

    Features and copies together then have the correlation matrix [[C, C - S], [C - S, C]], which stays the same when
    any features change places with their copies.
    """
    from_scores = cho_solve(cho_factor(correlation), np.diag(s))
    covariance = 2 * np.diag(s) - np.diag(s) @ from_scores
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(Z - Z @ from_scores + rng.standard_normal(Z.shape) @ root.T)


def knockoffs(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a copy of each feature that depends on the other features as the feature does, and not on the targets.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    rng : Generator
        Source of the random numbers.

    Returns
    -------
    copies : ndarray of shape (n_samples, n_features)
        Each column holds the values of the same column of X in another order.
    """
    Z = normal_scores(X, rng)
    correlation = correlation_of_scores(Z)
    drawn = gaussian_copies(Z, correlation, reconstruction_variances(correlation), rng)
    copies = np.empty_like(X)
    np.put_along_axis(copies, np.argsort(drawn, axis=0), np.sort(X, axis=0), axis=0)
    return copies


class Misfit(NamedTuple):
    """The largest sign that copies do not depend on the other features as the features do.

    Attributes
    ----------
    z : float
        The largest statistic of all pairs.
    limit : float
        Bound on the largest statistic of true knockoffs, with probability 0.99.
    feature, other : int
        The feature whose copy differs from it, and the other feature on which only one of the two depends so.
    """

    z: float
    limit: float
    feature: int
    other: int


def misfit_of_copies(X: np.ndarray, copies: np.ndarray) -> Misfit:
    """Return the largest z of corr(a(x_k), b(x_j)) - corr(a(x_k), b(copy of x_j)) over pairs of features.

    A true knockoff can change places with its feature: the difference has mean zero for all functions a and b. Copies
    of a Gaussian copula have the right correlations by construction, so that what can differ is a bend. With u the
    ranks in (0, 1), cos(pi u) falls and cos(2 pi u) is highest at both ends, like a square; (a, b) are the three pairs
    of these that have a bend. The statistic sum(e) / sqrt(sum(e^2)), with e_i = a_i (b_i - b of the copy), is
    sub-Gaussian for variables e_i that are symmetric about zero, whatever their tails, so that a bound over all pairs
    is P(largest > t) <= 6 d^2 exp(-t^2 / 2).

    Parameters
    ----------
    X, copies : ndarray of shape (n_samples, n_features)
        Samples, and knockoffs of their features.

    Returns
    -------
    misfit : Misfit
        The largest statistic, its limit, and the pair of features.
    """
    d = X.shape[1]
    (slope, bend), (slope_of_copy, bend_of_copy) = _waves(X), _waves(copies)
    largest, feature, other = 0.0, 0, 0
    for a, difference in (
        (bend, slope - slope_of_copy),
        (slope, bend - bend_of_copy),
        (bend, bend - bend_of_copy),
    ):
        spread = np.sqrt((a**2).T @ difference**2)
        z = np.divide(np.abs(a.T @ difference), spread, out=np.zeros((d, d)), where=spread > 0)
        np.fill_diagonal(z, 0.0)
        k, j = np.unravel_index(np.argmax(z), z.shape)
        if z[k, j] > largest:
            largest, feature, other = float(z[k, j]), int(j), int(k)
    return Misfit(largest, float(np.sqrt(2 * np.log(6 * d**2 / FALSE_ALARM))), feature, other)


def _waves(X: np.ndarray) -> list[np.ndarray]:
    """Return cos(pi u) and cos(2 pi u) of the ranks u in (0, 1), centred; equal values have equal ranks."""
    u = (rankdata(X, axis=0) - 0.5) / len(X)
    waves = [np.cos(k * np.pi * u) for k in (1, 2)]
    return [wave - wave.mean(axis=0) for wave in waves]


def knockoff_threshold(W: np.ndarray, fdr: float, offset: int = 1) -> float:
    """Return the least t > 0 among the |W_j| with (offset + #{W_j <= -t}) / max(1, #{W_j >= t}) <= fdr; inf if none.

    W_j is how much more feature j matters than its copy. With V the number of false features among the R that are
    selected, {W_j >= t}, an offset of 1 ("knockoff+" of Barber and Candes 2015) has E[V / max(1, R)] <= fdr, and an
    offset of 0 has E[V / (R + 1 / fdr)] <= fdr.
    """
    sizes = np.unique(np.abs(W[W != 0]))
    ordered = np.sort(W)
    above = len(W) - np.searchsorted(ordered, sizes, side="left")
    below = np.searchsorted(ordered, -sizes, side="right")
    enough = (offset + below) / np.maximum(1, above) <= fdr
    return float(sizes[np.argmax(enough)]) if enough.any() else np.inf
