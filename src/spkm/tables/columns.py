"""How one column of a mixed table becomes columns of numbers. A plan is plain data: it can be written to a file."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import date, time, timedelta
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from spkm._cells import cell_list, cell_number, is_missing, level_places, level_text

DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?!\d)|\d\d?([./])\d\d?\1\d{2,4}(?!\d)")
PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
MARKED = re.compile(r"[-+]?[^\w\s]{0,3} ?\d{1,3}([,.' ]?\d{3})*([.,]\d+)? ?[^\w\s]{0,3}")
PLAIN_NUMBERS = "Write them as plain numbers, 1234.5, to use them."
DATES_AS_NUMBERS = "Turn them into numbers first (days since a date, a month, a day of the week)."


class FeatureOrigin(NamedTuple):
    """Origin of a column of numbers.

    Attributes
    ----------
    column : str
        Name of the column of the table.
    kind : {"number", "boolean", "level", "other", "missing"}
        The value itself; whether it is true; whether it is one level; whether it is one of the rare levels that were
        pooled; whether it is missing.
    level : str or None
        The level, of the kind "level".
    """

    column: str
    kind: str
    level: str | None = None

    @property
    def name(self) -> str:
        """Readable name: ``age``, ``workclass = Private``, ``workclass is missing``."""
        if self.kind == "number":
            return self.column
        if self.kind == "missing":
            return f"{self.column} is missing"
        return f"{self.column} = {({'boolean': 'True', 'other': '(other)'}).get(self.kind, self.level)}"


@dataclass(frozen=True)
class NumberPlan:
    """A column of numbers or booleans: its values, and whether they are missing.

    Attributes
    ----------
    column : str
        Its name.
    fill : float
        Substitute for missing values: the median.
    value, missing : bool
        Whether the values, and the indicator of missing ones, are kept.
    boolean : bool
        Whether it holds truths.
    """

    column: str
    fill: float
    value: bool = True
    missing: bool = False
    boolean: bool = False

    @property
    def kind(self) -> str:
        """Readable name of the kind."""
        return "boolean" if self.boolean else "number"

    def origins(self) -> list[FeatureOrigin]:
        """Return where the columns of its output come from."""
        found = [FeatureOrigin(self.column, self.kind)] if self.value else []
        return found + [FeatureOrigin(self.column, "missing")] * self.missing

    def write(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write the output for the values into an array of zeros, (n, number of origins)."""
        numbers = to_numbers(values, self.column, self.boolean)
        absent = np.isnan(numbers)
        if self.value:
            out[:, 0] = np.where(absent, self.fill, numbers)
        if self.missing:
            out[:, -1] = absent

    def csr(self, values: np.ndarray) -> Any:
        """Return the output for the values as a CSR matrix."""
        out = np.zeros((len(values), len(self.origins())))
        self.write(values, out)
        return sparse.csr_array(out)


@dataclass(frozen=True)
class LevelPlan:
    """A column of categories: one column for each frequent level.

    Attributes
    ----------
    column : str
        Its name.
    levels : tuple of str
        The frequent levels.
    other, missing : bool
        Whether there is a column for rare and unknown levels, and one for missing values. If there is none, such
        values are zeros in all columns.
    """

    column: str
    levels: tuple[str, ...]
    other: bool = False
    missing: bool = False
    kind = "category"

    def origins(self) -> list[FeatureOrigin]:
        """Return where the columns of its output come from."""
        found = [FeatureOrigin(self.column, "level", level) for level in self.levels]
        found += [FeatureOrigin(self.column, "other")] * self.other
        return found + [FeatureOrigin(self.column, "missing")] * self.missing

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return which output column is one, for every value; -1 for none."""
        places = level_places(self.levels)
        n_levels = len(self.levels)
        for_other = n_levels if self.other else -1
        for_missing = n_levels + self.other if self.missing else -1
        codes = np.empty(len(values), dtype=np.intp)
        for i, value in enumerate(cell_list(values)):
            if is_missing(value):
                codes[i] = for_missing
            else:  # not by the value itself: False, 0 and 0.0 are one key of a dict
                codes[i] = places.get(level_text(value), for_other)
        return codes

    def write(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write the output for the values into an array of zeros, (n, number of origins)."""
        self.write_codes(self.codes(values), out)

    def write_codes(self, codes: np.ndarray, out: np.ndarray) -> None:
        """Write ones at the places that :meth:`codes` returned."""
        rows = np.flatnonzero(codes >= 0)
        out[rows, codes[rows]] = 1.0

    def csr(self, values: np.ndarray) -> Any:
        """Return the output for the values as a CSR matrix."""
        codes = self.codes(values)
        inside = codes >= 0
        starts = np.concatenate([[0], np.cumsum(inside)])
        return sparse.csr_array(
            (np.ones(starts[-1]), codes[inside], starts),
            shape=(len(values), len(self.levels) + self.other + self.missing),
        )


