"""Features that a model reads, with ranges, and columns of its table: numbers, and categories with their levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.explain import gradient
from spkm.explain._structure import players_of
from spkm.inspection._reading import Reading
from spkm.inspection._report._axis import axis_facts, in_columns
from spkm.inspection._report._importance_facts import importance_facts
from spkm.inspection._report._samples import Samples, dense_rows, rounded
from spkm.tables.links import Link, links_of

NONE_OF_THEM = "another level"
MOST = 1000  # features in the file; of more those with the steepest slopes
MOST_OF_PAIRS = 200  # of both sides; of wider tables the page speaks of entities, and of no feature
ROWS = 20  # samples that slopes are taken at


def column_facts(
    reading: Reading,
    listed: np.ndarray,
    groups: Mapping[str, Any] | None,
    samples: np.ndarray,
    units: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return the columns that the model reads, each with its features among those that are in the file.

    ``options`` of a category are its levels, as pairs of a name and the values of its features; a number has none.
    ``missing`` of a number that may be missing is what its feature is then, beside an indicator that is 1. ``linked``
    columns determine one another: a page proposes no change of one alone.

    Parameters
    ----------
    reading : Reading
        The estimator.
    groups : dict from a name to columns, or None
        Columns of which exactly one is 1. A :class:`~spkm.TableEncoder` brings its own.
    listed : ndarray of int
        Features that are in the file.
    samples : ndarray of shape (n, features that are in the file)
        Samples, to check the groups.
    units : dict from a column to its unit
        Units.
    """
    place = {int(c): k for k, c in enumerate(listed)}
    encoding = reading.pipeline.encoding
    known: dict[str, np.ndarray] = {} if encoding is None else encoding.column_groups()
    if known and groups is not None:
        raise ValueError("categories must be None after a TableEncoder, which has the columns of its categories.")
    titles, members = players_of(reading.names, known or groups)
    unknown = [name for name in units if name not in reading.names and name not in titles]
    if unknown:
        raise ValueError(f"units must be a dict from columns of X to their units; got {unknown[:5]}, no columns of X.")
    links = {title for link in _links(reading, titles, members, place, samples) for title in link.columns}
    found = []
    for title, columns in zip(titles, members, strict=True):
        read = [int(c) for c in columns if int(c) in place]
        if not read:
            continue
        fact: dict[str, Any] = {"name": title, "features": [place[c] for c in read], "options": None, "missing": None}
        fact["linked"] = title in links
        fact["unit"] = units.get(title, "")
        if encoding is not None:
            fact.update(_control(encoding.plan(title), encoding.places(title), read))
        elif groups is not None and title in groups:
            _check_one_hot(title, samples[:, fact["features"]])
            labels = [_label(reading.names[int(c)], title) for c in columns]
            fact["options"] = _levels(labels, [int(c) for c in columns], read)
        found.append(fact)
    return found


def link_facts(
    reading: Reading,
    listed: np.ndarray,
    columns: list[dict[str, Any]],
    samples: np.ndarray,
    shown: np.ndarray,
    ship: bool,
) -> list[dict[str, Any]]:
    """Return what goes together in columns that determine one another: a page changes these together, or not at all.

    A link has ``columns``, places among those of :func:`column_facts`, and either ``values``, the combinations of
    their features that occur, or ``slopes`` of columns of numbers on a line. Combinations of samples that must not be
    shown are left out.
    """
    place = {int(c): k for k, c in enumerate(listed)}
    encoding = reading.pipeline.encoding
    if encoding is None and not ship:
        return []
    at = {column["name"]: k for k, column in enumerate(columns)}
    members = [[int(listed[k]) for k in column["features"]] for column in columns]
    found = []
    for link in _links(reading, list(at), members, place, samples):
        kept = [k for k, title in enumerate(link.columns) if title in at]
        places = [at[link.columns[k]] for k in kept]
        if link.slopes:
            slopes = [link.slopes[k] / link.slopes[kept[0]] for k in kept] if kept else []
            found.append({"columns": places, "values": None, "slopes": slopes})
        elif kept:
            if encoding is None:
                values = shown[:, [column for k in places for column in columns[k]["features"]]]
            else:
                titles = [link.columns[k] for k in kept]
                values = _values(encoding, titles, [[row[k] for k in kept] for row in link.rows], place)
            values = np.unique(values, axis=0)
            found.append({"columns": places, "values": values.tolist(), "slopes": None})
    return [fact for fact in found if fact["columns"]]


