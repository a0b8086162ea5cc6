"""Fixtures that several modules of tests share."""

import pytest

from tests.quick_search import quick_search


@pytest.fixture
def hasty():
    """Make every search a very short one."""
    with quick_search(hasty=True):
        yield


@pytest.fixture
def careful():
    """Make every search a short one, with the steps it needs to choose well."""
    with quick_search():
        yield


@pytest.fixture
def callbacks():
    """Return scikit-learn's callbacks; skip the test where there are none."""
    return pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
