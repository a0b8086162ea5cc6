"""Models of a search for features or numbers of vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sklearn.base import clone

from spkm.core.fitted import FittedModel
from spkm.core.targets import Target
from spkm.fitting.problems import Defaults, usual_strength
from spkm.fitting.recipe import Recipe, Start
from spkm.fitting.spec import Spec
from spkm.penalties import ORDINARY_NOISE, Evidence
from spkm.sources import Scaling, Source


@dataclass(frozen=True)
class Search(Recipe):
    """Many small fits, from starts of their own, that are compared on held-out samples.

    **Defaults.** With the evidence (real targets, squared loss): one bandwidth for each feature, no ridge, a known
    first noise. Else one bandwidth for all features and the RKHS norm; its strength is one of the things that are
    tried. No linear part: features that leave the kernel must leave the model. Vectors inside the range of the data,
    unless ``basis_bounds`` is None.
    """

    evidence: Evidence | None = None
    name = "search"

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        if self.evidence is None:
            return Defaults()
        known = {} if self.evidence.noise != "auto" else {"noise": ORDINARY_NOISE}
        return Defaults(metric="relevances", evidence=clone(self.evidence).set_params(ridge=0.0, **known))

    def resume(
        self, spec: Spec, source: Source, scaling: Scaling | None, target: Target, previous: FittedModel
    ) -> Start:
        """Return the start of a fit of the features that a model of a search reads, with the strength it chose."""
        terms = tuple(previous.model.terms)
        kernels = [view.kernel for term in terms for view in term.views]
        problem = replace(self.problem(spec, source, previous.features, kernels), terms=terms)
        if previous.strength is not None:
            problem = problem.with_factor(previous.strength / usual_strength(spec, source.n_outputs))
        problem = problem.continued(previous.noise, previous.ridge, previous.linear_variance)
        return Start(problem, source, onward=lambda _: previous.standardized_theta())
