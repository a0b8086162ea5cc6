"""Columns of a table that determine each other: a change of one alone is a sample that cannot occur."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm._cells import cell_list, is_missing, level_text
from spkm.tables.columns import to_numbers

MOST_DISTINCT = 100  # values of columns that are compared value by value
EACH = 10  # samples for each distinct value, at least, or values on a line, so that a match is no chance
MOST_COLUMNS = 1000  # of a table that is looked through
STRAIGHT = 1e-9  # largest residual of columns on a line, over their size


@dataclass(frozen=True)
class Link:
    """Columns that determine each other in all samples.

    Attributes
    ----------
    columns : tuple of str
        Their names.
    rows : tuple of tuples
        The combinations of their values that occur; empty for columns of numbers on a line.
    slopes : tuple of float
        The change of each column when the first changes by 1, for columns on a line; else empty.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...] = ()
    slopes: tuple[float, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """Return the link as lists, for a file."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows], "slopes": list(self.slopes)}

    @staticmethod
    def from_plain(plain: dict[str, Any]) -> Link:
        """Return the link that :meth:`to_plain` wrote."""
        return Link(tuple(plain["columns"]), tuple(tuple(row) for row in plain["rows"]), tuple(plain["slopes"]))


def whole_columns(columns: Mapping[str, np.ndarray]) -> list[str]:
    """Return the names of the columns of numbers that are all whole, but for missing ones."""
    found = []
    for name, values in columns.items():
        numbers = to_numbers(values, name)
        present = numbers[~np.isnan(numbers)]
        if len(present) and np.array_equal(present, np.rint(present)):
            found.append(name)
    return found


def links_of(columns: Mapping[str, np.ndarray]) -> list[Link]:
    """Return the links of a table, given its columns of numbers, truths or objects by name.

    Columns of few values are linked if each value of one stands beside one value of the other; columns of numbers of
    more values, or of fewer samples, if they lie on a line. Missing values are a value of their own.
    """
    if len(columns) > MOST_COLUMNS:
        return []
    few: dict[bytes, list[tuple[str, np.ndarray]]] = {}
    many: dict[bytes, list[tuple[str, np.ndarray]]] = {}
    for name, values in columns.items():
        codes, count = _codes(values)
        if 2 <= count <= MOST_DISTINCT and EACH * count <= len(codes):
            few.setdefault(_by_first(codes).tobytes(), []).append((name, values))
        elif values.dtype.kind in "iuf" and count >= EACH and np.isfinite(values).all():
            ranks = codes if 2 * codes[0] < count - 1 else count - 1 - codes  # the order of a falling line, turned
            many.setdefault(ranks.tobytes(), []).append((name, np.asarray(values, dtype=np.float64)))
    found = [_by_value(group) for group in few.values() if len(group) > 1]
    return found + [link for group in many.values() if len(group) > 1 for link in _on_lines(group)]


def _codes(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a number for every value, in rising order for numbers, and how many there are."""
    if values.dtype.kind in "iufb":
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.reshape(-1).astype(np.int64), len(distinct)
    places: dict[Any, int] = {}
    codes = np.array([places.setdefault(_key(cell), len(places)) for cell in cell_list(values)], dtype=np.int64)
    return codes, len(places)


def _key(cell: object) -> Any:
    return None if is_missing(cell) else level_text(cell)


def _by_first(codes: np.ndarray) -> np.ndarray:
    """Return codes renumbered by their first occurrence: equal for columns that determine each other."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.reshape(-1)]


def _by_value(group: list[tuple[str, np.ndarray]]) -> Link:
    codes, _ = _codes(group[0][1])
    _, first = np.unique(codes, return_index=True)
    rows = tuple(tuple(_plain(values[i]) for _, values in group) for i in first)
    present = tuple(row for row in rows if not any(cell is None for cell in row))
    return Link(tuple(name for name, _ in group), present)


def _plain(cell: object) -> Any:
    """Return a cell as a number, a truth or text; None if it is missing."""
    if is_missing(cell):
        return None
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return cell if isinstance(cell, bool | int | float | str) else level_text(cell)


def _on_lines(group: list[tuple[str, np.ndarray]]) -> list[Link]:
    """Return the links of columns of the same order that lie on a line with one another."""
    found: list[Link] = []
    while len(group) > 1:
        (name, first), *others = group
        low, high = int(np.argmin(first)), int(np.argmax(first))
        slopes = {name: 1.0}
        for other, values in others:
            slope = (values[high] - values[low]) / (first[high] - first[low])
            residual = np.abs(values - values[low] - slope * (first - first[low])).max()
            if residual <= STRAIGHT * np.abs(values - values[low]).max() + 4e-16 * np.abs(values).max():
                slopes[other] = float(slope)
        if len(slopes) > 1:
            found.append(Link(tuple(slopes), slopes=tuple(slopes.values())))
        group = [one for one in others if one[0] not in slopes]
    return found
