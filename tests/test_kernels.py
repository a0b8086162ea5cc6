"""Kernels: values against loops, pullbacks against differences, and what each claims of itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.metrics import pairwise

from spkm import kernels
from spkm.kernels import (
    RBF,
    Affine,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    NormalizedPolynomial,
    Polynomial,
    Product,
    RationalQuadratic,
    Rescaled,
    Sum,
    Tanimoto,
    squared_norms,
)
from tests import cases

X, U = cases.rows(9), cases.basis(3)
METRICS = {"number": 0.7, "columns": cases.frozen(np.array([0.3, 1.2, 0.8, 0.1]))}
each_kernel = pytest.mark.parametrize("kernel", cases.KERNELS.values(), ids=cases.KERNELS)
each_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


def one_value(kernel, x, u, w):
    """Return k(x, u) of two lists of numbers under the metric w, one number at a time."""
    if isinstance(kernel, Sum):
        return one_value(kernel.left, x, u, w) + one_value(kernel.right, x, u, w)
    if isinstance(kernel, Product):
        return one_value(kernel.left, x, u, w) * one_value(kernel.right, x, u, w)
    if isinstance(kernel, Affine):
        return kernel.scale * one_value(kernel.kernel, x, u, w) + kernel.shift
    if isinstance(kernel, Rescaled):
        factors = kernel.factor if np.ndim(kernel.factor) else [kernel.factor] * len(w)
        return one_value(kernel.kernel, x, u, [a * b for a, b in zip(w, factors, strict=True)])
    triples = list(zip(x, u, w, strict=True))
    g = kernel.gamma
    squared = sum(c * (a - b) ** 2 for a, b, c in triples)
    xu, xx, uu = (sum(c * p[0] * p[1] for *p, c in zip(s, t, w, strict=True)) for s, t in ((x, u), (x, x), (u, u)))
    if isinstance(kernel, RBF):
        return math.exp(-g * squared)
    if isinstance(kernel, Matern):
        t = math.sqrt(squared) * math.sqrt(2 * kernel.nu) * math.sqrt(2 * g)  # of the length scale 1 / sqrt(2 gamma)
        return math.exp(-t) * (1 + t + (t * t / 3 if kernel.nu == 2.5 else 0))
    if isinstance(kernel, RationalQuadratic):
        return (1 + g * squared / kernel.alpha) ** -kernel.alpha
    if isinstance(kernel, Laplacian):
        return math.exp(-g * sum(c * abs(a - b) for a, b, c in triples))
    if isinstance(kernel, Linear):
        return g * xu
    if isinstance(kernel, Polynomial):
        return (g * xu + kernel.coef0) ** kernel.degree
    if isinstance(kernel, NormalizedPolynomial):
        q, p = kernel.coef0, kernel.degree
        return (g * xu + q) ** p / math.sqrt((g * xx + q) ** p * (g * uu + q) ** p)
    assert isinstance(kernel, Tanimoto), "a new kernel needs its formula here, written the slow way"
    return xu / (xx + uu - xu)


def slow_values(kernel, X, U, metric=1.0):
    w = np.broadcast_to(metric, X.shape[1]).tolist()
    return np.array([[one_value(kernel, x, u, w) for u in U.tolist()] for x in X.tolist()])


@each_kernel
@each_metric
def test_values_equal_a_double_loop(kernel, metric):
    np.testing.assert_allclose(kernel(X, U, metric), slow_values(kernel, X, U, metric), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (RBF(0.3), pairwise.rbf_kernel(X, U, gamma=0.3)),
        (Laplacian(0.3), pairwise.laplacian_kernel(X, U, gamma=0.3)),
        (Polynomial(4, 0.5, 0.3), pairwise.polynomial_kernel(X, U, degree=4, gamma=0.3, coef0=0.5)),
        (Linear(1.0), pairwise.linear_kernel(X, U)),
        (NormalizedPolynomial(1, 1e-12, 1.0), pairwise.cosine_similarity(X, U)),
    ],
    ids=lambda k: type(k).__name__ if isinstance(k, Kernel) else "",
)
def test_values_equal_those_of_scikit_learn(kernel, reference):
    np.testing.assert_allclose(kernel(X, U), reference, rtol=1e-9)


def test_tanimoto_of_sets_is_their_jaccard_index():
    bits = np.random.default_rng(0).random((6, 20)) < 0.4
    expected = [[np.sum(a & b) / np.sum(a | b) for b in bits] for a in bits]
    np.testing.assert_allclose(Tanimoto()(bits.astype(float), bits.astype(float)), expected)


@each_kernel
@each_metric
@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_pullback_equals_differences(kernel, metric, storage):
    G = np.random.default_rng(4).standard_normal((len(X), len(U)))
    _, pullback = kernel.vjp(storage(X), U, metric, None, learn_metric=True)
    dU, d_metric = pullback(G.copy())
    assert np.shape(d_metric) == np.shape(metric)
    assert cases.slope_error(lambda V: np.sum(G * kernel(X, V, metric)), dU, U) < 1e-7
    of_metric = cases.slope_error(
        lambda w: np.sum(G * kernel(X, U, w if np.ndim(metric) else w[0])),
        np.atleast_1d(d_metric),
        np.atleast_1d(metric),
    )
    assert of_metric < 1e-7


@each_kernel
def test_pullback_leaves_the_metric_alone_unless_asked_and_may_be_called_again(kernel):
    G = np.random.default_rng(4).standard_normal((len(X), len(U)))
    K, pullback = kernel.vjp(X, U)
    before = K.copy()
    first, d_metric = pullback(G.copy())
    assert d_metric is None
    np.testing.assert_array_equal(pullback(G.copy())[0], first)
    np.testing.assert_array_equal(K, before)


@each_kernel
@each_metric
def test_dense_equals_csr_and_known_norms_change_nothing(kernel, metric):
    dense = kernel(X, U, metric)
    np.testing.assert_allclose(kernel(cases.csr(X), U, metric), dense, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(kernel(X, U, metric, squared_norms(X)), dense, rtol=1e-12, atol=1e-15)


@each_kernel
def test_integers_are_taken_as_numbers(kernel):
    counts = np.random.default_rng(0).integers(0, 4, size=(6, cases.N_FEATURES))
    expected = kernel(counts.astype(float), U)
    np.testing.assert_array_equal(kernel(counts, U), expected)
    np.testing.assert_allclose(kernel(sparse.csr_array(counts), U), expected, rtol=1e-12)


@each_kernel
def test_single_precision_stays_single(kernel):
    X32, U32 = X.astype(np.float32), U.astype(np.float32)
    for rows in (X32, cases.csr(X32)):
        for metric in (np.float32(0.7), METRICS["columns"].astype(np.float32)):
            K = kernel(rows, U32, metric)
            assert K.dtype == np.float32
            np.testing.assert_allclose(K, kernel(X, U, metric), rtol=2e-4, atol=2e-5)


@each_kernel
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_kernel_matrix_of_the_rkhs_is_positive_semi_definite(kernel, seed):
    points = 2 * np.random.default_rng(seed).standard_normal((12, cases.N_FEATURES))
    K = kernel.rkhs()(points, points)
    np.testing.assert_allclose(K, K.T, rtol=1e-9, atol=1e-9 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.abs(K).max()


@each_kernel
def test_diagonal_is_that_of_the_kernel_matrix(kernel):
    expected = np.diag(slow_values(kernel, X + 0.1, X + 0.1))
    np.testing.assert_allclose(kernel.diagonal(X + 0.1), expected, rtol=1e-9)
    np.testing.assert_allclose(kernel.diagonal(cases.csr(X + 0.1)), expected, rtol=1e-9)


@pytest.mark.parametrize("inner", [Sum(RBF(0.3), RBF(0.1)), Affine(RBF(0.3), 3.0, 0.5)])
def test_diagonal_of_a_rescaled_stationary_kernel_need_not_be_one(inner):
    np.testing.assert_allclose(Rescaled(inner, 0.5).diagonal(X), inner.diagonal(X))
    np.testing.assert_allclose(inner.diagonal(X), np.diag(slow_values(inner, X, X)))


@each_kernel
def test_stationary_kernels_see_differences_only(kernel):
    if kernel.stationary:
        np.testing.assert_allclose(kernel(X + 3.0, U + 3.0), kernel(X, U), rtol=1e-9)
    else:
        assert not np.allclose(kernel(X + 3.0, U + 3.0), kernel(X, U))


@each_kernel
def test_features_that_are_zero_in_a_vector_change_nothing_exactly_if_a_kernel_says_so(kernel):
    without, other = U.copy(), X.copy()
    without[:, 1] = 0.0
    other[:, 1] += 1.0
    changes = not np.allclose(kernel(other, without), kernel(X, without), rtol=1e-9)
    assert kernel.reads_zero_features == changes


def test_a_kernel_that_says_nothing_may_read_features_that_are_zero():
    assert Kernel.reads_zero_features


@each_kernel
def test_isotropic_kernels_see_distances_alone_and_say_so_if_they_are_profiles(kernel):
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((cases.N_FEATURES, cases.N_FEATURES)))[0]
    same = np.allclose(kernel(X @ rotation + 3.0, U @ rotation + 3.0), kernel(X, U), rtol=1e-9)
    assert kernel.isotropic == (same and isinstance(kernel, kernels.DistanceKernel))


@each_kernel
@pytest.mark.parametrize("factor", [0.37, cases.FACTORS], ids=["number", "columns"])
def test_with_bandwidth_multiplies_the_metric(kernel, factor):
    np.testing.assert_allclose(
        kernel.with_bandwidth(factor)(X, U), slow_values(kernel, X, U, factor), rtol=1e-10, atol=1e-14
    )


def test_shift_is_known_and_left_out_of_the_rkhs():
    bipolar = Affine(RBF(0.3))
    assert bipolar.shifted
    assert not Affine(RBF(0.3), 2.0, 0.0).shifted
    np.testing.assert_allclose(bipolar(X, U), 2 * RBF(0.3)(X, U) - 1)
    for kernel in (bipolar, Rescaled(bipolar), Sum(bipolar, Linear(1.0)), Product(Linear(1.0), bipolar)):
        assert kernel.shifted
        assert not kernel.rkhs().shifted
    assert Rescaled(Tanimoto()).nonnegative
    assert Affine(Tanimoto()).nonnegative
    assert Sum(RBF(1.0), Tanimoto()).nonnegative


@each_kernel
@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_largest_diagonal_is_reached_and_never_passed(kernel, radius):
    directions = np.random.default_rng(0).standard_normal((200, cases.N_FEATURES))
    directions = np.vstack([np.eye(cases.N_FEATURES), directions])
    lengths = np.concatenate([np.ones(len(directions)), np.linspace(0.05, 1, len(directions))])[:, None]
    points = radius * lengths * np.tile(directions / np.linalg.norm(directions, axis=1, keepdims=True), (2, 1))
    assert kernel.largest_diagonal(radius**2) == pytest.approx(kernel.diagonal(points).max())
    if kernel.largest_diagonal() < np.inf:
        assert kernel.largest_diagonal() == kernel.largest_diagonal(radius**2)
    else:
        assert kernel.diagonal(1e3 * points).max() > 1e3 * kernel.diagonal(points).max()


def test_a_product_with_a_kernel_of_zeros_is_bounded():
    none = Affine(RBF(0.5), 1.0, -1.0)  # zero where x is u
    assert Product(Linear(1.0), none).largest_diagonal() == 0.0
    assert Product(none, Linear(1.0)).largest_diagonal(4.0) == 0.0


@each_kernel
def test_affine_parts_make_up_the_kernel(kernel):
    for one in (kernel, Affine(kernel, 3.0, -2.0), Rescaled(Affine(Affine(kernel), 0.5, 1.0), cases.FACTORS)):
        scale, shift, core = one.affine_parts()
        np.testing.assert_allclose(scale * core(X, U) + shift, one(X, U), rtol=1e-12, atol=1e-12)
        assert core.affine_parts()[:2] == (1.0, 0.0)


@each_kernel
def test_a_kernel_with_values_of_its_own_does_not_inherit_their_bound(kernel):
    class Doubled(type(kernel)):
        def vjp(self, *args, **kwargs):
            K, pull = super().vjp(*args, **kwargs)
            return 2 * K, lambda G: pull(2 * G)

    doubled = clone(kernel)
    doubled.__class__ = Doubled
    np.testing.assert_allclose(doubled.resolved(X, np.ones(len(X)))(X, U), 2 * kernel(X, U))
    np.testing.assert_allclose(doubled.with_bandwidth(0.5)(X, U), 2 * kernel(X, U, 0.5))
    assert doubled.largest_diagonal(1.0) is None
    assert doubled.affine_parts() == (1.0, 0.0, doubled)


def test_a_bound_on_the_values_follows_the_formula_it_rests_on():
    class Twice(RBF):
        def profile(self, s):
            return 2 * np.exp(-s)

    class Cubed(Polynomial):
        def value(self, dot):
            return dot**3

    class Longer(Tanimoto):
        def value(self, dot, xx, uu):
            return dot

    assert Twice(0.3).largest_diagonal() == 2.0
    assert Cubed(gamma=0.5).largest_diagonal(4.0) == 8.0
    assert Longer().largest_diagonal() is None
    assert Sum(RBF(1.0), Longer()).largest_diagonal() is None
    assert Product(Longer(), RBF(1.0)).largest_diagonal(1.0) is None
    assert Affine(Longer()).largest_diagonal() is None
    assert Affine(RBF(1.0), -1.0, 0.0).largest_diagonal() is None


def test_zero_vectors_under_tanimoto():
    zero = np.zeros((1, 3))
    other = np.ones((1, 3))
    kernel = Tanimoto()
    assert kernel(zero, zero) == 0
    assert kernel(zero, other) == kernel(other, zero) == 0
    assert kernel.diagonal(zero) == 0
    dU, d_metric = kernel.vjp(np.vstack([zero, other]), zero, 1.0, None, True)[1](np.ones((2, 1)))
    assert np.all(np.isfinite(dU))
    assert np.isfinite(d_metric)


@given(arrays(float, (5, 3), elements=st.floats(-1e6, 1e6)))
@settings(max_examples=40)
def test_distance_kernels_stay_between_zero_and_one(points):
    for kernel in (RBF(0.3), Matern(1.5, 0.3), Matern(2.5, 0.3), RationalQuadratic(0.5, 0.3), Laplacian(0.3)):
        K = kernel(points, points)
        assert np.all((K >= 0) & (K <= 1))


def typical_distance(points, rule):
    distance = pdist(points)
    distance = np.sort(distance[distance > 0])
    return distance.mean() if rule == "mean" else distance[(len(distance) - 1) // 2]


@pytest.mark.parametrize("rule", ["mean", "median"])
@pytest.mark.parametrize("far", [0.0, 50.0])
@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_bandwidth_from_rows_with_weights_as_repeats(rule, far, storage):
    points = np.random.default_rng(5).standard_normal((30, 5)) + far
    repeats = np.random.default_rng(6).integers(1, 4, size=30)
    repeated = np.repeat(points, repeats, axis=0)
    gamma = 1 / (2 * typical_distance(repeated, rule) ** 2)
    weighted = RBF(rule).resolved(storage(points), repeats.astype(float))
    np.testing.assert_allclose(weighted.gamma, gamma, rtol=1e-9)
    np.testing.assert_allclose(RBF(rule).resolved(storage(repeated), np.ones(len(repeated))).gamma, gamma, rtol=1e-9)
    laplacian = Laplacian(rule).resolved(storage(points), repeats.astype(float))
    np.testing.assert_allclose(laplacian.gamma, np.sqrt(np.pi * gamma / 5), rtol=1e-9)


def test_resolved_keeps_the_rest_and_leaves_the_original():
    kernel = Sum(Matern(2.5, "median"), Affine(Rescaled(RationalQuadratic(0.7), 2.0), 3.0, -1.0))
    made = kernel.resolved(X, np.ones(len(X)))
    assert kernel.left.gamma == "median"
    assert made.left.nu == 2.5
    assert made.left.gamma == RBF("median").resolved(X, np.ones(len(X))).gamma
    assert made.right.scale == 3.0
    assert made.right.kernel.factor == 2.0
    assert made.right.kernel.kernel.alpha == 0.7
    assert Polynomial(2).resolved(X, np.ones(len(X))).gamma == 1 / cases.N_FEATURES
    assert Linear().resolved(X[:, :1], np.ones(len(X))).gamma == 1.0
    assert Linear(0.3).resolved(X, np.ones(len(X))).gamma == 0.3
    assert RBF("mean").resolved(np.ones((4, 2)), np.ones(4)).gamma == 1.0


@each_kernel
def test_kernels_can_be_cloned(kernel):
    np.testing.assert_array_equal(clone(kernel)(X, U), kernel(X, U))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(0), "gamma must be a positive number; got 0"),
        (Matern(1.5, -1.0), r"gamma must be a positive number; got -1\.0"),
        (Laplacian(np.nan), "gamma must be a positive number; got nan"),
        (RationalQuadratic(1.0, [1.0]), r"gamma must be a positive number; got \[1\.0\]"),
        (RBF(), "gamma='mean' of RBF is chosen from data when a model is fitted; give a number"),
        (Linear(), "gamma='auto' of Linear is chosen from data"),
        (Matern(0.5, 1.0), r"nu of Matern must be 1\.5 or 2\.5; got 0\.5"),
        (RationalQuadratic(0.0, 1.0), r"alpha of RationalQuadratic must be a number above 0; got 0\.0"),
        (Polynomial(0, 1.0, 1.0), "degree of Polynomial must be an integer of at least 1; got 0"),
        (Polynomial(2.5, 1.0, 1.0), r"degree of Polynomial must be an integer of at least 1; got 2\.5"),
        (
            NormalizedPolynomial(True, 1.0, 1.0),
            "degree of NormalizedPolynomial must be an integer of at least 1; got True",
        ),
        (NormalizedPolynomial(2, 0.0, 1.0), "coef0 of NormalizedPolynomial must be a number above 0"),
        (Polynomial(2, -1.0, 1.0), r"coef0 of Polynomial must be a number of at least 0; got -1\.0"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(X, U)


@pytest.mark.parametrize("kernel", [RBF("auto"), Laplacian("scale"), Linear("mean"), Matern(1.5, "none")], ids=str)
def test_wrong_rules_are_named(kernel):
    with pytest.raises(ValueError, match=r"gamma must be a positive number.* got '(auto|scale|mean|none)'"):
        kernel.resolved(X, np.ones(len(X)))


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_the_profile_of_matern_and_its_slope(nu):
    """The profile is what the kernel computes in another way, and the slope its difference quotient."""
    rng = np.random.default_rng(0)
    X, U = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    kernel = kernels.Matern(nu, 0.7)
    s = 0.7 * np.square(X[:, None] - U).sum(axis=2)
    r = np.sqrt(2 * nu) * np.sqrt(2 * s)
    want = (1 + r) * np.exp(-r) if nu == 1.5 else (1 + r + r**2 / 3) * np.exp(-r)
    np.testing.assert_allclose(kernel.profile(s), want, rtol=1e-12)
    np.testing.assert_allclose(kernel(X, U), want, rtol=1e-12)
    step = 1e-6
    quotient = (kernel.profile(s + step) - kernel.profile(s - step)) / (2 * step)
    np.testing.assert_allclose(kernel.slope(s, kernel.profile(s)), quotient, rtol=1e-6)


@pytest.mark.parametrize("scale, want", [(0.5, 0.6), (2.0, 2.1), (0.0, None), (-1.0, None)])
def test_the_largest_diagonal_of_a_scaled_kernel(scale, want):
    found = kernels.Affine(kernels.RBF(1.0), scale=scale, shift=0.1).largest_diagonal()
    assert found == (None if want is None else pytest.approx(want))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", [kernels.Polynomial(2, 0.5, 1.0), kernels.Tanimoto()], ids=str)
def test_the_diagonal_of_a_kernel_that_says_nothing_of_it(kernel, kind):
    """What a kernel of one's own gets: its values, one sample at a time."""
    X = np.abs(np.random.default_rng(0).standard_normal((5, 3)))
    np.testing.assert_allclose(kernels.Kernel.diagonal(kernel, kind(X)), np.diag(kernel(X, X)), rtol=1e-12)