Plan = NumberPlan | LevelPlan


def plan_of(column: str, values: np.ndarray, as_category: bool, least: int, most: int) -> tuple[Plan | None, str]:
    """Return how a column is encoded, or None, and the note on it.

    Parameters
    ----------
    column : str
        Its name.
    values : ndarray of shape (n,)
        Values of the column: numbers, booleans or objects.
    as_category : bool
        Whether numbers and booleans are levels, too.
    least : int
        Fewest samples of a level that has a column of its own.
    most : int
        Most levels with a column of their own.
    """
    kind = "category" if as_category else kind_of(column, values)
    if kind == "category":
        counts, absent = _counted(values)
        return level_plan(column, counts, absent, least, most)
    numbers = to_numbers(values, column, kind == "boolean")
    present = numbers[~np.isnan(numbers)]
    if len(present) == 0:
        return number_plan(column, kind, len(numbers), np.nan, np.nan, np.nan)
    return number_plan(
        column, kind, len(numbers) - len(present), present.min(), present.max(), float(np.median(present))
    )


def number_plan(column: str, kind: str, absent: int, low: float, high: float, median: float) -> tuple[Plan | None, str]:
    """Return how numbers or booleans are encoded, or None, and the note; NaN if all are missing."""
    if np.isnan(median):
        return None, f"column {column!r} is missing in all samples: dropped."
    varies = bool(low != high)
    if not varies and not absent:
        return None, f"column {column!r} is {low:g} in all samples: dropped."
    known = str(bool(round(median))).lower() if kind == "boolean" else f"{median:g}"
    note = (
        f"column {column!r}: {absent} missing value{'s' * (absent != 1)} became the median, {known}; a further feature "
        f"marks {'them' if absent != 1 else 'it'}."
    )
    plan = NumberPlan(column, round(median) if kind == "boolean" else median, varies, absent > 0, kind == "boolean")
    return plan, note if absent else ""


def _counted(values: np.ndarray) -> tuple[dict[str, int], int]:
    """Return how often each level is there, and how many values are missing."""
    counts: dict[str, int] = {}
    absent = 0
    for value in cell_list(values):
        if is_missing(value):
            absent += 1
        else:
            text = level_text(value)
            counts[text] = counts.get(text, 0) + 1
    return counts, absent


def level_plan(
    column: str, counts: dict[str, int], absent: int, least: int, most: int, n_levels: int = 0
) -> tuple[Plan | None, str]:
    """Return how categories are encoded, or None, and the note; ``n_levels`` if not all could be counted."""
    ranked = sorted(counts, key=lambda level: (-counts[level], level))  # ties by name: no matter the order of samples
    frequent = [level for level in ranked if counts[level] >= least][:most]
    n_rare = max(len(ranked), n_levels) - len(frequent)
    so_many = f"at least {n_rare}" if n_levels > len(ranked) else f"{n_rare}"
    plan = LevelPlan(column, tuple(sorted(frequent)), n_rare > 0, absent > 0)
    if len(plan.origins()) < 2:
        if n_rare > 1:
            if ranked and DATE.match(ranked[0]):
                return None, f"column {column!r} holds dates: dropped. {DATES_AS_NUMBERS}"
            marked = [level for level in ranked if not PLAIN.fullmatch(level)]
            if marked and all(MARKED.fullmatch(level) for level in ranked):
                return None, f"column {column!r} holds numbers with marks, {marked[0]!r} say: dropped. {PLAIN_NUMBERS}"
            return None, (
                f"column {column!r} has {so_many} levels, none of them in {least} samples or more, like an identifier "
                "or free text: dropped."
            )
        return None, f"column {column!r} is the same in all samples: dropped."
    said = _odd_cells(ranked)
    said += ["1 rare level became '(other)'"] if n_rare == 1 else []
    said += [f"{so_many} rare levels became '(other)'"] if n_rare > 1 else []
    said += ["1 missing value is a level of its own"] if absent == 1 else []
    said += [f"{absent} missing values are a level of their own"] if absent > 1 else []
    return plan, f"column {column!r}: {'; '.join(said)}." if said else ""


