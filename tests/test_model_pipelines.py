"""Pipelines of an encoder, a selector and a model: one file, and exports that carry categories and missing values."""

import json
import os
import runpy
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spkm
from spkm import SPKMClassifier, SPKMRegressor, TableEncoder
from spkm.persistence import CompiledModel, ModelFileError, compiled, describe, export, monitor, save
from tests.pipeline_cases import MAKERS, encoder, fitted, landmarks, mixed, selector_alone, targets, unseen
from tests.saving import exported, from_bytes, packed, plain_of, to_bytes, unpacked
from tests.test_exports import GCC
from tests.test_exports import compiled as compiled_c
from tests.test_model_files import assert_same

NAMES = sorted(MAKERS)
NEAR = {"rtol": 1e-9, "atol": 1e-9}


def rows_of(frame):
    """Return the cells of a frame as lists, None where they are missing."""
    return [[None if pd.isna(cell) else cell for cell in row] for row in frame.astype(object).to_numpy().tolist()]


def told(pipeline, frame):
    """Return what Python says: a dict of answers."""
    F = pipeline[-1].model_.scores(np.asarray(dense(pipeline[:-1].transform(frame))))
    found = {"scores": F, "predict": pipeline.predict(frame)}
    if hasattr(pipeline, "predict_proba"):
        found["probabilities"] = pipeline.predict_proba(frame)
    return found


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def assert_told(pipeline, frame, found):
    want = told(pipeline, frame)
    np.testing.assert_allclose(np.reshape(found["scores"], want["scores"].shape), want["scores"], **NEAR)
    if "probabilities" in want:
        np.testing.assert_allclose(found["probabilities"], want["probabilities"], **NEAR)
    if want["predict"].dtype.kind == "f":
        np.testing.assert_allclose(np.ravel(found["predict"]), want["predict"], **NEAR)
    else:
        assert list(found["predict"]) == want["predict"].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_pipeline_is_the_saved_one_to_the_bit(name, tmp_path):
    pipeline = fitted(name)
    spkm.save(pipeline, tmp_path / "model.spkm", data=mixed())
    loaded = spkm.load(tmp_path / "model.spkm")
    assert [key for key, _ in loaded.steps] == [key for key, _ in pipeline.steps]
    for (_, step), (_, again) in zip(pipeline.steps, loaded.steps, strict=True):
        for key, value in {} if step == "passthrough" else vars(step).items():
            assert_same(value, getattr(again, key), key)
    for frame in (mixed(), unseen()):
        for method in ("predict", "predict_proba", "decision_function"):
            if hasattr(pipeline, method):
                np.testing.assert_array_equal(getattr(loaded, method)(frame), getattr(pipeline, method)(frame))
    assert to_bytes(from_bytes(to_bytes(pipeline))) == to_bytes(pipeline)
    about = describe(tmp_path / "model.spkm")
    assert about["estimator"] == "Pipeline" and about["steps"][0] == "TableEncoder"
    assert about["feature_names"] == list(mixed().columns) and about["data"]["shape"] == [150, 6]
    assert monitor(loaded, mixed()).unlike <= 0.02 and os.listdir(tmp_path) == ["model.spkm"]


@pytest.mark.parametrize("name", NAMES)
def test_light_runtime_and_compiled_functions_encode_as_the_pipeline_does(name):
    pipeline = fitted(name)
    light = from_bytes(to_bytes(pipeline), "numpy")
    assert light.feature_names == list(mixed().columns) and light.n_features == 6
    for frame in (mixed(), unseen()):
        for given in (frame[frame.columns[::-1]], rows_of(frame)):
            found = {"scores": light.scores(given), "predict": light.predict(given)}
            if hasattr(pipeline, "predict_proba"):
                found["probabilities"] = light.predict_proba(given)
            assert_told(pipeline, frame, found)
    function = compiled(pipeline)
    want = pipeline.predict(unseen())
    got = [function(row) for row in rows_of(unseen())]
    np.testing.assert_allclose(got, want, **NEAR) if want.dtype.kind == "f" else np.testing.assert_array_equal(
        got, want
    )


