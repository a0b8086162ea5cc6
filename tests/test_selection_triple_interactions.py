"""Columns in threes: moments by a triple loop, what is found, and nothing named by chance."""

from itertools import combinations

import numpy as np
import pytest

from spkm.selection import _triple_interactions
from spkm.selection._triple_interactions import bounded, residual, triple_interactions, triple_scores
from tests import cases


@pytest.mark.parametrize("m", [1, 3])
def test_scores_equal_a_triple_loop(m):
    rng = np.random.default_rng(0)
    X, R = cases.rows(40, 6), cases.frozen(rng.standard_normal((40, m)))
    weight = rng.integers(1, 4, 40)
    triples, scores = triple_scores(X, R, weight.astype(float))
    assert [tuple(t) for t in triples] == list(combinations(range(6), 3))
    rows = np.repeat(np.arange(40), weight)  # whole weights are repeats of rows
    for (i, j, k), score in zip(triples, scores, strict=True):
        products = R[rows] * (X[rows, i] * X[rows, j] * X[rows, k])[:, None]
        assert score == pytest.approx(max(abs(p.sum()) / np.sqrt(np.sum(p**2)) for p in products.T), rel=1e-4)


def test_columns_are_cut_and_residuals_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    X, T = 100.0 + 7 * cases.rows(40, 3), rng.standard_normal((40, 2))
    weight = rng.integers(1, 4, 40).astype(float)
    Z = bounded(X, weight)
    np.testing.assert_allclose(weight @ Z, 0, atol=1e-10)
    assert np.ptp(Z, axis=0) == pytest.approx(2 * _triple_interactions.FAR)
    inside = np.all(np.abs(Z - Z.min(axis=0) - _triple_interactions.FAR) < 0.99 * _triple_interactions.FAR, axis=1)
    np.testing.assert_allclose(np.corrcoef(Z[inside].T, X[inside].T)[[0, 1, 2], [3, 4, 5]], 1)
    R = residual(Z, T, weight)
    np.testing.assert_allclose(Z.T @ (weight[:, None] * R), 0, atol=1e-10)
    assert np.linalg.matrix_rank(np.hstack([T - R, Z]), tol=1e-8) == 3


def product_of_three(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, [1]] * X[:, [4]] * X[:, [7]]


@pytest.mark.parametrize("of", [np.sign, np.asarray], ids=["sign", "product"])
def test_a_product_of_three_is_found(of):
    for seed in range(5):
        X, product = product_of_three(300, 20, seed)
        found, certain = triple_interactions(X, of(product), np.ones(300))
        assert certain and found.tolist() == [1, 4, 7]


def test_one_of_several_targets_is_enough():
    X, product = product_of_three(300, 20, 0)
    noise = np.random.default_rng(1).standard_normal((300, 3))
    found, certain = triple_interactions(X, np.hstack([noise, np.sign(product)]), np.ones(300))
    assert certain and found.tolist() == [1, 4, 7]


@pytest.mark.parametrize("tails", ["normal", "heavy", "rare"])
def test_nothing_is_named_where_nothing_is(tails):
    n_named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        draw = {
            "normal": lambda size, rng=rng: rng.standard_normal(size),
            "heavy": lambda size, rng=rng: rng.standard_t(2, size),
            "rare": lambda size, rng=rng: (rng.random(size) < 0.03).astype(float),
        }[tails]
        n_named += triple_interactions(draw((200, 20)), draw((200, 1)), np.ones(200))[1]
    assert n_named <= 1


def test_effects_of_one_and_two_columns_are_no_product_of_three():
    X, _ = product_of_three(400, 20, 0)
    assert not triple_interactions(X, X[:, [0]] + X[:, [1]] * X[:, [2]], np.ones(400))[1]


def test_several_products_up_to_a_number_of_columns(monkeypatch):
    X, product = product_of_three(2000, 20, 0)
    both = product + X[:, [2]] * X[:, [4]] * X[:, [9]]
    assert triple_interactions(X, both, np.ones(2000))[0].tolist() == [1, 2, 4, 7, 9]
    monkeypatch.setattr(_triple_interactions, "MOST_TAKEN", 4)
    assert len(triple_interactions(X, both, np.ones(2000))[0]) == 3


def test_a_small_effect_is_left_alone_however_sure():
    X, product = product_of_three(20_000, 8, 0)
    noise = np.random.default_rng(1).standard_normal(product.shape)
    weight = np.ones(len(X))
    assert triple_interactions(X, np.sign(product) + noise, weight)[1]
    assert not triple_interactions(X, 0.1 * np.sign(product) + noise, weight)[1]


def test_a_line_of_correlated_columns_is_no_product_of_three():
    rng = np.random.default_rng(0)
    X = np.exp(0.5 * (rng.standard_normal((400, 15)) + rng.standard_normal((400, 1))))
    assert not triple_interactions(X, np.sign(X[:, [0]] + X[:, [1]] - 2.5), np.ones(400))[1]


def test_constant_columns_and_targets_are_no_error():
    X, product = product_of_three(300, 20, 0)
    X[:, 3] = 0.1
    assert triple_interactions(X, product, np.ones(300))[0].tolist() == [1, 4, 7]
    assert not bounded(X, np.ones(300))[:, 3].any()
    assert not triple_interactions(X, np.full((300, 1), 0.1), np.ones(300))[1]


def test_fewer_rows_than_columns_name_nothing():
    X, product = product_of_three(40, 60, 0)
    assert not triple_interactions(X, product, np.ones(40))[1]
