"""Edits by hand in a page, run by node: weights, scores and quality are those of ``edited`` in Python."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss

import spkm
import spkm.persistence
from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor
from spkm.explain import edited
from spkm.inspection import report
from tests.reports import shipped

PAGE = Path(spkm.__file__).parent / "inspection" / "_report" / "page"
ENGINE = Path(spkm.persistence.__file__).with_name("_engine.js")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

ASK = """
const [facts, wanted] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const machine = makeMachine(facts), rows = new Map(wanted);
const { engine, change } = editedModel(machine, rows);
const told = { change, scores: machine.rows.map((row) => engine.scores(row)), none: leavesNone(machine, rows) };
told.quality = Object.fromEntries(qualityOf(machine, engine));
told.before = Object.fromEntries(qualityOf(machine, machine.engine));
process.stdout.write(JSON.stringify(told));
"""


def written(model, X, y, tmp_path, **options):
    return json.loads(report(model, tmp_path / "facts.json", X, y, **options).read_text())


def asked(facts, wanted, tmp_path):
    scripts = "\n".join(path.read_text() for path in (ENGINE, PAGE / "machine.js", PAGE / "edit.js"))
    (tmp_path / "ask.js").write_text(f"{scripts}\n{ASK}")
    command = [NODE, str(tmp_path / "ask.js")]
    text = json.dumps([facts, wanted])
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def iris(**settings):
    X, y = load_iris(return_X_y=True)
    return SPKMClassifier(4, random_state=0, **settings).fit(X, y), X, y


def numbers(**settings):
    X = np.random.default_rng(0).uniform(-2, 2, size=(200, 2)).round(2)
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    return SPKMRegressor(6, random_state=0, **settings).fit(X, y), X, y


def views():
    X, y = load_breast_cancer(return_X_y=True)
    parts = {"means": slice(0, 10), "worst": slice(20, 30)}
    return SPKMClassifier(n_basis=3, views=parts, random_state=0, tol=1e-2).fit(X, y), X, y


def ordered():
    X, y = load_iris(return_X_y=True)
    return SPKMOrdinalClassifier(4, random_state=0).fit(X, y), X, y


CASES = {
    "softmax": iris,
    "one against the rest": lambda: iris(multi_class="ovr"),
    "one against one": lambda: iris(multi_class="ovo"),
    "two classes, a loss without probabilities": lambda: (
        lambda X, y: (SPKMClassifier(4, loss="squared_hinge", random_state=0).fit(X, y > 0), X, y > 0)
    )(*load_iris(return_X_y=True)),
    "numbers": numbers,
    "no intercept": lambda: numbers(fit_intercept=False),
    "no linear part": lambda: numbers(linear_part=False),
    "views": views,
    "ordered": ordered,
}


def wanted_of(model, drop, pin):
    """Return rows and weights as the page keeps them, for each vector that is dropped or pinned."""
    places, found, first = np.flatnonzero(model.model_.vector_rows), [], 0
    for member in model.model_.members:
        own = range(first, first + int(member.vector_rows.sum()))
        first = own.stop
        found += [[int(places[r]), [0.0] * member.n_outputs] for r in drop if r in own]
        found += [[int(places[r]), [weight] * member.n_outputs] for r, weight in pin.items() if r in own]
    return found


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory):
    model, X, y = CASES[request.param]()
    return model, X, y, written(model, X, y, tmp_path_factory.mktemp("case"))


@needs_node
@pytest.mark.parametrize(("drop", "pin"), [([1], {}), ([], {0: 0.5}), ([2], {1: -0.25})])
def test_edits_in_the_page_are_those_of_python(case, drop, pin, tmp_path):
    model, X, y, facts = case
    expected = edited(model, X, y, drop=drop, pin=pin)
    found = asked(facts, wanted_of(model, drop, pin), tmp_path)
    whole = X[facts["rows"]["index"]].copy()
    whole[:, [feature["column"] for feature in facts["features"]["read"]]] = shipped(facts)
    scores = expected.model_.scores(whole)
    size = np.abs(model.model_.contributions(whole)).sum(axis=1).max()
    np.testing.assert_allclose(found["scores"], scores, atol=1e-10 * size)
    np.testing.assert_allclose(found["change"], expected.edit_["score_change"], rtol=1e-8)
    assert not found["none"]
    shown = y[facts["rows"]["index"]]
    name = "R²" if shown.dtype.kind == "f" else "accuracy"
    np.testing.assert_allclose(found["before"][name], model.score(whole, shown), atol=1e-12)
    np.testing.assert_allclose(found["quality"][name], expected.score(whole, shown), atol=1e-9)
    if "log loss" in found["quality"]:
        P = np.clip(expected.predict_proba(whole), 1e-15, None)
        loss = log_loss(shown, P / P.sum(axis=1, keepdims=True), labels=model.classes_)
        np.testing.assert_allclose(found["quality"]["log loss"], loss, rtol=1e-9)


@needs_node
def test_a_vector_is_left_in_every_view(tmp_path):
    model, X, y = views()
    facts = written(model, X, y, tmp_path)
    for drop, none in (([0, 1, 2], True), ([0, 1, 3], False), ([3, 4, 5], True)):
        assert asked(facts, wanted_of(model, drop, {}), tmp_path)["none"] is none


@needs_node
def test_without_samples_in_the_file_there_is_the_change_and_no_quality(tmp_path):
    model, X, y = numbers()
    facts = written(model, X, y, tmp_path, privacy="aggregate")
    assert facts["rows"] is None
    found = asked(facts, wanted_of(model, [1], {}), tmp_path)
    np.testing.assert_allclose(found["change"], edited(model, X, drop=[1]).edit_["score_change"], rtol=1e-8)
    assert found["quality"] == {}


def test_sums_are_those_of_the_fit_where_it_is_known(tmp_path):
    model, X, y = numbers()
    few = written(model, X[:50], y[:50], tmp_path)["page"]["edit"]
    known = written(model, X[:50], y[:50], tmp_path, train=(X, y))["page"]["edit"]
    assert (few["n"], known["n"]) == (50, 200)
    assert known["members"][0]["sums"] == written(model, X, y, tmp_path)["page"]["edit"]["members"][0]["sums"]


def test_a_page_says_why_it_cannot_edit(tmp_path):
    X = np.random.default_rng(0).standard_normal((120, 2))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    monotone = SPKMClassifier(3, monotone={0: 1}, random_state=0).fit(X, y)
    three = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    many = SPKMClassifier(45, weight_penalty="rkhs", random_state=0, tol=1e-1).fit(X, three)
    pairs = np.array([(i, j) for i in range(12) for j in range(10)])
    table = pd.DataFrame(X[:12])
    paired = PairwiseSPKMRegressor(n_basis=2, random_state=0).fit(pairs, X[:, 0], left=table, right=table[:10])
    for model, rows, targets, text in (
        (monotone, X, y, "monotone"),
        (many, X, three, "too many"),
        (paired, pairs, X[:, 0], "pairs"),
    ):
        edit = written(model, rows, targets, tmp_path)["page"]["edit"]
        assert edit["members"] is None and text in edit["why"]
