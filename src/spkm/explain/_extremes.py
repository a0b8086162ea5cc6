"""Branch and bound for the largest value of a quantity over a region: how far it goes, and a proof that it goes no
farther."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.explain._relax import Axis, Sums

BATCH = 512  # boxes that are split together
TRIED = 64  # of these, those whose best places are evaluated


@dataclass(frozen=True)
class Goal:
    """A quantity whose largest value is wanted."""

    axes: list[Axis]  # the region
    functionals: list[tuple[float, list[Any]]]  # sums of parts, each with its constant
    combine: Callable[[np.ndarray], np.ndarray]  # upper bounds of the functionals, (k, g), to one of the quantity, (g,)
    value: Callable[[np.ndarray], np.ndarray]  # places on the axes, (g, D), to the quantity itself, (g,)
    slack: float  # rounding, added to bounds

    def upper(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return upper bounds over boxes, (g,), good places, (g, D), and each axis's part in the gap, (g, D)."""
        bounds, places, blame = [], low, np.zeros_like(low)
        for k, (constant, parts) in enumerate(self.functionals):
            sums = Sums(len(low), self.axes)
            for part in parts:
                part.add(sums, low, high)
            value, place = sums.maximum(low, high)
            bounds.append(value + constant + self.slack)
            blame += sums.blame
            places = place if k == 0 else places
        return self.combine(np.array(bounds)), self.rounded(places), blame

    def rounded(self, places: np.ndarray) -> np.ndarray:
        """Return places with whole numbers where an axis has these alone."""
        whole = np.array([axis.whole for axis in self.axes])
        return np.where(whole, np.rint(places), places)


@dataclass
class Extreme:
    """State of a search."""

    bound: float = np.inf  # the quantity is nowhere larger
    found: float = -np.inf  # largest value that was found
    place: np.ndarray | None = None  # and its place, (D,)
    n_boxes: int = 0  # boxes that were bounded
    closed: float = -np.inf  # largest bound of the boxes that are done with


def largest(goal: Goal, threshold: float | None, tolerance: float, max_boxes: int) -> Extreme:
    """Return how large a quantity gets.

    Parameters
    ----------
    goal : Goal
        The quantity and the region.
    threshold : float or None
        Value in question: the search ends when it is proved that the quantity stays at or below it, or a place is
        found where it does not. None finds the largest value, to ``tolerance``.
    tolerance : float
        Accuracy of the largest value.
    max_boxes : int
        Boxes that are bounded at most.
    """
    ends = np.array([axis.first() for axis in goal.axes]).reshape(-1, 2)
    low, high = ends[:, 0][None].copy(), ends[:, 1][None].copy()
    state = Extreme()
    upper, place, blame = goal.upper(low, high)
    state.n_boxes = 1
    _look(goal, state, place)
    while goal.axes and len(low) and state.n_boxes < max_boxes:  # a model that reads nothing has one value
        level = state.found + tolerance if threshold is None else threshold
        done = upper <= level
        state.closed = max(state.closed, float(upper[done].max(initial=-np.inf)))
        low, high, upper, blame = (a[~done] for a in (low, high, upper, blame))
        if len(low) == 0 or (threshold is not None and state.found > threshold):
            break
        order = np.argsort(-upper, kind="stable")
        now, later = order[:BATCH], order[BATCH:]
        halves = _split(goal.axes, low[now], high[now], blame[now])
        stuck = np.all(low[now] == high[now], axis=1)  # single points: their bound is their value, but for rounding
        state.closed = max(state.closed, float(upper[now][stuck].max(initial=-np.inf)))
        fresh = goal.upper(*halves)
        state.n_boxes += len(halves[0])
        best = np.argsort(-fresh[0], kind="stable")[:TRIED]
        _look(goal, state, fresh[1][best])
        low, high, upper, blame = (
            np.concatenate([old[later], new])
            for old, new in zip((low, high, upper, blame), (*halves, fresh[0], fresh[2]), strict=True)
        )
    state.bound = max(state.closed, state.found, float(upper.max(initial=-np.inf)))
    return state


def _look(goal: Goal, state: Extreme, places: np.ndarray) -> None:
    if len(places) == 0:
        return
    values = goal.value(places)
    best = int(np.argmax(values))
    if values[best] > state.found:
        state.found, state.place = float(values[best]), places[best]


def _split(axes: list[Axis], low: np.ndarray, high: np.ndarray, blame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the halves of boxes, each along the axis that is most to blame; single points have none."""
    width = high - low
    spans = np.array([max(axis.first()[1] - axis.first()[0], 1e-300) for axis in axes])
    most = blame.max(axis=1, keepdims=True, initial=0.0)
    rank = np.where(width > 0, blame + 1e-9 * (most + 1e-300) * width / spans, -1.0)
    axis = np.argmax(rank, axis=1)
    rows = np.flatnonzero(np.any(width > 0, axis=1))
    low, high, axis = low[rows], high[rows], axis[rows]
    here = np.arange(len(rows))
    middle = 0.5 * (low[here, axis] + high[here, axis])
    whole = np.array([one.whole for one in axes])[axis] if len(rows) else np.empty(0, dtype=bool)
    end, begin = np.where(whole, np.floor(middle), middle), np.where(whole, np.floor(middle) + 1, middle)
    left, right = high.copy(), low.copy()
    left[here, axis], right[here, axis] = end, begin
    return np.concatenate([low, right]), np.concatenate([left, high])
