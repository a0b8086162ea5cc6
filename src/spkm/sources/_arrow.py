"""Frames as record batches of Arrow, which is what encoders of chunks read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from spkm._frames import is_frame, library_of


def frames_in(chunks: Iterable[Any] | Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Yield the samples of all chunks, without targets and weights."""
    for item in chunks() if callable(chunks) else chunks:
        yield item[0] if isinstance(item, tuple) else item


def column_names(frame: Any) -> list[str]:
    """Return the names of the columns of a frame; TypeError if it is none."""
    if not is_frame(frame):
        raise TypeError(f"Chunks that an encoder reads must be frames with named columns; got {type(frame).__name__}.")
    return [str(name) for name in (frame.column_names if library_of(frame) == "pyarrow" else frame.columns)]


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
    if library_of(frame) == "polars":
        frame = frame.select(list(columns)).to_arrow()
    if isinstance(frame, pa.Table):
        batches = frame.select(list(columns)).combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], frame.schema)
    try:
        return pa.RecordBatch.from_pandas(frame[list(columns)], preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"Each column of X must hold cells of one kind: {'; '.join(map(str, error.args))}.") from error
