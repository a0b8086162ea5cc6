"""``spkm predict``: the predictions of a model for the samples of a file, in chunks, so that memory stays flat."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spkm.cli._command import CommandError
from spkm.cli._output import STDIO, Progress, check_can_write, replacing, say, write_json
from spkm.cli._reading import CHUNK, add_data_options, data_error, needed, read_chunks

if TYPE_CHECKING:
    from pandas import DataFrame

    from spkm.cli._models import Model

#: Ends of names that promise what is not written.
OTHER_FORMATS = (".gz", ".xlsx", ".xls", ".ods", ".json", ".arrow", ".ipc", ".feather", ".npz", ".spkm")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file")
    parser.add_argument("data", help="the samples; - is stdin")
    parser.add_argument(
        "-o", "--output", default=STDIO, metavar="FILE", help="the predictions, .csv or .parquet; - is stdout (default)"
    )
    parser.add_argument("--id", action="append", default=[], metavar="COLUMN", help="copied beside the prediction")
    parser.add_argument(
        "--times",
        metavar="T,T",
        help="for a model of censored times: the probability of no event until each (quartiles of the event times)",
    )
    parser.add_argument("--chunk", type=int, default=CHUNK, metavar="N", help=f"samples held at once ({CHUNK})")
    parser.add_argument("--json", metavar="FILE", help="a summary of the run as JSON; - is stdout")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Predict and return the exit code."""
    from spkm.cli._models import read_model

    check_can_write("--output", options.output)
    name = options.output.lower()
    if name.endswith(OTHER_FORMATS):
        raise CommandError(f"--output must be a file of CSV or Parquet, such as p.csv or p.parquet; got {name!r}.")
    for option in ("output", "json"):
        path = getattr(options, option)
        if path not in (None, STDIO) and any(_same(path, other) for other in (options.data, options.model)):
            raise CommandError(f"--{option} must be a file of its own; got {path!r}.")
    if options.chunk < 1:
        raise CommandError(f"--chunk must be at least 1; got {options.chunk}.")
    if options.json == STDIO and options.output == STDIO:
        raise CommandError("--json - and the predictions cannot both go to stdout. Give -o a file.")
    started = time.perf_counter()
    model = read_model(options.model)
    times = asked_times(model, options.times)
    n_rows, progress = 0, Progress("predict")
    with _writer(options.output) as write:
        known = model.known(options.id)
        columns = None if model.names is None else list(dict.fromkeys([*options.id, *known.names]))
        for frame in read_chunks(options.data, options.format, options.chunk, columns, known):
            if len(frame) == 0:  # of a file that names columns alone
                break
            write(predictions(model, frame, options.id, options.data, n_rows, times))
            n_rows += len(frame)
            progress.tell(f"{n_rows:,} samples")
        if n_rows == 0:
            raise data_error(f"{options.data} holds no samples.")
    Progress.clear()
    seconds = time.perf_counter() - started
    written = "" if options.output == STDIO else f" Written: {options.output}"
    say(f"predicted {n_rows:,} samples in {seconds:.1f} s.{written}")
    if options.json is not None:
        result = {"model": options.model, "data": options.data, "samples": n_rows, "seconds": seconds}
        write_json(options.json, {**result, "written": options.output})
    return 0


def _same(path: str, other: str) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def asked_times(model: Model, text: str | None) -> list[float] | None:
    """Return the times of ``--times``."""
    if text is None:
        return None
    if model.task != "times":
        raise CommandError("--times is for models of censored times.")
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 <= time < float("inf") for time in found):
        raise CommandError(f"--times must be numbers of at least 0, between commas; got {text!r}.")
    return found


def predictions(model: Model, frame: DataFrame, ids: list[str], path: str, first: int = 0, times: Any = None) -> Any:
    """Return a frame with predictions, probabilities of classes or of no event until some times, and identifiers."""
    import numpy as np

    from spkm.tables.pipelines import before_last

    pd = needed("pandas")
    X = model.features(frame, path)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            out = _answers(model, before_last(model.whole, X), times)
    except (TypeError, ValueError) as error:
        raise data_error(f"samples {first} to {first + len(frame) - 1} of {path}: {error}") from error
    for values in out.values():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            place = first + int(np.flatnonzero(~np.isfinite(values))[0])
            raise data_error(f"sample {place} of {path} has no finite score: its numbers are too large for the model.")
    if taken := [name for name in ids if name in out]:
        raise CommandError(f"--id must not be a column of the predictions; got {taken[0]!r}. Rename it in the file.")
    return pd.DataFrame({**{name: frame[name].to_numpy() for name in ids}, **out})


def _answers(model: Model, Z: Any, times: Any) -> dict[str, Any]:
    """Return the columns of the predictions."""
    import numpy as np

    estimator = model.last
    p = estimator.predict(Z)
    out = {"prediction": p} if p.ndim == 1 else {f"prediction {k}": p[:, k] for k in range(p.shape[1])}
    if model.classes is not None and hasattr(estimator, "predict_proba"):  # a loss may have none
        names = [f"probability of {label}" for label in model.classes]
        out |= zip(names, estimator.predict_proba(Z).T, strict=True)
    if model.task == "times":
        at = np.quantile(estimator.event_times_, [0.25, 0.5, 0.75]) if times is None else times
        form = ".6g" if len({f"{time:.6g}" for time in at}) == len(at) else ".15g"  # no two have one name
        names = [f"survival until {time:{form}}" for time in at]
        out |= zip(names, estimator.predict_survival_function(Z, at).T, strict=True)
    return out


@contextmanager
def _writer(path: str) -> Iterator[Any]:
    """Yield a function that takes one frame after another. The file is there at the end, whole.

    After Ctrl-C the predictions so far are kept in a file of the name with ``.part`` at its end.
    """
    if path == STDIO:
        yield _CSV(sys.stdout)
        return
    with replacing(path) as temporary:
        if path.lower().endswith((".parquet", ".pq")):
            write: Any = _Parquet(temporary)
        else:
            write = _CSV(open(temporary, "w", encoding="utf-8", newline=""))
        try:
            yield write
        except KeyboardInterrupt:
            write.close()
            os.replace(temporary, f"{path}.part")
            say(f"the predictions so far are in {path}.part.")
            raise
        finally:
            write.close()


class _CSV:
    """Writes frames one below the other as CSV."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.first = stream, True
        self.close = stream.close

    def __call__(self, frame: DataFrame) -> None:
        frame.to_csv(self.stream, index=False, header=self.first, lineterminator="\n")
        self.first = False


class _Parquet:
    """Writes frames one below the other as Parquet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: Any = None

    def __call__(self, frame: DataFrame) -> None:
        pa = needed("pyarrow")
        schema = None if self.file is None else self.file.schema  # that of the first chunk, of all
        batch = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self.file is None:
            self.file = needed("pyarrow.parquet").ParquetWriter(self.path, batch.schema)
        self.file.write_table(batch)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
