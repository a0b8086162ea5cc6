"""Names and "auto" become objects here, and only here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from spkm._checks import check_integer, check_real
from spkm._registry import Registry
from spkm.estimators._state import FittedState, same_settings, same_views
from spkm.kernels import Kernel
from spkm.losses import LOSSES, Loss, Squared
from spkm.model import PreimageModel, Term, View
from spkm.objective import Objective, as_list, is_smooth
from spkm.penalties import BASIS_PENALTIES, WEIGHT_PENALTIES, Evidence, Penalty, RKHSNorm
from spkm.selection import Machine
from spkm.solvers import SOLVERS, Solver, VarPro, choose_solver
from spkm.sources import Source
from spkm.starts import STARTS, KMeans, Sample, Start, draw_sample

BANDWIDTH_PRIOR = 3.0  # over the sum of row weights; measured
SHARPER_FOR_CLASSES = 4.0  # times the gamma of the mean distance, for more than two classes; measured
KERNEL_SAMPLE = 1000  # rows whose distances set a bandwidth

# What the numbers of losses, penalties, solvers and starts must be: bounds of real ones, least values of integers.
REALS: dict[str, dict[str, Any]] = {
    "delta": {"strict": True},
    "width": {"strict": True},
    "noise": {"strict": True},
    "l1_ratio": {"most": 1.0},
    **{name: {} for name in ("epsilon", "strength", "radius", "trace", "prior", "tol")},
    **{name: {} for name in ("basis_rate", "weight_rate", "metric_rate")},
}
INTEGERS = {
    "max_iter": 1,
    "batch_size": 1,
    "first_rows": 1,
    "basis_rows": 1,
    "basis_steps": 1,
    "weight_steps": 1,
    "polish": 0,
    "n_candidates": 1,
}


def resolve_loss(loss: Any, task: str) -> Loss:
    """Return the loss; "auto" is "log" for classes and "squared" for real targets."""
    if isinstance(loss, str) and loss == "auto":
        loss = "log" if task == "classification" else "squared"
    resolved = _resolved(LOSSES, loss, "loss")
    if task == "regression" and resolved.target == "signs" and not resolved.scale_free:
        raise ValueError(
            f"loss={loss!r} is for classes. "
            "Use 'squared', 'huber', 'quantile', 'poisson' or another one for real targets."
        )
    if task == "classification" and not resolved.standardize_target:
        raise ValueError(f"loss={loss!r} is for counts. Use 'log', 'squared_hinge' or another one for classes.")
    return resolved


def resolve_machine(
    estimator: Any,
    source: Source,
    loss: Loss,
    terms: tuple[Term, ...],
    columns: np.ndarray | None = None,
    previous: FittedState | None = None,
) -> Machine:
    """Return the settings of a fit on the columns of ``source``, with numbers for all that depends on data.

    ``columns`` are those of the whole table, which ``terms`` are about, that the source holds; None is all of them.
    """
    m = source.n_outputs
    here = terms if columns is None else [term.on(columns) for term in terms]
    asked = [view for term in terms for view in term.views]
    if previous is not None and same_views(previous.asked, terms):
        # Bandwidths as they were before any of them was learned.
        kernels = [view.kernel for _, view in previous.model.views]
    else:
        some = draw_sample(source, KERNEL_SAMPLE, generator(estimator.random_state))
        sharper = SHARPER_FOR_CLASSES if m > 1 and loss.target == "signs" else 1.0
        kernels = [_resolved_kernel(view, some, sharper) for term in here for view in term.views]
    on_basis, on_weights = resolve_penalties(estimator, loss, asked, source.total_weight, m)
    evidence = any(isinstance(p, Evidence) for p in on_weights)
    ready = (
        replace(view, kernel=kernel, metric=_metric(estimator, view, evidence))
        for view, kernel in zip(asked, kernels, strict=True)
    )
    resolved = tuple(replace(term, views=tuple(next(ready) for _ in term.views)) for term in terms)
    prior = 0.0 if evidence else BANDWIDTH_PRIOR / source.total_weight
    machine = Machine(resolved, loss, on_basis, on_weights, prior, estimator.fit_intercept)
    return machine if previous is None else machine.with_noise(previous.noise)


def _resolved_kernel(view: View, some: Sample, sharper: float) -> Kernel:
    kernel = view.kernel
    resolved = kernel.resolved(some.X if view.columns is None else some.X[:, view.columns], some.weight)
    if sharper != 1.0 and kernel.stationary and not same_settings(resolved, kernel):
        return resolved.with_bandwidth(sharper)
    return resolved


def _metric(estimator: Any, view: View, evidence: bool) -> str:
    """Return what is learned of a view's metric: what the view says, or else the estimator."""
    if view.metric is not None:
        return view.metric
    asked = estimator.learn_bandwidth
    if isinstance(asked, Mapping):
        asked = "auto"  # as the entry of this view says, or else it would have a metric
    learn = asked if isinstance(asked, str) else bool(asked)
    if learn == "columns" or (evidence and learn == "auto" and view.kernel.stationary):
        return "relevances"
    return "scale" if learn is True or (learn == "auto" and view.kernel.stationary) else "fixed"


