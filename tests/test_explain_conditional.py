"""Conditional Shapley values and expected scores: equal to quadrature, Monte Carlo, regression and known limits."""

from dataclasses import replace

import numpy as np
import pytest

from spkm import SPKMClassifier, SPKMRegressor
from spkm.explain import Normal, expected_scores, explain
from spkm.kernels import RBF, Affine, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from tests.enumeration import enumerated_shapley
from tests.made_models import make_model
from tests.quadrature import normal_nodes

MEAN = np.array([0.2, -0.1, 0.4])
MIXING = np.array([[1.0, 0.0, 0.0], [0.7, 0.6, 0.0], [-0.4, 0.5, 0.3]])
COVARIANCE = MIXING @ MIXING.T
KINDS = {
    "rbf": [(3, [(RBF(0.4), None)])],
    "bipolar": [(3, [(Affine(RBF(0.4)), None)])],
    "matern": [(2, [(Matern(2.5, gamma=0.3), None)])],
    "rational quadratic": [(2, [(RationalQuadratic(alpha=2.0, gamma=0.3), None)])],
    "linear": [(2, [(Linear(0.5), None)])],
    "polynomial": [(3, [(Polynomial(degree=3, coef0=0.5, gamma=0.3), None)])],
    "two terms": [(3, [(RBF(0.4), None)]), (2, [(Linear(0.7), None)])],
    "views": [(2, [(RBF(0.4), [0, 1]), (Polynomial(degree=2, gamma=0.3), [2])])],
    "views that share a feature": [(2, [(RBF(0.4), [0, 1]), (RBF(0.2), [1, 2])])],
}


def by_quadrature(model, x, known, count=40):
    """Return E[f | x_known] by a product rule of Gauss and Hermite over the unknown features."""
    rows, shares = normal_nodes(MEAN, COVARIANCE, x, list(known), count)
    return shares @ model.scores(rows)


@pytest.mark.parametrize("name", KINDS)
def test_values_equal_enumeration_with_quadrature(name):
    model = make_model(KINDS[name], 3, n_outputs=2, scaling=False)
    X = np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 2)
    found = explain(model, X, Normal(MEAN, COVARIANCE))
    for i, x in enumerate(X):
        values = {}
        for number in range(8):
            known = tuple(j for j in range(3) if number >> j & 1)
            values[known] = by_quadrature(model, x, known) if len(known) < 3 else model.scores(x[None])[0]
        # Bumps that are narrow or not smooth at their top are hard for the quadrature.
        gap = 1e-9 if name in ("rbf", "linear", "polynomial", "views") else 1e-6 if name != "matern" else 1e-4
        np.testing.assert_allclose(found.base_values, values[()], atol=gap)
        truth = shapley_of(values)
        np.testing.assert_allclose(found.values[i], truth, atol=gap)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), found.scores, atol=1e-12)
    np.testing.assert_allclose(found.base_values + found.contributions.sum(axis=1), found.scores, atol=1e-12)
    within = np.einsum("nrd,rm->ndm", found.basis_values(), model.weights)
    np.testing.assert_allclose(within, found.values, atol=1e-12)


def shapley_of(values):
    """Return Shapley values of three players from the values of all subsets."""
    from itertools import permutations

    result = np.zeros((3, len(values[()])))
    for order in permutations(range(3)):
        for place, j in enumerate(order):
            before = tuple(sorted(order[:place]))
            result[j] += (values[tuple(sorted((*before, j)))] - values[before]) / 6
    return result


def test_expected_scores_equal_monte_carlo_with_scaling():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) + 3.0
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1] * X[:, 2]
    model = SPKMRegressor(n_basis=6, random_state=0, linear_part=True).fit(X, y)
    normal = Normal.of(X)
    row = X[:1].copy()
    row[0, [1, 3]] = np.nan
    slopes = normal.covariance[np.ix_([1, 3], [0, 2])] @ np.linalg.inv(normal.covariance[np.ix_([0, 2], [0, 2])])
    mean = normal.mean[[1, 3]] + slopes @ (X[0, [0, 2]] - normal.mean[[0, 2]])
    left = normal.covariance[np.ix_([1, 3], [1, 3])] - slopes @ normal.covariance[np.ix_([0, 2], [1, 3])]
    drawn = np.tile(X[0], (40_000, 1))
    drawn[:, [1, 3]] = rng.multivariate_normal(mean, left, len(drawn))
    F = model.model_.scores(drawn)[:, 0]
    assert abs(expected_scores(model, row, X)[0, 0] - F.mean()) < 5 * F.std() / 200 + 1e-3  # the clip is left out
    np.testing.assert_allclose(expected_scores(model, X[:5], X), model.model_.scores(X[:5]), atol=1e-10)
    nothing = expected_scores(model, np.full((1, 4), np.nan), normal)
    np.testing.assert_allclose(nothing[0], explain(model, X[:1], normal).base_values, atol=1e-10)


