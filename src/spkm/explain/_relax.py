"""Upper bounds of a model's scores over boxes of all features at once.

A similarity is G(E) with G convex and falling and E = sum_j e_j(x_j), a sum over features. Over a box E lies between
two numbers, and there G lies below its chord and above its tangents. So the score is below

    constant + sum_r b_r E_r(x) = constant + sum_j (sum_r b_r e_rj(x_j)),

whose maximum is one of each feature by itself, in closed form: a parabola for squared distances, a list of values for a
category. The gap falls with the square of the box's size. Derivatives are products of such a G and a distance, which
McCormick's inequalities make a sum again; inner products are bounded by Taylor's formula.

Shapes: g boxes, D axes, R basis vectors, Q components of a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spkm.explain._bounds import nearest_and_farthest, polynomial_range
from spkm.explain._structure import DotPiece, ProductPiece, TermParts
from spkm.explain._table import units_of

TINY = 1e-12  # a span of E below which chords are tangents


@dataclass(frozen=True)
class NumberAxis:
    """A number that may lie in an interval."""

    title: str
    column: int  # of the user
    low: float  # ends of the interval, in the user's units
    high: float
    whole: bool = False  # whether it takes whole numbers only

    def first(self) -> tuple[float, float]:
        """Return the ends of the whole axis."""
        return (np.ceil(self.low), np.floor(self.high)) if self.whole else (self.low, self.high)


@dataclass(frozen=True)
class ListAxis:
    """A feature that takes one of several values: a category, of one column or several."""

    title: str
    columns: np.ndarray  # of the user
    values: np.ndarray  # the possible ones, (levels, columns), in the user's units
    labels: tuple[str, ...]  # their names
    whole = True

    def first(self) -> tuple[float, float]:
        """Return the first and the last place in the list."""
        return 0.0, float(len(self.values) - 1)


Axis = NumberAxis | ListAxis


class Sight:
    """The columns of one model as functions of axes: boxes on its own scale.

    Parameters
    ----------
    model : FittedModel
        The model.
    axes : list of Axis
        The axes.
    used : list of int
        Axes that set the model's columns; others do not reach it.
    row : ndarray of shape (d,)
        Values of columns that no axis sets, in the user's units.
    """

    def __init__(self, model: Any, axes: list[Axis], used: list[int], row: np.ndarray) -> None:
        self.model, self.axes, self.used = model, axes, used
        held = {int(c): place for place, c in enumerate(model.features)}
        self.center, self.scale, self.least, self.most = units_of(model)
        self.row = self._seen((row[model.features] - self.center) / self.scale, slice(None))
        #: For each axis the place of its column, or for lists places and values on the model's scale.
        self.places: dict[int, Any] = {}
        self.lists: dict[int, np.ndarray] = {}
        for k in used:
            axis = axes[k]
            if isinstance(axis, ListAxis):
                known = [j for j, c in enumerate(axis.columns) if int(c) in held]
                places = np.array([held[int(c)] for c in axis.columns[known]], dtype=int)
                values = (axis.values[:, known] - self.center[places]) / self.scale[places]
                self.places[k], self.lists[k] = places, self._seen(values, places)
            elif axis.column in held:
                self.places[k] = held[axis.column]
        self.free = np.ones(len(held), dtype=bool)  # columns that no axis sets
        for places in self.places.values():
            self.free[places] = False

    def _seen(self, Z: np.ndarray, places: Any) -> np.ndarray:
        return np.clip(Z, self.least[places], self.most[places])

    def inside(self, k: int) -> NumberAxis | None:
        """Return the part of a number's axis that the model does not clip; None if there is none."""
        axis, place = self.axes[k], self.places[k]
        assert isinstance(axis, NumberAxis)
        least, most = (self.center[place] + end * self.scale[place] for end in (self.least[place], self.most[place]))
        low, high = max(axis.low, float(least)), min(axis.high, float(most))
        return replace(axis, low=low, high=high) if low < high else None

    def interval(self, k: int, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ends of a number on the model's scale, and whether the clip lies strictly inside, (g,) each."""
        place = self.places[k]
        a, b = ((end - self.center[place]) / self.scale[place] for end in (low, high))
        least, most = self.least[place], self.most[place]
        bent = ((a < least) & (b > least)) | ((a < most) & (b > most))
        return np.clip(a, least, most), np.clip(b, least, most), bent


class Sums:
    """A bound that is a sum over axes: constant (g,), parabolas in t of numbers, values of lists.

    A number is low + t (high - low) with t in [0, 1].
    """

    def __init__(self, n_boxes: int, axes: list[Axis]) -> None:
        self.constant = np.zeros(n_boxes)
        self.square = np.zeros((n_boxes, len(axes)))
        self.slope = np.zeros((n_boxes, len(axes)))
        self.tables = {k: np.zeros((n_boxes, len(a.values))) for k, a in enumerate(axes) if isinstance(a, ListAxis)}
        #: How much each axis has to do with the gap of the bound.
        self.blame = np.zeros((n_boxes, len(axes)))

    def maximum(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest value over boxes, (g,), and the place of it on each axis, (g, D)."""
        value, place = self.constant.copy(), low.copy()
        for k in range(low.shape[1]):
            if k in self.tables:
                levels = np.arange(self.tables[k].shape[1])
                inside = (levels >= low[:, [k]]) & (levels <= high[:, [k]])
                listed = np.where(inside, self.tables[k], -np.inf)
                best = np.argmax(listed, axis=1)
                value += listed[np.arange(len(best)), best]
                place[:, k] = best
                continue
            a, b = self.square[:, k], self.slope[:, k]
            with np.errstate(divide="ignore", invalid="ignore"):
                top = np.where(a < 0, np.clip(-b / (2 * a), 0.0, 1.0), 0.0)
            t = np.where(a < 0, top, np.where(a + b > 0, 1.0, 0.0))
            value += (a * t + b) * t
            place[:, k] = low[:, k] + t * (high[:, k] - low[:, k])
        return value, place


class Mixture:
    """G(E) = sum_q a_q exp(-r_q E) with a_q > 0: convex and falling."""

    def __init__(self, amounts: np.ndarray, rates: np.ndarray) -> None:
        self.amounts, self.rates = amounts, rates

    def __call__(self, E: np.ndarray) -> np.ndarray:
        if len(self.amounts) == 1:
            return self.amounts[0] * np.exp(-self.rates[0] * E)
        return np.exp(-E[..., None] * self.rates) @ self.amounts

    def derivative(self) -> Mixture:
        """Return -G'."""
        return Mixture(self.amounts * self.rates, self.rates)

    def line(self, low: np.ndarray, high: np.ndarray, above: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return value at ``low`` and slope of a line above G, where ``above``, or below it; and the largest gap."""
        first, last = self(low), self(high)
        span = high - low
        tight = span < TINY
        chord = np.where(tight, 0.0, (last - first) / np.where(tight, 1.0, span))
        middle = 0.5 * (low + high)
        value, slope = self(middle), -self.derivative()(middle)
        at_low = np.where(above, first, value + slope * (low - middle))
        gap = np.where(above, 0.5 * (first + last) - value, np.maximum(first, last) - value - slope * (low - middle))
        return at_low, np.where(above, chord, slope), np.maximum(gap, 0.0)


class RadialPart:
    """Terms c_r G(E_r(x)) of one mixture.

    Parameters
    ----------
    sight : Sight
        The model's columns.
    piece : ProductPiece
        The kernel, with components of proportional rates.
    weights : ndarray of shape (R,)
        The weights c.
    mixture : Mixture
        The function G.
    """

    def __init__(self, sight: Sight, piece: ProductPiece, weights: np.ndarray, mixture: Mixture) -> None:
        self.sight, self.weights, self.mixture = sight, weights, mixture
        steepest = piece.steepest
        #: Columns of the model, with their entries of the basis, (R,), and rates of squared and absolute distances.
        self.loads: list[tuple[int, np.ndarray, float, float]] = []
        for columns, basis, squared, absolute, local in piece.parts:
            for i in np.flatnonzero(local >= 0):
                w, a = float(squared[steepest, i]), float(absolute[steepest, i])
                if w or a:
                    self.loads.append((int(columns[i]), basis[:, i], w, a))
        self.rest = np.zeros(len(weights))
        for column, basis, w, a in self.loads:
            if sight.free[column]:
                self.rest += _exponent(sight.row[column] - basis, w, a)
        self.tables = {k: self._table(sight.places[k], values) for k, values in sight.lists.items()}
        self.numbers = {
            k: [load for load in self.loads if load[0] == place]
            for k, place in sight.places.items()
            if k not in sight.lists
        }

    def _table(self, places: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return E of the values of a list, (levels, R)."""
        found = np.zeros((len(values), len(self.weights)))
        for column, basis, w, a in self.loads:
            for j in np.flatnonzero(places == column):
                found += _exponent(values[:, [j]] - basis, w, a)
        return found

    def ranges(self, low: np.ndarray, high: np.ndarray) -> tuple[dict[int, Any], np.ndarray, np.ndarray]:
        """Return the least and the largest part of E of each axis, and E's own, (g, R)."""
        parts: dict[int, Any] = {}
        least = np.tile(self.rest, (len(low), 1))
        most = least.copy()
        for k, table in self.tables.items():
            parts[k] = _ends_of_levels(table, low[:, [k]], high[:, [k]])
        for k, loads in self.numbers.items():
            if not loads:
                continue
            a, b = (end[:, None] for end in self.sight.interval(k, low[:, k], high[:, k])[:2])
            ends = [nearest_and_farthest(a, b, basis) for _, basis, _, _ in loads]
            parts[k] = tuple(
                sum(_exponent(apart[side], w, absolute) for apart, (_, _, w, absolute) in zip(ends, loads, strict=True))
                for side in (0, 1)
            )
        for a, b in parts.values():
            least += a
            most += b
        return parts, least, most

    def add(self, sums: Sums, low: np.ndarray, high: np.ndarray) -> None:
        """Add an upper bound over boxes."""
        parts, least, most = self.ranges(low, high)
        self.add_weighted(sums, low, high, parts, least, most, np.broadcast_to(self.weights, least.shape))

    def add_weighted(
        self,
        sums: Sums,
        low: np.ndarray,
        high: np.ndarray,
        parts: dict[int, Any],
        least: np.ndarray,
        most: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        """Add an upper bound of sum_r weights_r G(E_r), with weights (g, R) of each box."""
        at_least, slope, gap = self.mixture.line(least, most, weights >= 0)
        beta = weights * slope
        sums.constant += (weights * at_least - beta * least + beta * self.rest).sum(axis=1)
        gap = np.abs(weights) * gap / np.maximum(most - least, TINY)
        for k, (a, b) in parts.items():
            sums.blame[:, k] += (gap * (b - a)).sum(axis=1)
            if k in self.tables:
                sums.tables[k] += beta @ self.tables[k].T
            else:
                self._number(sums, k, low, high, beta, a, b)

    def _number(
        self, sums: Sums, k: int, low: np.ndarray, high: np.ndarray, beta: np.ndarray, a: np.ndarray, b: np.ndarray
    ) -> None:
        left, right, bent = self.sight.interval(k, low[:, k], high[:, k])
        step = np.where(bent, 0.0, right - left)[:, None]
        free = ~bent[:, None]
        for _, basis, w, absolute in self.numbers[k]:
            apart = left[:, None] - basis
            if w:
                own = np.where(free, beta, 0.0) * w
                sums.square[:, k] += (own * step**2).sum(axis=1)
                sums.slope[:, k] += (2 * own * apart * step).sum(axis=1)
                sums.constant += (own * apart**2).sum(axis=1)
            if absolute:  # |z - u| lies below its chord, and above a line through u
                own = np.where(free, beta, 0.0) * absolute
                end = apart + step
                sign = np.where(apart + end >= 0, 1.0, -1.0)
                start = np.where(own >= 0, np.abs(apart), sign * apart)
                sums.slope[:, k] += (own * np.where(own >= 0, np.abs(end) - np.abs(apart), sign * step)).sum(axis=1)
                sums.constant += (own * start).sum(axis=1)
        # A box across the clip has no parabola: the part of E is anything between its ends.
        sums.constant += np.where(free, 0.0, np.maximum(beta * a, beta * b)).sum(axis=1)
        sums.blame[:, k] += np.where(free, 0.0, np.abs(beta) * (b - a)).sum(axis=1)


class SlopePart:
    """Terms c_r dG(E_r)/dz of one feature, for a kernel of squared distances: -2 c w F(E) (z - u) with F = -G'."""

    def __init__(self, sight: Sight, piece: ProductPiece, weights: np.ndarray, mixture: Mixture, k: int) -> None:
        self.radial = RadialPart(sight, piece, weights, mixture.derivative())
        self.k, self.sight = k, sight
        self.loads = [load for load in self.radial.numbers.get(k, []) if load[2]]
        if any(load[3] for load in self.radial.loads if load[0] == sight.places.get(k)):
            raise ValueError("A kernel of absolute distances has no slope at basis vectors. Use a limit of the score.")

    def add(self, sums: Sums, low: np.ndarray, high: np.ndarray) -> None:
        """Add an upper bound over boxes."""
        if not self.loads:
            return
        parts, least, most = self.radial.ranges(low, high)
        left, right, bent = self.sight.interval(self.k, low[:, self.k], high[:, self.k])
        top, bottom = self.radial.mixture(least), self.radial.mixture(most)  # of F
        for _, basis, w, _ in self.loads:
            kappa = -2 * w * self.radial.weights
            y_low, y_high = left[:, None] - basis, right[:, None] - basis
            # F y is at most top y + y_low F - top y_low, and at least bottom y + y_low F - bottom y_low.
            edge = np.where(kappa >= 0, top, bottom)
            coefficient = kappa * y_low
            step = np.where(bent, 0.0, right - left)[:, None]
            sums.slope[:, self.k] += (kappa * edge * step).sum(axis=1)
            crossing = np.maximum(kappa * edge * (y_high - y_low), 0.0)
            sums.constant += np.where(bent[:, None], crossing, 0.0).sum(axis=1)
            self.radial.add_weighted(sums, low, high, parts, least, most, coefficient)
            sums.blame[:, self.k] += (np.abs(kappa) * (top - bottom) * (y_high - y_low)).sum(axis=1)


class DotPart:
    """Terms c_r p(s_r) with p a polynomial and s_r = sum_j l_rj z_j."""

    def __init__(self, sight: Sight, piece: DotPiece, weights: np.ndarray, coefficients: np.ndarray) -> None:
        self.sight, self.weights, self.coefficients = sight, weights, np.trim_zeros(coefficients, "b")
        loads = np.zeros((len(weights), len(sight.center)))
        np.add.at(loads.T, piece.columns[piece.local >= 0], piece.loadings.T[piece.local >= 0])
        self.rest = loads[:, sight.free] @ sight.row[sight.free]
        self.tables = {k: values @ loads[:, sight.places[k]].T for k, values in sight.lists.items()}
        self.numbers = {k: loads[:, place] for k, place in sight.places.items() if k not in sight.lists}

    def add(self, sums: Sums, low: np.ndarray, high: np.ndarray) -> None:
        """Add an upper bound over boxes."""
        least = np.tile(self.rest, (len(low), 1))
        most, ends = least.copy(), {}
        for k, table in self.tables.items():
            ends[k] = _ends_of_levels(table, low[:, [k]], high[:, [k]])
        for k, load in self.numbers.items():
            a, b, _ = self.sight.interval(k, low[:, k], high[:, k])
            both = a[:, None] * load, b[:, None] * load
            ends[k] = np.minimum(*both), np.maximum(*both)
        for a, b in ends.values():
            least, most = least + a, most + b
        polynomial = np.polynomial.polynomial
        middle, radius = 0.5 * (least + most), 0.5 * (most - least)
        first, second = polynomial.polyder(self.coefficients), polynomial.polyder(self.coefficients, 2)
        bend_low, bend_high = polynomial_range(second, least, most)
        bend = np.where(self.weights >= 0, np.maximum(bend_high, 0.0), np.minimum(bend_low, 0.0))
        beta = self.weights * polynomial.polyval(middle, first)
        value = polynomial.polyval(middle, self.coefficients) + 0.5 * bend * radius**2
        sums.constant += (self.weights * value + beta * (self.rest - middle)).sum(axis=1)
        gap = np.abs(self.weights * bend) * radius
        for k, (a, b) in ends.items():
            sums.blame[:, k] += (gap * (b - a)).sum(axis=1)
            if k in self.tables:
                sums.tables[k] += beta @ self.tables[k].T
                continue
            left, right, bent = self.sight.interval(k, low[:, k], high[:, k])
            start, step = left[:, None] * self.numbers[k], (right - left)[:, None] * self.numbers[k]
            sums.slope[:, k] += np.where(bent, 0.0, (beta * step).sum(axis=1))
            sums.constant += (beta * start).sum(axis=1)
            sums.constant += np.where(bent[:, None], np.maximum(beta * step, 0.0), 0.0).sum(axis=1)


def parts_of(sight: Sight, terms: tuple[TermParts, ...], weigh: np.ndarray, slope_in: int | None = None) -> list[Any]:
    """Return the parts of the score ``weigh @ f``, or of its derivative in the number of one axis.

    Parameters
    ----------
    sight : Sight
        The model's columns.
    terms : tuple of TermParts
        The model taken apart.
    weigh : ndarray of shape (m,)
        Weights of the outputs.
    slope_in : int, default=None
        The axis of the derivative; None is the score itself.
    """
    found: list[Any] = []
    for term in terms:
        weights = term.weights @ weigh
        used = weights != 0
        if not used.any():
            continue
        if len(term.factors) != 1:
            raise ValueError(f"Bounds are not known for products of views, {term.name!r}. Fit single views.")
        for piece in term.factors[0].pieces:
            found += _of_piece(sight, piece, weights, slope_in)
    return found


def _of_piece(sight: Sight, piece: object, weights: np.ndarray, slope_in: int | None) -> list[Any]:
    if isinstance(piece, DotPiece):
        if slope_in is None:
            return [DotPart(sight, piece, weights, piece.coefficients)]
        place = sight.places.get(slope_in)
        inside = (piece.columns == place) & (piece.local >= 0)
        loads = piece.loadings[:, inside].sum(axis=1)
        return [DotPart(sight, piece, weights * loads, np.polynomial.polynomial.polyder(piece.coefficients))]
    if not isinstance(piece, ProductPiece) or piece.rates is None:
        raise ValueError("Bounds are known for single kernels with closed forms, and for products of RBF kernels.")
    found: list[Any] = []
    for sign in (1.0, -1.0):
        own = sign * piece.amounts > 0
        if not own.any():
            continue
        mixture = Mixture(sign * piece.amounts[own], piece.rates[own])
        if slope_in is None:
            found.append(RadialPart(sight, piece, sign * weights, mixture))
        else:
            found.append(SlopePart(sight, piece, sign * weights, mixture, slope_in))
    return found


def _exponent(apart: np.ndarray, squared: float, absolute: float) -> np.ndarray:
    """Return the part of E of a column at a distance."""
    size = np.abs(apart)
    return np.asarray((squared * size + absolute) * size)


def _ends_of_levels(table: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest row of a table by levels, among the levels from ``low`` to ``high``, (g, 1)."""
    levels = np.arange(len(table))
    inside = ((levels >= low) & (levels <= high))[:, :, None]
    return np.where(inside, table, np.inf).min(axis=1), np.where(inside, table, -np.inf).max(axis=1)
