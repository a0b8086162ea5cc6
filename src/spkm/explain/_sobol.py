"""Sobol indices: the share of the scores' variance that a feature explains, alone and with others.

Features are taken as independent of one another, each with its own distribution in the samples. Then for a sum of
products f = sum_v g_v prod_j h_vj(x_j), with means m_vj = E h_vj and M_vwj = E h_vj h_wj,

    variance of E[f | x_j]           = var of sum_v g_v h_vj(x_j) prod_{k != j} m_vk
    mean of var[f | all but x_j]     = sum_vw g_v g_w (M_vwj - m_vj m_wj) prod_{k != j} M_vwk
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm._checks import check_integer
from spkm.explain._effects import left_sides
from spkm.explain._games import leave_one_out
from spkm.explain._shapley import is_linear
from spkm.explain._structure import DotPiece, Factor, ProductPiece, Structure, scaled_rows, structure_of
from spkm.explain._table import frames, members_of, model_of, names_of, output_names, table_of

BLOCK = 2**22  # entries of the products of pairs of components held at once


@dataclass(frozen=True)
class SobolIndices:
    """Shares of the variance of the scores, for features that are independent of one another.

    Attributes
    ----------
    first, total : ndarray of shape (d, m)
        Share that the feature explains alone; share that it has a part in. Without interactions they are equal.
    variance : ndarray of shape (m,)
        The variance of the scores under independence.
    exact : bool
        False where ``total`` and the variance were estimated from random samples, as some kernels have no closed form.
    feature_names, output_names : tuple of str
        Names along d and m.
    """

    first: np.ndarray
    total: np.ndarray
    variance: np.ndarray
    exact: bool
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def frame(self, output: int = 0) -> Any:
        """Return a pandas frame of one output: a row per feature."""
        columns = {"first": self.first[:, output], "total": self.total[:, output]}
        return frames().DataFrame(columns, index=list(self.feature_names))


def sobol_indices(
    estimator: Any,
    X: Any,
    *,
    groups: Mapping[str, Any] | None = None,
    n_samples: int = 4096,
    random_state: int = 0,
) -> SobolIndices:
    """Return first-order and total Sobol indices of the scores, features taken as independent.

    Parameters
    ----------
    estimator : estimator or FittedModel
        A fitted estimator, or its ``model_``.
    X : table of shape (n, d)
        Samples that give each feature its distribution.
    groups : dict from a name to columns, default=None
        Columns that are one feature; they keep their joint distribution.
    n_samples, random_state : int, default=4096 and 0
        Random samples (rows of X recombined) for models whose kernels have no closed form for this: polynomials of
        degree 2 and more, mixed terms, and kernels without forms. All others are exact and draw nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spkm import SPKMRegressor
    >>> from spkm.explain import sobol_indices
    >>> X, y = load_diabetes(return_X_y=True)
    >>> indices = sobol_indices(SPKMRegressor(n_basis=3, random_state=0).fit(X, y), X)
    >>> indices.exact, bool((indices.total >= indices.first - 1e-12).all())
    (True, True)
    """
    model = model_of(estimator)
    X = table_of(X, estimator, model.n_features, "X")
    count = check_integer("n_samples", n_samples, 2)
    found = []
    for member in members_of(model):
        structure = structure_of(member, names_of(estimator, model.n_features), groups)
        found.append(_of_member(structure, scaled_rows(member, X), count, np.random.default_rng(random_state)))
    first, total, variance, exact = zip(*found, strict=True)
    return SobolIndices(
        np.hstack(first), np.hstack(total), np.concatenate(variance), all(exact), structure.names, output_names(model)
    )


def _of_member(
    structure: Structure, Z: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return first-order and total indices, (d, m), the variance, (m,), and whether they are exact."""
    pieces = [piece for term in structure.terms for factor in term.factors for piece in factor.pieces]
    exact = True
    if all(isinstance(piece, ProductPiece) for piece in pieces):
        first, total, variance = _of_products(structure, Z)
    elif all(is_linear(term) for term in structure.terms):
        first = total = _main_effects(structure, Z)
        variance = first.sum(axis=0)
    else:
        first, total, variance = _by_samples(structure, Z, count, rng)
        exact = False
    shares = []
    for part in (first, total):
        share = np.zeros((len(structure.names), len(variance)))
        share[structure.read] = np.divide(part, variance, out=np.zeros_like(part), where=variance > 0)
        shares.append(share)
    return shares[0], shares[1], variance, exact


def _main_effects(structure: Structure, Z: np.ndarray) -> np.ndarray:
    """Return var of E[f | x_j], (s, m), for models of which every factor splits."""
    effects = np.zeros((len(structure.read), len(Z), structure.terms[0].weights.shape[1]))
    for term in structure.terms:
        means = [_independent_mean(factor, Z) for factor in term.factors]
        for v, factor in enumerate(term.factors):
            others = np.prod([mean for k, mean in enumerate(means) if k != v], axis=0)
            for local, player in enumerate(factor.players):
                left = left_sides(factor, np.array([local]), Z)
                values = np.einsum("nrc,rc->nr", left, _independent_rest(factor, local, Z)) * others
                effects[np.searchsorted(structure.read, player)] += values @ term.weights
    return effects.var(axis=1)


