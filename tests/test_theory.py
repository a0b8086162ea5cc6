"""The bounds, as theorems can be tested: random signs, fits on fresh rows, formulas, refusals."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressor, theory
from spkm.kernels import (
    RBF,
    Affine,
    DotKernel,
    Kernel,
    Laplacian,
    Linear,
    NormalizedPolynomial,
    Polynomial,
    Product,
    Rescaled,
    Sum,
    Tanimoto,
)
from spkm.model import PreimageModel, Term, View
from tests.small_data import curve, fingerprints, three_classes, two_classes

FIXED = {"learn_bandwidth": False, "scale": False, "random_state": 0, "tol": 1e-3}


def clouds(n, seed, gap=2.0, n_classes=2):
    """Return Gaussian clouds whose centres lie on a circle of radius ``gap``, with the class as label."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    angle = 2 * np.pi * y / n_classes
    return rng.standard_normal((n, 2)) + gap * np.column_stack([np.cos(angle), np.sin(angle)]), y


def fitted(kernel=None, n_basis=3, data=None, **options):
    """Return a model with a kernel fixed beforehand, its rows and labels."""
    X, y = two_classes() if data is None else data
    kernel = RBF(0.5) if kernel is None else kernel
    return SPKMClassifier(n_basis, kernel=kernel, **{**FIXED, **options}).fit(X, y), X, y


@pytest.fixture(scope="module")
def easy():
    """Return a model of 5,000 rows of two clouds apart, its rows and labels."""
    return fitted(RBF(0.05), data=clouds(5000, 0, gap=3.0))


@pytest.fixture(scope="module")
def three():
    """Return a model of 4,000 rows of three clouds apart, its rows and labels."""
    return fitted(RBF(0.05), data=clouds(4000, 0, gap=4.0, n_classes=3))


def scaled_scores(model, factor):
    """Return a copy of a fitted model whose scores are those of the model times ``factor``."""
    other = copy(model)
    other.model_ = replace(model.model_, theta=model.model_.theta.copy())
    params = other.model_.model.unpack(other.model_.theta)
    params.weights[...] *= factor
    params.intercept[...] *= factor
    return other


# The complexity of the class, by random signs


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
    K = model.model_.model.views[0][1].kernel.rkhs()(X, X)
    assert np.diag(K).max() <= bound.tau * (1 + 1e-9)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(1000, len(X)))
    balls = bound.gamma_ * np.sqrt(np.einsum("si,ij,sj->s", signs, K, signs)) / len(X)  # the supremum, in closed form
    assert np.mean(balls + bound.constant * np.abs(signs.mean(axis=1))) <= bound.rkhs


def test_the_rkhs_bound_is_reached_by_rows_that_have_nothing_in_common():
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
@settings(max_examples=50, deadline=None)
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
    moved = scaled_scores(model, 1.0)
    params = moved.model_.model.unpack(moved.model_.theta)
    params.weights += np.array([[1.0], [-2.0], [3.0]])
    params.intercept += 5.0
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
def test_tau_is_the_largest_value_of_the_kernel_at_two_equal_rows(kernel, tau):
    model, _, _ = fitted(kernel, tol=1e-1)
    assert theory.rademacher_complexity(model, 100, radius=3.0).tau == pytest.approx(tau)


def test_fingerprints_and_sparse_rows():
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
    model.model_ = replace(model.model_, model=joint, theta=theta, asked=tuple(terms))
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
    params = model.model_.model.unpack(model.model_.theta)
    params.basis[0][...] = 1.0
    params.weights[:, 0] = 1e9, -1e9
    assert theory.rademacher_complexity(model, 100).gamma_ > 1.0


# The bound on the error


@pytest.mark.parametrize(
    ("data", "options", "limit"),
    [
        ({"n": 5000, "gap": 3.0}, {}, 0.2),
        ({"n": 1500, "gap": 2.0}, {"norm": "l1"}, 0.6),
        ({"n": 4000, "gap": 4.0, "n_classes": 3}, {}, 0.7),
        ({"n": 1500, "gap": 2.0}, {"margin": 4.0, "confidence": 0.5}, 0.5),
    ],
)
def test_the_error_on_new_rows_is_below_a_bound_that_says_something(data, options, limit):
    for seed in range(3):
        X, y = clouds(seed=seed, **data)
        model, _, _ = fitted(RBF(0.05), data=(X, y))
        bound = theory.generalization_bound(model, X, y, **options)
        error = 1 - model.score(*clouds(seed=100 + seed, **{**data, "n": 20_000}))
        assert error < bound.value < limit and not bound.is_vacuous
        assert bound.empirical_margin_loss >= bound.training_error


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", [RBF(30.0), Affine(RBF(30.0))])
def test_labels_learned_by_heart_get_a_bound_above_their_true_error(kernel, n_classes):
    # Labels are noise: the training error is small, the true error is that of guessing.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(-1, 1, (60, 2)), np.arange(60) % n_classes
        model, _, _ = fitted(kernel, n_basis=60, data=(X, y), weight_penalty="l2", start=X)
        bound = theory.generalization_bound(model, X, y)
        assert bound.training_error < 0.2
        assert bound.value > 1 - 1 / n_classes