def test_the_light_runtime_finds_columns_of_arrow_by_name():
    pa = pytest.importorskip("pyarrow")
    pipeline, frame = fitted("three classes"), mixed(12)
    light = from_bytes(to_bytes(pipeline), "numpy")
    table = pa.Table.from_pandas(frame, preserve_index=False).select(list(frame.columns)[::-1])
    for given in (table, table.to_batches()[0]):
        np.testing.assert_allclose(light.scores(given), light.scores(frame), **NEAR)
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 2)), columns=["a", "b"])
    model = SPKMRegressor(n_basis=2, weight_penalty="rkhs", random_state=0).fit(X, X["a"])
    turned = pa.Table.from_pandas(X[["b", "a"]])
    np.testing.assert_allclose(from_bytes(to_bytes(model), "numpy").predict(turned), model.predict(X), **NEAR)


def test_a_selector_before_a_model_becomes_one_model():
    pipeline, X = selector_alone()
    loaded, light = from_bytes(to_bytes(pipeline)), from_bytes(to_bytes(pipeline), "numpy")
    np.testing.assert_array_equal(loaded.predict(X), pipeline.predict(X))
    np.testing.assert_allclose(light.predict(X), pipeline.predict(X), **NEAR)
    plain = plain_of(pipeline)
    assert plain["n_features"] == 5 and "encoder" not in plain
    np.testing.assert_allclose([CompiledModel(plain)(row) for row in X[:9]], pipeline.predict(X[:9]), **NEAR)


def test_steps_without_a_plain_form_are_saved_but_not_exported(tmp_path):
    pipeline = landmarks()
    np.testing.assert_array_equal(from_bytes(to_bytes(pipeline)).predict(mixed()), pipeline.predict(mixed()))
    with pytest.raises(ModelFileError, match=r"SPKMNystroem as step 2.*runtime=None"):
        from_bytes(to_bytes(pipeline), "numpy")
    with pytest.raises(TypeError, match=r"got SPKMNystroem as step 2"):
        export(pipeline, tmp_path / "model.py")
    alone = TableEncoder().fit(mixed())
    alone.save(tmp_path / "encoder.spkm")
    np.testing.assert_array_equal(spkm.load(tmp_path / "encoder.spkm").transform(mixed()), alone.transform(mixed()))
    other = make_pipeline(StandardScaler(), SPKMRegressor(n_basis=2, tol=1e-2)).fit([[0.0], [1.0], [3.0]], [0, 1, 2])
    with pytest.raises(TypeError, match=r"StandardScaler"):
        save(other, tmp_path / "model.spkm")
    assert os.listdir(tmp_path) == ["encoder.spkm"]


def forged(change):
    """Return the bytes of a pipeline whose document was changed, with a true checksum."""
    document, arrays = unpacked(to_bytes(fitted("classes")))
    document = json.loads(json.dumps(document))
    change(document["estimator"])
    return packed(document, dict(arrays))


@pytest.mark.parametrize(
    "change",
    [
        lambda node: node["steps"].pop(0),
        lambda node: node["steps"][0][1]["plain"]["plans"].pop(0),
        lambda node: node["steps"][0][1]["plain"]["plans"][1]["levels"].append("more"),
        lambda node: node["steps"][0][1]["plain"]["plans"][0].update(fill="x"),
        lambda node: node["steps"][0][1]["plain"]["plans"][0].update(extra=1),
        lambda node: node["steps"][0].__setitem__(1, {"$": "pipeline", "steps": [], "kept": []}),
        lambda node: node.update(kept=[[0]]),
        lambda node: node.update(steps="no"),
        lambda node: node["steps"][0][1]["plain"]["plans"][1].update(levels=["a", "a", "b"]),
    ],
)
def test_forged_pipelines_are_refused(change):
    whole = forged(change)
    for runtime in (None, "numpy"):
        with pytest.raises(ModelFileError):
            from_bytes(whole, runtime)


# Exports


