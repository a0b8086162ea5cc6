"""Expected scores when some features are known, for features that are jointly normal.

If x is normal, so are the unknown features given the known ones, with a mean m and a covariance C. A component of a
model is exp(-(x'Ax - 2b'x + c)) times a polynomial of a sum l'x, A diagonal. With g = Am - b, K = I + 2CA, P = K^-1 C

    E exp(-(x'Ax - 2b'x + c)) = |K|^(-1/2) exp(2 g'Pg - m'Am + 2b'm - c),

and under the weight of the exponential the unknown features are normal with mean m - 2Pg and covariance P, which gives
the moments of l'x. Covariances need no inverse, so they may be singular.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.explain._structure import (
    DotPiece,
    PlainPiece,
    ProductPiece,
    Structure,
    TermParts,
    scaled_rows,
    structure_of,
)
from spkm.explain._table import dense, members_of, model_of, names_of, table_of

MOST_PLAYERS = 12  # of 2^s subsets
SINGULAR = 1e-8  # share of a feature's variance that others leave open, below which they determine it
BLOCK = 2**22  # entries of the arrays of one block of samples


@dataclass(frozen=True)
class Normal:
    """Features that are jointly normal, in the user's units: the background of conditional explanations.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Their means.
    covariance : ndarray of shape (d, d)
        Their covariances.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm.explain import Normal
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Normal.of(X).covariance.shape
    (3, 3)
    """

    mean: np.ndarray
    covariance: np.ndarray

    @staticmethod
    def of(X: Any) -> Normal:
        """Return the normal distribution with means and covariances of samples, a table of numbers without gaps."""
        values = dense(X)
        if values.ndim != 2 or len(values) < 2 or not np.isfinite(values).all():
            raise ValueError("X must be a table of two or more samples with finite numbers.")
        return Normal(values.mean(axis=0), np.atleast_2d(np.cov(values, rowvar=False, bias=True)))

    def given(self, X: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means (n, unknown) and covariance (unknown, unknown) of the other features, given some.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Samples; only their known features are read.
        known : ndarray of bool of shape (d,)
            The features that are known.
        """
        return _given(self.mean, self.covariance, X, known)

    def on_scale(self, model: FittedModel) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of the model's columns, on its scale without the clip."""
        held = np.asarray(model.features)
        mean, covariance = self.mean[held], self.covariance[np.ix_(held, held)]
        if model.scaling is None:
            return mean, covariance
        scale = np.asarray(model.scaling.scale)
        return (mean - model.scaling.center) / scale, covariance / np.outer(scale, scale)