def test_the_bound_is_the_sum_of_terms_that_follow_from_the_formula(easy):
    model, X, y = easy
    bound = theory.generalization_bound(model, X, y, margin=2.0, confidence=0.9, kernels=7)
    sizes = theory.rademacher_complexity(model, len(X))
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    levels = np.ceil(4 * np.log2(np.array([sizes.gamma_, sizes.constant]) / 2.0))
    assert levels[0] > 0
    # Where a size is below 1, a higher level may be cheaper; this one must not be worse than the first.
    complexity = 2 * (2 ** (levels / 4)).sum() / np.sqrt(len(X))
    shares = 2 / 3 / ((np.abs(levels) + 1) * (np.abs(levels) + 2))
    chance = np.sqrt((np.log(1 / 0.1) + np.log(2 * 7) - np.log(shares).sum()) / (2 * len(X)))
    assert bound.empirical_margin_loss == pytest.approx(np.mean(np.clip(1 - margins / 2, 0, 1)))
    assert bound.complexity_term + bound.confidence_term <= complexity + chance + 1e-12
    assert bound.complexity_term >= 2 / 2.0 * sizes.rkhs
    if levels[1] >= 0:
        assert (bound.complexity_term, bound.confidence_term) == pytest.approx((complexity, chance))
    assert bound.value == bound.empirical_margin_loss + bound.complexity_term + bound.confidence_term


def test_without_a_constant_the_formula_has_one_level(easy):
    _, X, y = easy
    model, _, _ = fitted(RBF(0.05), data=(X, y), fit_intercept=False)
    bound = theory.generalization_bound(model, X, y, margin=1.0)
    level = np.ceil(4 * np.log2(theory.rademacher_complexity(model, len(X)).gamma_))
    assert bound.complexity_term == pytest.approx(2 * 2 ** (level / 4) / np.sqrt(len(X)))
    chances = np.log(20) + np.log(2 * 1.5 * (level + 1) * (level + 2))
    assert bound.confidence_term == pytest.approx(np.sqrt(chances / (2 * len(X))))
    with_intercept = theory.generalization_bound(easy[0], X, y)
    assert theory.generalization_bound(model, X, y).confidence_term < with_intercept.confidence_term


def test_several_classes_have_twice_the_term(three):
    model, X, y = three
    bound = theory.generalization_bound(model, X, y)
    sizes = theory.rademacher_complexity(model, len(X))
    assert 1 <= bound.complexity_term / (4 / bound.margin * sizes.rkhs) <= 2 ** (1 / 4) + 1e-9
    scores = model.decision_function(X)
    others = np.where(np.arange(3) == y[:, None], -np.inf, scores).max(axis=1)
    ramp = np.clip(1 - (scores[np.arange(len(y)), y] - others) / bound.margin, 0, 1)
    assert bound.empirical_margin_loss == pytest.approx(ramp.mean())
    assert bound.training_error == pytest.approx(1 - model.score(X, y))


@pytest.mark.parametrize("norm", ["rkhs", "l1"])
def test_doubled_weights_double_the_term_and_pay_for_it_in_confidence(easy, norm):
    _, X, y = easy
    model, _, _ = fitted(RBF(0.05), data=(X, y), fit_intercept=False)
    one = theory.generalization_bound(model, X, y, margin=1.0, norm=norm)
    two = theory.generalization_bound(scaled_scores(model, 2.0), X, y, margin=1.0, norm=norm)
    assert two.norm_value == pytest.approx(2 * one.norm_value)
    assert two.complexity_term == pytest.approx(2 * one.complexity_term)
    assert two.confidence_term > one.confidence_term
    level = round(4 * np.log2(one.complexity_term * np.sqrt(len(X)) / 2))
    more = np.log((level + 5) * (level + 6) / ((level + 1) * (level + 2)))
    assert two.confidence_term**2 - one.confidence_term**2 == pytest.approx(more / (2 * len(X)))