def resolve_penalties(
    estimator: Any, loss: Loss, views: list[View], n: float, n_outputs: int
) -> tuple[list[Penalty], list[Penalty]]:
    """Return the penalties on basis and weights, with numbers for strengths that depend on loss, rows and outputs."""
    common = None if isinstance(estimator.basis_penalty, Mapping) else estimator.basis_penalty
    basis = [basis_penalty(p) for p in as_list(common)]
    on_views = [p for view in views for p in (basis if view.basis_penalty is None else view.basis_penalty)]
    if not (isinstance(estimator.weight_penalty, str) and estimator.weight_penalty == "auto"):
        weights = [
            _penalty(WEIGHT_PENALTIES, p, "weights", "weight_penalty") for p in as_list(estimator.weight_penalty)
        ]
        if loss.scale_free and weights:
            raise ValueError(
                f"loss={estimator.loss!r} ignores the length of the weights, so a penalty would only shrink them to "
                "nothing. Use weight_penalty=None (or 'auto'), or another loss."
            )
    elif loss.scale_free:
        weights = []
    elif isinstance(loss, Squared) and _evidence_fits(estimator, views, on_views):
        weights = [Evidence()]
    else:
        weights = [RKHSNorm()]
    for i, penalty in enumerate(weights):
        if isinstance(penalty, RKHSNorm) and isinstance(penalty.strength, str):
            weights[i] = RKHSNorm(loss.rkhs_strength[n_outputs > 1] / n)
        if isinstance(penalty, Evidence) and not isinstance(loss, Squared):
            raise ValueError(
                f"weight_penalty='evidence' needs loss='squared'; got loss={estimator.loss!r}. "
                "Use weight_penalty='rkhs'."
            )
        if isinstance(penalty, Evidence) and any(view.kernel.shifted for view in views):
            raise ValueError(
                "weight_penalty='evidence' needs a kernel without a shift (2k-1). Use weight_penalty='rkhs'."
            )
        if isinstance(penalty, Evidence) and not all(is_smooth(p) for p in on_views):
            raise ValueError(
                "weight_penalty='evidence' needs a basis_penalty with a gradient, 'l2' or None; "
                f"got {estimator.basis_penalty!r}. Use weight_penalty='rkhs'."
            )
    return basis, weights


def basis_penalty(value: Any) -> Penalty:
    """Return a penalty on basis vectors, from a name or as it is, with its numbers checked."""
    return _penalty(BASIS_PENALTIES, value, "basis", "basis_penalty")


def _evidence_fits(estimator: Any, views: list[View], penalties: list[Penalty]) -> bool:
    solver = estimator.solver
    solver_fits = isinstance(solver, VarPro) or (isinstance(solver, str) and solver in ("auto", "varpro"))
    # The evidence needs k(x, x), which a metric that is learned would change unless the kernel is one of a distance.
    kernels_fit = all(
        not view.kernel.shifted and (view.kernel.stationary or _metric(estimator, view, True) == "fixed")
        for view in views
    )
    # Pairs that share entities are no independent rows: the evidence takes too much of them for noise, measured.
    of_rows = estimator._task == "regression" and not estimator._of_pairs
    return of_rows and solver_fits and kernels_fit and all(is_smooth(p) for p in penalties)


