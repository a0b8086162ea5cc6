"""Eliminated weights: the same as a ridge regression, and as a Gaussian process written down in full."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge

from spkm import SPKMRegressor
from spkm.core.evidence import MOST_TRACE, EvidenceObjective
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.core.profiled import JITTER, with_diagonal
from spkm.core.regularization import as_list
from spkm.kernels import RBF, Affine, Linear, Matern, Polynomial, Sum, Tanimoto
from spkm.losses import Squared
from spkm.penalties import Evidence, RKHSNorm, SquaredL2
from spkm.sources import ArraySource
from tests import cases

N = 40
X = cases.rows(N)
WEIGHT = cases.frozen(np.random.default_rng(8).random(N) + 0.2)
LEFT, RIGHT = np.array([0, 2]), np.array([1, 3, 0])
STRUCTURES = {
    "rbf": [Term(4, (View(RBF(0.3)),))],
    "bandwidth": [Term(4, (View(Matern(2.5, 0.3), None, "scale"),))],
    "relevances": [Term(3, (View(RBF(0.3), None, "relevances"),))],
    "polynomial": [Term(3, (View(Polynomial(2, 1.0, 0.4)),))],
    "two terms": [Term(2, (View(RBF(0.3), LEFT, "scale"),)), Term(3, (View(Linear(0.5), RIGHT),))],
    "product": [Term(3, (View(RBF(0.3), LEFT, "relevances"), View(Tanimoto(), RIGHT)))],
}
PENALTIES = {
    "none": None,
    "l2": SquaredL2(0.05),
    "rkhs": RKHSNorm(0.05),
    "both": [RKHSNorm(0.02), SquaredL2(0.03)],
}
each_structure = pytest.mark.parametrize("terms", STRUCTURES.values(), ids=STRUCTURES)
each_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
each_intercept = pytest.mark.parametrize("fit_intercept", [True, False])


def make(terms, m, penalty, fit_intercept=True, basis_penalty=None, **settings):
    model = PreimageModel(terms, cases.N_FEATURES, m, fit_intercept)
    source = ArraySource(X, cases.targets(Squared(), N, m) + 0.5, WEIGHT)
    if isinstance(penalty, Evidence):
        objective = EvidenceObjective(model, Squared(), source, as_list(basis_penalty), penalty)
    else:
        objective = Objective(model, Squared(), source, basis_penalty, penalty, **settings)
    return objective, cases.random_theta(model)


@each_structure
@each_penalty
@each_intercept
@pytest.mark.parametrize("m", [1, 3])
def test_value_is_the_minimum_over_the_weights(terms, penalty, fit_intercept, m):
    objective, theta = make(terms, m, penalty, fit_intercept, SquaredL2(0.1), metric_prior=0.2)
    variable = objective.eliminated()
    phi = variable.start(theta)
    value, gradient = variable.value_and_gradient(phi)
    best = variable.complete(phi)
    assert value == pytest.approx(objective.value(best), rel=1e-8)
    np.testing.assert_array_equal(best[objective.model.basis_part], phi)
    # At the minimum the joint gradient is zero in the weights and equal to the profiled one in the basis.
    joint = objective.value_and_gradient(best)[1]
    np.testing.assert_allclose(joint[objective.model.weights_part], 0.0, atol=1e-8)
    np.testing.assert_allclose(joint[objective.model.basis_part], gradient, rtol=1e-5, atol=1e-8)
    assert np.all(objective.model.unpack(best).intercept != 0) == fit_intercept


@each_intercept
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("strength", [0.0, 0.05])
def test_weights_are_those_of_scikit_learn(fit_intercept, m, strength):
    objective, theta = make(STRUCTURES["rbf"], m, SquaredL2(strength), fit_intercept)
    Phi = RBF(0.3)(X, objective.model.unpack(theta).basis[0])
    best = objective.model.unpack(objective.eliminated().complete(theta[objective.model.basis_part]))
    # The loss is a mean of squares, the penalty strength / 2 |c|^2: beside a sum of squares it is n / 2 times that.
    alpha = strength * WEIGHT.sum() / 2
    reference = Ridge(alpha, fit_intercept=fit_intercept) if strength else LinearRegression(fit_intercept=fit_intercept)
    reference.fit(Phi, objective.source.Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(best.weights.T, np.reshape(reference.coef_, (m, -1)), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(best.intercept, np.ravel(reference.intercept_) * np.ones(m), rtol=1e-6, atol=1e-9)


def test_weights_of_the_rkhs_norm_are_those_of_a_general_minimiser():
    objective, theta = make(STRUCTURES["two terms"], 1, RKHSNorm(0.05))
    part = objective.model.weights_part

    def of_weights(c):
        value, gradient = objective.value_and_gradient(np.concatenate([theta[: part.start], c]))
        return value, gradient[part]

    found = minimize(of_weights, theta[part], jac=True, method="BFGS", options={"gtol": 1e-9})
    best = objective.eliminated().complete(theta[objective.model.basis_part])
    np.testing.assert_allclose(best[part], found.x, rtol=1e-4, atol=1e-6)


@each_structure
@each_penalty
@each_intercept
def test_gradient_equals_differences(terms, penalty, fit_intercept):
    objective, theta = make(terms, 2, penalty, fit_intercept, SquaredL2(0.1), metric_prior=0.2)
    variable = objective.eliminated()
    phi = variable.start(theta)
    # Without a penalty the best weights are large where features are nearly dependent, and differences rounder.
    allowed = 1e-5 if penalty is None else 1e-7
    assert (
        cases.slope_error(lambda p: variable.value_and_gradient(p)[0], variable.value_and_gradient(phi)[1], phi)
        < allowed
    )


def test_equal_basis_vectors_are_survived():
    objective, theta = make(STRUCTURES["rbf"], 1, None)
    phi = theta[objective.model.basis_part].copy()
    phi[:4] = phi[4:8]
    value, gradient = objective.eliminated().value_and_gradient(phi)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_bipolar_features_keep_the_rkhs_norm_of_the_kernel():
    plain, theta = make(STRUCTURES["rbf"], 1, RKHSNorm(0.05))
    bipolar, _ = make([Term(4, (View(Affine(RBF(0.3))),))], 1, RKHSNorm(0.2))
    phi = theta[plain.model.basis_part]
    # 2k - 1 with weights c is k with weights 2c and another intercept: the same model at four times the strength.
    assert bipolar.eliminated().value_and_gradient(phi)[0] == pytest.approx(
        plain.eliminated().value_and_gradient(phi)[0]
    )


def slow_evidence(objective, phi, trace, prior):
    """Return the formula of EvidenceObjective's docstring, by n x n matrices."""
    model, source, n = objective.model, objective.source, objective.source.total_weight
    theta = np.append(phi[:-1], np.zeros(model.n_params - model.basis_part.stop))
    noise = np.exp(phi[-1])
    w = source.w[:, 0]
    Phi = model.features(source.load((0, N)), theta)[0]
    R = Phi.shape[1]
    K, row = np.zeros((R, R)), 0
    for part, _ in model.gram(theta):
        K[row : row + len(part), row : row + len(part)] = part + (JITTER + objective.diagonal) * np.eye(len(part))
        row += len(part)
    Phi_c, Y_c = (A - w @ A if model.fit_intercept else A for A in (Phi, source.Y))
    root = np.sqrt(n * w)[:, None]  # rows of weight n w
    V = []
    for y in (root * Y_c).T:
        augmented = np.vstack([root * Phi_c, np.sqrt(noise) * np.linalg.cholesky(K).T])
        target = np.append(y, np.zeros(R))
        c = np.linalg.lstsq(augmented, target, rcond=None)[0]
        V.append(np.sum((target - augmented @ c) ** 2) / (2 * n))
    # By the matrix determinant lemma the three log determinants are that of the n x n covariance over the noise.
    covariance = (root * Phi_c) @ np.linalg.solve(K, (root * Phi_c).T) / noise + np.eye(N)
    log_det = np.linalg.slogdet(covariance)[1]
    nystroem = Phi @ np.linalg.solve(K, Phi.T)
    total = np.zeros(N)
    for term in model.terms:
        values = [
            v.kernel(X[:, c], X[:, c]) for v in term.views for c in [slice(None) if v.columns is None else v.columns]
        ]
        total += np.diag(np.prod(values, axis=0))
    value = np.mean(np.log(V)) / 2 + log_det / (2 * n) + trace / (2 * noise) * (w @ (total - np.diag(nystroem)))
    logs = [p for p in model.unpack(theta).log_metric if p.size > 1]
    return value + prior / (2 * n) * sum(np.sum((p - p.mean()) ** 2) for p in logs)


