"""Screens: what goes with the targets beyond chance, alone, in pairs and in threes; and columns that vary."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from spkm.kernels import Linear
from spkm.losses import Squared
from spkm.selection import feature_scores
from spkm.sources import ArraySource
from tests import cases
from tests.small_searches import candidate, search_of

KINDS = {"dense": np.asarray, "csr": cases.csr}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@each_kind
def test_columns_that_vary(kind):
    X = cases.rows(20, 6).copy()
    X[:, 0], X[:, 2] = 3.3, 0.0
    X[:, 3] = 0.0
    X[[6, 7], 3] = 1e-3  # one in the training samples of each fold
    X[:, 4] = 1e3 + np.linspace(-1, 1, 20)
    search, _ = search_of((X, X[:, [1]]), Squared(), [candidate(Linear(1.0), Squared())], kind=kind)
    np.testing.assert_array_equal(search.beginnings.allowed, [1, 3, 4, 5])


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


def cut(A):
    """Return columns in deviations from their means, cut at two of them, around their means again."""
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    A = np.clip(A, -2, 2)
    return A - A.mean(axis=0)


def z_of(t, function):
    """Return |z| of a sum of targets times a function of the features."""
    return abs(t @ function) / np.sqrt(np.sum(np.square(t * function)))


def by_loops(X, y):
    """Return the scores of features one function at a time: half waves, then products of what main effects leave."""
    X, t = cut(X), cut(y[:, None])[:, 0]
    n, d = X.shape
    best = np.zeros(d)
    for j in range(d):
        theta = 0.5 * np.pi * (1 - np.clip(X[:, j] / 2, -1, 1))
        waves = [np.cos(k * theta) for k in range(1, 9)]
        best[j] = max(z_of(t, f - f.mean()) for f in [X[:, j], *waves])
    scores = -np.log(2 * norm.sf(best)) - np.log(9 * d)
    alone = scores.copy()
    for degree in (2, 3):
        main = np.argsort(-scores, kind="stable")[: n // 20]
        A = np.column_stack([np.ones(n), X[:, main], X[:, main] ** 2])
        left = t - A @ np.linalg.lstsq(A, t, rcond=None)[0]
        best = np.zeros(d)
        several = list(combinations(range(d), degree))
        for some in several:
            best[list(some)] = np.maximum(best[list(some)], z_of(left, np.prod(X[:, some], axis=1)))
        scores = np.maximum(scores, -np.log(2 * norm.sf(best)) - np.log(len(several)))
    return scores, alone


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_a_loop_over_functions(seed):
    X = normal(80, 5, seed)
    y = X[:, 0] * X[:, 3] + 0.5 * X[:, 1] * X[:, 2] * X[:, 4] + np.random.default_rng(seed).standard_normal(80)
    expected, alone = by_loops(X, y)
    assert np.any(expected > alone)  # products decide on some of them
    np.testing.assert_allclose(scores_of(X, y), expected, rtol=1e-3, atol=1e-3)  # sums of products are single
    np.testing.assert_allclose(scores_of(X, y, work=1.0), alone, rtol=1e-6)


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
    one = np.sign(X[:, 11] * X[:, 30])
    outputs = np.repeat(one[:, None], 100, axis=1)
    assert scores_of(X, one, work=300 * 40**2)[11] > 5 > scores_of(X, outputs, work=300 * 40**2)[11]


def test_groups_are_as_certain_as_their_best_column_and_others_are_not():
    X = normal(200, 6)
    Y = cases.frozen(X[:, [2]] + 0.3 * X[:, [4]])
    groups = [0, 1, 1, 2, 2, 3]
    search, everything = search_of((X, Y), Squared(), [candidate(Linear(1.0), Squared())], groups=groups, chance=0.05)
    alone = feature_scores(everything.train, Y, search.settings.work)
    of_groups = np.array([alone[0], alone[1:3].max(), alone[3:5].max(), alone[5]])
    order = np.argsort(-of_groups)
    expected = order[of_groups[order] > -np.log(0.05 / 3)]
    assert search.beginnings.certain(everything).tolist() == expected.tolist() == [1, 2]


def test_a_constant_column_goes_with_nothing():
    X = normal(50, 3)
    X[:, 1] = 3.3
    scores = scores_of(X, X[:, 0])
    assert scores[0] > 5 and scores[1] < 0 and np.all(np.isfinite(scores))
