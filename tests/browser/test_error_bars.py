"""Error bars in a page: half-widths that the browser takes off the refits are those of Python."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMRegressor, TableEncoder
from spkm.explain import explain, with_uncertainty
from spkm.inspection import report
from tests.browser.conftest import DATA
from tests.browser.test_pages import copied, facts_of, select
from tests.reports import shipped

pytestmark = pytest.mark.browser


def numbers():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return SPKMRegressor(n_basis=4, random_state=0).fit(X, y), X, y


def three_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return SPKMClassifier(n_basis=3, random_state=0).fit(X, y), X, y


def binary_problems():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return SPKMClassifier(n_basis=2, multi_class="ovr", random_state=0).fit(X, y), X, y


def categories():
    table = pd.read_csv(DATA / "seedlings.csv")
    X, y = table.drop(columns=["seedling", "thrives"]), table["thrives"].to_numpy()
    return make_pipeline(TableEncoder(), SPKMClassifier(n_basis=4, tol=1e-2, random_state=0)).fit(X, y), X, y


@pytest.fixture(scope="module", params=[numbers, three_classes, binary_problems, categories], ids=lambda f: f.__name__)
def sure(request, tmp_path_factory):
    model, X, y = request.param()
    model = with_uncertainty(model, X, y, n_refits=5, random_state=0)
    path = tmp_path_factory.mktemp("sure") / "page.html"
    return model, report(model, path, X, y)


def output_of(browser, found):
    """Open the explanation and return the score that it explains."""
    select(browser, "explain")
    several = len(found["model"]["outputs"]) > 1
    return browser.run("return Number(document.getElementById('output').value)") if several else 0


def expected_of(model, found):
    """Return the explanation of the first sample of the page, with its error bars, by Python."""
    last = model[-1] if hasattr(model, "steps") else model
    rows = shipped(found)
    whole = np.zeros((len(rows), found["model"]["n_features"]))
    whole[:, [feature["column"] for feature in found["features"]["read"]]] = rows
    groups = model[0].column_groups() if hasattr(model, "steps") else None
    explanation = explain(last.model_, whole[:1], whole[found["page"]["background"]], groups=groups)
    return whole, explanation, explanation.bars()


def test_bars_of_the_page_are_those_of_python(sure, browser):
    model, path = sure
    browser.open(path)
    found = facts_of(browser)
    output = output_of(browser, found)
    _, explanation, bars = expected_of(model, found)
    read = [feature["column"] for feature in found["features"]["read"]]
    if hasattr(model, "steps"):
        read = [explanation.feature_names.index(column["name"]) for column in found["columns"]]
    lines = copied(browser, "By features").splitlines()
    assert lines[0].endswith("Shapley value,±")
    values, halves = np.array([[float(cell) for cell in line.rsplit(",", 2)[1:]] for line in lines[1:]]).T
    scale = max(1.0, np.abs(explanation.values).max())
    np.testing.assert_allclose(values, explanation.values[0, read, output], atol=1e-10 * scale)
    np.testing.assert_allclose(halves, bars.half_width * bars.values[0, read, output], atol=1e-10 * scale)
    assert halves.max() > 1e-4 * scale
    lines = copied(browser, "By basis vectors").splitlines()
    assert lines[0] == "basis vector,adds,±,similarity"
    adds, halves = np.array([[float(cell) for cell in line.split(",")[1:3]] for line in lines[1:]]).T
    np.testing.assert_allclose(adds, explanation.contributions[0, :, output], atol=1e-10 * scale)
    np.testing.assert_allclose(halves, bars.half_width * bars.contributions[0, :, output], atol=1e-10 * scale)
    assert browser.run("return document.querySelectorAll('#panel-explain svg .error').length") > 2
    assert "bias that all of these models share" in browser.text("#panel-explain")
    assert browser.complaints() == []


def test_a_change_has_an_error_bar(sure, browser):
    model, path = sure
    browser.open(path)
    found = facts_of(browser)
    whole, _, bars = expected_of(model, found)
    last = model[-1] if hasattr(model, "steps") else model
    output = output_of(browser, found)
    select(browser, "what-if")
    assert "error bar" in browser.text("#what-if-answer")
    column = browser.run(
        """
        const bar = document.querySelector('#panel-what-if input[type=range]');
        bar.value = bar.max;
        bar.dispatchEvent(new Event('input'));
        return Number(bar.id.split('-')[1]);
        """
    )
    half = float(browser.run("return document.getElementById('shift').dataset.half"))
    feature = found["features"]["read"][column]
    moved = whole[:1].copy()
    moved[0, feature["column"]] = feature["high"]
    shifts = [(refit.scores(moved) - refit.scores(whole[:1]))[0, output] for refit in last.model_.refits]
    expected = bars.half_width * last.model_.refit_spread * np.std(shifts, ddof=1)
    np.testing.assert_allclose(half, expected, atol=1e-10 * max(1.0, abs(expected)))
    assert "The changes move the" in browser.text("#what-if-answer")


def test_pages_without_refits_have_no_bars(browser, pages):
    *_, path = pages("five_features")
    browser.open(path)
    select(browser, "explain")
    assert facts_of(browser)["refits"] is None
    assert browser.run("return document.querySelectorAll('#panel-explain svg .error').length") == 0
    assert "error bar" not in browser.text("#panel-explain")
