"""Outcomes of fits, and their fitted attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spkm.core.fitted import Fitted, ModelEnsemble
from spkm.fitting.nearest import NEAREST


@dataclass(frozen=True)
class Outcome:
    """A fitted model and how its fit went; ``attributes`` hold what only some fits report."""

    model: Any
    n_iter: int
    objective: float
    trace: np.ndarray
    by_signal: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)
    stationarity: float = np.nan


@dataclass(frozen=True)
class Parts:
    """A model of several binary problems, with the outcome and the seed of each."""

    model: ModelEnsemble
    outcomes: list[Outcome]
    seeds: list[int]


def model_attributes(model: Fitted, dtype: np.dtype) -> dict[str, Any]:
    """Return the fitted attributes that come from a model alone, in the precision of the samples."""
    rows = model.vector_rows
    known = {"basis_vectors_": model.basis_vectors[rows].astype(dtype), "selected_features_": model.features_read()}
    if isinstance(model, ModelEnsemble):  # the others are those of each member by itself
        return known
    if model.n_outputs:
        flat = not model.target.two_dimensional
        weights, linear = model.weights[rows], model.linear_coef()
        known["dual_coef_"] = (weights[:, 0] if flat else weights).astype(dtype)
        known["intercept_"] = dtype.type(model.intercept[0]) if flat else model.intercept.astype(dtype)
        if linear is not None:
            known["linear_coef_"] = (linear[:, 0] if flat else linear).astype(dtype)
    return {**known, "kernel_": model.kernel, "relevances_": model.relevances().astype(dtype)}


def attributes_of(outcome: Outcome, dtype: np.dtype) -> dict[str, Any]:
    """Return the fitted attributes of an estimator of one model."""
    return {
        "model_": outcome.model,
        **model_attributes(outcome.model, dtype),
        "n_iter_": outcome.n_iter,
        "objective_": outcome.objective,
        "objective_path_": outcome.trace,
        "stationarity_": outcome.stationarity,
        **{name: value for name, value in outcome.attributes.items() if name.endswith("_")},
    }


def joined_attributes(model: ModelEnsemble, parts: list[Any]) -> dict[str, Any]:
    """Return the fitted attributes of several binary problems: those of their estimators, one after another."""
    sizes = [len(part.basis_vectors_) for part in parts]
    attributes: dict[str, Any] = {
        "model_": model,
        "estimators_": parts,
        "basis_vectors_": np.concatenate([part.basis_vectors_ for part in parts]),
        **{name: np.concatenate([vars(part)[name] for part in parts]) for name in NEAREST},
        "basis_problem_": np.repeat(np.arange(len(parts)), sizes),
        "dual_coef_": np.concatenate([part.dual_coef_ for part in parts]),
        "intercept_": np.array([part.intercept_ for part in parts]),
        "selected_features_": model.features_read(),
        "n_iter_": max(part.n_iter_ for part in parts),
        "stationarity_": max(part.stationarity_ for part in parts),
    }
    if model.pairs is not None:
        attributes["class_pairs_"] = model.target.labels[model.pairs]
    if "feature_importances_" in vars(parts[0]):
        attributes["feature_importances_"] = np.mean([part.feature_importances_ for part in parts], axis=0)
    return attributes
