"""The evidence beside a linear part, its first stage and its ridge: formulas written down in full, and no collapse."""

import numpy as np
import pytest
from scipy import sparse

from spkm import SPKMRegressor
from spkm.core.evidence import RIDGES, EvidenceObjective
from spkm.core.model import LINEAR_PART, PreimageModel, Term, View
from spkm.core.profiled import JITTER
from spkm.core.starts import KMeans, first_theta
from spkm.kernels import RBF, Linear, Matern
from spkm.losses import Squared
from spkm.penalties import Evidence
from spkm.solvers import Result, VarPro
from spkm.sources import ArraySource
from tests import cases

N = 40
X = cases.rows(N)
WEIGHT = cases.frozen(np.random.default_rng(8).random(N) + 0.2)
KERNEL = Term(4, (View(RBF(0.3), None, "relevances"),))


def beside_linear(m, fit_intercept=True, settings=None, rows=X):
    linear = Term(m, (View(Linear(gamma=1.0), None, "fixed", [], LINEAR_PART),), is_linear_part=True)
    model = PreimageModel([KERNEL, linear], cases.N_FEATURES, m, fit_intercept)
    source = ArraySource(rows, cases.targets(Squared(), N, m) + 0.5, WEIGHT)
    settings = Evidence(0.2, 0.4, 0.3, 0.05) if settings is None else settings
    return EvidenceObjective(model, Squared(), source, [], settings), cases.random_theta(model)


