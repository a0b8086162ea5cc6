"""Base of kernels, losses, penalties, solvers and starts: checked numbers and honest claims.

A part tells what it can do by attributes and methods (*claims*), so that nobody needs to ask for its type. A claim
rests on formulas: a subclass that writes such a formula anew loses the claim unless it makes the claim itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from spkm._checks import check_integer, check_real


class Number(NamedTuple):
    """Condition on a numeric parameter: a real number or an integer between bounds, or one of some ``others``."""

    least: float = 0.0
    most: float = np.inf
    strict: bool = False
    integer: bool = False
    others: tuple[Any, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError if ``value`` of the parameter ``name`` is not allowed."""
        if value is None or isinstance(value, str):
            if value in self.others:
                return
        if self.integer:
            check_integer(name, value, int(self.least))
        else:
            check_real(name, value, self.least, self.most, self.strict)


POSITIVE = Number(strict=True)
COUNT = Number(1, integer=True)
OPTIONAL_COUNT = Number(1, integer=True, others=(None,))


class Part(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of all parts. Parameters are stored as given, as everywhere in scikit-learn, and checked by their owner."""

    #: Numbers among the parameters, and what they must be.
    numbers: dict[str, Number] = {}
    #: Parameters, or attributes of the class, that must be one of some values.
    choices: dict[str, tuple[Any, ...]] = {}
    #: For each claim the formulas that it rests on, and the value that is safe without it.
    claims: dict[str, tuple[tuple[str, ...], Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)

        def place(name: str) -> int:  # of the class that defines it, a mixin maybe
            return next((i for i, base in enumerate(cls.__mro__) if name in vars(base)), len(cls.__mro__))

        for claim, (formulas, safe) in cls.claims.items():
            if any(place(name) < place(claim) for name in formulas):
                setattr(cls, claim, safe)

    def check(self, argument: str) -> Any:
        """Return the part itself if its parameters are what they must be; ``argument`` names it in errors."""
        for name, number in self.numbers.items():
            if name in vars(self):  # a subclass may have other parameters
                number.check(f"{name} of {argument}", getattr(self, name))
        for name, values in self.choices.items():
            if getattr(self, name) not in values:
                allowed = " or ".join(map(repr, values))
                raise ValueError(f"{name} of {argument} must be {allowed}; got {getattr(self, name)!r}.")
        return self
