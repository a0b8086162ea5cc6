"""A random case of one subject, with the checks that it must pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """A fitted case: what it is, and named checks, which return a sentence if something is wrong."""

    about: str
    checks: Mapping[str, Callable[[], str]]
