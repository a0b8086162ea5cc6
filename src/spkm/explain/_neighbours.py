"""Samples and entities of pairs that a model takes for similar, and samples unlike anything it has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_integer
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.core.nearest import cosines
from spkm.explain._structure import blocks, scaled_rows
from spkm.explain._table import dense, entities_of, model_of, table_of, vector_terms

BLOCK = 2**20  # entries of a block of similarities


@dataclass(frozen=True)
class Neighbours:
    """The nearest samples of a reference table, best first.

    Attributes
    ----------
    index : ndarray of shape (n, k)
        Rows of the reference table.
    similarity : ndarray of shape (n, k)
        Kernel between the sample and the neighbour: the mean over the terms of the product of their views' kernels. A
        linear part beside basis vectors does not count.
    distance : ndarray of shape (n, k)
        Distance in the feature space of the kernel, sqrt(k(x, x) + k(y, y) - 2 k(x, y)).
    """

    index: np.ndarray
    similarity: np.ndarray
    distance: np.ndarray


class EntityNeighbours(NamedTuple):
    """Nearest entities on either side: rows of the tables ``left`` and ``right`` of the fit."""

    left: Neighbours
    right: Neighbours


def nearest(estimator: BaseEstimator, X: Any, reference: Any, k: int = 5) -> Neighbours:
    """Return the samples of ``reference`` that are nearest to each of ``X`` in the model's own metric.

    Parameters
    ----------
    estimator : estimator or FittedModel
        A fitted estimator, or its ``model_``.
    X, reference : tables of shape (n, d), (N, d)
        Samples, and those to choose from, such as the training samples.
    k : int, default=5
        How many, at most N.

    Returns
    -------
    neighbours : Neighbours
        Rows of ``reference``, similarities and distances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import nearest
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> nearest(model, X[7:8], X, k=3).index[0, 0]
    np.int64(7)
    """
    model = model_of(estimator)
    X = table_of(X, estimator, model.n_features, "X")
    reference = table_of(reference, estimator, model.n_features, "reference")
    n, count = X.shape[0], reference.shape[0]
    k = min(check_integer("k", k, 1), count)
    tables = [(member, scaled_rows(member, X), scaled_rows(member, reference)) for member in model.members]
    stationary = all(
        view.kernel.stationary for member, _, _ in tables for t in vector_terms(member) for view in t.views
    )
    found = []
    for rows in blocks(n, BLOCK // count):
        of_members = zip(*(_pairs(member, Z[rows], B) for member, Z, B in tables), strict=True)
        values, apart, squares = (np.mean(part, axis=0) for part in of_members)
        # The similarity of far samples differs long after their distance has saturated.
        order = np.lexsort((squares, -values if stationary else np.sqrt(apart)), axis=1)
        found.append(_first_of(order, values, np.sqrt(apart), k))
    parts = zip(*((one.index, one.similarity, one.distance) for one in found), strict=True)
    return Neighbours(*map(np.concatenate, parts))


def familiarity(estimator: BaseEstimator, X: TableLike, background: TableLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the similarity of each sample to the basis vector most like it, and its rank among background samples.

    Parameters
    ----------
    estimator : estimator or FittedModel
        A fitted estimator, or its ``model_``.
    X, background : tables of shape (n, d), (m, d)
        Samples, and samples that are known to be ordinary (the training samples, say).

    Returns
    -------
    similarity : ndarray of shape (n,)
        The largest cosine k(x, u) / sqrt(k(x, x) k(u, u)); k(x, u) itself for stationary kernels.
    rank : ndarray of shape (n,)
        Share of background samples that are at most as similar to their nearest basis vector: near 0 is unlike
        anything seen, and under exchangeability at most p with probability p.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import familiarity
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> similarity, rank = familiarity(model, [[50.0, 50.0, 50.0, 50.0]], X)
    >>> bool(rank[0] < 0.05)
    True
    """
    model = model_of(estimator)
    X = table_of(X, estimator, model.n_features, "X")
    background = table_of(background, estimator, model.n_features, "background")
    largest, usual = (
        np.max([_largest_cosine(member, scaled_rows(member, T)) for member in model.members], axis=0)
        for T in (X, background)
    )
    below = np.searchsorted(np.sort(usual), largest, side="right")
    return largest, (1 + below) / (1 + len(usual))


