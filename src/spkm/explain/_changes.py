"""Possible changes of a sample: numbers, whole numbers, categories, columns that determine each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.explain._bounds import Axis
from spkm.explain._structure import Structure, players_of, structure_of
from spkm.explain._table import Pipeline, columns_of, dense_columns, units_of
from spkm.tables.encoded import Encoding
from spkm.tables.links import MOST_COLUMNS, Link, links_of, whole_columns

MOST_ROWS = 1000  # combinations of columns that are named as linked


@dataclass(frozen=True)
class Changes:
    """The rules by which the features of a sample change."""

    parts: dict[str, np.ndarray]  # columns of the user's table: a category is its dummies, a number itself and its gap
    categories: set[str]  # parts of several columns of which one is 1
    links: list[Link]  # parts that change together; rows hold, for each part, the values of its columns
    whole: set[int]  # columns that take whole numbers only
    frozen: set[int]  # columns that must stay
    gaps: set[int]  # indicators of missing values
    limits: dict[int, tuple[float, float]]  # ranges of the columns
    truths: set[int]  # columns of truth values, a part of ``whole``

    def players(self, links: Sequence[Link]) -> dict[str, np.ndarray]:
        """Return the groups of columns that are one player: categories, and links of several parts."""
        linked = {title for link in links for title in link.columns}
        groups = {title: self.parts[title] for title in self.categories - linked}
        joined = {_joined(link): np.concatenate([self.parts[t] for t in link.columns]) for link in links}
        return {**groups, **joined}

    def structured(self, model: FittedModel, names: tuple[str, ...]) -> tuple[Structure, list[Link]]:
        """Return the model by players, and the links among them; where bounds need them apart, links are frozen."""
        structure = structure_of(model, names, self.players(self.links))
        if not self.links or all(p.exact_without_players for p in _pieces(structure)):
            return structure, self.links
        for link in self.links:
            self.frozen.update(int(c) for title in link.columns for c in self.parts[title])
        return structure_of(model, names, self.players([])), []


def changes_of(
    pipeline: Pipeline,
    models: Sequence[FittedModel],
    row: np.ndarray,
    ranges: Any,
    *,
    frozen: Any = (),
    integers: Any = None,
    groups: Mapping[str, Any] | None = None,
    linked: Any = None,
) -> Changes:
    """Return the rules for a sample, from an encoder, a table of samples and what was named.

    Parameters
    ----------
    pipeline : Pipeline
        The estimator taken apart.
    models : sequence of FittedModel
        Its model, and others of the same columns.
    row : ndarray of shape (1, d)
        The sample, as the model's columns.
    ranges, frozen, integers, groups, linked
        As in :func:`spkm.explain.counterfactual`.
    """
    names, encoding = pipeline.names, pipeline.encoding if groups is None else None
    table = None if ranges is None or isinstance(ranges, Mapping) else pipeline.rows(ranges, "ranges")
    if encoding is None:
        parts, links, whole = _of_table(dict(zip(*players_of(names, groups), strict=True)), table, models)
    else:
        parts, links, whole = _of_encoder(encoding, None if pipeline.before is None or table is None else ranges)
    origins = () if encoding is None else encoding.origins
    gaps, truths = ({j for j, o in enumerate(origins) if o.kind == kind} for kind in ("missing", "boolean"))
    if integers is not None:
        whole = set(columns_of(integers, names, "integers").tolist())
    limits = _named_limits(ranges or {}, names) if table is None else _limits(table, models)
    links = links if linked is None else _named_links(linked, links, parts, table)
    still: set[int] = set()
    for one in [frozen] if isinstance(frozen, str) else frozen:
        titled = isinstance(one, str) and one in parts
        still |= {int(c) for c in (parts[one] if titled else columns_of([one], names, "frozen"))}
    for columns in parts.values():  # what is missing stays so
        if np.any(row[0, [c for c in columns if c in gaps]]):
            still |= {int(c) for c in columns}
    several = {title for title, columns in parts.items() if len(columns) > 1}
    if encoding is not None:
        several = {title for title in several if encoding.kind(title) == "category"}
    limits = dict.fromkeys(truths, (0.0, 1.0)) | limits
    return Changes(parts, several, links, whole | truths, still, gaps, limits, truths)


def axes_of(
    changes: Changes, model: FittedModel, structure: Structure, links: list[Link], row: np.ndarray
) -> list[Axis]:
    """Return what may change, an axis for each player."""
    by_title = {_joined(link): link for link in links}
    axes = []
    for player in structure.read:
        columns, title = structure.columns[player], structure.names[player]
        link = by_title.get(title)
        present = set(columns.tolist()) - changes.gaps
        if changes.frozen & present or not present:
            continue
        if link is not None:
            axis = _linked_axis(changes, model, int(player), link, row)
        elif title in changes.categories:
            values = np.eye(len(columns))[[c in present for c in columns.tolist()]]
            axis = _listed(model, int(player), columns, values, row)
        else:
            axis = _number(changes, model, int(player), int(columns[0]), row, title)
        if axis is not None:
            axes.append(axis)
    return axes


def _of_encoder(encoding: Encoding, raw: Any) -> tuple[dict[str, np.ndarray], list[Link], set[int]]:
    """Return parts, links and whole columns, as an encoder has them, and a table as it takes it."""
    parts = encoding.column_groups()
    seen = list(encoding.links)
    taken = {title for link in seen for title in link.columns}
    seen += [link for link in ([] if raw is None else encoding.links_in(raw)) if not taken & set(link.columns)]
    found = [_encoded_link(link, encoding) for link in seen if set(link.columns) <= set(parts)]
    numbers = {t: int(c[0]) for t, c in parts.items() if encoding.kind(t) == "number"}
    whole = {numbers[title] for title in encoding.encoder.whole_ if title in numbers}
    return parts, [link for link in found if link is not None], whole


def _of_table(
    parts: dict[str, np.ndarray], table: Any, models: Sequence[FittedModel]
) -> tuple[dict[str, np.ndarray], list[Link], set[int]]:
    """Return parts, and the links and whole columns of a table as the model gets it."""
    if table is None:
        return parts, [], set()
    read = set(np.arange(table.shape[1]).tolist())
    if not isinstance(table, np.ndarray) or table.shape[1] > MOST_COLUMNS:  # sparse or wide: what is read
        read = {int(c) for model in models for c in model.features_read()}
    values = {title: dense_columns(table, c) for title, c in parts.items() if read & set(c.tolist())}
    coded = {title: v[:, 0] if v.shape[1] == 1 else np.argmax(v, axis=1) for title, v in values.items()}
    links = []
    for link in links_of(coded):
        rows = tuple(
            tuple((cell,) if len(parts[t]) == 1 else tuple(np.eye(len(parts[t]))[int(cell)]) for cell, t in pairs)
            for pairs in (zip(row, link.columns, strict=True) for row in link.rows)
        )
        links.append(Link(link.columns, rows, link.slopes if all(len(parts[t]) == 1 for t in link.columns) else ()))
    single = {title: v[:, 0] for title, v in values.items() if v.shape[1] == 1}
    return parts, links, {int(parts[title][0]) for title in whole_columns(single)}


def _encoded_link(link: Link, encoding: Encoding) -> Link | None:
    """Return a link of an encoder's columns with the values that these become."""
    if link.slopes:
        return link
    cells = zip(*link.rows, strict=True)
    columns = [encoding.encoded(title, list(values)) for title, values in zip(link.columns, cells, strict=True)]
    rows = tuple(tuple(tuple(part[i]) for part in columns) for i in range(len(link.rows)))
    return Link(link.columns, rows) if rows else None


