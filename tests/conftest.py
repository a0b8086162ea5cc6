"""Fixtures that several modules of tests share."""

import sys

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


@pytest.fixture
def absent(monkeypatch):
    """Return a function that lets a package seem not to be installed; one in ``anew`` is imported again."""

    def leave_out(package, anew=None):
        for name in [name for name in sys.modules if name.split(".")[0] in (package, anew)]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)

    return leave_out


@pytest.fixture
def blocks_of(monkeypatch):
    """Return a function that sets the largest number of samples of a block in memory."""
    return lambda size: monkeypatch.setattr("spkm.sources._array.rows_per_block", lambda n_features, width: size)


@pytest.fixture
def copied_up_to(monkeypatch):
    """Return a function that sets the number of entries up to which samples are copied and scaled at once."""
    return lambda entries: monkeypatch.setattr("spkm.sources._array.SMALL", entries)


@pytest.fixture
def kept_of_chunks(monkeypatch):
    """Return a function that sets how many samples of a stream are kept in memory; more are read again in chunks."""
    return lambda rows: monkeypatch.setattr("spkm.sources._chunks.KEPT_ROWS", rows)


@pytest.fixture
def kept_features(monkeypatch):
    """Return a function that sets how many entries of features a pass keeps for its gradient."""
    return lambda entries: monkeypatch.setattr("spkm.core.profiled.KEPT", entries)


@pytest.fixture
def encoder_keeps(monkeypatch):
    """Return a function that bounds the levels and values of a column that an encoder of files keeps."""

    def bound(**most):
        for name, number in most.items():
            monkeypatch.setattr(f"spkm.tables.encoded_files.KEPT_{name.upper()}", number)

    return bound
