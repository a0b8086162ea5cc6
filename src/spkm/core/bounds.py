"""Boxes that the parameters of a model stay in: basis vectors among the data, and what makes it monotone.

**Monotone by construction.** A kernel that falls with every |x_j - u_j| rises with x_j as long as x_j is below u_j, and
falls as long as it is above. So a model rises with x_j if every vector of positive weight lies at the upper edge of
feature j, every vector of negative weight at the lower edge, and the linear coefficient of j is not negative: each part
rises, and so does their sum. The edges are those that the scaling clips at, so that this holds for all x. Half of
the vectors have weights of each sign; in all other features they are free. A model that falls is the same with the
edges exchanged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spkm.core.model import PreimageModel, Term, View

#: Gap between an edge and the vectors at it, over the width of the feature: rounding must not put one inside.
MARGIN = 1e-5

#: The least and the largest theta.
Box = tuple[np.ndarray, np.ndarray]
Ranges = Callable[[], tuple[np.ndarray, np.ndarray]]


def signs(n_basis: int) -> np.ndarray:
    """Return the signs of the weights of a monotone model: the first half is positive, of an odd number one more."""
    return np.where(np.arange(n_basis) < (n_basis + 1) // 2, 1, -1)


def box_of(model: PreimageModel, ranges: Ranges) -> Box | None:
    """Return the least and the largest theta of a model, or None where nothing is bounded.

    Vectors of bounded views stay inside the ``ranges`` of the features. Weights of a linear part are fixed. Monotone
    views have vectors at the edges, and weights of one sign.
    """
    needs = [view.bounded or bool(view.monotone) for _, view in model.views]
    if not any(needs) and not any(term.is_linear_part for term in model.terms):
        return None
    lower, upper = own_box(model)
    edges = ranges() if any(needs) else (np.zeros(0), np.zeros(0))
    least, most = model.unpack(lower), model.unpack(upper)
    low, high = least.weights, most.weights
    for term, rows, places in model.layout:
        for view, k in zip(term.views, places, strict=True):
            basis, top = least.basis[k], most.basis[k]
            if view.bounded:
                columns = slice(None) if view.columns is None else view.columns
                basis[...], top[...] = edges[0][columns], edges[1][columns]
            for column, direction in view.monotone:
                _bound_column(term, view, basis[:, column], top[:, column], direction, *(e[column] for e in edges))
        if term.is_linear_part:
            low[rows] = high[rows] = np.eye(term.n_basis)
        elif any(view.monotone for view in term.views):
            positive = signs(term.n_basis)[:, None] > 0
            low[rows], high[rows] = np.where(positive, 0.0, -np.inf), np.where(positive, np.inf, 0.0)
    return lower, upper


def own_box(model: PreimageModel, box: Box | None = None) -> Box:
    """Return a copy of a box, or one without bounds."""
    low, high = box or (np.full(model.n_params, -np.inf), np.full(model.n_params, np.inf))
    return low.copy(), high.copy()


def with_metric_of(model: PreimageModel, box: Box | None, theta: np.ndarray) -> Box:
    """Return a box that leaves the metric of every view as it is in ``theta``."""
    kept = own_box(model, box)
    for bound in kept:
        for metric, known in zip(model.unpack(bound).log_metric, model.unpack(theta).log_metric, strict=True):
            metric[...] = known
    return kept


def with_metric_range(model: PreimageModel, box: Box | None, width: float) -> Box:
    """Return a box that keeps the logarithm of every learned factor within ``width`` of zero."""
    kept = own_box(model, box)
    for bound, limit in zip(kept, (-width, width), strict=True):
        for metric in model.unpack(bound).log_metric:
            metric[...] = limit
    return kept


def _bound_column(
    term: Term, view: View, basis: np.ndarray, top: np.ndarray, direction: int, low: float, high: float
) -> None:
    """Bound one coordinate of the vectors of a monotone view, in place."""
    if term.is_linear_part or not view.kernel.stationary:  # coefficients of the feature
        rises = direction > 0 if term.is_linear_part else signs(len(basis)) * direction > 0
        basis[...], top[...] = np.where(rises, 0.0, -np.inf), np.where(rises, np.inf, 0.0)
        return
    gap = MARGIN * (high - low)
    basis[...] = top[...] = np.where(signs(len(basis)) * direction > 0, high + gap, low - gap)
