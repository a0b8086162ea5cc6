"""Kinds of work: one fit, a choice of two sizes, a search, constant targets, several binary problems.

A strategy is a function from checked parameters and data to an outcome. None of them writes to an estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from spkm._checks import warn_user
from spkm.core.evidence import AnyObjective
from spkm.core.fitted import FittedModel
from spkm.core.model import PreimageModel
from spkm.core.starts import first_theta
from spkm.core.targets import Target
from spkm.fitting.continuing import check_continues
from spkm.fitting.data import Data, TableData
from spkm.fitting.grouped import for_new_groups
from spkm.fitting.monotone import check_targets
from spkm.fitting.nearest import nearest_attributes
from spkm.fitting.outcome import Outcome
from spkm.fitting.problems import usual_strength
from spkm.fitting.progress import Progress, settle
from spkm.fitting.recipes import Fit, Recipe, Start, candidate_for, guides_of, recipe_for
from spkm.fitting.search import (
    decided,
    half_frequencies,
    report_choice,
    search_over,
    some_rows,
)
from spkm.fitting.spec import Spec
from spkm.fitting.views import view_usage_of
from spkm.selection import Choice, Search, Submodel, record_of, row_losses
from spkm.solvers import Result, Solver, best_of_restarts, resolve_solver
from spkm.sources import ArraySource, Scaling, dealt_folds

TOLD_FROM = 20  # basis vectors, the larger default: a warning if there are more, and more than samples
FEW, MANY = 20, 60  # basis vectors; panel: 60 overfit some sets, 20 are too few for others
HELD_OUT = 5  # one in so many samples is held out for the choice of a size
MOST_ROWS = 5000  # samples that a choice of a size fits

Strategy = Callable[[Spec, Any, Any, Progress], Outcome]


def strategy_for(spec: Spec, data: Data) -> Strategy:
    """Return the kind of work that parameters and targets need."""
    if data.n_outputs == 0:
        return fit_constant
    strategy = _strategy_for(spec, data)
    if data.groups is None or data.target.of_classes:
        return strategy
    if spec.loss.is_quadratic:
        return for_new_groups(strategy)
    if strategy is fit_once:
        warn_user(
            f"groups have no effect: with loss={type(spec.loss).__name__} and a fixed n_basis nothing is chosen by "
            'folds, and predictions are moved towards the mean with a squared loss only. Set n_basis="auto" or '
            'loss="squared", or leave groups out.',
            UserWarning,
        )
    return strategy


def _strategy_for(spec: Spec, data: Data) -> Strategy:
    if not spec.is_searched:
        return fit_once
    plain = len(spec.views) == 1 and not spec.views[0].kernel.is_linear and data.independent
    if plain and not data.target.of_classes and spec.selection is None:
        return fit_size
    return fit_search


def fit_once(spec: Spec, data: Data, previous: FittedModel | None, progress: Progress) -> Outcome:
    """Return the outcome of one fit, on all features."""
    _check_once(spec, data, previous)
    recipe = recipe_for(spec, data, previous)
    source, scaling = data.source(spec)
    # A solver's wild step may overflow: the value is then not finite, and it takes a shorter one.
    with np.errstate(all="ignore"), source.threads(spec.threads):
        progress.stage(f"start by recipe {recipe.name}")
        start = recipe.begin(spec, source, scaling, data.target)
        objective = start.problem.objective(start.source)
        solver = resolve_solver(spec.solver, spec.max_iter, spec.tol, objective, start.solver)
        if start.stopped is None:
            progress.stage(type(solver).__name__)
            rngs, progress.ends_soon = spec.rng().spawn(spec.n_restarts), start.interrupted
            begin = start.onward, start.theta, scaling
            result = best_of_restarts(objective, solver, spec.start, rngs, progress, *begin)
            result.by_signal = result.by_signal or start.interrupted
        else:  # Ctrl-C ended the way to the descent
            result = Result(start.stopped, objective.value(start.stopped), 1, False, interrupted=True, by_signal=True)
        fit = recipe.refine(spec, Fit(objective, result, solver, start), progress)
        fit = recipe.conclude(spec, fit)
        progress.interrupted = fit.result.interrupted
        tell_how_it_ended(type(solver).__name__, fit.result)
        attributes = _attributes(spec, data, fit)
    outcome = outcome_of(spec, data, fit, scaling, attributes, recipe.name)
    recipe.verify(spec, outcome.model)
    return outcome


def _check_once(spec: Spec, data: Data, previous: FittedModel | None) -> None:
    """Raise ValueError, or warn, of data that do not go with the parameters."""
    if previous is not None:
        check_continues(previous, spec.terms, data.n_features, data.target)
    n_basis = sum(term.n_basis for term in spec.terms)
    if n_basis > max(data.n_rows, TOLD_FROM) and data.independent:
        warn_user(
            f"n_basis={n_basis} is more than the {data.n_rows} different samples: such a model overfits. Lower "
            "n_basis.",
            UserWarning,
        )
    if spec.monotone:
        check_targets(data)


def fit_constant(spec: Spec, data: TableData, previous: FittedModel | None, progress: Progress) -> Outcome:
    """Return a model of targets that are all constant: start points of no weight, and the constants as intercept."""
    counted = tuple(replace(term, n_basis=1) if isinstance(term.n_basis, str) else term for term in spec.terms)
    recipe = recipe_for(spec, data)
    spec = replace(spec, terms=counted)
    source, scaling = replace(data, Y=np.zeros((data.n_rows, 1))).source(spec)
    with np.errstate(all="ignore"), source.threads(spec.threads):
        problem = recipe.problem(spec, source)
        objective = problem.objective(source)
        first = first_theta(objective, spec.start, "labels", spec.rng(), scaling)
        theta, picked = recipe.placed(objective, first)
        attributes = nearest_attributes(objective, theta, data.rows, picked)
    attributes |= view_usage_of(objective, np.zeros_like(theta), spec.terms)
    if spec.selection is not None:
        attributes["feature_importances_"] = np.zeros(data.n_features)
    model = replace(objective.model, n_outputs=0)
    result = Result(theta[model.basis_part], 0.0, 1, True, trace=[0.0], stationarity=0.0)
    fitted = fitted_model(spec, data.target, model, result.theta, scaling, data.n_features)
    return _outcome(data, fitted, result, picked, attributes, "constant")


def fit_size(spec: Spec, data: TableData, previous: FittedModel | None, progress: Progress) -> Outcome:
    """Return the outcome with few or many basis vectors, by the loss of held-out samples.

    Two models are fitted on four fifths of the samples; the size of the one with the lower held-out loss is fitted
    again on all of them. On a panel of data sets that gained as much as a search among many sizes, which takes five
    times as long. The evidence itself is no guide: it kept many vectors where they overfit. A fit that is interrupted
    is the last one, and its model the outcome.
    """
    n = data.n_rows
    sizes = sizes_for(n, spec.max_basis)
    records: list[dict[str, Any]] = []
    if n > 1:  # of a single size the held-out loss is reported, too
        rng = spec.rng()
        rows = np.sort(rng.choice(n, size=MOST_ROWS, replace=False)) if n > MOST_ROWS else np.arange(n)
        kinds, groups = (None if part is None else part[rows] for part in (data.kinds(spec.loss), data.groups))
        train, test = (rows[part] for part in dealt_folds(len(rows), rng, kinds, HELD_OUT, groups)[0])
        some, held_out = data.part(train), data.part(test)
        kernel = type(spec.views[0].kernel).__name__.lower()
        for size in sizes:
            progress.stage(f"choice of the size: {size} basis vectors")
            outcome = fit_once(_with_size(spec, size), some, None, progress)
            F = data.target.encode(outcome.model.scores(held_out.X))
            losses = row_losses(spec.loss, held_out.Y, F)
            n_features = float(data.n_features)
            records.append(record_of(kernel, "size", 1.0, n_features, size, losses, held_out.weight))
            if outcome.model.interrupted:
                return replace(outcome, attributes=outcome.attributes | _results(records))
        sizes = [min(records, key=lambda record: record["mean_test_loss"])["n_basis"]]
    outcome = fit_once(_with_size(spec, sizes[0]), data, None, progress)
    return replace(outcome, attributes=outcome.attributes | _results(records)) if records else outcome


def sizes_for(n_samples: int, max_basis: int | None) -> list[int]:
    """Return the numbers of vectors that are tried: at most half the samples, and at most ``max_basis``."""
    most = max(1, n_samples // 2) if max_basis is None else max(1, min(n_samples // 2, max_basis))
    return sorted({min(FEW, most), min(MANY, most)})


def _with_size(spec: Spec, size: int) -> Spec:
    return replace(spec, terms=(replace(spec.terms[0], n_basis=size),))


def _results(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {"cv_results_": {name: np.array([record[name] for record in records]) for name in records[0]}}


def fit_search(spec: Spec, data: TableData, previous: FittedModel | None, progress: Progress) -> Outcome:
    """Return the outcome of a search for features and numbers of vectors, over folds of our own."""
    progress.stage("search")
    search = search_for(spec, data, progress.step)
    return fit_choice(spec, search, decided(search), data, progress)


def search_for(spec: Spec, data: TableData, on_step: Callable[[str], bool]) -> Search:
    """Return the search that the parameters set; nothing is fitted yet."""
    splits = dealt_folds(data.n_rows, spec.rng(), data.kinds(spec.loss), groups=data.groups)
    specs = [*guides_of(spec, data), spec]
    *guides, candidate = [candidate_for(one, data) for one in specs]
    return search_over(spec, data, [candidate], splits, on_step, guides=guides)


def fit_choice(spec: Spec, search: Search, choice: Choice, data: TableData, progress: Progress) -> Outcome:
    """Return the outcome of a search, whose decisions are carried out on all samples."""
    if choice.stopped is not None:
        settle("The search", by_signal=isinstance(choice.stopped, KeyboardInterrupt))
    recipe = recipe_for(spec, data)
    spec = replace(spec, terms=choice.candidate.terms)
    source, scaling = data.source(spec)
    rng = spec.rng()
    with np.errstate(all="ignore"), source.threads(spec.threads):
        everything = some_rows(source, scaling, rng)
        try:
            model = search.refit(choice, everything)
        except KeyboardInterrupt:
            settle("The search", by_signal=True)
            model = choice.models[0]  # that of the first fold is the best there is
        fit = _fit_chosen(spec, recipe, choice, model, source, rng, progress)
        beside = _attributes(spec, data, fit)
        attributes = report_choice(search, choice, replace(model, theta=fit.result.theta), source) | beside
        attributes |= _on_halves(spec, search, choice, data, rng)
    fit = fit if search.selects else replace(fit, columns=None)
    return outcome_of(spec, data, fit, scaling, attributes, recipe.name)


def _on_halves(spec: Spec, search: Search, choice: Choice, data: TableData, rng: np.random.Generator) -> dict[str, Any]:
    """Return how often halves of the samples choose each feature, unless it would take long or was interrupted."""
    try:
        found = None if choice.stopped is not None else half_frequencies(spec, search, choice, data, rng)
    except KeyboardInterrupt:
        settle("The choice on halves of the samples", by_signal=True)
        found = None
    return {} if found is None else {"half_frequency_": found}


def _fit_chosen(
    spec: Spec,
    recipe: Recipe,
    choice: Choice,
    model: Submodel,
    source: ArraySource,
    rng: np.random.Generator,
    progress: Progress,
) -> Fit:
    """Return the fit of all samples that goes on from the model of a search."""
    part = source.columns(model.columns)
    if choice.is_empty:
        objective = model.problem.objective(part, model.columns)
        result = Result(model.theta, model.objective, 1, True, trace=[model.objective])
        return Fit(objective, result, Solver(), Start(model.problem, part), model.columns)
    # Strengths for all samples, not for those of the search, and the evidence's own prior.
    default = recipe.problem(spec, part, model.columns)
    problem = replace(
        model.problem,
        weight_penalties=default.weight_penalties,
        evidence=default.evidence,
        metric_prior=default.metric_prior,
    ).with_factor(choice.factor)
    objective = problem.with_noise(model.noise).objective(part, model.columns)
    solver = resolve_solver(spec.solver, spec.max_iter, spec.tol, objective)
    progress.stage(type(solver).__name__)
    result = solver.minimize(objective, model.theta, rng, progress)
    strength = choice.factor * usual_strength(spec, source.n_outputs) if problem.has_strength else None
    fit = recipe.refine(
        spec, Fit(objective, result, solver, Start(problem, part, strength=strength), model.columns), progress
    )
    tell_how_it_ended(type(solver).__name__, fit.result)
    return fit


def _attributes(spec: Spec, data: Data, fit: Fit) -> dict[str, Any]:
    """Return the fitted attributes of views and of the nearest samples; a scale-free loss gets its scale."""
    restore_scale(fit.objective, fit.result)
    theta = fit.result.theta
    return {
        **view_usage_of(fit.objective, theta, spec.terms, fit.columns),
        **nearest_attributes(fit.objective, theta, data.rows, fit.picked),
        **fit.attributes,
    }


def outcome_of(
    spec: Spec, data: Data, fit: Fit, scaling: Scaling | None, attributes: dict[str, Any], recipe: str
) -> Outcome:
    """Return the outcome of a fit on the features ``fit.columns``, or on all."""
    result, theta = fit.result, fit.result.theta
    fitted = fitted_model(spec, data.target, fit.objective.model, theta, scaling, data.n_features, fit.columns)
    fitted = replace(
        fitted,
        noise=result.noise,
        ridge=result.ridge,
        linear_variance=result.linear_variance,
        interrupted=result.interrupted,
        strength=fit.start.strength,
        linear_strength=fit.start.linear_strength,
        posterior=fit.posterior,
    )
    return _outcome(data, fitted, result, fit.picked, attributes, recipe)


def _outcome(
    data: Data,
    fitted: FittedModel,
    result: Result,
    picked: np.ndarray | None,
    attributes: dict[str, Any],
    recipe: str,
) -> Outcome:
    dtype = data.dtype
    if np.abs(fitted.theta).max() > np.finfo(dtype).max:
        raise ValueError(
            f"The model has numbers beyond {dtype}, the type of X. Give X as float64, or y in larger units."
        )
    samples = None if picked is None else data.at(picked)
    with np.errstate(all="ignore"):
        attributes = {**attributes, "cancellation_": fitted.cancellation(data.some())}
    model = replace(fitted, samples=samples, recipe=recipe)
    trace = np.asarray(result.trace)
    return Outcome(model, result.n_iter, result.value, trace, result.by_signal, attributes, result.stationarity)


def fitted_model(
    spec: Spec,
    target: Target,
    model: PreimageModel,
    theta: np.ndarray,
    scaling: Scaling | None,
    n_features: int,
    columns: np.ndarray | None = None,
) -> FittedModel:
    """Return the model of some features, or of all, in the units of y."""
    whole, theta = target.expanded(model, theta)
    features = np.arange(n_features) if columns is None else columns
    if columns is not None and scaling is not None:
        scaling = scaling.columns(columns)
    parts = (target, scaling, features, n_features, whole, theta)
    return FittedModel(*parts, spec.loss, spec.terms, selected=columns is not None)


def restore_scale(objective: AnyObjective, result: Result) -> None:
    """Give the scores of a loss that ignores their length the length that is nearest to the targets."""
    if objective.loss.scale_free:
        params = objective.model.unpack(result.theta)
        factor = objective.loss.best_scale(objective.totals(result.theta))
        params.weights *= factor
        params.intercept *= factor


def tell_how_it_ended(name: str, result: Result) -> None:
    """Warn of a fit that was interrupted, or stopped for want of iterations."""
    if result.interrupted:
        settle(name, result.by_signal)
    elif not (result.converged or result.by_count):
        window = result.trace[: result.n_iter + 1][-11:]  # without the iterations of a polish
        warn_user(
            f"{name} stopped after {result.n_iter} iterations while the objective still fell from "
            f"{window[0]:.6g} to {window[-1]:.6g} "
            f"over the last {len(window) - 1}. Raise max_iter or tol.",
            ConvergenceWarning,
        )
