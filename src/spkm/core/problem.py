"""Everything that defines a fit except samples and features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.base import clone

from spkm.core.bounds import Box, box_of, with_metric_of
from spkm.core.evidence import AnyObjective, EvidenceObjective
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.losses import Loss
from spkm.penalties import Evidence, Penalty
from spkm.sources import Source

LEAST_NOISE = 1e-6  # to go on with: with less, vectors that depend on one another could not be separated


@dataclass(frozen=True)
class Problem:
    """Settings of a fit: all names are objects, all strengths numbers.

    Parameters
    ----------
    terms : tuple of Term
        Terms over the whole table; absent features leave them.
    loss : Loss
        The loss.
    basis_penalties, weight_penalties : list of Penalty
        With numbers for their strengths.
    evidence : Evidence, default=None
        If given, the objective is the evidence, which has no penalties on the weights.
    metric_prior, relevance_prior : float
        As in :class:`spkm.core.regularization.Regularization`.
    fit_intercept : bool
        Whether b is learned.
    metric : ndarray, default=None
        A theta whose metric stays as it is.
    """

    terms: tuple[Term, ...]
    loss: Loss
    basis_penalties: list[Penalty] = field(default_factory=list)
    weight_penalties: list[Penalty] = field(default_factory=list)
    evidence: Evidence | None = None
    metric_prior: float = 0.0
    relevance_prior: float = 0.0
    fit_intercept: bool = True
    metric: np.ndarray | None = None

    def objective(self, source: Source, columns: np.ndarray | None = None) -> Objective | EvidenceObjective:
        """Return the objective on the samples of ``source``, which holds some or all of the features."""
        model = self.model(source, columns)
        box = box_of(model, source.ranges)
        if self.metric is not None:
            box = with_metric_of(model, box, self.metric)
        if self.evidence is not None:
            return EvidenceObjective(model, self.loss, source, self.basis_penalties, self.evidence, box)
        priors = self.metric_prior, self.relevance_prior
        return Objective(model, self.loss, source, self.basis_penalties, self.weight_penalties, *priors, box)

    def loss_objective(self, source: Source) -> Objective:
        """Return the objective of a problem without an evidence, on the samples of ``source``."""
        objective = self.objective(source)
        assert isinstance(objective, Objective)
        return objective

    def evidence_objective(self, source: Source) -> EvidenceObjective:
        """Return the objective of a problem that has an evidence, on the samples of ``source``."""
        objective = self.objective(source)
        assert isinstance(objective, EvidenceObjective)
        return objective

    def parameters(self, objective: AnyObjective, theta: np.ndarray) -> np.ndarray:
        """Return the parameters of the objective at theta: all of it, or its basis and a noise under an evidence."""
        return theta if self.evidence is None else objective.eliminated().start(theta)

    def completed(self, objective: AnyObjective, parameters: np.ndarray) -> np.ndarray:
        """Return the theta at parameters of the objective; under an evidence its weights are the best ones."""
        return parameters if self.evidence is None else objective.eliminated().complete(parameters)

    def box(self, objective: AnyObjective) -> Box | None:
        """Return the bounds of the parameters of the objective."""
        return objective.box if self.evidence is None else objective.eliminated().bounds(objective.box)

    def model(self, source: Source, columns: np.ndarray | None = None) -> PreimageModel:
        """Return the model of the features and outputs of ``source``, which holds some or all of the features."""
        return PreimageModel(self.on(columns), source.n_features, source.n_outputs, self.fit_intercept)

    def on(self, columns: np.ndarray | None) -> list[Term]:
        """Return the terms for samples of the given features alone."""
        return list(self.terms) if columns is None else [term.on(columns) for term in self.terms]

    @property
    def n_basis(self) -> int:
        """Number of basis vectors."""
        return sum(term.n_basis for term in self.terms)

    def with_vectors(self, counts: list[int]) -> Problem:
        """Return the same problem with other numbers of basis vectors; a term of none is left out."""
        pairs = zip(self.terms, counts, strict=True)
        return replace(self, terms=tuple(replace(term, n_basis=n) for term, n in pairs if n > 0))

    @property
    def ranks_features(self) -> bool:
        """Whether the evidence learns a relevance for each feature."""
        views = [view for term in self.terms for view in term.views]
        return self.evidence is not None and all(view.metric == "relevances" for view in views)

    @property
    def has_strength(self) -> bool:
        """Whether :meth:`with_factor` changes anything."""
        return any(penalty.is_tunable for penalty in self.weight_penalties)

    def with_factor(self, factor: float) -> Problem:
        """Return the same problem with the strengths of its tunable penalties multiplied by ``factor``."""
        return replace(self, weight_penalties=[penalty.with_factor(factor) for penalty in self.weight_penalties])

    def with_penalties(self, weights: list[Penalty] | None = None, linear: Penalty | None = None) -> Problem:
        """Return the same problem with other penalties on the weights and on a linear part; None leaves them."""
        other = self if weights is None else replace(self, weight_penalties=weights)
        if linear is None:
            return other
        return other._with_views(lambda view: replace(view, basis_penalty=[linear]), linear=True)

    @property
    def has_linear_part(self) -> bool:
        """Whether a term is a linear part."""
        return any(term.is_linear_part for term in self.terms)

    def with_metric(self, before: str, now: str) -> Problem:
        """Return the same problem whose views of one metric learn another."""
        return self._with_views(lambda view: replace(view, metric=now) if view.metric == before else view)

    def with_bounds(self) -> Problem:
        """Return the same problem whose vectors of stationary kernels stay inside the range of the samples."""
        return self._with_views(lambda view: replace(view, bounded=view.kernel.stationary))

    def with_relevances(self) -> Problem:
        """Return the same problem whose views all have a factor for each feature."""
        return self._with_views(lambda view: replace(view, metric="relevances"))

    def _with_views(self, change: Callable[[View], View], linear: bool = False) -> Problem:
        """Return the same problem with each view changed, or with ``linear`` those of a linear part."""
        chosen = [t.is_linear_part or not linear for t in self.terms]
        views = [tuple(map(change, t.views)) if c else t.views for t, c in zip(self.terms, chosen, strict=True)]
        return replace(self, terms=tuple(replace(t, views=v) for t, v in zip(self.terms, views, strict=True)))

    def with_prior(self, prior: float) -> Problem:
        """Return the same problem with another prior on the relevances that the evidence learns."""
        return self._with_evidence(prior=prior)

    def with_noise(self, noise: float | None) -> Problem:
        """Return the same problem with a first guess of the evidence's noise."""
        return self if noise is None else self._with_evidence(noise=max(noise, LEAST_NOISE))

    def continued(self, noise: float | None, ridge: float, linear_variance: float | None) -> Problem:
        """Return the same problem with what the evidence learned in an earlier fit, to go on from."""
        more: dict[str, float] = {} if linear_variance is None else {"linear_variance": linear_variance}
        return self if noise is None else self.with_noise(noise)._with_evidence(ridge=ridge, **more)

    def _with_evidence(self, **settings: float) -> Problem:
        if self.evidence is None:
            return self
        return replace(self, evidence=clone(self.evidence).set_params(**settings))

    def penalized(self, n: float, *more: Penalty) -> Problem:
        """Return the problem with more penalties on the weights; an evidence becomes the RKHS norm it amounts to."""
        own = self.weight_penalties if self.evidence is None else [self.evidence.as_penalty(n)]
        return replace(self, evidence=None, weight_penalties=[*own, *more])