@pytest.mark.parametrize("name", NAMES)
def test_python_and_javascript_encode(name, tmp_path):
    pipeline = fitted(name)
    frame = pd.concat([mixed(), unseen()])
    methods = ["scores", "predict", *(["probabilities"] if hasattr(pipeline, "predict_proba") else [])]
    given = json.dumps({"rows": rows_of(frame), "methods": methods})
    export(pipeline, tmp_path / "model.py")
    export(pipeline, tmp_path / "model.js")
    python = """import json, runpy, sys
given, m = json.load(sys.stdin), runpy.run_path(sys.argv[1])
json.dump({name: [m[name](row) for row in given["rows"]] for name in given["methods"]}, sys.stdout)"""
    node = """const m = require(process.argv[1]), g = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(Object.fromEntries(g.methods.map((n) => [n, g.rows.map((row) => m[n](row))]))))"""
    commands = [[sys.executable, "-I", "-S", "-c", python, str(tmp_path / "model.py")]]
    if shutil.which("node"):
        commands.append(["node", "-e", node, "--", str(tmp_path / "model.js")])
    for command in commands:
        result = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        assert_told(pipeline, frame, json.loads(result.stdout))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_sql_encodes(name, database):
    pipeline, frame = fitted(name), pd.concat([mixed(), unseen()], ignore_index=True)
    if database == "duckdb":
        connection = pytest.importorskip("duckdb", reason="duckdb is not installed").connect()
        plain = frame.assign(**{key: frame[key].astype(float) for key in ("hours", "region")})
        connection.register("given", plain)
        connection.execute("CREATE TABLE samples AS SELECT * FROM given")
    else:
        connection = sqlite3.connect(":memory:")
        connection.create_function("exp", 1, lambda x: float(np.exp(x)), deterministic=True)
        connection.create_function("sqrt", 1, lambda x: float(np.sqrt(x)), deterministic=True)
        frame.to_sql("samples", connection, index=False)
    cursor = connection.execute(exported(pipeline, ".sql"))
    names, rows = [column[0] for column in cursor.description], cursor.fetchall()
    connection.close()
    columns = {key: [row[k] for row in rows] for k, key in enumerate(names)}
    found = {"scores": np.array([columns[key] for key in names if key.startswith("spkm_score")]).T}
    found["probabilities"] = np.array([columns[key] for key in names if key.startswith("spkm_probability")]).T
    found["predict"] = columns["spkm_prediction"]
    assert_told(pipeline, frame, found)


def c_row(frame, plans, row):
    cells = []
    for name, plan, cell in zip(frame.columns, plans, row, strict=True):
        is_level = plan is not None and "levels" in plan
        text = "NULL" if cell is None or not is_level else json.dumps(str(cell), ensure_ascii=False)
        cells.append(f"{{{'NAN' if cell is None or is_level or name == 'planet' else repr(float(cell))}, {text}}}")
    return "{" + ", ".join(cells) + "}"


@pytest.mark.skipif(GCC is None, reason="no C compiler is installed")
@pytest.mark.parametrize("name", ["classes", "selector, frames", "numbers"])
def test_c_encodes(name, tmp_path):
    pipeline, frame = fitted(name), unseen()
    plain = plain_of(pipeline)
    cells = ",\n".join(c_row(frame, plain["encoder"]["plans"], row) for row in rows_of(frame))
    main = f"""#include <stdio.h>
#include "model.h"
static const spkm_cell rows[][SPKM_N_COLUMNS] = {{
{cells}
}};
int main(void)
{{
    double x[SPKM_N_FEATURES], f[SPKM_N_SCORES];
    for (int i = 0; i < {len(frame)}; i++) {{
        spkm_encode(rows[i], x);
        spkm_scores(x, f);
        printf("%.17g\\n", f[0]);
    }}
    return spkm_column_names_at(0)[0] != 'a';
}}
"""
    program = compiled_c(tmp_path, exported(pipeline, ".c"), main)
    result = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    want = told(pipeline, frame)["scores"][:, 0]
    np.testing.assert_allclose([float(line) for line in result.stdout.split()], want, **NEAR)


@pytest.mark.parametrize("name", NAMES)
def test_onnx_encodes(name):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pipeline, frame = fitted(name), pd.concat([mixed(), unseen()])
    session = runtime.InferenceSession(exported(pipeline, ".onnx"), providers=["CPUExecutionProvider"])
    feeds = {}
    for one in session.get_inputs():
        column = frame[one.name]
        if one.type == "tensor(string)":
            texts = ["" if pd.isna(cell) else str(cell) for cell in column]
            feeds[one.name] = np.array(texts, dtype=object)[:, None]
        else:
            feeds[one.name] = column.astype(float).to_numpy()[:, None]
    assert list(feeds) == [
        name for name in frame if name != "planet"
    ]  # a column that is the same everywhere is not read
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, feeds), strict=True))
    found = {"scores": found["score"], "probabilities": found.get("probability"), "predict": found.get("label")} | (
        {"predict": found["prediction"]} if "prediction" in found else {}
    )
    assert_told(pipeline, frame, found)


