"""A fit in small steps: batches come one call at a time, from wherever, and none is kept.

The first batch fixes classes, features, the scaling of features and targets, bandwidths before any is learned, and
start points. Every call then makes one step of Adam for each 32 of its samples (``max_iter`` passes of them). Rates
fall with the root of the number of steps, as their number is open, and the model is an average of the
iterates that forgets the early ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from spkm._arrays import Matrix, TableLike, TargetLike, WeightLike, with_shape
from spkm._publish import PRIVATE, UNSAVED
from spkm.core.bounds import with_metric_range
from spkm.core.fitted import FittedModel
from spkm.core.objective import Objective
from spkm.core.scaling import check_domain, scaling_for
from spkm.core.starts import first_theta
from spkm.core.targets import Classes, Real, Target
from spkm.fitting.continuing import check_continues, continued_theta
from spkm.fitting.outcome import Outcome, attributes_of
from spkm.fitting.reading import class_factors
from spkm.fitting.recipes import recipe_for_batches
from spkm.fitting.spec import Spec
from spkm.fitting.strategies import fitted_model, restore_scale
from spkm.fitting.views import view_usage_of
from spkm.solvers import Adam, AdamState, Result
from spkm.sources import ArraySource, Block, Scaling
from spkm.tables.read import known_targets, read_like, read_table

BATCH = 32  # samples of a step; after a pass of 20,000 made samples 16 gains 0.2 points, 64 loses 0.2, 128 loses 0.6
WARM_UP = 100  # steps over which rates rise
HALF_AFTER = 1000  # steps after which rates have fallen by the root of two
FORGETTING = 8  # of the average of iterates: step t has a weight near t^8 (Shamir and Zhang 2013)
PENALTY_EVERY = 8  # steps, as in a fit
# Largest logarithm of a learned factor on a bandwidth. Batches may come for ever, and targets that do not depend on a
# feature let its factor fall with every step. Beyond, a kernel is the same number everywhere among samples whose
# distances the first batch has shown, or zero between any two.
WIDEST = 20.0
CAUTIONS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)  # shares of the rates that are tried where a finished fit goes on


@dataclass(frozen=True)
class Progression:
    """State of a fit in small steps.

    Attributes
    ----------
    model : FittedModel
        The average, which predicts.
    state : AdamState
        The last iterate and its moments.
    average : ndarray
        The average of iterates.
    rng : Generator
        Random numbers for the order of samples.
    ranges : tuple of two ndarray
        Least and largest value of each feature so far, scaled.
    n_rows, weight : int and float
        Samples of positive weight so far, and the sum of their weights.
    objective, path : float and list of float
        Running mean of the objective, and its values after each call.
    caution : float
        Share of the rates: less than one where a finished fit goes on, whose weights may be large and balanced.
    """

    model: FittedModel
    state: AdamState
    average: np.ndarray
    rng: np.random.Generator
    ranges: tuple[np.ndarray, np.ndarray]
    n_rows: int
    weight: float
    objective: float
    path: tuple[float, ...]
    caution: float = 1.0


def partial_classes(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike,
    classes: ArrayLike | Iterable[Any] | None,
    sample_weight: WeightLike,
) -> dict[str, Any]:
    """Return the attributes of a classifier after one more batch."""
    previous, now = _before(estimator)
    table, weight, attributes = _batch(estimator, X, y, sample_weight, previous)
    y = known_targets(y)
    check_classification_targets(y)
    labels: np.ndarray = column_or_1d(y)
    known = None if previous is None else estimator.classes_
    if classes is not None:
        given = np.unique(np.asarray(classes))
        if known is not None and not np.array_equal(known, given):
            raise ValueError(f"classes must be those of the first call, {known.tolist()}; got {given.tolist()}.")
        known = given
    if known is None:
        raise ValueError("classes must name all labels in the first call of partial_fit; got None.")
    strange = np.setdiff1d(labels, known)
    if len(strange):
        raise ValueError(f"y must hold labels of classes, {known.tolist()}; got {strange.tolist()}.")
    if len(known) < 2:
        raise ValueError(f"classes must hold at least two labels; got {known.tolist()}.")
    params = estimator.get_params(deep=False)
    target = Classes.of(known)
    factors = class_factors(params["class_weight"], known, None)
    weight = weight if factors is None else weight * factors[np.searchsorted(known, labels)]
    spec = Spec.of(params, table, True, n_classes=len(known), tables=attributes["_tables"])
    found = _next(spec, table, target.encode(labels), weight, target, previous, now, estimator)
    return {**attributes, **found, "classes_": known}


def partial_numbers(estimator: BaseEstimator, X: TableLike, y: TargetLike, sample_weight: WeightLike) -> dict[str, Any]:
    """Return the attributes of a regressor after one more batch."""
    previous, now = _before(estimator)
    table, weight, attributes = _batch(estimator, X, y, sample_weight, previous)
    params = estimator.get_params(deep=False)
    spec = Spec.of(params, table, False, tables=attributes["_tables"])
    y = np.asarray(known_targets(y), dtype=np.float64)
    if not np.isfinite(y).all():
        raise ValueError("y must hold finite numbers; it holds NaN or infinity.")
    Y = y.reshape(len(y), -1)
    spec.loss.check_target(Y)
    if previous is not None:
        target: Any = previous.target
        if y.ndim != 1 + target.two_dimensional or Y.shape[1] != len(target.constant):
            raise ValueError(f"y must have the {len(target.constant)} outputs of the first call; got shape {y.shape}.")
    else:
        spec.loss.check_whole_target(Y)
        target = _first_target(spec, y, Y, weight)
    return {**attributes, **_next(spec, table, target.encode(Y), weight, target, previous, now, estimator)}


def _first_target(spec: Spec, y: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> Real:
    """Return the target of the first batch; outputs that are constant there may vary later, so all are learned."""
    used = weight > 0
    if not used.any():
        raise ValueError("sample_weight must be positive for some samples of the first call; all are zero.")
    found = Real.of(y[used], weight[used], spec.loss, spec.fit_intercept)
    mean, scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
    mean[found.learned], scale[found.learned] = found.mean, found.scale
    mean[~found.learned] = found.constant[~found.learned]
    return Real(np.full(Y.shape[1], np.nan), mean, scale, found.two_dimensional)


def _before(estimator: BaseEstimator) -> tuple[Any, Progression | None]:
    """Return the model to go on from, if there is one, and the state of the last call, if the model is of batches."""
    now: Progression | None = vars(estimator).get("_progression")
    if now is not None:
        return now.model, now
    model = vars(estimator).get("model_")
    if model is not None and (not model.is_joint or model.selected):
        raise ValueError("partial_fit goes on from a joint model of all features only. Use fit, or a clone.")
    if model is not None and not model.target.learned.all():
        raise ValueError("partial_fit goes on from targets that were all learned; some were constant.")
    return model, None


def _batch(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike | None,
    sample_weight: WeightLike,
    previous: FittedModel | None,
) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Return samples, checked against those before, their weights as they are, and what to remember of X."""
    if y is None:
        raise ValueError("partial_fit needs y: it takes samples in memory, one batch a call.")
    if previous is None:
        read = read_table(estimator, X, y, None, multi_output=True)
        table, attributes = read.X, read.attributes
    else:
        table, n_targets = read_like(estimator, X), with_shape(y).shape[0]
        if n_targets != table.shape[0]:
            raise ValueError(f"y must have an entry for each of the {table.shape[0]} samples; got {n_targets}.")
        names = ("n_features_in_", "feature_names_in_", "_tables", "_encoding")
        attributes = {name: value for name, value in vars(estimator).items() if name in names}
    weight = np.ones(table.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != table.shape[:1] or not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError(
            f"sample_weight must be {table.shape[0]} finite numbers of at least zero; got shape {weight.shape} and "
            f"minimum {weight.min() if weight.size else None}."
        )
    return table, weight, attributes


def _next(
    spec: Spec,
    X: Matrix,
    Y: np.ndarray,
    weight: np.ndarray,
    target: Target,
    previous: FittedModel | None,
    now: Progression | None,
    estimator: BaseEstimator,
) -> dict[str, Any]:
    check_domain(spec.terms, X)
    used = np.flatnonzero(weight)
    if len(used) == 0:
        if previous is None:
            raise ValueError("sample_weight must be positive for some samples of the first call; all are zero.")
        return {name: v for name, v in vars(estimator).items() if name.endswith("_") or name in (*PRIVATE, *UNSAVED)}
    if len(used) < len(weight):
        X, Y, weight = X[used], Y[used], weight[used]
    if previous is not None:
        check_continues(previous, spec.terms, X.shape[1], target)
    seen = now.weight if now is not None else vars(estimator).get("_seen", 0.0)  # none before a fit
    outcome, progression = advanced(spec, X, Y, weight, target, previous, now, seen)
    return {**attributes_of(outcome, X.dtype), "_progression": progression, "_seen": progression.weight}


def takes_batches(estimator: BaseEstimator) -> bool:
    """Whether an estimator has ``partial_fit``; an AttributeError with the reason if not, as scikit-learn wants it."""
    solver = estimator.solver
    for wrong, what in (
        (not (isinstance(solver, Adam) or (isinstance(solver, str) and solver in ("auto", "adam"))), "solver"),
        (estimator.selection is not None, "selection"),
        (isinstance(estimator.n_basis, str), "n_basis"),
        (estimator.multi_class != "joint", "multi_class"),
        (estimator.basis == "samples", "basis"),
        (estimator.monotone is not None, "monotone"),
    ):
        if wrong:
            raise AttributeError(
                f"partial_fit needs solver='auto', 'adam' or Adam(...), a number for n_basis, multi_class='joint', "
                f"basis='free', no selection and no monotone; got {what}={getattr(estimator, what)!r}, which needs all "
                "samples at once. Use fit."
            )
    return True


def advanced(
    spec: Spec,
    X: Matrix,
    Y: np.ndarray,
    weight: np.ndarray,
    target: Target,
    previous: FittedModel | None,
    now: Progression | None,
    seen: float,
) -> tuple[Outcome, Progression]:
    """Return the model after one more batch, and where the fit is then.

    Parameters
    ----------
    spec : Spec
        The parameters.
    X, Y, weight : array or CSR (n, d), ndarray (n, m), ndarray (n,)
        The batch: samples of positive weight, encoded targets, weights.
    target : Target
        Meaning of the targets.
    previous : FittedModel or None
        The model to go on from.
    now : Progression or None
        State at the end of the last call; if None, ``previous`` is a finished fit.
    seen : float
        The weight of all samples before.
    """
    scaling = scaling_for(spec.terms, spec.scale, X, weight) if previous is None else previous.scaling
    total = seen + float(weight.sum())
    source = ArraySource(X, Y, weight, scaling)
    source.total_weight = total  # strengths of penalties go by all samples so far
    low, high = source.ranges()
    if previous is not None:
        known = now.ranges if now is not None else _range_of_basis(previous, scaling)
        low, high = np.fmin(low, known[0]), np.fmax(high, known[1])
        source.set_ranges(low, high)
    recipe = recipe_for_batches(spec, target)
    with np.errstate(all="ignore"), source.threads(1):
        objective = recipe.next_problem(spec, source, previous).loss_objective(source)
        objective.box = with_metric_range(objective.model, objective.box, WIDEST)
        begins = now is None
        now = now or _begun(spec, objective, target, previous, (low, high))
        now = replace(now, ranges=(low, high), n_rows=now.n_rows + len(weight), weight=total, rng=deepcopy(now.rng))
        if begins and previous is not None:
            now = _cautious(spec, objective, weight, now)
        now = _stepped(spec, objective, source, weight, now)
        _check_finite(now.average)
        theta = now.average if objective.is_smooth else now.state.theta.astype(np.float64)
        result = Result(objective.inside(theta), now.objective, len(now.path), True, trace=list(now.path))
        restore_scale(objective, result)
        usage = view_usage_of(objective, result.theta, spec.terms)
    fitted = fitted_model(spec, target, objective.model, result.theta, scaling, X.shape[1], None)
    if previous is not None:
        kept = {name: getattr(previous, name) for name in ("strength", "linear_strength", "noise")}
        fitted = replace(fitted, **kept)
    fitted = replace(fitted, recipe=recipe.name)
    usage["cancellation_"] = fitted.cancellation(X[:: max(1, len(weight) // 1000)])
    outcome = Outcome(fitted, result.n_iter, result.value, np.asarray(result.trace), attributes=usage)
    return outcome, replace(now, model=fitted)


def _check_finite(theta: np.ndarray) -> None:
    """Raise ValueError if a batch has left numbers that single precision does not hold."""
    if not np.all(np.isfinite(theta)):
        raise ValueError(
            "The model left the range of single precision, in which batches are computed. Scale X (scale=True), or "
            "give it in other units."
        )


def _range_of_basis(previous: FittedModel, scaling: Scaling | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of the basis vectors of a finished fit, which lies within that of its samples."""
    vectors = previous.basis_vectors[previous.vector_rows]
    vectors = vectors if scaling is None else scaling.forward_points(vectors)
    return np.fmin.reduce(vectors), np.fmax.reduce(vectors)


def _begun(
    spec: Spec, objective: Objective, target: Target, previous: FittedModel | None, ranges: object
) -> Progression:
    """Return the beginning: start points and weights from the first batch, or a finished fit."""
    rng = spec.rng()
    solver = _solver(spec)
    scaling = cast(ArraySource, objective.source).scaling
    theta = first_theta(objective, spec.start, solver.first_weights, rng, scaling)
    if previous is not None:
        theta = continued_theta(previous, objective.model, previous.scaling, target, theta)
    theta = objective.inside(theta)
    state = AdamState.at(theta, solver.rates(objective, rng))
    return Progression(None, state, theta.copy(), rng, ranges, 0, 0.0, 0.0, ())  # type: ignore[arg-type]


def _cautious(spec: Spec, objective: Objective, weight: np.ndarray, now: Progression) -> Progression:
    """Return the beginning with the largest share of the rates at which a pass of the batch does not raise its loss."""
    first = objective.value(now.average)
    for caution in CAUTIONS:
        tried = replace(now, caution=caution, rng=deepcopy(now.rng))
        if (
            objective.value(_stepped(spec, objective, cast(ArraySource, objective.source), weight, tried).average)
            <= first
        ):
            break
    return replace(now, caution=caution)


def _solver(spec: Spec) -> Adam:
    return spec.solver if isinstance(spec.solver, Adam) else Adam(max_iter=spec.max_iter)


def _stepped(
    spec: Spec, objective: Objective, source: ArraySource, weight: np.ndarray, now: Progression
) -> Progression:
    solver = _solver(spec)
    state, average, running = deepcopy(now.state), now.average.copy(), now.objective
    if state.step == 0:
        state.rates = np.float32(now.caution) * state.rates
    # A batch of few or equal samples says little of how far features spread: rates never fall for that reason.
    state.rates = np.maximum(state.rates, np.float32(now.caution) * solver.rates(objective, now.rng))
    size = solver.batch_size or BATCH
    mean_weight = now.weight / now.n_rows
    penalty, d_penalty = 0.0, np.zeros_like(state.theta)
    made = 0
    for _ in range(solver.max_iter or 1):
        for rows in np.array_split(now.rng.permutation(len(weight)), -(-len(weight) // size)):
            some = source.subset(rows)
            whole = some.load((0, len(rows)))
            block = Block(whole.X.astype(np.float32), whole.Y.astype(np.float32), whole.w.astype(np.float32), {})
            if made % PENALTY_EVERY == 0:
                penalty, d_penalty = objective.smooth_penalty(state.theta.astype(np.float64))
            value, gradient = objective.block_loss(block, state.theta)
            # Samples of twice the weight count twice, also where all of a batch have it.
            share = np.float32(weight[rows].mean() / mean_weight)
            state.step, made = state.step + 1, made + 1
            if not state.move(objective, share * gradient + d_penalty.astype(np.float32), _height(state.step)):
                continue
            average += (FORGETTING + 1) / (state.step + FORGETTING) * (state.theta - average)
            running += (value + penalty - running) * max(1 / state.step, 0.02)
    return replace(now, state=state, average=average, objective=running, path=(*now.path, running))


def _height(step: int) -> float:
    """Return the share of the full rates that a step has."""
    return float(min(1.0, step / WARM_UP) / np.sqrt(1.0 + step / HALF_AFTER))
