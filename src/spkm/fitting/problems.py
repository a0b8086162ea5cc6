"""Numbers for all that depends on data: from what is asked for, and samples, to a problem.

The steps in order: kernels take their bandwidths from a sample, views learn a metric or not, a linear part joins them
or not, and penalties get their strengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from spkm.core.fitted import FittedModel
from spkm.core.model import LINEAR_PART, Term, View
from spkm.core.objective import as_list
from spkm.core.problem import Problem
from spkm.fitting.recipes.continued import same_views
from spkm.fitting.spec import Request
from spkm.kernels import Kernel, Linear
from spkm.penalties import ORDINARY_NOISE, WEIGHT_PENALTIES, Evidence, Penalty, RKHSNorm, SquaredL2
from spkm.solvers import SOLVERS
from spkm.sources import Source

# Over the total weight: a weak pull of log bandwidths to their start; flat from 1 to 10, measured.
BANDWIDTH_PRIOR = 3.0
SHARPER_FOR_CLASSES = 4.0  # times the gamma of the mean distance, for more than two classes; measured
# Chosen on one half of a panel of data sets and confirmed on the other, see docs/numbers/constants.md.
RELEVANCE_PRIOR = 10.0  # over the total weight, on relevances above their start: 3 and 10 gain, 30 loses
# Times features over the total weight: a normal prior of variance 1 / (0.25 d) for each coefficient, so that the linear
# score of standardised features has a variance of 4 a priori.
LINEAR_STRENGTH = 0.25
MOST_BESIDE_EVIDENCE = 500  # features: an iteration solves for n_basis + n_features coefficients
KERNEL_SAMPLE = 1000  # samples whose distances set a bandwidth: half a million pairs
FOLDS = 3  # five gained nothing beyond the noise, and take longer (panel, half A)
FOLD_ROWS = 5_000  # samples that folds share
MOST_WORK = 1e8  # multiplications of a pass over FOLD_ROWS samples up to which folds are worth their time
LINEAR_KERNEL = Linear(gamma=1.0)


def for_samples(request: Request, source: Source) -> Request:
    """Return the request without folds where they are not possible, or not worth their time."""
    if not request.is_adaptive:
        return request
    n, n_basis = source.n_rows, sum(term.n_basis for term in request.terms)
    work = min(n, FOLD_ROWS) * source.n_features * n_basis
    return request if work <= MOST_WORK and n >= 2 * FOLDS else replace(request, by_folds=False)


def problem_of(
    request: Request,
    source: Source,
    columns: np.ndarray | None = None,
    previous: FittedModel | None = None,
    terms: tuple[Term, ...] | None = None,
) -> Problem:
    """Return the problem on the features of ``source``, with numbers for all that depends on data.

    Parameters
    ----------
    request : Request
        What is asked for.
    source : Source
        The samples.
    columns : ndarray of int, default=None
        The features of the whole table, which ``terms`` are about, that the source holds; None is all of them.
    previous : FittedModel, default=None
        The model of an earlier fit, to go on from.
    terms : tuple of Term, default=None
        In place of those of the request.
    """
    terms = request.terms if terms is None else terms
    n, m = source.total_weight, source.n_outputs
    asked = [view for term in terms for view in term.views]
    if previous is not None and same_views(previous.asked, terms):
        # Bandwidths as they were before any of them was learned.
        kernels = [view.kernel for _, view in previous.model.views]
    else:
        here = terms if columns is None else [term.on(columns) for term in terms]
        kernels = _resolved_kernels(request, [view for term in here for view in term.views], source)
    given = _given_penalties(request)
    on_views = [p for v in asked for p in (request.basis_penalties if v.basis_penalty is None else v.basis_penalty)]
    by_evidence = _evidence_fits(request, asked, on_views) if given is None else any(p.is_evidence for p in given)
    directions = tuple((column, direction) for _, column, direction in request.monotone)
    ready = (
        replace(
            view,
            kernel=kernel,
            metric=_metric(request, view, by_evidence),
            # Vectors with a place among the data stay there; those of dot products are directions. Those of pairs are
            # free: bounded ones fit Davis worse, R² .54 to .56 against .56 to .58.
            bounded=request.basis_bounds == "data"
            and (kernel.nonnegative or (kernel.stationary and not request.of_pairs)),
            monotone=directions,
        )
        for view, kernel in zip(asked, kernels, strict=True)
    )
    resolved = tuple(replace(term, views=tuple(next(ready) for _ in term.views)) for term in terms)
    has_linear_part = _has_linear_part(request, by_evidence, source.n_features)
    evidence, on_weights = None, []
    if by_evidence:
        evidence = _evidence(request, given, asked, on_views)
    else:
        on_weights = _weight_penalties(request, given, n, m)
    if has_linear_part:
        # The evidence learns the strength of a linear part.
        penalties = [] if by_evidence else [SquaredL2(LINEAR_STRENGTH * source.n_features / n)]
        linear = View(LINEAR_KERNEL, None, "fixed", penalties, LINEAR_PART, monotone=directions)
        resolved = (*resolved, Term(m, (linear,), is_linear_part=True))
    priors = (0.0, 0.0) if by_evidence else (BANDWIDTH_PRIOR / n, RELEVANCE_PRIOR / n)
    fit_intercept = bool(request.fit_intercept)
    problem = Problem(resolved, request.loss, request.basis_penalties, on_weights, evidence, *priors, fit_intercept)
    if previous is None:
        return problem
    return problem.continued(previous.noise, previous.ridge, previous.linear_variance)


def _resolved_kernels(request: Request, views: list[View], source: Source) -> list[Kernel]:
    """Return the kernels of views, whose columns are those of the source, with bandwidths from a sample."""
    some = source.sample(KERNEL_SAMPLE, np.random.default_rng(request.seed))
    X, weight = some.dense().astype(np.float64), some.w[:, 0].astype(np.float64)
    weight = weight / weight.sum()
    several = source.n_outputs > 1 or request.is_adaptive
    sharper = SHARPER_FOR_CLASSES if request.loss.target == "signs" and several else 1.0
    kernels = []
    for view in views:
        kernel = view.kernel.resolved(X if view.columns is None else X[:, view.columns], weight)
        by_us = kernel is not view.kernel and kernel.stationary  # numbers that the user gives stay as they are
        kernels.append(kernel.with_bandwidth(sharper) if by_us and sharper != 1.0 else kernel)
    return kernels


def _has_linear_part(request: Request, evidence: bool, n_features: int) -> bool:
    asked = request.linear_part
    if asked == "auto":
        of_evidence = evidence and request.is_plain and n_features <= MOST_BESIDE_EVIDENCE
        return request.is_adaptive or of_evidence or (request.is_plain and bool(request.monotone))
    if asked and (request.of_pairs or request.is_searched):
        raise ValueError(
            f"linear_part={asked!r} goes neither with pairs nor with a selection or a search for the number of "
            "vectors. Set linear_part=False."
        )
    return bool(asked)


def _metric(request: Request, view: View, evidence: bool) -> str:
    """Return what is learned of a view's metric: what the view says, or else the estimator."""
    if view.metric is not None:
        return view.metric
    # With a dict, the entry of this view says "auto", or else it would have a metric.
    asked = "auto" if isinstance(request.learn_bandwidth, Mapping) else request.learn_bandwidth
    learn = asked if isinstance(asked, str) else bool(asked)
    by_default = learn == "auto" and view.kernel.stationary
    if learn == "columns" or (by_default and (evidence or request.is_adaptive or request.monotone)):
        return "relevances"
    return "scale" if learn is True or by_default else "fixed"


