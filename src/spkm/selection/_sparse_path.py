"""First features of an elimination: those of a sparse model of a dot-product kernel.

On a path the model is f(x) = b + sum_r s_r k(x, u_r) with fixed signs s_r, so that a penalty on U cannot be evaded by
larger weights, and the penalty is mu * sum_j |U_:j|: a feature leaves all basis vectors at once, and with it the
model. The path of a linear kernel is convex and goes from few features to many; all others start from a dense model
and lose features (measured: started from nothing they stay there, or find other features). Both end at one strength,
which depends on the number of samples and features alone: no held-out sample has a say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse

from spkm._arrays import dense
from spkm.core.objective import cotangent
from spkm.kernels import Kernel
from spkm.losses import Loss
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._settings import DEFAULTS, SearchSettings
from spkm.sources import ArraySource, Block

LEAST = 0.01  # last strength of a linear path over its first, as in glmnet: classes may be apart, and slopes vanish


@dataclass
class PathPoint:
    """The end of a path: its strength, the features that it has, and the model's parameters on them."""

    strength: float

    kernel: Kernel
    columns: np.ndarray
    basis: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray
    #: Rank of each feature, to order by when there is no room for all: the first to enter a linear path come first.
    rank: np.ndarray


def has_path(kernel: Kernel | None) -> TypeGuard[Kernel]:
    """Whether a penalty on basis vectors selects the features of this kernel."""
    return kernel is not None and kernel.has_sparse_path


def _scaled(source: ArraySource) -> Any:
    """Return all samples, scaled block by block: of many features a second copy would be large."""
    if source.scaling is None:
        return source.X
    if sparse.issparse(source.X):
        return source.scaling(source.X)
    rows = np.empty((source.n_rows, source.n_features), dtype=source.dtype)
    for start, stop in source.pieces(1):
        rows[start:stop] = source.scaling(source.X[start:stop])
    return rows


