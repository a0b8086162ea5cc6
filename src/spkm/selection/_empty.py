"""The empty model: no features, the best constant."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from spkm.core.objective import cotangent
from spkm.losses import Loss
from spkm.selection._choice import Candidate
from spkm.selection._elimination import Submodel
from spkm.selection._validation import Fold
from spkm.sources import ArraySource, Block


def empty_model(candidate: Candidate, columns: np.ndarray, fold: Fold) -> Submodel:
    """Return a model of one basis vector whose weights are zero: it holds ``columns`` and reads none of them."""
    source = fold.train.columns(columns)
    problem = candidate.builder.problem(source, columns, 1)
    model = problem.objective(source, columns).model
    theta, params = model.zeros()
    if problem.fit_intercept:
        params.intercept[...] = best_constant(problem.loss, source)
    F = np.broadcast_to(params.intercept, source.Y.shape)
    return Submodel(problem, columns, model, theta, problem.loss.value(problem.loss.totals(source.Y, F, source.w)))


def best_constant(loss: Loss, source: ArraySource) -> np.ndarray:
    """Return the constant scores of the lowest loss, (m,)."""
    if loss.is_quadratic or loss.scale_free:
        return np.asarray(np.sum(source.w * source.Y, axis=0))
    block = Block(None, source.Y.astype(np.float64), source.w.astype(np.float64), {})

    def value_and_slope(b: np.ndarray) -> tuple[float, np.ndarray]:
        F = np.broadcast_to(b, block.Y.shape)
        totals = loss.totals(block.Y, F, block.w)
        return loss.value(totals), cotangent(block, loss, F, totals).sum(axis=0)

    return np.asarray(minimize(value_and_slope, np.zeros(source.n_outputs), jac=True, method="L-BFGS-B").x)
