"""Samples that are read in chunks, at the border: what X is, what y names, and the source that a fit reads."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from spkm._frames import (
    holds_chunks,
    holds_frames,
    is_dask_frame,
    is_dataset,
    is_lazy_frame,
    labels_of,
    library_of,
)
from spkm._publish import feature_names
from spkm.sources import IterableReader


class FileTable:
    """A table that is read in chunks, from files mostly, with some of its columns as features.

    Parameters
    ----------
    table : str, Path, sequence of them, pyarrow.dataset.Dataset, LazyFrame, Dask data frame or chunks of frames
        A file, a folder, a pattern with ``*``, several files, or what pyarrow opened; a lazy frame of polars; a data
        frame of Dask; or what yields (X, y) or (X, y, weight), X a frame, each time it is iterated over or called.
    features : sequence of str, default=None
        The columns of X; None is all but those of y and of the weights.
    encoder : TableEncoder, default=None
        A fitted one, which says what columns are read and makes numbers of them, chunk by chunk. None takes columns of
        numbers without gaps. ``encoder.transform(table)`` returns a table with it.

    Examples
    --------
    >>> FileTable("measurements/*.parquet", features=["height", "weight"])
    FileTable('measurements/*.parquet', features=['height', 'weight'])
    """

    def __init__(self, table: Any, features: Any = None, encoder: Any = None) -> None:
        if features is not None and encoder is not None:
            raise TypeError("Pass either features or encoder, not both: the encoder reads the columns of its fit.")
        self.table = table
        self.features = features
        self.encoder = encoder

    def __repr__(self) -> str:
        how = f"features={self.features!r}" if self.encoder is None else f"encoder={self.encoder!r}"
        return f"FileTable({self.table!r}, {how})"


def is_in_files(X: Any) -> bool:
    """Whether X names a table in files; a list may be either."""
    return isinstance(X, FileTable | str | Path) or is_dataset(X)


def named_columns(X: Any, y: Any, sample_weight: Any, target: Any, weight: Any, features: Any) -> tuple[Any, Any, Any]:
    """Return X, y and sample_weight; from columns of X where these are named."""
    if target is None and weight is None and features is None:
        return X, y, sample_weight
    for argument, given, name, other in (
        ("y", y, "target", target),
        ("sample_weight", sample_weight, "weight", weight),
    ):
        if given is not None and other is not None:
            raise TypeError(f"Pass either {argument} or {name}, not both.")
    y, sample_weight = (y if target is None else target), (sample_weight if weight is None else weight)
    features = None if features is None else _as_names(features)
    if isinstance(X, FileTable):
        if features is not None and X.features is not None:
            raise TypeError("Pass either features or FileTable(..., features), not both.")
        return FileTable(X.table, X.features if features is None else features, X.encoder), y, sample_weight
    kind = library_of(X)
    if isinstance(X, str | Path | list) or kind == "pyarrow":
        return FileTable(X, features), y, sample_weight
    there = X.collect_schema().names() if is_lazy_frame(X) else labels_of(X)
    if there is None:
        raise TypeError(f"target, weight and features name columns of a table; X is {type(X).__name__}, without names.")
    lazy = is_lazy_frame(X) or kind == "dask"
    own = (y, sample_weight) if lazy else (target, weight)
    others = [name for value in own if names_columns(value) for name in _as_names(value)]
    from spkm.sources._parquet import chosen_columns

    chosen = chosen_columns(list(there), others, features)
    if lazy and names_columns(y) and (sample_weight is None or isinstance(sample_weight, str)):
        return X[[*chosen, *others]] if kind == "dask" else X.select([*chosen, *others]), y, sample_weight
    y = y if target is None else X[target].to_numpy()
    return X[chosen], y, sample_weight if weight is None else X[weight].to_numpy()


def _as_names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def opened_stream(X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Return a reader of X if it is one of the things that are read in chunks, else None.

    For files and frames ``y`` and ``sample_weight`` are names of columns; chunks hold their own.
    """
    if isinstance(X, np.ndarray):
        return None
    if isinstance(X, FileTable):
        return _opened_table(X, y, sample_weight)
    if library_of(X) == "dask":
        from spkm.sources._dask import DaskReader

        return DaskReader(X, y, sample_weight)
    if is_in_files(X) or (is_lazy_frame(X) and names_columns(y)):
        return _opened_table(FileTable(X), y, sample_weight)
    return IterableReader(X) if y is None and sample_weight is None and holds_chunks(X) else None