def _values(encoding: Any, titles: list[str], rows: list[list[Any]], place: dict[int, int]) -> np.ndarray:
    """Return the features that are read of combinations of cells of some columns."""
    parts = []
    for title, cells in zip(titles, zip(*rows, strict=True), strict=True):
        read = [c in place for c in encoding.places(title) if c >= 0]
        parts.append(encoding.encoded(title, list(cells))[:, read])
    return np.hstack(parts)


def _links(reading: Reading, titles: Any, members: Any, place: dict[int, int], samples: np.ndarray) -> list[Link]:
    """Return what goes together in columns that determine others: as an encoder found it, or as the samples have it."""
    encoding = reading.pipeline.encoding
    if encoding is not None:
        return list(encoding.links)
    alone = [(title, int(c[0])) for title, c in zip(titles, members, strict=True) if len(c) == 1]
    single = {title: samples[:, place[c]] for title, c in alone if c in place}
    return links_of(single)


def usual_row(medians: np.ndarray, columns: list[dict[str, Any]], samples: np.ndarray) -> np.ndarray:
    """Return the median of every number and the most frequent level of every category, by feature that is read."""
    result = medians.astype(float)
    for column in columns:
        if column["options"] is not None:
            places = column["features"]
            counts = [int((samples[:, places] == values).all(axis=1).sum()) for _, values in column["options"]]
            result[places] = column["options"][int(np.argmax(counts))][1]
    return result


def _control(plan: Any, columns: list[int], read: list[int]) -> dict[str, Any]:
    """Return options and the value of missing numbers of a column that an encoder made."""
    kinds = [origin.kind for origin in plan.origins()]
    if plan.kind == "category":
        special = {"other": "(other)", "missing": "(missing)"}
        labels = [special.get(origin.kind, origin.level) for origin in plan.origins()]
        return {"options": _levels(labels, columns, read)}
    is_read = dict(zip(kinds, [c in read for c in columns], strict=True))
    value, missing = is_read.get(plan.kind, False), is_read.get("missing", False)
    if plan.kind == "number" and value:
        return {"missing": plan.fill if missing else None}
    options = [["False", [0.0]], ["True", [1.0]]] if value else [["(known)", []]]
    if missing:
        options = [[label, [*values, 0.0]] for label, values in options]
        options.append(["(missing)", [float(plan.fill), 1.0] if value else [1.0]])
    return {"options": options}


def _levels(labels: list[str], columns: list[int], read: list[int]) -> list[list[Any]]:
    """Return the levels whose columns are read, and what stands for all others."""
    kept = [label for label, c in zip(labels, columns, strict=True) if c in read]
    others = [label for label, c in zip(labels, columns, strict=True) if c not in read]
    options = [[label, row] for label, row in zip(kept, np.eye(len(kept)).tolist(), strict=True)]
    if others:
        options.append([others[0] if len(others) == 1 else NONE_OF_THEM, [0.0] * len(kept)])
    return options


def _label(name: str, title: str) -> str:
    """Return the level that a column of a group stands for."""
    for mark in (f"{title} = ", f"{title}_", f"{title}="):
        if name.startswith(mark) and len(name) > len(mark):
            return name[len(mark) :]
    return name


