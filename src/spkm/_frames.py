"""Tables of other libraries, recognised without importing these: by the attributes that all tables of a kind have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


def library_of(X: object) -> str:
    """Return the name of the library that an object's class comes from."""
    return type(X).__module__.split(".")[0]


def labels_of(X: object) -> Any:
    """Return the names of the columns of a frame of any library; None of what has none."""
    columns = getattr(X, "columns", None)  # whatever a user holds may be X
    return getattr(X, "column_names", columns) if columns is not None and library_of(X) == "pyarrow" else columns


def name_of(X: object) -> str:
    """Return the name of a column of any library; empty for what has none."""
    name = getattr(X, "name", None)  # whatever a user holds may be X
    return name if isinstance(name, str) else ""


def dtype_of(X: object) -> Any:
    """Return the type of the numbers of an array or a column of any library; None of what has none."""
    return getattr(X, "dtype", None)  # whatever a user holds may be X


def kind_of(X: object) -> str:
    """Return NumPy's letter for the numbers of an array or a column, "f" for floats; "" of what has none."""
    return str(getattr(dtype_of(X), "kind", ""))  # types of polars have none


def is_frame(X: object) -> bool:
    """Whether X is a table of named columns in memory: a frame of pandas or polars, or a table of Arrow."""
    return labels_of(X) is not None and is_table(X) and not isinstance(X, Iterator)


def is_named_row(X: Any) -> bool:
    """Whether X is a series of pandas whose values have texts for names, such as a row of a frame."""
    return library_of(X) == "pandas" and np.ndim(X) == 1 and all(isinstance(name, str) for name in X.index)


def has_types(X: object) -> bool:
    """Whether X is a frame whose columns have a type each, as those of pandas, polars and Dask."""
    return labels_of(X) is not None and hasattr(X, "dtypes")  # tables of Arrow have a schema instead


def is_lazy_frame(X: object) -> bool:
    """Whether X is a lazy frame of polars."""
    return library_of(X) == "polars" and type(X).__name__ == "LazyFrame"


def is_dask_frame(X: object) -> bool:
    """Whether X is a data frame of Dask."""
    return library_of(X) == "dask" and has_types(X)


def is_dataset(X: object) -> bool:
    """Whether X is a table in files that Arrow opened."""
    return library_of(X) == "pyarrow" and hasattr(X, "get_fragments")  # its tables in memory have none


def is_table(X: object) -> bool:
    """Whether X is a table in itself, and no sequence of chunks."""
    marks = ("shape", "__array__", "__dataframe__", "collect_schema", "keys")
    return any(hasattr(X, name) for name in marks)  # one of these has any array, frame, lazy frame or dict


def makes_chunks(X: object) -> bool:
    """Whether X is a function that returns chunks."""
    return callable(X) and not hasattr(X, "__array__")  # an array may be callable


def holds_frames(X: object) -> bool:
    """Whether X yields chunks whose samples may be frames: a function, a list of frames or of tuples with one first."""
    if isinstance(X, list | tuple):
        return bool(X) and all(is_frame(item[0] if isinstance(item, tuple) and item else item) for item in X)
    if makes_chunks(X):
        return True
    return isinstance(X, Iterable) and not isinstance(X, str | Iterator) and not is_table(X) and not is_dataset(X)


def holds_chunks(X: object) -> bool:
    """Whether X yields chunks (X, y) or (X, y, weight) of arrays; TypeError if it does so only once."""
    if makes_chunks(X):
        return True
    if is_table(X):
        return False
    if isinstance(X, Iterator):
        raise TypeError(
            "X can be read only once, but a fit reads it several times. Give a function that returns a new iterator of "
            "chunks, or an object whose __iter__ does."
        )
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(item, tuple) and len(item) in (2, 3) and np.ndim(item[0]) == 2 for item in X)
    return isinstance(X, Iterable)
