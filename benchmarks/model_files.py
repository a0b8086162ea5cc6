"""Model files: 10,000 that are damaged or forged, and the sizes and times of whole ones."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks._data import Settings
from benchmarks._report import Row, at_most, below
from benchmarks._timing import seconds_of
from spkm import SPKMClassifier
from spkm.persistence import CompiledModel, ModelFileError
from spkm.persistence._export import FORMATS, plain_of, writer_of
from spkm.persistence._files import to_bytes
from spkm.persistence._load import from_bytes
from tests.fitted_cases import fitted
from tests.mutated_files import damaged, forged
from tests.pipeline_cases import fitted as pipeline_of

NAMES = ("two words, frame", "one against one", "views", "pairs, sparse", "landmarks", "labels, rest", "tables")
PIPELINES = ("three classes", "selector, frames")


def run(settings: Settings) -> Iterator[Row]:
    yield from _mutated(70 if settings.quick else 10_000)
    yield from _sizes_and_times(20 if settings.quick else 2000)


def _mutated(count: int) -> Iterator[Row]:
    wholes = [to_bytes(fitted(name)) for name in NAMES] + [to_bytes(pipeline_of(name)) for name in PIPELINES]
    rng = np.random.default_rng(0)
    refused = accepted = crashes = wrong = 0
    most = 0.0
    tracemalloc.start()
    for i in range(count):
        whole = wholes[i % len(wholes)]
        is_damaged = bool(rng.integers(2))
        changed = (damaged if is_damaged else forged)(whole, rng)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            from_bytes(changed, ("numpy", None)[int(rng.integers(2))])
            accepted += 1
            wrong += is_damaged and changed != whole
        except ModelFileError:
            refused += 1
        except Exception:  # whatever else it is, it is what is counted here
            crashes += 1
        most = max(most, (tracemalloc.get_traced_memory()[1] - before) / max(len(changed), 4096))
    tracemalloc.stop()
    yield Row("files, half damaged, half forged with a true checksum", count, form="{:d}")
    yield Row("refused with ModelFileError", refused, form="{:d}")
    yield Row("accepted: forged in what decides nothing, or sound models", accepted, form="{:d}")
    yield Row("damaged and yet accepted", wrong, at_most(0), "{:d}")
    yield Row("other errors", crashes, at_most(0), "{:d}")
    yield Row("most bytes allocated for each byte of a file (of 4 kB or more)", most, at_most(1000), "{:.0f}")


def _sizes_and_times(repeats: int) -> Iterator[Row]:
    X, y = load_breast_cancer(return_X_y=True)
    model = SPKMClassifier(n_basis=10, random_state=0).fit(X, y)
    whole = to_bytes(model)
    yield Row("kB of 10 vectors and 30 features, .spkm", len(whole) / 1e3, below(20), "{:.1f}")
    plain = plain_of(model)
    for suffix in sorted(set(FORMATS) - {".h"}):
        try:
            size = len(writer_of(suffix)(plain)) / 1e3
            yield Row(f"kB of the same, {suffix}", size, below(10) if suffix == ".onnx" else None, "{:.1f}")
        except ImportError:
            yield Row(f"kB of the same, {suffix}", "no package")
    for runtime in (None, "numpy"):
        best = min(seconds_of(partial(from_bytes, whole, runtime)) for _ in range(20))
        yield Row(f"ms to load it, runtime={runtime!r}", 1e3 * best, form="{:.1f}")
    for method in ("predict", "predict_proba"):
        best = min(seconds_of(partial(_often, model.compiled(method), X[0], repeats)) for _ in range(5)) / repeats
        yield Row(f"µs of compiled({method!r}), one sample", 1e6 * best, below(30), "{:.1f}")
    yield from _cold(whole, 2 if repeats < 100 else 10)


def _often(function: CompiledModel, row: np.ndarray, repeats: int) -> None:
    for _ in range(repeats):
        function(row)


def _cold(whole: bytes, repeats: int) -> Iterator[Row]:
    """Yield how long a new process takes for a first prediction, over that of importing NumPy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.spkm"
        path.write_bytes(whole)
        codes = {
            "numpy": "import numpy",
            "light": f"import spkm; spkm.load({str(path)!r}, runtime='numpy').predict([[0.0] * 30])",
            "whole": f"import spkm; spkm.load({str(path)!r}).predict([[0.0] * 30])",
        }
        best = {}
        for name, code in codes.items():
            call = partial(subprocess.run, [sys.executable, "-c", code], check=True)
            best[name] = min(seconds_of(call) for _ in range(repeats))
    light, estimator = best["light"] - best["numpy"], best["whole"] - best["numpy"]
    yield Row("s to a first prediction over importing NumPy, runtime='numpy'", light, below(0.3), "{:.3f}")
    yield Row("the same of the estimator", estimator, form="{:.3f}")
