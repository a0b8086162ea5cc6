"""The JavaScript engine says what Python says, for every kernel and task."""

import json
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import spkm.persistence
from benchmarks._hostile.ways import WAYS, NotPossible
from spkm import SPKMClassifier, SPKMRegressor, TableEncoder, load
from spkm.persistence import NumpyModel, export
from tests.plain_cases import all_models, assert_agrees, mixed_rows
from tests.saving import plain_of, with_model

ENGINE = Path(spkm.persistence.__file__).with_name("_engine.js")
MODELS = all_models()
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

ASK_ALL = """
const { spkmModel } = require(process.argv[1]);
const { models, rows } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const methods = ["similarities", "contributions", "scores", "probabilities", "predict"];
const answers = models.map((plain) => {
  const model = spkmModel(plain);
  return Object.fromEntries(methods.map((name) => [name, rows.map((row) => model[name](row))]));
});
process.stdout.write(JSON.stringify(answers));
"""


def run_node(code, text, *arguments):
    result = subprocess.run(
        [NODE, "-e", code, "--", *arguments], input=text, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def answers():
    """Return what the engine says of all models."""
    rows = mixed_rows()
    plain = [plain_of(with_model(model)) for model in MODELS.values()]
    text = json.dumps({"models": plain, "rows": rows.tolist()}, allow_nan=False)
    return dict(zip(MODELS, json.loads(run_node(ASK_ALL, text, str(ENGINE))), strict=True))


@needs_node
@pytest.mark.parametrize("name", sorted(MODELS))
def test_engine_agrees_with_python(name, answers):
    found = answers[name]
    if found["probabilities"][0] is None:
        del found["probabilities"]
    assert_agrees(MODELS[name], mixed_rows(), found, 1e-12)


@needs_node
@pytest.mark.parametrize("row, message", [([1.0], "must have 6 numbers"), ([None] * 6, "finite numbers")])
def test_engine_refuses_rows_that_are_none(row, message):
    code = """
    const { spkmModel } = require(process.argv[1]);
    const { plain, row } = JSON.parse(require("fs").readFileSync(0, "utf8"));
    try { spkmModel(plain).predict(row); } catch (error) { process.stdout.write(error.message); }
    """
    text = json.dumps({"plain": plain_of(with_model(MODELS["regression"])), "row": row})
    assert message in run_node(code, text, str(ENGINE))


def test_plain_form_is_json_without_infinite_numbers():
    for model in MODELS.values():
        plain = plain_of(with_model(model, [f"x{j}" for j in range(6)]))
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert np.isfinite(plain["n_features"])


ASK_ONE = """
const { spkmModel } = require(process.argv[1]);
const { text, rows } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const model = spkmModel(JSON.parse(text));
const answer = (row) => { try { return model.predict(row); } catch (error) { return error.message; } };
process.stdout.write(JSON.stringify(rows.map(answer)));
"""


def predicted_from_json(model, rows, tmp_path):
    """Return what the engine predicts from the JSON that a model exports."""
    export(model, tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text(encoding="utf-8")
    return json.loads(run_node(ASK_ONE, json.dumps({"text": text, "rows": rows}), str(ENGINE)))


@needs_node
@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**53, 2**53 + 1]),
        np.array([-(2**60) - 1, -(2**60), 4]),
        np.array([2**63, 2**63 + 1], dtype=np.uint64),
    ],
    ids=["53 bits", "60 bits", "64 bits"],
)
def test_labels_stay_apart_in_every_language(labels, tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 2))
    edges = np.quantile(X[:, 0], np.linspace(0, 1, len(labels) + 1)[1:-1])
    y = labels[np.digitize(X[:, 0], edges)]
    model = SPKMClassifier(n_basis=2, weight_penalty="rkhs", random_state=0).fit(X, y)
    want = [str(label) for label in model.predict(X)]
    assert set(want) == set(map(str, labels))
    assert list(map(str, predicted_from_json(model, X.tolist(), tmp_path))) == want
    for name in ("JavaScript", "SQLite", "model file", "numpy runtime", "exported Python", "compiled function"):
        try:
            found = WAYS[name][0](model, X, tmp_path)["predict"]
        except NotPossible:
            continue
        assert [str(label) for label in np.ravel(found).tolist()] == want, name
    if labels[-1] < 2**63:
        assert [str(label) for label in WAYS["ONNX"][0](model, X, tmp_path)["predict"].tolist()] == want
    else:
        with pytest.raises(ValueError, match="ONNX has no type for the classes"):
            model.export(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    "labels", [np.array([5, 2**63 + 1, 2**63 + 2], dtype=np.uint64), np.array(["a", "a\0"], dtype=object)]
)
def test_labels_that_numpy_merges_in_lists_stay_apart(labels, tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = labels[np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.7][: len(labels) - 1]))]
    model = SPKMClassifier(n_basis=3, weight_penalty="rkhs", random_state=0).fit(X, y)
    want = model.predict(X).tolist()
    assert set(want) == set(labels.tolist())
    model.save(tmp_path / "model.spkm")
    assert load(tmp_path / "model.spkm", runtime="numpy").predict(X).tolist() == want
    assert predicted_by_python(model, X, tmp_path) == want
    if labels.dtype == np.uint64:  # texts, all of them
        pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("duckdb")
        for name in ("SQLite", "DuckDB"):
            found = WAYS[name][0](model, pandas.DataFrame(X, columns=["x0", "x1"]), tmp_path)["predict"]
            assert list(found) == list(map(str, want)), name
    with pytest.raises(ValueError, match="ONNX has no type for the classes"):
        model.export(tmp_path / "model.onnx")


def predicted_by_python(model, X, tmp_path):
    """Return what the exported module predicts."""
    export(model, tmp_path / "model.py")
    return [runpy.run_path(str(tmp_path / "model.py"))["predict"](row) for row in X.tolist()]


@needs_node
def test_json_of_a_pipeline_is_read_by_the_engine_and_by_python(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    code, x = rng.integers(0, 3, 60), rng.standard_normal(60)
    first = 2**53 + 1
    X = pandas.DataFrame({"a": np.array(["u", "v", "w"])[code], "id": first + code, "x": x})
    model = make_pipeline(
        TableEncoder(categorical=["a", "id"], min_frequency=1), SPKMRegressor(n_basis=2, random_state=0)
    ).fit(X, code + x)
    rows = [["u", str(first), 0.5], ["v", str(first + 1), -1.0], ["w", str(first + 2), 0.0]]
    want = model.predict(pandas.DataFrame(rows, columns=list(X)).astype({"id": int}))
    size = np.abs(model[-1].model_.contributions(model[:-1].transform(X))).sum(axis=1).max()
    np.testing.assert_allclose(predicted_from_json(model, rows, tmp_path), want, atol=1e-12 * size)
    light = NumpyModel(json.loads((tmp_path / "model.json").read_text(encoding="utf-8")))
    np.testing.assert_allclose(light.predict(rows), want, atol=1e-12 * size)
    # A number of JavaScript that is the nearest one of several levels could be any of them.
    (refused,) = predicted_from_json(model, [["u", float(first), 0.5]], tmp_path)
    assert 'must be texts in column "id"' in refused
