"""``spkm doctor``: what is installed and, of a file of samples, what it holds and what a fit would take."""

from __future__ import annotations

import argparse
import os
import platform
import time
from typing import Any

from spkm.cli._command import Subparsers
from spkm.cli._output import STDIO, check_can_write, notes, say, table, write_json
from spkm.cli._reading import add_data_options

PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "pandas", "pyarrow", "matplotlib", "rich")
TRIAL = 1000  # samples of the fit that is timed


def add_parser(subparsers: Subparsers) -> None:
    """Add the options."""
    parser = subparsers.add_parser("doctor", help="say what is installed and what a file holds", description=__doc__)
    parser.add_argument("data", nargs="?", help="a file of samples; - is stdin")
    parser.add_argument("--target", metavar="COLUMN", help="what would be predicted; then a small fit is timed")
    parser.add_argument("--json", metavar="FILE", help="as JSON; - is stdout, instead of the text")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Look around and return the exit code."""
    check_can_write("--json", options.json)
    result: dict[str, Any] = {"system": _system()}
    if options.data is not None:
        from spkm.cli._reading import read_frame

        frame = read_frame(options.data, options.format)
        result["data"] = _data(frame, options.data)
        if options.target is not None:
            result["fit"] = _trial(frame, options.target)
    if options.json is not None:
        write_json(options.json, result)
    if options.json != STDIO:
        _show(result)
    return 0


def _system() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    import scipy.linalg  # noqa: F401  (loads the libraries that are asked for their threads)
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    import spkm

    versions = {"spkm": spkm.__version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    blas = [
        f"{one.get('internal_api')} {one.get('version')}, {one['num_threads']} threads" for one in threadpool_info()
    ]
    return {"versions": versions, "cores": cpu_count(), "blas": blas, "memory_bytes": _memory()}


def _memory() -> int | None:
    """Return the bytes of memory of the machine, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _data(frame: Any, path: str) -> dict[str, Any]:
    columns = []
    for name in frame.columns:
        column = frame[name]
        columns.append(
            {
                "column": str(name),
                "type": str(column.dtype),
                "missing": int(column.isna().sum()),
                "different": int(column.nunique()),
            }
        )
    return {
        "file": path,
        "samples": len(frame),
        "columns": columns,
        "memory_bytes": int(frame.memory_usage(deep=True).sum()),
    }


def _trial(frame: Any, target: str) -> dict[str, Any]:
    """Return what a fit would take, from a fit of a part of the samples: its time goes with their number."""
    import numpy as np

    from spkm.cli._fitting import fit_pipeline
    from spkm.cli._samples import samples_of

    samples = samples_of(frame, target, [])
    n = len(samples.y)
    rows = np.sort(np.random.default_rng(0).permutation(n)[:TRIAL])
    started = time.perf_counter()
    with notes():
        pipeline, _ = fit_pipeline(samples.at(rows), [], None, None, 0)
    seconds = time.perf_counter() - started
    width = len(pipeline.steps[0][1].feature_origin_)
    say(f"a fit of {len(rows)} samples took {seconds:.1f} s.")
    return {
        "task": samples.task,
        "features": width,
        "minutes": seconds * n / len(rows) / 60,
        "memory_bytes": 3 * 8 * n * width,  # the matrix, its scaled copy, and what is in work
    }


def _show(result: dict[str, Any]) -> None:
    system = result["system"]
    print(table([["package", "version"], *([name, v] for name, v in system["versions"].items())], right=False))
    print(f"{system['cores']} cores; {'; '.join(system['blas'])}")
    if system["memory_bytes"]:
        print(f"{system['memory_bytes'] / 2**30:.1f} GiB of memory")
    if "data" in result:
        data = result["data"]
        print(f"\n{data['file']}: {data['samples']:,} samples, {data['memory_bytes'] / 2**20:.1f} MiB in memory")
        rows = [[c["column"], c["type"], f"{c['missing']:,}", f"{c['different']:,}"] for c in data["columns"]]
        print(table([["column", "type", "missing", "different"], *rows]))
    if "fit" in result:
        fit = result["fit"]
        print(
            f"\nA fit predicts {fit['task']} from {fit['features']} features; about {fit['minutes']:.1f} minutes and "
            f"{fit['memory_bytes'] / 2**20:.0f} MiB of memory."
        )
