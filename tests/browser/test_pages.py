"""Reports in a real browser: they compute what Python computes, ask for nothing, and work by keyboard."""

import json
import re
import time

import numpy as np
import pytest

from spkm.explain import counterfactual, explain, nearest
from spkm.inspection import report
from tests.browser.conftest import KINDS
from tests.reports import shipped

pytestmark = pytest.mark.browser
TABS = ("overview", "quality", "basis", "features", "explain", "what-if", "compare", "checks")


def copied(browser, title):
    """Return the table behind a chart of the explanation, in full digits, by what its button copies."""
    return browser.run(
        """
        const all = [...document.querySelectorAll('#panel-explain figure')];
        const figure = all.find(f => f.textContent.startsWith(arguments[0]));
        let text = null;
        const before = navigator.clipboard.writeText;
        navigator.clipboard.writeText = (given) => { text = given; return Promise.resolve(); };
        figure.querySelector('details button').click();
        navigator.clipboard.writeText = before;
        return text;
        """,
        title,
    )


def select(browser, tab):
    browser.run("document.getElementById('tab-' + arguments[0]).click()", tab)


def facts_of(browser):
    return json.loads(browser.text("#facts"))


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_all_kinds_agree_with_python_and_ask_for_nothing(kind, browser, pages):
    *_, path = pages(kind)
    browser.media("light")
    browser.requests(), browser.complaints()
    browser.open(path)
    assert browser.text("#verified").startswith("✓"), browser.text("#verified")
    assert float(browser.run("return document.getElementById('verified').dataset.worst")) < 1e-12
    for tab in browser.run("return [...document.querySelectorAll('[role=tab]')].map(t => t.id.slice(4))"):
        select(browser, tab)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), f"{tab} is too wide"
    assert browser.complaints() == []
    assert browser.requests() == [path.resolve().as_uri()]
    assert browser.run("return document.title") == f"{kind} <title>"


@pytest.mark.parametrize(("anchor", "opened"), [("", "overview"), ("#what-if", "what-if"), ("#nothing", "overview")])
def test_a_page_opens_with_the_tab_of_its_address(anchor, opened, browser, pages):
    *_, path = pages("two_classes")
    browser.open("/dev/null")  # another anchor of the same page would not load it again
    browser.open(path, anchor=anchor)
    assert browser.run("return document.querySelector('[role=tab][aria-selected=true]').id") == f"tab-{opened}"


def test_a_page_does_not_move_the_page_that_it_is_embedded_in(browser, pages, tmp_path):
    *_, path = pages("two_classes")
    outer = tmp_path / "outer.html"
    frame = f"<iframe src='{path.resolve().as_uri()}#what-if' width=600 height=700></iframe>"
    outer.write_text(f"<!doctype html><div style='height: 3000px'></div>{frame}")
    browser.open(outer)
    time.sleep(1)
    assert browser.run("return scrollY") == 0


@pytest.mark.parametrize(
    "kind",
    [
        "two_classes",
        "regression",
        "five_features",
        "views",
        "pairs",
        "linear",
        "one_against_one",
        "survival",
        "ordered",
    ],
)
def test_shapley_values_of_the_page_are_those_of_python(kind, browser, pages):
    model, *_, path = pages(kind)
    browser.open(path)
    found = facts_of(browser)
    select(browser, "explain")
    lines = copied(browser, "By features").splitlines()[1:]
    values = np.array([float(line.rsplit(",", 1)[1]) for line in lines])
    rows = shipped(found)
    output = 0
    if len(found["model"]["outputs"]) > 1:
        output = browser.run("return Number(document.getElementById('output').value)")
    whole = np.zeros((len(rows), found["model"]["n_features"]))
    whole[:, [feature["column"] for feature in found["features"]["read"]]] = rows
    expected = explain(
        (model[-1] if hasattr(model, "steps") else model).model_,
        whole[:1],
        background=whole[found["page"]["background"]],
    )
    scale = max(1.0, np.abs(expected.values).max())
    np.testing.assert_allclose(values, expected.values[0, :, output], atol=1e-9 * scale)


def test_curves_of_the_page_are_those_of_python(browser, pages):
    model, *_, path = pages("survival")
    browser.open(path)
    found = facts_of(browser)
    select(browser, "explain")
    lines = [line.split(",") for line in copied(browser, "Survival").splitlines()]
    assert lines[0] == ["time", "this sample", "usual"]
    numbers = np.array(lines[1:], dtype=float)
    times = found["page"]["plain"]["survival"]["times"]
    scores = model.model_.scores(shipped(found)[:1])[:, 0]
    expected = model.survival_of_scores(scores, np.array(times))[0]
    np.testing.assert_allclose(numbers[1:, 1], expected, atol=1e-9)
    assert numbers[0].tolist() == [0.0, 1.0, 1.0]


