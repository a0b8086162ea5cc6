"""Expected scores when some features are known, for features that are jointly normal.

If x is normal, so are the unknown features given the known ones, with a mean m and a covariance C. A component of a
model is exp(-(x'Ax - 2b'x + c)) times a polynomial of a sum l'x, A diagonal. With g = Am - b, K = I + 2CA, P = K^-1 C

    E exp(-(x'Ax - 2b'x + c)) = |K|^(-1/2) exp(2 g'Pg - m'Am + 2b'm - c),

and under the weight of the exponential the unknown features are normal with mean m - 2Pg and covariance P, which gives
the moments of l'x. Covariances need no inverse, so they may be singular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb
from typing import Any

import numpy as np

from spkm._frames import labels_of
from spkm.core.fitted import FittedModel
from spkm.explain._structure import (
    ProductPiece,
    Structure,
    TermParts,
    blocks,
    scaled_rows,
    structure_of,
)
from spkm.explain._table import check_columns, dense, model_of, names_of, table_of, units_of

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
    names : tuple of str, default=None
        Their names, if they are known: samples in frames must have these columns.

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
    names: tuple[str, ...] | None = None

    @staticmethod
    def of(X: Any) -> Normal:
        """Return the normal distribution with means and covariances of samples, a table of numbers without gaps."""
        values = dense(X)
        if values.ndim != 2 or len(values) < 2 or not np.isfinite(values).all():
            raise ValueError("X must be a table of two or more samples with finite numbers.")
        columns = labels_of(X)
        names = None if columns is None else tuple(str(name) for name in columns)
        return Normal(values.mean(axis=0), np.atleast_2d(np.cov(values, rowvar=False, bias=True)), names)

    def given(self, X: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means (n, unknown) and covariance (unknown, unknown) of the other features, given some.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Samples; only their known features are read.
        known : ndarray of bool of shape (d,)
            The features that are known.
        """
        law = _Conditional.of(self.mean, self.covariance, known[None])
        return law.means(X)[0], law.covariance[0]

    def on_scale(self, model: FittedModel, others: Any = ()) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of the model's columns, on its scale without the clip, and of others after them.

        Parameters
        ----------
        model : FittedModel
            The model.
        others : array-like of int, default=()
            Columns that the model does not hold; they may be correlated with those that it does.
        """
        columns, center, scale = self._units(model, others)
        covariance = self.covariance[np.ix_(columns, columns)]
        return (self.mean[columns] - center) / scale, covariance / np.outer(scale, scale)

    def unclipped(self, model: FittedModel, X: Any, others: Any = ()) -> np.ndarray:
        """Return samples in the columns of :meth:`on_scale`."""
        columns, center, scale = self._units(model, others)
        return (dense(X)[:, columns] - center) / scale

    def _units(self, model: FittedModel, others: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return columns, center and scale; other columns than those of the model have their own deviations."""
        (center, scale, _, _), others = units_of(model), np.array(others, dtype=int)
        spread = np.sqrt(np.diagonal(self.covariance)[others])
        columns = np.concatenate([np.asarray(model.features, dtype=int), others])
        return columns, np.append(center, self.mean[others]), np.append(scale, np.where(spread > 0, spread, 1.0))


@dataclass(frozen=True)
class _Conditional:
    """The normal distributions of unknown columns given the known ones, for S sets of as many known columns each."""

    mean: np.ndarray  # of all columns
    known: np.ndarray  # (S, known)
    free: np.ndarray  # (S, free)
    slopes: np.ndarray  # (S, free, known)
    covariance: np.ndarray  # (S, free, free)

    @staticmethod
    def of(mean: np.ndarray, covariance: np.ndarray, known: np.ndarray) -> _Conditional:
        """Return the distributions for masks of known columns, (S, columns)."""
        inside, outside = (np.nonzero(mask)[1].reshape(len(mask), -1) for mask in (known, ~known))
        own = covariance[inside[:, :, None], inside[:, None]]
        across = covariance[outside[:, :, None], inside[:, None]]
        slopes = _slopes(own, across)
        left = covariance[outside[:, :, None], outside[:, None]] - slopes @ across.transpose(0, 2, 1)
        return _Conditional(mean, inside, outside, slopes, left)

    def means(self, X: np.ndarray) -> np.ndarray:
        """Return the means of the unknown columns of samples, (S, n, free)."""
        apart = self.values(X) - self.mean[self.known][:, None]
        return self.mean[self.free][:, None] + apart @ self.slopes.transpose(0, 2, 1)

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return the known columns of samples, (S, n, known)."""
        return X[:, self.known].transpose(1, 0, 2)


def _slopes(own: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Return across own^-1 of each set, with a pseudoinverse where known features determine each other."""
    diagonal = np.diagonal(own, axis1=1, axis2=2)
    try:
        left = np.square(np.diagonal(np.linalg.cholesky(own), axis1=1, axis2=2))  # of each, given those before it
        if (left > SINGULAR * diagonal).all():
            return np.linalg.solve(own, across.transpose(0, 2, 1)).transpose(0, 2, 1)
    except np.linalg.LinAlgError:
        pass
    if len(own) > 1:
        return np.concatenate([_slopes(own[k : k + 1], across[k : k + 1]) for k in range(len(own))])
    return across @ np.linalg.pinv(own, hermitian=True)


