"""Branch and bound for the nearest point at which all constraints hold, with a proof where there is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spkm.explain._bounds import Axis, BoxBounds
from spkm.explain._structure import blocks

WIDTH = 1e-9  # standard deviations: the size of a cell that is not split further
BATCH = 1024  # cells that are bounded together
CHUNK = 2**21  # entries of a block of bounds


@dataclass
class Found:
    """State of a search."""

    cost: float = np.inf  # size of the smallest change found; infinity if none is
    point: np.ndarray | None = None  # of the change, one number for each axis
    cost_bound: float = np.inf  # no change smaller than this exists, on these axes
    reach: float = -np.inf  # an upper bound on the least slack of the constraints over all that was ruled out
    finished: bool = True  # whether nothing was left open


def nearest_feasible(
    bounds: BoxBounds, margin: float, most_cost: float, tolerance: float, max_cells: int, components: int
) -> Found:
    """Return the nearest point of the axes' box at which every constraint is at least ``margin``.

    Parameters
    ----------
    bounds : BoxBounds
        The constraints.
    margin : float
        Least value of each constraint.
    most_cost : float
        Only points nearer than this are of interest.
    tolerance : float
        Relative accuracy of the cost.
    max_cells : int
        After this many cells the rest is reported as open.
    components : int
        Number of components of the model, to bound the memory.
    """
    found = Found(cost=most_cost)
    low, high = _first_cells(bounds.axes, most_cost)
    seen = 0
    while len(low):
        cost = _cost(bounds.axes, low, high)
        near = cost < found.cost * (1 - tolerance)
        low, high, cost = low[near], high[near], cost[near]
        if seen > max_cells:
            found.finished = False
            found.cost_bound = min(found.cost_bound, float(cost.min(initial=np.inf)))
            break
        # The nearest cells first: what they find makes others superfluous.
        order = np.argsort(cost, kind="stable")
        now, later = order[:BATCH], order[BATCH:]
        seen += len(now)
        rest, (low, high, cost) = (low[later], high[later]), (low[now], high[now], cost[now])
        upper = _upper(bounds, low, high, components)
        open_ = upper >= margin
        found.reach = max(found.reach, float(upper[~open_].max(initial=-np.inf)))
        low, high, cost = low[open_], high[open_], cost[open_]
        _try_points(bounds, margin, low, high, found, components)
        halves = _split_cells(bounds.axes, low, high, cost, found)
        low, high = (np.concatenate(pair) for pair in zip(rest, halves, strict=True))
    if found.point is None:
        found.cost = np.inf
    found.cost_bound = min(found.cost_bound, found.cost * (1 - tolerance) if found.point is not None else np.inf)
    return found


def _first_cells(axes: list[Axis], most_cost: float) -> tuple[np.ndarray, np.ndarray]:
    lows, highs = zip(*(axis.cells(most_cost) for axis in axes), strict=True)
    sides = [np.stack([a.ravel() for a in np.meshgrid(*side, indexing="ij")], axis=1) for side in (lows, highs)]
    return sides[0], sides[1]


def _cost(axes: list[Axis], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    parts = [axis.least_cost(low[:, k], high[:, k]) for k, axis in enumerate(axes)]
    return np.sqrt(np.sum(np.square(parts), axis=0))


def _upper(bounds: BoxBounds, low: np.ndarray, high: np.ndarray, components: int) -> np.ndarray:
    """Return an upper bound on the least constraint over each cell, (g,)."""
    parts = [bounds(low[i], high[i])[1].min(axis=1) for i in blocks(len(low), CHUNK // max(1, components))]
    return np.concatenate(parts) if parts else np.empty(0)


def _try_points(
    bounds: BoxBounds, margin: float, low: np.ndarray, high: np.ndarray, found: Found, components: int
) -> None:
    """Look at the nearest and the farthest corner of each cell: one that will do is a candidate."""
    nearest = np.stack([axis.nearest(low[:, k], high[:, k]) for k, axis in enumerate(bounds.axes)], axis=1)
    for points in (nearest, low + high - nearest):
        value = _upper(bounds, points, points, components)  # of a point the bounds are its value
        cost = np.where(value >= margin, _cost(bounds.axes, points, points), np.inf)
        if len(cost) and cost.min() < found.cost:
            best = int(np.argmin(cost))
            found.cost, found.point = float(cost[best]), points[best]


def _split_cells(
    axes: list[Axis], low: np.ndarray, high: np.ndarray, cost: np.ndarray, found: Found
) -> tuple[np.ndarray, np.ndarray]:
    """Return the halves of all cells, along their longest side; cells too small to split stay open."""
    width = high - low
    longest = np.argmax(width, axis=1)
    rows = np.arange(len(low))
    small = width[rows, longest] <= WIDTH if len(low) else np.empty(0, dtype=bool)
    if small.any():
        undecided = cost[small] < found.cost
        if undecided.any() and not np.isclose(cost[small].min(), found.cost, rtol=1e-6, atol=10 * WIDTH):
            found.finished = False
            found.cost_bound = min(found.cost_bound, float(cost[small].min()))
    low, high, longest = low[~small], high[~small], longest[~small]
    left_high, right_low = high.copy(), low.copy()
    for k, axis in enumerate(axes):
        own = longest == k
        left_high[own, k], right_low[own, k] = axis.halves(low[own, k], high[own, k])
    return np.concatenate([low, right_low]), np.concatenate([left_high, high])
