"""Files of samples, CSV, Parquet, Arrow and NPZ, whole or in chunks, as frames of pandas; and files of models."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from glob import glob, has_magic
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from spkm.cli._command import DATA, MODEL_FILE, CommandError
from spkm.cli._output import STDIO

if TYPE_CHECKING:
    from pandas import DataFrame

    from spkm.cli._models import Model

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".npz": "npz",
}
SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
CHUNK = 50_000  # samples held at once where a file is read in chunks
DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d*,\d+)([eE][+-]?\d+)?")
NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
MOST_HEADER = 100  # lines of a header
MISSING = ["?"]  # marks of missing cells beside those of pandas


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the option that every verb with a file of samples has."""
    parser.add_argument(
        "--format",
        choices=("csv", "parquet", "arrow", "npz"),
        help="format of the file of samples; default: by its name (stdin: csv)",
    )


def add_target_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options that name the target: one column, or those of censored times."""
    parser.add_argument("--target", metavar="COLUMN", help=what)
    parser.add_argument("--time", metavar="COLUMN", help="column of censored times; with --event, in place of --target")
    parser.add_argument("--event", metavar="COLUMN", help="1 or true for an event, 0 or false for a censored time")


def target_of(options: argparse.Namespace) -> str | tuple[str, str]:
    """Return the column of the target, or those of times and events, or end with what is wrong with the options."""
    if (options.time is None) != (options.event is None):
        raise CommandError("--time and --event go together: the columns of times and of events.")
    if options.target is not None and options.time is not None:
        raise CommandError("the target is either --target COLUMN, or --time COLUMN and --event COLUMN; got both.")
    if options.target is None and options.time is None:
        raise CommandError(
            "the target must be named: by --target COLUMN, or by --time COLUMN and --event COLUMN. `spkm doctor DATA` "
            "lists the columns of a file."
        )
    if options.target is not None:
        return str(options.target)
    if options.time == options.event:
        raise CommandError(f"--time and --event must be two columns; got {options.time!r} for both.")
    return str(options.time), str(options.event)


def add_sample_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name one sample of a file."""
    parser.add_argument("--row", type=int, metavar="I", help="the sample by its place; the first is 0")
    parser.add_argument("--id", metavar="COLUMN=VALUE", help="the sample by its identifier, in place of --row")


def named_sample(model: Model, options: argparse.Namespace) -> tuple[DataFrame, int]:
    """Return the samples of a file and the place of the named one, or end with what is wrong with the options."""
    row, identifier, path = options.row, options.id, options.data
    if (row is None) == (identifier is None):
        raise CommandError("one sample must be named: by --row I or by --id COLUMN=VALUE.")
    column, equals, value = (identifier or "").partition("=")
    if identifier is not None and not equals:
        raise CommandError(f"--id must be COLUMN=VALUE; got {identifier!r}.")
    frame = model.read(path, options.format, [column])
    if row is not None:
        if not 0 <= row < len(frame):
            raise data_error(f"--row must be from 0 to {len(frame) - 1}, a sample of {path}; got {row}.")
        return frame, row
    if column not in frame.columns:
        raise data_error(f"--id: {path} has no column {column!r}; it has {columns_told(list(frame.columns))}")
    found = [place for place, cell in enumerate(frame[column].astype(str)) if cell == value]
    if len(found) != 1:
        raise data_error(f"--id {identifier}: {len(found)} samples of {path} have that value; one must.")
    return frame, found[0]


def words_of_sample(row: int, identifier: str | None) -> str:
    """Return a sample in words: its place, and its identifier if it was named by that."""
    return f"sample {row}" if identifier is None else f"sample {row}, {identifier}"


def read_saved(path: str, runtime: str | None = None) -> Any:
    """Return what a model file holds; a file that is none ends the command with exit code 4."""
    if not Path(path).is_file():
        raise CommandError(f"there is no model file {path!r}.", exit_code=MODEL_FILE)
    from spkm.persistence import load

    try:
        return load(path, runtime)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # whatever a damaged file leads to
        swapped = " The model comes first, then the samples." if kind_of_name(path) else ""
        raise CommandError(f"{path} cannot be read as a model file: {error}{swapped}", MODEL_FILE) from error