@each_structure
@each_intercept
@pytest.mark.parametrize("m", [1, 3])
def test_evidence_equals_the_formula_written_down_in_full(terms, fit_intercept, m):
    objective, theta = make(terms, m, Evidence(trace=0.2, prior=0.4, noise=0.3), fit_intercept, SquaredL2(0.1))
    theta = theta.copy()
    for logs in objective.model.unpack(theta).log_metric:
        logs[1:] += 0.5  # some relevances grow, others fall
    evidence = objective.eliminated()
    phi = evidence.start(theta)
    assert phi[-1] == np.log(0.3)
    ridge = sum(SquaredL2(0.1).value(U) for U in objective.model.unpack(theta).basis)
    value, gradient = evidence.value_and_gradient(phi)
    assert value == pytest.approx(slow_evidence(objective, phi, 0.2, 0.4) + ridge, rel=1e-8)
    # The jitter makes K^-1 as large as 1e6 where vectors are close: digits go.
    assert cases.slope_error(lambda p: evidence.value_and_gradient(p)[0], gradient, phi) < 1e-5


def test_the_evidence_is_the_marginal_likelihood_of_dtc_and_vfe_with_a_whole_trace_term():
    """DTC: normal targets of covariance s (I + Phi K^-1 Phi' / l), s the best one. VFE takes a trace off (Titsias)."""
    model, ratio = PreimageModel(STRUCTURES["rbf"], cases.N_FEATURES, 1, False), 0.3
    Y = cases.targets(Squared(), N, 1)
    theta = cases.random_theta(model)
    dtc, vfe = (
        evidence.value_and_gradient(evidence.start(theta))[0]
        for trace in (0.0, 1.0)
        for evidence in [
            EvidenceObjective(
                model, Squared(), ArraySource(X, Y), [], Evidence(trace, prior=0.0, noise=ratio, ridge=0.0)
            )
        ]
    )
    kernel, U = RBF(0.3), model.unpack(theta).basis[0]
    Q = kernel(X, U) @ np.linalg.solve(kernel(U, U) + JITTER * np.eye(len(U)), kernel(U, X))
    s = float(Y[:, 0] @ np.linalg.solve(np.eye(N) + Q / ratio, Y[:, 0])) / N
    likelihood = multivariate_normal(np.zeros(N), s * (np.eye(N) + Q / ratio)).logpdf(Y[:, 0])
    assert dtc == pytest.approx(-likelihood / N - 0.5 * np.log(4 * np.pi) - 0.5, rel=1e-8)
    assert vfe - dtc == pytest.approx(np.mean(1 - np.diag(Q)) / (2 * ratio), rel=1e-6)


