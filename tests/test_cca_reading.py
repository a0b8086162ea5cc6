"""Summary and report of a canonical correlation analysis hold the figures of the estimator, cautions first."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import pearsonr

from spkm import SPKMCCA, SPKMRegressor
from spkm.explain import Relation, relations, summary
from tests.test_cca import QUICK, planted
from tests.test_report import EVIL, embedded

NEW = planted(150, seed=1)


@pytest.fixture(scope="module")
def model():
    return SPKMCCA(2, kernel_y="linear", random_state=0).fit(*planted())


def test_relations_are_those_of_the_estimator(model):
    found = relations(model, *NEW, n_permutations=99)
    assert_allclose([one.correlation for one in found], model.correlations(*NEW))
    assert_allclose([one.p_value for one in found], model.permutation_test(*NEW, 99, random_state=0))
    assert_allclose([one.training for one in found], model.correlations_)
    assert_allclose([one.validation for one in found], model.validation_correlations_)
    for one, x, y in zip(found, model.x_weights_, model.y_weights_, strict=True):
        assert one.n == 150 and one.n_training == 300 and one.cautions() == []
        for entries, own, letter in zip(one.entries, (x, y), "xy", strict=True):
            assert {e.name: e.weight for e in entries} == {f"{letter}{j}": own[j] for j in np.flatnonzero(own)}
            assert [abs(e.weight) for e in entries] == sorted((abs(e.weight) for e in entries), reverse=True)
    falls = found[0].entries[1][0]
    assert falls.shape(0) == ("rises" if falls.weight > 0 else "falls")  # a linear kernel


def test_an_interval_is_that_of_fisher():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(60)
    b = a + rng.standard_normal(60)
    found = pearsonr(a, b)
    one = Relation(0, ((), ()), 0.9, 0.9, 100, 60, float(found.statistic), 0.01)
    assert_allclose(one.interval, found.confidence_interval(0.95), rtol=1e-4)


def test_summary_without_samples(model):
    text = model.summary()
    assert text.startswith("2 components of 300 samples: 3 of 12 features of X by the kernel RBF and 2 of 12")
    assert "Component 1 relates x1 of X to y7 of Y. The two scores have a correlation of" in text
    assert "effect" not in text and "Caution" not in text
    assert max(map(len, model.summary(width=60).splitlines())) <= 60
    assert text._repr_html_().count("<table>") == 2
    assert "Component 1 relates" in model._repr_html_inner() and "Component 1" not in SPKMCCA()._repr_html_inner()
    formulas = model.formula()
    assert formulas.count("f0(x) = ") == formulas.count("f1(x) = ") == 2 and "scores of Y" in formulas


def test_summary_with_samples(model):
    pandas = pytest.importorskip("pandas")
    X, Y = (pandas.DataFrame(table).add_prefix(name) for table, name in zip(planted(), ("gene ", "acid "), strict=True))
    named = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(X[:200], Y[:200])
    text = named.summary(X[200:], Y[200:], n_permutations=19)
    assert re.search(r"1 +X +gene 1 +[+-]1\.000 +\S+ +(rises|falls)", text)
    assert "relates gene 1 of X to acid 7 of Y" in text and "on 100 samples (95 % interval" in text


def test_a_second_table_of_one_column():
    X, Y = planted()
    model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0, **QUICK).fit(X[:200], Y[:200, 7])
    assert "y0" in model.summary(X[200:], Y[200:, 7], n_permutations=19)


def test_cautions(model):
    of_the_fit = model.summary(*planted(), n_permutations=19)
    assert of_the_fit.startswith("Caution: Component 1 is judged by the samples of the fit")
    few = model.summary(NEW[0][:12], NEW[1][:12], n_permutations=19)
    assert "Component 2 is judged by few samples" in few
    rng = np.random.default_rng(0)
    noise = model.summary(*rng.uniform(-1, 1, (2, 100, 12)), n_permutations=19)
    assert "Component 1 is within chance: p =" in noise
    small = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(NEW[0][:10], NEW[1][:10])
    assert "10 samples are too few to hold some out" in " ".join(small.summary().split())
    with pytest.warns(UserWarning, match="Component 1 has a correlation"):
        unrelated = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0, **QUICK).fit(
            *rng.standard_normal((2, 100, 5))
        )
    assert "held-out samples that unrelated tables have by chance" in " ".join(unrelated.summary().split())


def test_report(model, tmp_path):
    for kind in ("json", "md", "html"):
        model.report(tmp_path / f"r.{kind}", *NEW, tables=("genes", "acids"), n_permutations=99)
    found = json.loads((tmp_path / "r.json").read_text())
    assert found == embedded(tmp_path / "r.html")["facts"]
    assert found["n"] == 150 and found["settings"] == {"n_components": "2", "kernel_y": "'linear'", "random_state": "0"}
    left, right = model.transform(NEW[0]), model.transform_y(NEW[1])
    for k, one in enumerate(found["relations"]):
        assert one["correlation"] == pytest.approx(model.correlations(*NEW)[k], rel=1e-4)
        points = np.column_stack([left[one["rows"], k], right[one["rows"], k]])
        assert_allclose(one["points"], points, rtol=1e-4)
        assert_allclose(one["weights"][0], model.x_weights_[k], rtol=1e-4)
        for entry in one["entries"][0]:  # an effect is the mean score with the feature set to a value
            changed = NEW[0].copy()
            changed[:, int(entry["name"][1:])] = entry["grid"][7]
            assert entry["effect"][7] == pytest.approx(model.transform(changed)[:, k].mean(), abs=1e-3)
    card = (tmp_path / "r.md").read_text()
    assert "relates x1 of genes to y7 of acids" in card and "| genes | x1 |" in card
    page = (tmp_path / "r.html").read_text()
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_a_report_says_first_whether_the_tables_go_together(model, tmp_path):
    def first(X, Y):
        path = model.report(tmp_path / "r.json", X, Y, tables=("genes", "acids"), n_permutations=99)
        return json.loads(path.read_text())["answer"][0]

    best = model.correlations(*NEW).max()
    assert first(*NEW).startswith("genes and acids go together: ") and first(*NEW).endswith(f"{best:.2f}.")
    apart = NEW[0], np.random.default_rng(0).permutation(NEW[1])
    assert first(*apart).startswith("No relation of genes and acids was found on 150 samples")


def test_report_of_curves_and_without_samples(model, tmp_path):
    path = model.report(tmp_path / "r.json", *NEW, x_axis=np.arange(12.0), privacy="aggregate", n_permutations=19)
    found = json.loads(path.read_text())
    assert found["axes"] == [{"label": "feature", "values": list(range(12))}, None]
    assert all(one["points"] is one["rows"] is None for one in found["relations"])
    assert all(e["grid"] is None for one in found["relations"] for own in one["entries"] for e in own)


def test_names_of_strangers_stay_text(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, Y = planted()
    frame = pandas.DataFrame(X[:, [1, 2, 3, 4]], columns=EVIL)
    model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0, **QUICK).fit(frame, Y)
    path = model.report(tmp_path / "r.html", frame, Y, title=EVIL[0], tables=(EVIL[1], EVIL[2]), n_permutations=19)
    found = embedded(path)
    assert found["facts"]["title"] == EVIL[0] and found["facts"]["tables"] == EVIL[1:3]
    assert "img" not in found["tags"] and found["tags"].count("script") == 3
    card = model.report(tmp_path / "r.md", frame, Y, n_permutations=19).read_text()
    assert "<script>" not in card


def test_bad_requests(model, tmp_path):
    for options, message in [
        ({"privacy": "none"}, "privacy must be one of"),
        ({"n_permutations": 9}, "n_permutations must be an integer of at least 19; got 9"),
        ({"tables": "XY"}, "tables must be a pair of names"),
        ({"x_axis": [1.0]}, "x must have a finite place for each of the 12 features"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.report(tmp_path / "r.html", *NEW, **options)
    with pytest.raises(ValueError, match=r"path must end with \.html, \.htm, \.md, \.json"):
        model.report(tmp_path / "r.pdf", *NEW)
    with pytest.raises(ValueError, match="X and y must be given together"):
        model.summary(NEW[0])
    with pytest.raises(ValueError, match=r"side\('x'\) and side\('y'\)"):
        summary(model)
    assert list(tmp_path.iterdir()) == []


def test_other_estimators_have_no_relations():
    regressor = SPKMRegressor(1, random_state=0).fit(NEW[0], NEW[0][:, 0])
    with pytest.raises(TypeError, match="must be a fitted SPKMCCA; got SPKMRegressor"):
        relations(regressor)