def needed(name: str) -> Any:
    """Return an optional package, or end with the way to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        package = name.split(".")[0]
        raise CommandError(
            f"files of samples need {package}, which is not installed: pip install 'spkm[cli]'.", exit_code=1
        ) from None


def data_error(message: str) -> CommandError:
    """Return the error for samples that cannot be used."""
    return CommandError(message, exit_code=DATA)


def listed_names(names: list[str]) -> str:
    """Return names in quotes, of many the first.

    Examples
    --------
    >>> listed_names([f"w{j}" for j in range(100)])
    "'w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8', 'w9' and 90 others"
    """
    shown = names if len(names) <= 20 else names[:10]
    left = len(names) - len(shown)
    return ", ".join(map(repr, shown)) + (f" and {left} others" if left else "")


def columns_told(names: list[str]) -> str:
    """Return the names of columns as the end of a message, with a hint if the first line of a file held values.

    Examples
    --------
    >>> columns_told(["age", "42"])
    "'age', '42'. The first line of a file must name the columns; '42' is a number."
    """
    listed = f"{listed_names(names)}."
    number = next((name for name in names if NUMBER.fullmatch(name)), None)
    if number is None:
        return listed
    return f"{listed} The first line of a file must name the columns; {number!r} is a number."


class Known(NamedTuple):
    """Columns that are known before a file is read.

    Attributes
    ----------
    texts : tuple of str
        Columns of a CSV file that are text even where they look like numbers.
    names : tuple of str
        Columns that the file should have: they decide on the separator of a CSV file.
    """

    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


NOTHING = Known()


def read_frame(path: str, kind: str | None = None, known: Known = NOTHING) -> Any:
    """Return all samples of a file as a frame."""
    pd = needed("pandas")
    chunks = list(read_chunks(path, kind, size=None, known=known))
    if sum(map(len, chunks)) == 0:
        raise data_error(f"{_called(path)} holds no samples.")
    return chunks[0] if len(chunks) == 1 else pd.concat(chunks, ignore_index=True)


def read_chunks(
    path: str,
    kind: str | None = None,
    size: int | None = CHUNK,
    columns: list[str] | None = None,
    known: Known = NOTHING,
) -> Iterator[Any]:
    """Yield the samples of a file as frames.

    Parameters
    ----------
    path : str
        The file, a folder of files or a pattern of their names; "-" is stdin.
    kind : str, default=None
        "csv", "parquet", "arrow" or "npz"; None is what the name says.
    size : int, default=50000
        Samples of a chunk; None is all of them.
    columns : list of str, default=None
        The columns that are wanted, in this order; None are all. Others are not read.
    known : Known
        Columns that are known before.
    """
    names: list[str] = []
    if not (Path(path).is_dir() or has_magic(path)):
        kind = kind or _kind_of(path)
    for file in files_of(path):
        for chunk in _chunks_of(file, kind or _kind_of(file), size, columns, known):
            names = names or list(chunk.columns)
            other = set(names) ^ set(chunk.columns)
            if other:
                raise data_error(
                    f"{file} has not the columns of the files before it; they differ in {', '.join(map(repr, other))}."
                )
            yield chunk[names]


def files_of(path: str) -> list[str]:
    """Return the files that a path means: itself, those of a folder or those that a pattern fits, in order of names.

    Hidden files are left out: a file that is being written, say.
    """
    if path == STDIO or Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        suffixes = tuple(FORMATS) + tuple(f"{suffix}.gz" for suffix in FORMATS)
        inside = [file for file in Path(path).rglob("*") if file.name.lower().endswith(suffixes)]
        found = [str(file) for file in sorted(inside) if file.is_file() and not file.name.startswith(".")]
        if not found:
            raise data_error(f"the folder {path!r} holds no file whose name ends with {', '.join(FORMATS)}.")
        return found
    found = sorted(file for file in glob(path, recursive=True) if Path(file).is_file()) if has_magic(path) else []
    if not found:
        raise data_error(f"there is no file {path!r}.")
    return found


def _chunks_of(path: str, kind: str, size: int | None, columns: list[str] | None, known: Known) -> Iterator[Any]:
    readers = {"csv": _csv, "parquet": _parquet, "arrow": _arrow, "npz": _npz}
    chunks = readers[kind](path, size, columns, known)
    while True:
        with _clear_errors(path, kind):  # around the reading alone, not around what is done with a chunk
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


def kind_of_name(path: str) -> str | None:
    """Return the format of a file of samples by its name; None if the name is not that of one."""
    return "csv" if path == STDIO else FORMATS.get(Path(path.lower().removesuffix(".gz")).suffix)


def _kind_of(path: str) -> str:
    kind = kind_of_name(path)
    if kind is None:
        if path.lower().endswith(SPREADSHEETS):
            raise data_error(f"{path!r} is a spreadsheet: save the sheet as CSV UTF-8, and give that file.")
        raise CommandError(
            f"{path!r} has none of the names {', '.join(FORMATS)}, which say what is in it. Give --format csv, "
            "parquet, arrow or npz."
        )
    return kind


def _called(path: str) -> str:
    return "stdin" if path == STDIO else path


@contextmanager
def _clear_errors(path: str, kind: str) -> Iterator[None]:
    """Turn what readers raise on a damaged file into one message."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # readers warn where they lose something
            yield
    except (CommandError, MemoryError):
        raise
    except PermissionError as error:
        raise data_error(f"cannot read {_called(path)}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        code = "utf-16" if error.object[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin1"
        raise data_error(
            f"{_called(path)} must be text in UTF-8; it holds the byte {error.object[error.start]:#04x}. Save it as "
            f"'CSV UTF-8' in a spreadsheet, or convert it, by `iconv -f {code} -t utf-8` say."
        ) from error
    except Exception as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise data_error(f"{_called(path)} cannot be read as {kind.upper()}: {reason}") from error


def _wanted(names: list[str], columns: list[str] | None, path: str) -> list[str]:
    """Return the columns to read, checked against those that are there."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise data_error(f"{_called(path)} has columns of the same name: {', '.join(map(repr, twice))}. Rename them.")
    if columns is None:
        return names
    absent = [name for name in columns if name not in names]
    if absent:
        raise data_error(f"{_called(path)} has no column {listed_names(absent)}; it has {columns_told(names)}")
    return columns


def _csv(path: str, size: int | None, columns: list[str] | None, known: Known) -> Iterator[Any]:
    pd = needed("pandas")
    with ExitStack() as stack:
        stream = _text(path, stack)
        # The header is read by itself: pandas would rename columns of the same name without a word.
        lines = _header(stream, path)
        line = "".join(lines)
        if not line.strip():
            raise data_error(f"{_called(path)} is empty: its first line must name the columns.")
        if "\x00" in line:
            raise data_error(f"{_called(path)} is no text.")
        separator, names = _names(lines, columns or known.names)
        wanted = _wanted(names, columns, path)
        options = {
            "names": names,
            "header": None,
            "index_col": False,  # and no usecols: with these, cells that are too many would be lost without a word
            "sep": separator,
            "na_values": MISSING,
            "skipinitialspace": True,
            "dtype": {name: "str" for name in known.texts if name in wanted},
            "low_memory": False,
        }
        try:
            whole = size is None
            for chunk in [pd.read_csv(stream, **options)] if whole else pd.read_csv(stream, chunksize=size, **options):
                yield chunk[wanted] if separator != ";" else _with_points(chunk[wanted], known.texts, path)
        except pd.errors.EmptyDataError:
            raise data_error(f"{_called(path)} names columns and holds no samples.") from None
        except pd.errors.ParserError as error:
            counts = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
            if counts is None:
                raise
            expected, number, found = map(int, counts.groups())  # pandas has not seen the header
            raise data_error(
                f"line {number + len(lines)} of {_called(path)} has {found} cells and its header {expected}. Put cells "
                f"that hold {separator!r} between quotes."
            ) from error


def _names(lines: list[str], columns: Sequence[str]) -> tuple[str, list[str]]:
    """Return the separator that has the wanted columns, of several the one of the most names; and these names."""
    wanted = set(columns)
    by_separator = {
        separator: [name.strip() for name in next(csv.reader(lines, delimiter=separator))] for separator in ",;\t|"
    }
    return max(by_separator.items(), key=lambda item: (wanted <= set(item[1]), len(item[1])))


def _header(stream: IO[str], path: str) -> list[str]:
    """Return the lines of the header: one, unless a name between quotes has line breaks."""
    lines = [stream.readline()]
    while sum(line.count('"') for line in lines) % 2:
        lines.append(stream.readline())
        if not lines[-1] or len(lines) > MOST_HEADER:
            raise data_error(f"{_called(path)} has a quote in its header that does not end: {lines[0].strip()[:80]!r}.")
    return lines


def _with_points(frame: DataFrame, as_text: tuple[str, ...], path: str) -> Any:
    """Return a frame whose columns of numbers with decimal commas, as files with semicolons have them, are numbers."""
    commas = {}
    for name in frame.columns:
        if frame[name].dtype.kind == "O" and name not in as_text:
            cells = frame[name].dropna()
            if len(cells) and all(isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell.strip()) for cell in cells):
                numbers = [float(cell.replace(",", ".")) for cell in cells]
                commas[name] = needed("pandas").Series(numbers, index=cells.index, dtype=float)
    points = [name for name in frame.columns if frame[name].dtype.kind == "f" and (frame[name].dropna() % 1 != 0).any()]
    if commas and points:
        raise data_error(
            f"{_called(path)} has decimal commas in column {next(iter(commas))!r} and points in column {points[0]!r}: "
            "1.234 may mean 1234. Write all numbers in one way, or name columns of codes by --categorical."
        )
    return frame.assign(**commas)


def _text(path: str, stack: ExitStack) -> IO[str]:
    if path == STDIO:
        return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
    opened = gzip.open if path.lower().endswith(".gz") else open
    return stack.enter_context(opened(path, "rt", encoding="utf-8-sig", newline=""))


def _bytes(path: str) -> Any:
    """Return a file that can be read in any order: stdin is held in memory."""
    return io.BytesIO(sys.stdin.buffer.read()) if path == STDIO else path


def _parquet(path: str, size: int | None, columns: list[str] | None, known: Known) -> Iterator[Any]:
    with needed("pyarrow.parquet").ParquetFile(_bytes(path)) as file:
        wanted = _wanted(file.schema_arrow.names, columns, path)
        if size is None:
            yield file.read(columns=wanted).select(wanted).to_pandas(ignore_metadata=True)
            return
        for batch in file.iter_batches(batch_size=size, columns=wanted):
            yield batch.select(wanted).to_pandas()


def _arrow(path: str, size: int | None, columns: list[str] | None, known: Known) -> Iterator[Any]:
    pa = needed("pyarrow")
    source = pa.BufferReader(sys.stdin.buffer.read()) if path == STDIO else pa.memory_map(path)
    with source:
        try:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        except pa.ArrowInvalid:  # the streaming form has no footer
            source.seek(0)
            reader = pa.ipc.open_stream(source)
            batches = iter(reader)
        wanted = _wanted(reader.schema.names, columns, path)
        for batch in batches:
            part = batch.select(wanted)
            step = size or max(part.num_rows, 1)
            for first in range(0, part.num_rows, step):
                yield part.slice(first, step).to_pandas()


def _npz(path: str, size: int | None, columns: list[str] | None, known: Known) -> Iterator[Any]:
    import numpy as np

    pd = needed("pandas")
    with np.load(_bytes(path), allow_pickle=False) as archive:
        if "X" not in archive or archive["X"].ndim != 2:
            raise data_error(f"{_called(path)} must hold a matrix X, and may hold a vector y; it has {archive.files}.")
        X = archive["X"]
        names = archive["names"].astype(str).tolist() if "names" in archive else [f"x{j}" for j in range(X.shape[1])]
        frame = pd.DataFrame(X, columns=names)
        if "y" in archive:
            frame["y"] = archive["y"]
    wanted = _wanted(list(frame.columns), columns, path)
    for first in range(0, len(frame), size or max(len(frame), 1)):
        yield frame[wanted].iloc[first : first + (size or len(frame))]
