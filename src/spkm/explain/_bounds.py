"""Bounds of scores over boxes of one or two features, all others held fixed.

A basis vector's similarity along one feature is a bump or a polynomial; over an interval its least and largest value
are known. Sums of bounds bound sums, products of bounds bound products: what no bound allows does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.explain._structure import DotPiece, Factor, ProductPiece, TermParts

Interval = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Axis:
    """A player that may change: an interval of one column of Z, or a list of options.

    Attributes
    ----------
    player : int
        The player.
    columns : ndarray of int
        Its columns of Z.
    start : float
        Where the sample is, on the scale of the model before the clip (intervals only).
    low, high : float
        The interval, on the same scale.
    clip : float
        Bound on what the model sees.
    options, values : ndarray of shape (k, columns), (k, columns of the user) or None
        What the model sees for each option, and the option in the user's units.
    costs : ndarray of shape (k,) or None
        The size of the change to each option.
    """

    player: int
    columns: np.ndarray
    start: float = 0.0
    low: float = 0.0
    high: float = 0.0
    clip: float = np.inf
    options: np.ndarray | None = None
    values: np.ndarray | None = None
    costs: np.ndarray | None = None

    def seen(self, low: np.ndarray, high: np.ndarray) -> Interval:
        """Return the bounds of the columns over cells, (g, columns) each; cells of options are their numbers."""
        if self.options is not None:
            chosen = self.options[low.astype(int)]
            return chosen, chosen
        low, high = (np.clip(edge, -self.clip, self.clip)[:, None] for edge in (low, high))
        return low, high

    def least_cost(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the smallest change within cells, (g,), in standard deviations."""
        if self.costs is not None:
            return self.costs[low.astype(int)]
        return np.maximum(np.maximum(low - self.start, self.start - high), 0.0)

    def nearest(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the point of each cell that is nearest to the sample."""
        return low if self.options is not None else np.clip(self.start, low, high)


class BoxBounds:
    """Bounds of A f + a over boxes of the given axes, all other columns at the sample ``z``."""

    def __init__(self, terms: Any, z: np.ndarray, axes: list[Axis], intercept: np.ndarray, A: np.ndarray) -> None:
        self.axes = axes
        self.constant = intercept @ A.T
        self.parts: list[tuple[list[_FactorBounds], np.ndarray]] = []
        players = [axis.player for axis in axes]
        for term in terms:
            weights = term.weights @ A.T  # (R, constraints)
            touched, fixed = _split(term, players, z)
            weights = weights * fixed[:, None]
            if touched:
                self.parts.append(([_FactorBounds(factor, z, axes) for factor in touched], weights))
            else:
                self.constant = self.constant + weights.sum(axis=0)

    def __call__(self, low: np.ndarray, high: np.ndarray) -> Interval:
        """Return lower and upper bounds, (g, constraints), over cells [low, high], (g, axes) each."""
        seen = [axis.seen(low[:, k], high[:, k]) for k, axis in enumerate(self.axes)]
        lower = np.tile(self.constant, (len(low), 1))
        upper = lower.copy()
        for factors, weights in self.parts:
            least, most = factors[0].bounds(seen)
            for factor in factors[1:]:
                least, most = _times((least, most), factor.bounds(seen))
            positive, negative = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
            lower += least @ positive + most @ negative
            upper += most @ positive + least @ negative
        return lower, upper


def _split(term: TermParts, players: list[int], z: np.ndarray) -> tuple[list[Factor], np.ndarray]:
    """Return the factors that read some of the players, and the product of the others at ``z``, (R,)."""
    touched = [factor for factor in term.factors if np.isin(players, factor.players).any()]
    others = [factor.values(z[None])[0] for factor in term.factors if not np.isin(players, factor.players).any()]
    return touched, np.prod(others, axis=0) if others else np.ones(len(term.weights))


class _FactorBounds:
    """Bounds of one factor, a sum of pieces, over cells."""

    def __init__(self, factor: Factor, z: np.ndarray, axes: list[Axis]) -> None:
        self.pieces = [_piece_bounds(piece, z, axes) for piece in factor.pieces]

    def bounds(self, seen: list[Interval]) -> Interval:
        found = [piece.bounds(seen) for piece in self.pieces]
        return sum(low for low, _ in found), sum(high for _, high in found)


class _ProductBounds:
    def __init__(self, piece: ProductPiece, z: np.ndarray, axes: list[Axis]) -> None:
        self.amounts = piece.amounts
        exponents = piece.exponents(z[None])[:, 0]  # (s, R, Q)
        inside = np.isin(piece.players, [axis.player for axis in axes])
        self.rest = exponents[~inside].sum(axis=0)
        self.loads = []  # per axis: place of the column within it, basis (R,), rates (Q,)
        for k, axis in enumerate(axes):
            for columns, basis, squared, absolute, local in piece.parts:
                for i in np.flatnonzero((local >= 0) & np.isin(columns, axis.columns)):
                    place = int(np.flatnonzero(axis.columns == columns[i])[0])
                    self.loads.append((k, place, basis[:, i], squared[:, i], absolute[:, i]))

    def bounds(self, seen: list[Interval]) -> Interval:
        least, most = self.rest[None], self.rest[None]
        for k, place, basis, squared, absolute in self.loads:
            low, high = seen[k][0][:, place, None], seen[k][1][:, place, None]
            near = np.maximum(np.maximum(low - basis, basis - high), 0.0)[..., None]
            far = np.maximum(np.abs(low - basis), np.abs(high - basis))[..., None]
            least = least + (squared * near + absolute) * near
            most = most + (squared * far + absolute) * far
        positive, negative = np.maximum(self.amounts, 0.0), np.minimum(self.amounts, 0.0)
        top, bottom = np.exp(-least), np.exp(-most)
        return bottom @ positive + top @ negative, top @ positive + bottom @ negative


class _DotBounds:
    def __init__(self, piece: DotPiece, z: np.ndarray, axes: list[Axis]) -> None:
        self.coefficients = piece.coefficients
        products = piece.products(z[None])[:, 0]
        inside = np.isin(piece.players, [axis.player for axis in axes])
        self.rest = products[~inside].sum(axis=0)
        self.loads = []
        for k, axis in enumerate(axes):
            for i in np.flatnonzero((piece.local >= 0) & np.isin(piece.columns, axis.columns)):
                place = int(np.flatnonzero(axis.columns == piece.columns[i])[0])
                self.loads.append((k, place, piece.loadings[:, i]))
        slope = np.polynomial.polynomial.polyder(piece.coefficients)
        roots = np.polynomial.polynomial.polyroots(np.trim_zeros(slope, "b")) if np.any(slope) else np.empty(0)
        self.turns = np.real(roots)  # where a root is not real its point bounds nothing, and does no harm either

    def bounds(self, seen: list[Interval]) -> Interval:
        least, most = self.rest[None], self.rest[None]
        for k, place, loading in self.loads:
            ends = [edge[:, place, None] * loading for edge in seen[k]]
            least, most = least + np.minimum(*ends), most + np.maximum(*ends)
        polynomial = np.polynomial.polynomial.polyval
        values = [polynomial(least, self.coefficients), polynomial(most, self.coefficients)]
        values += [polynomial(np.clip(turn, least, most), self.coefficients) for turn in self.turns]
        return np.minimum.reduce(values), np.maximum.reduce(values)


def _piece_bounds(piece: Any, z: np.ndarray, axes: list[Axis]) -> Any:
    if isinstance(piece, ProductPiece):
        return _ProductBounds(piece, z, axes)
    if isinstance(piece, DotPiece):
        return _DotBounds(piece, z, axes)
    raise ValueError(
        f"counterfactual needs kernels with closed forms, of which it can prove bounds; {piece.kernel_names} has none."
    )


def _times(a: Interval, b: Interval) -> Interval:
    products = [x * y for x in a for y in b]
    return np.minimum.reduce(products), np.maximum.reduce(products)