@each_structure
@each_intercept
def test_evidence_weights_are_those_of_a_ridge_regression(terms, fit_intercept):
    objective, theta = make(terms, 2, Evidence(noise=0.3, ridge=0.0), fit_intercept)
    evidence = objective.eliminated()
    best = evidence.complete(evidence.start(theta))
    # |y - Phi c|^2 / n + l / n c'Kc is the joint objective with strength 2 l / n.
    same = Objective(
        objective.model, Squared(), objective.source, None, RKHSNorm(2 * 0.3 / objective.source.total_weight)
    )
    expected = same.eliminated().complete(theta[objective.model.basis_part])
    np.testing.assert_allclose(best, expected, rtol=1e-6, atol=1e-9)


def test_a_trace_below_zero_by_rounding_counts_for_nothing():
    objective, theta = make(STRUCTURES["relevances"], 2, Evidence(trace=0.2, noise=0.3))
    without, _ = make(STRUCTURES["relevances"], 2, Evidence(trace=0.0, noise=0.3))
    evidence = objective.eliminated()
    evidence.mean_diagonal = 0.0
    phi = evidence.start(theta)
    (value, gradient), expected = evidence.value_and_gradient(phi), without.eliminated().value_and_gradient(phi)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-12)


def test_coefficients_of_a_linear_part_stand_behind_the_vectors_of_all_views():
    table = SPKMRegressor(2, views={"a": [0, 1], "b": [2, 3]}, linear_part=True, max_iter=5, random_state=0)
    y = X @ [1.0, -2.0, 0.5, 0.0] + np.random.default_rng(0).standard_normal(N) / 10
    with pytest.warns(ConvergenceWarning, match="after 5 iterations"):
        model = table.fit(X, y)
    assert model.model_.recipe == "evidence" and model.score(X, X @ [1.0, -2.0, 0.5, 0.0]) > 0.95


