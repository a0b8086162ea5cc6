"""Exact interventional Shapley values and their pairwise interactions.

The value of a set S of players is the mean over background samples b of f(x_S, b_rest). With the extension F of
``_games`` the Shapley value of player j is the integral of dF/dt_j over the diagonal, a polynomial in t of a known
degree, for which a Gauss-Legendre rule is exact.

References
----------
QuadraSHAP (arXiv 2605.05870) has the quadrature for product games, PKeX-Shapley (arXiv 2505.16516) the same values by
elementary symmetric polynomials.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.explain._games import game_of, game_of_piece
from spkm.explain._mixtures import is_mixture, mixture_shapley
from spkm.explain._quadrature import gauss_legendre, product_shapley
from spkm.explain._structure import DotPiece, Factor, ProductPiece, Structure, TermParts

BLOCK = 2**19  # entries of the largest array of a block: it should stay in the cache
SMALLER = 4  # products choose their nodes, with more arrays of the size of their factors
STATES = 2**22  # entries of the states kept at once


def basis_shapley(structure: Structure, Z: np.ndarray, B: np.ndarray, independent: bool) -> np.ndarray:
    """Return the Shapley values of every basis vector's similarity, (n, R, s), s the players that the model reads.

    Shapley values of the scores are sums of these with the weights, as Shapley values are linear in the game.

    Parameters
    ----------
    structure : Structure
        The model, taken apart.
    Z, B : ndarray of shape (n, columns), (m, columns)
        Samples and background samples on the scale of the model.
    independent : bool
        Whether absent players are drawn from their own background distributions, independently of one another.
    """
    result = np.zeros((len(Z), structure.n_basis, len(structure.read)))
    for term in structure.terms:
        into = result[:, term.rows]
        if independent or is_linear(term):
            _against_marginals(structure, term, Z, B, into)
        elif len(term.factors) == 1 and all(is_mixture(piece) for piece in term.factors[0].pieces):
            for piece in term.factors[0].pieces:
                into += np.moveaxis(mixture_shapley(piece, Z, B), 0, -1) / len(B)
        else:
            _against_samples(structure, term, Z, B, into)
    return result


def interactions(structure: Structure, z: np.ndarray, B: np.ndarray, independent: bool, outputs: int) -> np.ndarray:
    """Return the Shapley interaction indices of one sample, (s, s, outputs), with zeros on the diagonal."""
    s = len(structure.read)
    result = np.zeros((s, s, outputs))
    for term in structure.terms:
        marginal = independent or is_linear(term)
        for b in _blocks(len(B), len(B) if marginal else max(1, BLOCK // _game_entries(term))):
            games = _games(term, _states(term, z), _states(term, B[b], marginal), 0, slice(None))
            share = (1 if marginal else len(B[b])) / (1 if marginal else len(B))
            result += share * _one_block(structure, term, *games, outputs)
    result[np.arange(s), np.arange(s)] = 0.0
    return result


def is_linear(term: TermParts) -> bool:
    """Whether the term is linear in every player: then a background says nothing beyond its mean."""
    return len(term.factors) == 1 and all(
        isinstance(piece, DotPiece) and piece.degree <= 1 for piece in term.factors[0].pieces
    )


def _against_samples(structure: Structure, term: TermParts, Z: np.ndarray, B: np.ndarray, into: np.ndarray) -> None:
    """Add the means over background samples to ``into``, (n, R_t, s)."""
    inner = max(1, BLOCK // _entries(term))
    per_row = max(1, sum(_state_size(piece) for factor in term.factors for piece in factor.pieces))
    outer = max(inner, STATES // per_row)
    for b in _blocks(len(B), outer):
        absent = _states(term, B[b])
        for i in _blocks(len(Z), max(1, STATES // per_row)):
            present = _states(term, Z[i])
            for row in range(len(Z[i])):
                for part in _blocks(len(B[b]), inner):
                    for places, values in _values(structure, term, present, absent, row, part):
                        into[i.start + row][:, places] += values.sum(axis=1).T / len(B)


def _against_marginals(structure: Structure, term: TermParts, Z: np.ndarray, B: np.ndarray, into: np.ndarray) -> None:
    """Add the values for players that are independent of one another to ``into``, (n, R_t, s)."""
    absent = _mean_states(term, B)
    for i in _blocks(len(Z), max(1, BLOCK // _entries(term))):
        present = _states(term, Z[i])
        for places, values in _values(structure, term, present, absent, None, slice(None)):
            into[i, :, places] += np.moveaxis(values, 0, -1)


def _values(structure: Structure, term: TermParts, present: list, absent: list, row: int | None, part: slice) -> Any:
    """Yield for each factor the places of its players and their values, (s_v, N, R)."""
    if len(term.factors) == 1:
        yield from _alone(structure, term.factors[0], present[0], absent[0], row, part)
        return
    games, weights, _ = _games(term, present, absent, row, part)
    column = weights[:, None, None]
    values = [game.values() for game in games]
    for v, game in enumerate(games):
        W = column * np.prod([other for k, other in enumerate(values) if k != v], axis=0)
        yield _places(structure, term.factors[v]), game.pullback(W)


def _alone(structure: Structure, factor: Factor, present: list, absent: list, row: int | None, part: slice) -> Any:
    """Yield the places and values of the pieces of a factor that is multiplied by no other: they just add up."""
    which = slice(None) if row is None else slice(row, row + 1)
    for piece, p, a in zip(factor.pieces, present, absent, strict=True):
        p, a = p[:, which], a[:, part]
        if isinstance(piece, ProductPiece):
            values = product_shapley(piece, p, a)
        else:
            nodes, weights = gauss_legendre(piece.degree, False)
            values = game_of_piece(piece, p, a, nodes).pullback(weights[:, None, None])
        yield _places(structure, factor), values


def _one_block(
    structure: Structure, term: TermParts, games: list, weights: np.ndarray, pairs: int, outputs: int
) -> np.ndarray:
    """Return the mean of the second derivatives' integrals over a block, (s, s, outputs)."""
    s = len(structure.read)
    result = np.zeros((s, s, outputs))
    values = [game.values() for game in games]
    slopes = [game.derivatives() for game in games] if len(games) > 1 else []
    for o in range(outputs):
        W = np.broadcast_to(weights[:, None, None] * term.weights[:, o] / pairs, values[0].shape)
        for v, game in enumerate(games):
            here = _places(structure, term.factors[v])
            others = [value for k, value in enumerate(values) if k != v]
            result[here[:, None], here, o] += game.second(W * np.prod(others, axis=0) if others else W)
            for k in range(v):
                there = _places(structure, term.factors[k])
                rest = [value for i, value in enumerate(values) if i not in (v, k)]
                mixed = np.einsum(
                    "atnr,btnr,tnr->ab", slopes[v], slopes[k], W * np.prod(rest, axis=0) if rest else W, optimize=True
                )
                result[here[:, None], there, o] += mixed
                result[there[:, None], here, o] += mixed.T
    return result


