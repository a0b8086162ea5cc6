"""Arrays of other libraries, torch's say, by the array API standard: where they live, and back to NumPy.

They count where scikit-learn's ``array_api_dispatch`` is set. An estimator takes them to NumPy at its border; what
costs time, the passes over all samples, is done by the library of X, on its device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn import get_config

from spkm._arrays import Namespace

F = TypeVar("F", bound=Callable[..., Any])
#: Functions of a block that work with arrays of any library.
_ANYWHERE: set[Callable[..., Any]] = set()


class Place(NamedTuple):
    """A library of arrays, as a namespace of the standard, and one of its devices."""

    xp: Namespace
    device: Any

    def array(self, values: np.ndarray) -> Any:
        """Return values as an array of this place; in the same memory where the library can."""
        if not values.flags.writeable:  # a library may warn of memory that it must not change
            values = values.copy()
        return self.xp.asarray(values, device=self.device)


def is_foreign(array: object) -> bool:
    """Whether an array is one of another library than NumPy and SciPy, as those in blocks of other places are."""
    if isinstance(array, np.ndarray | np.generic) or sparse.issparse(array):
        return False
    return hasattr(array, "device")  # the standard demands it, and nested lists and frames have none


def namespace(array: Any) -> Namespace:
    """Return the namespace of an array: NumPy itself for its own."""
    found: Namespace = np if isinstance(array, np.ndarray | np.generic) else _compat().array_namespace(array)
    return found


def place_of(X: Any) -> Place | None:
    """Return the place of samples that are to be worked on there, None of all that goes to NumPy."""
    if isinstance(X, np.ndarray) or not get_config()["array_api_dispatch"] or not is_foreign(X):
        return None
    compat = _compat()
    if not compat.is_array_api_obj(X):
        return None
    return Place(compat.array_namespace(X), compat.device(X))


def place_like(array: Any) -> Place:
    """Return the place of an array: of NumPy's, NumPy."""
    return Place(namespace(array), None if isinstance(array, np.ndarray | np.generic) else array.device)


def moved_beside(array: Any, values: np.ndarray) -> Any:
    """Return values in the library of an array and on its device; as they are beside arrays of NumPy and SciPy."""
    if isinstance(array, np.ndarray):  # as nearly always
        return values
    return place_like(array).array(values) if is_foreign(array) else values


def precise(array: Any) -> Any:
    """Return an array of numbers in float64, where it is."""
    if not is_foreign(array):
        return array.astype(np.float64, copy=False)
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def on_host(array: Any) -> Any:
    """Return an array of another library as one of NumPy, in the same memory where it can; all else as it is."""
    if isinstance(array, np.ndarray) or not is_foreign(array) or not _compat().is_array_api_obj(array):
        return array
    compat = _compat()
    array = array.detach() if compat.is_torch_array(array) else array
    if compat.is_torch_array(array) or compat.is_cupy_array(array):
        array = compat.to_device(array, "cpu")
    return np.asarray(array) if hasattr(array, "__array__") else np.from_dlpack(array)  # not of the standard


def anywhere(function: F) -> F:
    """Register a function of a block that works with arrays of any library."""
    _ANYWHERE.add(function)
    return function


def works_anywhere(function: Callable[..., Any]) -> bool:
    """Whether a function of a block works with arrays of any library."""
    return function in _ANYWHERE


def returned_like_X(method: F) -> F:
    """Let a method of an estimator return its array in the library of its first argument, and on its device.

    Labels that are no numbers have no place in other libraries: they stay in NumPy.
    """

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        found = method(self, X, *args, **kwargs)
        place = place_of(X)
        if place is None:
            return found
        if isinstance(found, tuple):
            return tuple(map(place.array, found))
        return place.array(found) if found.dtype.kind in "fiub" else found

    return wrapped  # type: ignore[return-value]


def _compat() -> Any:
    try:
        import array_api_compat
    except ImportError as error:
        raise ImportError(
            "X of another library than NumPy needs array-api-compat. Install it by pip install 'spkm[array-api]', or "
            "give X as a NumPy array."
        ) from error
    return array_api_compat
