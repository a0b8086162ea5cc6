"""Machines of few vectors, each against its definition."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from spkm_paper.competitors import KernelMatchingPursuit, RBFNetwork, ReducedSetClassifier, ReducedSetRegressor
from spkm_paper.competitors._few_vectors import reduced_set
from spkm_paper.competitors._methods import METHODS, Training
from tests.small_data import curve, noisy, three_classes


def left_over(features, Y):
    """Return the squared error of least squares on features and an intercept."""
    A = np.column_stack([features, np.ones(len(features))])
    coef = np.linalg.lstsq(A, Y, rcond=1e-12)[0]
    return float(np.sum((Y - A @ coef) ** 2))


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_every_row_that_enters_is_the_one_that_leaves_least_error(n_outputs):
    X, y = curve()
    X, y = X[:40], y[:40]
    Y = np.column_stack([y, np.cos(X[:, 0])])[:, :n_outputs]
    K = rbf_kernel(X, gamma=0.7)
    chosen = KernelMatchingPursuit(4, gamma=0.7).fit(X, Y).support_
    assert len(set(chosen)) == 4
    for k, row in enumerate(chosen):
        errors = [left_over(K[:, [*chosen[:k], i]], Y) for i in range(len(X))]
        assert errors[row] <= min(errors) * (1 + 1e-8)


def test_weights_of_a_pursuit_are_those_of_a_ridge_regression():
    X, y = curve()
    model = KernelMatchingPursuit(5, gamma=0.5, alpha=0.1).fit(X, y)
    features = rbf_kernel(X, X[model.support_], gamma=0.5)
    ridge = Ridge(alpha=0.1).fit(features, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(features), rtol=1e-5, atol=1e-6)


def test_a_network_has_widths_of_its_nearest_centres():
    X, y = curve()
    model = RBFNetwork(6, width=1.5, alpha=0.01, random_state=0).fit(X, y)
    centres = KMeans(6, n_init=1, random_state=0).fit(X).cluster_centers_
    np.testing.assert_allclose(model.vectors_, centres)
    features = np.empty((len(X), 6))
    for r, u in enumerate(centres):
        apart = sorted(np.sum((centres - u) ** 2, axis=1))[1:3]
        width = 1.5 * np.sqrt(np.mean(apart))
        features[:, r] = np.exp(-np.sum((X - u) ** 2, axis=1) / (2 * width**2))
    ridge = Ridge(alpha=0.01).fit(features, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(features), rtol=1e-5, atol=1e-6)
    assert RBFNetwork(1).fit(X, y).widths_.shape == (1,)


def distance(X, A, Z, B, gamma):
    """Return the squared distance of two expansions in the RKHS."""
    P, C = np.vstack([X, Z]), np.vstack([A, -B])
    return float(np.sum(C * (rbf_kernel(P, gamma=gamma) @ C)))


def test_a_reduced_set_comes_closer_with_every_vector_and_beats_rows():
    rng = np.random.default_rng(0)
    X, A = rng.standard_normal((60, 3)), rng.standard_normal((60, 2))
    found = [distance(X, A, *reduced_set(X, A, n, 0.4, 0), 0.4) for n in range(1, 9)]
    assert np.all(np.diff(found) < 0) and found[0] < distance(X, A, np.zeros((0, 3)), np.zeros((0, 2)), 0.4)
    Z, B = reduced_set(X, A, 5, 0.4, 0)
    # Weights are the best for their vectors: the rest is orthogonal to all of them.
    rest = rbf_kernel(Z, X, gamma=0.4) @ A - rbf_kernel(Z, gamma=0.4) @ B
    np.testing.assert_allclose(rest, 0, atol=1e-5)
    rows = X[rng.choice(60, 5, replace=False)]
    fitted = np.linalg.solve(rbf_kernel(rows, gamma=0.4), rbf_kernel(rows, X, gamma=0.4) @ A)
    assert found[4] < distance(X, A, rows, fitted, 0.4)
    np.testing.assert_array_equal(reduced_set(X, A, 60, 0.4, 0)[0], X)


def test_one_vector_of_a_reduced_set_is_a_fixed_point_of_greatest_projection():
    rng = np.random.default_rng(1)
    X, A = rng.standard_normal((30, 2)), rng.random((30, 1))
    Z, _ = reduced_set(X, A, 1, 0.3, 0)
    grid = np.stack(np.meshgrid(*[np.linspace(-3, 3, 61)] * 2), axis=-1).reshape(-1, 2)
    taken = (rbf_kernel(grid, X, gamma=0.3) @ A) ** 2
    assert (rbf_kernel(Z, X, gamma=0.3) @ A) ** 2 >= taken.max() * (1 - 1e-6)


def test_with_all_vectors_the_machines_are_the_support_vector_machines():
    X, y = noisy()
    full = SVC(C=2.0, gamma=0.3).fit(X, y)
    same = ReducedSetClassifier(len(y), C=2.0, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(same.decision_function(X), full.decision_function(X), atol=1e-8)
    few = ReducedSetClassifier(3, C=2.0, gamma=0.3, random_state=0).fit(X, y)
    assert few.vectors_.shape[0] == 3 and set(few.predict(X)) <= set(y)
    X, y = three_classes()
    several = ReducedSetClassifier(12, C=2.0, gamma=0.3, random_state=0).fit(X, y)
    assert several.decision_function(X).shape == (len(y), 3) and several.score(X, y) > 0.9
    X, y = curve()
    machine = SVR(C=2.0, gamma=0.3, epsilon=0.1).fit(X, y)
    regressor = ReducedSetRegressor(len(y), C=2.0, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(regressor.predict(X), machine.predict(X), atol=1e-8)


def test_random_features_approach_the_kernel():
    X, y = curve()
    on = Training(X, y, "regression", 20_000, 0)
    features = METHODS["random_fourier"].make(on, gamma=0.4, alpha=1.0)[0].fit_transform(X)
    # A mean of 20,000 terms between -2 and 2: far deviations are as unlikely as Hoeffding's inequality says.
    assert np.max(np.abs(features @ features.T - rbf_kernel(X, gamma=0.4))) < 0.08
