"""Models edited by hand: basis vectors dropped or pinned, the other weights solved again.

A change of some weights changes the scores by A d, with A = [k(x, u_1), ..., k(x, u_R), 1] and d the change of weights
and intercept. The entries of d that the user sets are D, the others F; the others make up for the change as well as
they can:

    d_F = -(M_FF + a I)^-1 M_FD d_D,    M = A' W A,

which minimises d' M d + a |d_F|^2. W holds the weights of the samples, which sum to one, so that d' M d is the mean
squared change of the score. For the squared loss and a model at its minimum that is nearly the regression of the
targets on the vectors that are left; for any loss it is the nearest model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spkm._checks import check_integer
from spkm.core.columns import copied
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.core.model import PreimageModel
from spkm.explain._table import model_of
from spkm.fitting.nearest import NEAREST
from spkm.fitting.outcome import joined_attributes, model_attributes
from spkm.tables.read import checked_weight

RIDGE = 1e-6  # of the diagonal of M: weights of vectors that are nearly equal stay near what they were
TINY = 1e-300  # added to it: a vector may be like no sample


def solved_change(M: np.ndarray, fixed: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Return the change of all weights, (n, m), that has the given rows where ``fixed`` and disturbs scores least.

    Parameters
    ----------
    M : ndarray of shape (n, n)
        Weighted products of the columns of A.
    fixed : ndarray of bool of shape (n,)
        Rows that are given.
    change : ndarray of shape (n, m)
        Their change; other rows are not read.
    """
    found = np.where(fixed[:, None], change, 0.0)
    free = ~fixed
    if free.any():
        left = M[np.ix_(free, free)].copy()
        left.flat[:: len(left) + 1] += RIDGE * left.diagonal() + TINY  # by rows: kernel values may differ in size
        found[free] = -cho_solve(cho_factor(left, lower=True), M[np.ix_(free, fixed)] @ change[fixed])
    return found


def edited(
    estimator: BaseEstimator,
    X: Any = None,
    y: Any = None,
    *,
    drop: Sequence[int] = (),
    pin: Mapping[int, Any] | None = None,
    sample_weight: Any = None,
) -> Any:
    """Return a fitted estimator without some basis vectors, or with weights that are given, the others solved again.

    The basis vectors that stay keep their places. Their weights and the intercept change so that the scores change as
    little as possible, by a system of as many equations as there are vectors.

    Parameters
    ----------
    estimator : SPKMClassifier, SPKMRegressor or any other of one table
        A fitted estimator, which is not changed.
    X : table of shape (n_samples, n_features), default=None
        Samples whose scores change least, best those of the fit. If None, the change is smallest in the norm of the
        kernel's Hilbert space, without any samples, and the intercept stays.
    y : targets, default=None
        Targets of X, for the quality before and after.
    drop : sequence of int, default=()
        Rows of ``basis_vectors_`` to leave out.
    pin : dict of int to float or ndarray of shape (n_outputs,), default=None
        Weights of some rows of ``basis_vectors_``, which are kept as given.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    estimator : estimator
        It predicts, explains, saves and exports like any other. ``edit_`` has the rows that were dropped and the
        weights that were pinned, ``score_change``, the root mean squared change of the scores, and with targets
        ``score_before`` and ``score_after``, of the estimator's ``score``. Error bars are kept; the standard deviations
        of ``predict(return_std=True)`` are not.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMRegressor
    >>> from spkm.explain import edited
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(200, 2))
    >>> y = np.sin(X[:, 0])
    >>> model = SPKMRegressor(4, random_state=0).fit(X, y)
    >>> smaller = edited(model, X, y, drop=[3])
    >>> len(model.basis_vectors_), len(smaller.basis_vectors_)
    (4, 3)
    >>> sorted(smaller.edit_)
    ['dropped', 'pinned', 'score_after', 'score_before', 'score_change']
    """
    check_is_fitted(estimator)
    if X is None and (y is not None or sample_weight is not None):
        raise ValueError("y and sample_weight go with samples; X is None. Give X, or leave them out.")
    model = model_of(estimator)
    rows = None if X is None else estimator._rows(X)
    weight = None if X is None else checked_weight(sample_weight, rows)
    dropped, pinned = _checked(model, drop, pin)
    members, first = [], 0
    for k, member in enumerate(model.members):
        own = np.flatnonzero(member.vector_rows)
        places = first + np.arange(len(own))
        first += len(own)
        gone = own[np.isin(places, list(dropped))]
        set_to = {int(own[place - places[0]]): pinned[place][k:] for place in pinned if place in places}
        members.append(_edited_member(member, gone, set_to, rows, weight))
    new = members[0] if model.is_joint else replace(model, members=tuple(members))
    result = _published(estimator, new, dropped)
    result.edit_ = {"dropped": sorted(dropped), "pinned": {place: pinned[place].tolist() for place in sorted(pinned)}}
    if rows is not None:
        change = new.scores(rows) - model.scores(rows)
        result.edit_["score_change"] = float(np.sqrt(np.average(change**2, axis=0, weights=weight).mean()))
    if y is not None:
        result.edit_["score_before"] = float(estimator.score(X, y))
        result.edit_["score_after"] = float(result.score(X, y))
    return result


