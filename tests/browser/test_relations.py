"""The page of two tables in a real browser: every chart with its numbers, nothing asked for, no width too small."""

import pytest

from spkm import SPKMCCA
from tests.test_cca import planted

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    model = SPKMCCA(2, kernel_y="linear", random_state=0).fit(*planted())
    return model.report(tmp_path_factory.mktemp("relations") / "r.html", *planted(100, seed=1), n_permutations=19)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_every_component_and_asks_for_nothing(scheme, browser, path):
    browser.media(scheme)
    browser.requests(), browser.complaints()
    browser.open(path)
    assert browser.run("return [...document.querySelectorAll('h2')].map(h => h.textContent)")[:2] == [
        "Component 1",
        "Component 2",
    ]
    counts = "return [...document.querySelectorAll('section')].map(s => s.querySelectorAll('figure').length)"
    assert browser.run(counts) == [5, 6]  # weights of both tables, scores, an effect for each feature
    assert browser.run("return document.querySelectorAll('figure svg[role=img][aria-label]').length") == 11
    assert browser.run("return [...document.querySelectorAll('figure')].every(f => f.querySelector('table'))")
    assert browser.run("return document.querySelectorAll('section')[0].querySelectorAll('circle').length") == 100
    assert not browser.run("return document.getElementById('main').innerHTML.includes('NaN')")
    assert browser.complaints() == []
    assert browser.requests() == [path.resolve().as_uri()]


def test_the_page_fits_a_telephone(browser, path):
    browser.open(path, width=360)
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