def test_mean_diagonal_is_that_of_the_sum_of_terms():
    for kernel in (RBF(0.3), Sum(RBF(0.3), RBF(0.1)), Polynomial(3, 1.0, 0.4), Tanimoto()):
        views = (View(kernel, LEFT), View(Linear(0.5)))
        objective, _ = make([Term(2, views), Term(1, (View(kernel),))], 1, Evidence())
        w = objective.source.w[:, 0]
        expected = w @ np.diag(kernel(X[:, LEFT], X[:, LEFT]) * Linear(0.5)(X, X) + kernel(X, X))
        assert objective.mean_diagonal == pytest.approx(expected)


def test_strength_of_the_trace_term():
    objective, _ = make(STRUCTURES["rbf"], 1, Evidence(trace=0.05))
    assert objective.trace == 0.05
    # Of itself it has a bound, and fades with the sum of the weights.
    objective, _ = make(STRUCTURES["rbf"], 1, Evidence())
    few, many, more = (objective.on(ArraySource(X, objective.source.Y, s * WEIGHT)).trace for s in (1e-3, 1e4, 2e4))
    assert 0 < more == pytest.approx(many / 2)
    assert many < few == MOST_TRACE


@pytest.mark.parametrize("penalty", [RKHSNorm(0.05), Evidence()], ids=str)
@pytest.mark.parametrize("rows_in_block", [7, 1000])
def test_kept_and_recomputed_features_agree(blocks_of, kept_features, penalty, rows_in_block):
    blocks_of(rows_in_block)
    objective, theta = make(STRUCTURES["two terms"], 2, penalty)
    target = objective.eliminated()
    with objective.source.threads(2):
        kept = target.value_and_gradient(target.start(theta))
        kept_features(0)
        again = target.value_and_gradient(target.start(theta))
    assert kept[0] == pytest.approx(again[0], rel=1e-12)
    np.testing.assert_allclose(kept[1], again[1], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("penalty", [RKHSNorm(0.05), Evidence()], ids=str)
def test_single_precision_rows_come_close(penalty):
    objective, theta = make(STRUCTURES["rbf"], 1, penalty)
    single = objective.on(ArraySource(X.astype(np.float32), objective.source.Y, WEIGHT)).eliminated()
    double = objective.eliminated()
    phi = double.start(theta)
    for a, b in zip(double.value_and_gradient(phi), single.value_and_gradient(phi), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_evidence_of_nearly_constant_features_survives_single_precision():
    objective, theta = make([Term(4, (View(RBF(1e-5)),))], 2, Evidence())
    phi = objective.start(theta)
    phi[-1] = -16.0
    for n in range(N - 10, N + 1):  # weights 1 / n round up for some n, down for others
        source = ArraySource(X[:n], objective.source.Y[:n])
        single = ArraySource(X[:n].astype(np.float32), objective.source.Y[:n])
        values = [objective.on(s).value_and_gradient(phi)[0] for s in (source, single)]
        assert values[1] == pytest.approx(values[0], rel=1e-2)


@pytest.mark.parametrize("penalty", [RKHSNorm(0.05), Evidence()], ids=str)
def test_a_failed_factorisation_is_infinite(penalty):
    objective, theta = make(STRUCTURES["polynomial"], 1, penalty)
    target = objective.eliminated()
    phi = target.start(theta)
    phi[0] = np.nan
    value, gradient = target.value_and_gradient(phi)
    assert value == np.inf
    assert gradient.shape == phi.shape


TWO_TERMS = {
    "two kernels": STRUCTURES["two terms"],
    "relevances": [Term(3, (View(RBF(0.3), None, "relevances"),)), Term(2, (View(Matern(1.5, 0.2), LEFT, "scale"),))],
    "product and sum": [*STRUCTURES["product"], Term(2, (View(Polynomial(2, 1.0, 0.4)),))],
}


@pytest.mark.parametrize("terms", TWO_TERMS.values(), ids=TWO_TERMS)
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("penalty", [RKHSNorm(0.05), Evidence(0.2, 0.4, 0.3), Evidence()], ids=str)
def test_value_is_that_of_value_and_gradient(blocks_of, kept_features, terms, m, penalty):
    objective, theta = make(terms, m, penalty, True, SquaredL2(0.1))
    target = objective.eliminated()
    phi = target.start(theta)
    value, gradient = target.value_and_gradient(phi)
    assert target.value(phi) == pytest.approx(value, rel=1e-12)
    assert gradient.shape == phi.shape
    kept_features(0)
    blocks_of(7)
    assert target.value(phi) == pytest.approx(target.value_and_gradient(phi)[0], rel=1e-12)


@pytest.mark.parametrize("terms", TWO_TERMS.values(), ids=TWO_TERMS)
@pytest.mark.parametrize("m", [1, 2])
@each_intercept
def test_gradient_of_the_evidence_of_two_terms_equals_differences(terms, m, fit_intercept):
    objective, theta = make(terms, m, Evidence(0.2, 0.4, 0.3), fit_intercept, SquaredL2(0.1))
    phi = objective.start(theta)
    gradient = objective.value_and_gradient(phi)[1]
    # The jitter makes K^-1 as large as 1e6 where vectors are close: digits go.
    assert cases.slope_error(objective.value, gradient, phi) < 1e-5
    # All parts move the value: basis vectors of both terms, metrics and noise.
    parts = objective.model.unpack(np.append(gradient[:-1], np.zeros(objective.model.n_params)))
    assert all(np.any(dU != 0) for dU in parts.basis) and gradient[-1] != 0
    assert all(np.any(dp != 0) for dp in parts.log_metric if dp.size)


def test_an_evidence_on_other_samples_has_their_weight_and_diagonal():
    objective, theta = make(TWO_TERMS["two kernels"], 2, Evidence())
    other = objective.on(ArraySource(2 * X, objective.source.Y, 3 * WEIGHT))
    assert other.n == pytest.approx(3 * objective.n)
    assert other.mean_diagonal > objective.mean_diagonal  # that of a linear kernel grows with the samples
    assert other.eliminated() is other and other.noise(other.start(theta)) == pytest.approx(Evidence().first_noise)
    assert other.totals(theta) == pytest.approx(objective.on(other.source).totals(theta))


@pytest.mark.parametrize("kernel", [Linear(1.0), Polynomial(3, 1.0, 0.1)])
def test_samples_far_from_zero_are_solvable(kernel):
    # The variance of kernel values is lost in the rounding of their second moments: a matrix of them is not definite.
    for far in (1e3, 1e6, 1e8):
        table = far + cases.rows(N)
        model = PreimageModel([Term(3, (View(kernel),))], table.shape[1], 1)
        source = ArraySource(table, X[:, :1])
        theta, params = model.zeros()
        params.basis[0][...] = table[:3]
        objective = Objective(model, Squared(), source)
        best = objective.eliminated().complete(theta[model.basis_part])
        constant = float(np.var(X[:, 0]))
        assert np.all(np.isfinite(best)) and objective.value(best) <= constant * (1 + 1e-6)


def test_weights_of_features_of_unlike_sizes_are_those_of_ridge_regression():
    # One column is a million times another; a common number on the diagonal would leave the small one without weight.
    model = PreimageModel([Term(2, (View(Linear(1.0)),))], 2, 1)
    table = X[:, :2] * [1e-3, 1e3]
    y = X[:, 0] + X[:, 1]
    theta, params = model.zeros()
    params.basis[0][...] = np.diag([1e-3, 1e3])
    objective = Objective(model, Squared(), ArraySource(table, y[:, None]))
    best = objective.eliminated().complete(theta[model.basis_part])
    assert objective.value(best) < 1e-15


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_number_on_the_diagonal_leaves_the_matrix_as_it_was(order):
    K = np.array(np.arange(9.0).reshape(3, 3), order=order)
    np.testing.assert_array_equal(with_diagonal(K, 0.5), np.arange(9.0).reshape(3, 3) + 0.5 * np.eye(3))
    np.testing.assert_array_equal(K, np.arange(9.0).reshape(3, 3))
