"""Names for objects: one place translates the name a user writes into the class it stands for."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Generic, TypeVar

from sklearn.base import clone

from spkm._parts import Part

P = TypeVar("P", bound=Part)


class Registry(dict[str, Callable[..., P]], Generic[P]):
    """Factories by name, with an error that suggests the nearest known name.

    Parameters
    ----------
    what : str
        The argument whose values are looked up, as users know it ("kernel", "loss", ...).
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
        part: P = self.resolve(value, argument).check(argument)
        return part if isinstance(value, str) else clone(part)
