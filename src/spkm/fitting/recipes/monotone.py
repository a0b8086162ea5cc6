"""Scores that rise, or fall, with a feature whatever the others are: by construction, and proved at the end."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spkm.core.fitted import FittedModel
from spkm.core.monotone import certificate
from spkm.core.targets import Target
from spkm.fitting.problems import Defaults
from spkm.fitting.recipe import Fit, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.solvers import LBFGS
from spkm.sources import Scaling, Source


@dataclass(frozen=True)
class Monotone(Recipe):
    """Vectors of positive weight at one edge of a feature's range, vectors of negative weight at the other.

    **Defaults.** One bandwidth for each feature and a linear part for a stationary kernel. The RKHS norm with the
    strength of the loss, over the number of samples. L-BFGS, which keeps bounds. Monotone features are clipped at the
    range of the training samples, so that the constraint holds for all values; other features keep the vectors inside
    that range, unless ``basis_bounds`` is None.

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
        return replace(super().begin(spec, source, scaling, target), solver=LBFGS())

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