def in_full(objective, phi):
    """Return (value, coefficients) of the docstring's formula by n x n matrices, the noise 0.3, the ridge 0.05."""
    model, n, w = objective.kernels, objective.n, objective.source.w[:, 0]
    R, d = model.n_basis, model.n_features
    stop = model.basis_part.stop
    theta = np.append(phi[:stop], np.zeros(model.n_params - stop))
    noise, tau = np.exp(phi[stop]), np.exp(phi[stop + 1])
    Phi = model.features(ArraySource(X, np.zeros((N, 1))).load((0, N)), theta)[0]
    K = model.gram(theta)[0][0] + (JITTER + 0.05) * np.eye(R)
    prior = np.block([[K, np.zeros((R, d))], [np.zeros((d, R)), np.eye(d) / tau]])
    A, Y = np.hstack([Phi, X]), objective.source.Y
    if model.fit_intercept:
        A, Y = A - w @ A, Y - w @ Y
    root = np.sqrt(n * w)[:, None]
    C = np.linalg.solve((root * A).T @ (root * A) + noise * prior, (root * A).T @ (root * Y))
    V = np.sum((root * (Y - A @ C)) ** 2, axis=0) + noise * np.einsum("rk,rs,sk->k", C, prior, C)
    covariance = (root * A) @ np.linalg.solve(prior, (root * A).T) / noise + np.eye(N)
    unexplained = 1.0 - w @ np.einsum("ir,ri->i", Phi, np.linalg.solve(K, Phi.T))
    value = np.mean(np.log(V / (2 * n))) / 2 + np.linalg.slogdet(covariance)[1] / (2 * n)
    logs = model.unpack(theta).log_metric[0]
    return value + 0.2 / (2 * noise) * unexplained + 0.4 / (2 * n) * np.sum((logs - logs.mean()) ** 2), C


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("m", [1, 2])
def test_evidence_beside_a_linear_part_equals_the_formula(m, fit_intercept):
    objective, theta = beside_linear(m, fit_intercept)
    phi = objective.start(theta) + np.append(np.zeros(objective.kernels.basis_part.stop), [0.0, 0.7])
    value, gradient = objective.value_and_gradient(phi)
    expected, C = in_full(objective, phi)
    assert value == pytest.approx(expected, rel=1e-8)
    assert objective.value(phi) == pytest.approx(value, rel=1e-12)
    assert cases.slope_error(objective.value, gradient, phi) < 1e-6
    best = objective.model.unpack(objective.complete(phi))
    R = objective.kernels.n_basis
    np.testing.assert_allclose(best.weights[:R], C[:R], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(best.basis[1].T, C[R:], rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(best.weights[R:], np.eye(m))


def test_sparse_rows_and_recomputed_features_give_the_same(blocks_of, kept_features):
    dense, theta = beside_linear(2)
    phi = dense.start(theta)
    expected = dense.value_and_gradient(phi)
    of_csr, _ = beside_linear(2, rows=sparse.csr_matrix(X))
    blocks_of(7)
    for objective in (dense, of_csr):
        for kept in (2**21, 0):
            kept_features(kept)
            found = objective.value_and_gradient(phi)
            assert found[0] == pytest.approx(expected[0], rel=1e-10)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-7, atol=1e-11)


def test_first_stage_keeps_the_noise_and_has_a_gradient():
    objective, theta = beside_linear(1, settings=Evidence(0.2, 0.4))
    first = objective.first_stage()
    phi = first.start(theta)
    value, gradient = first.value_and_gradient(phi)
    assert np.all(gradient[objective.kernels.basis_part.stop :] == 0)
    assert first.noise(phi) == pytest.approx(0.01)
    held = objective.kernels.basis_part

    def of_basis(basis):
        return first.value(np.append(basis, phi[held.stop :]))

    assert cases.slope_error(of_basis, gradient[held], phi[held]) < 1e-6
    assert value != pytest.approx(objective.value(phi))
    assert beside_linear(1)[0].first_stage() is None  # a noise that is given is a place to go on from


def test_the_gradient_where_one_target_is_fitted_perfectly():
    other, theta = beside_linear(2)
    exact = ArraySource(X, np.column_stack([other.source.Y[:, 0], X[:, 0]]), WEIGHT)
    objective = EvidenceObjective(other.model, Squared(), exact, [], Evidence(0.0, 0.4, 1e-8, 0.05, 1.0))
    phi = objective.start(theta)
    value, gradient = objective.value_and_gradient(phi)
    assert cases.slope_error(objective.value, gradient, phi) < 1e-5
    near = ArraySource(X, exact.Y + 1e-9 * np.sin(np.arange(len(X)))[:, None] * [0.0, 1.0], WEIGHT)
    other = EvidenceObjective(other.model, Squared(), near, [], Evidence(0.0, 0.4, 1e-8, 0.05, 1.0))
    assert other.value(phi) == pytest.approx(value, abs=1e-4)  # noise far below the bound of its variance is no news


def smooth(n=150, d=3, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    return rows, np.sin(2 * rows[:, 0]) + rows[:, 1] + noise * rng.standard_normal(n)


def test_ridge_rises_while_the_evidence_hardly_does():
    rows, y = smooth()
    model = PreimageModel([Term(8, (View(Matern(2.5, 0.3), None, "relevances"),))], 3, 1)
    source = ArraySource(rows, y[:, None])
    plain = EvidenceObjective(model, Squared(), source, [], Evidence(ridge=RIDGES[0]))
    raised = EvidenceObjective(model, Squared(), source, [], Evidence())
    rng = np.random.default_rng(0)
    theta = first_theta(plain, KMeans(), "ridge", rng)
    low = VarPro().minimize(plain, theta, rng)
    high = VarPro().minimize(raised, theta, rng)
    assert RIDGES[0] <= high.ridge <= RIDGES[-1] and low.ridge == RIDGES[0]
    assert high.value <= low.value + 0.1
    # The weights are those of the ridge that was kept.
    kept = EvidenceObjective(model, Squared(), source, [], Evidence(noise=high.noise, ridge=high.ridge))
    np.testing.assert_allclose(kept.complete(kept.start(high.theta)), high.theta, rtol=1e-6, atol=1e-8)


AS_GOOD = 0.1  # nats of evidence that a simpler stage may lose


class Stage:
    """An objective of a given lowest value, which may be interrupted on the way there."""

    def __init__(self, value, interrupted=False, later=()):
        self.lowest, self.interrupted, self.later = value, interrupted, later

    def value_and_gradient(self, phi):
        if self.interrupted and np.any(phi != 1):
            raise KeyboardInterrupt
        return self.lowest + np.sum((phi - 2) ** 2), 2 * (phi - 2)

    def last_stages(self):
        return self.later


@pytest.mark.parametrize("value", [0.0, 2 * AS_GOOD])
def test_ctrl_c_in_a_stage_is_told_and_leaves_the_one_before(value):
    objective = Stage(0.0, later=[Stage(value, interrupted=True), Stage(0.0)])
    found, of = VarPro()._simplified(objective, Result(np.ones(2), 2.0, 7, True), None)
    assert of is objective and found.value == 2.0 and found.interrupted and found.by_signal
    whole = Stage(0.0, later=[Stage(2 + AS_GOOD / 2), Stage(2 + 2 * AS_GOOD)])
    found, of = VarPro()._simplified(whole, Result(np.ones(2), 2.0, 7, True), None)
    assert of is whole.later[0] and found.n_iter == 7 and found.converged and not found.interrupted


def test_predictions_are_basis_vectors_and_a_linear_part():
    rows, y = smooth()
    model = SPKMRegressor(6, scale=False, random_state=0).fit(rows, np.column_stack([y, 5 - 2 * y]))
    by_hand = (
        model.intercept_ + rows @ model.linear_coef_ + model.kernel_(rows, model.basis_vectors_) @ model.dual_coef_
    )
    np.testing.assert_allclose(model.predict(rows), by_hand, rtol=1e-8, atol=1e-8)
    assert not hasattr(SPKMRegressor(6, linear_part=False).fit(rows, y), "linear_coef_")
    assert not hasattr(SPKMRegressor(2, selection="strict", random_state=0).fit(rows, y), "linear_coef_")


def test_a_linear_target_is_left_to_the_linear_part():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((200, 4))
    coef = np.array([1.0, -2.0, 0.5, 0.0])
    model = SPKMRegressor(5, random_state=0).fit(rows, rows @ coef + 0.05 * rng.standard_normal(200))
    np.testing.assert_allclose(model.linear_coef_, coef, atol=0.1)
    assert model.cancellation_ < 3


@pytest.mark.slow
def test_the_evidence_does_not_end_at_the_constant_model():
    rng = np.random.default_rng(1)
    rng.standard_normal(3200 * 33)
    rows = rng.standard_normal((3200, 32))
    y = rows[:, 0] * np.sin(2 * rows[:, 1]) + 0.1 * rng.standard_normal(3200)
    settings = {"n_basis": 60, "random_state": 1, "basis_bounds": None, "linear_part": False}
    found = SPKMRegressor(**settings, weight_penalty=Evidence(ridge=0.0)).fit(rows[:1200], y[:1200])
    assert found.score(rows[1200:], y[1200:]) > 0.9
    plain = SPKMRegressor(**settings, weight_penalty=Evidence(noise=0.1, ridge=0.0)).fit(rows[:1200], y[:1200])
    assert found.objective_ <= plain.objective_ + 0.02
    assert SPKMRegressor(60, random_state=1).fit(rows[:1200], y[:1200]).score(rows[1200:], y[1200:]) > 0.9


def test_a_noise_that_is_too_small_for_the_rounding_of_all_samples_is_raised():
    # Vectors so near to one another that their Gram matrix is singular but for the noise.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = X[:, 0] + X[:, 1] ** 2
    model = PreimageModel([Term(12, (View(RBF(1e-9), None, "relevances"),))], 2, 1)
    source = ArraySource(X, (y - y.mean())[:, None], np.ones(400))
    objective = EvidenceObjective(model, Squared(), source, [], Evidence(noise=1e-12))
    phi = objective.start(0.01 * rng.standard_normal(model.n_params))
    phi[-1] = -60.0
    assert not np.isfinite(objective.value(phi))
    eased = objective.with_enough_noise(phi)
    assert np.isfinite(objective.value(eased)) and objective.noise(eased) < 10
    np.testing.assert_array_equal(eased[:-1], phi[:-1])
    np.testing.assert_array_equal(objective.with_enough_noise(eased), eased)


@pytest.mark.exhaustive
def test_a_search_on_some_samples_goes_on_with_all():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 20))
    y = X[:, 0] * 2 + X[:, 1] ** 2 - 1 + 0.5 * rng.standard_normal(6000)
    model = SPKMRegressor(selection="strict", random_state=0).fit(X, y)
    assert model.selected_features_.tolist() == [0, 1] and model.score(X, y) > 0.94
