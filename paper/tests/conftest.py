"""Fixtures that several modules of tests share."""

import signal

import pytest


@pytest.fixture(autouse=True)
def nothing_of_the_users(monkeypatch, tmp_path):
    """Keep the tests off the user's folders."""
    monkeypatch.delenv("SPKM_DATA", raising=False)
    monkeypatch.setenv("SPKM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "own"
    path.mkdir()
    return path


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def ctrl_c():
    """Let Ctrl-C interrupt, as in a terminal; what a shell runs in the background is told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