def _named_links(linked: Any, known: list[Link], parts: dict[str, np.ndarray], table: Any) -> list[Link]:
    """Return links that were named: with what is known of them, the combinations of the samples, or nothing."""
    found = []
    for one in linked:
        titles = tuple(str(title) for title in one)
        unknown = [title for title in titles if title not in parts]
        if unknown or len(set(titles)) < max(2, len(titles)):
            raise ValueError(
                f"linked must hold lists of two or more different columns of X; got {one!r}. The first columns are "
                f"{list(parts)[:5]}."
            )
        same = [link for link in known if set(titles) <= set(link.columns)]
        if same:
            found.append(same[0])
            continue
        rows: tuple[Any, ...] = ()
        if table is not None:
            blocks = [dense_columns(table, parts[title]) for title in titles]
            seen = np.unique(np.hstack(blocks), axis=0)
            if len(seen) <= MOST_ROWS:
                ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
                rows = tuple(tuple(tuple(part) for part in np.split(row, ends)) for row in seen)
        found.append(Link(titles, rows))
    return found


def _linked_axis(changes: Changes, model: FittedModel, player: int, link: Link, row: np.ndarray) -> Axis | None:
    columns = np.concatenate([changes.parts[title] for title in link.columns])
    if link.slopes:
        return _line(changes, model, player, link, row)
    if not link.rows:
        return None  # nothing is known of what goes together: not at all
    values = np.array([[number for part in combination for number in part] for combination in link.rows])
    order = np.argsort(columns, kind="stable")  # as the player has them
    columns, values = columns[order], np.unique(values[:, order], axis=0)
    inside = np.ones(len(values), dtype=bool)
    for k, column in enumerate(columns):
        low, high = changes.limits.get(int(column), (-np.inf, np.inf))
        inside &= (values[:, k] >= low) & (values[:, k] <= high)
    return _listed(model, player, columns, values[inside], row)


