"""Cells of a mixed table: which are empty, and what a level is called. Needs NumPy alone, as loading a model does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

MISSING_TYPES = ("NAType", "NaTType")  # pandas' own marks, told by name, as pandas need not be installed
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}  # texts of a boolean, in small letters
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN or pandas' NA."""
    if isinstance(value, str):
        return False  # first, as it is the most frequent
    return value is None or type(value).__name__ in MISSING_TYPES or (isinstance(value, float) and value != value)


def cell_list(values: np.ndarray) -> list[Any]:
    """Return the cells of a column as Python objects.

    Numbers of single precision become the decimals that they print as, so that 0.1 is one level in both precisions.
    """
    if values.dtype == np.float32:
        return [float(text) for text in values.astype(str)]
    return values.tolist()


def level_text(value: Any) -> str:
    """Return the name of a level; 3.0 is "3", as missing values turn columns of integers into floats."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


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
