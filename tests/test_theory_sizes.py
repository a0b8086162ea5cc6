"""Sizes of fitted models, and the complexity of all models of a size, by random signs and by formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from spkm import theory
from spkm.core.model import PreimageModel, Term, View
from spkm.kernels import (
    RBF,
    Affine,
    Laplacian,
    Linear,
    NormalizedPolynomial,
    Polynomial,
    Product,
    Rescaled,
    Sum,
    Tanimoto,
)
from tests.bounded_models import changed, fitted, with_model
from tests.small_data import fingerprints, three_classes


def largest_correlation(kernel, X, signs, rng):
    """Return (nearly) the largest |mean of signs * k(x, u)| over all u: the best of many points, improved."""

    def correlation(u):
        return -abs(float(signs @ kernel(X, u.reshape(1, -1))[:, 0])) / len(X)

    starts = np.vstack([X, X[rng.integers(len(X), size=300)] + rng.standard_normal((300, X.shape[1]))])
    values = np.abs(signs @ kernel(X, starts)) / len(X)
    best = starts[np.argsort(-values)[:2]]
    return max(values.max(), *(-minimize(correlation, u, method="Nelder-Mead").fun for u in best))


@pytest.mark.parametrize("kernel", [RBF(0.5), Affine(RBF(0.5)), Laplacian(1.0), Affine(RBF(5.0), -3.0, 0.5)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_random_signs_stay_below_the_l1_bound(kernel, fit_intercept):
    model, X, _ = fitted(kernel, fit_intercept=fit_intercept)
    bound = theory.rademacher_complexity(model, len(X))
    rng = np.random.default_rng(1)
    reached = []
    for signs in rng.choice([-1.0, 1.0], size=(12, len(X))):
        with_kernel = bound.lambda_ * largest_correlation(kernel, X, signs, rng)
        reached.append(with_kernel + bound.intercept * abs(signs.mean()))
    assert 0.1 * bound.l1 < np.mean(reached) <= bound.l1


@pytest.mark.parametrize(
    ("kernel", "radius"),
    [
        (RBF(0.5), None),
        (RBF(50.0), None),
        (Affine(RBF(0.5)), None),
        (Polynomial(2, gamma=0.3), 3.0),
        (Linear(), 3.0),
        (Sum(RBF(1.0), Linear()), 3.0),
        (Product(RBF(1.0), Polynomial(2)), 3.0),
        (Rescaled(Linear(gamma=1.0), np.array([2.0, 0.5])), 3.0),
        (NormalizedPolynomial(), None),
    ],
)
def test_random_signs_stay_below_the_rkhs_bound(kernel, radius):
    model, X, _ = fitted(kernel)
    bound = theory.rademacher_complexity(model, len(X), radius=radius)
    K = model.kernel_.rkhs()(X, X)
    assert np.diag(K).max() <= bound.tau * (1 + 1e-9)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(1000, len(X)))
    balls = bound.gamma_ * np.sqrt(np.einsum("si,ij,sj->s", signs, K, signs)) / len(X)  # the supremum, in closed form
    assert np.mean(balls + bound.constant * np.abs(signs.mean(axis=1))) <= bound.rkhs


def test_the_rkhs_bound_is_reached_by_samples_that_have_nothing_in_common():
    model, X, _ = fitted(RBF(1e4), fit_intercept=False, tol=1.0)
    bound = theory.rademacher_complexity(model, len(X))
    assert np.all(RBF(1e4)(X, X) - np.eye(len(X)) < 1e-3)
    assert bound.rkhs == pytest.approx(bound.gamma_ / np.sqrt(len(X)))


@pytest.mark.parametrize("kernel", [RBF(0.5), Affine(RBF(0.5))])
def test_random_signs_of_several_classes_stay_below_the_bounds(kernel):
    model, X, _ = fitted(kernel, data=three_classes())
    bound = theory.rademacher_complexity(model, len(X))
    K = RBF(0.5)(X, X)
    rng = np.random.default_rng(1)
    signs = rng.choice([-1.0, 1.0], size=(500, len(X), 3))
    signs -= signs.mean(axis=2, keepdims=True)  # models of the class have scores with mean zero
    balls = bound.gamma_ * np.sqrt(np.einsum("sim,ij,sjm->s", signs, K, signs)) / len(X)
    sums = np.linalg.norm(signs.mean(axis=1), axis=1)
    assert 0.3 * bound.rkhs < np.mean(balls + bound.constant * sums) <= bound.rkhs
    features = kernel(X, np.vstack([X, rng.uniform(-2, 5, (200, 3))]))
    correlations = np.linalg.norm(np.einsum("sim,iu->sum", signs, features), axis=2) / len(X)
    assert np.mean(bound.lambda_ * correlations.max(axis=1) + bound.intercept * sums) <= bound.l1


@given(st.integers(2, 6), st.integers(0, 2**20))
@settings(max_examples=50)
def test_the_margin_of_several_classes_is_lipschitz_and_blind_to_common_parts(m, seed):
    # The two facts that the bound of several classes adds to Maurer's theorem.
    rng = np.random.default_rng(seed)
    F, G = rng.standard_normal((2, m))

    def margin(scores):
        return scores[0] - scores[1:].max()

    assert abs(margin(F) - margin(G)) <= np.sqrt(2) * np.linalg.norm(F - G) * (1 + 1e-12)
    assert margin(F - F.mean()) == pytest.approx(margin(F))


# Sizes


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sizes_and_constants_of_two_classes(fit_intercept):
    model, _, _ = fitted(fit_intercept=fit_intercept)
    c, U = model.dual_coef_, model.basis_vectors_
    bound = theory.rademacher_complexity(model, 400)
    assert bound.lambda_ == pytest.approx(np.abs(c).sum())
    assert bound.gamma_ == pytest.approx(np.sqrt(c @ RBF(0.5)(U, U) @ c))
    assert bound.constant == bound.intercept == abs(model.intercept_)
    assert bound.l1 == pytest.approx((bound.lambda_ + abs(model.intercept_)) / 20)
    assert bound.rkhs == pytest.approx((bound.gamma_ + abs(model.intercept_)) / 20)
    assert bound.rkhs <= bound.l1


def test_values_2k_minus_1_make_the_first_bound_2_tau_plus_1_and_move_the_constant_in_the_second():
    model, _, _ = fitted(Affine(RBF(0.5)))
    c, U, b = model.dual_coef_, model.basis_vectors_, model.intercept_
    bound = theory.rademacher_complexity(model, 400)
    assert bound.l1 == pytest.approx((3 * np.abs(c).sum() + abs(b)) / 20)
    assert bound.gamma_ == pytest.approx(2 * np.sqrt(c @ RBF(0.5)(U, U) @ c))
    assert bound.constant == pytest.approx(abs(b - c.sum()))
    assert bound.rkhs == pytest.approx((bound.gamma_ + bound.constant) / 20)
    assert bound.rkhs <= bound.l1


def test_sizes_of_several_classes_do_not_change_when_all_scores_move_together():
    model, X, y = fitted(data=three_classes())

    def move(params):
        params.weights += np.array([[1.0], [-2.0], [3.0]])
        params.intercept += 5.0

    moved = changed(model, move)
    one, other = theory.rademacher_complexity(model, 100), theory.rademacher_complexity(moved, 100)
    assert (one.rkhs, one.l1) == pytest.approx((other.rkhs, other.l1))
    assert theory.generalization_bound(model, X, y).value == pytest.approx(
        theory.generalization_bound(moved, X, y).value
    )


@pytest.mark.parametrize(
    ("kernel", "tau"),
    [
        (RBF(2.0), 1.0),
        (Laplacian(1.0), 1.0),
        (Linear(), 9.0 / 2),
        (Polynomial(3, coef0=2.0, gamma=0.5), (4.5 + 2) ** 3),
        (Sum(RBF(1.0), Polynomial(2, gamma=1.0)), 1 + 100),
        (Product(Linear(gamma=1.0), Affine(RBF(1.0), 1.0, 0.0).kernel), 9.0),
        (Rescaled(Linear(gamma=1.0), np.array([2.0, 0.5])), 18.0),
        (Rescaled(Affine(Linear(gamma=1.0)), 2.0), 18.0),
        (Sum(RBF(1.0), RBF(2.0)), 2.0),
        (NormalizedPolynomial(), 1.0),
    ],
)
def test_tau_is_the_largest_value_of_the_kernel_at_two_equal_samples(kernel, tau):
    model, _, _ = fitted(kernel, tol=1e-1)
    assert theory.rademacher_complexity(model, 100, radius=3.0).tau == pytest.approx(tau)


def test_fingerprints_and_sparse_samples():
    X, y = fingerprints()
    model, _, _ = fitted(Tanimoto(), data=(X, y), scale=True)  # counts are not scaled whatever the setting
    assert theory.rademacher_complexity(model, 80).tau == 1.0
    bound = theory.generalization_bound(model, sparse.csr_array(X), y)
    assert bound.value == pytest.approx(theory.generalization_bound(model, X, y).value)
    linear, _, _ = fitted(Linear(), data=(sparse.csr_array(X), y))
    assert theory.generalization_bound(linear, sparse.csr_array(X), y, radius=4.0).tau == pytest.approx(16 / 12)


def test_terms_add_up_and_views_multiply():
    model, X, y = fitted(n_basis=1)
    product = Term(2, (View(RBF(0.5), np.array([0])), View(Linear(gamma=1.0), np.array([1]))))
    terms = [product, Term(1, (View(Affine(RBF(2.0)), None),))]
    joint = PreimageModel(terms, 2, 1)
    theta, params = joint.zeros()
    rng = np.random.default_rng(0)
    for U in params.basis:
        U[...] = rng.standard_normal(U.shape)
    params.weights[:, 0] = c = np.array([1.0, -2.0, 0.5])
    params.intercept[0] = 0.25
    model = with_model(model, model=joint, theta=theta, asked=tuple(terms))
    bound = theory.rademacher_complexity(model, 100, radius=3.0)
    assert bound.tau == pytest.approx(1.0 * 9.0 + 1.0)
    U, V, _ = params.basis
    gram = RBF(0.5)(U, U) * Linear(gamma=1.0)(V, V)
    assert bound.gamma_**2 == pytest.approx(c[:2] @ gram @ c[:2] + 4 * 0.25)
    assert bound.l1 == pytest.approx((np.hypot(9.0, 3.0) * 3.5 + 0.25) / 10)
    assert bound.rkhs == pytest.approx((np.sqrt(10.0) * bound.gamma_ + abs(0.25 - 0.5)) / 10)
    K = RBF(0.5)(X[:, :1], X[:, :1]) * Linear(gamma=1.0)(X[:, 1:], X[:, 1:]) + RBF(2.0)(X, X)
    signs = rng.choice([-1.0, 1.0], size=(500, len(X)))
    balls = bound.gamma_ * np.sqrt(np.einsum("si,ij,sj->s", signs, K, signs)) / len(X)
    assert np.mean(balls) <= theory.rademacher_complexity(model, len(X), radius=3.0).rkhs
    assert theory.generalization_bound(model, X, y, radius=3.0, kernels=4).n_samples == len(X)
    with pytest.raises(ValueError, match="kernels must be an integer for a model of several kernels"):
        theory.generalization_bound(model, X, y, radius=3.0, kernels=[RBF(0.5)])


def test_weights_that_cancel_do_not_make_the_norm_smaller_than_rounding_can_tell():
    model, _, _ = fitted(n_basis=2)

    def cancel(params):
        params.basis[0][...] = 1.0
        params.weights[:, 0] = 1e9, -1e9

    assert theory.rademacher_complexity(changed(model, cancel), 100).gamma_ > 1.0
