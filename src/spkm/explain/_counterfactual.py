"""The smallest change of one or two features that changes the answer, or a proof that there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from spkm._checks import check_integer, check_real
from spkm.explain._bounds import Axis, BoxBounds
from spkm.explain._search import Found, nearest_feasible
from spkm.explain._structure import ProductPiece, Structure, scaled_rows, structure_of
from spkm.explain._table import Pipeline, clip_bounds, columns_of, dense_columns, model_of, names_of, table_of

MOST_OPTIONS = 10_000  # values of an integer feature


@dataclass(frozen=True)
class Counterfactual:
    """The nearest sample that reaches a target. Made by :func:`counterfactual`.

    If it was neither found nor proved not to exist, ``max_cells`` did not suffice.

    Attributes
    ----------
    found : bool
        Whether there is one.
    changes : dict from a name to (before, after)
        The features that change, in the user's units; of a group the names of the columns that are 1.
    x : ndarray of shape (d,)
        The sample with the changes; after the steps of a pipeline.
    scores : ndarray of shape (m,)
        Its scores.
    size : float
        Size of the change: the root of the sum of squared changes, in standard deviations of the features.
    size_bound : float
        No smaller change than this reaches the target.
    none_exists : bool
        True if it is proved that no change of at most ``max_changes`` features within the ranges reaches the target.
    reach : float
        Where none exists: an upper bound on how far the nearest constraint can be brought (it must be 0 or more to
        reach the target; below 0 is the proof).
    """

    found: bool
    changes: dict[str, tuple[Any, Any]]
    x: np.ndarray
    scores: np.ndarray
    size: float
    size_bound: float
    none_exists: bool
    reach: float


def counterfactual(
    estimator: Any,
    x: Any,
    target: Any,
    *,
    frozen: Sequence[Any] = (),
    ranges: Any = None,
    integers: Sequence[Any] = (),
    groups: Mapping[str, Any] | None = None,
    max_changes: int = 2,
    margin: float | None = None,
    tolerance: float = 1e-3,
    max_cells: int = 1_000_000,
) -> Counterfactual:
    """Find the smallest change of at most two features that reaches a target, or prove that there is none.

    Parameters
    ----------
    estimator : estimator or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``. After a :class:`~spkm.TableEncoder`
        categories change as a whole, and nothing becomes missing or ceases to be.
    x : array of shape (d,) or (1, d), or a table of one row
        The sample; of a pipeline a row of the table that its first step takes.
    target : class, number or pair of numbers
        The class to be predicted; in regression a value to reach, from whichever side the score is now, or
        an interval (low, high), either of which may be infinite.
    frozen : sequence, default=()
        Columns (by name or index) and groups (by name) that must stay; after an encoder columns of the table, too.
    ranges : dict from a column to (low, high), or a table, default=None
        Where features may go, in the user's units. Of a table the least and largest value of each column; of a
        pipeline it is one that its first step takes. A feature without a range may go as far as the model sees it: to
        the clip of its scaling.
    integers : sequence, default=()
        Columns that take whole numbers only.
    groups : dict from a name to columns, default=None
        Columns of which exactly one is 1, the dummies of a category: they change together, as one feature.
    max_changes : {1, 2}, default=2
        How many features may change.
    margin : float, default=None
        How far beyond the boundary the score must go; None is just enough to be safe from rounding.
    tolerance : float, default=1e-3
        Relative accuracy of the size of a change of two features; of one feature it is exact.
    max_cells : int, default=1_000_000
        Effort for each choice of features; when it does not suffice, ``size_bound`` and ``none_exists`` say less.

    Returns
    -------
    Counterfactual

    Notes
    -----
    Along one feature the score is a sum of bumps (or of polynomials), of which the bounds over an interval are known.
    Intervals, or boxes of two features, are bisected, the nearest first, until a bound rules them out or a point
    in them will do: no solution within the ranges can be missed.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import counterfactual
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=2, random_state=0).fit(X, y)
    >>> change = counterfactual(model, X[0], target=1, ranges=X, max_changes=1)
    >>> change.found or change.none_exists
    True
    """
    pipeline = Pipeline.of(estimator)
    estimator, x = pipeline.named, pipeline.table(x)
    ranges = ranges if isinstance(ranges, Mapping) else pipeline.table(ranges)
    model = model_of(estimator)
    names = names_of(estimator, model.n_features)
    row = table_of(np.reshape(_values(x), (1, -1)), estimator, model.n_features, "x").astype(np.float64)
    frozen, integers = ([one] if isinstance(one, str) else list(one) for one in (frozen, integers))
    kinds = None if pipeline.encoder is None or groups is not None else _Kinds(pipeline.encoder, row[0])
    if kinds is not None:
        groups, integers = kinds.groups, [*integers, *kinds.truths]
        frozen = [*kinds.frozen, *(j for name in frozen for j in kinds.columns.get(name, [name]))]
    if not model.is_joint:
        raise ValueError("counterfactual needs one model of all classes; fit with multi_class='joint'.")
    structure = structure_of(model, names, groups)
    check_integer("max_changes", max_changes, 1)
    if max_changes > 2:
        raise ValueError(f"max_changes must be 1 or 2; got {max_changes!r}.")
    A, a = model.target.region(target, model.scores(row)[0])
    size = np.abs(model.weights @ A.T).sum(axis=0).max() + np.abs(a).max() + np.abs(A @ model.intercept).max()
    slack = 1e-9 * size if margin is None else check_real("margin", margin)
    problem = _Problem(model, structure, row, A, a, slack, check_real("tolerance", tolerance, strict=True), max_cells)
    axes = _axes(model, structure, names, row, frozen, ranges, integers, kinds)
    best, changed = problem.solve(axes, max_changes)
    return _result(model, structure, names, row, best, changed)


def _values(x: Any) -> Any:
    x = x.to_numpy() if hasattr(x, "to_numpy") else x
    return x.toarray() if hasattr(x, "toarray") else x


class _Kinds:
    """What an encoder knows of its columns for a change of a row.

    Attributes
    ----------
    columns : dict from a column of the table to columns
        Those that it became.
    groups : dict from a name to columns
        The categories.
    gaps, truths : list of int
        Columns that say that a value is missing, and those that are 0 or 1.
    frozen : list of int
        Columns that must stay: those that say that a number is missing, and numbers that are.
    """

    def __init__(self, encoder: Any, row: np.ndarray) -> None:
        plans = dict(zip(encoder.columns_, encoder.plans_, strict=True))
        columns = self.columns = encoder.column_groups()
        origins = encoder.feature_origin_
        self.groups = {n: c for n, c in columns.items() if plans[n].kind == "category" and len(c) > 1}
        self.gaps = [j for j, origin in enumerate(origins) if origin.kind == "missing"]
        self.truths = [j for j, origin in enumerate(origins) if origin.kind == "boolean"]
        apart, gaps = [c for name, c in columns.items() if name not in self.groups], np.array(self.gaps, dtype=int)
        self.frozen = [int(j) for c in apart for j in c if j in self.gaps or np.any(row[np.intersect1d(c, gaps)])]


@dataclass(frozen=True)
class _Problem:
    model: Any
    structure: Structure
    row: np.ndarray
    A: np.ndarray
    a: np.ndarray
    margin: float
    tolerance: float
    max_cells: int

    def solve(self, axes: list[Axis], max_changes: int) -> tuple[Found, list[Axis]]:
        """Return the best change of one axis or two, and its axes."""
        z = scaled_rows(self.model, self.row)[0]
        now = float((self.model.scores(self.row) @ self.A.T + self.a).min())
        best = Found(reach=now - self.margin)
        where: list[Axis] = []
        if now >= self.margin:
            best.cost, best.point, best.cost_bound = 0.0, np.empty(0), 0.0
            return best, []
        gain = {}
        for axis in axes:
            bounds = self._bounds(z, [axis])
            gain[axis.player] = _grid_reach(bounds)
            best, where = self._better(bounds, best, where, 1e-9)
        pairs = sorted(combinations(axes, 2), key=lambda pair: -gain[pair[0].player] - gain[pair[1].player])
        for pair in pairs if max_changes == 2 else ():
            best, where = self._better(self._bounds(z, list(pair)), best, where, self.tolerance)
        best.cost_bound = min(best.cost_bound, best.cost)
        return best, where

    def _bounds(self, z: np.ndarray, axes: list[Axis]) -> BoxBounds:
        bounds = BoxBounds(self.structure.terms, z, axes, self.model.intercept, self.A)
        bounds.constant = bounds.constant + self.a
        return bounds

    def _better(self, bounds: BoxBounds, best: Found, where: list[Axis], tolerance: float) -> tuple[Found, list[Axis]]:
        found = nearest_feasible(bounds, self.margin, best.cost, tolerance, self.max_cells, _components(self.structure))
        found.cost_bound = min(found.cost_bound, best.cost_bound)
        found.reach = max(found.reach - self.margin, best.reach)
        found.finished = found.finished and best.finished
        if found.point is None:
            found.cost, found.point = best.cost, best.point
            return found, where
        return found, bounds.axes


def _grid_reach(bounds: BoxBounds) -> float:
    """Return how far the constraints can be brought at some points of one axis."""
    (axis,) = bounds.axes
    points = (
        np.arange(len(axis.options), dtype=float)
        if axis.options is not None
        else (np.linspace(axis.low, axis.high, 33))
    )
    return float(bounds(points[:, None], points[:, None])[1].min(axis=1).max())


def _components(structure: Structure) -> int:
    return sum(
        len(term.weights) * (len(piece.amounts) if isinstance(piece, ProductPiece) else 1)
        for term in structure.terms
        for factor in term.factors
        for piece in factor.pieces
    )


def _axes(
    model: Any,
    structure: Structure,
    names: tuple[str, ...],
    row: np.ndarray,
    frozen: Sequence[Any],
    ranges: Any,
    integers: Sequence[Any],
    kinds: _Kinds | None,
) -> list[Axis]:
    """Return what may change; nothing becomes missing."""
    limits = _limits(ranges, names, model)
    if kinds is not None:
        limits = dict.fromkeys(kinds.truths, (0.0, 1.0)) | limits
    whole = set(columns_of(list(integers), names, "integers").tolist())
    titles = set(structure.names)
    kept = {f for f in frozen if isinstance(f, str) and f in titles}
    still = set(columns_of([f for f in frozen if f not in kept], names, "frozen").tolist())
    axes = []
    for player in structure.read:
        columns = structure.columns[player]
        if structure.names[player] in kept or still & set(columns.tolist()):
            continue
        if len(columns) > 1:
            axes.append(_category(model, int(player), columns, row, [] if kinds is None else kinds.gaps))
            continue
        place = int(np.searchsorted(model.features, columns[0]))
        axis = _number_axis(model, int(player), int(columns[0]), place, row, limits, whole, names)
        if axis is not None:
            axes.append(axis)
    return axes


def _number_axis(
    model: Any, player: int, column: int, place: int, row: np.ndarray, limits: dict, whole: set, names: tuple[str, ...]
) -> Axis | None:
    center, scale, least, most = _scale_of(model, place)
    low, high = limits.get(column, (center + least * scale, center + most * scale))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"ranges must hold finite limits for {names[column]!r}, which the model does not clip.")
    start = (row[0, column] - center) / scale
    if column not in whole:
        return Axis(player, np.array([place]), start, (low - center) / scale, (high - center) / scale, least, most)
    if np.floor(high) - np.ceil(low) >= MOST_OPTIONS:
        raise ValueError(f"integers: {names[column]!r} has more than {MOST_OPTIONS} values in its range; narrow it.")
    values = np.arange(np.ceil(low), np.floor(high) + 1)
    values = values[values != row[0, column]][:, None]
    if len(values) == 0:
        return None
    scaled = (values - center) / scale
    return Axis(
        player,
        np.array([place]),
        options=np.clip(scaled, least, most),
        values=values,
        costs=np.abs(scaled[:, 0] - start),
    )


def _category(model: Any, player: int, columns: np.ndarray, row: np.ndarray, gaps: list[int]) -> Axis:
    """Return the other levels of a one-hot group."""
    values = np.eye(len(columns))[~np.isin(columns, gaps)]
    values = values[np.any(values != row[0, columns], axis=1)]
    held = np.isin(columns, model.features)
    places = np.searchsorted(model.features, columns[held])
    center, scale, least, most = (np.array(part) for part in zip(*(_scale_of(model, p) for p in places), strict=True))
    scaled = (values[:, held] - center) / scale
    costs = np.sqrt(((scaled - (row[0, columns[held]] - center) / scale) ** 2).sum(axis=1))
    return Axis(player, places, options=np.clip(scaled, least, most), values=values, costs=costs)


def _scale_of(model: Any, place: int) -> tuple[float, float, float, float]:
    """Return center and scale of a feature, and the bounds of what the model sees of it."""
    if model.scaling is None:
        return 0.0, 1.0, -np.inf, np.inf
    least, most = clip_bounds(model.scaling)
    return tuple(float(part[place]) for part in (model.scaling.center, model.scaling.scale, least, most))  # type: ignore[return-value]


def _limits(ranges: Any, names: tuple[str, ...], model: Any) -> dict[int, tuple[float, float]]:
    """Return the limits of columns that have some."""
    if ranges is None:
        return {}
    if isinstance(ranges, Mapping):
        limits = {}
        for key, pair in ranges.items():
            (column,) = columns_of(key, names, "ranges")
            low, high = (float(v) for v in pair)
            if not low <= high:
                raise ValueError(f"ranges[{key!r}] must be (low, high) with low <= high; got {pair!r}.")
            limits[int(column)] = (low, high)
        return limits
    held = np.asarray(model.features)
    values = dense_columns(table_of(ranges, None, model.n_features, "ranges"), held)
    return {int(c): (float(v.min()), float(v.max())) for c, v in zip(held, values.T, strict=True)}


def _result(
    model: Any, structure: Structure, names: tuple[str, ...], row: np.ndarray, best: Found, axes: list[Axis]
) -> Counterfactual:
    new = row[0].copy()
    changes: dict[str, tuple[Any, Any]] = {}
    for axis, point in zip(axes, best.point if best.point is not None else (), strict=True):
        columns = structure.columns[axis.player]
        before = new[columns].copy()
        if axis.values is not None:
            new[columns] = axis.values[int(point)]
        elif point != axis.start:
            center, scale, _, _ = _scale_of(model, int(axis.columns[0]))
            new[columns] = point * scale + center
        after = new[columns]
        if not np.array_equal(before, after):
            if len(columns) == 1:
                changes[structure.names[axis.player]] = (float(before[0]), float(after[0]))
            else:
                held = [[names[c] for c in columns[part == 1]] for part in (before, after)]
                changes[structure.names[axis.player]] = (held[0], held[1])
    return Counterfactual(
        found=best.point is not None,
        changes=changes,
        x=new,
        scores=model.scores(new[None])[0],
        size=best.cost,
        size_bound=best.cost_bound,
        none_exists=best.point is None and best.finished,
        reach=best.reach,
    )