@given(st.floats(1e-3, 1e3))
@settings(max_examples=8, deadline=None)
def test_only_the_ratio_of_scores_to_margin_counts(easy, factor):
    model, X, y = easy
    scaled = scaled_scores(model, factor)
    best, best_scaled = (theory.generalization_bound(m, X[:500], y[:500]) for m in (model, scaled))
    assert best_scaled.value == pytest.approx(best.value, rel=1e-6)
    assert best_scaled.margin == pytest.approx(factor * best.margin, rel=1e-6)


@given(margin=st.floats(1e-6, 1e6), intercept=st.floats(-100, 100), norm=st.sampled_from(["l1", "rkhs"]))
@settings(max_examples=20, deadline=None)
def test_no_margin_is_better_than_the_best(easy, margin, intercept, norm):
    model, X, y = easy
    model = scaled_scores(model, 1.0)
    model.model_.model.unpack(model.model_.theta).intercept[...] = intercept
    best = theory.generalization_bound(model, X[:300], y[:300], norm=norm)
    assert best.value <= theory.generalization_bound(model, X[:300], y[:300], norm=norm, margin=margin).value + 1e-9


@given(st.floats(0.01, 100), st.floats(0.01, 0.99), st.floats(1.01, 10.0), st.integers(2, 1000))
@settings(max_examples=20, deadline=None)
def test_terms_move_as_they_must(easy, margin, confidence, factor, n_kernels):
    model, X, y = easy
    X, y = X[:300], y[:300]

    def bound(n_times=1, **changes):
        rows = np.vstack([X] * n_times), np.concatenate([y] * n_times)
        return theory.generalization_bound(model, *rows, **{"margin": margin, "confidence": confidence, **changes})

    def beyond_loss(b):
        return b.complexity_term + b.confidence_term

    one = bound()
    assert bound(margin=factor * margin).empirical_margin_loss >= one.empirical_margin_loss
    assert bound(margin=factor * margin).complexity_term <= one.complexity_term * (1 + 1e-9)
    assert bound(confidence=1 - (1 - confidence) / factor).value > one.value
    assert bound(kernels=n_kernels).value > one.value
    assert beyond_loss(bound(n_times=3)) < beyond_loss(one)
    assert bound(norm="l1").value >= one.value - 1e-9
    sizes = [theory.rademacher_complexity(model, n) for n in (100, 400)]
    assert sizes[0].l1 == pytest.approx(2 * sizes[1].l1) and sizes[0].rkhs == pytest.approx(2 * sizes[1].rkhs)


def test_shares_of_the_confidence_sum_to_one_at_most():
    shares = np.exp(-theory._cost(np.arange(-100_000, 100_001)))
    assert 1 - 1e-4 < shares.sum() <= 1


def test_a_model_of_zeros_says_nothing():
    model, X, y = fitted(fit_intercept=False)
    zero = scaled_scores(model, 0.0)
    bound = theory.generalization_bound(zero, X, y)
    assert bound.is_vacuous and bound.empirical_margin_loss == bound.training_error == 1.0


def test_a_vacuous_bound_says_so_and_is_not_cut_off():
    model, X, y = fitted(n_basis=8)
    bound = theory.generalization_bound(model, X[:20], y[:20], margin=0.1)
    assert bound.is_vacuous and bound.value > 1
    assert str(bound).startswith(f"Vacuous: {bound.value:.4f} says nothing")


def test_text_of_a_bound(easy):
    model, X, y = easy
    bound = theory.generalization_bound(model, X, y)
    text = str(bound)
    assert text.startswith(f"With probability 0.95 the error on new rows is at most {bound.value:.4f}")
    for sentence in bound.assumptions:
        assert f"- {sentence}" in text
        assert sentence.startswith(("Checked: ", "On trust: ", "Not needed: ")) and sentence.endswith(".")
    assert "kernel=RBF(gamma=0.05) was fixed before the rows were seen" in text
    assert "RKHS norm" in str(theory.rademacher_complexity(model, 100))
    grid = theory.generalization_bound(model, X, y, kernels=[RBF(0.05), "linear"])
    assert "kernel=RBF(gamma=0.05) is one of 2" in str(grid)


