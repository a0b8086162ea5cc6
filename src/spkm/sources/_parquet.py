"""Tables in files or in a lazy frame: Parquet, Arrow IPC and CSV by pyarrow, polars' own scans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from glob import glob
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spkm.sources._arrow import record_batch
from spkm.sources._chunks import CHUNK_ENTRIES, Chunk, Reader, in_floats

if TYPE_CHECKING:
    from pyarrow import RecordBatch

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
}
OPEN_PARTS = 2  # parts of a table that are read in turn, in random order; each takes about 35 MB
READ_AT_ONCE = 2**16  # bytes of each column of a file
MISSING_TEXTS = ("None", "<NA>", "?")  # of CSV files, beside those of pyarrow
NUMERIC = ("int", "uint", "float", "double", "halffloat", "bool", "decimal")


class Batches:
    """Record batches of some columns of a dataset.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The table.
    columns : list of str
        The columns that are read.
    """

    def __init__(self, dataset: Any, columns: list[str]) -> None:
        self.dataset = dataset
        self.columns = columns

    def parts(self) -> list[Any]:
        """Return what can be read by itself: groups of rows of Parquet files, other files as a whole."""
        parts: list[Any] = []
        for fragment in self.dataset.get_fragments():
            parts += fragment.split_by_row_group() if _is_parquet(fragment) else [fragment]
        return parts

    def of_part(self, part: object, rows: int) -> Iterator[Any]:
        """Yield the batches of a part, of at most ``rows`` samples and none empty."""
        for batch in self._groups_of_file(part, rows) if self._is_whole(part) else self._scanned(part, rows):
            if batch.num_rows:
                yield batch

    def _is_whole(self, part: Any) -> bool:
        """Whether a Parquet file holds the columns just as the dataset says."""
        if not _is_parquet(part):
            return False
        schema, own = self.dataset.schema, part.physical_schema
        return all(name in own.names and own.field(name).type == schema.field(name).type for name in self.columns)

    def _groups_of_file(self, part: Any, rows: int) -> Iterator[Any]:
        """Yield batches of groups of rows of a Parquet file, decoded as they come: a scan holds whole groups, twice."""
        import pyarrow.parquet as pq

        with (
            part.filesystem.open_input_file(part.path) as stream,
            pq.ParquetFile(stream, buffer_size=READ_AT_ONCE, pre_buffer=False) as file,
        ):
            groups = [group.id for group in part.row_groups]
            yield from file.iter_batches(rows, row_groups=groups, columns=self.columns, use_threads=False)

    def _scanned(self, part: Any, rows: int) -> Iterator[Any]:
        yield from part.to_batches(
            schema=self.dataset.schema,
            columns=self.columns,
            batch_size=rows,
            batch_readahead=1,
            fragment_readahead=0,
            use_threads=False,
        )


def _is_parquet(part: object) -> bool:
    """Whether a part of a dataset is a Parquet file, or groups of rows of one."""
    import pyarrow.dataset as ds

    return isinstance(part, ds.ParquetFileFragment)


class BatchEncoder(Protocol):
    """Encoder of batches of mixed columns as numbers."""

    #: The columns that it reads, and the names of the features that it makes of them.
    columns: list[str]
    names: list[str]
    #: The encoder as fitted models hold it, with the names of the table.
    encoding: Any

    def encoded(self, batch: RecordBatch) -> np.ndarray:
        """Return the features of a batch, (n, number of names)."""
        ...


class TableReader(Reader):
    """Chunks of a table in files.

    Parameters
    ----------
    table : str, Path, sequence of them or pyarrow.dataset.Dataset
        A file, a folder, a pattern with ``*``, several files, or what pyarrow opened.
    target : str, list of str or None
        The column, or the columns, of y; None for predictions.
    weight : str or None
        The column of sample weights.
    features : sequence of str or None
        The columns of X; None is all others. Only columns that are asked for are read.
    encoder : BatchEncoder or None
        Encoder of its columns as X; if None, columns are numbers.
    """

    def __init__(
        self,
        table: Any,
        target: str | list[str] | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        encoder: BatchEncoder | None = None,
    ) -> None:
        dataset = opened(table)
        schema = dataset.schema
        self.target, self.weight, self.encoder = target, weight, encoder
        others = columns_beside(target, weight)
        columns = chosen_columns(schema.names, others, features if encoder is None else encoder.columns)
        self.names = columns if encoder is None else None  # what an encoder returns of a frame has no names, either
        self.width = len(columns if encoder is None else encoder.names)
        self.batches = Batches(dataset, [*columns, *others])
        if encoder is None:
            _check_numeric(schema, columns)
        single = encoder is None and all(str(schema.field(name).type) in ("float", "halffloat") for name in columns)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def chunks(self, rng: np.random.Generator | None = None) -> Iterator[Chunk]:
        """Yield all chunks, or those of random parts in turn."""
        parts = self.batches.parts()
        if rng is None:
            for part in parts:
                yield from self._of_part(part)
            return
        waiting = (self._of_part(parts[i], OPEN_PARTS) for i in rng.permutation(len(parts)))
        running = list(islice(waiting, OPEN_PARTS))
        while running:
            for part in running.copy():
                chunk = next(part, None)
                if chunk is not None:
                    yield chunk
                    continue
                running.remove(part)
                running += islice(waiting, 1)

    def _of_part(self, part: object, smaller: int = 1) -> Iterator[Chunk]:
        rows = max(1024, CHUNK_ENTRIES // smaller // max(1, self.width))
        return map(self._chunk, self.batches.of_part(part, rows))

    def _chunk(self, batch: RecordBatch) -> Chunk:
        y = None if self.target is None else _targets(lambda name: batch.column(name).to_numpy(False), self.target)
        weight = None if self.weight is None else batch.column(self.weight).to_numpy(zero_copy_only=False)
        X = self._numbers(batch, self.names) if self.encoder is None else self.encoder.encoded(batch)
        return Chunk(X, y, weight)

    def _numbers(self, batch: RecordBatch, names: Any) -> np.ndarray:
        # Columns as rows of memory: they are copied whole, and products with them are as quick.
        X = np.empty((self.width, batch.num_rows), dtype=self.dtype)
        for row, name in zip(X, names, strict=True):
            row[...] = batch.column(name).to_numpy(zero_copy_only=False)
        return X.T


def _check_numeric(schema: Any, names: list[str]) -> None:
    for name in names:
        kind = str(schema.field(name).type)
        if not kind.startswith(NUMERIC):
            raise ValueError(
                f"X must hold numbers; column {name!r} holds {kind}. Put a TableEncoder before the model, "
                "make_pipeline(TableEncoder(), model), or leave the column out by features."
            )


def columns_beside(target: str | list[str] | None, weight: str | None) -> list[str]:
    """Return the columns of targets and weights, which are no features."""
    targets = [] if target is None else [target] if isinstance(target, str) else list(target)
    return targets if weight is None else [*targets, weight]


class LazyFrameReader(Reader):
    """Chunks of a lazy frame of polars, which is run anew for each pass; parameters are those of TableReader."""

    def __init__(
        self,
        frame: Any,
        target: str | list[str] | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        encoder: BatchEncoder | None = None,
    ) -> None:
        self.target, self.weight, self.encoder = target, weight, encoder
        others = columns_beside(target, weight)
        schema = frame.collect_schema()
        self.columns = chosen_columns(schema.names(), others, features if encoder is None else encoder.columns)
        self.names = self.columns if encoder is None else None
        for name in self.names or ():
            if not (schema[name].is_numeric() or str(schema[name]) == "Boolean"):
                raise ValueError(
                    f"X must hold numbers; column {name!r} holds {schema[name]}. Put a TableEncoder before the model, "
                    "make_pipeline(TableEncoder(), model), or leave the column out."
                )
        self.frame = frame.select([*self.columns, *others])

    def chunks(self, rng: np.random.Generator | None = None) -> Iterator[Chunk]:
        """Yield all chunks, in the order of the frame."""
        width = len(self.columns if self.encoder is None else self.encoder.names)
        rows = max(1024, CHUNK_ENTRIES // max(1, width))
        for part in frames_of_lazy(self.frame, rows):
            for i in range(0, part.height, rows):
                piece = part.slice(i, rows)
                if self.encoder is None:
                    X = in_floats(piece.select(self.columns).to_numpy())
                else:
                    X = self.encoder.encoded(record_batch(piece, self.columns))
                y = None if self.target is None else _targets(piece.__getitem__, self.target)
                yield Chunk(X, y, None if self.weight is None else piece[self.weight].to_numpy())


def frames_of_lazy(frame: Any, rows: int) -> Iterator[Any]:
    """Yield a lazy frame of polars as frames of about ``rows`` samples."""
    if hasattr(frame, "collect_batches"):  # polars 1.34 and later
        yield from frame.collect_batches(chunk_size=rows)
        return
    at = 0  # slices, which scans of files read alone
    while True:
        part = frame.slice(at, rows).collect()
        if part.height == 0:
            return
        yield part
        at += rows


def chosen_columns(names: Sequence[str], others: list[str], features: Sequence[str] | None) -> list[str]:
    """Return the names of the features, checked against those that there are."""
    chosen = [name for name in names if name not in others] if features is None else list(features)
    for name in [*others, *chosen]:
        if name not in names:
            raise ValueError(f"X has no column {name!r}; it has {', '.join(map(repr, list(names)[:20]))}.")
    if not chosen:
        raise ValueError(f"X must have at least one feature beside {others}.")
    return chosen


def opened(table: Any) -> Any:
    """Return a table in files as pyarrow's dataset."""
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError("Tables in files need pyarrow: pip install 'spkm[parquet]'.") from error
    if isinstance(table, ds.Dataset):
        return table
    paths = _files(table)
    suffixes = {Path(path).suffix.lower() for path in paths}
    kinds = {FORMATS.get(suffix) for suffix in suffixes}
    if len(kinds) != 1 or None in kinds:
        raise ValueError(
            f"X must name files of one kind, {', '.join(FORMATS)}; got {', '.join(sorted(suffixes)) or 'no suffix'}."
        )
    kind = kinds.pop()
    return ds.dataset(paths, format=_csv() if kind == "csv" else kind)


def _csv() -> Any:
    """Return the format of CSV files, whose cells are missing where pandas and the command line say so."""
    import pyarrow.csv as csv
    import pyarrow.dataset as ds

    marks = [*csv.ConvertOptions().null_values, *MISSING_TEXTS]
    return ds.CsvFileFormat(convert_options=csv.ConvertOptions(null_values=marks, strings_can_be_null=True))


def _files(table: Any) -> list[str]:
    if not isinstance(table, str | Path):
        return [str(path) for path in table]
    path = Path(table)
    if path.is_dir():
        # Hidden files are no data: a file that is being written beside them, say.
        found = [str(p) for p in path.rglob("*") if p.suffix.lower() in FORMATS and not p.name.startswith(".")]
    elif path.exists():
        found = [str(path)]
    else:
        found = [p for p in glob(str(table), recursive=True) if Path(p).is_file()]
    if not found:
        raise FileNotFoundError(f"X names no file: {str(table)!r} is no file, no folder with tables, and fits none.")
    return sorted(found)


def _targets(column: Callable[[str], Any], target: str | list[str]) -> np.ndarray:
    if isinstance(target, str):
        return np.asarray(column(target))
    return np.stack([np.asarray(column(name)) for name in target], axis=1)
