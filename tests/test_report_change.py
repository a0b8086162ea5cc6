"""The smallest change that a report finds in the browser, beside the certified one of Python."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import spkm
import spkm.persistence
from spkm import SPKMClassifier, SPKMRegressor, TableEncoder
from spkm.explain import counterfactual
from spkm.inspection import report

PAGE = Path(spkm.__file__).parent / "inspection" / "_report" / "page"
ENGINE = Path(spkm.persistence.__file__).with_name("_engine.js")
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

ASK = """
const machine = makeMachine(facts);
const answers = rows.map((row, i) => smallestChange(machine, row, wanted[i]));
const changed = (answer, i) => ({ ...answer, row: withChange(machine, rows[i], answer.changes) });
process.stdout.write(JSON.stringify(answers.map(changed)));
"""


def found_by_the_page(estimator, X, y, rows, wanted, tmp_path, **options):
    """Return what the scripts of the page find for some rows, and the features of the page."""
    report(estimator, tmp_path / "facts.json", X, y, **options)
    facts = json.loads((tmp_path / "facts.json").read_text())
    scripts = "\n".join(path.read_text() for path in (ENGINE, PAGE / "machine.js", PAGE / "change.js"))
    given = {"facts": facts, "rows": rows.tolist(), "wanted": wanted}
    code = f"{scripts}\nconst {{ facts, rows, wanted }} = JSON.parse(require('fs').readFileSync(0, 'utf8'));{ASK}"
    (tmp_path / "ask.js").write_text(code)
    command = [NODE, str(tmp_path / "ask.js")]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), facts["features"]["read"]


def data(n=150, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * [1.0, 10.0, 0.1, 3.0]
    return X, X[:, 0] * X[:, 1] / 10 + np.sin(X[:, 2] * 10)


MODELS = {
    "rbf and a linear part": SPKMClassifier(4, random_state=0),
    "three classes": SPKMClassifier(5, kernel="matern", weight_penalty="rkhs", random_state=0),
    "polynomial": SPKMClassifier(3, kernel="polynomial", random_state=0),
    "laplacian": SPKMClassifier(4, kernel="laplacian", weight_penalty="rkhs", random_state=0),
    "regression": SPKMRegressor(5, random_state=0),
}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_changes_are_as_small_as_the_certified_ones_or_proved_not_to_exist(name, tmp_path):
    X, f = data()
    if name == "regression":
        y, target = f, float(np.quantile(f, 0.9))
    else:
        y = np.digitize(f, np.quantile(f, [0.3, 0.7])) if name == "three classes" else (f > 0).astype(int)
        target = int(y.max())
    model = MODELS[name].fit(X, y)
    far = np.argsort(model.predict(X) if name == "regression" else y, kind="stable")
    rows = X[far[[0, 5, 10]]]
    found, features = found_by_the_page(model, X, y, rows, [target] * len(rows), tmp_path)
    sd = np.array([feature["sd"] for feature in features])
    ranges = {j: (feature["low"], feature["high"]) for j, feature in enumerate(features)}
    assert all(answer["proved"] for answer in found)
    for row, answer in zip(rows, found, strict=True):
        exact = counterfactual(model, row, target, ranges=ranges, margin=0.0)
        # The page's ranges and deviations are rounded, and either side leaves a thousandth open.
        if answer["proved"] and not answer["found"]:
            assert not exact.found
        elif answer["found"]:
            changed = np.array(answer["row"])
            assert answer["size"] == pytest.approx(np.linalg.norm((changed - row) / sd), rel=1e-9)
            reached = model.predict(changed[None])[0]
            on_the_edge = np.abs(model.model_.scores(changed[None])).min() < 1e-6
            assert on_the_edge or (reached >= target - 1e-6 if name == "regression" else reached == target)
            if answer["proved"]:
                assert answer["size"] <= exact.size * 1.01 + 1e-6


@pytest.mark.parametrize("way", ["encoder", "groups"])
def test_a_category_changes_as_a_whole(way, tmp_path):
    X, f = data(d=4)
    levels = np.array(["red", "green", "blue", "grey"])[np.digitize(X[:, 3], [-2.0, 0.0, 2.0])]
    y = (0.2 * f + np.where(levels == "green", 1.0, -1.0) > 0).astype(int)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "colour": levels})
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(5, random_state=0)).fit(table, y)
    Z, model = pipeline[0].transform(table), pipeline[-1]
    rows = Z[np.flatnonzero(y == 0)[:6]]
    if way == "encoder":
        answers, features = found_by_the_page(pipeline, table, y, rows, [1] * 6, tmp_path)
    else:
        groups = {"colour": [2, 3, 4, 5]}
        answers, features = found_by_the_page(model, Z, y, rows, [1] * 6, tmp_path, groups=groups)
    ranges = {j: (feature["low"], feature["high"]) for j, feature in enumerate(features[:2])}
    levels_changed = 0
    for row, answer in zip(rows, answers, strict=True):
        exact = counterfactual(model, row, 1, ranges=ranges, groups={"colour": [2, 3, 4, 5]}, margin=0.0)
        assert answer["proved"] and answer["found"] == exact.found
        changed = np.array(answer["row"])
        assert sorted(changed[2:]) == [0, 0, 0, 1]
        assert answer["size"] <= exact.size * 1.01 + 1e-6
        assert exact.size <= answer["size"] * 1.01 + 1e-6
        levels_changed += not np.array_equal(changed[2:], row[2:])
    assert levels_changed


def test_what_cannot_be_bounded_is_not_called_proved(tmp_path):
    X, f = data()
    y = np.digitize(f, np.quantile(f, [0.3, 0.7]))
    several = SPKMClassifier(2, multi_class="ovo", weight_penalty="rkhs", random_state=0).fit(X, y)
    assert not any(answer["proved"] for answer in found_by_the_page(several, X, y, X[y == 0][:2], [2, 2], tmp_path)[0])
    counts = np.abs(X)
    model = SPKMClassifier(3, kernel="tanimoto", weight_penalty="rkhs", random_state=0).fit(counts, f > 0)
    row = counts[[int(np.argmin(model.decision_function(counts)))]]
    assert not found_by_the_page(model, counts, f > 0, row, [True], tmp_path)[0][0]["proved"]


def linked_table(n=240):
    """Columns that determine one another: a code and its name, two scales of one temperature; and a wide whole one."""
    rng = np.random.default_rng(1)
    code = rng.integers(3, size=n)
    celsius = rng.normal(10, 8, n)
    table = pd.DataFrame(
        {
            "education": np.array(["school", "college", "university"])[code],
            "education_num": np.array([9, 13, 16])[code],
            "celsius": celsius,
            "fahrenheit": 32 + 1.8 * celsius,
            "gain": rng.integers(0, 90_000, n),
        }
    )
    score = 4 * (code - 1) + 0.1 * (celsius - 10) + (table["gain"] - 45_000) / 40_000
    return table, (score + 0.2 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("way", ["encoder", "samples"])
def test_columns_that_determine_one_another_change_together(way, tmp_path):
    table, y = linked_table()
    if way == "encoder":
        model = make_pipeline(TableEncoder(), SPKMClassifier(4, random_state=0)).fit(table, y)
        given, last = table, model[-1]
        Z, links = model[0].transform(table), [["education", "education_num"], ["celsius", "fahrenheit"]]
        titles = {name: np.flatnonzero(model[0].groups_ == k) for k, name in enumerate(table.columns)}
    else:
        given = Z = table.drop(columns="education").assign(education=lambda t: t["education_num"] ** 2)
        model = last = SPKMClassifier(4, random_state=0).fit(given, y)
        Z, links = np.asarray(Z, dtype=float), [["education_num", "education"], ["celsius", "fahrenheit"]]
        titles = {name: [k] for k, name in enumerate(given.columns)}
    rows = np.flatnonzero(last.model_.scores(Z)[:, 0] < 0)[::15]
    found, _ = found_by_the_page(model, given, y, Z[rows], [1] * len(rows), tmp_path)
    moved = {tuple(link): 0 for link in links} | {("gain",): 0}
    occurring = {tuple(row) for row in np.hstack([Z[:, titles[title]] for title in links[0]])}
    for i, answer in zip(rows, found, strict=True):
        assert answer["proved"] and answer["found"]
        new = np.array(answer["row"])
        assert last.model_.scores(new[None])[0, 0] > -1e-6
        assert tuple(np.hstack([new[titles[title]] for title in links[0]])) in occurring
        c, f = (new[titles[title][0]] for title in links[1])
        assert f == pytest.approx(32 + 1.8 * c)
        gain = new[titles["gain"][0]]
        assert gain == round(gain)
        for link in moved:
            moved[link] += any(np.any(new[titles[title]] != Z[i][titles[title]]) for title in link)
        exact = counterfactual(model, given.iloc[[i]], 1, ranges=given, margin=0.0)
        assert answer["size"] <= exact.size * 1.01 + 1e-3 and exact.size <= answer["size"] * 1.01 + 1e-3
    assert all(moved.values())


def test_links_of_samples_that_are_not_shown_stay(tmp_path):
    table, y = linked_table()
    numbers = table.drop(columns="education").assign(education=lambda t: t["education_num"] ** 2)
    model = SPKMClassifier(4, random_state=0).fit(numbers, y)
    report(model, tmp_path / "facts.json", numbers, y, privacy="aggregate")
    found = json.loads((tmp_path / "facts.json").read_text())
    page = found["page"]
    assert page["links"] == [] and any(column["linked"] for column in found["columns"])
