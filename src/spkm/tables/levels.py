"""The order of the levels of a column, if its table has one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spkm._frames import has_types, library_of
from spkm.tables.streams import FileTable, is_in_files


def level_order(X: Any, name: Any) -> list[Any] | None:
    """Return the levels of a column of a table, lowest first, if they are ordered; else None.

    Parameters
    ----------
    X : frame, lazy frame, Dask data frame, files or FileTable
        The table.
    name : str
        The column: an ordered category of pandas, an Enum of polars, an ordered dictionary of Arrow.
    """
    table = X.table if isinstance(X, FileTable) else X
    if not isinstance(name, str):
        return None
    if is_in_files(table) or isinstance(table, list):
        return _of_files(table, name)
    columns = table.collect_schema() if library_of(table) == "polars" else table.dtypes if has_types(table) else None
    try:
        kind = None if columns is None else columns[name]
    except KeyError:
        return None  # whoever reads the column reports it
    return levels_of(kind)


def levels_of(kind: Any) -> list[Any] | None:
    """Return the levels of a type of columns, lowest first, if they are ordered; else None."""
    categories = getattr(kind, "categories", None)  # of pandas and polars, if they are categories
    is_ordered = type(kind).__name__ == "Enum" or (kind == "category" and kind.ordered)  # of polars, of pandas
    if categories is None or not is_ordered:
        return None
    return list(categories)


def _of_files(table: object, name: str) -> list[Any] | None:
    from spkm.sources._parquet import opened

    if isinstance(table, list) and not all(isinstance(item, str | Path) for item in table):
        return None
    dataset = opened(table)
    if name not in dataset.schema.names:
        return None
    kind = dataset.schema.field(name).type
    if not (str(kind).startswith("dictionary") and kind.ordered):
        return None
    found = dataset.head(1, columns=[name]).column(name)
    levels: list[Any] = found.chunk(0).dictionary.to_pylist() if found.num_chunks else []
    return levels or None
