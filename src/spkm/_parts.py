"""Base of kernels, losses, penalties, solvers and starts: checked numbers and honest claims.

A part declares its abilities by attributes and methods (*claims*), so that nobody needs to test its type. A claim
rests on formulas: a subclass that writes such a formula anew loses the claim unless it makes the claim itself. A
:class:`Registry` translates the name that a user writes into the part that it stands for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from spkm._checks import check_integer, check_real


class Number(NamedTuple):
    """Condition on a numeric parameter: a real number or an integer between bounds, or one of some ``others``."""

    least: float = 0.0
    most: float = np.inf
    strict: bool = False
    integer: bool = False
    others: tuple[Any, ...] = ()

    def check(self, name: str, value: object) -> None:
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

    def __init_subclass__(cls, **kwargs: object) -> None:
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


P = TypeVar("P", bound=Part)


class Registry(dict[str, Callable[..., P]], Generic[P]):
    """Factories by name, with an error that suggests the nearest known name.

    Parameters
    ----------
    what : str
        The argument whose values are looked up, as users write it ("kernel", "loss", ...).
    kind : type
        The class that objects passed instead of a name must have.
    """

    def __init__(self, what: str, kind: type[P]) -> None:
        super().__init__()
        self.what = what
        self.kind = kind

    def resolve(self, value: object, argument: str | None = None) -> P:
        """Return an object: ``value`` itself if it is one, else what its name stands for."""
        argument = argument or self.what
        if isinstance(value, self.kind):
            return value
        if isinstance(value, type) and issubclass(value, self.kind):
            raise TypeError(
                f"{argument} must be an object, not a class; got {value.__name__}. Write {value.__name__}()."
            )
        if not isinstance(value, str):
            raise TypeError(
                f"{argument} must be a name or a {self.kind.__name__} object; got {value!r} of type "
                f"{type(value).__name__}. Known names: {', '.join(sorted(self))}."
            )
        if value not in self:
            lower = value.lower()
            longer = sorted(
                (name for name in self if lower in name), key=lambda name: (not name.startswith(lower), name)
            )
            close = difflib.get_close_matches(lower, self, n=1) or longer
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"Unknown {argument} {value!r}.{hint} Known: {', '.join(sorted(self))}.")
        return self[value]()

    def part(self, value: object, argument: str | None = None) -> P:
        """Return a part of one's own: that of a name, or a copy of an object, with its parameters checked."""
        argument = argument or self.what
        part = self.resolve(value, argument)
        if isinstance(value, str):
            return part
        checked: P = clone(part.check(argument))
        return checked