def test_labels_may_be_text(easy):
    model, X, y = easy
    names = np.where(y == 1, "yes", "no")
    named, _, _ = fitted(RBF(0.05), data=(X, names))
    assert theory.generalization_bound(named, X, names).value == pytest.approx(
        theory.generalization_bound(model, X, y).value
    )


# What is refused, and why


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"scale": True}, "columns were scaled by statistics of the rows: use scale=False"),
        ({"scale": "common"}, "columns were scaled by statistics"),
        ({"kernel": RBF()}, r"parameters of kernel=RBF\(\) were set by the rows: give numbers"),
        ({"kernel": Affine(RBF("median"))}, "were set by the rows"),
        ({"kernel": Sum(RBF("mean"), Linear())}, "were set by the rows"),
        ({"learn_bandwidth": True}, "a bandwidth was learned from the rows: use learn_bandwidth=False"),
        ({"learn_bandwidth": "columns"}, "a bandwidth for every column was learned"),
        ({"selection": "strict", "kernel": Linear()}, "columns were selected by the rows: use selection=None"),
    ],
)
def test_a_kernel_that_came_from_the_rows_is_refused(options, reason):
    X, y = two_classes(40)
    model = SPKMClassifier(**{"n_basis": 2, "kernel": RBF(0.5), **FIXED, **options}).fit(X, y)
    for refused in (theory.rademacher_complexity, lambda m, n: theory.generalization_bound(m, X, y)):
        with pytest.raises(ValueError, match="not fixed before the rows were seen: .*" + reason):
            refused(model, 40)


def test_all_reasons_of_the_defaults_come_at_once():
    model = SPKMClassifier(2, random_state=0).fit(*two_classes(40))
    with pytest.raises(ValueError, match=r"scaled by .*; parameters of .*; a bandwidth .* say so by kernels=\.$"):
        theory.rademacher_complexity(model, 40)


def test_estimators_that_are_not_fitted_classifiers_are_refused():
    X, y = curve(40)
    with pytest.raises(ValueError, match=r"must be a classifier; got SPKMRegressor.*no upper limit"):
        theory.rademacher_complexity(SPKMRegressor(2, random_state=0).fit(X, y), 40)
    with pytest.raises(TypeError, match="must be a fitted SPKMClassifier; got Pipeline"):
        theory.rademacher_complexity(make_pipeline(StandardScaler(), SPKMClassifier()), 40)
    with pytest.raises(NotFittedError):
        theory.rademacher_complexity(SPKMClassifier(), 40)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Sum(RBF(1.0), Linear()), Affine(Polynomial(2))])
def test_a_kernel_of_a_dot_product_needs_a_radius_that_holds(kernel):
    model, X, y = fitted(kernel)
    with pytest.raises(ValueError, match=r"is bounded only on rows of bounded length. Give radius="):
        theory.generalization_bound(model, X, y)
    longest = np.linalg.norm(X, axis=1).max()
    with pytest.raises(ValueError, match=f"row {np.argmax(np.linalg.norm(X, axis=1))} of X has length"):
        theory.generalization_bound(model, X, y, radius=0.99 * longest)
    bound = theory.generalization_bound(model, X, y, radius=3.0)
    assert any("radius=3, set beforehand" in sentence for sentence in bound.assumptions)


def test_the_l1_form_needs_basis_vectors_within_the_radius_and_the_rkhs_form_does_not():
    model, X, y = fitted(Polynomial(2))
    model.model_.model.unpack(model.model_.theta).basis[0][...] = 3.0, 4.0
    with pytest.raises(ValueError, match=r"longest basis vector has length 5, beyond radius=4.5. Use norm='rkhs'"):
        theory.generalization_bound(model, X, y, radius=4.5, norm="l1")
    assert theory.generalization_bound(model, X, y, radius=4.5).norm == "rkhs"
    bound = theory.rademacher_complexity(model, 80, radius=4.5)
    assert bound.l1 is None and "No bound from the l1 norm" in bound.assumptions[-1] and "not known" in str(bound)
    assert theory.rademacher_complexity(model, 80, radius=6.0).l1 > 0


def test_a_shift_inside_a_sum_or_a_product_is_refused():
    for kernel in (Sum(Affine(RBF(0.5)), RBF(1.0)), Product(RBF(1.0), Affine(RBF(0.5), 2.0, 0.0))):
        model, X, y = fitted(kernel)
        with pytest.raises(ValueError, match=r"2k - 1 is part of a sum or a product. Put Affine around the whole"):
            theory.generalization_bound(model, X, y)


