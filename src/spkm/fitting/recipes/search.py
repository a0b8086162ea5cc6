"""Models of a search for features or numbers of vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.base import clone

from spkm.core.fitted import FittedModel
from spkm.core.model import Term
from spkm.core.problem import Problem
from spkm.core.targets import Target
from spkm.fitting.data import Data
from spkm.fitting.problems import Defaults, usual_strength
from spkm.fitting.recipe import Recipe, Start
from spkm.fitting.spec import Spec
from spkm.penalties import ORDINARY_NOISE, Evidence
from spkm.selection import DEFAULTS, Candidate, has_path, only_kernel
from spkm.sources import Scaling, Source

SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200)  # numbers of basis vectors that "auto" tries: steps of about 1.6
# On relevances while features are sought: the default, 2, holds those of noise up; with 0.1 features of a small effect
# are lost before the vectors are where they should be; measured.
SEARCH_PRIOR = 1.0
MAX_BASIS = 50  # where max_basis is None


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


def candidate_of(spec: Spec, recipe: Recipe, data: Data) -> Candidate:
    """Return a candidate of the search with what is asked of strengths and numbers of vectors."""
    terms, loss = spec.terms, spec.loss
    for view in (view for term in terms for view in term.views):
        if spec.selection is not None and view.kernel.is_per_feature:
            raise ValueError(
                f"kernel={view.kernel!r} has a factor for each feature, which cannot lose features. Leave it out."
            )
    kernel = only_kernel(terms)
    automatic = spec.has_free_size
    n_outputs = data.n_outputs
    # Half of the samples at most, as in a choice of two sizes, unless the user sets the number.
    most = max((spec.max_basis or min(MAX_BASIS, data.n_rows // 2)) // len(terms), 1)
    n_first = 20 if loss.target == "real" else 10 * (n_outputs // 2 + 1)
    counts = [min(n_first, most) if automatic else term.n_basis for term in terms]
    sizes = (*(size for size in SIZES if size < most), most) if automatic and spec.selection is None else ()
    if has_path(kernel) and isinstance(kernel.gamma, str):
        kernel = kernel.with_gamma(1.0)  # not one over the features: few are left at the end
        terms = (replace(terms[0], views=(replace(terms[0].views[0], kernel=kernel),)),)
    linear = kernel is not None and kernel.is_linear
    if linear:
        counts, sizes = [min(counts[0], n_outputs)], ()  # more vectors than outputs say nothing more
    elif has_path(kernel) and automatic:
        few = min(DEFAULTS.vectors_per_output * n_outputs, most)
        counts = [few]
        if spec.selection is not None:
            sizes = tuple(size for size in (2 * few, 4 * few, 8 * few) if size <= most)
    terms = tuple(replace(term, n_basis=count) for term, count in zip(terms, counts, strict=True))
    free = spec.has_free_strength
    name = "views" if kernel is None else type(kernel).__name__.lower()
    problem_of = partial(_problem_of, spec, recipe, SEARCH_PRIOR if free else None)
    return Candidate(name, terms, problem_of, free and not loss.scale_free, sizes)


def _problem_of(
    spec: Spec, recipe: Recipe, prior: float | None, source: Source, columns: np.ndarray | None, terms: tuple[Term, ...]
) -> Problem:
    """Return the problem of a candidate, with another prior on relevances if one is given."""
    problem = recipe.problem(replace(spec, terms=terms), source, columns)
    return problem if prior is None else problem.with_prior(prior)
