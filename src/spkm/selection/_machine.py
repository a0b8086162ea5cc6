"""A kernel machine that waits for columns: all settings of a fit but the columns and the rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.base import clone

from spkm.losses import Loss
from spkm.model import PreimageModel, Term
from spkm.objective import Objective, is_smooth
from spkm.penalties import Evidence, Penalty, RKHSNorm
from spkm.solvers import LBFGS, Proximal, Solver, VarPro
from spkm.sources import Source

TOLERANCE = 1e-4  # of the refits
LEAST_ITERATIONS = 15  # of variable projection
LEAST_NOISE = 1e-6  # to go on with: with less, vectors that depend on one another could not be told apart


@dataclass(frozen=True)
class Machine:
    """Settings of a fit.

    Parameters
    ----------
    terms : tuple of Term
        Of the whole table: columns that are absent will leave them.
    loss : Loss
        The loss.
    basis_penalties, weight_penalties : list of Penalty
        With numbers for their strengths.
    metric_prior : float
        As in :class:`spkm.objective.Objective`.
    fit_intercept : bool
        Whether b is learned.
    """

    terms: tuple[Term, ...]
    loss: Loss
    basis_penalties: list[Penalty] = field(default_factory=list)
    weight_penalties: list[Penalty] = field(default_factory=list)
    metric_prior: float = 0.0
    fit_intercept: bool = True

    def objective(self, source: Source, columns: np.ndarray | None = None) -> Objective:
        """Return the objective on the rows of ``source``, which holds the given columns of the whole table, or all."""
        model = PreimageModel(self.on(columns), source.n_features, source.n_outputs, self.fit_intercept)
        return Objective(model, self.loss, source, self.basis_penalties, self.weight_penalties, self.metric_prior)

    def on(self, columns: np.ndarray | None) -> list[Term]:
        """Return the terms for a table of the given columns alone."""
        return list(self.terms) if columns is None else [term.on(columns) for term in self.terms]

    @property
    def n_basis(self) -> int:
        """Number of basis vectors."""
        return sum(term.n_basis for term in self.terms)

    def with_vectors(self, counts: list[int]) -> Machine:
        """Return the same machine with other numbers of basis vectors; a term of none is left out."""
        pairs = zip(self.terms, counts, strict=True)
        return replace(self, terms=tuple(replace(term, n_basis=n) for term, n in pairs if n > 0))

    @property
    def ranks_columns(self) -> bool:
        """Whether the evidence learns a relevance for each column."""
        views = [view for term in self.terms for view in term.views]
        return self.has_evidence and all(view.metric == "relevances" for view in views)

    @property
    def has_evidence(self) -> bool:
        """Whether the strength of the penalty is learned by the evidence."""
        return any(isinstance(p, Evidence) for p in self.weight_penalties)

    def with_factor(self, factor: float) -> Machine:
        """Return the same machine with the strength of its RKHS norm multiplied by ``factor``."""
        penalties = [RKHSNorm(p.strength * factor) if isinstance(p, RKHSNorm) else p for p in self.weight_penalties]
        return replace(self, weight_penalties=penalties)

    @property
    def has_strength(self) -> bool:
        """Whether :meth:`with_factor` changes anything."""
        return any(isinstance(p, RKHSNorm) for p in self.weight_penalties)

    def with_prior(self, prior: float) -> Machine:
        """Return the same machine with another prior on the relevances that the evidence learns."""
        penalties = [clone(p).set_params(prior=prior) if isinstance(p, Evidence) else p for p in self.weight_penalties]
        return replace(self, weight_penalties=penalties)

    def with_noise(self, noise: float | None) -> Machine:
        """Return the same machine with a first guess of the evidence's noise."""
        if noise is None:
            return self
        noise = max(noise, LEAST_NOISE)
        penalties = [clone(p).set_params(noise=noise) if isinstance(p, Evidence) else p for p in self.weight_penalties]
        return replace(self, weight_penalties=penalties)


def refit_solver(objective: Objective, max_iter: int) -> Solver:
    """Return a solver that goes on from a good theta for a few iterations."""
    # Fewer parameters, fewer iterations.
    varpro = VarPro(max(LEAST_ITERATIONS, max_iter // 2), TOLERANCE, polish=0)
    if varpro.refuses(objective) is None:
        return varpro
    smooth = all(is_smooth(p) for p in [*objective.basis_penalties, *objective.weight_penalties])
    return LBFGS(max_iter, TOLERANCE) if smooth else Proximal(max_iter, TOLERANCE)