def _independent_mean(factor: Factor, Z: np.ndarray) -> np.ndarray:
    """Return the mean of a factor over independent players, (R,)."""
    total = np.zeros(len(factor.views[0].basis))
    for piece in factor.pieces:
        state = piece.state(Z, mean=True)[:, 0]
        if isinstance(piece, ProductPiece):
            total = total + np.prod(state, axis=0) @ piece.amounts
        else:
            total = total + _moments(state) @ _scale(piece)
    return total


def _independent_rest(factor: Factor, local: int, Z: np.ndarray) -> np.ndarray:
    """Return the means of the right sides over the other players, independent of one another, (R, c)."""
    sides = []
    for piece in factor.pieces:
        state = np.delete(piece.state(Z, mean=True)[:, 0], local, axis=0)
        if isinstance(piece, ProductPiece):
            sides.append(np.prod(state, axis=0))
            continue
        moments = _moments(state)
        count = len(piece.coefficients)
        derivatives = [moments[:, : count - order] @ _scale(piece)[order:] for order in range(count)]
        sides.append(np.stack(derivatives, axis=1))
    return np.concatenate(sides, axis=1)


def _moments(states: np.ndarray) -> np.ndarray:
    """Return E s^l / l! of a sum of independent parts from those of the parts, (R, p + 1)."""
    count = states.shape[-1]
    total = np.zeros(states.shape[1:])
    total[:, 0] = 1.0
    for part in states:
        longer = total[:, :1] * part
        for order in range(1, count):
            longer[:, order:] += total[:, order : order + 1] * part[:, : count - order]
        total = longer
    return total


def _scale(piece: DotPiece) -> np.ndarray:
    return piece.coefficients * np.cumprod(np.maximum(np.arange(len(piece.coefficients)), 1)).astype(float)


def _of_products(structure: Structure, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return first-order variances, total variances, (s, m), and the variance, (m,), of a sum of products."""
    factors, weights = _components(structure, Z)
    n, s, V = len(Z), len(factors), len(weights)
    means = np.array([h.mean(axis=0) for h in factors]).reshape(s, V)
    outside = leave_one_out(means)
    first = np.array([(h @ (outside[j][:, None] * weights)).var(axis=0) for j, h in enumerate(factors)])
    total = np.zeros((s, weights.shape[1]))
    variance = np.zeros(weights.shape[1])
    step = max(1, BLOCK // max(1, s * V))
    for i in range(0, V, step):
        rows = slice(i, i + step)
        pairs = np.array([h[:, rows].T @ h / n for h in factors])
        squares = np.array([np.outer(mean[rows], mean) for mean in means])
        parts = leave_one_out(pairs) * (pairs - squares)
        total += np.einsum("vo,jvw,wo->jo", weights[rows], parts, weights, optimize=True)
        spread = np.prod(pairs, axis=0) - np.prod(squares, axis=0)
        variance += np.einsum("vo,vw,wo->o", weights[rows], spread, weights, optimize=True)
    return first.reshape(s, -1), total, variance


def _components(structure: Structure, Z: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return h_vj at the samples, a list over players of (n, V), and the weights of the components, (V, m)."""
    tables: list[list[np.ndarray]] = [[] for _ in structure.read]
    weights = []
    for term in structure.terms:
        n_basis = len(term.weights)
        counts = [sum(len(piece.amounts) for piece in factor.pieces) for factor in term.factors]
        choice = np.indices(counts).reshape(len(counts), -1)
        amounts = np.ones(choice.shape[1])
        states = np.ones((len(structure.read), len(Z), n_basis, choice.shape[1]))
        for factor, q in zip(term.factors, choice, strict=True):
            amounts = amounts * np.concatenate([piece.amounts for piece in factor.pieces])[q]
            places = np.searchsorted(structure.read, factor.players)
            states[places] = np.concatenate([piece.state(Z) for piece in factor.pieces], axis=3)[..., q]
        for j, table in enumerate(states):
            tables[j].append(table.reshape(len(Z), -1))
        weights.append((term.weights[:, None, :] * amounts[:, None]).reshape(-1, term.weights.shape[1]))
    return [np.hstack(table) for table in tables], np.vstack(weights)


def _by_samples(
    structure: Structure, Z: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return estimates of the variances by samples with one player exchanged (Saltelli 2010, Jansen 1999)."""
    players = [np.flatnonzero(structure.z_players == player) for player in structure.read]

    def draw() -> np.ndarray:
        rows = np.repeat(Z[:1], count, axis=0)
        for columns in players:
            rows[:, columns] = Z[rng.integers(len(Z), size=count)][:, columns]
        return rows

    def scores(rows: np.ndarray) -> np.ndarray:
        terms = structure.terms
        return sum(np.prod([f.values(rows) for f in term.factors], axis=0) @ term.weights for term in terms)

    A, B = draw(), draw()
    at_a, at_b = scores(A), scores(B)
    first, total = [], []
    for columns in players:
        mixed = A.copy()
        mixed[:, columns] = B[:, columns]
        at_mixed = scores(mixed)
        first.append(np.maximum(((at_b - at_b.mean(axis=0)) * (at_mixed - at_a)).mean(axis=0), 0.0))
        total.append(0.5 * ((at_a - at_mixed) ** 2).mean(axis=0))
    variance = np.vstack([at_a, at_b]).var(axis=0)
    return np.reshape(first, (len(first), -1)), np.reshape(total, (len(total), -1)), variance