@dataclass(frozen=True)
class ConditionalMeans:
    """E[k(x, u_r) | some columns of x] for the basis vectors of one model."""

    structure: Structure  # the model, taken apart
    mean: np.ndarray  # of the normal distribution of the model's columns, and maybe others after them
    covariance: np.ndarray

    @cached_property
    def components(self) -> list[list[_Components]]:
        """The components of every term."""
        return [list(_components(term, len(self.mean))) for term in self.structure.terms]

    @property
    def width(self) -> int:
        """Entries of the arrays of one sample and one set of columns."""
        most = max((len(part.amounts) for parts in self.components for part in parts), default=1)
        return max(1, self.structure.n_basis * len(self.mean) * most)

    def of_sets(self, Z: np.ndarray, seen: np.ndarray, known: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield some of the samples and their expected similarities, (S, n, R).

        Parameters
        ----------
        Z, seen : ndarray of shape (n, columns)
            Samples on the scale of the model, and clipped.
        known : ndarray of bool of shape (S, columns)
            Sets of as many known columns each.
        """
        law = _Conditional.of(self.mean, self.covariance, known)
        terms = zip(self.structure.terms, self.components, strict=True)
        prepared = [(term.rows, part.given(law)) for term, parts in terms for part in parts]
        for rows in blocks(len(Z), len(Z) if len(known) == 1 else BLOCK // (self.width * len(known))):
            x, m = law.values(seen[rows]), law.means(Z[rows])
            result = np.zeros((len(known), len(Z[rows]), self.structure.n_basis))
            for places, part in prepared:
                result[:, :, places] += part(x, m)
            yield rows, result


@dataclass(frozen=True)
class _Components:
    """Sum over q of amounts_q exp(-(x'A_q x - 2b_q'x + c_q)) p(l'x), for each basis vector; A_q diagonal."""

    amounts: np.ndarray  # (Q,)
    A: np.ndarray  # (Q, columns)
    b: np.ndarray  # (Q, R, columns)
    c: np.ndarray  # (Q, R)
    coefficients: np.ndarray  # of p
    loadings: np.ndarray  # (R, columns)

    def given(self, law: _Conditional) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return the expectations given S sets of columns.

        They are a function, to (S, n, R), of the known columns x, (S, n, known), and the means m of others, (S, n,
        free).
        """
        A, A_known = self.A[:, law.free], self.A[:, law.known]  # (Q, S, free), (Q, S, known)
        K = np.eye(law.free.shape[1]) + 2 * law.covariance * A[:, :, None]
        C = np.broadcast_to(law.covariance, K.shape)
        curved = bool(A.any())  # else K is the identity: polynomials alone
        P = np.linalg.solve(K, C) if curved else C
        half = 0.5 * np.linalg.slogdet(K)[1] if curved else np.zeros(K.shape[:2])  # (Q, S)
        b, b_known = (self.b[:, :, own].transpose(0, 2, 1, 3) for own in (law.free, law.known))  # (Q, S, R, free)
        l, l_known = (self.loadings[:, own].transpose(1, 0, 2) for own in (law.free, law.known))  # noqa: E741

        def expected(x: np.ndarray, m: np.ndarray) -> np.ndarray:
            g = (m * A[:, :, None])[:, :, :, None] - b[:, :, None]  # (Q, S, n, R, free)
            gP = g @ P[:, :, None]
            exponent = 2 * np.einsum("qsnrf,qsnrf->qsnr", gP, g)
            exponent += 2 * (m @ b.swapaxes(2, 3) + x @ b_known.swapaxes(2, 3))
            size = np.einsum("snf,qsf->qsn", m * m, A) + np.einsum("snk,qsk->qsn", x * x, A_known)
            exponent -= size[..., None] + self.c[:, None, None] + half[:, :, None, None]
            if len(self.coefficients) == 1:
                return np.tensordot(self.amounts, np.exp(exponent), axes=1) * self.coefficients[0]
            middle = x @ l_known.swapaxes(1, 2) + m @ l.swapaxes(1, 2)
            middle = middle - 2 * np.einsum("qsnrf,srf->qsnr", gP, l)
            variance = ((l @ P) * l).sum(axis=3)[:, :, None]
            moments = _polynomial_mean(self.coefficients, middle, variance)
            return np.tensordot(self.amounts, np.exp(exponent) * moments, axes=1)

        return expected


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
        coefficients, loadings, mixtures = np.ones(1), np.zeros((R, width)), []
        for piece in map(_checked, pieces):
            if isinstance(piece, ProductPiece):
                mixtures.append(piece)
                continue
            if len(coefficients) > 1:
                raise ValueError("background='normal' needs at most one polynomial kernel in a product of views.")
            coefficients = np.trim_zeros(piece.coefficients, "b")
            np.add.at(loadings.T, piece.columns, piece.loadings.T)
        choices = product(*[range(piece.n_products) for piece in mixtures])
        parts = [_exponential(mixtures, choice, width, R) for choice in choices]
        amounts, A, b, c = (np.array(values) for values in zip(*parts, strict=True))
        yield _Components(amounts, A, b, c, coefficients if len(coefficients) else np.zeros(1), loadings)


def _exponential(mixtures: Any, choice: Any, width: int, R: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return amount, A, b and c of one component of every mixture, multiplied."""
    amount, A, b, c = 1.0, np.zeros(width), np.zeros((R, width)), np.zeros(R)
    for piece, q in zip(mixtures, choice, strict=True):
        amount *= float(piece.amounts[q])
        for columns, basis, squared, _, _ in piece.parts:
            np.add.at(A, columns, squared[q])
            np.add.at(b.T, columns, (squared[q] * basis).T)
            c += (basis * basis) @ squared[q]
    return amount, A, b, c


def _checked(piece: Any) -> Any:
    """Return a piece that has a closed form under a normal distribution."""
    absolute = isinstance(piece, ProductPiece) and any(part[3].any() for part in piece.parts)
    if absolute or not piece.exact_without_players:
        raise ValueError(
            "background='normal' needs kernels of squared distances or inner products (RBF, Matern, RationalQuadratic, "
            "Linear, Polynomial); fit with one of these."
        )
    return piece


def conditional_shapley(means: ConditionalMeans, Z: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return conditional Shapley values of every similarity, (n, R, s).

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
    read = np.isin(structure.z_players, structure.read)
    place = np.where(read, np.searchsorted(structure.read, structure.z_players), 0)
    inside = (np.arange(2**s)[:, None] >> np.arange(s)) & 1 == 1
    share = _shares(inside)
    known = read & inside[:, place] if s else np.broadcast_to(read, (1, len(read)))
    counts, most = known.sum(axis=1), max(1, BLOCK // means.width)
    for count in np.unique(counts):  # sets of as many known columns are done together
        alike = np.flatnonzero(counts == count)
        for sets in np.split(alike, range(most, len(alike), most)):
            for rows, values in means.of_sets(Z, seen, known[sets]):
                result[rows] += np.einsum("snr,sp->nrp", values, share[sets])
    return result


def _shares(inside: np.ndarray) -> np.ndarray:
    """Return the factors of the values of all sets of players in the Shapley value of each, (sets, s)."""
    s, size = inside.shape[1], inside.sum(axis=1)
    ways = np.array([comb(s - 1, k) for k in range(s)] or [1], dtype=float)
    present, absent = ways[np.maximum(size - 1, 0)], ways[np.minimum(size, max(s - 1, 0))]
    return np.where(inside, 1.0 / present[:, None], -1.0 / absent[:, None]) / max(s, 1)


def alike(gaps: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each pattern of gaps, (d,), and the samples that have it."""
    patterns, group = np.unique(gaps, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        yield pattern, np.flatnonzero(group.reshape(-1) == k)


def has_closed_form(estimator: Any) -> bool:
    """Whether expected predictions of an estimator are expected scores, of kernels that have a closed form."""
    model = vars(estimator).get("model_")  # a pipeline has none
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
    check_columns(labels_of(X), estimator, "X")
    check_columns(normal.names, estimator, "background")
    if len(normal.mean) != model.n_features:
        raise ValueError(f"background must have {model.n_features} features; got {len(normal.mean)}.")
    gaps = np.isnan(values)
    whole = table_of(np.where(gaps, normal.mean, values), None, model.n_features, "X")
    names, result = names_of(estimator, model.n_features), []
    for member in model.members:
        others = np.setdiff1d(np.arange(model.n_features), member.features)  # known ones inform on the unknown
        means = ConditionalMeans(structure_of(member, names), *normal.on_scale(member, others))
        Z = normal.unclipped(member, whole, others)
        seen = np.hstack([scaled_rows(member, whole), Z[:, len(member.features) :]])
        found = np.empty((len(values), member.n_basis))
        for gap, rows in alike(gaps):
            known = ~gap[np.append(member.features, others)]
            _, found[rows] = next(means.of_sets(Z[rows], seen[rows], known[None]))
        result.append(member.intercept + found @ member.weights)
    return np.hstack(result)
