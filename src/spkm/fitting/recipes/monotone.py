"""Scores that rise, or fall, with a feature whatever the others are: by construction, and proved at the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.core.model import PreimageModel
from spkm.core.monotone import certificate
from spkm.core.targets import Target
from spkm.fitting.problems import Defaults
from spkm.fitting.recipe import Fit, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.solvers import LBFGS
from spkm.sources import Scaling, Source

FAR = 8.0  # deviations that a range spans at most for first factors of one: nearly all normal samples do not reach it


@dataclass(frozen=True)
class Monotone(Recipe):
    """Vectors of positive weight at one edge of a feature's range, vectors of negative weight at the other.

    **Defaults.** One bandwidth for each feature and a linear part for a stationary kernel. The RKHS norm with the
    strength of the loss, over the number of samples. L-BFGS, which keeps bounds. Monotone features are clipped at the
    range of the training samples, so that the constraint holds for all values; other features keep the vectors inside
    that range, unless ``basis_bounds`` is None.

    **Start.** Vectors of the largest first weights get the positive signs, and a range of more than eight deviations
    counts as one of eight in the first metric. Else most weights are zero where the solver begins, or similarities to
    vectors at a far edge are, and with them all slopes: the fit ends as a linear model.

    Parameters
    ----------
    stationary : bool
        Whether the kernel is stationary.
    """

    stationary: bool
    name = "monotone"

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        return Defaults(metric="relevances", linear_part=self.stationary)

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        start = super().begin(spec, source, scaling, target)
        assert scaling is not None  # monotone needs scale=True
        first = partial(_with_slopes, start.problem.model(source), 2 * scaling.clip)
        return replace(start, solver=LBFGS(), onward=first)

    def resume(
        self, spec: Spec, source: Source, scaling: Scaling | None, target: Target, previous: FittedModel
    ) -> Start:
        return replace(super().resume(spec, source, scaling, target, previous), solver=LBFGS())

    def conclude(self, spec: Spec, fit: Fit) -> Fit:
        return replace(fit, attributes={"monotone_": {feature: sign for feature, _, sign in spec.monotone}})

    def verify(self, spec: Spec, model: FittedModel) -> None:
        for feature, column, direction in spec.monotone:
            if not certificate(model, column, direction):
                raise RuntimeError(f"The fit ended without a proof that it is monotone in {feature!r}: a bug of spkm.")


def _with_slopes(model: PreimageModel, ranges: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return a first theta whose vectors have signs of their own and edges within reach, for ranges of features."""
    params, row, k = model.unpack(theta), 0, 0
    for term in model.terms:
        rows, views = slice(row, row + term.n_basis), slice(k, k + len(term.views))
        if not term.is_linear_part:
            order = np.argsort(-params.weights[rows, 0], kind="stable")  # the first half will be positive
            for part in (params.weights[rows], *params.basis[views]):
                part[...] = part[order]
        row, k = rows.stop, views.stop
    for (_, view), log_metric in zip(model.views, params.log_metric, strict=True):
        columns = [column for column, _ in view.monotone]
        if len(log_metric) == len(ranges):  # a factor for each feature
            log_metric[columns] = 2 * np.log(FAR / np.maximum(ranges[columns], FAR))
    return theta