def _penalty(registry: Any, value: Any, part: str, argument: str) -> Penalty:
    penalty = _resolved(registry, value, argument)
    if part not in penalty.on:
        raise ValueError(
            f"{argument} cannot be {penalty!r}: it acts on the {penalty.on[0]}. "
            f"Known names: {', '.join(sorted(registry))}."
        )
    return penalty


def _resolved(registry: Registry, value: Any, argument: str) -> Any:
    """Return the object, with its numbers checked if its class is one of ours."""
    part = registry.resolve(value, argument)
    defaults = type(part)().get_params(deep=False) if type(part) in registry.values() else {}
    for name, default in defaults.items():
        number = getattr(part, name)
        if isinstance(number, str | None) and number == default:
            continue  # "auto", or None
        if name in REALS:
            check_real(f"{name} of {argument}", number, **REALS[name])
        elif name in INTEGERS:
            check_integer(f"{name} of {argument}", number, INTEGERS[name])
    return part


def resolve_solver(solver: Any, max_iter: int | None, tol: float | None, objective: Objective) -> Solver:
    """Return the solver, by name with the estimator's ``max_iter`` and ``tol``; an error if it cannot do the job."""
    by_name = isinstance(solver, str)
    chosen = choose_solver(objective) if by_name and solver == "auto" else _resolved(SOLVERS, solver, "solver")
    if by_name:
        known = chosen.get_params()
        settings = {"max_iter": max_iter, "tol": tol}
        chosen = clone(chosen).set_params(**{k: v for k, v in settings.items() if v is not None and k in known})
    reason = chosen.refuses(objective)
    if reason is not None:
        raise ValueError(f"{type(chosen).__name__} cannot minimise this objective: {reason}")
    return chosen


def resolve_start(start: Any, model: PreimageModel, scaling: Any) -> Start | np.ndarray:
    """Return the start rule, or points on the scale of the model where the user gives them."""
    if isinstance(start, str) and start == "auto":
        return KMeans()
    if isinstance(start, str | Start) or isinstance(start, type):
        return _resolved(STARTS, start, "start")
    try:
        basis = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        basis = np.zeros(())
    wanted = (model.n_basis, model.n_features)
    if basis.shape == wanted:
        for row, column in _not_looked_at(model):
            basis[row, column] = 0.0
    if basis.shape != wanted or not np.all(np.isfinite(basis)):
        got = f"one of shape {basis.shape}" if basis.ndim else repr(start)
        got = "one with NaN or infinity" if basis.shape == wanted else got
        raise ValueError(
            f"start must be 'auto', {', '.join(map(repr, sorted(STARTS)))}, a Start object or an array of finite "
            f"numbers of shape (n_basis, n_features) = {wanted}; got {got}."
        )
    return basis if scaling is None else scaling.forward_points(basis)


def _not_looked_at(model: PreimageModel) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the rows of each term among all basis vectors, and the columns that none of its views looks at."""
    row = 0
    for term in model.terms:
        yield slice(row, row + term.n_basis), np.setdiff1d(np.arange(model.n_features), term.columns(model.n_features))
        row += term.n_basis


def n_threads(n_jobs: Any) -> int:
    """Return the number of threads that ``n_jobs`` asks for."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None (all cores), a positive integer, or -1; got {n_jobs!r}.")
    if n_jobs is None:
        # joblib's workers are told their share of the cores by this variable.
        return min(joblib.cpu_count(), max(1, int(os.environ.get("OMP_NUM_THREADS", joblib.cpu_count()))))
    return joblib.effective_n_jobs(int(n_jobs))


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator; global random state is never touched."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    is_seed = isinstance(random_state, int | np.integer) and random_state >= 0
    if random_state is None or is_seed or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise ValueError(
        f"random_state must be None, an integer of at least 0, a RandomState or a Generator; got {random_state!r}."
    )
