"""A robust fit that begins where a squared one ended.

Huber's loss and its like see little of the basis at first: far samples pull with a constant force. The evidence of
squared loss, on samples without far targets, finds basis, relevances and the strength of the penalty; the robust loss
then moves basis and weights. It keeps the relevances, unless far samples may have led them astray.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.core.problem import LEAST_NOISE, Problem
from spkm.core.targets import Target
from spkm.fitting.recipe import Fit, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.losses import Loss, Squared
from spkm.penalties import RKHSNorm, SquaredL2
from spkm.solvers import best_of_restarts, choose_solver
from spkm.sources import ArraySource, Scaling, Source

LEAST_NEAR = 0.8  # share of samples that a squared fit goes by


@dataclass(frozen=True)
class SquaredWarmUp(Recipe):
    """Losses of residuals other than the squared one: Huber, epsilon-insensitive, quantile.

    **Defaults.** One bandwidth for each feature, from the squared fit, which also gives the strength of the RKHS norm,
    a ridge and the first basis vectors. No linear part. Vectors inside the range of the data, unless ``basis_bounds``
    is None.

    Parameters
    ----------
    squared : Recipe
        The recipe of the squared fit.
    """

    squared: Recipe
    name = "squared warm-up"

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        problem = self.problem(spec, source)
        near = near_samples(spec.loss, cast(ArraySource, source))
        squared = self.squared.problem(replace(spec, loss=Squared(), linear_part=False), near)
        objective = squared.objective(near)
        found = best_of_restarts(objective, choose_solver(objective), "auto", spec.rng().spawn(1))
        noise, theta = max(float(found.noise or 0.0), LEAST_NOISE), found.theta
        learned = after_squared(problem, noise, found.ridge, source)
        return Start(
            replace(learned, metric=theta) if trusts(problem, noise) else learned,
            source,
            onward=lambda _: theta,
            noise=noise,
            ridge=found.ridge,
            stopped=theta if found.interrupted else None,
        )

    def resume(
        self, spec: Spec, source: Source, scaling: Scaling | None, target: Target, previous: FittedModel
    ) -> Start:
        start, noise = super().resume(spec, source, scaling, target, previous), previous.noise
        if noise is None:
            return start
        problem = after_squared(start.problem, noise, previous.ridge, source)
        start = replace(start, problem=problem, noise=noise, ridge=previous.ridge)
        start = self.from_previous(start, scaling, target, previous)
        if not trusts(problem, noise):
            return start
        assert start.onward is not None
        return replace(start, problem=replace(problem, metric=start.onward(problem.model(source).zeros()[0])))

    def conclude(self, spec: Spec, fit: Fit) -> Fit:
        if fit.start.noise is None:
            return fit
        return replace(fit, result=replace(fit.result, noise=fit.start.noise, ridge=fit.start.ridge))


def near_samples(loss: Loss, source: ArraySource) -> Any:
    """Return the samples without those of far targets, which a vector might be spent on; clipped if they are many."""
    clipped = source.encoded(loss.working_target)
    near = np.flatnonzero(np.all(clipped.Y == source.Y, axis=1))
    return clipped if len(near) < LEAST_NEAR * source.n_rows else clipped.subset(near)


def after_squared(problem: Problem, noise: float, ridge: float, source: Source) -> Problem:
    """Return the problem of relevances that are known, with the strength that a ratio of noise amounts to."""
    # |r|^2 / 2 with l / (2 n) c'Kc is what the evidence amounts to.
    # Noise of the squared loss may be far samples, which need no stronger penalty than usual.
    strength = min(noise, problem.loss.rkhs_strength[0]) / source.total_weight
    penalties = [RKHSNorm(strength), SquaredL2(ridge * strength)]
    return replace(problem.with_relevances(), weight_penalties=penalties)


def trusts(problem: Problem, noise: float) -> bool:
    """Whether the relevances of the squared fit are kept: where it took little for noise."""
    return noise <= problem.loss.rkhs_strength[0]
