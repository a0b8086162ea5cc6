"""Steps of scikit-learn before a model: its scaling takes scalers in, so that explanations are in the user's units.

The names of features in other units show the step that changed them: ``powertransformer(age)``.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from spkm._publish import feature_names
from spkm.core.fitted import Fitted, FittedModel, ModelEnsemble
from spkm.sources import Scaling


def in_units(steps: list[Any], estimator: BaseEstimator) -> tuple[list[Any], Any]:
    """Return the steps before the last scalers, and a fitted estimator that takes what these steps return.

    Parameters
    ----------
    steps : list
        Fitted steps before an estimator.
    estimator : object
        The estimator. It stays as it is if no scaler comes before it.

    Returns
    -------
    steps, estimator : list, object
        The predictions are those of all steps, but for rounding.
    """
    model, names = vars(estimator).get("model_"), None  # a user's pipeline may end with another estimator
    if not isinstance(model, FittedModel | ModelEnsemble):
        return steps, estimator
    kept = [step for step in steps if step not in (None, "passthrough")]
    while kept and (found_map := _map_of(kept[-1])) is not None:
        model, names = _scaled_first(model, *found_map), feature_names(kept.pop())
    if model is estimator.model_:
        return steps, estimator
    found = copy(estimator)
    found.model_ = model
    if names is not None:
        found.feature_names_in_ = names
    return kept, found


def names_after(steps: list[Any], last: object) -> list[str]:
    """Return the names of what fitted steps return; a step that may change units stands before the name.

    A function that does not name what it returns may return a frame, whose names the step after it, ``last`` at the
    end, has seen.
    """
    shown: dict[str, str] = {}
    names: Any = None
    steps = [step for step in steps if step not in (None, "passthrough")]
    for step, following in zip(steps, [*steps[1:], last], strict=True):
        # Steps of other libraries may have no names of their own.
        seen = None if hasattr(step, "get_feature_names_out") else feature_names(following)
        found = [str(name) for name in (step.get_feature_names_out(names) if seen is None else seen)]
        wrap = "{}" if _keeps_units(step) else f"{type(step).__name__.lower()}({{}})"
        given = feature_names(step) if names is None else names
        known = {f"x{j}" for j in range(step.n_features_in_)} if given is None else set(map(str, given))
        shown = {name: wrap.format(shown.get(name, name)) if name in known else name for name in found}
        names = found
    return list(shown.values())


def _keeps_units(step: BaseEstimator) -> bool:
    """Whether a step returns some of its columns as they are, but for what is missing."""
    module = type(step).__module__
    of_ours = module.startswith("spkm.") or isinstance(step, SelectorMixin)
    return of_ours or module.startswith("sklearn.impute") or vars(step).get("func", step) is None


def _map_of(step: BaseEstimator) -> tuple[np.ndarray, np.ndarray] | None:
    """Return center and scale of the map (x - center) / scale that a fitted step is; None of another one."""
    kind, known = type(step), vars(step)
    zeros = np.zeros(known.get("n_features_in_", 0))
    if kind is MinMaxScaler and not step.clip:
        return -step.min_ / step.scale_, 1 / step.scale_
    if kind is MaxAbsScaler and not known.get("clip"):  # older ones have none
        return zeros, step.scale_
    if kind in (StandardScaler, RobustScaler):
        center = (step.mean_ if step.with_mean else None) if kind is StandardScaler else step.center_
        return zeros if center is None else center, zeros + 1 if step.scale_ is None else step.scale_
    return None


def _scaled_first(model: Fitted, center: np.ndarray, scale: np.ndarray) -> Any:
    """Return a model of x that has the scores of ``model`` of (x - center) / scale."""
    if isinstance(model, ModelEnsemble):
        return replace(model, members=tuple(_scaled_first(member, center, scale) for member in model.members))
    samples = None if model.samples is None else model.samples * scale + center
    center, scale, own = center[model.features], scale[model.features], model.scaling
    if own is None:
        d = len(scale)
        return replace(model, scaling=Scaling(center, scale, np.full(d, np.inf), np.zeros(d)), samples=samples)
    scaling = Scaling(center + scale * own.center, scale * own.scale, own.clip, own.middle)
    return replace(model, scaling=scaling, samples=samples)
