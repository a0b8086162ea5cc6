"""Frames as record batches of Arrow, which is what encoders of chunks read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def is_frame(X: object) -> bool:
    """Whether X is a table of named columns in memory: a frame of pandas or polars, or a table of Arrow."""
    return hasattr(X, "columns") and hasattr(X, "shape") and not hasattr(X, "__next__")


def is_lazy_frame(X: object) -> bool:
    """Whether X is a lazy frame of polars."""
    return type(X).__module__.split(".")[0] == "polars" and hasattr(X, "collect_schema") and hasattr(X, "collect")


def is_dask_frame(X: object) -> bool:
    """Whether X is a data frame of Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "dtypes")


def holds_frames(X: object) -> bool:
    """Whether X yields chunks whose samples may be frames: a function, a list of frames or of tuples with one first."""
    if isinstance(X, list | tuple):
        return bool(X) and all(is_frame(item[0] if isinstance(item, tuple) and item else item) for item in X)
    if callable(X) and not hasattr(X, "__array__"):
        return True
    plain = ("shape", "__array__", "__dataframe__", "collect_schema", "keys", "__next__", "get_fragments")
    return hasattr(X, "__iter__") and not isinstance(X, str) and not any(hasattr(X, name) for name in plain)


def frames_in(chunks: Any) -> Iterator[Any]:
    """Yield the samples of all chunks, without targets and weights."""
    for item in chunks() if callable(chunks) else chunks:
        yield item[0] if isinstance(item, tuple) else item


def column_names(frame: Any) -> list[str]:
    """Return the names of the columns of a frame; TypeError if it is none."""
    if not is_frame(frame):
        raise TypeError(f"Chunks that an encoder reads must be frames with named columns; got {type(frame).__name__}.")
    return [str(name) for name in getattr(frame, "column_names", frame.columns)]


def record_batch(frame: Any, columns: Sequence[str]) -> Any:
    """Return some columns of a frame as one record batch."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("Text in chunks needs pyarrow: pip install 'spkm[parquet]'.") from error
    names = column_names(frame)
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(f"A chunk of X has no column {missing[0]!r}; it has {', '.join(map(repr, names[:20]))}.")
    if isinstance(frame, pa.RecordBatch):
        return frame
    if hasattr(frame, "to_arrow"):
        frame = frame.select(list(columns)).to_arrow()
    if isinstance(frame, pa.Table):
        batches = frame.select(list(columns)).combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], frame.schema)
    try:
        return pa.RecordBatch.from_pandas(frame[list(columns)], preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"Each column of X must hold cells of one kind: {'; '.join(map(str, error.args))}.") from error
