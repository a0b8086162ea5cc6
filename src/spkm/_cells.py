"""Cells of a mixed table: which are empty, and what a level is called. Needs NumPy alone, as loading a model does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

MISSING_TYPES = ("NAType", "NaTType")  # pandas' own marks, by name, as pandas need not be installed
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}  # texts of a boolean, in small letters
LARGEST_FRACTION = 2**23  # of single precision: all larger numbers are whole
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN or pandas' NA."""
    if isinstance(value, str):
        return False  # first, as it is the most frequent
    if value is None or type(value).__name__ in MISSING_TYPES:
        return True
    return isinstance(value, float | np.floating) and value != value


def cell_list(values: np.ndarray) -> list[Any]:
    """Return the cells of a column as Python objects.

    Fractions of single precision become the decimals that they print as, so that 0.1 is one level in both precisions;
    whole numbers of any precision are what they are.
    """
    if values.dtype == np.float32:
        whole = (values == np.trunc(values)).tolist()
        exact, printed = values.tolist(), values.astype(str).tolist()
        return [e if w else float(text) for w, e, text in zip(whole, exact, printed, strict=True)]
    return values.tolist()


def level_text(value: object) -> str:
    """Return the name of a level; 3.0 is "3", as missing values turn columns of integers into floats."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def level_places(levels: Sequence[str]) -> dict[str, int]:
    """Return the place of each level by its name, and by that of the same number in the other precision.

    A level 0.1 of single precision is 0.10000000149011612 where a table was widened. Names of levels come first.

    Examples
    --------
    >>> level_places(["0.1", "0.5", "a"])
    {'0.1': 0, '0.5': 1, 'a': 2, '0.10000000149011612': 0}
    """
    places = {level: place for place, level in enumerate(levels)}
    for place, level in enumerate(levels):
        for name in single_names(level):
            places.setdefault(name, place)
    return places


def single_names(level: str) -> tuple[str, ...]:
    """Return the names of a fraction of single precision, printed and widened, if a level is one of them; else none."""
    try:
        value = float(level)
    except ValueError:
        return ()
    if value != value or abs(value) >= LARGEST_FRACTION or level_text(value) != level:
        return ()
    single = np.float32(value)
    names = level_text(float(str(single))), level_text(float(single))
    return names if level in names else ()


def cell_number(value: Any, column: str, boolean: bool) -> float:
    """Return the number or truth in a cell, NaN if it is empty; raise ValueError, with the column, if there is none.

    Texts are numbers as tables write them: not "nan", "inf" or "1_000". A truth is 0 or 1.
    """
    if is_missing(value):
        return np.nan
    text = value.strip() if isinstance(value, str) else None
    if boolean and text is not None and text.lower() in TRUTH:
        return TRUTH[text.lower()]
    try:
        number = float(value) if text is None or NUMBER.fullmatch(text) else np.nan
    except (TypeError, ValueError):
        number = np.nan
    if number != number or (boolean and number not in (0.0, 1.0)):
        what = "truths (True or False)" if boolean else "numbers"
        raise ValueError(f"Column {column!r} must hold {what}, as in the fit; got {value!r}.")
    return number
