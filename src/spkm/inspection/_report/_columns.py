"""The columns of a table as a page takes them: numbers by a slider, categories by a list of their levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spkm.explain._structure import players_of
from spkm.inspection._reading import Reading
from spkm.tables.links import Link, links_of

NONE_OF_THEM = "another level"


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
