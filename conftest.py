"""What tests and examples everywhere share."""

import sys

import pytest


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
