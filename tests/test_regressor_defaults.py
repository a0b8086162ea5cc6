"""What the regressor does by itself: few or many vectors, robust losses from a squared fit, and no harm by either."""

import numpy as np
import pytest

from spkm import SPKMRegressor, SPKMRegressorCV
from spkm.core.model import Term, View
from spkm.core.problem import Problem
from spkm.fitting.merging import merged
from spkm.fitting.strategies import FEW, MANY, sizes_for
from spkm.kernels import RBF
from spkm.losses import Squared
from spkm.penalties import Evidence
from spkm.solvers import Result
from spkm.sources import ArraySource


def waves(n=300, seed=0, noise=0.1, d=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + noise * rng.standard_normal(n)


@pytest.mark.parametrize(
    ("n_samples", "max_basis", "expected"),
    [
        (1000, None, [20, 60]),
        (70, None, [20, 35]),
        (30, None, [15]),
        (1000, 40, [20, 40]),
        (1000, 7, [7]),
        (1, None, [1]),
    ],
)
def test_sizes_that_are_tried(n_samples, max_basis, expected):
    assert sizes_for(n_samples, max_basis) == expected


def test_auto_takes_the_size_of_the_lower_held_out_loss_and_reports_both():
    X, y = waves(200)
    model = SPKMRegressor("auto", random_state=0).fit(X, y)
    results = model.cv_results_
    assert results["n_basis"].tolist() == [FEW, MANY]
    assert set(results) == {
        *("kernel", "stage", "strength_factor", "mean_n_features", "n_basis", "mean_test_loss", "error_test_loss")
    }
    best = results["n_basis"][np.argmin(results["mean_test_loss"])]
    assert 1 <= len(model.basis_vectors_) <= best  # those of one place are merged
    # The model itself is that of a plain fit with the number.
    plain = SPKMRegressor(int(best), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X))
    assert np.all(results["mean_test_loss"] > 0) and np.all(results["mean_test_loss"] < 0.2)


def test_auto_with_room_for_one_size_reports_its_loss():
    X, y = waves(30)
    model = SPKMRegressor("auto", random_state=0).fit(X, y)
    assert len(model.basis_vectors_) == 15 and model.cv_results_["n_basis"].tolist() == [15]


@pytest.mark.parametrize("loss", ["huber", "quantile", "epsilon_insensitive"])
def test_robust_losses_reach_what_the_squared_one_does(loss):
    # A few wavelengths of many matter, as in a spectrum: robust losses by themselves fall far behind.
    rng = np.random.default_rng(2)
    factors = rng.standard_normal((300, 4))
    X = factors @ rng.standard_normal((4, 30)) + 0.02 * rng.standard_normal((300, 30))
    y = np.sin(factors[:, 0]) + factors[:, 1] ** 2 + 0.05 * rng.standard_normal(300)
    train, test = (X[:200], y[:200]), (X[200:], y[200:])
    squared = SPKMRegressor(random_state=0).fit(*train).score(*test)
    started = SPKMRegressor(loss=loss, random_state=0).fit(*train)
    assert started.score(*test) > squared - 0.1
    assert np.ptp(started.relevances_) > 0
    plain = SPKMRegressor(loss=loss, weight_penalty="rkhs", tol=1e-2, random_state=0).fit(*train)
    assert started.score(*test) >= plain.score(*test) - 0.02


def test_robust_losses_keep_out_of_the_way_of_far_samples():
    X, y = waves()
    spoiled = y.copy()
    spoiled[::10] += 20
    new = waves(seed=1)
    for loss in ("huber", "quantile"):
        assert SPKMRegressor(12, loss=loss, random_state=0).fit(X, spoiled).score(*new) > 0.8


def two_outputs():
    X, y = waves(d=4)
    return X, np.column_stack([y, np.cos(X[:, 2]) * X[:, 3]]), None


def uneven_noise():
    X, _ = waves(seed=3)
    rng = np.random.default_rng(4)
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + np.exp(X[:, 0] / 2) * 0.2 * rng.standard_normal(len(X)), None


def weighted():
    X, y = waves(seed=5)
    weight = np.where(np.arange(len(y)) % 2, 1.0, 0.05)
    return X, np.where(weight == 1, y, y + np.random.default_rng(6).standard_normal(len(y))), weight


@pytest.mark.parametrize("make", [two_outputs, uneven_noise, weighted])
def test_the_default_does_no_harm(make):
    X, Y, weight = make()
    clean = waves(400, seed=9, noise=0.0, d=X.shape[1])
    truth = clean[1]
    if Y.ndim == 2:
        truth = np.column_stack([truth, np.cos(clean[0][:, 2]) * clean[0][:, 3]])
    default = SPKMRegressor(random_state=0).fit(X, Y, weight).score(clean[0], truth)
    plain = SPKMRegressor(random_state=0, weight_penalty="rkhs").fit(X, Y, weight).score(clean[0], truth)
    assert default > min(plain, 0.99) - 0.02


@pytest.mark.slow
def test_a_search_that_met_vectors_that_depend_on_each_other():
    r = np.random.default_rng(0)
    for n, d in [(300, 20), (500, 100), (100, 2000)]:
        r.standard_normal((n, d)), r.standard_normal(n)
    X = r.standard_normal((300, 50))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * r.standard_normal(300)
    model = SPKMRegressorCV(kernel="matern", cv=3, random_state=0).fit(X, y)
    assert set(model.selected_features_) >= {0, 1, 2}


def test_vectors_of_one_place_become_one_and_weights_are_solved_for_again():
    X, y = waves(80)
    source = ArraySource(X, y[:, None] - y.mean())
    problem = Problem((Term(3, (View(RBF(1.0), None, "fixed"),)),), Squared(), evidence=Evidence(noise=0.1, ridge=0.0))
    objective = problem.objective(source)
    theta, params = objective.model.zeros()
    params.basis[0][...] = [[0.0, 1.0], [1.0, -1.0], [0.0, 1.0]]
    before = objective.complete(objective.start(theta))
    smaller, result = merged(problem, objective, Result(before, 0.0, 7, True, trace=[0.0]), None)
    now, then = (
        model.unpack(found).weights[:, 0] for model, found in ((smaller.model, result.theta), (objective.model, before))
    )
    # Without a ridge two vectors of one place are the same model as one, but for the jitter of their kernel matrix.
    np.testing.assert_allclose(now, [then[0] + then[2], then[1]], rtol=1e-4)
    assert result.value == smaller.value(smaller.start(result.theta)) == result.trace[-1]


def test_one_feature_has_no_copies_of_a_vector():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    model = SPKMRegressor(random_state=0).fit(X, y)
    U = np.sort(model.basis_vectors_[:, 0])
    assert len(U) < 20 and np.diff(U).min() > 1e-3
    assert model.score(X, y) > 0.95
    assert np.all(np.isfinite(model.predict(X, return_std=True)[1]))


@pytest.mark.parametrize("seed", range(5))
def test_a_target_that_is_exactly_linear_leaves_room_for_another(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    wavy = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    both = np.column_stack([wavy, X[:, 0]])
    errors = both - SPKMRegressor(8, random_state=0).fit(X, both).predict(X)
    assert np.all(errors.var(axis=0) < 0.05 * both.var(axis=0))