def test_a_change_to_the_next_of_ordered_classes(browser, pages):
    model, *_, path = pages("ordered")
    browser.open(path)
    found = facts_of(browser)
    select(browser, "explain")
    scores, cuts = model.model_.scores(shipped(found))[:, 0], model.model_.target.cuts[1:-1]
    near = int(np.argmin(np.abs(scores[:, None] - cuts).min(axis=1)))
    k = int(np.argmin(np.abs(scores[near] - cuts)))
    wanted = model.classes_[k + int(scores[near] < cuts[k])]  # the class on the other side of the nearest cut
    pick = "const box = document.getElementById('pick-A'); box.value = arguments[0];"
    browser.run(pick + "box.dispatchEvent(new Event('change'))", near)
    choose = "const box = document.getElementById('wanted'); box.value = String(arguments[0]);"
    browser.run(choose, model.classes_.tolist().index(wanted))
    browser.click("#find")
    assert f"Then the prediction is {wanted}" in browser.text("#flip")
    ranges = {f["name"]: (f["low"], f["high"]) for f in found["features"]["read"]}
    assert counterfactual(model, shipped(found)[near], target=wanted, ranges=ranges).found


def test_sliders_move_the_prediction_to_what_python_says(browser, pages):
    model, *_, path = pages("two_classes")
    browser.open(path)
    found = facts_of(browser)
    select(browser, "what-if")
    row = shipped(found)[0].copy()
    script = """
        const bar = document.getElementById('slide-' + arguments[0]);
        bar.value = arguments[1];
        bar.dispatchEvent(new Event('input', {bubbles: true}));
        return [Number(bar.value), document.querySelector('#what-if-answer').textContent];
    """
    order = sorted(range(30), key=lambda j: -found["columns"][j]["variance"])
    for j in order[:5]:
        feature = found["features"]["read"][j]
        value, text = browser.run(script, j, feature["low"] + 0.9 * (feature["high"] - feature["low"]))
        row[j] = value
    score = model.model_.scores(row[None])[0, 0]
    assert f"{abs(score):.4g}" in text
    assert f"Now: {model.classes_[int(score > 0)]}" in text
    probability = model.model_.loss.probabilities(np.array([[score]]))[0, int(score > 0)]
    assert f"{100 * probability:.1f} %" in text


def test_sliders_move_by_keys_and_stay_in_range(browser, pages):
    *_, path = pages("five_features")
    browser.open(path)
    select(browser, "what-if")
    browser.run("document.getElementById('slide-0').focus()")
    before = browser.run("return Number(document.getElementById('slide-0-number').value)")
    browser.press("ArrowRight", "ArrowRight")
    after = browser.run("return Number(document.getElementById('slide-0-number').value)")
    feature = facts_of(browser)["features"]["read"][0]
    assert after == pytest.approx(before + 0.02 * (feature["high"] - feature["low"]), rel=1e-6)
    browser.press(*["ArrowRight"] * 120)
    assert browser.run("return Number(document.getElementById('slide-0-number').value)") <= feature["high"] + 1e-6
    assert "Changed: x0" in browser.text("#what-if-changes")


@pytest.mark.parametrize("form", ["header", "plain", "json"])
def test_a_pasted_row_is_explained(form, browser, pages):
    model, X, _, path = pages("two_classes")
    browser.open(path)
    select(browser, "explain")
    row = X.iloc[17]
    text = {
        "header": "\t".join(X.columns) + "\n" + "\t".join(repr(float(v)) for v in row),
        "plain": ",".join(repr(float(v)) for v in row),
        "json": json.dumps({name: float(v) for name, v in row.items()}),
    }[form]
    browser.run("document.querySelector('#panel-explain details').open = true")
    browser.run("document.getElementById('paste-A').value = arguments[0]", text)
    browser.click("#use-A")
    answer = browser.text("#panel-explain .answer")
    score = model.decision_function(X.iloc[17:18])[0]
    assert answer.startswith(f"pasted sample: {model.classes_[int(score > 0)]}")
    assert f"{abs(score):.4g}" in answer
    assert "unlike" not in browser.text("#panel-explain").lower()