def _opened_table(X: FileTable, y: Any, sample_weight: Any) -> Any:
    """Return a reader of a table with some of its columns, or with an encoder."""
    table, encoder = X.table, None
    if X.encoder is not None:
        from spkm.tables.encoded_files import FileEncoder

        encoder = FileEncoder(X.encoder)
    if is_dask_frame(table):
        from spkm.sources._dask import DaskReader

        if X.features is not None:
            own = [name for part in (y, sample_weight) if names_columns(part) for name in _as_names(part)]
            table = table[[*X.features, *own]]
        return DaskReader(table, y, sample_weight, encoder)
    if holds_frames(table):
        if X.features is not None or y is not None or sample_weight is not None:
            raise TypeError("Chunks hold X, y and weights themselves: features, y and sample_weight must be None.")
        return IterableReader(table, encoder)
    if not (y is None or names_columns(y)) or not (sample_weight is None or isinstance(sample_weight, str)):
        raise TypeError(
            "y and sample_weight must be names of columns where X is a table in files; got "
            f"{type(y).__name__} and {type(sample_weight).__name__}."
        )
    from spkm.sources._parquet import LazyFrameReader, TableReader

    if is_lazy_frame(table):
        return LazyFrameReader(table, y, sample_weight, X.features, encoder)
    if not isinstance(table, str | Path | list | tuple) and library_of(table) != "pyarrow":
        raise TypeError(
            "FileTable takes paths, a pyarrow dataset, a lazy frame, a Dask data frame or chunks of frames; got "
            f"{type(table).__name__}."
        )
    return TableReader(table, y, sample_weight, X.features, encoder)


def is_streamed(X: object, y: Any = None) -> bool:
    """Whether an encoder reads X in chunks; a lazy frame is one if ``y`` names columns of it, else it is collected."""
    return is_in_files(X) or is_dask_frame(X) or (is_lazy_frame(X) and names_columns(y)) or holds_frames(X)


def names_columns(y: object) -> bool:
    """Whether y is the name of a column, or a list of names."""
    return isinstance(y, str) or (isinstance(y, list) and bool(y) and all(isinstance(name, str) for name in y))


def predicted_chunks(estimator: Any, method: str, X: Any) -> Iterator[np.ndarray]:
    """Yield what a method of a fitted estimator returns for each chunk of X."""
    names = feature_names(estimator)
    if is_in_files(X):
        X = X if isinstance(X, FileTable) else FileTable(X)
        if X.features is None and X.encoder is None and names is not None:
            X = FileTable(X.table, list(names))
    elif names is not None and is_dask_frame(X):
        X = X[list(names)]
    elif is_lazy_frame(X):
        X = FileTable(X, None if names is None else list(names))
    reader = IterableReader(X) if isinstance(X, list) else opened_stream(X)
    if isinstance(reader, IterableReader) and names is not None:
        reader.names = list(names)
    if reader is None:
        raise TypeError(f"X must be files, a frame or chunks; got {type(X).__name__}. Use {method}(X) itself.")
    found = reader.names if reader.encoder is None else reader.encoder.names
    if names is not None and found is not None and list(found) != list(names):
        raise ValueError(f"X must have the features of the fit, {list(names)}; got {list(found)}.")
    plain = copy(estimator)
    plain.__dict__.pop("feature_names_in_", None)  # columns were found by name; what comes now are arrays
    for chunk in reader.chunks():
        yield getattr(plain, method)(chunk.X)
