"""What tests and examples everywhere share."""

import gc
import sys

import pytest
from hypothesis import settings

# No test depends on the time that it takes: a busy machine finds no other faults.
settings.register_profile("spkm", deadline=None)
settings.load_profile("spkm")


#: Checks of a dozen formats each, which end at the border; and estimators that have a border of their own.
FORMATS = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
WITH_BORDER = ("SPKMClassifier", "SPKMRegressor", "SPKMCCA", "SPKMNystroem")

gc.disable()  # nothing of ten thousand tests is garbage: looking for it would be a third of the time to collect them


def pytest_collection_finish(session):
    """Let Python look for garbage from here on, but not among the tests."""
    gc.freeze()
    gc.enable()


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run tests marked as exhaustive, too")


def pytest_collection_modifyitems(config, items):
    """Leave tests marked as exhaustive out, unless all are asked for."""
    if config.getoption("--all"):
        return
    left_out = {item for item in items if item.get_closest_marker("exhaustive")}
    left_out |= again_at_the_border(item for item in items if item not in left_out)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def again_at_the_border(items):
    """Return scikit-learn's checks of formats but for those of the first estimator of each border."""
    again, done = set(), set()
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        name = getattr(getattr(given.get("check"), "func", None), "__name__", "")
        if name in FORMATS:
            made = type(given["estimator"])
            kind, ours = made.__name__, made.__module__.startswith(("spkm.", "tests."))
            if ours and (kind not in WITH_BORDER or (kind, name) in done):
                again.add(item)
            done.add((kind, name))
    return again


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test or an example drew: matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True, scope="session")
def draw_without_a_screen():
    """Draw into memory, wherever there is matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
