"""Entities of pairs that are nearest to basis vectors, or to the entities of a pair, on each side by itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from spkm._checks import check_integer
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._neighbours import Neighbours
from spkm.explain._table import dense, entities_of, model_of, table_of, vector_terms


class EntityNeighbours(NamedTuple):
    """Nearest entities on either side: rows of the tables ``left`` and ``right`` of the fit."""

    left: Neighbours
    right: Neighbours


def nearest_entities(estimator: BaseEstimator, pairs: ArrayLike | None = None, k: int = 5) -> EntityNeighbours:
    """Return the entities of the fit nearest to each basis vector, or to the entities of some pairs.

    A basis vector of an estimator of pairs is a left and a right one; each has neighbours in its own table, by the
    kernel of its side alone.

    Parameters
    ----------
    estimator : fitted estimator of pairs
        Whose entities.
    pairs : array-like of int of shape (n, 2), or (pairs, left, right), default=None
        Pairs whose entities are looked at; None are the basis vectors.
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


def _on_side(model: FittedModel | ModelEnsemble, side: int, known: Any, asked: Any, k: int) -> Neighbours:
    """Return the neighbours on the left (0) or on the right (1)."""
    at = known.left.shape[1]
    values, apart = [], []
    for member in model.members:
        table = _scaled(member, known)[side]
        per_term = []
        for term in vector_terms(member):
            kernels = [view for view in term.views if bool(view.columns[0] >= at) == bool(side)]
            if asked is None:
                rows = [view.basis for view in kernels]
            else:
                chosen = _scaled(member, asked)[side][asked.pairs[:, side]]
                rows = [chosen[:, view.columns - side * at] for view in kernels]
            per_term.append(_compared(kernels, rows, table, side * at))
        if asked is None:
            values += [k for k, _ in per_term]
            apart += [d for _, d in per_term]
        else:
            values.append(np.mean([k for k, _ in per_term], axis=0))
            apart.append(np.mean([d for _, d in per_term], axis=0))
    joined = np.concatenate if asked is None else lambda parts: np.mean(parts, axis=0)
    similarity, distance = joined(values), np.sqrt(joined(apart))
    order = np.argsort(distance, axis=1, kind="stable")[:, : min(k, similarity.shape[1])]
    pick = [np.take_along_axis(part, order, axis=1) for part in (similarity, distance)]
    return Neighbours(order, *pick)


def _compared(views: list[Any], rows: list[np.ndarray], table: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Return similarities and squared distances in the feature space of the views' product, (n, entities)."""
    similarity: Any = 1.0
    own: Any = 1.0
    theirs: Any = 1.0
    for view, some in zip(views, rows, strict=True):
        kernel, others = view.kernel.rkhs(), table[:, view.columns - at]
        similarity = similarity * kernel(some, others)
        own, theirs = own * kernel.diagonal(some), theirs * kernel.diagonal(others)
    return similarity, np.maximum(own[:, None] + theirs - 2 * similarity, 0.0)


def _scaled(member: FittedModel, pairs: ArrayLike) -> list[np.ndarray]:
    """Return both tables of entities as the model gets them, dense and in double precision."""
    scaled = member.scaled(pairs)
    tables = (scaled.left, scaled.right)
    return [dense(table) for table in tables]
