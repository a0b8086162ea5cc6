"""Paths of sparse models: which columns a kernel of a dot product needs, from many to few.

On a path the model is f(x) = b + sum_r s_r k(x, u_r) with fixed signs s_r, so that a penalty on U cannot be evaded by
larger weights, and the penalty is mu * sum_j |U_:j|: a column leaves all basis vectors at once, and with it the
model. The path of a linear kernel is convex and goes from few columns to many; all others start from a dense model
and lose columns (measured: started from nothing they stay there, or find other columns).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from spkm.kernels import Kernel
from spkm.losses import Loss
from spkm.model import PreimageModel, Term, View
from spkm.objective import Objective, cotangent
from spkm.penalties import GroupL2
from spkm.selection._feature_groups import FeatureGroups
from spkm.solvers import proximal_descent
from spkm.sources import ArraySource, Block

N_STEPS = 14  # strengths of a path
SKIPPED = 4  # of them, the weakest, where the kernel is not linear: there it would learn the rows by heart
RATIO = 1.5  # between neighbours
LOWEST = 0.15  # first strength, times the mean slope of the loss over the root of the rows
ITERATIONS = 60  # at one strength
TOLERANCE = 3e-4
FIRST_ACTIVE = 10  # units that a linear path starts with
VECTORS_PER_OUTPUT = 4  # of a kernel that is not linear
FIRST_SIZE = 0.3  # of a first basis vector


@dataclass
class PathPoint:
    """A model on the path: the place of its strength among all, the columns it uses, its parameters on them."""

    step: int
    kernel: Kernel
    columns: np.ndarray
    basis: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray

    def predict(self, source: ArraySource) -> np.ndarray:
        """Return the scores (n, m) of a source of all columns."""
        return np.concatenate(list(source.columns(self.columns).map(self._block_scores, width=len(self.basis))))

    def _block_scores(self, block: Block) -> np.ndarray:
        return self.kernel(block.X, self.basis) @ self.weights + self.intercept


def has_path(kernel: Kernel | None) -> TypeGuard[Kernel]:
    """Whether a penalty on basis vectors selects the features of this kernel."""
    return kernel is not None and kernel.has_sparse_path


def sparse_path(
    source: ArraySource,
    loss: Loss,
    kernel: Kernel,
    n_basis: int,
    units: FeatureGroups,
    fit_intercept: bool,
    rng: np.random.Generator,
) -> list[PathPoint]:
    """Return models of one kernel, of gamma 1, along strengths of the penalty, the weakest first."""
    linear = kernel.is_linear
    kernel = kernel.with_gamma(1.0)
    steps = _strengths(source, loss)
    m = source.n_outputs
    # Each output needs vectors of its own while signs are fixed.
    n_basis = m if linear else max(n_basis, VECTORS_PER_OUTPUT * m)
    model = PreimageModel([Term(n_basis, (View(kernel),))], source.n_features, m, fit_intercept)
    theta, params = model.zeros()
    params.weights[...] = _signs(n_basis, m)
    if not linear:
        params.basis[0][...] = FIRST_SIZE / np.sqrt(source.n_features) * rng.standard_normal(params.basis[0].shape)
    active = np.ones(len(units.size), dtype=bool)
    if linear:
        first = units.norms(_basis_slope(source, loss, model, theta))
        active = first >= np.sort(first)[-min(FIRST_ACTIVE, len(first))]
    points = []
    for step in range(N_STEPS)[::-1] if linear else range(SKIPPED, N_STEPS):
        theta, active = _solve(source, loss, model, theta, units, steps[step], active, grow=linear)
        point = _point(kernel, model, theta, step)
        if len(point.columns) == 0:
            if linear:
                continue
            break
        points.append(point)
    return points[::-1] if linear else points


def _solve(
    source: ArraySource,
    loss: Loss,
    model: PreimageModel,
    theta: np.ndarray,
    units: FeatureGroups,
    strength: float,
    active: np.ndarray,
    grow: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum at one strength and the units in use; only active ones are worked on."""
    while True:
        columns = units.columns(active)
        inner, theta_in = model.on_columns(theta, columns)
        inside = source if len(columns) == source.n_features else source.columns(columns)
        groups = units.label[columns]
        single = len(np.unique(groups)) == len(groups)
        objective = Objective(inner, loss, inside, GroupL2(strength, None if single else groups))
        free = np.ones(inner.n_params, dtype=bool)
        inner.unpack(free).weights[...] = False
        result = proximal_descent(objective, theta_in, ITERATIONS, TOLERANCE, None, free)
        if result.interrupted:
            raise KeyboardInterrupt
        theta_in = result.theta
        places = np.full(source.n_features, -1)
        places[columns] = np.arange(len(columns))
        _, theta = inner.on_columns(theta_in, places)
        used = np.zeros(len(active), dtype=bool)
        used[groups[np.any(inner.unpack(theta_in).basis[0] != 0, axis=0)]] = True
        if not grow:
            return theta, used
        outside = (units.norms(_basis_slope(source, loss, model, theta)) > strength) & ~active
        if not outside.any():
            return theta, active
        active = active | outside


def _basis_slope(source: ArraySource, loss: Loss, model: PreimageModel, theta: np.ndarray) -> np.ndarray:
    return model.unpack(Objective(model, loss, source).value_and_gradient(theta)[1]).basis[0]


def _point(kernel: Kernel, model: PreimageModel, theta: np.ndarray, step: int) -> PathPoint:
    params = model.unpack(theta)
    columns = np.flatnonzero(np.any(params.basis[0] != 0, axis=0))
    # Copies of the parts: a view would keep a theta of all columns for every point.
    return PathPoint(step, kernel, columns, params.basis[0][:, columns], params.weights.copy(), params.intercept.copy())


def _signs(n_basis: int, n_outputs: int) -> np.ndarray:
    """Return weights (R, m): each output has its own vectors, half of them with a minus."""
    r = np.arange(n_basis)
    signs = np.where(r // n_outputs % 2 == 0, 1.0, -1.0)
    return signs[:, None] * (r[:, None] % n_outputs == np.arange(n_outputs))


def _strengths(source: ArraySource, loss: Loss) -> np.ndarray:
    size = source.reduce(_block_slope, loss, width=1)[0]
    lowest = LOWEST * float(size) / np.sqrt(source.total_weight)
    return lowest * RATIO ** np.arange(N_STEPS)


def _block_slope(block: Block, loss: Loss) -> tuple[float]:
    F = np.zeros_like(block.Y)
    totals = loss.totals(block.Y, F, block.w)
    return (float(np.abs(cotangent(block, loss, F, totals)).sum()),)
