"""What tests and examples everywhere share."""

import sys

import pytest
from hypothesis import settings

# No test depends on the time that it takes: a busy machine finds no other faults.
settings.register_profile("spkm", deadline=None)
settings.load_profile("spkm")


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run tests marked as exhaustive, too")


def pytest_collection_modifyitems(config, items):
    """Leave tests marked as exhaustive out, unless all are asked for."""
    if config.getoption("--all"):
        return
    left_out = [item for item in items if item.get_closest_marker("exhaustive")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]


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
