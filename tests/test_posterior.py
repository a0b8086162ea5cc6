"""Standard deviations of predictions: a Gaussian process written down in full, their coverage, and far samples."""

import numpy as np
import pytest

from spkm import SPKMRegressor


def waves(n=300, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, 10 * (np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + noise * rng.standard_normal(n))


def test_variance_equals_that_of_weights_with_a_gaussian_prior():
    X, y = waves(61)
    model = SPKMRegressor(8, linear_part=False, scale=False, fit_intercept=False, random_state=0).fit(X, y)
    fitted, new = model.model_, 2 * waves(20, seed=1)[0]
    U, k = model.basis_vectors_, model.kernel_
    K = k(U, U) + (1e-6 + fitted.ridge) * np.eye(len(U))
    s = fitted.posterior.noise_variance[0]
    # Weights of covariance s / l K^-1 seen through targets of noise s.
    posterior = np.linalg.inv(k(X, U).T @ k(X, U) / s + fitted.noise * K / s)
    Phi = k(new, U)
    # A Gaussian process seen at centres of the samples, each the mean of a few targets.
    centres = fitted.posterior.centres
    seen = k(centres, centres) + (1e-6 + fitted.noise * len(centres) / 61) * np.eye(len(centres))
    left, usual = (1 - np.einsum("ir,ri->i", k(A, centres), np.linalg.solve(seen, k(centres, A))) for A in (new, X))
    usual = np.sort(usual)[54]  # nine samples in ten leave less open
    unknown = np.maximum(left - usual, 0) / (1 - usual)
    total = np.mean((y / fitted.target.scale[0]) ** 2)
    expected = s + np.einsum("ir,rs,is->i", Phi, posterior, Phi) + unknown * (total - s)
    expected += (unknown * (Phi @ model.dual_coef_ / fitted.target.scale[0])) ** 2
    assert len(centres) == 30 and unknown.min() < 0.05 < unknown.max()
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(new))
    np.testing.assert_allclose(std, np.sqrt(expected) * fitted.target.scale[0], rtol=1e-5)


def test_an_intercept_adds_its_own_variance():
    """With means taken off the intercept is the mean of n targets, independent of the weights: s / n."""
    X, y = waves(40)
    model = SPKMRegressor(4, linear_part=False, scale=False, random_state=0).fit(X, y)
    fitted, k, U = model.model_, model.kernel_, model.basis_vectors_
    s, where = fitted.posterior.noise_variance[0], X[:5]
    assert (fitted.posterior.unknown(k, where) < 1).all()
    Phi, new = k(X, U), k(where, U)
    # The same model with the intercept as one more weight, without a prior.
    A = np.zeros((5, 5))
    A[:4, :4] = fitted.noise * (k(U, U) + (1e-6 + fitted.ridge) * np.eye(4))
    design, at = np.hstack([Phi, np.ones((40, 1))]), np.hstack([new, np.ones((5, 1))])
    expected = s * (1 + np.einsum("ir,ir->i", at @ np.linalg.inv(design.T @ design + A), at))
    rho = fitted.posterior.unknown(k, where)
    mean_off = (Phi @ fitted.weights).mean() - new @ fitted.weights[:, 0]
    expected += rho * (fitted.posterior.total_variance[0] - s) + (rho * mean_off / fitted.target.scale[0]) ** 2
    std = model.predict(where, return_std=True)[1]
    np.testing.assert_allclose(std, np.sqrt(expected) * fitted.target.scale[0], rtol=1e-6)


def test_intervals_hold_and_grow_away_from_the_data():
    X, y = waves()
    model = SPKMRegressor(random_state=0).fit(X, y)
    new, truth = waves(1000, seed=2)
    mean, std = model.predict(new, return_std=True)
    assert 0.8 < np.mean(np.abs(truth - mean) < 1.645 * std) < 0.98
    assert model.predict([[30.0, -30.0]], return_std=True)[1][0] > 2 * np.median(std)


def test_deviations_are_those_of_all_targets_where_no_sample_was_even_if_vectors_are():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(-3, -2, (100, 1)), rng.uniform(2, 3, (100, 1))])
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    vectors = np.linspace(-3, 3, 20)[:, None]  # also between the two groups of samples
    model = SPKMRegressor(20, start=vectors, linear_part=False, random_state=0).fit(X, y)
    assert np.any(np.abs(model.basis_vectors_) < 1)
    std = model.predict([[0.0], [2.5]], return_std=True)[1]
    assert std[0] > 0.9 * y.std() and std[1] < 0.5 * y.std()


def test_several_outputs_and_models_without():
    X, y = waves(100)
    model = SPKMRegressor(6, random_state=0).fit(X, np.column_stack([y, np.ones(100), 3 - 100 * y]))
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (100, 3)
    assert np.all(std[:, 1] == 0) and np.all(std[:, 0] > 0)
    np.testing.assert_allclose(std[:, 2], 100 * std[:, 0], rtol=1e-2)
    mean, std = SPKMRegressor(6, random_state=0).fit(X, np.full(100, 3.0)).predict(X, return_std=True)
    np.testing.assert_allclose(mean, 3, rtol=100 * np.finfo(float).eps)  # of a hundred terms that are added up
    assert np.all(std == 0)
    with pytest.raises(ValueError, match="return_std=True needs"):
        SPKMRegressor(6, loss="huber", random_state=0).fit(X, y).predict(X, return_std=True)
