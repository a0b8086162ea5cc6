"""Regions of scores: exactly those that are decoded as what was wanted."""

import numpy as np
import pytest

from spkm.core.targets import Classes, Labels, Real

SCORES = np.random.default_rng(0).normal(size=(200, 3))


def inside(target, wanted, scores, now=None):
    A, a = target.region(wanted, scores[0] if now is None else now)
    return np.all(scores @ A.T + a >= 0, axis=1)


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c"]])
def test_a_class_has_the_scores_that_are_decoded_as_it(labels):
    target = Classes.of(np.array(labels))
    scores = SCORES[:, : 1 if len(labels) == 2 else 3]
    for label in labels:
        np.testing.assert_array_equal(inside(target, label, scores), target.decode(scores) == label)
    with pytest.raises(ValueError, match=r"target must be one of the classes \['a', 'b'"):
        target.region("d", scores[0])


def test_labels_may_be_left_free():
    target = Labels(np.full(3, np.nan), np.zeros(3), np.ones(3), True)
    decoded = target.decode(SCORES)
    np.testing.assert_array_equal(inside(target, [1, 0, 1], SCORES), (decoded == [1, 0, 1]).all(axis=1))
    np.testing.assert_array_equal(inside(target, [np.nan, 0, np.nan], SCORES), decoded[:, 1] == 0)


def test_numbers_are_reached_from_where_the_score_is():
    target = Real(np.full(1, np.nan), np.zeros(1), np.ones(1))
    scores = SCORES[:, :1]
    np.testing.assert_array_equal(inside(target, 0.5, scores, np.array([0.0])), scores[:, 0] >= 0.5)
    np.testing.assert_array_equal(inside(target, 0.5, scores, np.array([1.0])), scores[:, 0] <= 0.5)
    np.testing.assert_array_equal(inside(target, (-0.2, 0.4), scores), (scores[:, 0] >= -0.2) & (scores[:, 0] <= 0.4))
    several = Real(np.full(3, np.nan), np.zeros(3), np.ones(3), True)
    found = inside(several, [np.nan, (0.0, np.inf), 1.0], SCORES, np.zeros(3))
    np.testing.assert_array_equal(found, (SCORES[:, 1] >= 0) & (SCORES[:, 2] >= 1))
    for interval in ((2, 1), (1, 1)):
        with pytest.raises(ValueError, match=r"\(low, high\) with low < high; got \([12], 1\)"):
            target.region(interval, np.zeros(1))
    with pytest.raises(ValueError, match="target must bound at least one output"):
        several.region([np.nan] * 3, np.zeros(3))
