"""FeatureGroups: a partition of the columns, whatever the labels are called."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spkm.selection import FeatureGroups
from tests import cases

few = settings(max_examples=40)
labels = st.lists(st.sampled_from(["a", "b", "c", "long name"]), min_size=1, max_size=9)


def members_by_loop(groups):
    """Return the columns of each label, labels in their order."""
    return [[j for j, label in enumerate(groups) if label == name] for name in sorted(set(groups))]


def test_without_groups_each_column_is_a_unit():
    units = FeatureGroups(4)
    np.testing.assert_array_equal(units.label, np.arange(4))
    np.testing.assert_array_equal(units.size, np.ones(4))
    assert [m.tolist() for m in units.members()] == [[0], [1], [2], [3]]


@few
@given(labels)
def test_members_are_the_columns_of_one_label(groups):
    units = FeatureGroups(len(groups), groups)
    expected = members_by_loop(groups)
    assert [m.tolist() for m in units.members()] == expected
    np.testing.assert_array_equal(units.size, [len(m) for m in expected])
    for unit, columns in enumerate(expected):
        assert np.all(units.label[columns] == unit)


@pytest.mark.parametrize(
    "groups",
    [("x", "y", "x", "z"), [7, 9, 7, 12], np.array([0.5, 1.5, 0.5, 2.5]), np.array(["x", "y", "x", "z"], dtype=object)],
)
def test_labels_of_any_kind(groups):
    np.testing.assert_array_equal(FeatureGroups(4, groups).label, [0, 1, 0, 2])


@few
@given(labels, st.integers(0, 100))
def test_norms_equal_a_double_loop(groups, seed):
    units = FeatureGroups(len(groups), groups)
    G = np.random.default_rng(seed).standard_normal((3, len(groups)))
    by_loop = [np.sqrt(sum(G[r, j] ** 2 for r in range(3) for j in m) / len(m)) for m in members_by_loop(groups)]
    np.testing.assert_allclose(units.norms(cases.frozen(G)), by_loop)


@few
@given(labels, st.integers(0, 100))
def test_columns_of_chosen_units_come_in_order(groups, seed):
    units = FeatureGroups(len(groups), groups)
    rng = np.random.default_rng(seed)
    mask = rng.random(len(units.size)) < 0.5
    expected = [j for j in range(len(groups)) if mask[units.label[j]]]
    np.testing.assert_array_equal(units.columns(mask), expected)
    np.testing.assert_array_equal(units.columns(rng.permutation(np.flatnonzero(mask))), expected)


@few
@given(labels, st.integers(0, 100))
def test_some_columns_keep_their_partition(groups, seed):
    rng = np.random.default_rng(seed)
    columns = np.flatnonzero(rng.random(len(groups)) < 0.7)
    if len(columns) == 0:
        return
    part = FeatureGroups(len(groups), groups).of(columns)
    np.testing.assert_array_equal(part.label, FeatureGroups(len(columns), [groups[j] for j in columns]).label)
    assert set(part.label) == set(range(len(part.size)))
    for i in range(len(columns)):
        for k in range(len(columns)):
            assert (part.label[i] == part.label[k]) == (groups[columns[i]] == groups[columns[k]])


@pytest.mark.parametrize(
    ("groups", "shape"), [([0, 1], "(2,)"), (np.zeros((3, 1)), "(3, 1)"), ("abc", "()"), ([], "(0,)")]
)
def test_groups_of_another_shape_are_refused(groups, shape):
    message = f"feature_groups must hold one label for each of the 3 features; got shape {shape}."
    with pytest.raises(ValueError, match=re.escape(message)):
        FeatureGroups(3, groups)
