"""Basis vectors that are training samples.

A free fit finds places for the vectors. Each moves to the nearest sample in the metric it has learned, and the same
solver goes on from there with the vectors held in place: weights, intercept, bandwidths and a linear part follow.
Rounds of setting the vectors free and moving them to samples again gained less than their standard error.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spkm.core.bounds import Box, own_box
from spkm.core.evidence import AnyObjective
from spkm.core.model import PreimageModel
from spkm.fitting.nearest import moved_to_samples
from spkm.fitting.progress import Progress
from spkm.fitting.recipe import Around, Fit, Recipe
from spkm.fitting.spec import Spec


class OnSamples(Around):
    """A recipe whose basis vectors move to samples after the descent, and stay there in a second one."""

    def __init__(self, inner: Recipe) -> None:
        super().__init__(inner)
        self.name = f"{inner.name}, on samples"

    def hold(self, objective: AnyObjective, theta: np.ndarray) -> None:
        objective.box = _holding_basis(objective.model, objective.box, theta)

    def placed(self, objective: AnyObjective, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return moved_to_samples(objective, theta)

    def refine(self, spec: Spec, fit: Fit, progress: Progress) -> Fit:
        objective, found = fit.objective, fit.result
        theta, rows = self.placed(objective, found.theta)
        problem = fit.start.problem.continued(found.noise, found.ridge, found.linear_variance)
        held = problem.objective(objective.source, fit.columns)
        held.box = objective.box
        self.hold(held, theta)
        result = fit.solver.minimize(held, held.inside(theta), spec.rng(), progress.iteration)
        result.theta = held.inside(result.theta)  # a solver of the user's may have no bounds
        result.interrupted = result.interrupted or found.interrupted
        result.by_signal = result.by_signal or found.by_signal
        return replace(fit, result=result, picked=rows)


def _holding_basis(model: PreimageModel, box: Box | None, theta: np.ndarray) -> Box:
    """Return bounds that hold all basis vectors where theta has them."""
    kept = own_box(model, box)
    linear = [term.is_linear_part for term in model.terms for _ in term.views]
    for part in kept:
        for bound, basis, free in zip(model.unpack(part).basis, model.unpack(theta).basis, linear, strict=True):
            if not free:
                bound[...] = basis
    return kept
