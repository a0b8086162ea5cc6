"""Predictions of samples that do not fit in memory, written to a file as they come."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spkm._atomic import check_place, replacing
from spkm._frames import is_lazy_frame
from spkm.tables.pipelines import is_pipeline
from spkm.tables.streams import FileTable, is_in_files


def write_predictions(model: Any, X: Any, path: Any, method: str = "predict") -> int:
    """Write predictions of samples that are read in chunks to a file, in their order.

    Memory does not grow with the number of samples. The file is there at the end, whole: after an error there is none,
    or the one of before.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted, with ``predict_chunks``; a pipeline of a :class:`~spkm.TableEncoder` and such an estimator.
    X : path, FileTable, dataset, lazy frame, Dask collection, chunks
        Samples as in ``predict_chunks``; for a pipeline files, a lazy frame, a Dask data frame or chunks of frames.
    path : str or path
        File to write: .csv or .parquet.
    method : str, default="predict"
        Method to write: columns "prediction", or "prediction 0" and so on if there are several targets; for
        "predict_proba" a column "probability of ..." for each class; of another method columns of its name.

    Returns
    -------
    n_samples : int
        How many there were.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from spkm import SPKMRegressor, write_predictions
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = SPKMRegressor(2, random_state=0).fit(X, X[:, 0] ** 2)
    >>> with TemporaryDirectory() as folder:
    ...     n = write_predictions(model, [X[:20], X[20:]], f"{folder}/predictions.csv")
    ...     lines = Path(f"{folder}/predictions.csv").read_text().splitlines()
    >>> n, lines[0], len(lines)
    (50, 'prediction', 51)
    """
    target = Path(path)
    kind = WRITERS.get(target.suffix.lower())
    if kind is None:
        raise ValueError(f"path must end with one of {', '.join(WRITERS)}; got {str(path)!r}.")
    check_place(target)
    _check_other_file(X, target)
    parts, names_of = _predictions(model, X, method)
    n = 0
    with replacing(target) as beside:
        with open(beside, "wb") as stream:
            writer = kind(stream)
            try:
                for part in parts:
                    columns = part[:, None] if part.ndim == 1 else part
                    writer.write(names_of(part), columns.T)
                    n += len(part)
            finally:
                writer.close()
        if n == 0:
            raise ValueError("X must hold at least one sample.")
    return n


def _check_other_file(X: object, target: Path) -> None:
    """Raise ValueError where predictions would take the place of the samples that they are of."""
    table = X.table if isinstance(X, FileTable) else X
    if not target.exists() or not is_in_files(table):
        return
    from spkm.sources._parquet import opened

    files = getattr(opened(table), "files", [])  # a union of datasets has none
    if any(Path(file).samefile(target) for file in files):
        raise ValueError(f"path must be another file than those of X; got {str(target)!r}.")


def _predictions(model: Any, X: Any, method: str) -> tuple[Iterator[np.ndarray], Any]:
    """Return the chunks of predictions, and the function that names the columns of one."""
    check_is_fitted(model)
    if is_pipeline(model):
        X = FileTable(X) if is_lazy_frame(X) else X
        X, model = model[:-1].transform(X), model[-1]
        if not isinstance(X, FileTable):
            raise TypeError("For a pipeline X must be files or other chunks, and its first step a TableEncoder.")
    if not hasattr(model, "predict_chunks"):  # any estimator of scikit-learn may come
        raise TypeError(f"model must have predict_chunks; {type(model).__name__} has none.")
    if not hasattr(model, method):  # a method that depends on a parameter is there or not
        raise ValueError(f"method must be one of the model's; {type(model).__name__} has no {method!r}.")

    def names_of(part: np.ndarray) -> list[str]:
        if method == "predict_proba":
            return [f"probability of {label}" for label in model.classes_]
        name = "prediction" if method == "predict" else method
        return [name] if part.ndim == 1 else [f"{name} {k}" for k in range(part.shape[1])]

    return model.predict_chunks(X, method), names_of


class _CSV:
    """Writes columns one below the other as CSV; numbers are read back to the bit."""

    def __init__(self, stream: Any) -> None:
        self.text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        self.lines = csv.writer(self.text, lineterminator="\n")
        self.begun = False

    def write(self, names: list[str], columns: np.ndarray) -> None:
        if not self.begun:
            self.lines.writerow(names)
            self.begun = True
        self.lines.writerows(zip(*(column.tolist() for column in columns), strict=True))

    def close(self) -> None:
        self.text.detach()


class _Parquet:
    """Writes columns one below the other as Parquet."""

    def __init__(self, stream: object) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise ImportError("Parquet files need pyarrow: pip install 'spkm[parquet]'.") from error
        self.pa, self.pq, self.stream = pa, pq, stream
        self.file: Any = None

    def write(self, names: list[str], columns: np.ndarray) -> None:
        table = self.pa.table([self.pa.array(column) for column in columns], names=names)
        if self.file is None:
            self.file = self.pq.ParquetWriter(self.stream, table.schema)
        self.file.write_table(table.cast(self.file.schema))

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


WRITERS: dict[str, Any] = {".csv": _CSV, ".parquet": _Parquet, ".pq": _Parquet}
