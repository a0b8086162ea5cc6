"""Fewer basis vectors, by an l1 penalty on the weights, or more, beside those that are there."""

from __future__ import annotations

import numpy as np

from spkm.penalties import RowL2
from spkm.selection._elimination import FIRST_ITERATIONS, Submodel, fit_submodel
from spkm.selection._sparse_path import FIRST_SIZE
from spkm.solvers import proximal_descent
from spkm.sources import ArraySource

ITERATIONS = 200


def prune(model: Submodel, source: ArraySource, strength: float, rng: np.random.Generator) -> Submodel:
    """Return the model without the vectors whose weights an l1 penalty (of their norms over outputs) takes to zero."""
    problem = model.problem
    penalized = problem.penalized(source.total_weight, RowL2(strength))
    objective = penalized.objective(source.columns(model.columns), model.columns)
    result = proximal_descent(objective, model.theta, ITERATIONS, 1e-4)
    if result.interrupted:
        raise KeyboardInterrupt
    theta = result.theta
    old = model.model.unpack(theta)
    kept = np.any(old.weights != 0, axis=1)
    if kept.sum() in (0, len(kept)):
        return model
    of_term = np.split(kept, np.cumsum([term.n_basis for term in problem.terms])[:-1])
    smaller = problem.with_vectors([int(part.sum()) for part in of_term])
    shrunk, params = smaller.objective(source.columns(model.columns), model.columns).model.zeros()
    of_view = [part for term, part in zip(problem.terms, of_term, strict=True) for _ in term.views]
    left = [k for k, part in enumerate(of_view) if part.any()]
    for place, k in enumerate(left):
        params.basis[place][...] = old.basis[k][of_view[k]]
        params.log_metric[place][...] = old.log_metric[k]
    params.weights[...] = old.weights[kept]
    params.intercept[...] = old.intercept
    return fit_submodel(smaller, source, model.columns, shrunk, FIRST_ITERATIONS, rng)


def grow(model: Submodel, source: ArraySource, n_basis: int, rng: np.random.Generator) -> Submodel:
    """Return the model of one term with ``n_basis`` vectors, refitted: those that it has, and new ones of no weight."""
    problem = model.problem.with_vectors([n_basis])
    columns = model.columns
    theta, params = problem.objective(source.columns(columns), columns).model.zeros()
    old = model.model.unpack(model.theta)
    n_old, n_columns = old.basis[0].shape
    params.basis[0][:n_old] = old.basis[0]
    new = rng.standard_normal((n_basis - n_old, n_columns))
    params.basis[0][n_old:] = FIRST_SIZE / np.sqrt(n_columns) * new
    params.log_metric[0][...] = old.log_metric[0]
    params.weights[:n_old] = old.weights
    params.intercept[...] = old.intercept
    return fit_submodel(problem, source, columns, theta, FIRST_ITERATIONS, rng)