def _games(term: TermParts, present: list, absent: list, row: int | None, part: slice) -> tuple[list, np.ndarray, int]:
    """Return the factors' games, the weights of the nodes, and the number of pairs."""
    bernstein = all(isinstance(piece, ProductPiece) for factor in term.factors for piece in factor.pieces)
    nodes, weights = gauss_legendre(term.degree, bernstein)
    which = slice(None) if row is None else slice(row, row + 1)
    games = [
        game_of(factor, [state[:, which] for state in p], [state[:, part] for state in a], nodes)
        for factor, p, a in zip(term.factors, present, absent, strict=True)
    ]
    return games, weights, absent[0][0][:, part].shape[1]


def _states(term: TermParts, Z: np.ndarray, mean: bool = False) -> list[list[np.ndarray]]:
    return [[piece.state(Z, mean) for piece in factor.pieces] for factor in term.factors]


def _mean_states(term: TermParts, B: np.ndarray) -> list[list[np.ndarray]]:
    """Return means of the states over all background samples, block by block."""
    per_row = max(1, sum(_state_size(piece) for factor in term.factors for piece in factor.pieces))
    sums: list[list[np.ndarray]] | None = None
    for b in _blocks(len(B), max(1, STATES // per_row)):
        parts = [[state * (len(B[b]) / len(B)) for state in states] for states in _states(term, B[b], mean=True)]
        sums = parts if sums is None else [[p + q for p, q in zip(*both)] for both in zip(sums, parts)]  # noqa: B905
    assert sums is not None
    return sums


def _entries(term: TermParts) -> int:
    """Return how many numbers a pair of a sample and a background sample takes in the largest array."""
    if len(term.factors) == 1 and all(isinstance(piece, ProductPiece) for piece in term.factors[0].pieces):
        return SMALLER * max(_state_size(piece) for piece in term.factors[0].pieces)
    return _game_entries(term)


def _game_entries(term: TermParts) -> int:
    """Return how many numbers a pair takes in the largest array of the term's games."""
    sizes = [_state_size(piece) for factor in term.factors for piece in factor.pieces]
    return max(1, sum(sizes) * len(gauss_legendre(term.degree, False)[0]))


def _state_size(piece: Any) -> int:
    if isinstance(piece, ProductPiece):
        return max(1, len(piece.players)) * piece.parts[0][1].shape[0] * len(piece.amounts)
    if isinstance(piece, DotPiece):
        return max(1, len(piece.players)) * piece.loadings.shape[0] * len(piece.coefficients)
    return 2 ** len(piece.players) * piece.views[0].basis.shape[0]


def _places(structure: Structure, factor: Any) -> np.ndarray:
    return np.searchsorted(structure.read, factor.players)


def _blocks(n: int, size: int) -> Any:
    return (slice(i, min(i + size, n)) for i in range(0, n, size))
