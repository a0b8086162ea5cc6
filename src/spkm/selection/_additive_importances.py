"""How much an l1-penalised additive model, with products of pairs, needs each feature: fast, and blind to order."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold

FREQUENCIES = 6  # of cosines on the ranks: three full oscillations over the range of a feature
STRENGTHS = np.logspace(
    0, -1.5, 20
)  # of the l1 penalty, times the one that leaves nothing: as in glmnet, but not to the end
BLOCK = 2**20  # pairs that are looked at together: 8 MB
FOLDS = 3  # the fewest that leave most samples to learn from: only an order of features is asked for


def additive_importances(X: np.ndarray, Y: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return for each feature the sum of the sizes of the terms that it has a part in.

    The terms are z_j, the normal score of the rank u_j in (0, 1) of feature j, sqrt(2 / k) cos(k pi u_j), k = 2..6, and
    products 2 cos(pi u_i) cos(pi u_j) of two features whose correlation with the targets is beyond
    sqrt(2 log(number of pairs) / n), which is where the largest of as many correlations of noise lies. The lasso, its
    strength chosen by three folds, gives each a coefficient; its size is |coefficient| times the deviation of the term.
    Nothing depends on the features' order or on monotone transformations of them.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    Y : ndarray of shape (n, m)
        Targets; importances are summed over their columns.
    weight : ndarray of shape (n,)
        Weights of the samples.
    rng : Generator
        Source of the folds.

    Returns
    -------
    importances : ndarray of shape (d,)
        Zero where no term of the feature is in the model.
    """
    d = X.shape[1]
    single, slopes = _terms(X)
    members = np.repeat(np.arange(d), FREQUENCIES)
    weight = weight / weight.mean()
    folds = KFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    result = np.zeros(d)
    for y in Y.T:
        y = y - np.average(y, weights=weight)
        deviation = np.sqrt(np.average(y**2, weights=weight))
        if deviation == 0:
            continue
        y = y / deviation
        i, j = _pairs_beyond_chance(slopes, weight * y)
        products = slopes[:, i] * slopes[:, j]
        sizes = _sizes_in_lasso(np.hstack([single, products - products.mean(axis=0)]), y, weight, folds)
        of_pairs = sizes[len(members) :]
        result += np.bincount(members, sizes[: len(members)], d)
        result += np.bincount(i, of_pairs, d) + np.bincount(j, of_pairs, d)
    return result


def _terms(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the terms of single features, (n, 6 d), and the bounded slopes that products are made of, (n, d)."""
    u = (rankdata(X, axis=0) - 0.5) / len(X)
    k = np.arange(1, FREQUENCIES + 1)
    waves = np.sqrt(2) * np.cos(np.pi * u[:, :, None] * k)
    waves -= waves.mean(axis=0)
    slopes = waves[:, :, 0].copy()
    waves /= np.sqrt(k)
    waves[:, :, 0] = norm.ppf(u)  # the sum of many effects that are linear in it has no rest that resembles noise
    return waves.reshape(len(X), -1), slopes


def _pairs_beyond_chance(first: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of features whose products go with y, at most as many as features; by blocks of features."""
    n, d = first.shape
    bound = np.sqrt(2 * np.log(max(d * (d - 1) // 2, 2)) / n)
    weighted = first * y[:, None]
    sizes, i, j = np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    step = max(BLOCK // d, 1)
    for start in range(0, d, step):
        block = np.abs(first[:, start : start + step].T @ weighted[:, start:]) / n
        left, right = np.nonzero(np.triu(block, 1) > bound)
        sizes = np.concatenate([sizes, block[left, right]])
        i, j = np.concatenate([i, left + start]), np.concatenate([j, right + start])
        best = np.argsort(-sizes, kind="stable")[:d]
        sizes, i, j = sizes[best], i[best], j[best]
    return i, j


def _sizes_in_lasso(terms: np.ndarray, y: np.ndarray, weight: np.ndarray, folds: KFold) -> np.ndarray:
    strongest = np.abs(terms.T @ (weight * y)).max() / len(y)
    lasso = LassoCV(alphas=strongest * STRENGTHS, cv=folds, fit_intercept=False, tol=1e-3, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rough order of the features is enough
        lasso.fit(terms, y, sample_weight=weight)
    return np.asarray(np.abs(lasso.coef_) * terms.std(axis=0))
