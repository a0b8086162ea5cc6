"""``spkm doctor``: versions of packages and, for a file of samples, its columns and the cost of a fit."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spkm.cli._output import STDIO, finish, notes, show, table
from spkm.cli._reading import add_data_options

if TYPE_CHECKING:
    from pandas import DataFrame

PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "pandas", "pyarrow", "matplotlib", "rich")
TRIAL = 1000  # samples of several files that are looked at


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("data", nargs="?", help="a file of samples, a folder of them or a pattern; - is stdin")
    parser.add_argument("--target", metavar="COLUMN", help="the column to predict; then the cost of a fit is forecast")
    parser.add_argument("--json", metavar="FILE", help="as JSON; - is stdout, instead of the text")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Look around and return the exit code."""
    result: dict[str, Any] = {"system": _system()}
    if options.data is not None:
        from spkm.cli._reading import files_of, read_frame

        if options.data != STDIO and not Path(options.data).is_file() and len(files_of(options.data)) > 1:
            frame, n_samples = _beginning(options.data)
        else:
            frame = read_frame(options.data, options.format)
            n_samples = len(frame)
        result["data"] = _data(frame, options.data, n_samples)
        if options.target is not None:
            result["fit"] = _forecast(frame, options.target, n_samples)
    finish(options.json, result, lambda: _show(result))
    return 0


def _system() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    import scipy.linalg  # noqa: F401  (loads the libraries that are asked for their threads)
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    import spkm
    from spkm.estimators.forecast import machine_memory

    versions = {"spkm": spkm.__version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    blas = [
        f"{one.get('internal_api')} {one.get('version') or ''}".strip()
        + f", {one['num_threads']} thread{'s' * (one['num_threads'] != 1)}"
        for one in threadpool_info()
    ]
    return {"versions": versions, "cores": cpu_count(), "blas": blas, "memory_bytes": machine_memory()}


def _type_of(name: str, column: Any) -> str:
    """Return what a column holds, in the words of the pages."""
    from spkm.tables.columns import kind_of

    try:
        kind = kind_of(name, column.to_numpy())
    except (TypeError, ValueError):  # dates, lists and others, which an encoder refuses
        return str(column.dtype)
    return {"category": "text", "boolean": "true or false"}.get(
        kind, "whole number" if column.dtype.kind in "iu" else kind
    )


def _data(frame: DataFrame, path: str, n_samples: int) -> dict[str, Any]:
    columns = []
    for name in frame.columns:
        column = frame[name]
        columns.append(
            {
                "column": str(name),
                "type": _type_of(str(name), column),
                "missing": int(column.isna().sum()),
                "different": int(column.nunique()),
            }
        )
    return {
        "file": path,
        "samples": n_samples,
        "looked_at": len(frame),
        "columns": columns,
        "memory_bytes": int(frame.memory_usage(deep=True).sum()),
    }


def _beginning(pattern: str) -> tuple[Any, int]:
    """Return the first samples of a folder or pattern of files, and the number of all of them."""
    from spkm.cli._reading import data_error, needed
    from spkm.sources._parquet import opened

    needed("pyarrow")
    try:
        dataset = opened(pattern)
    except (OSError, ValueError) as error:
        raise data_error(str(error)) from error
    return dataset.head(TRIAL).to_pandas(), dataset.count_rows()


def _forecast(frame: DataFrame, target: str, n_samples: int) -> dict[str, Any]:
    """Return what a fit would take: the features that an encoder makes of some samples, and a forecast for them."""
    import numpy as np

    from spkm import SPKMClassifier, SPKMRegressor, TableEncoder
    from spkm.cli._samples import samples_of

    samples = samples_of(frame, target, [], drop_missing_target=True)
    rows = np.random.default_rng(0).permutation(len(samples.y))[:TRIAL]
    with notes():
        width = len(TableEncoder().fit(samples.X.iloc[np.sort(rows)]).feature_origin_)
    streamed = n_samples > len(frame)
    if samples.task == "classes":
        found = SPKMClassifier().forecast(
            n_samples, width, n_classes=max(2, len(np.unique(samples.y))), streamed=streamed
        )
    else:
        found = SPKMRegressor().forecast(n_samples, width, streamed=streamed)
    return {
        "task": samples.task,
        "features": width,
        "passes": found.passes,
        "minutes": found.minutes,
        "memory_bytes": found.memory_bytes,
        "words": str(found),
    }


def _show(result: dict[str, Any]) -> None:
    system = result["system"]
    print(table([["package", "version"], *([name, v] for name, v in system["versions"].items())], right=False))
    show(f"{system['cores']} cores; {'; '.join(system['blas'])}")
    if system["memory_bytes"]:
        show(f"{system['memory_bytes'] / 2**30:.1f} GiB of memory")
    if "data" in result:
        data = result["data"]
        size = data["memory_bytes"] * data["samples"] / max(1, data["looked_at"])
        part = f"; counts are of the first {data['looked_at']:,}" if data["looked_at"] < data["samples"] else ""
        show(f"\n{data['file']}: {data['samples']:,} samples, {size / 2**20:.1f} MiB in memory{part}")
        rows = [[c["column"], c["type"], f"{c['missing']:,}", f"{c['different']:,}"] for c in data["columns"]]
        print(table([["column", "type", "missing", "different"], *rows]))
    if "fit" in result:
        fit = result["fit"]
        show(f"\nThe target holds {fit['task']}. {fit['words']}")
