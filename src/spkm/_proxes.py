"""Minimisers of |B - A|^2 / 2 + penalty of B, with bounds on every entry of B: the formulas behind the penalties.

Bounds are part of the minimum: the clipped prox of a norm that couples entries (a ball, the norm of a group) is another
point. ``low`` and ``high`` are numbers or arrays like A, with infinities for no bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spkm._arrays import Array, Factors, Integers

MOST_ROUNDS = 1000  # of Dykstra's algorithm, for a penalty that offers a prox without bounds alone
MOST_STEPS = 100  # of a search for the norm of a group: Newton steps take four to seven
SETTLED = 1e-12  # relative change from which on a search has ended


def soft_threshold(A: Array, threshold: Factors) -> Array:
    """Return sign(A) * max(|A| - threshold, 0)."""
    found: Array = np.sign(A) * np.maximum(np.abs(A) - threshold, 0)
    return found


def shrink_factors(norms: Array, thresholds: Factors) -> Array:
    """Return max(0, 1 - threshold / norm), and 0 where the norm is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(norms > 0, np.maximum(1 - thresholds / norms, 0), 0)


def dykstra(prox: Callable[[Array], Array], A: Array, low: Factors, high: Factors) -> Array:
    """Return the minimiser between bounds from the ``prox`` of a convex penalty without bounds.

    References
    ----------
    Bauschke, Combettes: A Dykstra-like algorithm for two monotone operators, Pacific Journal of Optimization 4, 2008.
    """
    B, p, q = A, np.zeros_like(A), np.zeros_like(A)
    limit = SETTLED * np.abs(A).max(initial=1.0)
    for _ in range(MOST_ROUNDS):
        C = prox(B + p)
        p = B + p - C
        before, B = B, np.clip(C + q, low, high).astype(A.dtype, copy=False)
        q = C + q - B
        if np.abs(B - before).max(initial=0.0) <= limit and np.abs(B - C).max(initial=0.0) <= limit:
            break
    return B


def onto_l1_ball(A: Array, radius: float, low: Factors, high: Factors) -> Array:
    """Return the point nearest to each row of A among those of an l1 norm of at most ``radius`` between bounds.

    It is clip(soft(a, t), low, high) with the least t >= 0 that leads into the ball: the minimum of the Lagrange
    function with multiplier t, entry by entry.

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions,
    ICML 2008 (without bounds).
    """
    projected: Array = np.clip(A, low, high).astype(A.dtype, copy=False)
    outside = np.abs(projected).sum(axis=1, dtype=np.float64) > radius
    if outside.any():
        a, least, most = (np.broadcast_to(b, A.shape)[outside] for b in (A, low, high))
        projected[outside] = np.clip(soft_threshold(a, _ball_thresholds(a, radius, least, most)), least, most)
    return projected


def _ball_thresholds(A: Array, radius: float, low: Array, high: Array) -> Array:
    """Return t, a column, with sum_j |clip(soft(a_j, t), low_j, high_j)| = radius for each row a of A."""
    # With signs turned so that a >= 0, the size of an entry is clip(a - t, least, most), which falls with t.
    turned = A < 0
    floor, top = np.where(turned, -high, low), np.where(turned, -low, high)
    least = np.where(top > 0, np.maximum(floor, 0.0), -top)
    most = np.where(top > 0, top, least)
    size = np.abs(A.astype(np.float64))
    ends, begins = np.maximum(size - least, 0.0), np.maximum(size - most, 0.0)
    begins = begins[:, np.any(begins > 0, axis=0)]
    # From the largest t downwards the sum rises by as many entries as have passed their end and not yet their begin:
    # sums of few small numbers come first, which rounding leaves exact where the radius is next to nothing.
    points = np.hstack([ends, begins])
    order = np.argsort(-points, axis=1)
    points = np.take_along_axis(points, order, axis=1)
    moving = np.cumsum(np.where(order < ends.shape[1], 1, -1), axis=1)
    rises = moving[:, :-1] * (points[:, :-1] - points[:, 1:])
    sums = np.cumsum(np.hstack([least.sum(axis=1, keepdims=True), rises]), axis=1)
    if np.any(sums[:, 0] > radius * (1 + 1e-9)):
        raise ValueError(
            "radius of L1Ball must be at least the smallest l1 norm of a vector inside the bounds, "
            f"{sums[:, 0].max():.4g}; got {radius}. Raise it, or set basis_bounds=None."
        )
    last = np.maximum(np.count_nonzero(sums <= radius, axis=1), 1)[:, None] - 1
    point, total, slope = (np.take_along_axis(b, last, axis=1) for b in (points, sums, moving))
    found: Array = np.maximum(point - np.maximum(radius - total, 0.0) / np.maximum(slope, 1), 0.0)
    return found


def shrink_groups(A: Array, groups: Integers, thresholds: Array, low: Factors, high: Factors) -> Array:
    """Return the minimiser between bounds of |B - A|^2 / 2 + sum over groups g of thresholds[g] * |B_g|.

    ``groups`` has the group of each entry of A, counted from 0.
    """
    n = len(thresholds)
    free = A * shrink_factors(_norms(A, groups, n), thresholds)[groups]
    result: Array = np.clip(free, low, high).astype(A.dtype, copy=False)
    cut = np.zeros(n, dtype=bool)
    cut[groups[result != free]] = True
    if not cut.any():
        return result
    low, high = np.broadcast_to(low, A.shape), np.broadcast_to(high, A.shape)
    # Zero is the minimum of a group if it lies between the bounds and no allowed direction gains more than it costs.
    allowed = np.where((A > 0) & (high > 0) | (A < 0) & (low < 0), A, 0.0)
    excluded = np.bincount(groups.ravel(), ((low > 0) | (high < 0)).ravel(), n) > 0
    is_zero = cut & ~excluded & (_norms(allowed, groups, n) <= thresholds)
    result[is_zero[groups]] = 0.0
    # The other groups that the bounds cut, entry after entry and counted from 0.
    cut &= ~is_zero
    here = cut[groups]
    of_group = (np.cumsum(cut) - 1)[groups[here]]
    a, least, most = (b[here].astype(np.float64) for b in (A, low, high))
    result[here] = _scaled_within(a, of_group, thresholds[cut], least, most)
    return result


def _norms(A: Array, groups: Integers, n_groups: int) -> Array:
    """Return the norm of each group of entries."""
    return np.sqrt(np.bincount(groups.ravel(), np.square(A, dtype=np.float64).ravel(), n_groups))


def _scaled_within(a: Array, groups: Integers, thresholds: Array, low: Array, high: Array) -> Array:
    """Return x = clip(a * r / (r + threshold), low, high) with r = |x|, group by group.

    The difference of r and |x| changes its sign once: Newton steps find the place, halves where they leave its bracket.
    """
    n = len(thresholds)
    most = _norms(np.clip(a, low, high), groups, n)
    least, r = np.zeros(n), most
    for _ in range(MOST_STEPS):
        scaled = a * (r / (r + thresholds))[groups]
        x: Array = np.clip(scaled, low, high)
        size = _norms(x, groups, n)
        difference = r - size
        if np.all(np.abs(difference) <= SETTLED * r):
            break
        least, most = np.where(difference > 0, least, r), np.where(difference > 0, r, most)
        free = _norms(np.where(x == scaled, x, 0.0), groups, n)
        slope = 1 - free**2 * thresholds / (r * (r + thresholds) * size)
        with np.errstate(divide="ignore"):
            newton = r - difference / slope
        r = np.where((newton >= least) & (newton <= most), newton, 0.5 * (least + most))
    return x