def _given_penalties(request: Request) -> list[Penalty] | None:
    """Return the penalties on the weights that the user gives, None if they are left to us."""
    if request.has_free_strength:
        return [] if request.loss.scale_free else None
    penalties = [_weight_penalty(penalty) for penalty in as_list(request.weight_penalty)]
    if request.loss.scale_free and penalties:
        raise ValueError(
            f"loss={request.asked_loss!r} ignores the length of the weights, so a penalty would only shrink them "
            "to nothing. Use weight_penalty=None (or 'auto'), or another loss."
        )
    return penalties


def _weight_penalties(request: Request, given: list[Penalty] | None, n: float, n_outputs: int) -> list[Penalty]:
    """Return penalties on the weights with numbers for their strengths."""
    strength = request.loss.rkhs_strength[n_outputs > 1] / n
    return [penalty.with_default(strength) for penalty in ([RKHSNorm()] if given is None else given)]


def _evidence(request: Request, given: list[Penalty] | None, views: list[View], on_views: list[Penalty]) -> Evidence:
    """Return the evidence that takes the place of penalties on the weights."""
    _check_evidence(request, views, on_views, 1 if given is None else len(given))
    evidence: Any = Evidence() if given is None else next(penalty for penalty in given if penalty.is_evidence)
    if not request.is_searched:
        return evidence
    # Of many models, whose weights nobody looks at, from starts of their own.
    known = {} if evidence.noise != "auto" else {"noise": ORDINARY_NOISE}
    return clone(evidence).set_params(ridge=0.0, **known)


