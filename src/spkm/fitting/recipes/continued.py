"""A fit that goes on from the model of an earlier one."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.core.starts import MOST_ROWS, first_theta
from spkm.core.targets import Target
from spkm.fitting.recipe import Around, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.sources import Scaling, Source


class Continued(Around):
    """A recipe that begins with the basis, the bandwidths, the weights and the strength of an earlier model.

    A larger ``n_basis`` adds vectors of weight zero. A fit begins anew if the earlier model suits the samples less
    than first vectors among them do: kernels of vectors far from all samples are zero, and so are their gradients. The
    first objective of the new fit must be the lower one, so that no warm start ends above the model it began with; but
    an evidence depends on the noise, which a new fit has yet to learn.

    Parameters
    ----------
    inner : Recipe
        The recipe.
    previous : FittedModel
        The earlier model.
    comparable : bool
        Whether first objectives may be compared.
    """

    def __init__(self, inner: Recipe, previous: FittedModel, comparable: bool) -> None:
        super().__init__(inner)
        self.previous, self.comparable = previous, comparable

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        warm = self.inner.resume(spec, source, scaling, target, self.previous)
        if not is_behind(spec, warm, scaling):
            return warm
        anew = self.inner.begin(spec, source, scaling, target)
        if self.comparable and not _first_value(spec, anew, scaling) < _first_value(spec, warm, scaling):
            return warm
        return anew


def is_behind(spec: Spec, warm: Start, scaling: Scaling | None) -> bool:
    """Whether the objective of a warm start is above that of first vectors among some of the samples."""
    if warm.onward is None:
        return False
    rng = spec.rng()
    whole = warm.problem.objective(warm.source)
    objective: Any = whole.on(whole.source.sample(MOST_ROWS, rng))
    fresh = first_theta(objective, spec.start, "ridge", rng, scaling)
    return not _value(warm, objective, warm.onward(fresh)) <= _value(warm, objective, fresh)


def _first_value(spec: Spec, start: Start, scaling: Scaling | None) -> float:
    """Return the objective at the first parameters of the descent from a start."""
    objective = start.problem.objective(start.source)
    rng = spec.rng().spawn(1)[0]  # that of the first descent
    theta = first_theta(objective, spec.start, "ridge", rng, scaling)
    return _value(start, objective, theta if start.onward is None else start.onward(theta))


def _value(start: Start, objective: Any, theta: np.ndarray) -> float:
    return float(objective.value(start.problem.parameters(objective, objective.inside(theta))))
