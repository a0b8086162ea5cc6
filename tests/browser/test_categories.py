"""Pages of mixed tables: categories are lists of levels, explained and changed as one thing."""

import json

import numpy as np
import pytest

from spkm.explain import explain
from tests.browser.test_pages import copied, facts_of, select

pytestmark = pytest.mark.browser
WHAT_IF = "return document.querySelector('#what-if-answer').textContent"


@pytest.fixture
def page(browser, pages):
    model, X, _, path = pages("categories")
    browser.open(path)
    return model, X, facts_of(browser)


def place(found, name):
    return next(c for c, column in enumerate(found["columns"]) if column["name"] == name)


def told(model, row):
    """Return what a page says of a sample of the table."""
    score = model.decision_function(row)[0]
    return f"Now: {model.classes_[int(score > 0)]}", f"{abs(score):.4g}"


def test_a_level_is_chosen_from_a_list_and_a_number_can_be_missing(page, browser):
    model, X, found = page
    select(browser, "what-if")
    if browser.run("return document.querySelectorAll('#panel-what-if .controls button').length") == 3:
        browser.run("document.querySelectorAll('#panel-what-if .controls button')[2].click()")
    row = X.iloc[[found["rows"]["index"][0]]].copy()
    assert {"name", "features", "options", "missing", "linked"} <= set(found["columns"][place(found, "soil")])
    choose = """
        const box = document.getElementById('level-' + arguments[0]);
        box.value = [...box.options].find(o => o.textContent === arguments[1]).value;
        box.dispatchEvent(new Event('change', {bubbles: true}));
    """
    for name, level, value in (("soil", "sand", "sand"), ("species", "basil", "basil"), ("fertilised", "True", True)):
        browser.run(choose, place(found, name), level)
        row[name] = value
        for part in told(model, row):
            assert part in browser.run(WHAT_IF)
    column = found["columns"][place(found, "light_hours")]
    tick = f"document.getElementById('slide-{column['features'][0]}-missing').click()"
    browser.run(tick)
    row["light_hours"] = np.nan
    for part in told(model, row):
        assert part in browser.run(WHAT_IF)
    changes = browser.text("#what-if-changes")
    assert "→ sand" in changes and "→ (missing)" in changes


def test_shapley_values_are_those_of_the_columns(page, browser):
    model, X, found = page
    select(browser, "explain")
    lines = [line.rsplit(",", 1) for line in copied(browser, "By features").splitlines()[1:]]
    index = np.array(found["rows"]["index"])
    expected = explain(model, X.iloc[index[:1]], X.iloc[index[found["page"]["background"]]])
    values = dict(zip(expected.feature_names, expected.values[0, :, 0], strict=True))
    assert {line[0].split(",")[0] for line in lines} == {c["name"] for c in found["columns"]}
    for text, value in lines:
        np.testing.assert_allclose(float(value), values[text.split(",")[0]], atol=1e-9)
    soil = X.iloc[index[0]]["soil"]
    assert f"soil = {soil}" in browser.text("#panel-explain") or "others" in browser.text("#panel-explain")


def test_the_smallest_change_that_is_shown_flips_the_answer(page, browser):
    model, X, found = page
    select(browser, "explain")
    scores = np.abs(model.decision_function(X.iloc[found["rows"]["index"]]))
    pick = "const box = document.getElementById('pick-A'); box.value = arguments[0];"
    browser.run(pick + "box.dispatchEvent(new Event('change'))", int(np.argmin(scores)))
    browser.click("#find")
    now = model.predict(X.iloc[[found["rows"]["index"][int(np.argmin(scores))]]])[0]
    wanted = next(c for c in model.classes_ if c != now)
    assert f"Then the prediction is {wanted}" in browser.text("#flip")
    assert "Proved by bounds" in browser.text("#flip")


def test_a_row_of_the_table_can_be_pasted(page, browser):
    model, X, _ = page
    select(browser, "explain")
    browser.run("document.querySelector('#panel-explain details').open = true")
    for i in (3, 7):
        row = {name: None if value != value else value for name, value in X.iloc[i].to_dict().items()}
        browser.run("document.getElementById('paste-A').value = arguments[0]", json.dumps(row, default=str))
        browser.click("#use-A")
        score = model.decision_function(X.iloc[[i]])[0]
        assert f"{abs(score):.4g}" in browser.text("#panel-explain .answer")
    browser.run("document.getElementById('paste-A').value = arguments[0]", json.dumps({**row, "fertilised": "maybe"}))
    browser.click("#use-A")
    assert "fertilised must be one of False, True" in browser.text("#panel-explain .warn")


def test_a_page_without_rows_begins_at_levels(browser, pages):
    *_, path = pages("categories", privacy="aggregate")
    browser.open(path)
    select(browser, "what-if")
    chosen = (
        "return [...document.querySelectorAll('#panel-what-if select')].map(box => box.selectedOptions[0].textContent)"
    )
    assert browser.run(chosen) and "(none of its levels)" not in browser.run(chosen)
    assert "basis vector u0" in browser.text("#what-if-answer")
