"""Types of arrays and of what users hold, as type checkers read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Dense real numbers. Float64 for a type checker; in a fit of single precision they are float32, and in one on another
#: device they are arrays of another library.
Array = NDArray[np.float64]
#: Whole numbers: indices, counts, labels.
Integers = NDArray[np.intp]
#: One number for all, or one for each: of features (d,), of entries as many as the array has.
Factors = float | NDArray[np.float64]


class Lazy(Protocol):
    """A lazy frame, such as one of polars."""

    def collect(self) -> Any: ...


class InFiles(Protocol):
    """A table in files with some of its columns, :class:`spkm.FileTable`."""

    table: Any
    features: Any
    encoder: Any


#: Names a file.
FileName = str | PathLike[str]
#: Samples that a user may give: an array, a frame, a sparse matrix, a dict of tables, files, a lazy frame, chunks, or a
#: function that returns chunks.
TableLike = ArrayLike | Iterable[Any] | Callable[[], Iterable[Any]] | FileName | Lazy | InFiles
#: Targets that a user may give: numbers, labels, an indicator matrix, or names of columns.
TargetLike = ArrayLike | Iterable[Any]
#: Weights of samples that a user may give; a name is that of a column.
WeightLike = ArrayLike | Iterable[float] | str | None
#: Names or numbers of columns.
ColumnsLike = str | int | slice | Iterable[Any] | Callable[..., Any]
#: Part of later pairs that a fit has not met.
NewPart = Literal["pairs", "left", "right", "both"]
#: Seed of random numbers.
RandomState = int | np.random.Generator | np.random.RandomState | None


class Matrix(Protocol):
    """Samples, (n, d): a dense array, CSR, or an array of another library."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def T(self) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...


#: Samples on their way into a model: a matrix, a table of pairs, or nested lists of numbers.
Samples = Matrix | ArrayLike


class Namespace(Protocol):
    """The functions of an array library that parts use: those of NumPy, and of the array API standard."""

    __name__: str
    float64: Any

    def abs(self, x: Any, /) -> Array: ...
    def asarray(self, x: Any, /, *, device: Any = ..., dtype: Any = ...) -> Array: ...
    def astype(self, x: Any, dtype: Any, /, *, copy: bool = ...) -> Array: ...
    def clip(self, x: Any, /, low: Any, high: Any) -> Array: ...
    def concat(self, arrays: Any, /, *, axis: int = ...) -> Array: ...
    def exp(self, x: Any, /) -> Array: ...
    def log1p(self, x: Any, /) -> Array: ...
    def maximum(self, x: Any, y: Any, /) -> Array: ...
    def minimum(self, x: Any, y: Any, /) -> Array: ...
    def max(self, x: Any, /, *, axis: int | None = ..., keepdims: bool = ...) -> Array: ...
    def ones_like(self, x: Any, /) -> Array: ...
    def sign(self, x: Any, /) -> Array: ...
    def sqrt(self, x: Any, /) -> Array: ...
    def square(self, x: Any, /) -> Array: ...
    def log(self, x: Any, /) -> Array: ...
    def stack(self, arrays: Any, /, *, axis: int = ...) -> Array: ...
    def sum(self, x: Any, /, *, axis: int | None = ..., dtype: Any = ..., keepdims: bool = ...) -> Array: ...
    def take(self, x: Any, indices: Any, /, *, axis: int) -> Array: ...
    def where(self, condition: Any, x: Any, y: Any, /) -> Array: ...


def dense(X: Any) -> Array:
    """Return samples as a dense array: a copy of CSR and of a table of pairs, a dense array itself."""
    found: Array = X.toarray() if hasattr(X, "toarray") else np.asarray(X)  # CSR or a table of pairs
    return found


def label_places(labels: Any, y: Any) -> Integers:
    """Return the place of each label of y among the labels of a fit: those of ordered classes are not sorted.

    ValueError if one of them is not there.
    """
    order = np.argsort(labels, kind="stable")
    found = order[np.minimum(np.searchsorted(labels, y, sorter=order), len(labels) - 1)]
    unknown = np.flatnonzero(labels[found] != y)
    if len(unknown):
        raise ValueError(f"y must hold labels of the fit, {labels.tolist()}; got {y[unknown[0]]!r}.")
    return np.asarray(found)


def with_shape(X: Any) -> Any:
    """Return a table as it is, or nested lists as an array of numbers."""
    return X if hasattr(X, "shape") else np.asarray(X)  # a table may be of any library