class PathModel:
    """The loss of a model with fixed signs: its value and gradient in U and b, on dense or sparse samples."""

    def __init__(self, source: ArraySource, loss: Loss, kernel: Kernel, n_basis: int, fit_intercept: bool) -> None:
        self.block = Block(_scaled(source), source.Y, source.w, {})
        self.loss, self.kernel, self.fit_intercept = loss, kernel, fit_intercept
        m = source.n_outputs
        r = np.arange(n_basis)
        signs = np.where(r // m % 2 == 0, 1.0, -1.0)
        #: Weights (R, m): each output has its own vectors, half of them with a minus.
        self.signs = (signs[:, None] * (r[:, None] % m == np.arange(m))).astype(source.dtype)

    def on(self, columns: np.ndarray) -> PathModel:
        """Return the same model of some features."""
        other = object.__new__(PathModel)
        other.__dict__.update(self.__dict__, block=self.block._replace(X=dense(self.block.X[:, columns])))
        return other

    def value_and_slopes(self, U: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss, and its slopes in U and b."""
        block = self.block
        K, pullback = self.kernel.vjp(block.X, U)
        F = K @ self.signs + b
        totals = self.loss.totals(block.Y, F, block.w)
        S = cotangent(block, self.loss, F, totals)
        return self.loss.value(totals), pullback(S @ self.signs.T)[0], S.sum(axis=0) * self.fit_intercept

    def slope_size(self, U: np.ndarray, b: np.ndarray) -> float:
        """Return the mean size of the loss's slopes in the scores, by output: the noise that gradients are made of."""
        block = self.block
        F = self.kernel.vjp(block.X, U)[0] @ self.signs + b
        slopes = cotangent(block, self.loss, F, self.loss.totals(block.Y, F, block.w))
        return float(np.linalg.norm(slopes, axis=1).sum() / np.sqrt(slopes.shape[1]))


def sparse_support(
    source: ArraySource,
    loss: Loss,
    kernel: Kernel,
    n_basis: int,
    units: FeatureGroups,
    fit_intercept: bool,
    rng: np.random.Generator,
    settings: SearchSettings = DEFAULTS,
) -> PathPoint:
    """Return the end of a kernel's path, at gamma 1."""
    kernel = kernel.with_gamma(1.0)
    m = source.n_outputs
    n_basis = m if kernel.is_linear else max(n_basis, settings.vectors_per_output * m)
    model = PathModel(source, loss, kernel, n_basis, fit_intercept)
    U, b = np.zeros((n_basis, source.n_features), dtype=source.dtype), np.zeros(m, dtype=source.dtype)
    # The universal threshold over the size of slopes, with products of up to three features where there are such. The
    # slopes of noise in m outputs have a norm of about sqrt(m - 1), and its largest lies sqrt(2 log(d)) beyond it.
    n_functions = max(len(units.size), 2) ** (1 if kernel.is_linear else 3)
    share = float((np.sqrt(m - 1) + np.sqrt(2 * np.log(n_functions))) / np.sqrt(source.total_weight))
    if kernel.is_linear:
        U, b, last, rank = _grown(model, U, b, units, settings.path_share * share, settings)
    else:
        last = share * model.slope_size(U, b)
        size = settings.first_size / np.sqrt(source.n_features)
        starts = [size * rng.standard_normal(U.shape) for _ in range(settings.n_starts)]
        ends = [_lost(model, start.astype(U.dtype), b, units, last, settings) for start in starts]
        U, b = min(ends, key=lambda end: _refitted_loss(model, end[0], end[1], units, settings))
        rank = -units.norms(U)[units.label]
    columns = np.flatnonzero(np.any(U != 0, axis=0))
    return PathPoint(last, kernel, columns, U[:, columns], model.signs, b, rank[columns])


def _lost(
    model: PathModel, U: np.ndarray, b: np.ndarray, units: FeatureGroups, last: float, settings: SearchSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Return the end of a path that loses features from a dense model on, as the strength grows to ``last``."""
    for step in range(settings.path_steps)[::-1]:
        columns = np.flatnonzero(np.any(U != 0, axis=0))
        if len(columns) == 0:
            break
        part, b = _descend(
            model.on(columns), U[:, columns], b, units.of(columns), last / settings.path_ratio**step, settings
        )
        U = np.zeros_like(U)
        U[:, columns] = part
    return U, b


def _refitted_loss(
    model: PathModel, U: np.ndarray, b: np.ndarray, units: FeatureGroups, settings: SearchSettings
) -> float:
    """Return the loss on the strongest groups of a path's end, refitted without the penalty.

    The penalised loss cannot decide which of several minima has the right features: many of noise fit as well.
    """
    strongest = np.argsort(-units.norms(U), kind="stable")[: settings.one_by_one]
    columns = units.columns(strongest)
    inner = model.on(columns)
    part, b = _descend(inner, U[:, columns], b, units.of(columns), 0.0, settings)
    return inner.value_and_slopes(part, b)[0]


def _grown(
    model: PathModel, U: np.ndarray, b: np.ndarray, units: FeatureGroups, share: float, settings: SearchSettings
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Return the end of a convex path, its strength, and what orders features by when they entered.

    Active groups are worked on, all others are checked for optimality.
    It ends where the strength is a share of the size of the slopes that are left (a scaled lasso, Sun and Zhang 2012).
    """
    _, b = _descend(model.on(np.zeros(0, dtype=int)), U[:, :0], b, units.of(np.zeros(0, dtype=int)), 0.0, settings)
    slopes = units.norms(model.value_and_slopes(U, b)[1])
    strength = float(slopes.max())
    active = np.zeros(len(units.size), dtype=bool)
    least = LEAST * strength
    rank = np.full(U.shape[1], np.inf)
    step = 0
    while strength > max(share * model.slope_size(U, b), least):
        strength /= settings.path_ratio
        step += 1
        while True:
            active |= slopes > strength
            columns = units.columns(active)
            part, b = _descend(model.on(columns), U[:, columns], b, units.of(columns), strength, settings)
            U[:, columns] = part
            slopes = units.norms(model.value_and_slopes(U, b)[1])
            if not np.any((slopes > strength) & ~active):
                break
        rank[np.any(U != 0, axis=0) & np.isinf(rank)] = step
    norms = units.norms(U)[units.label]
    return U, b, strength, rank - norms / (1.0 + norms.max(initial=0.0))  # of those that enter together the larger


def _descend(
    model: PathModel, U: np.ndarray, b: np.ndarray, units: FeatureGroups, strength: float, settings: SearchSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum of the loss plus ``strength`` times the norms of groups: proximal steps (SpaRSA)."""
    root = np.sqrt(units.size)[units.label] if U.shape[1] else np.zeros(0)
    single = U.shape[1] == len(units.size)

    def norms(U: np.ndarray) -> np.ndarray:
        squares = np.einsum("rj,rj->j", U, U)
        return np.sqrt(squares if single else np.bincount(units.label, squares)[units.label])

    def penalty(U: np.ndarray) -> float:
        return strength * float(np.sum(norms(U) * (1.0 if single else root / units.size[units.label])))

    smooth, dU, db = model.value_and_slopes(U, b)
    value = smooth + penalty(U)
    step = 0.1 * np.sqrt((np.vdot(U, U) + 1e-2) / max(np.vdot(dU, dU), 1e-20)) if U.size else 1.0
    step_b = 1.0
    trace = [value]
    for _ in range(settings.path_iterations):
        for _ in range(40):
            V = U - step * dU
            length = norms(V)
            V = V * np.maximum(1.0 - step * strength * root / np.maximum(length, 1e-300), 0.0)
            c = b - step_b * db
            new_smooth, dV, dc = model.value_and_slopes(V, c)
            moved, shift = V - U, c - b
            gain = np.vdot(moved, moved) / step + np.vdot(shift, shift) / step_b
            new = new_smooth + penalty(V)
            if np.isfinite(new) and new <= value - 1e-4 * gain:
                break
            step, step_b = max(0.4 * step, 1e-20), max(0.4 * step_b, 1e-20)
        else:
            break
        step = _spectral(moved, dV - dU, step)
        step_b = _spectral(shift, dc - db, step_b)
        U, b, dU, db, value = V, c, dV, dc, new
        trace.append(value)
        if not gain > 0 or (len(trace) > 5 and trace[-6] - value < 0.5 * settings.path_tolerance * abs(value)):
            break
    return U, b


def _spectral(moved: np.ndarray, change: np.ndarray, step: float) -> float:
    """Return Barzilai and Borwein's step."""
    ss, sy = float(np.vdot(moved, moved)), float(np.vdot(moved, change))
    return float(np.clip(ss / sy, 1e-20, 1e20)) if sy > 1e-12 * ss > 0 else min(2.0 * step, 1e20)