def test_bad_cells_are_named():
    light = from_bytes(to_bytes(fitted("numbers")), "numpy")
    row = rows_of(mixed())[0]
    with pytest.raises(ValueError, match=r"Column 'age' must hold numbers.*'old'"):
        light.predict([["old", *row[1:]]])
    with pytest.raises(ValueError, match=r"Column 'hours' must hold finite numbers.*inf"):
        light.predict([[*row[:2], float("inf"), *row[3:]]])
    with pytest.raises(ValueError, match=r"must have 6 values; sample 1 has 2"):
        light.predict([row, row[:2]])
    with pytest.raises(ValueError, match=r"columns of the fit; 'age'"):
        light.predict(mixed().drop(columns="age"))


def test_the_fingerprint_of_texts_is_that_of_the_texts():
    frames = [mixed(), mixed().copy(deep=True)]
    assert len({spkm.persistence.fingerprint(frame)["sha256"] for frame in frames}) == 1
    other = mixed()
    other.loc[0, "work; DROP"] = "another"
    assert spkm.persistence.fingerprint(other) != spkm.persistence.fingerprint(mixed())
    assert len(targets(other)) == len(encoder().fit(other).transform(other))


def test_onnx_inputs_are_found_by_name():
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    rng = np.random.default_rng(0)
    # Columns that have the names of the graph's own, or of each other's places.
    names = ["x1", "x0", "score", "label", "spkm_v0", "X", "é \n"]
    X = pd.DataFrame(rng.standard_normal((80, len(names))), columns=names)
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=2, tol=1e-2, random_state=0))
    pipeline.fit(X, np.where(X["x1"] + X["score"] > 0, "yes", "no"))
    session = runtime.InferenceSession(exported(pipeline, ".onnx"), providers=["CPUExecutionProvider"])
    assert {one.name for one in session.get_inputs()} == set(names)
    (found,) = session.run(["spkm_label"], {name: X[[name]].to_numpy() for name in names})
    assert found.tolist() == pipeline.predict(X).tolist()
    assert json.loads(session.get_modelmeta().custom_metadata_map["feature_names"]) == names
    with pytest.raises(ValueError, match="A column cannot be called ''"):
        exported(pipeline.fit(X.rename(columns={"X": ""}), X["x1"] > 0), ".onnx")


@pytest.mark.parametrize(
    "cell, column", [("nan", "age"), ("1_0", "age"), ("", "age"), (7.5, "member"), ("yes", "member")]
)
def test_cells_that_are_no_numbers_are_refused_everywhere(cell, column, tmp_path):
    pipeline = fitted("numbers")
    row = rows_of(mixed())[0]
    row[list(mixed().columns).index(column)] = cell
    light, function = from_bytes(to_bytes(pipeline), "numpy"), compiled(pipeline)
    export(pipeline, tmp_path / "model.py")
    export(pipeline, tmp_path / "model.js")
    module = runpy.run_path(str(tmp_path / "model.py"))
    for predict in (lambda: light.predict([row]), lambda: function(row), lambda: module["predict"](row)):
        with pytest.raises(ValueError, match=f"'{column}' must hold (numbers|truths)"):
            predict()
    if shutil.which("node"):
        code = "require(process.argv[1]).predict(JSON.parse(process.argv[2]))"
        command = ["node", "-e", code, "--", str(tmp_path / "model.js"), json.dumps(row)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode != 0 and f'column "{column}" must hold' in result.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_names_levels_of_numbers_as_python_does(tmp_path):
    values = [0.1, 0.30000000000000004, 1e-5, -2.5e-7, 3e-4, 20.0, -4.0, 1e20, 1e22, 123456789.5, 0.0]
    X = pd.DataFrame({"level": np.repeat(values, 9), "x": np.tile(np.arange(9.0), len(values))})
    y = np.sin(np.repeat(np.arange(len(values)), 9)) + 0.01 * X["x"]
    pipeline = make_pipeline(TableEncoder(categorical=["level"]), SPKMRegressor(3, tol=1e-2, random_state=0)).fit(X, y)
    export(pipeline, tmp_path / "model.js")
    code = "const m = require(process.argv[1]); console.log(JSON.stringify(JSON.parse(process.argv[2]).map(m.predict)))"
    command = ["node", "-e", code, "--", str(tmp_path / "model.js"), json.dumps(X.to_numpy().tolist())]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
    np.testing.assert_allclose(found, pipeline.predict(X), **NEAR)
