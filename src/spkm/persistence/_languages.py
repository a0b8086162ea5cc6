"""Arithmetic as code: what the formulas of a plain model calculate with where a language is written."""

from __future__ import annotations

import math
from typing import Any


def _function(operation: str) -> Any:
    return lambda language, *values: language.apply(operation, *values)


class Language:
    """The functions of a language that code is written in; a subclass says how constants and operations are written."""

    exp, sqrt, logistic = map(_function, ("exp", "sqrt", "logistic"))
    minimum, maximum, where = map(_function, ("min", "max", "where"))  # no number if an argument is none

    def number(self, value: float) -> str:
        """Return the code of a constant."""
        raise NotImplementedError

    def write(self, operation: str, *parts: str) -> str:
        """Return the code of an operation, an operator of Python or the name of a function, on parts that are code."""
        raise NotImplementedError

    def value(self, code: str) -> Value:
        """Return the number that code gives."""
        return Value(self, code)

    def apply(self, operation: str, *values: Value | float) -> Value:
        """Return the result of an operation on values and numbers."""
        parts = (value.code if isinstance(value, Value) else self.number(value) for value in values)
        return self.value(self.write(operation, *parts))

    def power(self, base: Value, degree: int) -> Value:
        """Return a power: a product, unless the language has a shorter way."""
        return math.prod([base] * (degree - 1), start=base)


def _operator(operation: str) -> tuple[Any, Any]:
    """Return the methods of an operator: for a value on its left, and on its right alone."""
    return (
        lambda value, other: value.language.apply(operation, value, other),
        lambda value, other: value.language.apply(operation, other, value),
    )


class Value:
    """A number in a language: what is calculated with it becomes code.

    Parameters
    ----------
    language : Language
        The language.
    code : str
        The number in it.
    """

    def __init__(self, language: Language, code: str) -> None:
        self.language = language
        self.code = code

    __add__, __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-")
    __mul__, __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/")
    __le__ = _operator("<=")[0]

    def __neg__(self) -> Value:
        return self.language.apply("neg", self)

    def __pow__(self, exponent: float) -> Value:
        if isinstance(exponent, int):
            return self.language.power(self, exponent)
        return self.language.apply("pow", self, exponent)