def test_a_shift_of_a_view_in_a_product_of_views_is_refused():
    model, _, _ = fitted(n_basis=1)
    terms = (Term(1, (View(Affine(RBF(0.5)), np.array([0])), View(RBF(1.0), np.array([1])))),)
    joint = PreimageModel(list(terms), 2, 1)
    model.model_ = replace(model.model_, model=joint, theta=joint.zeros()[0], asked=terms)
    with pytest.raises(ValueError, match="2k - 1 is part of a sum or a product"):
        theory.rademacher_complexity(model, 100)


class Constant(Kernel):
    """A kernel of which nothing is known."""

    def vjp(self, X, U, metric=1.0, xx=None, learn_metric=False):
        return np.ones((X.shape[0], len(U))), lambda G: (np.zeros_like(U), 0.0 if learn_metric else None)


class Exponential(DotKernel):
    """exp(gamma x.u), a kernel of someone's own."""

    def __init__(self, gamma=0.1):
        self.gamma = gamma

    def value(self, dot, xx=None, uu=None):
        return np.exp(dot)

    def slope(self, dot, value):
        return value


def test_kernels_of_ones_own():
    model, _, _ = fitted(Constant())
    with pytest.raises(ValueError, match=r"No bound on k\(x, x\) is known for kernel=Constant"):
        theory.rademacher_complexity(model, 80)
    model, _, _ = fitted(Exponential(0.1))
    bound = theory.rademacher_complexity(model, 80, radius=3.0)
    assert bound.tau == pytest.approx(np.exp(0.9))
    assert any(sentence.startswith("On trust: the kernel is positive semi-def") for sentence in bound.assumptions)


def test_kernels_of_a_stated_grid():
    model, X, y = fitted()
    alone = theory.generalization_bound(model, X, y, margin=1.0)
    grid = theory.generalization_bound(model, X, y, margin=1.0, kernels=[RBF(0.1), RBF(0.5), Linear()])
    number = theory.generalization_bound(model, X, y, margin=1.0, kernels=3)
    assert grid.value == number.value > alone.value
    assert grid.confidence_term**2 - alone.confidence_term**2 == pytest.approx(np.log(3) / (2 * len(X)), abs=1e-3)
    with pytest.raises(ValueError, match=r"kernels must hold the kernel of the model, RBF\(gamma=0.5\); got \[RBF"):
        theory.generalization_bound(model, X, y, kernels=[RBF(0.1)])
    with pytest.raises(TypeError, match="kernels must be an integer or a list of kernels; got 'rbf'"):
        theory.generalization_bound(model, X, y, kernels="rbf")


def test_a_kernel_that_won_a_race_needs_the_list():
    X, y = two_classes(60)
    race = [RBF(0.3), RBF(3.0)]
    model = SPKMClassifierCV(
        race, selection=None, n_basis=2, scale=False, learn_bandwidth=False, cv=2, weight_penalty="rkhs", random_state=0
    ).fit(X, y)
    with pytest.raises(ValueError, match="was chosen by the rows, from 2: give kernels="):
        theory.generalization_bound(model, X, y)
    with pytest.raises(ValueError, match="kernels must be an integer of at least 2; got 1"):
        theory.generalization_bound(model, X, y, kernels=1)
    with pytest.raises(ValueError, match="kernels must hold all 2 kernels"):
        theory.generalization_bound(model, X, y, kernels=[model.kernel_])
    assert "one of 2 that were fixed" in str(theory.generalization_bound(model, X, y, kernels=race))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0.0}, "margin must be a number above 0; got 0.0"),
        ({"margin": "large"}, "margin must be a number above 0; got 'large'"),
        ({"confidence": 1.0}, "confidence must be below 1"),
        ({"confidence": 0.0}, "confidence must be a number above 0"),
        ({"norm": "l2"}, "norm must be one of 'rkhs', 'l1'"),
        ({"radius": -1.0}, "radius must be a number above 0"),
        ({"kernels": 0}, "kernels must be an integer of at least 1"),
    ],
)
def test_arguments_are_checked(options, message):
    model, X, y = fitted()
    with pytest.raises(ValueError, match=message):
        theory.generalization_bound(model, X, y, **options)


def test_rows_and_labels_are_checked():
    model, X, y = fitted()
    with pytest.raises(ValueError, match=r"y must hold the labels of the fit, \[0, 1\]; got 7"):
        theory.generalization_bound(model, X, np.where(y == 1, 7, 0))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        theory.generalization_bound(model, X, y[:-1])
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1; got 0"):
        theory.rademacher_complexity(model, 0)
