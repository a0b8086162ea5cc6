"""Basis vectors that a fit brought to one place become one.

A ridge on the weights costs less with two vectors at one place, each of half the weight, than with one of the whole
weight, so a fit may end with several that are alike. As one they are the same function, and easier to read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spkm.core.columns import copied
from spkm.core.evidence import AnyObjective
from spkm.core.problem import Problem
from spkm.fitting.recipe import Fit
from spkm.solvers import Result, Solver, projected_norm, with_settings

ALIKE = 0.9  # value of the kernel at two vectors, 1 at one place, from which on they may be one
RISE = 1e-3  # share by which the loss may rise in all: what L-BFGS takes for converged
POLISH = 20  # iterations at the end, where vectors have been merged
MOST_ROWS = 20_000  # samples up to which all parameters follow a merge


def with_merged_vectors(fit: Fit, solver: Solver) -> Fit:
    """Return a fit of one kernel in which vectors that are alike have become one.

    ``solver`` lets all parameters follow, unless there are many samples.
    """
    found = fit.result
    learned = fit.start.problem.continued(found.noise, found.ridge, found.linear_variance)
    polish = with_settings(solver, {"max_iter": POLISH}) if fit.objective.source.n_rows <= MOST_ROWS else None
    objective, result = merged(learned, fit.objective, found, polish)
    return replace(fit, objective=objective, result=result)


def merged(
    problem: Problem, objective: AnyObjective, result: Result, polish: Solver | None
) -> tuple[AnyObjective, Result]:
    """Return objective and result of the vectors that are left; the first term holds the vectors of one kernel.

    The two that are most alike become one first: weights are added, its place is their mean by the size of the weights.
    The loss may rise by ``RISE`` in all, else the two stay. ``polish`` lets all parameters follow. Under the evidence,
    whose problem goes on with what was learned, the weights are solved for again.
    """
    theta = result.theta
    refused: set[tuple[int, int]] = set()
    limit = (1.0 + RISE) * objective.loss.value(objective.totals(theta))
    smaller = objective
    while (pair := _most_alike(smaller.model.gram(theta)[0][0], refused)) is not None:
        tried, tried_theta = _without_second(problem, smaller, theta, *pair)
        if tried.loss.value(tried.totals(tried_theta)) <= limit:
            smaller, theta, refused = tried, tried_theta, set()
        else:
            refused.add(pair)
    if smaller is objective:
        return objective, result
    parameters = problem.parameters(smaller, theta)
    result.theta = problem.completed(smaller, parameters)
    result.value = smaller.value(parameters)
    result.trace = [result.value]  # values of more vectors are not comparable: the ridge is another
    if polish is not None:
        polished = polish.minimize(smaller, theta, np.random.default_rng(0))
        result.theta, result.value, result.trace = polished.theta, polished.value, polished.trace
        result.stationarity = polished.stationarity
        result.noise, result.linear_variance = polished.noise, polished.linear_variance
        result.interrupted = result.interrupted or polished.interrupted
        result.by_signal = result.by_signal or polished.by_signal
    else:
        gradient = smaller.value_and_gradient(parameters)[1]
        result.stationarity = projected_norm(parameters, gradient, problem.box(smaller))
    return smaller, result


def _most_alike(K: np.ndarray, refused: set[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the two vectors of the largest kernel value, the first of lower index; None if none are alike."""
    rows, columns = np.triu_indices(len(K), 1)
    for place in np.argsort(-K[rows, columns], kind="stable"):
        pair = int(rows[place]), int(columns[place])
        if not K[pair] >= ALIKE:
            return None
        if pair not in refused:
            return pair
    return None


def _without_second(
    problem: Problem, objective: AnyObjective, theta: np.ndarray, r: int, s: int
) -> tuple[AnyObjective, np.ndarray]:
    """Return objective and theta where vector r stands for r and s."""
    counts = [term.n_basis for term in objective.model.terms]
    smaller = problem.with_vectors([counts[0] - 1, *counts[1:]]).objective(objective.source)
    found, params, old = copied(objective.model, theta, smaller.model)
    U, C = old.basis[0].copy(), old.weights.copy()
    size = np.linalg.norm(C[[r, s]], axis=1)
    share = size / size.sum() if size.sum() > 0 else np.full(2, 0.5)
    U[r], C[r] = share @ U[[r, s]], C[r] + C[s]
    params.basis[0][...], params.weights[...] = np.delete(U, s, axis=0), np.delete(C, s, axis=0)
    return smaller, smaller.inside(found)
