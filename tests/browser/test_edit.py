"""Edits by hand in a page: on the cards, by keyboard, old and new side by side; kept when the width changes."""

import time

import numpy as np
import pytest

from spkm.explain import edited
from spkm.inspection import report
from tests.browser.test_pages import facts_of, select

pytestmark = pytest.mark.browser

CHOOSE = """
const box = document.getElementById('edit-' + arguments[0]);
box.value = arguments[1];
box.dispatchEvent(new Event('change'));
if (arguments.length > 2) {
  const field = box.parentNode.querySelector('input');
  field.value = arguments[2];
  field.dispatchEvent(new Event('change'));
}
"""
COPIED = """
let text = null;
const before = navigator.clipboard.writeText;
navigator.clipboard.writeText = (given) => { text = given; return Promise.resolve(); };
[...document.querySelectorAll('#edited button')].find(b => b.textContent === 'Copy as Python').click();
navigator.clipboard.writeText = before;
return text;
"""


def shown_tables(browser):
    return browser.run(
        """return [...document.querySelectorAll('#edited table')].map(t => [...t.querySelectorAll('tbody tr')]
             .map(r => [...r.children].map(c => c.textContent.replace('−', '-'))))"""
    )


def test_a_vector_is_dropped_and_another_pinned_on_their_cards(browser, pages):
    model, X, y, path = pages("two_classes")
    browser.open(path)
    select(browser, "basis")
    rows = [card["r"] for card in facts_of(browser)["basis"]["cards"]]
    assert browser.text("#edited") == browser.text("#edited-line") == ""
    browser.run(CHOOSE, rows[0], "dropped")
    browser.run(CHOOSE, rows[1], "pinned", "2.5")
    expected = edited(model, X, y, drop=[rows[0]], pin={rows[1]: 2.5})
    assert browser.run("return document.getElementById('edited-line').getAttribute('aria-live')") == "polite"
    assert browser.text("#edited-line").startswith(f"u{rows[0]} dropped, u{rows[1]} pinned")
    quality, weights = shown_tables(browser)
    assert quality[0][0] == "accuracy"
    np.testing.assert_allclose([float(v) for v in quality[0][1:]], [model.score(X, y), expected.score(X, y)], atol=5e-3)
    kept = [float(now) for label, _, now, _ in weights if label != f"u{rows[0]}"]
    np.testing.assert_allclose(kept, expected.dual_coef_, rtol=1e-3)
    pinned = browser.run(COPIED)
    assert pinned.strip() == f"edited = spkm.explain.edited(model, X, y, drop=[{rows[0]}], pin={{{rows[1]}: 2.5}})"
    browser.resize(420, 900)
    time.sleep(0.6)
    assert browser.text("#edited-line").startswith(f"u{rows[0]} dropped, u{rows[1]} pinned")
    assert browser.run("return document.getElementById('edit-' + arguments[0]).value", rows[1]) == "pinned"
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    browser.run("document.getElementById('undo-edits').click()")
    assert browser.text("#edited") == browser.text("#edited-line") == ""


def test_the_controls_of_a_card_work_by_keyboard(browser, pages):
    *_, path = pages("regression")
    browser.open(path)
    select(browser, "basis")
    row = facts_of(browser)["basis"]["cards"][0]["r"]
    label = f"return document.querySelector('label[for=edit-{row}]').textContent"
    assert browser.run(label) == f"Weight of u{row}:"
    browser.run("document.getElementById('edit-' + arguments[0]).focus()", row)
    browser.press("d")
    assert "dropped" in browser.text("#edited-line") and "R²" in browser.text("#edited-line")


def test_all_vectors_cannot_be_dropped(browser, pages):
    *_, path = pages("linear")
    browser.open(path)
    select(browser, "basis")
    for card in facts_of(browser)["basis"]["cards"]:
        browser.run(CHOOSE, card["r"], "dropped")
    assert browser.text("#edited-line").startswith("▲ A basis vector must be left")


def test_a_page_without_samples_edits_and_one_of_pairs_says_that_it_cannot(browser, pages, tmp_path):
    model, X, y, _ = pages("regression")
    browser.open(report(model, tmp_path / "page.html", X, y, privacy="aggregate"))
    select(browser, "basis")
    row = facts_of(browser)["basis"]["cards"][0]["r"]
    browser.run(CHOOSE, row, "dropped")
    assert "the scores change by" in browser.text("#edited-line") and "no samples" in browser.text("#edited")
    *_, path = pages("pairs")
    browser.open(path)
    assert "cannot be edited" in browser.text("#no-edit")
