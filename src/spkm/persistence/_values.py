"""Python values as JSON and arrays, and back: what a model file can hold, and nothing that could run.

A value that JSON has no word for is an object with the key "$": {"$": "tuple", "items": [...]}. Handlers for other
kinds (kernels, estimators) are given from outside; without any, values are made of NumPy and Python alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spkm.persistence._container import NAMES, need

MOST_DEPTH = 40  # of nested values in a file; deeper ones would exhaust the stack of a reader
MOST_COPIES = 100  # of all arrays of a file; a model of forty binary problems holds some arrays that often
LEAST_WIDTH_LIMIT = 4096  # bytes that an array of strings may take whatever the file's size
FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


class Unsavable(TypeError):
    """A value that a model file cannot hold."""


class Writer:
    """Values to JSON; arrays are kept beside, each once.

    Parameters
    ----------
    special : callable, default=None
        ``special(writer, value)`` returns the JSON object of a value of another kind, or None.
    """

    def __init__(self, special: Callable[[Writer, Any], dict[str, Any] | None] | None = None) -> None:
        self.special = special
        self.arrays: dict[str, np.ndarray] = {}
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def write(self, value: object) -> Any:
        """Return the JSON of a value."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"$": "float", "value": repr(value)}
        if type(value) is list:
            return [self.write(part) for part in value]
        if type(value) is tuple:
            return {"$": "tuple", "items": [self.write(part) for part in value]}
        if type(value) is dict:
            if all(type(key) is str for key in value) and "$" not in value:
                return {key: self.write(part) for key, part in value.items()}
            return {"$": "dict", "items": [[self.write(key), self.write(part)] for key, part in value.items()]}
        if type(value) is slice:
            return {"$": "slice", "items": [self.write(part) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, np.generic):
            return self._scalar(value)
        if type(value) is np.ndarray:
            return self._strings(value) if value.dtype.kind in "UO" else self._array(value)
        found = self.special(self, value) if self.special else None
        if found is None:
            raise Unsavable(f"a model file cannot hold {value!r} of type {type(value).__name__}")
        return found

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        if array.dtype.newbyteorder("<") not in NAMES:
            return {"$": "cast", "dtype": array.dtype.str, "of": self._array(array.astype(_wider(array.dtype)))}
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = f"a{len(self._known)}"
            self.arrays[self._known[key]] = array
        node = {"$": "array", "name": self._known[key]}
        # The layout in memory shows in the last bit of what is computed with an array.
        return node if array.flags.c_contiguous or not array.flags.f_contiguous else {**node, "order": "F"}

    def _strings(self, array: np.ndarray) -> dict[str, Any]:
        kind = "O" if array.dtype.kind == "O" else array.dtype.itemsize // 4
        items = [self.write(part) for part in array.ravel().tolist()]
        if kind != "O" and array.nbytes > _string_limit(items):
            kind = "O"  # a single long string among many short ones: one object each takes less
        return {"$": "strings", "width": kind, "shape": list(array.shape), "items": items}

    def _scalar(self, value: np.generic) -> dict[str, Any]:
        if value.dtype.kind not in "fiubU":
            raise Unsavable(f"a model file cannot hold {value!r}")
        return {"$": "scalar", "dtype": value.dtype.str, "value": self.write(value.item())}


class Reader:
    """JSON back to values.

    Parameters
    ----------
    arrays : dict of ndarray
        The arrays of the file.
    special : dict of callables, default=None
        For other kinds, by their word: ``function(reader, node)`` returns the value.
    size : int, default=0
        Bytes of the file.
    """

    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        special: dict[str, Callable[[Reader, Any], Any]] | None = None,
        size: int = 0,
    ) -> None:
        self.arrays = arrays
        self.size = size
        self.special = special or {}
        self.depth = 0
        # A file may name an array often, and each time it is a new one: their sum has a bound, too.
        self._left = MOST_COPIES * sum(array.nbytes for array in arrays.values())

    def read(self, node: Any) -> Any:
        """Return the value of a JSON node."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        need(self.depth < MOST_DEPTH, "its values are nested too deeply")
        self.depth += 1
        try:
            if isinstance(node, list):
                return [self.read(part) for part in node]
            if "$" not in node:
                return {key: self.read(part) for key, part in node.items()}
            kind = node["$"]
            need(isinstance(kind, str), "a value is of no kind")
            if kind in self.special:
                return self.special[kind](self, node)
            need(kind in KINDS, f"a value is of the unknown kind {kind[:40]!r}")
            return KINDS[kind](self, node)
        finally:
            self.depth -= 1

    def array(self, name: Any, order: Any = None) -> np.ndarray:
        """Return a copy of an array of the file, which can be written as those of a fit can."""
        need(isinstance(name, str) and name in self.arrays, "an array is missing")
        array = self.arrays[name]
        self._left -= array.nbytes
        need(self._left >= 0, "it holds the same array too often")
        return array.astype(array.dtype.newbyteorder("="), order="F" if order == "F" else "C")

    def items(self, node: Any) -> list[Any]:
        """Return the list of parts of a node, read."""
        need(isinstance(node.get("items"), list), "a value has no parts")
        return [self.read(part) for part in node["items"]]


def _read_dict(reader: Reader, node: object) -> dict[Any, Any]:
    found = reader.items(node)
    need(all(isinstance(pair, list) and len(pair) == 2 for pair in found), "a dict is not made of pairs")
    need(all(isinstance(key, str | int | float | bool | np.generic | None) for key, _ in found), "a dict has no keys")
    return dict(found)


def _read_slice(reader: Reader, node: object) -> slice:
    found = reader.items(node)
    need(len(found) == 3 and all(n is None or type(n) is int for n in found), "a slice is none")
    return slice(*found)


def _read_float(reader: Reader, node: Any) -> float:
    name = node.get("value")
    need(isinstance(name, str) and name in FLOATS, "a number is none")
    return FLOATS[name]


def _read_cast(reader: Reader, node: Any) -> np.ndarray:
    array = reader.read(node.get("of"))
    need(isinstance(array, np.ndarray), "an array is missing")
    return array.astype(_dtype(node.get("dtype"), "fiu"))


def _read_scalar(reader: Reader, node: Any) -> np.generic:
    value = reader.read(node.get("value"))
    dtype = _dtype(node.get("dtype"), "fiubU")
    kinds: tuple[type, ...] = {"f": (int, float), "b": (bool,), "U": (str,)}.get(dtype.kind, (int,))
    need(type(value) in kinds, "a number is none")
    need(dtype.kind != "U" or dtype.itemsize <= 4 * max(len(value), 1), "a string is too wide")
    try:
        return dtype.type(value)
    except OverflowError as error:
        need(False, f"a number is too large ({error})")
        raise


def _read_strings(reader: Reader, node: Any) -> np.ndarray:
    items, shape, width = reader.items(node), node.get("shape"), node.get("width")
    need(
        isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int and n >= 0 for n in shape), "a shape is none"
    )
    count = 1
    for n in shape:
        count *= n
        need(count <= len(items), "an array of strings has another number of them than its shape")
    need(count == len(items), "an array of strings has another number of them than its shape")
    if width == "O":
        need(
            all(isinstance(part, str | int | float | bool | None) for part in items), "an array of labels holds others"
        )
        found = np.empty(len(items), dtype=object)
        found[:] = items
        return found.reshape(shape)
    need(type(width) is int and width >= 0 and all(isinstance(part, str) for part in items), "strings are none")
    need(4 * width * len(items) <= _string_limit(items), "an array of strings is too wide")
    need(all(len(part) <= width for part in items), "a string is longer than its array")
    return np.array(items, dtype=f"<U{width}").reshape(shape)


def _string_limit(items: list[Any]) -> int:
    return LEAST_WIDTH_LIMIT + 256 * sum(len(part) + 1 for part in items if isinstance(part, str))


def _dtype(name: object, kinds: str) -> np.dtype:
    try:
        dtype = np.dtype(name) if isinstance(name, str) and len(name) < 16 else None
    except TypeError:
        dtype = None
    need(dtype is not None and dtype.kind in kinds and dtype.itemsize <= 2**20, "a dtype is unknown")
    return dtype  # type: ignore[return-value]


def _wider(dtype: np.dtype) -> Any:
    """Return a dtype of the file that holds all numbers of another one, and from which they can be cast back."""
    if dtype.kind in "iu":  # casts of 64 bits wrap around, there and back
        return np.int64
    if dtype.kind == "f" and dtype.itemsize < 8:
        return np.float64
    raise Unsavable(f"a model file cannot hold an array of dtype {dtype}")


KINDS: dict[str, Callable[[Reader, Any], Any]] = {
    "tuple": lambda reader, node: tuple(reader.items(node)),
    "dict": _read_dict,
    "slice": _read_slice,
    "float": _read_float,
    "array": lambda reader, node: reader.array(node.get("name"), node.get("order")),
    "cast": _read_cast,
    "scalar": _read_scalar,
    "strings": _read_strings,
}
