"""Paths: minima by their own conditions and by scikit-learn's solvers, and columns that leave for good."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.utils.fixes import parse_version

from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.kernels import KERNELS, RBF, DotKernel, Linear, Polynomial, Sum
from spkm.losses import Huber, Log, Squared, SquaredHinge
from spkm.penalties import GroupL2
from spkm.selection import DEFAULTS, FeatureGroups, has_path, sparse_support
from spkm.sources import ArraySource
from tests import cases

CASES = {
    "two classes": (Log(), 1, None),
    "three classes": (Log(), 3, None),
    "two classes, groups": (Log(), 1, np.arange(16) // 2),
    "margins": (SquaredHinge(), 1, None),
    "real": (Squared(), 1, None),
    "real, two outputs": (Squared(), 2, None),
    "robust, uneven groups": (Huber(), 1, np.array([0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 8])),
}


def linear_problem(loss, m=1, n=60, d=16, seed=0):
    """Return rows, targets that depend on the first three columns, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    F = 2 * X[:, :3] @ rng.standard_normal((3, m)) + 0.5 * rng.standard_normal((n, m))
    if loss.target == "signs":
        Y = np.where(F > 0, 1.0, -1.0) if m == 1 else 2.0 * np.eye(m)[F.argmax(axis=1)] - 1.0
    else:
        Y = F - F.mean(axis=0)
    return cases.frozen(X), cases.frozen(Y), cases.frozen(rng.uniform(0.5, 2, n))


@cache
def linear_end(name, share=0.4):
    """Return a case's rows and the end of its path, by many iterations."""
    loss, m, groups = CASES[name]
    source = ArraySource(*linear_problem(loss, m))
    return source, end_of(source, loss, Linear(1.0), groups, path_share=share, path_iterations=1000, path_tolerance=0)