def _odd_cells(levels: list[str]) -> list[str]:
    """Return a remark on a few cells of text in a column of numbers, which make categories of all of them."""
    odd = [level for level in levels if not PLAIN.fullmatch(level)]
    if not 0 < len(odd) <= 0.1 * len(levels):
        return []
    return [
        f"text because of {', '.join(map(repr, odd[:3]))}, all else are numbers: if you mean numbers, empty such cells"
    ]


def kind_of(column: str, values: np.ndarray) -> str:
    """Return "number", "boolean" or "category" for the values of a column; refuse what is none of them."""
    if values.dtype.kind in "iuf":
        return "number"
    if values.dtype.kind == "b":
        return "boolean"
    types = {type(value) for value in values.tolist() if not is_missing(value)}
    if any(issubclass(t, date | time | timedelta | np.datetime64 | np.timedelta64) for t in types):
        raise ValueError(date_message(column))
    if any(t.__hash__ is None or issubclass(t, complex) for t in types):
        raise TypeError(
            f"Column {column!r} must hold numbers, texts, categories or booleans; it holds "
            f"{sorted(t.__name__ for t in types)}. Take such cells apart first."
        )
    if types and all(issubclass(t, bool | np.bool_) for t in types):
        return "boolean"
    if all(issubclass(t, int | float | np.number) or t.__name__ == "Decimal" for t in types):
        return "number"
    return "category"


def date_message(column: str) -> str:
    """Return the note on a column of dates."""
    return (
        f"Column {column!r} holds dates or times, which are no features as they are. {DATES_AS_NUMBERS[:-1]}, or drop "
        "the column."
    )


def to_numbers(values: np.ndarray, column: str, boolean: bool = False) -> np.ndarray:
    """Return a column as float64, missing values as NaN; raise ValueError, with the name, where there is none."""
    if values.dtype.kind in "iufb":
        numbers = values.astype(np.float64, copy=False)
        if boolean and not np.isin(numbers, (0.0, 1.0)).all(where=~np.isnan(numbers)):
            other = numbers[~np.isnan(numbers) & ~np.isin(numbers, (0.0, 1.0))][0]
            raise ValueError(f"Column {column!r} must hold truths (True or False), as in the fit; got {other:g}.")
    else:
        numbers = np.array([cell_number(value, column, boolean) for value in values.tolist()], dtype=np.float64)
    if np.isinf(numbers).any():
        raise ValueError(
            f"Column {column!r} holds infinity. Make such values missing, or replace them by the largest that occurs."
        )
    return numbers


def plain_plan(plan: Plan) -> dict[str, Any]:
    """Return a plan as a dict of strings, numbers and lists."""
    plain = asdict(plan)
    if "levels" in plain:
        plain["levels"] = list(plain["levels"])
    return plain


def plan_from(plain: dict[str, Any]) -> Plan:
    """Return the plan that :func:`plain_plan` wrote."""
    if "levels" in plain:
        return LevelPlan(**{**plain, "levels": tuple(plain["levels"])})
    return NumberPlan(**plain)


def distinct_names(names: list[str]) -> np.ndarray:
    """Return the names; one that is there before gets a number (a column may be called ``a = b``)."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        count = 1
        while names[i] in seen:
            count += 1
            names[i] = f"{name} #{count}"
        seen.add(names[i])
    return np.array(names, dtype=object)
