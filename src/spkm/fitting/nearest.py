"""Training samples nearest to basis vectors."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from spkm.core.evidence import AnyObjective
from spkm.core.fitted import fitted_terms
from spkm.core.model import PreimageModel
from spkm.core.nearest import distinct_nearest_rows, nearest_rows
from spkm.sources import ArraySource

#: Fitted attributes that name the samples nearest to basis vectors.
NEAREST = ("nearest_samples_", "nearest_distances_")


def moved_to_samples(objective: AnyObjective, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return theta with each basis vector at a near sample, no two at the same one, and which samples these are."""
    source, model = cast(ArraySource, objective.source), objective.model
    rows = distinct_nearest_rows(source, _vector_terms(model, theta))
    samples = source.subset(rows).dense()
    theta = theta.copy()
    params = model.unpack(theta)
    for term, vectors, places in model.layout:
        for view, k in zip(term.views, () if term.is_linear_part else places, strict=False):
            params.basis[k][...] = samples[vectors] if view.columns is None else samples[vectors, view.columns]
    return theta, rows


def nearest_attributes(
    objective: AnyObjective, theta: np.ndarray, rows: np.ndarray | None, picked: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return the training sample nearest to each basis vector and its distance; nothing if ``rows`` is not known.

    ``rows`` are the places of the objective's samples in the user's table; ``picked`` are the samples, if any, that the
    basis vectors are.
    """
    if rows is None:
        return {}
    if picked is not None:
        return dict(zip(NEAREST, (rows[picked], np.zeros(len(picked))), strict=True))
    nearest = nearest_rows(objective.source, _vector_terms(objective.model, theta))
    return dict(zip(NEAREST, (rows[nearest.rows], nearest.distances), strict=True))


def _vector_terms(model: PreimageModel, theta: np.ndarray) -> list[Any]:
    return [term for term in fitted_terms(model, theta) if not term.is_linear_part]
