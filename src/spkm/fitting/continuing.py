"""A model of an earlier fit as the start of another: a warm start, or the next batch of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm.core.fitted import FittedModel
from spkm.core.model import PreimageModel, Term
from spkm.core.targets import Target, same_meaning
from spkm.kernels import Kernel
from spkm.sources import Scaling


def check_continues(previous: FittedModel, terms: tuple[Term, ...], n_features: int, target: Target) -> None:
    """Raise ValueError if a fit of these sizes cannot go on from the last one."""
    model = previous.model
    kept = [term for term in model.terms if not term.is_linear_part]
    if not same_meaning(previous.target, target):
        (what, before), (_, now) = (_outputs(t) for t in (previous.target, target))
        raise ValueError(
            f"warm_start=True needs the {what} of the last fit, {before}; got {now}. Set warm_start=False to fit anew."
        )
    views = [len(term.views) for term in kept], [len(term.views) for term in terms]
    for what, (before, now) in {"columns": (model.n_features, n_features), "views": views}.items():
        if before != now:
            raise ValueError(
                f"warm_start=True needs the {what} of the last fit, {before}; got {now}. "
                "Set warm_start=False to fit anew."
            )
    for old, new in zip(kept, terms, strict=True):
        if new.n_basis < old.n_basis:
            raise ValueError(
                f"n_basis must be at least that of the last fit, {old.n_basis}, with warm_start=True; "
                f"got {new.n_basis}. Set warm_start=False to fit anew."
            )
        if not np.array_equal(old.columns(n_features), new.columns(n_features)):
            raise ValueError("warm_start=True needs the views of the last fit. Set warm_start=False to fit anew.")


def _outputs(target: Target) -> tuple[str, Any]:
    if target.of_classes:
        return "classes", target.labels.tolist()
    return "outputs", int(target.learned.sum())


def kept_kernels(previous: FittedModel, terms: tuple[Term, ...]) -> list[Kernel] | None:
    """Return the kernels of an earlier fit before any bandwidth was learned; None if others are asked for now."""
    if not same_views(previous.asked, terms):
        return None
    return [view.kernel for term in previous.model.terms if not term.is_linear_part for view in term.views]


def same_views(a: tuple[Term, ...], b: tuple[Term, ...]) -> bool:
    """Whether terms hold views of equal kernels."""
    pairs = zip((view for term in a for view in term.views), (view for term in b for view in term.views), strict=True)
    return all(same_settings(one.kernel, other.kernel) for one, other in pairs)


def same_settings(a: BaseEstimator, b: BaseEstimator) -> bool:
    """Whether two objects are of one class and have equal parameters."""
    if type(a) is not type(b):
        return False
    mine, other = a.get_params(deep=False), b.get_params(deep=False)
    return all(
        same_settings(mine[name], other[name])
        if isinstance(mine[name], BaseEstimator)
        else _equal(mine[name], other[name])
        for name in mine
    )


def _equal(a: object, b: object) -> bool:
    # As objects: NumPy 2.0 does not compare a number with a word.
    return np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object))


def continued_theta(
    previous: FittedModel, model: PreimageModel, scaling: Scaling | None, target: Target, fresh: np.ndarray
) -> np.ndarray:
    """Return the parameters of the last fit on the scales of this one.

    Basis vectors of a term beyond those of the last fit are the last ones of ``fresh``, a theta of this model, with
    weights of zero: the function, and so the objective, is that of the last fit.
    """
    if [term.is_linear_part for term in model.terms] != [term.is_linear_part for term in previous.model.terms]:
        raise ValueError("warm_start=True needs the linear_part of the last fit. Set warm_start=False to fit anew.")
    theta = fresh.copy()
    params, old = model.unpack(theta), previous.model.unpack(previous.theta)
    learned = target.learned
    params.weights[...] = 0.0
    before = previous.basis_vectors
    for (now, rows, places), (was, old_rows, _) in zip(model.layout, previous.model.layout, strict=True):
        for view, k in zip(now.views, places, strict=True):
            columns = np.arange(model.n_features) if view.columns is None else view.columns
            units = None if scaling is None else scaling.columns(columns)
            if now.is_linear_part:
                coefficients: Any = previous.linear_coef()
                basis = (coefficients[:, learned] / target.scale).T * (1.0 if units is None else units.scale)
            else:
                basis = before[old_rows, columns]
                basis = basis if units is None else units.forward_points(basis)
            params.basis[k][: was.n_basis] = basis
            if params.log_metric[k].shape == old.log_metric[k].shape:
                params.log_metric[k][...] = old.log_metric[k]
        weights = old.weights[old_rows][:, learned] / target.scale
        params.weights[rows][: was.n_basis] = np.eye(now.n_basis) if now.is_linear_part else weights
    intercept = old.intercept[learned] + _moved_centre(previous, scaling)[learned]
    params.intercept[...] = (intercept - target.mean) / target.scale
    return theta


def _moved_centre(previous: FittedModel, scaling: Scaling | None) -> np.ndarray:
    """Return what a linear part adds to the intercept where features are centred elsewhere than in the last fit."""
    coefficients = previous.linear_coef()
    if coefficients is None:
        return np.zeros(previous.n_outputs)
    before, now = (0.0 if s is None else s.center for s in (previous.scaling, scaling))
    return np.asarray((np.zeros(previous.n_features) + now - before) @ coefficients)
