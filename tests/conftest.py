"""Fixtures that several modules of tests share."""

import signal

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
def ctrl_c():
    """Let Ctrl-C interrupt, as in a terminal; what a shell runs in the background is told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