def _check_one_hot(title: str, values: np.ndarray) -> None:
    if not (np.isin(values, (0.0, 1.0)).all() and (values.sum(axis=1) <= 1).all()):
        raise ValueError(f"groups[{title!r}] must be columns of which one is 1 and the others are 0 in every sample.")


@dataclass(frozen=True)
class Told:
    """Facts of a report about features.

    Attributes
    ----------
    features, columns, axis : dict, list of dict, dict or None
        Facts of the features, of the columns of the user's table, and of the axis.
    listed : ndarray of int
        The features in the file.
    middle : ndarray
        The usual row, by feature that is read.
    links : list of dict
        Columns that go together.
    """

    features: dict[str, Any]
    columns: list[dict[str, Any]]
    axis: dict[str, Any] | None
    listed: np.ndarray
    middle: np.ndarray
    links: list[dict[str, Any]]

    def shown(self) -> dict[str, Any]:
        """Return what goes into the file: on an axis short forms, as there are no facts of single features."""
        features, columns = self.features, self.columns
        if self.axis is None:
            return {"features": features, "columns": columns, "axis": None}
        return {"features": features | {"read": in_columns(features["read"])}, "columns": None, "axis": self.axis}


def told_of_features(
    samples: Samples, axis: Any, categories: Any, units: dict[str, str], stability: Any, ship: bool
) -> Told:
    """Return facts of what the model reads, of columns with their importance, and the usual row."""
    reading = samples.reading
    listed = _listed_features(reading, samples.sampled)
    shown, rows = (part[:, np.searchsorted(reading.read, listed)] for part in (samples.shown, samples.rows))
    features: dict[str, Any] = _facts_of(reading, listed, samples.source, units, ship)
    columns = column_facts(reading, listed, categories, rows, units)
    links = link_facts(reading, listed, columns, rows, shown, ship)
    middle = usual_row(np.array([feature["median"] for feature in features["read"]]), columns, shown)
    features |= importance_facts(reading, columns, features["read"], middle, samples.sampled, stability, axis is None)
    curves = None if axis is None else axis_facts(reading, axis, columns, samples.source, samples.sampled)
    return Told(features, columns, curves, listed, middle, links)


def _listed_features(reading: Reading, sampled: np.ndarray) -> np.ndarray:
    """Return the features of a file, in rising order: all that are read, or those that matter most."""
    read = reading.read
    if reading.is_pairs:
        return read if len(read) <= MOST_OF_PAIRS else read[:0]
    if len(read) <= MOST:
        return read
    some = sampled[:: max(1, len(sampled) // ROWS)]
    size = np.abs(gradient(reading.model, some)).mean(axis=(0, 2)) * sampled.std(axis=0)
    return np.sort(read[np.argsort(-size[read], kind="stable")[:MOST]])


def _facts_of(reading: Reading, read: np.ndarray, table: Any, units: dict[str, str], ship: bool) -> dict[str, Any]:
    """Return the features of a file, in the order of the table, and how many it leaves out.

    Ranges are those of ``table``; in a file without rows they go from the 1st to the 99th percentile.
    """
    rows = np.arange(0, table.shape[0], max(1, table.shape[0] // 20_000))
    values = dense_rows(table, rows, read)
    ends = np.zeros((3, 0)) if len(read) == 0 else np.percentile(values, [0, 50, 100] if ship else [1, 50, 99], axis=0)
    found = [
        {
            "name": reading.names[c],
            "unit": units.get(reading.names[c], ""),
            "column": int(c),
            "low": rounded(ends[0, k], 6),
            "median": rounded(ends[1, k], 6),
            "high": rounded(ends[2, k], 6),
            "sd": rounded(values[:, k].std(), 5),
            "whole": bool(np.all(values[:, k] == np.rint(values[:, k]))),
        }
        for k, c in enumerate(read)
    ]
    return {
        "read": found,
        "n_unread": len(reading.names) - len(reading.read),
        "left_out": len(reading.read) - len(found),
    }
