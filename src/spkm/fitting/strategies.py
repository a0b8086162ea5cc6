"""How a model is fitted: once, or by a search. Plain functions from a request and samples to an outcome.

Nothing here writes to an estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from spkm._checks import warn_user
from spkm.core.fitted import FittedModel
from spkm.core.model import Term
from spkm.core.problem import Problem
from spkm.core.scaling import check_domain, scaling_for
from spkm.core.starts import first_theta, resolve_start
from spkm.core.targets import Target
from spkm.fitting.interrupts import settle
from spkm.fitting.lead import Lead
from spkm.fitting.outcome import Outcome
from spkm.fitting.problems import for_samples, problem_of
from spkm.fitting.progress import Progress
from spkm.fitting.recipes.continued import check_continues, continued_theta
from spkm.fitting.recipes.evidence import posterior_of
from spkm.fitting.recipes.folds import MOST_ROWS, last_solver, led_by_folds
from spkm.fitting.recipes.merge import merged
from spkm.fitting.recipes.monotone import check_targets, clipped_at_range, prove
from spkm.fitting.recipes.on_samples import moved_to_samples, nearest_attributes, onto_samples, with_samples
from spkm.fitting.recipes.squared_warmup import after_squared, begins_squared, led_by_squared, trusts
from spkm.fitting.search import candidate_for, dealt_folds, decided, report_choice, search_over, some_rows
from spkm.fitting.sizes import fit_size, suits_two_sizes
from spkm.fitting.spec import Request
from spkm.fitting.views import view_usage
from spkm.selection import Choice, Search, Submodel
from spkm.solvers import Result, Solver, best_of_restarts, resolve_solver, with_settings
from spkm.sources import (
    ArraySource,
    PairSource,
    PlacedSource,
    Scaling,
    distinct_pairs,
    distinct_rows,
    gathered_rows,
)
from spkm.tables.read import Table

CANCELLATION_ROWS = 1000  # samples, about, by which cancellation is measured
TOLD_FROM = 20  # basis vectors, the larger default: more than that and more than there are samples is worth a word


class Samples(NamedTuple):
    """What a model is fitted on: X, targets as the model learns them (n, m), weights, and what the targets mean.

    ``rows`` are their places in the user's table; None of pairs.
    """

    X: Any
    Y: np.ndarray
    weight: np.ndarray
    target: Target
    rows: np.ndarray | None = None

    def source(self, request: Request) -> tuple[ArraySource, Scaling | None]:
        """Return them as a source, and the scaling that it applies."""
        scaling = scaling_for(request.terms, request.scale, self.X, self.weight)
        if request.monotone and scaling is not None:
            scaling = clipped_at_range(scaling, self.X, [column for _, column, _ in request.monotone])
        if request.place is not None and request.works_anywhere:
            return PlacedSource(self.X, self.Y, self.weight, scaling, place=request.place), scaling
        kind = PairSource if request.of_pairs else ArraySource
        return kind(self.X, self.Y, self.weight, scaling), scaling


class SearchSetup(NamedTuple):
    """A search that has not begun: what is asked for, the table, the samples of the last fit, and the search.

    Targets that are all constant need no search: then there is none.
    """

    request: Request
    table: Table
    samples: Samples
    search: Search | None


#: From encoded targets and weights to what they mean and the targets as the model learns them.
Finish = Callable[[np.ndarray, np.ndarray], tuple[Target, np.ndarray]]


def prepared(request: Request, X: Any, Y: np.ndarray, weight: np.ndarray, finish: Finish) -> Samples:
    """Return the samples of a fit: distinct ones in an order of their own, so that order and repeats cannot matter."""
    if request.of_counts:
        check_domain(request.terms, X)
    rows = None
    if request.of_pairs:
        # Pairs of positive weight and the entities they name, by left entity: a block has few of these.
        kept, weight = distinct_pairs(X.pairs, Y, weight)
        X, Y = X[kept].named_alone(), Y[kept]
    else:
        rows, weight = distinct_rows(X, Y, weight)
        X, Y = gathered_rows(X, Y, rows)
    target, Y = finish(Y, weight)
    return Samples(X, Y, weight, target, rows)


def fit_model(request: Request, samples: Samples, previous: FittedModel | None, progress: Progress) -> Outcome:
    """Return the outcome of what is asked for: a plain fit, or a search for features and number of vectors."""
    if samples.Y.shape[1] == 0:
        return fit_constant(request, samples)
    if not request.is_searched:
        return fit_once(request, samples, previous, progress)
    if suits_two_sizes(request):
        return fit_size(request, samples, lambda asked, some: fit_once(asked, some, None, progress))
    search = search_for(request, samples, progress.step)
    return fit_choice(request, search, decided(search), samples, progress)


def search_for(request: Request, samples: Samples, on_step: Callable[[str], bool]) -> Search:
    """Return the search that the parameters ask for, over folds of our own."""
    splits = dealt_folds(samples.Y, request.loss, request.rng())
    return search_over(request, samples, [candidate_for(request, samples.Y.shape[1])], splits, on_step)


def fit_once(request: Request, samples: Samples, previous: FittedModel | None, progress: Progress) -> Outcome:
    """Return the outcome of a fit as the parameters say, on all features."""
    if previous is not None:
        check_continues(previous, request.terms, samples.X.shape[1], samples.target)
    _tell_of_many_vectors(request, samples)
    if request.monotone:
        check_targets(request, samples)
    source, scaling = samples.source(request)
    # A solver's wild step may overflow: it sees a value that is not finite and takes a shorter one.
    with np.errstate(all="ignore"), source.threads(request.threads):
        request = for_samples(request, source)
        problem = problem_of(request, source, previous=previous)
        if previous is not None:
            lead = _led_by_previous(request, problem, source, scaling, samples.target, previous)
        elif request.is_adaptive:
            lead = led_by_folds(request, problem, source, scaling)
        elif begins_squared(request):
            lead = led_by_squared(request, problem, source)
        else:
            lead = Lead(problem)
        objective = lead.objective(source)
        by_evidence = lead.problem.evidence is not None and request.is_plain
        if lead.solver is not None and request.solver == "auto":
            solver = with_settings(lead.solver, {"max_iter": request.max_iter, "tol": request.tol})
        else:
            solver = resolve_solver(request.solver, request.max_iter, request.tol, objective)
        best, picked = _descended(request, lead, objective, solver, scaling, progress), None
        if request.basis == "samples":
            best, picked = onto_samples(lead.problem, objective, None, best, solver, request.rng(), progress.iteration)
        elif (by_evidence or lead.strength is not None) and not request.monotone:
            learned = lead.problem.continued(best.noise, best.ridge, best.linear_variance)
            objective, best = merged(learned, objective, best, polish=source.n_rows <= MOST_ROWS)
        if lead.noise is not None:
            best.noise, best.ridge = lead.noise, lead.ridge
        progress.interrupted = best.interrupted
        tell_how_it_ended(type(solver).__name__, best)
        restore_scale(objective, best)
        found_beside = view_usage_of(objective, best.theta, request.terms)
        found_beside |= nearest_attributes(objective, best.theta, samples.rows, picked)
        if request.monotone:
            found_beside["monotone_"] = {feature: sign for feature, _, sign in request.monotone}
        posterior = posterior_of(lead.problem, objective, best, request.rng()) if by_evidence else None
    outcome = outcome_of(request, samples, objective.model, best, scaling, None, found_beside)
    model = replace(outcome.model, strength=lead.strength, posterior=posterior)
    if request.monotone:
        prove(request, model)
    return replace(outcome, model=model if picked is None else with_samples(model, samples.X, picked))


def _led_by_previous(
    request: Request,
    problem: Problem,
    source: ArraySource,
    scaling: Scaling | None,
    target: Target,
    previous: FittedModel,
) -> Lead:
    """Return the way from the model of the last fit: its strength, its noise, its basis and its weights."""
    solver = None
    if previous.strength is not None:
        if not any(view.metric == "relevances" for _, view in previous.model.views):
            problem = problem.with_metric("relevances", "scale")
        problem, solver = problem.with_strength(previous.strength / source.total_weight), last_solver(source)
    noise = previous.noise if begins_squared(request) else None
    if noise is not None:
        problem = after_squared(problem, noise, previous.ridge, source)
    model = problem.model(source)
    onward = partial(continued_theta, previous, model, scaling, target)
    kept = onward(model.zeros()[0]) if noise is not None and trusts(problem, noise) else None
    return Lead(problem, onward, solver, previous.strength, kept, noise, previous.ridge)


def _descended(
    request: Request, lead: Lead, objective: Any, solver: Solver, scaling: Scaling | None, progress: Progress
) -> Result:
    """Return where the solver ends, or where the way to it was interrupted."""
    if lead.stopped is not None:
        return Result(lead.stopped, objective.value(lead.stopped), 1, False, interrupted=True, by_signal=True)

    def on_iteration(i: int, value: float) -> bool:  # it stops after the first if the way to it was interrupted
        return progress.iteration(i, value) or lead.interrupted

    on_iteration.store = progress.store  # type: ignore[attr-defined]
    start = resolve_start(request.start, objective.model, scaling)
    rngs = request.rng().spawn(request.n_restarts)
    best = best_of_restarts(objective, solver, start, rngs, on_iteration, lead.onward)
    best.by_signal = best.by_signal or lead.interrupted
    return best


def fit_constant(request: Request, samples: Samples) -> Outcome:
    """Return a model of targets that are all constant: start points of no weight, and the constants as intercept."""
    source, scaling = samples._replace(Y=np.zeros((len(samples.Y), 1))).source(request)
    counted = tuple(replace(term, n_basis=1) if isinstance(term.n_basis, str) else term for term in request.terms)
    with np.errstate(all="ignore"), source.threads(request.threads):
        problem = problem_of(request, source, terms=counted)
        objective = problem.objective(source)
        start = resolve_start(request.start, objective.model, scaling)
        theta, picked = first_theta(objective, start, "labels", request.rng()), None
        if request.basis == "samples":
            theta, picked = moved_to_samples(objective, theta)
        beside = nearest_attributes(objective, theta, samples.rows, picked)
    model = replace(objective.model, n_outputs=0)
    result = Result(theta[model.basis_part], 0.0, 1, True, trace=[0.0])
    usage = view_usage_of(objective, np.zeros_like(theta), request.terms)
    attributes = {
        **usage,
        **beside,
        **({"feature_importances_": np.zeros(samples.X.shape[1])} if request.selects else {}),
    }
    outcome = outcome_of(request, samples, model, result, scaling, None, attributes)
    return outcome if picked is None else replace(outcome, model=with_samples(outcome.model, samples.X, picked))


def fit_choice(request: Request, search: Search, choice: Choice, samples: Samples, progress: Progress) -> Outcome:
    """Return the outcome of a search, whose decisions are carried out on all samples."""
    if choice.stopped is not None:
        settle("The search", by_signal=isinstance(choice.stopped, KeyboardInterrupt))
    request = replace(request, terms=choice.candidate.terms)
    source, scaling = samples.source(request)
    rng = request.rng()
    with np.errstate(all="ignore"), source.threads(request.threads):
        everything = some_rows(source, scaling, rng)
        try:
            model = search.refit(choice, everything)
        except KeyboardInterrupt:
            settle("The search", by_signal=True)
            model = choice.models[0]  # of the first fold, which is the best there is
        part = source.columns(model.columns)
        if choice.is_empty:
            objective = model.problem.objective(part, model.columns)
            result, picked = Result(model.theta, model.objective, 1, True, trace=[model.objective]), None
        else:
            objective, result, picked = _fit_chosen(request, choice, model, part, rng, progress)
        restore_scale(objective, result)
        attributes = report_choice(search, choice, replace(model, theta=result.theta), source)
        attributes |= view_usage_of(objective, result.theta, request.terms, model.columns)
        attributes |= nearest_attributes(objective, result.theta, samples.rows, picked)
    columns = model.columns if search.selects else None
    outcome = outcome_of(request, samples, objective.model, result, scaling, columns, attributes)
    return outcome if picked is None else replace(outcome, model=with_samples(outcome.model, samples.X, picked))


def _fit_chosen(
    request: Request,
    choice: Choice,
    model: Submodel,
    part: ArraySource,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Any, Result, np.ndarray | None]:
    """Return the objective on all samples and its minimum, from where the model of a search stands.

    With a basis of samples their places come as well.
    """
    # Strengths for all samples, not for those of the search, and the evidence's own prior.
    default = problem_of(request, part, model.columns)
    problem = replace(
        model.problem,
        weight_penalties=default.weight_penalties,
        evidence=default.evidence,
        metric_prior=default.metric_prior,
    )
    objective = problem.with_factor(choice.factor).with_noise(model.noise).objective(part, model.columns)
    solver = resolve_solver(request.solver, request.max_iter, request.tol, objective)
    result = solver.minimize(objective, model.theta, rng, progress.iteration)
    picked = None
    if request.basis == "samples":
        parts = problem.with_factor(choice.factor), objective, model.columns
        result, picked = onto_samples(*parts, result, solver, rng, progress.iteration)
    tell_how_it_ended(type(solver).__name__, result)
    return objective, result, picked


def outcome_of(
    request: Request,
    samples: Samples,
    model: Any,
    result: Result,
    scaling: Scaling | None,
    columns: np.ndarray | None,
    attributes: dict[str, Any],
) -> Outcome:
    """Return the outcome of a result on the given features, or on all."""
    fitted = fitted_model(request, samples.target, model, result.theta, scaling, samples.X.shape[1], columns)
    fitted = replace(fitted, noise=result.noise, ridge=result.ridge, interrupted=result.interrupted)
    fitted = replace(fitted, linear_variance=result.linear_variance)
    dtype = samples.X.dtype
    if np.abs(fitted.theta).max() > np.finfo(dtype).max:
        raise ValueError(
            f"The model has numbers beyond {dtype}, the type of X. Give X as float64, or y in larger units."
        )
    some = slice(None, None, max(1, samples.X.shape[0] // CANCELLATION_ROWS))
    with np.errstate(all="ignore"):
        attributes = {**attributes, "cancellation_": fitted.cancellation(samples.X[some])}
    return Outcome(fitted, result.n_iter, result.value, np.asarray(result.trace), result.by_signal, attributes)


def fitted_model(
    request: Request,
    target: Target,
    model: Any,
    theta: np.ndarray,
    scaling: Scaling | None,
    n_features: int,
    columns: np.ndarray | None,
) -> FittedModel:
    """Return the model of some features, or of all, in the units of y."""
    whole, theta = target.expanded(model, theta)
    features = np.arange(n_features) if columns is None else columns
    if columns is not None and scaling is not None:
        scaling = scaling.columns(columns)
    selected = columns is not None
    parts = (target, scaling, features, n_features, whole, theta)
    return FittedModel(*parts, request.loss, request.terms, selected=selected)


def restore_scale(objective: Any, result: Result) -> None:
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
    elif not result.converged:
        window = result.trace[: result.n_iter + 1][-11:]  # without the iterations of a polish
        warn_user(
            f"{name} stopped after {result.n_iter} iterations while the objective still fell from "
            f"{window[0]:.6g} to {window[-1]:.6g} "
            f"over the last {len(window) - 1}. Raise max_iter or tol.",
            ConvergenceWarning,
        )


def view_usage_of(
    objective: Any, theta: np.ndarray, asked: tuple[Term, ...], columns: np.ndarray | None = None
) -> dict[str, Any]:
    """Return ``view_usage_`` where views have names, else nothing."""
    if not any(view.name for term in asked for view in term.views):
        return {}
    return {"view_usage_": view_usage(objective, theta, asked, columns)}


def _tell_of_many_vectors(request: Request, samples: Samples) -> None:
    n_basis, n = sum(term.n_basis for term in request.terms), samples.X.shape[0]
    if n_basis > max(n, TOLD_FROM) and not request.of_pairs:
        warn_user(
            f"n_basis={n_basis} is more than the {n} different samples: such a model overfits. Lower n_basis.",
            UserWarning,
        )
