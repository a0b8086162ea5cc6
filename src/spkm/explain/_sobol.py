"""Sobol indices: the share of the scores' variance that a feature explains, alone and with others.

Features are taken as independent of one another, each with its own distribution in the samples. Then for a sum of
products f = sum_v g_v prod_j h_vj(x_j), with means m_vj = E h_vj and M_vwj = E h_vj h_wj,

    variance of E[f | x_j]           = var of sum_v g_v h_vj(x_j) prod_{k != j} m_vk
    mean of var[f | all but x_j]     = sum_vw g_v g_w (M_vwj - m_vj m_wj) prod_{k != j} M_vwk

A polynomial of s = sum_j y_j is of this form, too: s^l is l! times the coefficient of z^l in prod_j exp(z y_j), so h_vj
becomes a power series in z, cut off at the degree, and products become products of power series.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_integer
from spkm.explain._structure import DotPiece, ProductPiece, Structure, blocks, scaled_rows, structure_of
from spkm.explain._table import Pipeline, frames, output_names

BLOCK = 2**22  # entries of the products of pairs of components held at once
ROUNDING = 1e-14  # of the sum of the sizes of all products: a variance below it is none
MOST_WORK = 4e8  # products of pairs of components, a few seconds; mixtures of several views have millions of pairs


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


def shares_of_variance(indices: SobolIndices) -> np.ndarray:
    """Return the share of the variance that each feature has a part in, the mean over outputs by their variances."""
    return indices.total @ indices.variance / max(indices.variance.sum(), 1e-300)


def sobol_indices(
    estimator: BaseEstimator,
    X: TableLike,
    *,
    groups: Mapping[str, Any] | None = None,
    n_samples: int = 4096,
    random_state: int = 0,
) -> SobolIndices:
    """Return first-order and total Sobol indices of the scores, features taken as independent.

    Parameters
    ----------
    estimator : estimator, pipeline or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``.
    X : table of shape (n, d)
        Samples that give each feature its distribution.
    groups : dict from a name to columns, default=None
        Columns that are one feature; they keep their joint distribution. After a TableEncoder the columns of its
        table, unless others are given.
    n_samples, random_state : int, default=4096 and 0
        Random samples (rows of X recombined) for models that have no closed form for this: kernels without forms,
        products of two polynomials of different views, and products of mixtures with too many components, such as
        those of two views with Matern kernels. All others are exact and draw nothing.

    Returns
    -------
    indices : SobolIndices
        First-order and total indices, 0 for scores that do not vary.

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
    pipeline = Pipeline.of(estimator)
    model, X, groups = pipeline.model, pipeline.rows(X), pipeline.groups(groups)
    count = check_integer("n_samples", n_samples, 2)
    found = []
    for member in model.members:
        structure = structure_of(member, pipeline.names, groups)
        found.append(_of_member(structure, scaled_rows(member, X), count, np.random.default_rng(random_state)))
    first, total, variance, exact = zip(*found, strict=True)
    return SobolIndices(
        np.hstack(first), np.hstack(total), np.concatenate(variance), all(exact), structure.names, output_names(model)
    )


