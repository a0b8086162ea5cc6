"""Partial dependence, effects of two features and H-statistics in closed form.

A factor f(z) splits into sum_c left_c(z_A) right_c(z_rest) for any set A of players: a mixture of products by
its components, a polynomial of a sum by Taylor's formula. So the mean over samples of f with z_A held fixed needs the
mean of the right sides only, once for all points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_integer
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._bars import LEVEL, deviation, half_width
from spkm.explain._structure import Factor, Structure, TermParts, blocks, scaled_rows, structure_of
from spkm.explain._table import (
    Pipeline,
    columns_of,
    columns_of_grid,
    dense_columns,
    frames,
    names_apart,
    output_names,
    units_of,
)
from spkm.tables.encoded import Encoding

BLOCK = 2**20  # entries of a block's exponents


@dataclass(frozen=True)
class Effect:
    """The mean score over samples as a function of one or two features that are held fixed.

    Attributes
    ----------
    feature_names, output_names : tuple of str
        The one or two features; the outputs.
    grid : tuple of ndarray
        Points of each feature, in the user's units; of a category its levels.
    values : ndarray of shape (points, m) or (points of the first, points of the second, m)
        The mean scores.
    std : ndarray of the same shape, or None
        Their standard deviations over the refits of the model; None if it has none.
    n_refits : int
        Number of refits.
    """

    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    grid: tuple[np.ndarray, ...]
    values: np.ndarray
    std: np.ndarray | None = None
    n_refits: int = 0

    def interval(self, confidence_level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper ends of error bars, in the shape of ``values``; they need refits.

        Parameters
        ----------
        confidence_level : float, default=0.9
            Level of the interval at each point by itself.

        Returns
        -------
        lower, upper : ndarray
            The ends.
        """
        if self.std is None:
            raise ValueError("Error bars need refits: use the estimator that with_uncertainty(X, y) returns.")
        half = half_width(self.n_refits, confidence_level) * self.std
        return self.values - half, self.values + half

    def frame(self) -> Any:
        """Return a pandas frame: a row per point, columns for features and outputs.

        A model with refits has the standard deviation and both ends of the 90 % error bar of each output beside it. An
        output of the name of a feature stands as ``output yes``.
        """
        pandas = frames()
        columns = columns_of_grid(self.feature_names, self.grid)
        parts = {"": self.values}
        if self.std is not None:
            parts |= dict(zip((" std", " lower", " upper"), (self.std, *self.interval()), strict=True))
        flat = {title: part.reshape(-1, len(self.output_names)) for title, part in parts.items()}
        outputs = names_apart(self.output_names, columns, "output")
        of_outputs = {name + title: flat[title][:, o] for o, name in enumerate(outputs) for title in flat}
        return pandas.DataFrame(columns | of_outputs)


def partial_dependence(
    estimator: BaseEstimator,
    X: TableLike,
    features: Any = None,
    *,
    grid: Mapping[Any, Any] | None = None,
    n_points: int = 100,
) -> list[Effect]:
    """Return the mean score over the samples as a function of one feature, or two, exactly.

    Parameters
    ----------
    estimator : estimator, pipeline or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``.
    X : table of shape (n, d)
        Samples to average over.
    features : list, default=None
        Features by name or index, and pairs of them for two-way effects; None are all that the model reads. After a
        TableEncoder the name of a category stands for its levels.
    grid : dict from a feature to points, default=None
        Points to evaluate at; by default ``n_points`` equally spaced points over the range of the feature in X.
    n_points : int, default=100
        Number of points; 25 a side at most for pairs.

    Returns
    -------
    effects : list of Effect
        One for each entry of ``features``, in their order.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spkm import SPKMRegressor
    >>> from spkm.explain import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SPKMRegressor(n_basis=3, random_state=0).fit(X, y)
    >>> one, two = partial_dependence(model, X, [2, (2, 8)])
    >>> one.values.shape, two.values.shape
    ((100, 1), (25, 25, 1))
    """
    table = _Axes.of(estimator, X)
    model, X = table.model, table.X
    check_integer("n_points", n_points, 2)
    wanted = [[feature] for feature in table.read()] if features is None else [table.one_or_two(f) for f in features]
    points = {table.feature(key).title: value for key, value in (grid or {}).items()}
    axes = []
    for own in wanted:
        count = n_points if len(own) == 1 else min(n_points, 25)
        axes.append([table.axis(feature, points, count) for feature in own])
    values = _mean_scores(model, table.names, X, axes)
    refits = [_mean_scores(refit, table.names, X, axes) for refit in model.refits]
    result = []
    for k, taken in enumerate(axes):
        std = deviation(model, [found[k] for found in refits]) if refits else None
        titles, grids = tuple(axis.feature.title for axis in taken), tuple(axis.grid for axis in taken)
        result.append(Effect(titles, output_names(model), grids, values[k], std, len(refits)))
    return result