def _evidence_fits(request: Request, views: list[View], penalties: list[Penalty]) -> bool:
    solver = request.solver
    # Of a name and of an object alike: the evidence is for solvers that eliminate the weights.
    needs = SOLVERS[solver]().needs if isinstance(solver, str) and solver in SOLVERS else getattr(solver, "needs", ())
    solver_fits = (isinstance(solver, str) and solver == "auto") or needs == ("elimination",)
    # The evidence needs k(x, x), which a metric that is learned would change unless the kernel is stationary.
    kernels_fit = all(
        not view.kernel.shifted and (view.kernel.stationary or _metric(request, view, True) == "fixed")
        for view in views
    )
    # Pairs that share entities are no independent samples: the evidence takes too much of them for noise, measured.
    of_samples = request.task == "regression" and not request.of_pairs and request.loss.is_quadratic
    of_samples = of_samples and not request.monotone  # weights that are eliminated would not keep their signs
    return of_samples and solver_fits and kernels_fit and all(penalty.is_smooth for penalty in penalties)


def _check_evidence(request: Request, views: list[View], penalties: list[Penalty], count: int) -> None:
    if request.monotone:
        raise ValueError("weight_penalty='evidence' does not go with monotone. Use weight_penalty='rkhs'.")
    if not request.loss.is_quadratic:
        raise ValueError(
            f"weight_penalty='evidence' needs loss='squared'; got loss={request.asked_loss!r}. "
            "Use weight_penalty='rkhs'."
        )
    if count > 1:
        raise ValueError(
            f"weight_penalty='evidence' goes with no other penalty on the weights; got {request.weight_penalty!r}."
        )
    if any(view.kernel.shifted for view in views):
        raise ValueError("weight_penalty='evidence' needs a kernel without a shift (2k-1). Use weight_penalty='rkhs'.")
    if not all(penalty.is_smooth for penalty in penalties):
        raise ValueError(
            "weight_penalty='evidence' needs a basis_penalty with a gradient, 'l2' or None; "
            f"got {request.basis_penalty!r}. Use weight_penalty='rkhs'."
        )


def _weight_penalty(value: Any) -> Any:
    penalty = WEIGHT_PENALTIES.part(value, "weight_penalty")
    if "weights" not in penalty.on:
        raise ValueError(
            f"weight_penalty cannot be {penalty!r}: it acts on the {penalty.on[0]}. "
            f"Known names: {', '.join(sorted(WEIGHT_PENALTIES))}."
        )
    return penalty
