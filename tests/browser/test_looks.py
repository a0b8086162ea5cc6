"""Pages as a designer looks at them: nothing is clipped, nothing overlaps, whatever the model and the width are."""

import pytest

from tests.browser.conftest import KINDS
from tests.browser.test_pages import select

pytestmark = pytest.mark.browser

#: Texts of charts that leave their picture, texts that lie over one another, and elements wider than the page.
FOUND = """
const panel = document.querySelector('[role=tabpanel]:not([hidden])'), found = [];
const told = (text) => text.textContent.trim().slice(0, 60);
const holds = (outer, inner) =>
  ['left', 'top'].every((side) => inner[side] >= outer[side] - 1.5) &&
  ['right', 'bottom'].every((side) => inner[side] <= outer[side] + 1.5);
for (const chart of panel.querySelectorAll('figure > svg, .card > svg')) {
  const around = chart.getBoundingClientRect();
  if (around.width === 0) continue;
  const texts = [...chart.querySelectorAll('text')].filter((text) => told(text) !== '');
  const boxes = texts.map((text) => text.getBoundingClientRect());
  boxes.forEach((box, i) => {
    if (!holds(around, box)) found.push(`clipped: ${told(texts[i])}`);
    for (let j = 0; j < i; j++) {
      const other = boxes[j];
      const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
      const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
      if (wide > 2 && high > 5) found.push(`overlap: ${told(texts[j])} | ${told(texts[i])}`);
    }
  });
}
for (const one of panel.querySelectorAll('p, h2, h3, li, figcaption, button, label, .answer, .card, figure, summary')) {
  const box = one.getBoundingClientRect();
  const outside = box.right > innerWidth + 1 || box.left < -1;
  if (box.width > 0 && one.closest('.scroll') === null && outside) found.push(`wide: ${told(one)}`);
  if (getComputedStyle(one).overflowX !== 'auto' && one.scrollWidth > one.clientWidth + 2 && one.clientWidth > 0)
    found.push(`overflows: ${one.tagName} ${told(one)}`);
}
return found;
"""
WORDS = """
const text = document.querySelector('main, #main').textContent;
const bad = [/\\de[−-]1[0-9]\\b/, /×10⁻¹[⁰¹²³⁴-⁹]/, /output 0/, /\\bNaN\\b/, /undefined/, /\\[object/];
const found = bad.map((sign) => sign.exec(text)).filter((one) => one !== null);
return found.map((one) => text.slice(one.index - 60, one.index + 20));
"""


@pytest.mark.parametrize("width", [1300, 420])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_clipped_and_nothing_overlaps(kind, width, browser, pages):
    *_, path = pages(kind)
    browser.media("light")
    browser.open(path, width)
    found = {}
    for tab in browser.run("return [...document.querySelectorAll('[role=tab]')].map(t => t.id.slice(4))"):
        select(browser, tab)
        browser.run(
            "document.querySelectorAll('[role=tabpanel]:not([hidden]) details').forEach((d) => { d.open = false; })"
        )
        found[tab] = browser.run(FOUND)
    assert {tab: list for tab, list in found.items() if list} == {}
    if kind != "outputs":  # whose numbers are as small as rounding is in others
        assert browser.run(WORDS) == []


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_the_paper(scheme, browser, pages):
    *_, path = pages("two_classes")
    browser.media(scheme)
    browser.open(path)
    names = ("paper", "raised", "ink", "soft", "accent", "good", "warn", "up", "down")
    script = """
        const style = getComputedStyle(document.documentElement);
        return arguments[0].map((name) => style.getPropertyValue('--' + name).trim());
    """
    colours = dict(zip(names, browser.run(script, list(names)), strict=True))
    browser.media("light")
    for name, least in (
        ("ink", 7.0),
        ("soft", 4.5),
        ("accent", 4.5),
        ("good", 4.5),
        ("warn", 4.5),
        ("up", 3.0),
        ("down", 3.0),
    ):
        for behind in ("paper", "raised"):
            light, dark = sorted((luminance(colours[name]), luminance(colours[behind])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= least, (scheme, name, behind)
