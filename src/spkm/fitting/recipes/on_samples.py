"""Basis vectors that are training samples, and the training samples nearest to basis vectors.

A free fit says where vectors are wanted. Each moves to the nearest sample in the metric it has learned, and the same
solver goes on from there with the vectors held in place: weights, intercept, bandwidths and a linear part follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spkm.core.fitted import FittedModel, fitted_terms
from spkm.core.nearest import distinct_nearest_rows, nearest_rows
from spkm.core.problem import Problem
from spkm.solvers import Result, Solver

#: Fitted attributes that tell of the samples nearest to basis vectors.
NEAREST = ("nearest_samples_", "nearest_distances_")


class OnSamples(NamedTuple):
    """The result of a fit whose basis vectors are samples, and which samples of the source they are."""

    result: Result
    rows: np.ndarray


def onto_samples(
    problem: Problem,
    objective: Any,
    columns: np.ndarray | None,
    found: Result,
    solver: Solver,
    rng: np.random.Generator,
    on_iteration: Callable[[int, float], bool],
) -> OnSamples:
    """Return the fit that goes on from ``found``, the minimum of ``objective``, with samples as basis vectors.

    Rounds of setting the vectors free and moving them to samples again gained less than their standard error.
    """
    theta, rows = moved_to_samples(objective, found.theta)
    held = problem.continued(found.noise, found.ridge, found.linear_variance).objective(objective.source, columns)
    held.box = _holding_basis(objective.model, objective.box, theta)
    result = solver.minimize(held, held.inside(theta), rng, on_iteration)
    result.theta = held.inside(result.theta)  # a solver of the user's may know nothing of bounds
    result.interrupted, result.by_signal = result.interrupted or found.interrupted, result.by_signal or found.by_signal
    return OnSamples(result, rows)


def moved_to_samples(objective: Any, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return theta with each basis vector at a near sample, no two at the same one, and which samples these are."""
    source, model = objective.source, objective.model
    rows = distinct_nearest_rows(source, _vector_terms(model, theta))
    samples = source.subset(rows).dense()
    theta = theta.copy()
    params = model.unpack(theta)
    row = k = 0
    for term in model.terms:
        for view in term.views:
            if not term.is_linear_part:
                own = samples[row : row + term.n_basis]
                params.basis[k][...] = own if view.columns is None else own[:, view.columns]
            k += 1
        row += term.n_basis
    return theta, rows


def nearest_attributes(
    objective: Any, theta: np.ndarray, rows: np.ndarray | None, picked: np.ndarray | None
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


def with_samples(model: FittedModel, X: Any, rows: np.ndarray) -> FittedModel:
    """Return a fitted model that knows its basis vectors to be the samples ``rows`` of X."""
    samples = X[rows]
    samples = samples.toarray() if hasattr(samples, "toarray") else np.asarray(samples)
    return replace(model, samples=samples.astype(np.float64))


def _vector_terms(model: Any, theta: np.ndarray) -> list[Any]:
    return [term for term in fitted_terms(model, theta) if not term.is_linear_part]


def _holding_basis(
    model: Any, box: tuple[np.ndarray, np.ndarray] | None, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds that hold all basis vectors where theta has them."""
    low, high = box or (np.full(model.n_params, -np.inf), np.full(model.n_params, np.inf))
    low, high = low.copy(), high.copy()
    linear = [term.is_linear_part for term in model.terms for _ in term.views]
    for part in (low, high):
        for bound, basis, free in zip(model.unpack(part).basis, model.unpack(theta).basis, linear, strict=True):
            if not free:
                bound[...] = basis
    return low, high
