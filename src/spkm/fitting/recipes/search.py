"""Models of a search for features or numbers of vectors."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.base import clone

from spkm.fitting.problems import Defaults
from spkm.fitting.recipe import Recipe
from spkm.fitting.spec import Spec
from spkm.penalties import ORDINARY_NOISE, Evidence
from spkm.sources import Source


@dataclass(frozen=True)
class Search(Recipe):
    """Many small fits, from starts of their own, that are compared on held-out samples.

    **Defaults.** With the evidence (real targets, squared loss): one bandwidth for each feature, no ridge, a known
    first noise. Else one bandwidth for all features and the RKHS norm; its strength is one of the things that are
    tried. No linear part: features that leave the kernel must leave the model.
    """

    evidence: Evidence | None = None
    name = "search"

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        if self.evidence is None:
            return Defaults()
        known = {} if self.evidence.noise != "auto" else {"noise": ORDINARY_NOISE}
        return Defaults(metric="relevances", evidence=clone(self.evidence).set_params(ridge=0.0, **known))
