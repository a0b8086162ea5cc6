"""Ways from a fitted model to answers that must agree: files, exports that are run, compiled functions, chunks.

A way is a function ``way(model, X, folder)`` of a fitted estimator or pipeline, samples and an empty folder. It returns
the answers that it has: "scores", "probabilities" and "predict", or raises ``NotPossible`` with the reason why this
model has no such way. A new way is a function in ``WAYS``.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import runpy
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spkm._cells import is_missing, level_text
from spkm.persistence import NumpyModel, compiled, export, load, save
from spkm.persistence._export import plain_of
from spkm.tables.pipelines import before_last, encoder_of, last_of

Answers = dict[str, Any]
COMPILER, NODE = shutil.which("cc"), shutil.which("node")


class NotPossible(Exception):
    """There is no such way for a model."""


def answers_of(model: Any, X: Any) -> Answers:
    """Return the answers of Python: scores of the last model, probabilities and predictions."""
    rows = last_of(model)._rows(before_last(model, X))
    found = {"scores": last_of(model).model_.scores(rows), "predict": model.predict(X)}
    if hasattr(model, "predict_proba"):  # it depends on the loss
        found["probabilities"] = model.predict_proba(X)
    return found


def cells_of(X: Any) -> list[list[Any]]:
    """Return samples as rows of numbers, texts, truths and None."""
    if isinstance(X, pd.DataFrame):
        rows = X.astype(object).to_numpy().tolist()
    else:
        rows = (X.toarray() if hasattr(X, "toarray") else np.asarray(X)).tolist()
    return [[None if isinstance(cell, float) and cell != cell else cell for cell in row] for row in rows]


# Python


def by_pickle(model: Any, X: Any, folder: Path) -> Answers:
    return answers_of(pickle.loads(pickle.dumps(model)), X)


def by_file(model: Any, X: Any, folder: Path) -> Answers:
    save(model, folder / "model.spkm")
    return answers_of(load(folder / "model.spkm"), X)


def _light(light: NumpyModel, X: Any) -> Answers:
    given = X if isinstance(X, pd.DataFrame) else cells_of(X)
    found = {"scores": light.scores(given), "predict": light.predict(given)}
    if light.plain["probabilities"] is not None:
        found["probabilities"] = light.predict_proba(given)
    return found


def by_numpy_runtime(model: Any, X: Any, folder: Path) -> Answers:
    save(model, folder / "model.spkm")
    return _light(load(folder / "model.spkm", runtime="numpy"), X)


def by_json(model: Any, X: Any, folder: Path) -> Answers:
    export(model, folder / "model.json")
    return _light(NumpyModel(json.loads((folder / "model.json").read_text())), X)


def by_compiled(model: Any, X: Any, folder: Path) -> Answers:
    rows = cells_of(X)
    found = {"predict": np.array([compiled(model)(row) for row in rows])}
    if plain_of(model)["probabilities"] is not None:
        function = compiled(model, "predict_proba")
        found["probabilities"] = np.array([function(row) for row in rows])
    return found


def by_module(model: Any, X: Any, folder: Path) -> Answers:
    export(model, folder / "model.py")
    module, rows = runpy.run_path(str(folder / "model.py")), cells_of(X)
    found = {name: [module[name](row) for row in rows] for name in ("scores", "probabilities", "predict")}
    return {name: np.array(values) for name, values in found.items() if values[0] is not None}


def by_rows(model: Any, X: Any, folder: Path) -> Answers:
    """One sample at a time."""
    part = (lambda i: X.iloc[[i]]) if isinstance(X, pd.DataFrame) else (lambda i: X[[i]])
    parts = [answers_of(model, part(i)) for i in range(X.shape[0])]
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def by_chunks(model: Any, X: Any, folder: Path) -> Answers:
    """In chunks, as of a file that is too large for memory."""
    if isinstance(X, pd.DataFrame) or hasattr(X, "toarray") or encoder_of(model) is not None:
        raise NotPossible("chunks are of arrays here")
    half = len(X) // 2
    parts = list(last_of(model).predict_chunks([X[:half], X[half:]], "predict")) if last_of(model) is model else None
    if parts is None:
        raise NotPossible("a pipeline of arrays has no chunks")
    return {"predict": np.concatenate(parts)}


# Other languages


def by_javascript(model: Any, X: Any, folder: Path) -> Answers:
    if NODE is None:
        raise NotPossible("node is not installed")
    export(model, folder / "model.js")
    code = """const m = require(process.argv[1]), rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(Object.fromEntries(
  ["scores", "probabilities", "predict"].map((n) => [n, rows.map((row) => m[n](row))]))))"""
    command = [NODE, "-e", code, "--", str(folder / "model.js")]
    text = json.dumps(cells_of(X))
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode:
        raise AssertionError(result.stderr[-500:])
    found = json.loads(result.stdout)
    return {name: np.array(values) for name, values in found.items() if values[0] is not None}


MAIN = """#include <stdio.h>
#include "model.h"
static void put(const double *values, int n) { for (int i = 0; i < n; i++) printf(" %.17g", values[i]); printf("\\n"); }
int main(void)
{
    double x[SPKM_N_FEATURES + 1], f[SPKM_N_SCORES];
    for (;;) {
        for (int j = 0; j < SPKM_N_FEATURES; j++) if (scanf("%lf", x + j) != 1) return 0;
        spkm_scores(x, f);
        put(f, SPKM_N_SCORES);
#if SPKM_N_PROBABILITIES
        double p[SPKM_N_PROBABILITIES];
        spkm_probabilities(x, p);
        put(p, SPKM_N_PROBABILITIES);
#endif
#if SPKM_N_CLASSES
        double y[1];
        y[0] = spkm_predict(x);
        put(y, 1);
#else
        double y[SPKM_N_DECISIONS];
        spkm_predict(x, y);
        put(y, SPKM_N_DECISIONS);
#endif
    }
}
"""


def by_c(model: Any, X: Any, folder: Path) -> Answers:
    """A program that is compiled and run; behind an encoder it has the numbers that the encoder makes."""
    if COMPILER is None:
        raise NotPossible("no C compiler is installed")
    export(model, folder / "model.h")
    (folder / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-O1", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable"]
    command = [COMPILER, *flags, "main.c", "-o", "main", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr[-500:])
    encoder = encoder_of(model)
    rows = np.array(cells_of(X if encoder is None else encoder.transform(X)), dtype=float)
    text = "\n".join(" ".join(map(repr, row)) for row in rows.tolist())
    result = subprocess.run([folder / "main"], input=text, capture_output=True, text=True, check=True, timeout=60)
    lines = [[float(value) for value in line.split()] for line in result.stdout.splitlines()]
    plain = plain_of(model)
    names = ["scores", *(["probabilities"] if plain["probabilities"] is not None else []), "predict"]
    found = {name: np.array(lines[k :: len(names)]) for k, name in enumerate(names)}
    if plain["classes"] is not None:
        found["predict"] = np.array(plain["classes"])[found["predict"][:, 0].astype(int)]
    return found


CELLS = """#include "model.h"
void encode(const spkm_cell *row, double *x) { spkm_encode(row, x); }
void scores(const double *x, double *f) { spkm_scores(x, f); }
"""


class _Cell(ctypes.Structure):
    _fields_ = (("number", ctypes.c_double), ("text", ctypes.c_char_p))


def by_c_cells(model: Any, X: Any, folder: Path) -> Answers:
    """A library that is compiled and loaded, with the cells of the table as C has them: scores alone."""
    plain = plain_of(model)
    if COMPILER is None or "encoder" not in plain:
        raise NotPossible("no C compiler is installed, or no encoder is there")
    export(model, folder / "model.h")
    (folder / "cells.c").write_text(CELLS)
    flags = ["-std=c99", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-Wno-unused-function"]
    command = [COMPILER, *flags, "-Wno-unused-const-variable", "cells.c", "-o", "cells.so", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr[-500:])
    library, plans = ctypes.CDLL(str(folder / "cells.so")), plain["encoder"]["plans"]
    found = np.zeros((len(X), sum(len(member["intercept"]) for member in plain["members"])))
    for i, row in enumerate(cells_of(X)):
        cells = (_Cell * len(row))(*(_c_cell(cell, plan) for cell, plan in zip(row, plans, strict=True)))
        x, f = (np.zeros(size) for size in (plain["n_features"], found.shape[1]))
        library.encode(cells, ctypes.c_void_p(x.ctypes.data))
        library.scores(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(f.ctypes.data))
        found[i] = f
    return {"scores": found}


def _c_cell(cell: Any, plan: Any) -> _Cell:
    absent = is_missing(cell)
    if plan is not None and "levels" in plan:
        return _Cell(np.nan, None if absent else level_text(cell).encode("utf-8", "surrogatepass"))
    return _Cell(np.nan if absent or plan is None else float(cell), None)


def by_sqlite(model: Any, X: Any, folder: Path) -> Answers:
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, function in (("exp", np.exp), ("sqrt", np.sqrt)):  # not every build has them
            connection.create_function(
                name, 1, lambda x, function=function: None if x is None else float(function(x)), deterministic=True
            )
        connection.create_function("pow", 2, lambda a, b: None if a is None else float(a**b), deterministic=True)
        _table(model, X).to_sql("samples", connection, index=False)
        return _of_query(pd.read_sql_query(_query(model, folder), connection), plain_of(model))


def by_duckdb(model: Any, X: Any, folder: Path) -> Answers:
    if find_spec("duckdb") is None:
        raise NotPossible("duckdb is not installed")
    import duckdb

    query = _query(model, folder)
    with closing(duckdb.connect()) as connection:
        connection.register("given", _table(model, X))
        connection.execute("CREATE TABLE samples AS SELECT * FROM given")
        return _of_query(connection.execute(query).df(), plain_of(model))


def _query(model: Any, folder: Path) -> str:
    try:
        export(model, folder / "model.sql", details=True)
    except ValueError as error:
        if "too large for SQL" in str(error):
            raise NotPossible(str(error)) from error
        raise
    return (folder / "model.sql").read_text(encoding="utf-8")


def _table(model: Any, X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X.reset_index(drop=True)
    rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])


def _of_query(frame: pd.DataFrame, plain: dict[str, Any]) -> Answers:
    def block(name: str) -> np.ndarray:
        columns = [column for column in frame if column.startswith(f"spkm_{name}_")]
        columns.sort(key=lambda column: int(column.rsplit("_", 1)[1]))
        return frame[columns].to_numpy(dtype=float)

    scores = block("pair_score") if plain["combine"] == "pairs" else block("score")
    if plain["constants"] is not None:
        scores = scores[:, [constant is None for constant in plain["constants"]]]
    found: Answers = {"scores": scores}
    if plain["probabilities"] is not None:
        found["probabilities"] = block("probability")
    alone = "spkm_prediction" in frame
    found["predict"] = frame["spkm_prediction"].to_numpy() if alone else block("prediction")
    if plain["classes"] is not None and isinstance(plain["classes"][0], bool):  # SQLite has no truths
        found["predict"] = found["predict"].astype(bool)
    return found


def by_onnx(model: Any, X: Any, folder: Path) -> Answers:
    if find_spec("onnx") is None or find_spec("onnxruntime") is None:
        raise NotPossible("onnx and onnxruntime are not installed")
    import onnxruntime

    plain = plain_of(model)
    try:
        export(model, folder / "model.onnx")
    except ValueError as error:
        if "has a level ''" in str(error) or 'has a level ""' in str(error):
            raise NotPossible(str(error)) from error
        raise
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    feeds: dict[str, Any] = {}
    for one in session.get_inputs():
        if "encoder" not in plain:
            feeds[one.name] = np.array(cells_of(X), dtype=float)
        elif one.type == "tensor(string)":
            texts = ["" if is_missing(cell) else level_text(cell) for cell in X[one.name].tolist()]
            feeds[one.name] = np.array(texts, dtype=object)[:, None]
        else:
            feeds[one.name] = np.array([[np.nan if pd.isna(cell) else float(cell)] for cell in X[one.name].tolist()])
    names = [output.name.removeprefix("spkm_") for output in session.get_outputs()]  # where a column has the name
    raw = dict(zip(names, session.run(None, feeds), strict=True))
    scores = raw.get("pair_score", raw["score"])
    if plain["constants"] is not None:
        scores = scores[:, [constant is None for constant in plain["constants"]]]
    found = {"scores": scores, "predict": raw["prediction"] if "prediction" in raw else raw["label"]}
    if "probability" in raw:
        found["probabilities"] = raw["probability"]
    return found


def by_skl2onnx(model: Any, X: Any, folder: Path) -> Answers:
    """A graph that skl2onnx makes, with all other steps of a pipeline; its texts and numbers as in a table."""
    if find_spec("skl2onnx") is None or find_spec("onnxruntime") is None:
        raise NotPossible("skl2onnx and onnxruntime are not installed")
    import onnxruntime
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType

    from spkm.persistence import register_skl2onnx

    plain = plain_of(model)
    if "encoder" in plain:
        raise NotPossible("inputs of an encoder have other types in every case")
    register_skl2onnx()
    rows = np.array(cells_of(X), dtype=float)
    of_classes = plain["classes"] is not None
    options = {id(last_of(model)): {"zipmap": False}} if of_classes else None
    try:
        graph = convert_sklearn(
            model, initial_types=[("X", DoubleTensorType([None, rows.shape[1]]))], options=options, target_opset=18
        )
    except (NotImplementedError, ValueError) as error:
        raise NotPossible(str(error)) from error
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    first, *rest = session.run(None, {"X": rows})
    found: Answers = {"predict": first}
    if rest and plain["probabilities"] is not None:
        found["probabilities"] = rest[0]
    return found


#: Ways into other languages and formats; each takes a fitted estimator and samples.
EXPORTS: dict[str, Callable[[Any, Any, Path], Answers]] = {
    "numpy runtime": by_numpy_runtime,
    "plain JSON": by_json,
    "compiled function": by_compiled,
    "exported Python": by_module,
    "JavaScript": by_javascript,
    "C": by_c,
    "SQLite": by_sqlite,
    "DuckDB": by_duckdb,
    "ONNX": by_onnx,
    "skl2onnx": by_skl2onnx,
}

#: All ways, and whether their answers must be equal to the bit.
WAYS: dict[str, tuple[Callable[[Any, Any, Path], Answers], bool]] = {
    "pickle": (by_pickle, True),
    "model file": (by_file, True),
    "numpy runtime": (by_numpy_runtime, False),
    "plain JSON": (by_json, False),
    "compiled function": (by_compiled, False),
    "exported Python": (by_module, False),
    "one sample at a time": (by_rows, False),
    "chunks": (by_chunks, False),
    "JavaScript": (by_javascript, False),
    "C": (by_c, False),
    "C, from cells": (by_c_cells, False),
    "SQLite": (by_sqlite, False),
    "DuckDB": (by_duckdb, False),
    "ONNX": (by_onnx, False),
    "skl2onnx": (by_skl2onnx, False),
}
