"""Cells of a mixed table: which are empty, and what a level is called. Needs NumPy alone, as loading a model does."""

from __future__ import annotations

from typing import Any

import numpy as np

MISSING_TYPES = ("NAType", "NaTType")  # pandas' own marks, told by name, as pandas need not be installed
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}  # texts of a boolean, in small letters


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN or pandas' NA."""
    if isinstance(value, str):
        return False  # first, as it is the most frequent
    return value is None or type(value).__name__ in MISSING_TYPES or (isinstance(value, float) and value != value)


def level_text(value: Any) -> str:
    """Return the name of a level; 3.0 is "3", as missing values turn columns of integers into floats."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
