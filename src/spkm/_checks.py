"""Argument checks and the one form of error message: which argument, what it must be, what came."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from math import isfinite
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence


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


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    value = bool(value) if isinstance(value, np.bool_) else value
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value


def n_threads(n_jobs: Any) -> int:
    """Return the number of threads that ``n_jobs`` sets."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None (all cores), a positive integer, or -1; got {n_jobs!r}.")
    if n_jobs is not None:
        return int(joblib.effective_n_jobs(int(n_jobs)))
    # joblib's workers get their share of the cores by this variable. A list is for nested levels of threads.
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    cores = _cores()
    return min(cores, max(1, int(asked))) if asked.isdigit() else cores


@cache
def _cores() -> int:
    return int(joblib.cpu_count())  # reads files of the system, which takes as long as the prediction of a few samples


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn with the line of the user's own code that led here, outside of this library and of scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("spkm", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator that can spawn others; global random state is never touched."""
    return np.random.default_rng(seed_of(random_state))


def seed_of(random_state: Any) -> Any:
    """Return what ``np.random.default_rng`` makes a generator of that can spawn others."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31, size=4)
    is_seed = isinstance(random_state, int | np.integer) and random_state >= 0
    known = np.random.Generator | np.random.BitGenerator | np.random.SeedSequence
    if random_state is not None and not is_seed and not isinstance(random_state, known):
        raise ValueError(
            f"random_state must be None, an integer of at least 0, a RandomState or a Generator; got {random_state!r}."
        )
    if isinstance(random_state, np.random.Generator | np.random.BitGenerator):
        rng = np.random.default_rng(random_state)
        # One that was seeded in the way of RandomState cannot spawn.
        return rng if isinstance(rng.bit_generator.seed_seq, ISpawnableSeedSequence) else rng.integers(2**31, size=4)
    return random_state