def product_problem(n=60, d=8, seed=0):
    """Return rows and classes that depend on the product of the first two columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return cases.frozen(X), cases.frozen(np.where(X[:, :1] * X[:, 1:2] > 0, 1.0, -1.0))


def end_of(source, loss, kernel, groups=None, n_basis=1, seed=0, fit_intercept=True, **settings):
    units = FeatureGroups(source.n_features, groups)
    rng = np.random.default_rng(seed)
    return sparse_support(source, loss, kernel, n_basis, units, fit_intercept, rng, replace(DEFAULTS, **settings))


def on_all_columns(point, d):
    U = np.zeros((len(point.basis), d))
    U[:, point.columns] = point.basis
    return U


def objective_at(point, source, loss, strength, groups=None):
    """Return the value at a point of what a path minimises at one strength."""
    U = on_all_columns(point, source.n_features)
    model = PreimageModel([Term(len(U), (View(point.kernel),))], source.n_features, source.n_outputs)
    theta, params = model.zeros()
    params.basis[0][...], params.weights[...], params.intercept[...] = U, point.weights, point.intercept
    return Objective(model, loss, source, GroupL2(strength, groups)).value(theta)


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("name", CASES)
def test_the_end_of_a_linear_path_obeys_the_conditions_of_a_minimum_in_every_column(name, share):
    loss, _, groups = CASES[name]
    source, point = linear_end(name, share)
    X, Y = source.X, source.Y
    units = FeatureGroups(16, groups)
    U = on_all_columns(point, 16)
    slopes = loss.directions(Y, X @ U.T @ point.weights + point.intercept, source.w)[0]
    np.testing.assert_allclose(slopes.sum(axis=0), 0, atol=0.01)  # of the intercept
    G = slopes.T @ X
    for columns in units.members():
        bound = point.strength * np.sqrt(len(columns))
        u, g = U[:, columns], G[:, columns]
        if np.any(u):
            assert np.linalg.norm(g + bound * u / np.linalg.norm(u)) < 0.03 * bound
        else:
            assert np.linalg.norm(g) < 1.01 * bound
    # Groups stay whole, and what counts is in.
    np.testing.assert_array_equal(point.columns, units.columns(np.unique(units.label[point.columns])))
    # The end is where the strength is no more than a share of the universal threshold over the slopes that are left.
    noise = np.abs(slopes).sum() * np.sqrt(2 * np.log(len(units.size)) / source.total_weight)
    assert point.strength <= max(share * noise * 1.01, 0.02)


def test_the_linear_path_of_squared_loss_is_the_lasso():
    source, point = linear_end("real")
    lasso = Lasso(alpha=point.strength / 2, tol=1e-8)
    lasso.fit(source.X, source.Y[:, 0], sample_weight=source.w[:, 0])
    np.testing.assert_allclose(on_all_columns(point, 16)[0], lasso.coef_, atol=2e-3)
    assert point.intercept[0] == pytest.approx(lasso.intercept_, abs=2e-3)


def test_the_linear_path_of_two_classes_is_logistic_regression_with_an_l1_penalty():
    source, point = linear_end("two classes")
    X, Y, weight = source.X, source.Y, source.w[:, 0] * source.total_weight
    # C multiplies the sum of weighted losses, here a mean.
    C = 1 / (point.strength * source.total_weight)
    l1 = {"l1_ratio": 1} if parse_version(sklearn.__version__) >= parse_version("1.8") else {"penalty": "l1"}
    other = LogisticRegression(C=C, solver="saga", tol=1e-6, max_iter=5000, random_state=0, **l1)
    other.fit(X, Y[:, 0], sample_weight=weight)
    F = other.decision_function(X)[:, None]
    expected = source.w[:, 0] @ Log().pointwise(Y, F)[:, 0] + point.strength * np.abs(other.coef_).sum()
    assert objective_at(point, source, Log(), point.strength) == pytest.approx(expected, rel=1e-4)


def test_the_columns_of_a_product_are_found():
    X, Y = product_problem(200, seed=1)
    point = end_of(ArraySource(X, Y), Log(), Polynomial(2, 1.0, 1.0))
    assert {0, 1} <= set(point.columns) and len(point.columns) < 8


def test_sparse_rows_have_the_linear_path_of_dense_rows():
    X, Y = cases.rows(40, 6), cases.targets(Log(), 40, 1)
    exact = {"path_iterations": 1000, "path_tolerance": 0.0}
    dense, other = (end_of(ArraySource(kind(X), Y), Log(), Linear(1.0), **exact) for kind in (np.asarray, cases.csr))
    assert dense.strength == pytest.approx(other.strength)
    np.testing.assert_allclose(on_all_columns(dense, 6), on_all_columns(other, 6), atol=1e-4)


def test_sparse_rows_make_the_steps_of_dense_rows_where_a_path_is_not_convex():
    # One step at each strength: where steps follow their own curvature, rounding grows with their number.
    X, Y = cases.rows(40, 6), cases.targets(Log(), 40, 1)
    kernel = Polynomial(2, 1.0, 1.0)
    a, b = (end_of(ArraySource(kind(X), Y), Log(), kernel, path_iterations=1) for kind in (np.asarray, cases.csr))
    np.testing.assert_allclose(on_all_columns(a, 6), on_all_columns(b, 6), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(a.intercept, b.intercept, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("m", "n_basis"), [(1, 1), (1, 7), (3, 2)])
def test_signs_are_fixed_and_each_output_has_its_own_vectors(m, n_basis):
    X, Y, _ = linear_problem(Log(), m)
    point = end_of(ArraySource(X, Y), Log(), Polynomial(2, 1.0, 1.0), n_basis=n_basis, path_iterations=3)
    assert len(point.basis) == max(n_basis, DEFAULTS.vectors_per_output * m)
    np.testing.assert_array_equal(np.abs(point.weights).sum(axis=1), 1)
    for column in point.weights.T:
        assert {-1.0, 1.0} <= set(column)
    linear = end_of(ArraySource(X, Y), Log(), Linear(1.0), n_basis=n_basis)
    np.testing.assert_array_equal(linear.weights, np.eye(m))


@pytest.mark.parametrize("kernel", [Linear(1.0), Polynomial(3, 1.0, 1.0)], ids=["linear", "polynomial"])
def test_weights_are_repeats(kernel):
    X, Y, _ = linear_problem(Log())
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    repeated = ArraySource(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    a, b = (end_of(source, Log(), kernel, path_iterations=2) for source in (ArraySource(X, Y, weight), repeated))
    assert a.strength == pytest.approx(b.strength)
    np.testing.assert_allclose(on_all_columns(a, 16), on_all_columns(b, 16), rtol=1e-6, atol=1e-8)


def test_without_an_intercept_there_is_none():
    X, Y, _ = linear_problem(Log())
    for kernel in (Linear(1.0), Polynomial(3, 1.0, 1.0)):
        point = end_of(ArraySource(X, Y + 0.0), Log(), kernel, fit_intercept=False, path_iterations=20)
        assert point.intercept[0] == 0


@pytest.mark.parametrize("kernel", [Linear(1.0), Polynomial(3, 1.0, 1.0)], ids=["linear", "polynomial"])
def test_a_target_of_nothing_is_no_error(kernel):
    X = cases.rows(20, 5)
    point = end_of(ArraySource(X, np.zeros((20, 1))), Squared(), kernel, path_iterations=20)
    assert np.all(np.isfinite(point.basis))


def test_kernels_with_a_path_are_those_of_a_dot_product_alone():
    for name in KERNELS:
        kernel = KERNELS.resolve(name)
        assert has_path(kernel) == (name in ("linear", "polynomial")) == isinstance(kernel, DotKernel)
    assert not has_path(Sum(Linear(), RBF()))


@pytest.mark.parametrize("n_classes", [3, 8])
def test_the_end_of_a_path_of_many_classes_suits_their_noise(n_classes):
    # At the whole threshold noise stays out; what separates classes comes in.
    rng = np.random.default_rng(n_classes)
    labels = np.arange(96) % n_classes
    Y = 2.0 * np.eye(n_classes)[labels] - 1.0
    X = rng.standard_normal((96, 400))
    threshold = replace(DEFAULTS, path_share=1.0)
    parts = (Log(), Linear(1.0), n_classes, FeatureGroups(400), True, rng, threshold)
    assert len(sparse_support(ArraySource(X, Y), *parts).columns) <= 2
    X[:, :n_classes] += 2.0 * np.eye(n_classes)[labels]
    assert set(range(n_classes)) <= set(sparse_support(ArraySource(X, Y), *parts).columns)