def _of_member(
    structure: Structure, Z: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return first-order and total indices, (d, m), the variance, (m,), and whether they are exact."""
    if len(structure.read) == 0:
        none = np.zeros((len(structure.names), structure.terms[0].weights.shape[1]))
        return none, none, none[0], True
    components = _components(structure)
    if components is not None and components.work > MOST_WORK:
        components = None
    if components is None:
        first, total, variance = _by_samples(structure, Z, count, rng)
    else:
        first, total, variance = _of_products(components, Z)
    shares = np.zeros((2, len(structure.names), len(variance)))
    found = np.array([first, total])
    shares[:, structure.read] = np.divide(found, variance, out=np.zeros_like(found), where=variance > 0)
    return shares[0], shares[1], variance, components is not None


@dataclass(frozen=True)
class _Components:
    """A model as a sum of V products of power series, A coefficients each, one series for every player."""

    read: np.ndarray  # the players, (s,)
    choices: list[tuple[slice, tuple[tuple[Any, int], ...]]]  # places of components; piece and product of each factor
    scales: np.ndarray  # factors of the coefficients of the product, which are then summed, (V, A)
    weights: np.ndarray  # the weights g_v, (V, m)

    @property
    def work(self) -> float:
        """The number of products of pairs of components."""
        V, A = self.scales.shape
        return float(V) ** 2 * len(self.read) * A**4

    def tables(self, Z: np.ndarray) -> np.ndarray:
        """Return the series at some samples, (s, n, V, A)."""
        result = np.zeros((len(self.read), len(Z), *self.scales.shape))
        result[..., 0] = 1.0
        states: dict[int, np.ndarray] = {}
        for rows, choice in self.choices:
            for piece, q in choice:
                if id(piece) not in states:
                    states[id(piece)] = piece.state(Z)
                places = np.searchsorted(self.read, piece.players)
                if isinstance(piece, DotPiece):
                    result[places, :, rows, : len(piece.coefficients)] = states[id(piece)]
                else:
                    result[places, :, rows, 0] = states[id(piece)][..., q]
        return result

    def blocks(self, Z: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the tables of some samples after others."""
        return (self.tables(Z[rows]) for rows in blocks(len(Z), BLOCK // max(1, len(self.read) * self.scales.size)))


def _of_products(components: _Components, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return first-order variances, total variances, (s, m), and the variance, (m,)."""
    scales, weights = components.scales, components.weights
    (V, A), n, s = scales.shape, len(Z), len(components.read)
    means: Any = sum(tables.sum(axis=1) for tables in components.blocks(Z)) / n  # (s, V, A)
    total, variance, size = (np.zeros((*rows, weights.shape[1])) for rows in ((s,), (), ()))
    for rows in blocks(V, BLOCK // max(1, s * V * A * A)):
        both = scales[rows, None, :, None] * scales[None, :, None, :]
        pairs: Any = sum(np.array([_pair_sums(table, rows) for table in tables]) for tables in components.blocks(Z)) / n
        squares = means[:, rows, None, :, None] * means[:, None, :, None, :]
        for j, rest in enumerate(_without_each(pairs, 2)):
            total[j] += _weighted(both * _times(rest, pairs[j] - squares[j], 2), rows, weights)
        second, first = both * _product(pairs, 2), both * _product(squares, 2)
        variance += _weighted(second, rows, weights) - _weighted(first, rows, weights)
        size += _weighted(np.abs(second), rows, np.abs(weights))
    variance = np.where(variance > ROUNDING * size, variance, 0.0)
    return _main_variances(components, Z, means), total, variance


def _weighted(series: np.ndarray, rows: slice, weights: np.ndarray) -> np.ndarray:
    """Return the sums over pairs of components of their weights and all coefficients, (m,)."""
    return np.einsum("vo,vw,wo->o", weights[rows], series.sum(axis=(2, 3)), weights, optimize=True)


def _main_variances(components: _Components, Z: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the variances of E[f | x_j], (s, m)."""
    scales, weights = components.scales, components.weights
    V, A = scales.shape
    effects = []
    for rest in _without_each(means, 1):
        # sum_l scale_l (h rest)_l = sum_a h_a (sum_b scale_{a+b} rest_b)
        after = np.stack([(scales[:, a:] * rest[:, : A - a]).sum(axis=1) for a in range(A)], axis=1)
        effects.append((after[:, :, None] * weights[:, None, :]).reshape(V * A, -1))
    middle = (_product(means, 1) * scales).sum(axis=1) @ weights
    result = np.zeros((len(effects), weights.shape[1]))
    for tables in components.blocks(Z):
        for j, effect in enumerate(effects):
            result[j] += ((tables[j].reshape(-1, V * A) @ effect - middle) ** 2).sum(axis=0)
    return result / len(Z)


def _pair_sums(table: np.ndarray, rows: slice) -> np.ndarray:
    """Return the sums of h_v h_w over the samples, (rows, V, A, A)."""
    n, V, A = table.shape
    part = table[:, rows]
    products = part.reshape(n, -1).T @ table.reshape(n, -1)
    return products.reshape(part.shape[1], A, V, A).transpose(0, 2, 1, 3)


def _times(x: np.ndarray, y: np.ndarray, variables: int) -> np.ndarray:
    """Return the product of power series in one or two variables, along the last axes, cut off at their lengths."""
    A = x.shape[-1]
    if A == 1:
        return x * y
    result = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    if variables == 1:
        for i in range(A):
            result[..., i:] += x[..., i, None] * y[..., : A - i]
        return result
    for i in range(A):
        for k in range(A):
            result[..., i:, k:] += x[..., i, k, None, None] * y[..., : A - i, : A - k]
    return result


def _product(series: np.ndarray, variables: int) -> np.ndarray:
    result = series[0]
    for other in series[1:]:
        result = _times(result, other, variables)
    return result


def _without_each(series: np.ndarray, variables: int) -> Iterator[np.ndarray]:
    """Yield the product of all series but one, for each of them."""
    one = np.zeros(series.shape[1:])
    one.reshape(*one.shape[: one.ndim - variables], -1)[..., 0] = 1.0
    after = [one]
    for other in series[:0:-1]:
        after.append(_times(after[-1], other, variables))
    before = one
    for own in series:
        yield _times(before, after.pop(), variables)
        before = _times(before, own, variables)


def _components(structure: Structure) -> _Components | None:
    """Return the model as a sum of products of power series; None if it is none.

    A component takes one part of every factor of a term: a product of a mixture, or a polynomial, at most one in all.
    """
    choices, weights, polynomials = [], [], []
    row = 0
    for term in structure.terms:
        parts = [[(piece, q) for piece in f.pieces for q in range(piece.n_products)] for f in term.factors]
        for choice in product(*parts):
            dots = [piece for piece, _ in choice if isinstance(piece, DotPiece)]
            if len(dots) > 1 or not all(piece.exact_without_players for piece, _ in choice):
                return None
            amounts = [piece.amounts[q] for piece, q in choice if isinstance(piece, ProductPiece)]
            choices.append((slice(row, row + len(term.weights)), choice))
            weights.append(term.weights * np.prod(amounts))
            polynomials += [dots[0].coefficients if dots else np.ones(1)] * len(term.weights)
            row += len(term.weights)
    scales = np.zeros((row, max(map(len, polynomials))))
    for scale, coefficients in zip(scales, polynomials, strict=True):
        count = len(coefficients)
        scale[:count] = coefficients * np.cumprod(np.maximum(np.arange(count), 1))
    return _Components(structure.read, choices, scales, np.vstack(weights))


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
        return sum(term.values(rows) @ term.weights for term in structure.terms)

    A, B = draw(), draw()
    at_a, at_b = scores(A), scores(B)
    first, total = np.zeros((2, len(players), at_a.shape[1]))
    for k, columns in enumerate(players):
        mixed = A.copy()
        mixed[:, columns] = B[:, columns]
        at_mixed = scores(mixed)
        first[k] = np.maximum(((at_b - at_b.mean(axis=0)) * (at_mixed - at_a)).mean(axis=0), 0.0)
        total[k] = 0.5 * ((at_a - at_mixed) ** 2).mean(axis=0)
    return first, total, np.vstack([at_a, at_b]).var(axis=0)
