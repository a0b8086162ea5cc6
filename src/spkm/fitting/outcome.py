"""What a fit found, and the fitted attributes that tell of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Outcome:
    """What a fit found: a model and how it went; ``attributes`` hold what only some fits report."""

    model: Any
    n_iter: int
    objective: float
    trace: np.ndarray
    by_signal: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)


def model_attributes(model: Any, dtype: Any) -> dict[str, Any]:
    """Return the fitted attributes that tell no more than a model does, in the precision of the samples."""
    rows = model.vector_rows
    known = {"basis_vectors_": model.basis_vectors[rows].astype(dtype), "selected_features_": model.features_read()}
    if not model.is_joint:  # the others are those of each member by itself
        return known
    if model.n_outputs:
        flat = not model.target.two_dimensional
        weights, linear = model.weights[rows], model.linear_coef()
        known["dual_coef_"] = (weights[:, 0] if flat else weights).astype(dtype)
        known["intercept_"] = dtype.type(model.intercept[0]) if flat else model.intercept.astype(dtype)
        if linear is not None:
            known["linear_coef_"] = (linear[:, 0] if flat else linear).astype(dtype)
    return {**known, "kernel_": model.kernel, "relevances_": model.relevances().astype(dtype)}


def attributes_of(outcome: Outcome, dtype: Any) -> dict[str, Any]:
    """Return the fitted attributes of an estimator of one model."""
    return {
        "model_": outcome.model,
        **model_attributes(outcome.model, dtype),
        "n_iter_": outcome.n_iter,
        "objective_": outcome.objective,
        "objective_path_": outcome.trace,
        **{name: value for name, value in outcome.attributes.items() if name.endswith("_")},
    }