def test_a_kernel_that_reads_nothing_has_the_diagonal_of_zero():
    nothing = kernels.Rescaled(kernels.Linear(0.5), np.zeros(3))
    assert nothing.largest_diagonal(4.0) == 0.0
    assert kernels.Rescaled(kernels.Linear(0.5), np.array([1.0, 3.0])).largest_diagonal(4.0) == pytest.approx(6.0)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf, np.nan])
def test_a_bandwidth_is_a_positive_number(gamma):
    with pytest.raises(ValueError, match="gamma"):
        kernels.RBF(gamma)(np.ones((1, 2)), np.ones((1, 2)))


def test_either_part_of_a_combination_may_wait_for_data():
    X, w = np.random.default_rng(0).standard_normal((20, 3)), np.ones(20)
    known, open_ = kernels.RBF(0.3), kernels.RBF()
    for cls in (kernels.Sum, kernels.Product):
        for left, right in ((known, open_), (open_, known), (open_, open_)):
            found = cls(left, right).resolved(X, w)
            assert isinstance(found.left.gamma, float) and isinstance(found.right.gamma, float)
        both = cls(known, known)
        assert both.resolved(X, w) is both


def test_the_diagonal_of_a_scaled_kernel_whose_diagonal_is_not_one():
    X = np.random.default_rng(0).standard_normal((5, 3))
    kernel = kernels.Affine(kernels.Polynomial(2, 0.5, 1.0), scale=2.0, shift=0.25)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)), rtol=1e-12)