class _Feature(NamedTuple):
    """A column, or the columns of a category."""

    title: str
    columns: list[int]
    is_category: bool


class _Axis(NamedTuple):
    """A feature and the points at which its effect is taken: as they are shown, and by column."""

    feature: _Feature
    grid: np.ndarray
    points: np.ndarray


@dataclass(frozen=True)
class _Axes:
    """The features of a fitted estimator as effects name them: columns, and categories by the name of their column."""

    model: Any
    X: Any
    names: tuple[str, ...]
    encoding: Encoding | None
    categories: dict[str, np.ndarray]

    @staticmethod
    def of(estimator: BaseEstimator, X: TableLike) -> _Axes:
        pipeline = Pipeline.of(estimator)
        encoding = pipeline.encoding
        groups = {} if encoding is None else encoding.column_groups()
        categories = {t: c for t, c in groups.items() if encoding is not None and encoding.kind(t) == "category"}
        return _Axes(pipeline.model, pipeline.rows(X), pipeline.names, encoding, categories)

    def read(self) -> list[_Feature]:
        """Return the features that the model reads."""
        owner = {int(c): title for title, columns in self.categories.items() for c in columns}
        return list(map(self.feature, dict.fromkeys(owner.get(int(j), int(j)) for j in self.model.features_read())))

    def feature(self, given: Any) -> _Feature:
        """Return the category of a name, or the column of a name or number."""
        if isinstance(given, str) and given in self.categories:
            return _Feature(given, self.categories[given].tolist(), True)
        column = int(columns_of(given, self.names, "features")[0])
        return _Feature(self.names[column], [column], False)

    def one_or_two(self, given: Any) -> list[_Feature]:
        """Return one feature or two."""
        listed: list[Any] = [given] if isinstance(given, str | int | np.integer) else list(given)
        if len(listed) not in (1, 2):
            raise ValueError(f"features must hold single columns and pairs of different ones; got {given!r}.")
        return self.different(listed)

    def different(self, listed: Sequence[Any]) -> list[_Feature]:
        """Return features, which must share no column."""
        found = [self.feature(one) for one in listed]
        columns = [c for feature in found for c in feature.columns]
        if len(set(columns)) < len(columns):
            raise ValueError(f"features must be different ones; {listed!r} has a column twice.")
        return found

    def axis(self, feature: _Feature, points: Mapping[str, Any], count: int) -> _Axis:
        """Return a feature with its points: those that are given, levels, or ``count`` over the range of samples."""
        given = points.get(feature.title)
        if feature.is_category:
            assert self.encoding is not None
            if given is not None:
                raise ValueError(f"grid must be of numbers; {feature.title!r} is a category: it has its levels.")
            labels, rows = self.encoding.levels(feature.title)
            return _Axis(feature, np.array(labels, dtype=object), rows)
        if given is None:
            values = dense_columns(self.X, np.array(feature.columns))
            given = np.linspace(values.min(), values.max(), count)
        grid = np.asarray(given, dtype=float)
        return _Axis(feature, grid, grid[:, None])


