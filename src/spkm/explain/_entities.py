"""Entities of pairs that are nearest to basis vectors, or to the entities of a pair, on each side by itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from spkm._checks import check_integer
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._neighbours import Neighbours, compared, first_of
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
    members = []
    for member in model.members:
        table, terms = _scaled(member, known, side), []
        chosen = None if asked is None else _scaled(member, asked, side)[asked.pairs[:, side]]
        for term in vector_terms(member):
            views = [view for view in term.views if bool(view.columns[0] >= at) == bool(side)]
            columns = [view.columns - side * at for view in views]
            rows = [view.basis if chosen is None else chosen[:, c] for view, c in zip(views, columns, strict=True)]
            terms.append(compared(views, rows, [table[:, c] for c in columns]))
        members.append(terms)
    if asked is None:
        found = zip(*(pair for terms in members for pair in terms), strict=True)
        values, apart = (np.concatenate(part) for part in found)
    else:
        values, apart = np.mean([np.mean(terms, axis=0) for terms in members], axis=0)
    order = np.argsort(np.sqrt(apart), axis=1, kind="stable")
    return first_of(order, values, np.sqrt(apart), k)


def _scaled(member: FittedModel, pairs: ArrayLike, side: int) -> np.ndarray:
    """Return the table of entities of one side as the model gets it, dense and in double precision."""
    scaled = member.scaled(pairs)
    return dense(scaled.right if side else scaled.left)
