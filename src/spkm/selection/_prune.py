"""Fewer basis vectors: an l1 penalty on the weights, then a refit of the vectors that are left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spkm.penalties import Evidence, Penalty, RKHSNorm, RowL2
from spkm.selection._eliminate import FIRST_ITERATIONS, Submodel, fit_submodel
from spkm.solvers import proximal_descent
from spkm.sources import Source

ITERATIONS = 200


def prune(model: Submodel, source: Source, strength: float, rng: np.random.Generator) -> Submodel:
    """Return the model without the vectors whose weights an l1 penalty (of their norms over outputs) takes to zero."""
    machine = model.machine
    smooth = [_ridge(p, source.total_weight) for p in machine.weight_penalties]
    objective = replace(machine, weight_penalties=[*smooth, RowL2(strength)]).objective(source.columns(model.columns))
    result = proximal_descent(objective, model.theta, ITERATIONS, 1e-4)
    if result.interrupted:
        raise KeyboardInterrupt
    theta = result.theta
    kept = np.flatnonzero(np.any(model.model.unpack(theta).weights != 0, axis=1))
    if len(kept) in (0, model.model.n_basis):
        return model
    smaller = replace(machine, n_basis=len(kept))
    old = model.model.unpack(theta)
    shrunk, params = smaller.objective(source.columns(model.columns)).model.zeros()
    params.basis[0][...] = old.basis[0][kept]
    params.log_metric[0][...] = old.log_metric[0]
    params.weights[...] = old.weights[kept]
    params.intercept[...] = old.intercept
    return fit_submodel(smaller, source, model.columns, shrunk, FIRST_ITERATIONS, rng)


def _ridge(penalty: Penalty, n: float) -> Penalty:
    """Return the RKHS norm that a learned evidence amounts to; other penalties as they are."""
    return RKHSNorm(2.0 * penalty.noise / n) if isinstance(penalty, Evidence) else penalty