def _given(mean: np.ndarray, covariance: np.ndarray, X: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and covariance of unknown features, given the known ones of samples."""
    free = ~known
    if not free.any():
        return np.zeros((len(X), 0)), np.zeros((0, 0))
    own, across = covariance[np.ix_(known, known)], covariance[np.ix_(free, known)]
    slopes = _slopes(own, across)
    left = covariance[np.ix_(free, free)] - slopes @ across.T
    return mean[free] + (X[:, known] - mean[known]) @ slopes.T, left


def _slopes(own: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Return across own^-1, with a pseudoinverse where known features determine each other."""
    try:
        left = np.square(np.diagonal(np.linalg.cholesky(own)))  # the variance of each, given those before it
        if (left > SINGULAR * np.diagonal(own)).all():
            return np.linalg.solve(own, across.T).T
    except np.linalg.LinAlgError:
        pass
    return across @ np.linalg.pinv(own, hermitian=True)


class ConditionalMeans:
    """E[k(x, u_r) | some columns of x] for the basis vectors of one model.

    Parameters
    ----------
    structure : Structure
        The model, taken apart.
    mean, covariance : ndarray
        The normal distribution of the model's columns.
    """

    def __init__(self, structure: Structure, mean: np.ndarray, covariance: np.ndarray) -> None:
        self.structure, self.mean, self.covariance = structure, mean, covariance
        self.components = [list(_components(term, len(mean))) for term in structure.terms]

    def similarities(self, Z: np.ndarray, seen: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the expected similarities, (n, R).

        Parameters
        ----------
        Z, seen : ndarray of shape (n, columns)
            Samples on the scale of the model, and clipped.
        known : ndarray of bool of shape (columns,)
            The columns that are known.
        """
        m, C = _given(self.mean, self.covariance, Z, known)
        result = np.zeros((len(Z), self.structure.n_basis))
        for term, components in zip(self.structure.terms, self.components, strict=True):
            for part in components:
                result[:, term.rows] += part.expected(seen[:, known], m, C, known)
        return result


@dataclass(frozen=True)
class _Components:
    """Sum over q of amounts_q exp(-(x'A_q x - 2b_q'x + c_q)) p(l'x), for each basis vector; A_q diagonal."""

    amounts: np.ndarray  # (Q,)
    A: np.ndarray  # (Q, columns)
    b: np.ndarray  # (Q, R, columns)
    c: np.ndarray  # (Q, R)
    coefficients: np.ndarray  # of p
    loadings: np.ndarray  # (R, columns)

    def expected(self, x: np.ndarray, m: np.ndarray, C: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the expectation, (n, R), for known columns x, and the others normal with means m and covariance C."""
        free = ~known
        A, b, own = self.A[:, free], self.b[:, :, free], self.b[:, :, known]
        K = np.eye(len(C)) + 2 * C * A[:, None, :]  # (Q, free, free)
        C = np.broadcast_to(C, K.shape)
        P = np.linalg.solve(K, C) if A.any() else C  # K is the identity for polynomials alone
        g = (m * A[:, None])[:, :, None, :] - b[:, None]  # (Q, n, R, free)
        gP = g @ P[:, None]
        exponent = 2 * (gP * g).sum(axis=3) + 2 * (m @ b.transpose(0, 2, 1) + x @ own.transpose(0, 2, 1))
        exponent -= ((m * m) @ A.T + (x * x) @ self.A[:, known].T).T[:, :, None] + self.c[:, None]
        if A.any():
            exponent -= 0.5 * np.linalg.slogdet(K)[1][:, None, None]
        values = self.amounts[:, None, None] * np.exp(exponent)
        if len(self.coefficients) == 1:
            return values.sum(axis=0) * self.coefficients[0]
        l = self.loadings[:, free]  # noqa: E741
        middle = x @ self.loadings[:, known].T + m @ l.T - 2 * (gP * l).sum(axis=3)
        variance = ((l @ P) * l).sum(axis=2)[:, None]
        return (values * _polynomial_mean(self.coefficients, middle, variance)).sum(axis=0)


def _polynomial_mean(coefficients: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return E p(s) for normal s."""
    before, moment = np.zeros_like(mean), np.ones_like(mean)
    total = coefficients[0] * moment
    for order in range(1, len(coefficients)):
        before, moment = moment, mean * moment + (order - 1) * variance * before
        total = total + coefficients[order] * moment
    return total


def _components(term: TermParts, width: int) -> Iterator[_Components]:
    """Yield a term as a sum of components: one piece of every factor, multiplied; mixtures are done together."""
    R = len(term.weights)
    for pieces in product(*[factor.pieces for factor in term.factors]):
        coefficients, loadings = np.ones(1), np.zeros((R, width))
        for piece in pieces:
            if isinstance(piece, DotPiece):
                if len(coefficients) > 1:
                    raise ValueError("background='normal' needs at most one polynomial kernel in a product of views.")
                coefficients = np.trim_zeros(piece.coefficients, "b")
                np.add.at(loadings.T, piece.columns, piece.loadings.T)
        parts = [_exponential(pieces, choice, width, R) for choice in product(*[_numbers(piece) for piece in pieces])]
        amounts, A, b, c = (np.array(values) for values in zip(*parts, strict=True))
        yield _Components(amounts, A, b, c, coefficients if len(coefficients) else np.zeros(1), loadings)


def _exponential(pieces: Any, choice: Any, width: int, R: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return amount, A, b and c of one component of every piece, multiplied."""
    amount, A, b, c = 1.0, np.zeros(width), np.zeros((R, width)), np.zeros(R)
    for piece, q in zip(pieces, choice, strict=True):
        if isinstance(piece, DotPiece):
            continue
        amount *= float(piece.amounts[q])
        for columns, basis, squared, _, _ in piece.parts:
            np.add.at(A, columns, squared[q])
            np.add.at(b.T, columns, (squared[q] * basis).T)
            c += (basis * basis) @ squared[q]
    return amount, A, b, c


def _numbers(piece: Any) -> range:
    absolute = isinstance(piece, ProductPiece) and any(part[3].any() for part in piece.parts)
    if absolute or isinstance(piece, PlainPiece):
        raise ValueError(
            "background='normal' needs kernels of squared distances or inner products (RBF, Matern, RationalQuadratic, "
            "Linear, Polynomial); fit with one of these."
        )
    return range(len(piece.amounts)) if isinstance(piece, ProductPiece) else range(1)


def conditional_shapley(means: ConditionalMeans, Z: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return conditional Shapley values of every similarity, (n, R, s), and the expected similarities, (R,).

    The value of a set of players is the expectation given their values; all 2^s sets are enumerated.
    """
    structure = means.structure
    s = len(structure.read)
    if s > MOST_PLAYERS:
        raise ValueError(
            f"background='normal' needs all subsets of the features that the model reads: at most {MOST_PLAYERS} "
            f"features or groups, this model reads {s}. Select features (selection='strict') or group them."
        )
    result = np.zeros((len(Z), structure.n_basis, s))
    usual = np.zeros(structure.n_basis)
    most = max((len(part.amounts) for parts in means.components for part in parts), default=1)
    step = max(1, BLOCK // max(1, structure.n_basis * Z.shape[1] * most))
    read = np.isin(structure.z_players, structure.read)
    place = np.where(read, np.searchsorted(structure.read, structure.z_players), 0)
    for i in range(0, len(Z), step):
        rows = slice(i, i + step)
        for number in range(2**s):
            inside = (number >> np.arange(s)) & 1 == 1
            value = means.similarities(Z[rows], seen[rows], read & inside[place] if s else read)
            size = int(inside.sum())
            if size:
                result[rows][:, :, inside] += value[:, :, None] / (s * comb(s - 1, size - 1))
            if size < s:
                result[rows][:, :, ~inside] -= value[:, :, None] / (s * comb(s - 1, size))
            if size == 0:
                usual = value[0]
    return result, usual


def unclipped(model: FittedModel, X: Any) -> np.ndarray:
    """Return the model's columns of samples on its scale, without the clip."""
    values = dense(X)[:, np.asarray(model.features)]
    return values if model.scaling is None else (values - model.scaling.center) / model.scaling.scale


def has_closed_form(estimator: Any) -> bool:
    """Whether expected predictions of an estimator are expected scores, of kernels that have a closed form."""
    model = getattr(estimator, "model_", None)  # a pipeline has none
    if not isinstance(model, FittedModel) or model.target.of_classes or model.loss.link != "identity":
        return False
    try:
        for term in structure_of(model, names_of(estimator, model.n_features)).terms:
            list(_components(term, len(model.features)))
    except ValueError:  # a kernel without one
        return False
    return True


def expected_scores(estimator: Any, X: Any, background: Any) -> np.ndarray:
    """Return expected scores of samples with gaps: the unknown features follow from the known ones.

    Parameters
    ----------
    estimator : estimator or FittedModel
        A fitted estimator, or its ``model_``.
    X : array-like of shape (n, d)
        Samples of numbers; NaN is a gap.
    background : Normal, or table of shape (m, d)
        The distribution of the features, or training samples without gaps whose means and covariances it has.

    Returns
    -------
    scores : ndarray of shape (n, m)
        E[f(x) | what is known of x], if features are normal. Samples without gaps have their score.

    Notes
    -----
    A score is expected, not a probability: a sample of which nothing is known has the mean score. The clip of far
    values by the model's scaling is left out for the unknown features.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import expected_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> gaps = X[:5].copy()
    >>> gaps[:, 0] = np.nan
    >>> expected_scores(model, gaps, X).argmax(axis=1)
    array([0, 0, 0, 0, 0])
    """
    model = model_of(estimator)
    values = dense(X)
    if values.ndim != 2 or values.shape[1] != model.n_features:
        raise ValueError(f"X must have {model.n_features} features; got shape {values.shape}.")
    normal = background if isinstance(background, Normal) else Normal.of(background)
    gaps = np.isnan(values)
    whole = table_of(np.where(gaps, normal.mean, values), None, model.n_features, "X")
    names, result = names_of(estimator, model.n_features), []
    patterns, group = np.unique(gaps, axis=0, return_inverse=True)
    for member in members_of(model):
        means = ConditionalMeans(structure_of(member, names), *normal.on_scale(member))
        found = np.empty((len(values), member.n_basis))
        for k, pattern in enumerate(patterns):
            rows = np.flatnonzero(group.reshape(-1) == k)
            known = ~pattern[np.asarray(member.features)]
            found[rows] = means.similarities(unclipped(member, whole[rows]), scaled_rows(member, whole[rows]), known)
        result.append(member.intercept + found @ member.weights)
    return np.hstack(result)
