"""Fits of the same samples with random weights, each from where the model is: how sure it is of what it learned.

Weights that are independent draws of an exponential distribution (Rubin's Bayesian bootstrap) make the samples vary as
fresh ones would. A fit that begins with the model takes a small part of its time, and vector r stays vector r.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.core.objective import mixed
from spkm.core.targets import Classes, same_meaning
from spkm.fitting.binary import binary_problems
from spkm.fitting.data import TableData
from spkm.fitting.recipes import Fit, recipe_again
from spkm.fitting.spec import Spec
from spkm.fitting.strategies import restore_scale
from spkm.solvers import resolve_solver

MOST_LEVERAGE = 0.8  # above it a model has nearly as many parameters as samples, and no correction means much


def with_refits(spec: Spec, data: TableData, model: Any, n_refits: int, rng: np.random.Generator) -> Any:
    """Return a fitted model, or the models of several binary problems, with the parameters of refits.

    Parameters
    ----------
    spec : Spec
        The parameters of the fit.
    data : TableData
        The samples of the fit.
    model : FittedModel or ModelEnsemble
        The model.
    n_refits : int
        Number of refits.
    rng : Generator
        Source of the weights.
    """
    if not same_meaning(model.target, data.target):
        raise ValueError("X and y must be the samples of the fit: the targets have other classes or other outputs.")
    drawn = [replace(data, weight=random_weights(data.weight, rng)) for _ in range(n_refits)]
    found = zip(*(_thetas(spec, one, model) for one in drawn), strict=True)
    members = []
    for k, (member, thetas) in enumerate(zip(model.members, found, strict=True)):
        member = replace(member, refit_thetas=np.array(thetas))
        own = [one if model.is_joint else _problems(spec, one)[k] for one in (data, *drawn)]
        members.append(replace(member, refit_spread=1.0 / (1.0 - leverage(member, own[0], own[1:]))))
    return members[0] if model.is_joint else replace(model, members=tuple(members))


def leverage(model: FittedModel, data: TableData, drawn: list[TableData]) -> float:
    """Return the mean leverage of the samples: the share of its own residual that a sample takes away.

    A sample of weight 1 + v has a slope of the loss of about g (1 - h v) in place of g, so that the mean of
    -g v (change of g) over samples and refits is the mean of h g^2. Residuals of a fit are smaller than those of other
    samples by 1 - h: the jackknife's correction of deviations (HC3) divides by it.
    """
    if data.n_outputs == 0 or not model.refits:
        return 0.0
    with np.errstate(all="ignore"):
        usual = _slopes(model, data)
        changes = [
            usual * (_slopes(refit, data) - usual) * (one.weight / data.weight - 1.0)[:, None]
            for refit, one in zip(model.refits, drawn, strict=True)
        ]
    share = data.weight[:, None]
    total = float(np.sum(share * usual**2))
    found = -float(np.sum(share * np.mean(changes, axis=0))) / total if total > 0 else 0.0
    return float(np.clip(found, 0.0, MOST_LEVERAGE)) if np.isfinite(found) else 0.0


def _slopes(model: FittedModel, data: TableData) -> np.ndarray:
    """Return the derivative of the loss in the score of every sample, (n, n_outputs)."""
    target, loss = model.target, model.loss
    F = (model.scores(data.X)[:, target.learned] - target.mean) / target.scale
    Y = (data.Y * data.target.scale + data.target.mean - target.mean) / target.scale
    totals, directions = loss.totals_and_directions(Y, F, np.full((len(Y), 1), 1.0 / len(Y)))
    return mixed(loss, totals, directions, np.dtype(np.float64))


def random_weights(weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return random weights of the same mean and total.

    A weight that is a whole number stands for so many samples, each of which has a draw of its own: their sum is a
    gamma variable. Others are factors on the draw of one sample.
    """
    whole = bool(np.all(weight == np.rint(weight)))
    drawn = rng.standard_gamma(weight) if whole else weight * rng.standard_exponential(len(weight))
    return np.asarray(drawn * (weight.sum() / drawn.sum()))


def _thetas(spec: Spec, data: TableData, model: Any) -> list[np.ndarray]:
    """Return the parameters of each member of a model, fitted to weighted samples."""
    if model.is_joint:
        return [_theta(spec, data, model)]
    own = replace(spec, loss=spec.loss.for_labels(False))
    return [_theta(own, some, member) for some, member in zip(_problems(spec, data), model.members, strict=True)]


def _problems(spec: Spec, data: TableData) -> list[TableData]:
    """Return the samples of each binary problem."""
    return [
        data.relabelled(spec, problem.rows, problem.signs[:, None], Classes.of(problem.labels))
        for problem in binary_problems(data.target, spec.multi_class, data.Y)
    ]


def _theta(spec: Spec, data: TableData, model: FittedModel) -> np.ndarray:
    """Return the parameters of one fit, in the units of the scores, as ``model.theta`` is."""
    if data.n_outputs == 0 or len(model.features) == 0:  # a constant is what it is
        return model.theta.copy()
    kernels = [term for term in model.model.terms if not term.is_linear_part]
    terms = tuple(replace(a, n_basis=term.n_basis) for a, term in zip(model.asked, kernels, strict=True))
    spec = replace(spec, terms=terms, n_restarts=1)
    X = data.X[:, model.features] if len(model.features) < model.n_features else data.X
    # Scaling and units of the targets are those of the model, so that its parameters mean the same.
    Y = (data.Y * data.target.scale + data.target.mean - model.target.mean) / model.target.scale
    source = data.kind(X, Y, data.weight, model.scaling)
    recipe = recipe_again(spec, data, model)
    with np.errstate(all="ignore"), source.threads(spec.threads):
        start = recipe.resume(spec, source, model.scaling, model.target, model)
        objective = start.problem.objective(start.source)
        assert start.onward is not None
        theta = objective.inside(start.onward(objective.model.zeros()[0]))
        recipe.hold(objective, theta)
        solver = resolve_solver(spec.solver, spec.max_iter, spec.tol, objective, start.solver)
        result = solver.minimize(objective, theta, spec.rng())
        if result.by_signal:
            raise KeyboardInterrupt
        fit = recipe.outward(spec, Fit(objective, result, solver, start))
        restore_scale(fit.objective, fit.result)
    found, theta = model.target.expanded(fit.objective.model, fit.result.theta)
    assert found.n_params == model.model.n_params
    return theta
