"""A fit that goes on from the model of an earlier one."""

from __future__ import annotations

from spkm.core.fitted import FittedModel
from spkm.core.targets import Target
from spkm.fitting.recipe import Around, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.sources import Scaling, Source


class Continued(Around):
    """A recipe that begins with the basis, the bandwidths, the weights and the strength of an earlier model.

    A larger ``n_basis`` adds vectors of weight zero.
    """

    def __init__(self, inner: Recipe, previous: FittedModel) -> None:
        super().__init__(inner)
        self.previous = previous

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        return self.inner.resume(spec, source, scaling, target, self.previous)
