"""Gauss-Legendre rules for products of linear functions, with as few nodes as an error bound allows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from spkm.explain._games import SAFE, leave_one_out
from spkm.explain._structure import ProductPiece, blocks

BLOCK = 2**18  # entries of the largest array: it should stay in the cache
ERROR = 1e-14  # of the integral of one product, weighted by its amount
FEW = np.array([2, 4, 6, 8, 10, 12, 16, 24, 32])  # numbers of nodes to choose from


@lru_cache(maxsize=128)
def gauss_legendre(degree: int, bernstein: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights on [0, 1] for polynomials of ``degree`` - 1.

    ceil(degree / 2) nodes are exact. Polynomials with non-negative Bernstein coefficients, as products of functions
    that are linear and non-negative on [0, 1] are, need fewer: 4 sqrt(degree) + 10 leave a relative error below 1e-10.
    """
    count = max(1, -(-degree // 2))
    if bernstein:
        count = min(count, int(np.ceil(4 * np.sqrt(degree))) + 10)
    return rule(count)


@lru_cache(maxsize=128)
def rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the rule with ``count`` nodes on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, w / 2


def product_shapley(piece: ProductPiece, present: np.ndarray, absent: np.ndarray) -> np.ndarray:
    """Return the Shapley values of a mixture of products for pairs of samples, (s, N, R).

    With factors p_j where player j is present and q_j where it is not, they are the sums over components of
    a (p_j - q_j) times the integral over t of prod_{k != j} (q_k + t (p_k - q_k)).

    Notes
    -----
    The derivative of order 2n of such a product is at most S^2n prod_k m_k with m_k = max(p_k, q_k) and S =
    sum_k |p_k - q_k| / m_k, and n nodes have an error of at most (n!)^4 / ((2n + 1) (2n)!^3) times that derivative. So
    every product gets the nodes it needs, and those that are too small to matter none.

    Parameters
    ----------
    piece : ProductPiece
        The mixture.
    present, absent : ndarray of shape (s, N or 1, R, Q)
        The factors.
    """
    s = len(present)
    shape = np.broadcast_shapes(present.shape, absent.shape)[1:]
    if s == 0:
        return np.zeros((0, *shape[:-1]))
    p, q = (np.broadcast_to(part, (s, *shape)).reshape(s, -1) for part in (present, absent))
    amounts = np.broadcast_to(piece.amounts, shape).ravel()
    return shapley_of_products(p, q, amounts).reshape(s, *shape).sum(axis=-1)


def shapley_of_products(p: np.ndarray, q: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Return the Shapley values of M single products, (s, M), from factors (s, M) and amounts (M,)."""
    result = np.zeros(p.shape)
    for chosen, count in _by_nodes(p, q, np.abs(amounts)):
        t, w = rule(count)
        for block in blocks(len(chosen), BLOCK // max(1, len(p) * len(t))):
            some = chosen[block]
            result[:, some] = _integrals(p[:, some], q[:, some], t, w)
    result *= amounts
    return result


def enough_nodes(s: int, size: np.ndarray, steepness: np.ndarray) -> np.ndarray:
    """Return how many nodes products of s factors need.

    Parameters
    ----------
    s : int
        The number of factors, at least 1.
    size, steepness : ndarray of the same shape
        Logarithms of the largest value of each product and of its S.
    """
    most = len(gauss_legendre(s, True)[0])
    result = np.full(size.shape, most)
    for count in FEW[FEW < most][::-1]:
        constant = 4 * gammaln(count + 1) - np.log(2 * count + 1) - 3 * gammaln(2 * count + 1)
        result[size + 2 * count * steepness + constant <= np.log(ERROR)] = count
    return result


def _by_nodes(p: np.ndarray, q: np.ndarray, amounts: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Return groups of products and the number of nodes of each; products that are too small to matter are in none."""
    most = np.maximum(p, q)
    size = amounts * np.multiply.reduce(most, axis=0)
    places = np.flatnonzero(size * len(p) > ERROR)
    if len(places) < len(size):
        p, q, most, size = p[:, places], q[:, places], most[:, places], size[places]
    steepness = np.log(np.maximum(np.add.reduce(np.abs(p - q) / most, axis=0), 1e-300))
    nodes = enough_nodes(len(p), np.log(size), steepness)
    return [(places[nodes == count], int(count)) for count in np.unique(nodes)]


def _integrals(p: np.ndarray, q: np.ndarray, t: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return (p_j - q_j) times the integral of the product of the other factors, (s, M)."""
    steps = p - q
    factors = steps[:, None] * t[:, None]
    factors += q[:, None]  # (s, T, M), between q and p
    if min(p.min(), q.min()) > SAFE:
        weighted = np.multiply.reduce(factors, axis=0)
        weighted *= w[:, None]
        np.divide(weighted, factors, out=factors)
        integrals = np.add.reduce(factors, axis=1)
        integrals *= steps
        return integrals
    return np.einsum("t,stm->sm", w, leave_one_out(factors)) * steps
