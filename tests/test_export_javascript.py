"""The JavaScript engine says what Python says, for every kernel and task."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import spkm.persistence
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