def _checked(model: Any, drop: Any, pin: Any) -> tuple[set[int], dict[int, np.ndarray]]:
    """Return the rows to leave out, and the weights that are given, (n_outputs,) each."""
    n_vectors = int(model.vector_rows.sum())
    if isinstance(drop, str | int | np.integer) or not np.iterable(drop):
        raise TypeError(f"drop must be a list of rows of basis_vectors_; got {drop!r}.")
    if pin is not None and not isinstance(pin, Mapping):
        raise TypeError(f"pin must be a dict of rows of basis_vectors_ and weights, as {{0: 1.5}}; got {pin!r}.")
    drop, pin = list(drop), dict(pin or {})
    for name, rows in (("drop", drop), ("pin", list(pin))):
        for row in rows:
            check_integer(f"rows of {name}", row, 0)
            if row >= n_vectors:
                raise ValueError(f"{name} must name rows of the {n_vectors} basis vectors, from 0; got {row}.")
    dropped = {int(row) for row in drop}
    both = sorted(dropped & {int(row) for row in pin})
    if both:
        raise ValueError(f"A basis vector is dropped or pinned, not both; got {both} in drop and pin.")
    if not dropped and not pin:
        raise ValueError("drop or pin must name a basis vector; got none.")
    return dropped, {int(row): _weights(row, value, model) for row, value in pin.items()}


def _weights(row: Any, value: Any, model: Any) -> np.ndarray:
    """Return the weight of a pinned vector for every output; a member of several binary models has one of its own."""
    given = np.asarray(value, dtype=np.float64)
    n = model.n_outputs if model.is_joint else 1
    if given.shape not in ((), (n,)) or not np.isfinite(given).all():
        what = "a finite number" if n == 1 else f"{n} finite numbers, one for each output, or one for all"
        raise ValueError(f"pin[{row}] must be {what}; got {value!r}.")
    return np.broadcast_to(given, (model.n_outputs,)).copy()


def _edited_member(
    member: FittedModel, gone: np.ndarray, set_to: dict[int, np.ndarray], rows: object, weight: np.ndarray | None
) -> FittedModel:
    """Return a model without some rows of its weights, and with given weights of others."""
    if not len(gone) and not set_to:
        return member
    if is_monotone(member):
        raise ValueError(
            "The model is monotone by the signs of its weights, which an edit may change. Fit without monotone first."
        )
    for term in member.terms:
        if not term.is_linear_part and len(np.setdiff1d(np.arange(term.rows.start, term.rows.stop), gone)) == 0:
            where = f" of the view {term.name!r}" if term.name else ""
            raise ValueError(f"drop must leave a basis vector{where}; it names all {len(term.weights)}.")
    kept = np.setdiff1d(np.arange(member.n_basis), gone)
    (model, theta), *refits = (
        _without(one.model, _changed(one, gone, set_to, rows, weight), kept) for one in (member, *member.refits)
    )
    samples = None if member.samples is None else member.samples[kept[kept < len(member.samples)]]
    thetas = np.array([theta for _, theta in refits]) if refits else None
    return replace(member, model=model, theta=theta, refit_thetas=thetas, posterior=None, samples=samples)


