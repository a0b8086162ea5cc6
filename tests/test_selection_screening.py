"""The screen of wide tables: correlations by a double loop, columns that are always or never kept."""

import numpy as np
import pytest

from spkm.selection import FeatureGroups, _screening
from spkm.selection._screening import correlations, screened, varies
from spkm.sources import ArraySource, Scaling, fit_scaling
from spkm.sources import _array as source_module
from tests import cases

KINDS = {"dense": np.asarray, "csr": cases.csr}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def strongest_by_loop(X, Y, weight):
    """Return for each column the largest |weighted correlation| of x or x^2 with a target, times its deviation."""
    frequency = np.repeat(np.arange(len(X)), weight)  # whole weights are repeats of rows
    X, Y = X[frequency], Y[frequency]
    best = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        for y in Y.T:
            for x in (X[:, j], X[:, j] ** 2):
                best[j] = max(best[j], abs(np.corrcoef(x, y)[0, 1]) * y.std())
    return best


@each_kind
@pytest.mark.parametrize("m", [1, 3])
def test_correlations_equal_a_double_loop(monkeypatch, kind, m):
    X = cases.rows(30, 7)
    rng = np.random.default_rng(0)
    Y = cases.frozen(rng.standard_normal((30, m)) + X[:, 2:3] ** 2 - X[:, 5:6])
    weight = rng.integers(1, 4, 30)
    expected = strongest_by_loop(X, Y, weight)
    np.testing.assert_allclose(correlations(ArraySource(kind(X), Y, weight)), expected)
    monkeypatch.setattr(source_module, "rows_per_block", lambda n_features, width: 7)
    np.testing.assert_allclose(correlations(ArraySource(kind(X), Y, weight)), expected)


@each_kind
def test_correlations_are_those_of_scaled_columns_of_any_precision(kind):
    X, Y = cases.rows(30, 5), cases.targets(cases.LOSSES["squared"], 30, 1)
    scaling = Scaling(np.zeros(5), np.array([1.0, 10.0, 0.1, 3.0, 1.0]), np.full(5, np.inf))
    expected = strongest_by_loop(X / scaling.scale, Y, np.ones(30, dtype=int))
    np.testing.assert_allclose(correlations(ArraySource(kind(X), Y, None, scaling)), expected)
    single = ArraySource(kind(X.astype(np.float32)), Y, None, scaling)
    np.testing.assert_allclose(correlations(single), expected, rtol=1e-4)


@each_kind
def test_a_constant_column_goes_with_nothing(kind):
    X = cases.rows(20, 3).copy()
    X[:, 0], X[:, 2] = 3.3, 0.0
    found = correlations(ArraySource(kind(X), X[:, 1:2].copy()))
    assert found[1] > 0.1 and found[2] == 0
    assert found[0] < 1e-3 * found[1]


@each_kind
def test_columns_that_vary(kind):
    X = cases.rows(20, 6).copy()
    X[:, 0], X[:, 2] = 3.3, 0.0
    X[:, 3] = 0.0
    X[7, 3] = 1e-3
    X[:, 4] = 1e3 + np.linspace(-1, 1, 20)
    np.testing.assert_array_equal(varies(ArraySource(kind(X), X[:, :1].copy())), [0, 1, 0, 1, 1, 1])
    X = X[:, :4]
    scaling = fit_scaling(kind(X), np.ones(20), False)
    np.testing.assert_array_equal(varies(ArraySource(kind(X), X[:, :1].copy(), None, scaling)), [0, 1, 0, 1])


def wide(d, n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = cases.frozen(rng.standard_normal((n, d)))
    return ArraySource(X, np.asarray(X[:, :1] + X[:, 7:8]))


@pytest.mark.parametrize("seen", [10, 25])
def test_the_most_correlated_allowed_columns_are_seen(monkeypatch, seen):
    monkeypatch.setattr(_screening, "SEEN", seen)
    source = wide(60)
    allowed = np.setdiff1d(np.arange(60), [0, 3])
    found = screened(source, FeatureGroups(60), np.zeros(0, dtype=int), allowed)
    strengths = correlations(source)
    np.testing.assert_array_equal(found, np.sort(allowed[np.argsort(-strengths[allowed])[:seen]]))
    assert 7 in found and 0 not in found


def test_columns_that_are_known_are_always_seen(monkeypatch):
    monkeypatch.setattr(_screening, "SEEN", 10)
    source = wide(60)
    least = np.sort(np.argsort(correlations(source))[:6])
    found = screened(source, FeatureGroups(60), least, np.arange(60))
    assert set(least) <= set(found) and len(found) == 10
    many = np.arange(20, 40)
    np.testing.assert_array_equal(screened(source, FeatureGroups(60), many, np.arange(60)), many)
    # What is not allowed is not seen, known or not.
    assert 25 not in screened(source, FeatureGroups(60), many, np.setdiff1d(np.arange(60), [25]))


def test_groups_are_seen_as_a_whole(monkeypatch):
    monkeypatch.setattr(_screening, "SEEN", 10)
    units = FeatureGroups(60, np.arange(60) // 3)
    found = screened(wide(60), units, np.array([30]), np.arange(60))
    assert len(found) == 9 and {0, 1, 2, 6, 7, 8, 30, 31, 32} == set(found)
    monkeypatch.setattr(_screening, "SEEN", 2)
    assert len(screened(wide(60), units, np.zeros(0, dtype=int), np.arange(60))) == 3  # never none


def test_at_most_500_columns_are_seen_and_all_of_a_narrow_table():
    none = np.zeros(0, dtype=int)
    found = screened(wide(700), FeatureGroups(700), none, np.arange(700))
    assert len(found) == _screening.SEEN == 500 and {0, 7} <= set(found)
    allowed = np.arange(0, 700, 2)
    np.testing.assert_array_equal(screened(wide(700), FeatureGroups(700), none, allowed), allowed)