def nearest_entities(estimator: BaseEstimator, pairs: ArrayLike | None = None, k: int = 5) -> EntityNeighbours:
    """Return the entities of the fit nearest to each basis vector, or to the entities of some pairs.

    A basis vector of an estimator of pairs is a left and a right one; each has neighbours in its own table, by the
    kernel of its side alone.

    Parameters
    ----------
    estimator : fitted estimator of pairs
        Whose entities.
    pairs : array-like of int of shape (n, 2), or (pairs, left, right), default=None
        Pairs whose entities are compared; None are the basis vectors.
    k : int, default=5
        How many, at most all.

    Returns
    -------
    neighbours : EntityNeighbours
        For ``left`` and ``right`` the rows of the tables of the fit, similarities and distances, a row for each basis
        vector or pair.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import PairwiseSPKMRegressor
    >>> from spkm.explain import nearest_entities
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(12, 3)), rng.normal(size=(9, 2))
    >>> pairs = np.array([(i, j) for i in range(12) for j in range(9)])
    >>> y = drugs[pairs[:, 0], 0] * targets[pairs[:, 1], 1]
    >>> model = PairwiseSPKMRegressor(n_basis=3, random_state=0).fit(pairs, y, left=drugs, right=targets)
    >>> nearest_entities(model, k=2).left.index.shape                    # of every basis vector
    (3, 2)
    >>> nearest_entities(model, [(4, 7)], k=1).right.index.tolist()      # of the target of a pair: itself
    [[7]]
    """
    entities = entities_of(estimator)
    model = model_of(estimator)
    if entities is None:
        raise ValueError(f"estimator must be one of pairs; got {type(estimator).__name__}.")
    check_integer("k", k, 1)
    known = entities.like(np.zeros((1, 2), dtype=int), None, None)
    asked = None if pairs is None else table_of(pairs, estimator, model.n_features, "pairs")
    return EntityNeighbours(*(_on_side(model, side, known, asked, k) for side in (0, 1)))


def _largest_cosine(model: FittedModel, Z: np.ndarray) -> np.ndarray:
    return np.asarray(np.max([cosines(term, Z).max(axis=1) for term in vector_terms(model)], axis=0))


def _compared(views: Any, rows: Any, others: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return kernels and squared distances in the feature space of a product of views, (n, N) each.

    Parameters
    ----------
    views : sequence of FittedView
        The views.
    rows, others : sequences of ndarray of shapes (n, width) and (N, width)
        Samples and those that they are compared with, in the columns of each view.
    """
    parts = [
        (kernel(a, b), kernel.diagonal(a)[:, None], kernel.diagonal(b))
        for kernel, a, b in zip((view.kernel.rkhs() for view in views), rows, others, strict=True)
    ]
    values, own, theirs = (np.prod(part, axis=0) for part in zip(*parts, strict=True))
    return values, np.maximum(own + theirs - 2 * values, 0.0)


def _first_of(order: np.ndarray, similarity: np.ndarray, distance: np.ndarray, k: int) -> Neighbours:
    """Return the first k in an order of the columns of similarities and distances."""
    index = order[:, :k]
    return Neighbours(index, *(np.take_along_axis(part, index, axis=1) for part in (similarity, distance)))


def _pairs(model: FittedModel, Z: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kernels, squared distances in feature space and on the scale of the model, (n, N) each."""
    found = []
    for term in vector_terms(model):
        rows, others = ([T[:, view.columns] for view in term.views] for T in (Z, B))
        found.append(_compared(term.views, rows, others))
    values, apart = (np.mean(part, axis=0) for part in zip(*found, strict=True))
    return values, apart, (Z**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * Z @ B.T


def _on_side(model: FittedModel | ModelEnsemble, side: int, known: Any, asked: Any, k: int) -> Neighbours:
    """Return the neighbours on the left (0) or on the right (1)."""
    at = known.left.shape[1]
    members = []
    for member in model.members:
        table, terms = _scaled(member, known, side), []
        chosen = None if asked is None else _scaled(member, asked, side)[asked.pairs[:, side]]
        for term in vector_terms(member):
            views = [view for view in term.views if bool(view.columns[0] >= at) == bool(side)]
            columns = [view.columns - side * at for view in views]
            rows = [view.basis if chosen is None else chosen[:, c] for view, c in zip(views, columns, strict=True)]
            terms.append(_compared(views, rows, [table[:, c] for c in columns]))
        members.append(terms)
    if asked is None:
        found = zip(*(pair for terms in members for pair in terms), strict=True)
        values, apart = (np.concatenate(part) for part in found)
    else:
        values, apart = np.mean([np.mean(terms, axis=0) for terms in members], axis=0)
    order = np.argsort(np.sqrt(apart), axis=1, kind="stable")
    return _first_of(order, values, np.sqrt(apart), k)


def _scaled(member: FittedModel, pairs: ArrayLike, side: int) -> np.ndarray:
    """Return the table of entities of one side as the model gets it, dense and in double precision."""
    scaled = member.scaled(pairs)
    return dense(scaled.right if side else scaled.left)