def is_monotone(member: FittedModel) -> bool:
    """Return whether a model is monotone by construction, by the signs of its weights."""
    return any(view.monotone for _, view in member.model.views)


def _changed(
    member: FittedModel, gone: np.ndarray, set_to: dict[int, np.ndarray], rows: object, weight: np.ndarray | None
) -> np.ndarray:
    """Return theta with the weights of an edit; vectors that go have weight zero."""
    vectors = np.flatnonzero(member.vector_rows)
    wanted = member.weights[vectors].copy()
    fixed = np.zeros(len(vectors) + 1, dtype=bool)
    given: dict[int, Any] = dict.fromkeys(gone.tolist(), 0.0)
    given |= {row: own[: member.n_outputs] for row, own in set_to.items()}
    for row, value in given.items():
        place = np.searchsorted(vectors, row)
        wanted[place], fixed[place] = value, True
    if rows is None or not member.model.fit_intercept:
        fixed[-1] = True
    change = np.vstack([wanted - member.weights[vectors], np.zeros((1, member.n_outputs))])
    change = solved_change(products(member, vectors, rows, weight), fixed, change)
    theta = member.theta.copy()
    params = member.model.unpack(theta)
    params.weights[vectors] += change[:-1]
    params.weights[vectors[fixed[:-1]]] = wanted[fixed[:-1]]
    params.intercept[...] += change[-1]
    return theta


def products(member: FittedModel, vectors: np.ndarray, rows: Any, weight: np.ndarray | None) -> np.ndarray:
    """Return M of the samples; without samples the kernels of the vectors with each other, and 1 for the intercept."""
    if rows is None:
        M = np.zeros((len(vectors) + 1,) * 2)
        M[-1, -1] = 1.0
        place = 0
        for term, (K, _) in zip(member.model.terms, member.model.gram(member.theta), strict=True):
            if not term.is_linear_part:
                M[place : place + len(K), place : place + len(K)] = K
                place += len(K)
        return M
    assert weight is not None
    Phi = member.similarities(rows)[:, vectors].astype(np.float64)
    A = np.hstack([Phi, np.ones((len(Phi), 1))])
    return np.asarray(A.T @ (A * (weight / weight.sum())[:, None]))


def _without(model: PreimageModel, theta: np.ndarray, kept: np.ndarray) -> tuple[PreimageModel, np.ndarray]:
    """Return the model of some of the basis vectors, and its theta."""
    terms, keep_of, first = [], [], 0
    for term in model.terms:
        own = kept[(kept >= first) & (kept < first + term.n_basis)] - first
        keep_of += [own] * len(term.views)
        terms.append(replace(term, n_basis=len(own)))
        first += term.n_basis
    small = replace(model, terms=terms)
    result, params, old = copied(model, theta, small)
    for k, own in enumerate(keep_of):
        params.basis[k][...] = old.basis[k][own]
    params.weights[...] = old.weights[kept]
    return small, result


def _published(estimator: BaseEstimator, model: FittedModel | ModelEnsemble, dropped: set[int]) -> Any:
    """Return a copy of a fitted estimator with another model and the attributes that go with it."""
    found = copy(estimator)
    known = vars(found)
    kept = np.setdiff1d(np.arange(len(estimator.basis_vectors_)), sorted(dropped))
    dtype = estimator.basis_vectors_.dtype
    if isinstance(model, ModelEnsemble):
        ends = np.cumsum([len(part.basis_vectors_) for part in estimator.estimators_])
        starts = ends - [len(part.basis_vectors_) for part in estimator.estimators_]
        parts = [
            _published(part, member, {row - int(a) for row in dropped if a <= row < b})
            for part, member, a, b in zip(estimator.estimators_, model.members, starts, ends, strict=True)
        ]
        known.update(joined_attributes(model, parts))
        return found
    for name in NEAREST:
        if name in known:
            known[name] = known[name][kept]
    known.update({"model_": model, **model_attributes(model, dtype)})
    return found
