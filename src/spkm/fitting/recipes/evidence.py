"""The marginal likelihood of a sparse Gaussian process as the objective."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spkm.core.evidence import AnyObjective
from spkm.core.fitted import fitted_terms
from spkm.core.posterior import Posterior, Surroundings
from spkm.core.problem import Problem
from spkm.core.profiled import JITTER
from spkm.core.starts import centres_of, draw_sample
from spkm.fitting.merging import with_merged_vectors
from spkm.fitting.problems import KERNEL_SAMPLE, Defaults
from spkm.fitting.progress import Progress
from spkm.fitting.recipe import Fit, Recipe
from spkm.fitting.spec import Spec
from spkm.penalties import Evidence
from spkm.solvers import Result, VarPro
from spkm.sources import Source

MOST_BESIDE_EVIDENCE = 500  # features: an iteration solves for n_basis + n_features coefficients
CENTRES = 100  # 300 make no difference on the panel, and less of one between known and new subjects
# Share of the samples that count as known. Intervals of 90 % hold 92.9, 91.6 and 90.6 % of the targets of half A of the
# panel with half of them, nine in ten and all, and 74, 69 and 45 % of those of new subjects (`benchmarks defaults`).
KNOWN = 0.9


@dataclass(frozen=True)
class ByEvidence(Recipe):
    """Squared loss for real targets: the evidence learns noise, bandwidths and the strength of a linear part.

    **Defaults.** One bandwidth for each feature. A linear part, if there is a single kernel and at most 500 features.
    No penalties on weights and bandwidths: the evidence takes their place. Vectors inside the range of the data, unless
    ``basis_bounds`` is None. A single kernel has standard deviations of predictions, and its vectors that end at one
    place become one.

    Parameters
    ----------
    evidence : Evidence
        Settings of the objective.
    single : bool
        Whether there is one stationary kernel on all features.
    """

    evidence: Evidence
    single: bool
    name = "evidence"

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        linear = self.single and source.n_features <= MOST_BESIDE_EVIDENCE
        return Defaults(metric="relevances", linear_part=linear, evidence=self.evidence)

    def refine(self, spec: Spec, fit: Fit, progress: Progress) -> Fit:
        return with_merged_vectors(fit, VarPro()) if self.single else fit

    def conclude(self, spec: Spec, fit: Fit) -> Fit:
        if not self.single:
            return fit
        return replace(fit, posterior=posterior_of(fit.start.problem, fit.objective, fit.result, spec.rng()))


def posterior_of(problem: Problem, objective: AnyObjective, result: Result, rng: np.random.Generator) -> Posterior:
    """Return the numbers that standard deviations of predictions need, after a fit by the evidence."""
    counts = [term.n_basis for term in objective.model.terms]
    learned = problem.continued(result.noise, result.ridge, result.linear_variance).with_vectors(counts)
    found = learned.evidence_objective(objective.source)
    around = surroundings(found, result.theta, float(result.noise or 0.0), rng)
    return found.posterior(found.start(result.theta), around)


def surroundings(objective: AnyObjective, theta: np.ndarray, noise: float, rng: np.random.Generator) -> Surroundings:
    """Return centres of the samples by k-means in the metric of the model's only kernel, at most one for two samples.

    ``noise`` is the ratio of noise to signal variance of a sample, of which a centre's mean has several.
    """
    sample = draw_sample(objective.source, KERNEL_SAMPLE, rng)
    count = max(1, min(CENTRES, len(sample.X) // 2))
    kernel = fitted_terms(objective.model, theta)[0].views[0].kernel
    root = np.sqrt(objective.model.views[0][1].factors(objective.model.unpack(theta).log_metric[0]))
    centres = centres_of(sample.X * root, sample.weight, count, rng) / np.where(root > 0, root, 1.0)
    noises = (JITTER + noise * count / objective.source.total_weight) * np.eye(count)
    inverse = np.asarray(np.linalg.inv(kernel(centres, centres) + noises), dtype=np.float64)
    k = kernel(sample.X, centres)
    left = kernel.diagonal(sample.X) - np.einsum("ir,ir->i", k @ inverse, k)
    order = np.argsort(left)
    place = int(np.searchsorted(np.cumsum(sample.weight[order]), KNOWN))
    return Surroundings(centres, inverse, max(0.0, float(left[order[min(place, len(order) - 1)]])))