def _line(changes: Changes, model: FittedModel, player: int, link: Link, row: np.ndarray) -> Axis | None:
    """Return the axis of numbers that move along a line through the sample."""
    columns = np.array([int(changes.parts[title][0]) for title in link.columns])
    held = np.isin(columns, model.features)
    places = np.searchsorted(model.features, columns[held])
    slopes = np.array(link.slopes)
    center, scale, least, most = units_of(model, places)
    direction = slopes[held] / scale
    unit = float(np.linalg.norm(direction))
    low, high = -np.inf, np.inf
    for column, slope in zip(columns, slopes, strict=True):
        ends = changes.limits.get(int(column))
        if ends is None and column in model.features:
            c, s, a, b = units_of(model, np.searchsorted(model.features, column))
            ends = (c + a * s, c + b * s)
        if ends is not None:
            reach = sorted((end - row[0, column]) / slope * unit for end in ends)
            low, high = max(low, reach[0]), min(high, reach[1])
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"ranges must hold finite limits for {link.columns[0]!r}, which the model does not clip.")
    if low > high:
        return None
    whole = [abs(slope) for column, slope in zip(columns, slopes, strict=True) if int(column) in changes.whole]
    start = (row[0, columns[held]] - center) / scale
    step = unit / min(whole) if whole else 0.0
    return Axis(
        *(player, places, 0.0, low, high, least, most),
        step=step,
        origin=start,
        slopes=direction / unit,
        users=columns,
        rates=slopes / unit,
    )


def _number(changes: Changes, model: FittedModel, player: int, column: int, row: np.ndarray, name: str) -> Axis | None:
    place = int(np.searchsorted(model.features, column))
    center, scale, least, most = units_of(model, place)
    low, high = changes.limits.get(column, (center + least * scale, center + most * scale))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"ranges must hold finite limits for {name!r}, which the model does not clip.")
    start, ends = (row[0, column] - center) / scale, ((low - center) / scale, (high - center) / scale)
    own, rate = np.array([column]), np.array([scale])
    axis = Axis(player, np.array([place]), start, *ends, least, most, users=own, rates=rate)
    if column not in changes.whole:
        return axis
    return replace(axis, step=1 / scale, anchor=-center / scale) if np.floor(high) >= np.ceil(low) else None


def _listed(model: FittedModel, player: int, columns: np.ndarray, values: np.ndarray, row: np.ndarray) -> Axis | None:
    """Return the axis of a list of values of some columns, but for those of the sample."""
    values = values[np.any(values != row[0, columns], axis=1)]
    if len(values) == 0:
        return None
    held = np.isin(columns, model.features)
    places = np.searchsorted(model.features, columns[held])
    center, scale, least, most = units_of(model, places)
    scaled = (values[:, held] - center) / scale
    costs = np.sqrt(((scaled - (row[0, columns[held]] - center) / scale) ** 2).sum(axis=1))
    return Axis(player, places, options=np.clip(scaled, least, most), values=values, costs=costs, users=columns)


def _named_limits(ranges: Mapping[Any, Any], names: tuple[str, ...]) -> dict[int, tuple[float, float]]:
    """Return the limits of the columns that have some."""
    limits = {}
    for key, pair in ranges.items():
        (column,) = columns_of(key, names, "ranges")
        low, high = (float(v) for v in pair)
        if not low <= high:
            raise ValueError(f"ranges[{key!r}] must be (low, high) with low <= high; got {pair!r}.")
        limits[int(column)] = (low, high)
    return limits


def _limits(table: Any, models: Sequence[FittedModel]) -> dict[int, tuple[float, float]]:
    """Return the least and the largest value of each of the models' columns."""
    held = np.unique(np.concatenate([model.features for model in models]))
    values = dense_columns(table, held)
    return {int(c): (float(v.min()), float(v.max())) for c, v in zip(held, values.T, strict=True)}


def _joined(link: Link) -> str:
    return " and ".join(link.columns)


def _pieces(structure: Structure) -> list[Any]:
    return [piece for term in structure.terms for factor in term.factors for piece in factor.pieces]
