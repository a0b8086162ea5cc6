"""Sobol indices: equal to sums over all combinations of the samples' values."""

import numpy as np
import pytest

from spkm.explain import _effects, _sobol, h_statistics, partial_dependence, sobol_indices
from spkm.kernels import RBF, Laplacian, Linear, Matern, Polynomial
from tests.made_models import make_model, make_rows
from tests.test_explain import TERMS


def over_all_combinations(model, X):
    """Return first-order and total indices and the variance of a model of three features, from all n^3 samples."""
    n = len(X)
    every = np.stack(np.meshgrid(*X.T, indexing="ij"), axis=-1).reshape(-1, 3)
    F = model.scores(every).reshape(n, n, n, -1)
    variance = F.var(axis=(0, 1, 2))
    others = [(1, 2), (0, 2), (0, 1)]
    first = np.array([F.mean(axis=axes).var(axis=0) for axes in others]) / variance
    total = np.array([F.var(axis=j).mean(axis=(0, 1)) for j in range(3)]) / variance
    return first, total, variance


@pytest.mark.parametrize(
    "terms",
    [
        [(3, [(RBF(0.3), None)])],
        [(2, [(Matern(2.5, gamma=0.3), None)])],
        [(2, [(RBF(0.3), [0, 1]), (Laplacian(0.3), [2])]), (2, [(RBF(0.2), [1, 2])])],
        TERMS["linear"],
        TERMS["polynomial"],
        TERMS["bipolar"],
        TERMS["sum of two kinds"],
        [(2, [(RBF(0.3), [0, 1]), (Polynomial(degree=2, gamma=0.3), [2])]), (2, [(Polynomial(gamma=0.2), [0, 2])])],
    ],
)
def test_indices_equal_sums_over_all_combinations(terms):
    model = make_model(terms, 3, n_outputs=2)
    X = make_rows(model, 6)
    found = sobol_indices(model, X)
    first, total, variance = over_all_combinations(model, X)
    assert found.exact
    np.testing.assert_allclose(found.first, first, atol=1e-9)
    np.testing.assert_allclose(found.total, total, atol=1e-9)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-8)


@pytest.mark.parametrize("name", ["matern 5/2", "polynomial"])
def test_small_blocks_change_nothing(name, monkeypatch):
    model = make_model(TERMS[name], 5)
    X = make_rows(model, 12)
    whole, effects, H = sobol_indices(model, X), partial_dependence(model, X), h_statistics(model, X)[1]
    for module in (_sobol, _effects):
        monkeypatch.setattr(module, "BLOCK", 100)
    found = sobol_indices(model, X)
    np.testing.assert_allclose(found.total, whole.total, atol=1e-12)
    np.testing.assert_allclose(found.first, whole.first, atol=1e-12)
    for before, after in zip(effects, partial_dependence(model, X), strict=True):
        np.testing.assert_allclose(after.values, before.values, atol=1e-12)
    np.testing.assert_allclose(h_statistics(model, X)[1], H, atol=1e-8)


@pytest.mark.parametrize(
    "terms", [TERMS["normalized polynomial"], [(2, [(Linear(0.5), [0, 1]), (Polynomial(degree=2, gamma=0.3), [2])])]]
)
def test_estimates_are_told_and_near(terms):
    model = make_model(terms, 3)
    X = make_rows(model, 6)
    found = sobol_indices(model, X, n_samples=20_000)
    first, total, _ = over_all_combinations(model, X)
    assert not found.exact
    np.testing.assert_allclose(found.first, first, atol=0.05)
    np.testing.assert_allclose(found.total, total, atol=0.05)


@pytest.mark.parametrize("name", ["rbf", "polynomial", "laplacian"])
def test_equal_samples_have_no_variance(name):
    model = make_model(TERMS[name], 3)
    found = sobol_indices(model, np.repeat(make_rows(model, 1), 7, axis=0))
    assert (found.variance == 0).all() and (found.total == 0).all() and (found.first == 0).all()


def test_groups_and_features_that_are_not_read():
    model = make_model([(2, [(RBF(0.3), None)])], 5, features=[0, 2, 3])
    X = make_rows(model, 8)
    found = sobol_indices(model, X, groups={"both": [2, 3]})
    assert found.feature_names == ("x0", "x1", "both", "x4")
    assert (found.total[[1, 3]] == 0).all()
    np.testing.assert_allclose(found.first[0] + found.total[2], 1.0, atol=1e-12)
    assert list(found.frame().index) == ["x0", "x1", "both", "x4"]