def test_a_bad_paste_is_told_and_a_strange_row_marked(browser, pages):
    _, X, _, path = pages("two_classes")
    browser.open(path)
    select(browser, "explain")
    browser.run("document.querySelector('#panel-explain details').open = true")
    for text, message in (
        ("1,2,3", "30 numbers; got 3"),
        (",".join("a" * 30), "must be a number"),
        ("", "Paste a sample"),
    ):
        browser.run("document.getElementById('paste-A').value = arguments[0]", text)
        browser.click("#use-A")
        assert message in browser.text("#panel-explain .warn")
    far = X.to_numpy().max(axis=0) * 3
    browser.run("document.getElementById('paste-A').value = arguments[0]", ",".join(map(str, far)))
    browser.click("#use-A")
    assert "Unlike anything seen" in browser.text("#panel-explain .notice")


def test_the_change_that_is_found_flips_the_answer(browser, pages):
    model, *_, path = pages("two_classes")
    browser.open(path)
    found = facts_of(browser)
    select(browser, "explain")
    scores = model.model_.scores(shipped(found))[:, 0]
    near = int(np.argmin(np.abs(scores)))
    pick = "const box = document.getElementById('pick-A'); box.value = arguments[0];"
    browser.run(pick + "box.dispatchEvent(new Event('change'))", near)
    browser.click("#find")
    wanted = model.classes_[int(scores[near] <= 0)]
    assert f"Then the prediction is {wanted}" in browser.text("#flip")
    rows = browser.run(
        "return [...document.querySelectorAll('#flip tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    own = np.hypot(*[float(r[3].replace("−", "-")) for r in rows], *([0.0] if len(rows) == 1 else []))
    ranges = {f["name"]: (f["low"], f["high"]) for f in found["features"]["read"]}
    certified = counterfactual(model, shipped(found)[near], target=wanted, ranges=ranges)
    assert certified.found
    assert own <= 3 * certified.size + 1e-6  # a grid, in deviations of other samples: near the certified one


def test_nearest_samples_are_those_of_python(browser, pages):
    model, *_, path = pages("two_classes")
    browser.open(path)
    found = facts_of(browser)
    select(browser, "explain")
    heads = browser.run(
        """
        const lines = document.querySelectorAll('[aria-label="Nearest samples"] tbody tr');
        return [...lines].map(line => Number(line.cells[0].textContent));
        """
    )
    rows = shipped(found)
    expected = [found["rows"]["index"][i] for i in nearest(model.model_, rows[:1], rows, k=6).index[0]]
    assert heads == expected[1:6]


def test_tabs_work_by_keyboard(browser, pages):
    *_, path = pages("regression")
    browser.open(path)
    browser.run("document.getElementById('tab-overview').focus()")
    shown = "return [...document.querySelectorAll('[role=tabpanel]')].filter(p => !p.hidden).map(p => p.id)"
    browser.press("ArrowRight")
    assert browser.run(shown) == ["panel-quality"]
    browser.press("End")
    assert browser.run(shown) == ["panel-checks"]
    browser.press("ArrowRight")
    assert browser.run(shown) == ["panel-overview"]
    browser.press("ArrowLeft", "Home")
    assert browser.run("return document.activeElement.id") == "tab-overview"
    browser.press("Tab")
    assert browser.run("return document.activeElement.id") == "panel-overview"
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_every_chart_has_a_name_and_a_table(browser, pages):
    *_, path = pages("two_classes")
    browser.open(path)
    for tab in TABS:
        select(browser, tab)
    lacking = browser.run(
        """
        return [...document.querySelectorAll('figure')].filter(f => {
          const picture = f.querySelector('svg'), named = picture?.getAttribute('aria-label');
          return picture && !(picture.getAttribute('role') === 'img' && named && f.querySelector('table'));
        }).length
        """
    )
    assert lacking == 0
    unnamed = browser.run(
        """
        return [...document.querySelectorAll('input, select, textarea')].filter(i =>
          !i.getAttribute('aria-label') && !(i.id && document.querySelector(`label[for="${i.id}"]`))).length
        """
    )
    assert unnamed == 0
    names = browser.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(names) == len(set(names))


CONTRAST = """
function rgb(text) { return text.match(/[\\d.]+/g).slice(0, 3).map(Number); }
function light(c) { return rgb(c).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((s, v, k) => s + v * [0.2126, 0.7152, 0.0722][k], 0); }
function behind(e) {
  for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(c) && c !== 'transparent') return c;
  }
  return 'rgb(255, 255, 255)';
}
const poor = [];
for (const e of document.querySelectorAll('body *')) {
  if (!e.getClientRects().length || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
  const style = getComputedStyle(e), front = e instanceof SVGElement ? style.fill : style.color, back = behind(e);
  if (!/^rgb/.test(front) || !/^rgb/.test(back)) continue;
  const [a, b] = [light(front), light(back)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) poor.push([e.tagName, e.textContent.slice(0, 30), ratio.toFixed(2)]);
}
return poor;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(scheme, browser, pages):
    *_, path = pages("two_classes")
    browser.media(scheme)
    browser.open(path)
    for tab in TABS:
        select(browser, tab)
        assert browser.run(CONTRAST) == []
    browser.media("light")


@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_is_cut_off_at_any_width(width, browser, pages):
    *_, path = pages("ten_classes")
    browser.open(path, width)
    for tab in TABS:
        select(browser, tab)
        assert browser.run("return document.documentElement.scrollWidth") <= width
        clipped = browser.run(
            """
            return [...document.querySelectorAll('[role=tabpanel]:not([hidden]) svg text')].filter(t => {
              const own = t.getBoundingClientRect(), frame = t.ownerSVGElement.getBoundingClientRect();
              return own.left < frame.left - 2 || own.right > frame.right + 2;
            }).map(t => t.textContent)
            """
        )
        assert clipped == []
    browser.resize(1200, 900)


def test_print_shows_two_pages_or_all_sections(browser, pages, tmp_path):
    *_, path = pages("two_classes")
    browser.open(path)
    browser.media("light", "print")
    time.sleep(0.2)
    displays = "return [...document.querySelectorAll('[role=tabpanel]')].map(p => getComputedStyle(p).display)"
    assert browser.run(displays) == ["block", "block"] + ["none"] * (len(TABS) - 2)
    browser.printed(tmp_path / "short.pdf")
    assert len(re.findall(rb"/Type\s*/Page[^s]", (tmp_path / "short.pdf").read_bytes())) == 2
    browser.run("document.body.classList.add('print-all')")
    shown = browser.run(displays)
    assert len(shown) == len(TABS) and "none" not in shown
    assert browser.run("return document.querySelectorAll('#panel-explain figure').length") >= 3
    assert browser.run("return getComputedStyle(document.getElementById('tabs')).display") == "none"
    browser.media("light")
    browser.printed(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert browser.complaints() == []


def test_a_page_without_rows_explains_pasted_ones(browser, pages):
    model, X, _, path = pages("two_classes", privacy="aggregate")
    browser.open(path)
    assert browser.text("#verified").startswith("✓")
    select(browser, "explain")
    assert browser.run("return document.getElementById('pick-A')") is None
    browser.run("document.getElementById('paste-A').value = arguments[0]", ",".join(map(str, X.iloc[3])))
    browser.click("#use-A")
    assert browser.text("#panel-explain .answer").startswith(f"pasted sample: {model.predict(X.iloc[3:4])[0]}")
    found = facts_of(browser)
    middle = np.array(found["page"]["middle"])
    values = [float(line.rsplit(",", 1)[1]) for line in copied(browser, "By features").splitlines()[1:]]
    expected = explain(model.model_, X.iloc[3:4].to_numpy(), background=middle[None])
    np.testing.assert_allclose(values, expected.values[0, :, 0], atol=1e-9)


def test_a_page_that_differs_from_python_says_so(browser, pages, tmp_path):
    *_, path = pages("five_features")
    text = path.read_text(encoding="utf-8")
    start = text.index('"verify":{"rows"')
    place = text.index('"scores":[[', start) + len('"scores":[[')
    broken = tmp_path / "broken.html"
    broken.write_text(text[:place] + "1" + text[place:].lstrip("-"), encoding="utf-8")
    browser.open(broken)
    assert browser.text("#verified").startswith("▲")


def test_names_stay_text(browser, pages):
    _, X, _, path = pages("evil")
    browser.open(path)
    for tab in TABS:
        select(browser, tab)
    assert browser.run("return document.title") == "evil <title>"
    assert browser.run("return document.querySelectorAll('main script, main img, main b').length") == 0
    assert X.columns[0] in browser.text("#panel-features")
    assert browser.complaints() == []


def test_a_model_too_large_for_a_page_is_still_shown(browser, tmp_path):
    from spkm import SPKMClassifier

    X = np.random.default_rng(0).standard_normal((60, 1500))
    y = (X[:, 0] > 0).astype(int)
    model = SPKMClassifier(n_basis=2, random_state=0, tol=1e-1).fit(X, y)
    browser.open(report(model, tmp_path / "large.html", X, y))
    assert "too large" in browser.text("#verified")
    assert browser.run("return document.getElementById('tab-what-if')") is None
    assert browser.complaints() == []
