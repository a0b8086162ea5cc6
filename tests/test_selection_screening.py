"""Screens: what goes with the targets beyond chance, alone, in pairs and in threes; and columns that vary."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from spkm.selection import DEFAULTS, FeatureGroups
from spkm.selection._screening import _pairs, _triples, bounded, feature_scores, group_scores, varies
from spkm.sources import ArraySource, fit_scaling
from tests import cases

KINDS = {"dense": np.asarray, "csr": cases.csr}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


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


def normal(n=200, d=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def scores_of(X, y, work=1e9, weight=None, kind=np.asarray):
    Y = cases.frozen(np.asarray(y, dtype=float).reshape(len(X), -1))
    return feature_scores(ArraySource(kind(X), Y, weight), Y, work)


@each_kind
@pytest.mark.parametrize(
    ("effect", "features"),
    [
        (lambda X: X[:, 2], [2]),
        (lambda X: X[:, 2] ** 2, [2]),
        (lambda X: np.sin(4 * X[:, 2]), [2]),
        (lambda X: np.sign(X[:, 1] * X[:, 4]), [1, 4]),
        (lambda X: np.sign(X[:, 0] * X[:, 1] * X[:, 4]), [0, 1, 4]),
        (lambda X: (X[:, 3] > 0) & (X[:, 5] > 0), [3, 5]),
    ],
    ids=["line", "square", "wave", "product", "three-way product", "and"],
)
def test_the_screen_is_certain_of_what_is_there_and_of_nothing_else(kind, effect, features):
    X = normal(400, 20)
    scores = scores_of(X, effect(X), kind=kind)
    assert np.flatnonzero(scores > 5).tolist() == features  # noise is beyond 5 once in 150 tables and kinds


def test_scores_are_those_of_a_loop_over_functions():
    X = bounded(normal(80, 5), np.ones(80))
    t = bounded(np.random.default_rng(1).standard_normal((80, 1)), np.ones(80))
    for columns in ((0, 3), (1, 2, 4)):
        found = (_pairs if len(columns) == 2 else _triples)(X, t, np.ones(80))
        best = np.zeros(5)
        for some in combinations(range(5), len(columns)):
            product = np.prod(X[:, some], axis=1)
            z = abs(t[:, 0] @ product) / np.sqrt(np.sum(np.square(t[:, 0] * product)))
            best[list(some)] = np.maximum(best[list(some)], z)
        n_functions = len(list(combinations(range(5), len(columns))))
        expected = -np.log(2 * norm.sf(best)) - np.log(n_functions)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_noise_is_rarely_named():
    # Bonferroni: a score beyond -log(chance / 3) in any feature has at most that chance, in three kinds of functions.
    named = 0
    for seed in range(40):
        X = normal(150, 30, seed)
        named += scores_of(X, np.random.default_rng(1000 + seed).standard_normal(150)).max() > -np.log(0.05 / 3)
    assert named < 8  # of 40 at 5 %, eight or more happen once in a thousand times


def test_weights_are_repeats_and_scales_do_not_matter():
    X, rng = normal(60), np.random.default_rng(1)
    y, weight = X[:, 0] * X[:, 3] + rng.standard_normal(60), rng.integers(1, 4, 60)
    repeated = scores_of(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    # The number of samples decides how many features products are looked at of: all of these few.
    np.testing.assert_allclose(scores_of(X, y, weight=weight), repeated, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(scores_of(1e3 * X + 5, -7 * y), scores_of(X, y), rtol=1e-3, atol=1e-3)


def test_the_work_limits_the_features_whose_products_are_looked_at():
    X = normal(300, 40)
    y = X[:, 0] + 0.01 * X[:, 5]
    few = scores_of(X, np.sign(X[:, 11] * X[:, 30]), work=300 * 4**2)
    assert few[11] < 5 > few[30] and scores_of(X, np.sign(X[:, 11] * X[:, 30]))[11] > 5
    assert np.argmax(scores_of(X, y, work=1.0)) == 0


def test_groups_have_the_score_of_their_best_column_and_others_none():
    X = normal(200, 6)
    Y = cases.frozen(X[:, [2]] + 0.1 * X[:, [4]])
    source, units = ArraySource(X, Y), FeatureGroups(6, [0, 1, 1, 2, 2, 3])
    scores = group_scores(source, Y, units, np.array([0, 1, 2, 3, 4]))
    assert scores[3] == -np.inf and np.argmax(scores) == 1
    alone = feature_scores(source.columns(np.arange(5)), Y, DEFAULTS.work)
    np.testing.assert_allclose(scores[:3], [alone[0], alone[1:3].max(), alone[3:5].max()])


def test_a_constant_column_goes_with_nothing():
    X = normal(50, 3)
    X[:, 1] = 3.3
    scores = scores_of(X, X[:, 0])
    assert scores[0] > 5 and scores[1] < 0 and np.all(np.isfinite(scores))
