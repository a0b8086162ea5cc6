"""Shapley values of mixtures whose components differ by a rate alone: Matern and rational quadratic kernels.

Component q has the factors exp(-r_q e_j) with exponents e_j = a_j where player j is present and b_j where it is absent.
With d_j = b_j - a_j its product at a node t of the quadrature is

    P_qt = exp(-r_q sum_k b_k + sum_k L_t(r_q d_k)),    L_t(u) = log(1 + t (e^u - 1)),

and player j adds P_qt H_t(r_q d_j), H_t(u) = (e^u - 1) / (1 + t (e^u - 1)). L and H are smooth functions of one number:
Chebyshev polynomials of the d_k, once for all components and nodes, give both by products of matrices. The error of
these polynomials is measured on a grid, and bounds the error of every component; a component whose bound is too large
is integrated without them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from spkm.explain._quadrature import ERROR, enough_nodes, rule, shapley_of_products
from spkm.explain._structure import ProductPiece, blocks

COMPONENTS = 4  # of a mixture from which on this pays
PLAYERS = 10  # likewise: products of fewer factors need few nodes
DEGREE = 40  # number of polynomials; of 24, 32, 40 and 48 the one that is quickest at 30 features
BLOCK = 2**19  # entries of the largest array: it should stay in the cache
PAIRS = 2**21  # entries of all differences d at once


def is_mixture(piece: object) -> bool:
    """Whether the piece is a mixture of many components over many players that differ by a rate alone."""
    return (
        isinstance(piece, ProductPiece)
        and len(piece.amounts) >= COMPONENTS
        and len(piece.players) >= PLAYERS
        and piece.rates is not None
    )


def mixture_shapley(piece: ProductPiece, Z: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the Shapley values of the mixture against samples, summed over these, (s, n, R).

    Parameters
    ----------
    piece : ProductPiece
        The mixture.
    Z, B : ndarray of shape (n, columns), (m, columns)
        Samples and background samples on the scale of the model.
    """
    present, absent = (piece.common_exponents(rows) for rows in (Z, B))  # (s, n, R), (s, m, R)
    s, n, R = present.shape
    result = np.zeros((s, n, R))
    step = max(1, PAIRS // max(1, s * R))  # pairs of a sample and a background sample
    for b in blocks(len(B), step):
        some = absent[:, None, b]
        for i in blocks(n, step // some.shape[2]):
            result[:, i] += _Pairs(piece, present[:, i, None], some).shapley().sum(axis=2)
    return result


class _Pairs:
    """All pairs of some samples with some background samples, for every basis vector: N = n m R of them."""

    def __init__(self, piece: ProductPiece, present: np.ndarray, absent: np.ndarray) -> None:
        difference = absent - present
        self.shape = difference.shape
        self.present, self.absent = present, absent
        self.rates: Any = piece.rates
        self.amounts = piece.amounts
        self.d = difference.reshape(self.shape[0], -1)
        size = np.abs(self.d)
        self.largest, self.total = size.max(axis=0), size.sum(axis=0)
        full = [np.broadcast_to(part, self.shape).sum(axis=0).ravel() for part in (present, absent)]
        self.b_sum = full[1]
        self.least = np.maximum(full[0] + full[1] - self.total, 0.0) / 2  # the sum of min(a_k, b_k)

    def shapley(self) -> np.ndarray:
        """Return the values, (s, n, m, R)."""
        result = np.zeros_like(self.d)
        widths = 2.0 ** np.frexp(self.largest)[1]  # pairs between two powers of 2 share their polynomials
        widths[self.largest == 0] = 0.0
        for width in np.unique(widths[widths > 0]):
            self._add(result, np.flatnonzero(widths == width), float(width))
        return result.reshape(self.shape)

    def _add(self, result: np.ndarray, pairs: np.ndarray, width: float) -> None:
        """Add the values of pairs whose differences are at most ``width``."""
        s = len(self.d)
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(self.amounts)) - np.multiply.outer(self.least[pairs], self.rates)
        matters = size > np.log(ERROR / s)  # (N, Q)
        # 1 - exp(-|u|) is concave in |u|: the mean over players is at most that of the mean.
        steepness = s * -np.expm1(-np.multiply.outer(self.total[pairs] / s, self.rates))
        nodes = enough_nodes(s, size, np.log(np.maximum(steepness, 1e-300)))
        fits, good = [], np.zeros_like(matters)
        for q in np.flatnonzero(matters.any(axis=0)):
            fit = _fit(float(self.rates[q] * width), int(nodes[matters[:, q], q].max()), s)
            good[:, q] = matters[:, q] & (size[:, q] + fit.log_error <= np.log(ERROR))
            if good[:, q].any():
                fits.append((q, fit))
        if fits:
            self._add_polynomials(result, pairs, width, fits, good)
        which, component = np.nonzero(matters & ~good)
        if len(which):
            self._add_products(result, pairs[which], component)

    def _add_polynomials(self, result: np.ndarray, pairs: np.ndarray, width: float, fits: Any, good: Any) -> None:
        """Add what the components q of ``fits`` give to the pairs where they are ``good``, (N, Q)."""
        logs = np.concatenate([fit.logs for _, fit in fits])
        shares = np.concatenate([fit.shares * (self.amounts[q] * fit.weights[:, None]) for q, fit in fits]).T
        ends = np.cumsum([0, *(len(fit.logs) for _, fit in fits)])
        rates = np.concatenate([np.full(len(fit.logs), self.rates[q]) for q, fit in fits])
        for block in blocks(len(pairs), BLOCK // (len(self.d) * DEGREE)):
            some = pairs[block]
            powers = _chebyshev(self.d[:, some] / width)  # (DEGREE, s, N)
            products = logs @ np.add.reduce(powers, axis=1)
            products -= np.multiply.outer(rates, self.b_sum[some])
            for k, (q, _) in enumerate(fits):
                products[ends[k] : ends[k + 1], ~good[block, q]] = -np.inf
            np.exp(products, out=products)
            result[:, some] += np.einsum("mn,msn->sn", shares @ products, powers)

    def _add_products(self, result: np.ndarray, pairs: np.ndarray, q: np.ndarray) -> None:
        """Add what single components give to single pairs, by their factors."""
        i, b, r = np.unravel_index(pairs, self.shape[1:])
        p, a = self.present[:, i, 0, r] * -self.rates[q], self.absent[:, 0, b, r] * -self.rates[q]
        values = shapley_of_products(np.exp(p, out=p), np.exp(a, out=a), self.amounts[q])
        for one in np.unique(q):
            result[:, pairs[q == one]] += values[:, q == one]


def _chebyshev(x: np.ndarray) -> np.ndarray:
    """Return the Chebyshev polynomials of x up to DEGREE, one after the other."""
    result = np.empty((DEGREE, *x.shape))
    result[0], result[1] = 1.0, x
    twice = 2 * x
    for m in range(2, DEGREE):
        np.multiply(twice, result[m - 1], out=result[m])
        result[m] -= result[m - 2]
    return result


class _Fit:
    """Chebyshev coefficients of L_t and H_t in x, u = ``most`` x, for the nodes t of a rule: (T, DEGREE) each.

    Attributes
    ----------
    logs, shares, weights : ndarray
        The coefficients, and the weights of the nodes.
    log_error : float
        Logarithm of a bound on the error of what each of s players is given, over the largest value of the product.
    """

    def __init__(self, most: float, count: int, s: int) -> None:
        nodes, self.weights = rule(count)
        (points, transform), (finer, values) = _grids()
        coefficients = [transform @ part for part in _logs_and_shares(most * points[:, None], nodes)]
        _, shares = truth = _logs_and_shares(most * finer[:, None], nodes)
        errors = [np.abs(values @ c - part).max(axis=0) for c, part in zip(coefficients, truth, strict=True)]
        products = np.expm1(np.minimum(s * errors[0], 50.0))
        per_node = products * np.abs(shares).max(axis=0) + (1 + products) * errors[1]
        self.log_error = float(np.log(self.weights @ per_node))
        self.logs, self.shares = (c.T for c in coefficients)


_fit = lru_cache(maxsize=1024)(_Fit)


@lru_cache(maxsize=1)
def _grids() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return the points and the matrix that coefficients come from, and a finer grid with the polynomials there."""
    angles = np.pi * (np.arange(DEGREE) + 0.5) / DEGREE
    transform = np.cos(np.multiply.outer(np.arange(DEGREE), angles)) * (2 / DEGREE)
    transform[0] /= 2
    finer = np.linspace(0, np.pi, 8 * DEGREE + 1)
    values = np.cos(np.multiply.outer(finer, np.arange(DEGREE)))
    return (np.cos(angles), transform), (np.cos(finer), values)


def _logs_and_shares(u: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return L_t(u) and H_t(u), neither of which overflows."""
    small = np.expm1(-np.abs(u))  # for u > 0 both are written in exp(-u)
    inside = np.where(u > 0, 1 + (1 - t) * small, 1 + t * small)
    return np.log(inside) + np.maximum(u, 0.0), np.where(u > 0, -small, small) / inside
