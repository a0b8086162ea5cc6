"""A fit that goes on from the model of an earlier one."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.core.starts import MOST_ROWS, first_theta, resolve_start
from spkm.core.targets import Target
from spkm.fitting.recipe import Around, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.sources import Scaling, Source


class Continued(Around):
    """A recipe that begins with the basis, the bandwidths, the weights and the strength of an earlier model.

    A larger ``n_basis`` adds vectors of weight zero. A fit begins anew where the earlier model suits the samples less
    than first vectors among them do: kernels of vectors far from all samples are zero, and so are their gradients.
    """

    def __init__(self, inner: Recipe, previous: FittedModel) -> None:
        super().__init__(inner)
        self.previous = previous

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        warm = self.inner.resume(spec, source, scaling, target, self.previous)
        return self.inner.begin(spec, source, scaling, target) if is_behind(spec, warm, source, scaling) else warm


def is_behind(spec: Spec, warm: Start, source: Source, scaling: Scaling | None) -> bool:
    """Whether the objective of a warm start is above that of first vectors among some of the samples."""
    if warm.onward is None:
        return False
    rng = spec.rng()
    whole = warm.objective(source)
    objective: Any = whole.on(whole.source.sample(MOST_ROWS, rng))
    fresh = first_theta(objective, resolve_start(spec.start, objective.model, scaling), "ridge", rng)

    def value(theta: np.ndarray) -> float:
        inside = objective.inside(theta)
        return float(objective.value(inside if warm.problem.evidence is None else objective.start(inside)))

    return not value(warm.onward(fresh)) <= value(fresh)
