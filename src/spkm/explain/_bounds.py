"""Bounds of scores over boxes of one or two features, all others held fixed.

A basis vector's similarity along one feature is a bump or a polynomial; over an interval its least and largest value
are known. Sums of bounds bound sums, products of bounds bound products: what no bound allows does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.explain._structure import DotPiece, ProductPiece

Interval = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Axis:
    """A player that may change: along an interval or whole numbers of one column, along a line, or to one of a list.

    Places are on the scale of the model before the clip; for a list they are the numbers of its entries.
    """

    player: int
    columns: np.ndarray  # its columns of Z
    start: float = 0.0  # place of the sample (not for lists)
    low: float = 0.0  # ends of the interval
    high: float = 0.0
    least: Any = -np.inf  # bounds on the values that reach the model, of each column: its clip
    most: Any = np.inf
    step: float = 0.0  # with a step only the points anchor + k step of the interval, k whole
    anchor: float = 0.0
    origin: Any = None  # of a line through it at the start, with what each column changes by for a change of 1
    slopes: Any = None
    options: np.ndarray | None = None  # of a list the values that reach the model, (k, columns)
    values: np.ndarray | None = None  # and in the user's units, (k, columns of the user)
    costs: np.ndarray | None = None  # the size of the change to each entry of a list
    users: Any = None  # the user's columns that change
    rates: Any = None  # and by how much for a change of 1, in the user's units (not for lists)

    def seen(self, low: np.ndarray, high: np.ndarray) -> Interval:
        """Return the bounds of the columns over cells, (g, columns) each; cells of a list are places in it."""
        if self.options is not None:
            chosen = self.options[low.astype(int)]
            return chosen, chosen
        low, high = low[:, None], high[:, None]
        if self.slopes is not None:
            ends = [self.origin + self.slopes * (edge - self.start) for edge in (low, high)]
            low, high = np.minimum(*ends), np.maximum(*ends)
        return np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)

    def least_cost(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the smallest change within cells, (g,), in standard deviations."""
        if self.costs is not None:
            return self.costs[low.astype(int)]
        return np.maximum(np.maximum(low - self.start, self.start - high), 0.0)

    def nearest(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the point of each cell that is nearest to the sample."""
        return low if self.options is not None else np.clip(self.start, low, high)

    def cells(self, most_cost: float) -> Interval:
        """Return the first cells, those nearer than ``most_cost``, with the sample at an edge: a corner is nearest."""
        if self.costs is not None:
            chosen = np.flatnonzero(self.costs < most_cost).astype(float)
            return chosen, chosen
        left, right = max(self.low, self.start - most_cost), min(self.high, self.start + most_cost)
        if self.step:
            first, last = np.ceil(self._place(left) - 1e-9), np.floor(self._place(right) + 1e-9)
            here = self._place(self.start)
            cuts = np.concatenate([np.linspace(first, last + 1, 9), [np.ceil(here - 1e-9), np.floor(here + 1e-9) + 1]])
            cuts = np.unique(np.clip(np.floor(cuts), first, last + 1))
            return (self._point(cuts[:-1]), self._point(cuts[1:] - 1)) if first <= last else (np.empty(0), np.empty(0))
        if left > right:
            return np.empty(0), np.empty(0)
        edges = np.unique(np.concatenate([np.linspace(left, right, 9), np.clip([self.start], left, right)]))
        return (edges[:-1], edges[1:]) if len(edges) > 1 else (edges, edges)

    def halves(self, low: np.ndarray, high: np.ndarray) -> Interval:
        """Return where the lower half of cells ends, and where the upper one begins."""
        if not self.step:
            middle = 0.5 * (low + high)
            return middle, middle
        middle = np.floor(0.5 * (np.rint(self._place(low)) + np.rint(self._place(high))))
        return self._point(middle), self._point(middle + 1)

    def moved(self, row: np.ndarray, point: float) -> None:
        """Change a sample, (d,) in the user's units, to a point of the axis."""
        if self.values is not None:
            row[self.users] = self.values[int(point)]
        elif point != self.start:
            row[self.users] += self.rates * (point - self.start)

    def _place(self, point: Any) -> Any:
        return (point - self.anchor) / self.step

    def _point(self, place: Any) -> Any:
        return self.anchor + place * self.step


class BoxBounds:
    """Bounds of A f + a over boxes of the given axes, all other columns at the sample ``z``."""

    def __init__(self, terms: Any, z: np.ndarray, axes: list[Axis], intercept: np.ndarray, A: np.ndarray) -> None:
        self.axes = axes
        self.constant = intercept @ A.T
        self.parts: list[tuple[list[list[Any]], np.ndarray]] = []  # bounds of the pieces of each factor, and weights
        players = [axis.player for axis in axes]
        for term in terms:
            weights = term.weights @ A.T  # (R, constraints)
            touched = []
            for factor in term.factors:
                if np.isin(players, factor.players).any():
                    touched.append([_piece_bounds(piece, z, axes) for piece in factor.pieces])
                else:
                    weights = weights * factor.values(z[None])[0][:, None]
            if touched:
                self.parts.append((touched, weights))
            else:
                self.constant = self.constant + weights.sum(axis=0)

    def __call__(self, low: np.ndarray, high: np.ndarray) -> Interval:
        """Return lower and upper bounds, (g, constraints), over cells [low, high], (g, axes) each."""
        seen = [axis.seen(low[:, k], high[:, k]) for k, axis in enumerate(self.axes)]
        lower = np.tile(self.constant, (len(low), 1))
        upper = lower.copy()
        for factors, weights in self.parts:
            least, most = _summed(factors[0], seen)
            for pieces in factors[1:]:
                least, most = _times((least, most), _summed(pieces, seen))
            positive, negative = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
            lower += least @ positive + most @ negative
            upper += most @ positive + least @ negative
        return lower, upper


class _ProductBounds:
    def __init__(self, piece: ProductPiece, z: np.ndarray, axes: list[Axis]) -> None:
        self.amounts, self.rest = piece.amounts, _rest(piece, z, axes)  # (Q,), (R, Q)
        self.loads = []  # per axis: place of the column within it, basis (R,), rates (Q,)
        for columns, basis, squared, absolute, local in piece.parts:
            for k, place, i in _loads(columns, local, axes):
                self.loads.append((k, place, basis[:, i], squared[:, i], absolute[:, i]))

    def bounds(self, seen: list[Interval]) -> Interval:
        least, most = self.rest[None], self.rest[None]
        for k, place, basis, squared, absolute in self.loads:
            low, high = seen[k][0][:, place, None], seen[k][1][:, place, None]
            near, far = (apart[..., None] for apart in nearest_and_farthest(low, high, basis))
            least = least + (squared * near + absolute) * near
            most = most + (squared * far + absolute) * far
        positive, negative = np.maximum(self.amounts, 0.0), np.minimum(self.amounts, 0.0)
        top, bottom = np.exp(-least), np.exp(-most)
        return bottom @ positive + top @ negative, top @ positive + bottom @ negative


class _DotBounds:
    def __init__(self, piece: DotPiece, z: np.ndarray, axes: list[Axis]) -> None:
        self.coefficients, self.rest = piece.coefficients, _rest(piece, z, axes)
        loads = _loads(piece.columns, piece.local, axes)
        self.loads = [(k, place, piece.loadings[:, i]) for k, place, i in loads]

    def bounds(self, seen: list[Interval]) -> Interval:
        least, most = self.rest[None], self.rest[None]
        for k, place, loading in self.loads:
            ends = [edge[:, place, None] * loading for edge in seen[k]]
            least, most = least + np.minimum(*ends), most + np.maximum(*ends)
        return polynomial_range(self.coefficients, least, most)


def nearest_and_farthest(low: np.ndarray, high: np.ndarray, basis: np.ndarray) -> Interval:
    """Return the least and the largest distance of intervals and the entries of basis vectors."""
    near = np.maximum(np.maximum(low - basis, basis - high), 0.0)
    return near, np.maximum(np.abs(low - basis), np.abs(high - basis))


def polynomial_range(coefficients: np.ndarray, least: np.ndarray, most: np.ndarray) -> Interval:
    """Return the least and the largest value of a polynomial over intervals."""
    polynomial = np.polynomial.polynomial
    slope = np.trim_zeros(polynomial.polyder(coefficients), "b")
    # The real part of a root that is not real bounds nothing, and does no harm either.
    turns = np.real(polynomial.polyroots(slope)) if len(slope) > 1 else np.empty(0)
    values = [polynomial.polyval(np.clip(t, least, most), coefficients) for t in (least, most, *turns)]
    return np.minimum.reduce(values), np.maximum.reduce(values)


def _loads(columns: np.ndarray, local: np.ndarray, axes: list[Axis]) -> Iterator[tuple[int, int, int]]:
    """Yield axes, the places of a piece's columns in them, and in the piece."""
    for k, axis in enumerate(axes):
        for i in np.flatnonzero((local >= 0) & np.isin(columns, axis.columns)):
            yield k, int(np.flatnonzero(axis.columns == columns[i])[0]), int(i)


def _rest(piece: Any, z: np.ndarray, axes: list[Axis]) -> np.ndarray:
    """Return the sum of the summands of all players that have no axis, at the sample."""
    inside = np.isin(piece.players, [axis.player for axis in axes])
    return np.asarray(piece.summands(z[None])[~inside, 0].sum(axis=0))


def _piece_bounds(piece: Any, z: np.ndarray, axes: list[Axis]) -> Any:
    if isinstance(piece, ProductPiece):
        return _ProductBounds(piece, z, axes)
    if isinstance(piece, DotPiece):
        return _DotBounds(piece, z, axes)
    raise ValueError(
        f"Bounds are known for kernels with closed forms; {piece.kernel_names} has none. Fit with another kernel."
    )


def _summed(pieces: list[Any], seen: list[Interval]) -> Interval:
    found = [piece.bounds(seen) for piece in pieces]
    return sum(low for low, _ in found), sum(high for _, high in found)


def _times(a: Interval, b: Interval) -> Interval:
    products = [x * y for x in a for y in b]
    return np.minimum.reduce(products), np.maximum.reduce(products)