def _mean_scores(
    model: FittedModel | ModelEnsemble, names: tuple[str, ...], X: TableLike, axes: list[list[_Axis]]
) -> list[np.ndarray]:
    """Return the mean scores over the samples at the points of each set of features."""
    members = [(member, structure_of(member, names), scaled_rows(member, X)) for member in model.members]
    wanted = [[c for axis in own for c in axis.feature.columns] for own in axes]
    effects = [set_effects(structure, Z, wanted) for _, structure, Z in members]
    found = []
    for columns, own, *parts in zip(wanted, axes, *effects, strict=True):
        sizes = [len(axis.grid) for axis in own]
        places = np.indices(sizes).reshape(len(sizes), -1)
        mesh = np.hstack([axis.points[place] for axis, place in zip(own, places, strict=True)])
        scores = model.intercept + np.hstack(
            [
                effect.at(_rows_at(member, Z, columns, mesh))
                for effect, (member, _, Z) in zip(parts, members, strict=True)
            ]
        )
        found.append(scores.reshape(*sizes, -1))
    return found


def h_statistics(
    estimator: BaseEstimator, X: TableLike, features: Sequence[Any] | None = None
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return Friedman's H of all pairs of features, exactly.

    H^2 is the share of the variance of the two-way partial dependence, over the samples, that is not the sum of the
    two one-way ones: 0 for features that do not interact.

    Parameters
    ----------
    estimator : estimator, pipeline or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``.
    X : table of shape (n, d)
        Samples, both to average over and to evaluate at.
    features : list, default=None
        Features by name or index; None are all that the model reads.

    Returns
    -------
    names : tuple of str
        The features.
    H : ndarray of shape (features, features, m)
        Symmetric, with zeros on the diagonal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import h_statistics
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> names, H = h_statistics(model, X)
    >>> H.shape
    (4, 4, 3)
    """
    table = _Axes.of(estimator, X)
    chosen = table.read() if features is None else table.different(features)
    sets = [feature.columns for feature in chosen]
    H = [
        _h_of_member(member, structure_of(member, table.names), scaled_rows(member, table.X), sets)
        for member in table.model.members
    ]
    return tuple(feature.title for feature in chosen), np.concatenate(H, axis=2)


def _h_of_member(
    model: FittedModel | ModelEnsemble, structure: Structure, Z: np.ndarray, sets: list[list[int]]
) -> np.ndarray:
    pairs = [(a, b) for a in range(len(sets)) for b in range(a)]
    alone = [_centred(effect.at(Z)) for effect in set_effects(structure, Z, sets)]
    H = np.zeros((len(sets), len(sets), model.n_outputs))
    both = set_effects(structure, Z, [sets[a] + sets[b] for a, b in pairs])
    for (a, b), effect in zip(pairs, both, strict=True):
        joint = _centred(effect.at(Z))
        total = (joint**2).sum(axis=0)
        left = ((joint - alone[a] - alone[b]) ** 2).sum(axis=0)
        # If the joint effect is but rounding, its parts are, too.
        noise = 1e-20 * len(Z) * np.abs(model.weights).sum(axis=0) ** 2
        H[a, b] = H[b, a] = np.sqrt(np.where(total > noise, left / np.maximum(total, noise), 0.0))
    return H


@dataclass(frozen=True)
class SetEffect:
    """The mean over samples of all terms with a set of players held fixed, as a function of these players."""

    parts: tuple[tuple[TermParts, tuple[tuple[Factor, np.ndarray], ...], np.ndarray | None], ...]
    players: np.ndarray
    Z: np.ndarray
    columns: np.ndarray

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the mean of f - b, (g, m), at the players' columns of rows ``points`` on the scale of the model."""
        total: Any = 0.0
        for term, touched, means in self.parts:
            if means is None:
                values = self._one_by_one(term, points)
            elif not touched:
                values = np.broadcast_to(means, (len(points), len(means)))
            else:
                lefts = [_left_sides(factor, local, points) for factor, local in touched]
                values = np.einsum(
                    "grc,rc->gr" if len(lefts) == 1 else "grc,grd,rcd->gr", *lefts, means, optimize=len(lefts) > 1
                )
            total = total + values @ term.weights
        return total

    def _one_by_one(self, term: TermParts, points: np.ndarray) -> np.ndarray:
        values, rows = np.empty((len(points), len(term.weights))), self.Z.copy()
        for g, point in enumerate(points):
            rows[:, self.columns] = point[self.columns]
            values[g] = term.values(rows).mean(axis=0)
        return values


def set_effects(structure: Structure, Z: np.ndarray, sets: Sequence[Sequence[int]]) -> Iterator[SetEffect]:
    """Yield the effect of each set of players; samples are gone through once for all of them."""
    held = [np.array(sorted(players), dtype=int) for players in sets]
    found: list[list[Any]] = [[] for _ in held]
    for term in structure.terms:
        touched = [_touched(term, players) for players in held]
        means = _term_means(term, touched, Z)
        for k in range(len(held)):
            found[k].append((term, touched[k] or (), means[k]))
    owner = structure.z_players
    for players, parts in zip(held, found, strict=True):
        yield SetEffect(tuple(parts), players, Z, np.flatnonzero(np.isin(owner, players)))


def _term_means(term: TermParts, touched: list[Any], Z: np.ndarray) -> list[np.ndarray | None]:
    """Return for every set the mean right sides times the factors that it does not touch; None where it must do
    without."""
    sums: list[Any] = [0.0] * len(touched)
    sizes = [p.state_size for factor in term.factors for p in factor.pieces if p.exact_without_players]
    for block in blocks(len(Z), BLOCK // max(1, sum(sizes))):
        rows = Z[block]
        whole = {id(factor): factor.values(rows) for factor in term.factors}
        sides = {id(factor): _RightSides(factor, rows) for factor in term.factors}
        for k, parts in enumerate(touched):
            if parts is None:
                continue
            inside = {id(factor) for factor, _ in parts}
            others = [whole[id(factor)] for factor in term.factors if id(factor) not in inside]
            rest = np.prod(others, axis=0) if others else None
            rights = [sides[id(factor)].without(local) for factor, local in parts]
            if rest is not None:
                rights = [rest, *rights] if not rights else [rights[0] * rest[:, :, None], *rights[1:]]
            letters = {1: "nr->r" if not parts else "nrc->rc", 2: "nrc,nrd->rcd"}[max(1, len(parts))]
            sums[k] = sums[k] + np.einsum(letters, *rights) / len(Z)
    return [None if parts is None else total for parts, total in zip(touched, sums, strict=True)]


def _touched(term: TermParts, players: np.ndarray) -> tuple[tuple[Factor, np.ndarray], ...] | None:
    """Return the factors that read some of the players, with these players' places; None if they do not split."""
    found = []
    for factor in term.factors:
        local = np.flatnonzero(np.isin(factor.players, players))
        if len(local):
            if not all(piece.exact_without_players for piece in factor.pieces):
                return None
            found.append((factor, local))
    return tuple(found) if len(found) <= 2 else None


def _left_sides(factor: Factor, local: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return left_c at rows ``points``, (g, R, c)."""
    sides = [piece.left(piece.of_players(local).summands(points).sum(axis=0)) for piece in factor.pieces]
    return np.concatenate(sides, axis=2)


class _RightSides:
    """right_c of a factor at some rows, for any set of players."""

    def __init__(self, factor: Factor, Z: np.ndarray) -> None:
        self.pieces = factor.pieces
        self.parts = [piece.summands(Z) for piece in factor.pieces if piece.exact_without_players]
        self.totals = [part.sum(axis=0) for part in self.parts]

    def without(self, local: np.ndarray) -> np.ndarray:
        """Return right_c for the players at ``local`` taken out, (n, R, c)."""
        sides = []
        for piece, part, total in zip(self.pieces, self.parts, self.totals, strict=True):
            # A sum of few exponents is taken anew: the difference of two large ones has no digits left.
            many = len(local) > 0.5 * len(part)
            rest = np.delete(part, local, axis=0).sum(axis=0) if many else total - part[local].sum(axis=0)
            sides.append(piece.right(rest))
        return np.concatenate(sides, axis=2)


def _rows_at(model: FittedModel, Z: np.ndarray, columns: Sequence[int], points: np.ndarray) -> np.ndarray:
    """Return rows on the scale of the model with the user's columns at ``points``; the other columns mean nothing."""
    rows = np.repeat(Z[:1], len(points), axis=0)
    for k, column in enumerate(columns):
        place = np.flatnonzero(np.asarray(model.features) == column)
        if len(place):
            center, scale, least, most = units_of(model, place[0])
            rows[:, place[0]] = np.clip((points[:, k] - center) / scale, least, most)
    return rows


def _centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=0)