def test_known_features_that_the_model_does_not_read_tell_of_those_that_it_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.0], [0.0, 0.0, 0.1]])
    model = SPKMRegressor(4, random_state=0).fit(X[:, :2], np.sin(X[:, 0]) + X[:, 1]).model_
    wide = replace(model, features=np.array([0, 1]), n_features=3)
    row = np.array([[np.nan, X[0, 1], X[0, 2]]])
    drawn = np.tile(X[0], (20_000, 1))
    mean, covariance = Normal.of(X).given(row, ~np.isnan(row[0]))
    drawn[:, 0] = rng.normal(mean[0, 0], np.sqrt(covariance[0, 0]), len(drawn))
    F = wide.scores(drawn)[:, 0]
    assert abs(expected_scores(wide, row, X)[0, 0] - F.mean()) < 5 * F.std() / np.sqrt(len(F)) + 1e-6
    with pytest.raises(ValueError, match="background must have 3 features; got 1"):
        expected_scores(wide, row, Normal(np.zeros(1), np.eye(1)))


def test_independent_features_have_interventional_values():
    model = make_model(KINDS["rbf"], 3, scaling=False)
    rng = np.random.default_rng(0)
    spread = np.array([0.5, 1.0, 0.3])
    x = rng.normal(size=(1, 3))
    found = explain(model, x, Normal(MEAN, np.diag(spread**2)))
    drawn = MEAN + spread * rng.normal(size=(40_000, 3))
    truth = enumerated_shapley(model.scores, x[0], drawn, [[0], [1], [2]])
    np.testing.assert_allclose(found.values[0], truth, atol=0.03)


def test_features_that_determine_each_other_share_their_value():
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    X = np.column_stack([a, a, rng.normal(size=200)])  # a singular covariance
    y = np.sin(2 * a) + X[:, 2]
    model = SPKMRegressor(n_basis=5, random_state=0).fit(X, y)
    found = explain(model, X[:20], "normal")
    np.testing.assert_allclose(found.values[:, 0], found.values[:, 1], atol=1e-8)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), found.scores, atol=1e-10)
    gap = X[:5].copy()
    gap[:, 1] = np.nan  # its copy is known
    np.testing.assert_allclose(expected_scores(model, gap, X), model.model_.scores(X[:5]), atol=1e-8)


def test_classes_in_binary_problems_and_groups():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = SPKMClassifier(n_basis=3, multi_class="ovr", random_state=0).fit(X, y)
    found = explain(model, X[:4], "normal", groups={"petal": [2, 3]})
    assert found.values.shape == (4, 3, 3)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), found.scores, atol=1e-10)


def test_what_cannot_be_done_is_said():
    model = make_model([(2, [(Laplacian(0.4), None)])], 3, scaling=False)
    with pytest.raises(ValueError, match="needs kernels of squared distances or inner products"):
        explain(model, np.zeros((2, 3)), "normal")
    wide = make_model([(2, [(RBF(0.1), None)])], 13, scaling=False)
    with pytest.raises(ValueError, match="at most 12 features or groups, this model reads 13"):
        explain(wide, np.random.default_rng(0).normal(size=(3, 13)), "normal")
    narrow = make_model(KINDS["rbf"], 3, scaling=False)
    with pytest.raises(ValueError, match="background must be a Normal of 3 features"):
        explain(narrow, np.zeros((2, 3)), Normal(np.zeros(2), np.eye(2)))
    with pytest.raises(ValueError, match="interactions need a background of samples"):
        explain(narrow, np.zeros((2, 3)), Normal(MEAN, COVARIANCE)).interactions()
