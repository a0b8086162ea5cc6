"""A robust fit that begins where a squared one ended.

Huber's loss and its like see little of the basis at first: far samples pull with a constant force. The evidence of
squared loss, on samples without far targets, finds basis, relevances and the strength of the penalty; the robust loss
then moves basis and weights. It keeps the relevances, unless far samples may have led them astray.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spkm.core.problem import LEAST_NOISE, Problem
from spkm.core.starts import resolve_start
from spkm.fitting.lead import Lead
from spkm.fitting.problems import problem_of
from spkm.fitting.spec import Request
from spkm.losses import Squared
from spkm.penalties import RKHSNorm, SquaredL2
from spkm.solvers import best_of_restarts, choose_solver
from spkm.sources import ArraySource

LEAST_NEAR = 0.8  # share of samples that a squared fit goes by


def begins_squared(request: Request) -> bool:
    """Whether a squared fit comes first: the loss is one of residuals, and nothing but it was asked for."""
    loss = request.loss
    of_residuals = loss.target == "real" and loss.standardize_target and not loss.is_quadratic
    automatic = all(isinstance(asked, str) and asked == "auto" for asked in (request.start, request.learn_bandwidth))
    untouched = request.has_free_strength and automatic
    by_gradient = isinstance(request.solver, str) and request.solver in ("auto", "lbfgs")
    plain = (
        request.is_plain
        and not request.monotone
        and request.linear_part in ("auto", False)
        and not request.basis_penalties
    )
    return bool(request.task == "regression" and of_residuals and untouched and by_gradient and plain)


def led_by_squared(request: Request, problem: Problem, source: ArraySource) -> Lead:
    """Return the way by a squared fit: the problem with what it found, and its theta to go on from."""
    squared = replace(request, loss=Squared(), linear_part=False)
    near = _near_samples(request, source)
    objective = problem_of(squared, near).objective(near)
    start = resolve_start("auto", objective.model, None)
    found = best_of_restarts(objective, choose_solver(objective), start, request.rng().spawn(1))
    noise, theta = max(float(found.noise or 0.0), LEAST_NOISE), found.theta
    return Lead(
        after_squared(problem, noise, found.ridge, source),
        onward=lambda _: theta,
        metric=theta if trusts(problem, noise) else None,
        noise=noise,
        ridge=found.ridge,
        stopped=theta if found.interrupted else None,
    )


def _near_samples(request: Request, source: ArraySource) -> ArraySource:
    """Return the samples without those of far targets, which a vector might be spent on; clipped if they are many."""
    clipped = source.encoded(request.loss.working_target)
    near = np.flatnonzero(np.all(clipped.Y == source.Y, axis=1))
    return clipped if len(near) < LEAST_NEAR * source.n_rows else clipped.subset(near)


def after_squared(problem: Problem, noise: float, ridge: float, source: ArraySource) -> Problem:
    """Return the problem of relevances that are known, with the strength that a ratio of noise amounts to."""
    terms = tuple(
        replace(term, views=tuple(replace(view, metric="relevances") for view in term.views)) for term in problem.terms
    )
    # |r|^2 / 2 with l / (2 n) c'Kc is what the evidence amounts to.
    # What looks like noise to squared loss may be far samples, which need no stronger penalty than usual.
    strength = min(noise, problem.loss.rkhs_strength[0]) / source.total_weight
    penalties = [RKHSNorm(strength), SquaredL2(ridge * strength)]
    return replace(problem, terms=terms, weight_penalties=penalties)


def trusts(problem: Problem, noise: float) -> bool:
    """Whether the relevances of the squared fit are kept: where it took little for noise."""
    return noise <= problem.loss.rkhs_strength[0]
