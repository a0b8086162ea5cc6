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

from collections.abc import Iterator
from typing import Any

import numpy as np

from spkm.explain._games import GAMES, game_of
from spkm.explain._mixtures import is_mixture, mixture_shapley
from spkm.explain._quadrature import gauss_legendre, product_shapley
from spkm.explain._structure import DotPiece, Factor, ProductPiece, Structure, TermParts, blocks

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
        present = _states(term, z)
        if independent or is_linear(term):
            result += _second(structure, term, present, _states(term, B, mean=True), 1)
            continue
        for b in blocks(len(B), BLOCK // _game_entries(term)):
            result += _second(structure, term, present, _states(term, B[b]), len(B))
    result[np.arange(s), np.arange(s)] = 0.0
    return result


def is_linear(term: TermParts) -> bool:
    """Whether the term is linear in every player: then only the mean of a background matters."""
    return len(term.factors) == 1 and all(
        isinstance(piece, DotPiece) and piece.degree <= 1 for piece in term.factors[0].pieces
    )


def _against_samples(structure: Structure, term: TermParts, Z: np.ndarray, B: np.ndarray, into: np.ndarray) -> None:
    """Add the means over background samples to ``into``, (n, R_t, s)."""
    inner = max(1, BLOCK // _entries(term))
    outer = STATES // _state_size(term)
    for b in blocks(len(B), max(inner, outer)):
        absent = _states(term, B[b])
        for i in blocks(len(Z), outer):
            present = _states(term, Z[i])
            for row in range(len(Z[i])):
                for part in blocks(len(B[b]), inner):
                    some = _cut(present, slice(row, row + 1)), _cut(absent, part)
                    for factor, values in _values(term, *some):
                        into[i.start + row][:, structure.places(factor)] += values.sum(axis=1).T / len(B)


def _against_marginals(structure: Structure, term: TermParts, Z: np.ndarray, B: np.ndarray, into: np.ndarray) -> None:
    """Add the values for players that are independent of one another to ``into``, (n, R_t, s)."""
    sums: Any = 0.0  # of the states of all background samples, block by block
    for b in blocks(len(B), STATES // _state_size(term)):
        states = [state * (len(B[b]) / len(B)) for states in _states(term, B[b], mean=True) for state in states]
        sums = [state + before for state, before in zip(states, sums or [0.0] * len(states), strict=True)]
    means = iter(sums)
    absent = [[next(means) for _ in factor.pieces] for factor in term.factors]
    for i in blocks(len(Z), BLOCK // _entries(term)):
        for factor, values in _values(term, _states(term, Z[i]), absent):
            into[i, :, structure.places(factor)] += np.moveaxis(values, 0, -1)


def _values(term: TermParts, present: list, absent: list) -> Iterator[tuple[Factor, np.ndarray]]:
    """Yield factors and the values of their players, (s_v, N, R); pieces that are multiplied by nothing just add up."""
    if len(term.factors) == 1:
        (factor,) = term.factors
        for piece, p, a in zip(factor.pieces, present[0], absent[0], strict=True):
            if isinstance(piece, ProductPiece):
                yield factor, product_shapley(piece, p, a)
            else:
                nodes, weights = gauss_legendre(piece.degree, False)
                yield factor, GAMES[type(piece)](piece, p, a, nodes).pullback(weights[:, None, None])
        return
    games, weights = _games(term, present, absent)
    values = [game.values() for game in games]
    for v, (factor, game) in enumerate(zip(term.factors, games, strict=True)):
        others = np.prod([other for k, other in enumerate(values) if k != v], axis=0)
        yield factor, game.pullback(weights[:, None, None] * others)


def _second(structure: Structure, term: TermParts, present: list, absent: list, count: int) -> np.ndarray:
    """Return the integrals of the second derivatives, summed over pairs and divided by ``count``, (s, s, outputs)."""
    s, outputs = len(structure.read), term.weights.shape[1]
    result = np.zeros((s, s, outputs))
    games, weights = _games(term, present, absent)
    values = [game.values() for game in games]
    slopes = [game.derivatives() for game in games] if len(games) > 1 else []
    places = [structure.places(factor) for factor in term.factors]
    for o in range(outputs):
        W = np.broadcast_to(weights[:, None, None] * term.weights[:, o] / count, values[0].shape)
        for v, game in enumerate(games):
            here = places[v]
            others = [value for k, value in enumerate(values) if k != v]
            result[here[:, None], here, o] += game.second(W * np.prod(others, axis=0) if others else W)
            for k, there in enumerate(places[:v]):
                rest = [value for i, value in enumerate(values) if i not in (v, k)]
                mixed = np.einsum(
                    "atnr,btnr,tnr->ab", slopes[v], slopes[k], W * np.prod(rest, axis=0) if rest else W, optimize=True
                )
                result[here[:, None], there, o] += mixed
                result[there[:, None], here, o] += mixed.T
    return result


def _games(term: TermParts, present: list, absent: list) -> tuple[list, np.ndarray]:
    """Return the factors' games and the weights of the nodes."""
    bernstein = all(isinstance(piece, ProductPiece) for factor in term.factors for piece in factor.pieces)
    nodes, weights = gauss_legendre(term.degree, bernstein)
    states = zip(term.factors, present, absent, strict=True)
    return [game_of(factor, p, a, nodes) for factor, p, a in states], weights


def _states(term: TermParts, Z: np.ndarray, mean: bool = False) -> list[list[np.ndarray]]:
    return [[piece.state(Z, mean) for piece in factor.pieces] for factor in term.factors]


def _cut(states: list[list[np.ndarray]], rows: slice) -> list[list[np.ndarray]]:
    """Return the states of some of the samples."""
    return [[state[:, rows] for state in own] for own in states]


def _entries(term: TermParts) -> int:
    """Return how many numbers a pair of a sample and a background sample takes in the largest array."""
    if len(term.factors) == 1 and all(isinstance(piece, ProductPiece) for piece in term.factors[0].pieces):
        return SMALLER * max(piece.state_size for piece in term.factors[0].pieces)
    return _game_entries(term)


def _game_entries(term: TermParts) -> int:
    """Return how many numbers a pair takes in the largest array of the term's games."""
    return _state_size(term) * len(gauss_legendre(term.degree, False)[0])


def _state_size(term: TermParts) -> int:
    return sum(piece.state_size for factor in term.factors for piece in factor.pieces)
