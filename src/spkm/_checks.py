"""Argument checks and the one form of error message: which argument, what it must be, what came."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_integer(name: str, value: Any, least: int) -> int:
    """Return ``value`` as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")
    return int(value)


def check_real(name: str, value: Any, least: float = 0.0, most: float = np.inf, strict: bool = False) -> float:
    """Return ``value`` as a finite float of at least ``least`` (more than that, if ``strict``) and at most ``most``."""
    is_wrong = isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value)
    if is_wrong or not least <= value <= most or (strict and value == least):
        upper = "" if most == np.inf else f" and at most {most:g}"
        bounds = f"{'above' if strict else 'of at least'} {least:g}{upper}"
        raise ValueError(f"{name} must be a number {bounds}; got {value!r}.")
    return float(value)


def check_choice(name: str, value: Any, choices: tuple) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    value = bool(value) if isinstance(value, np.bool_) else value
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value
