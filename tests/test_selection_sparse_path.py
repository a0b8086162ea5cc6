"""Paths: minima by their own conditions and by scikit-learn's solvers, and columns that leave for good."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression

from spkm.kernels import KERNELS, RBF, DotKernel, Linear, Polynomial, Sum
from spkm.losses import Huber, Log, Squared, SquaredHinge
from spkm.model import PreimageModel, Term, View
from spkm.objective import Objective
from spkm.penalties import GroupL2
from spkm.selection import FeatureGroups, _sparse_path, has_path
from spkm.selection._sparse_path import sparse_path
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
def linear_path(name):
    """Return a case's rows and its path."""
    loss, m, groups = CASES[name]
    source = ArraySource(*linear_problem(loss, m))
    return source, path_of(source, loss, Linear(1.0), groups)


def product_problem(n=60, d=8, seed=0):
    """Return rows and classes that depend on the product of the first two columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return cases.frozen(X), cases.frozen(np.where(X[:, :1] * X[:, 1:2] > 0, 1.0, -1.0))


def path_of(source, loss, kernel, groups=None, n_basis=1, seed=0, fit_intercept=True):
    units = FeatureGroups(source.n_features, groups)
    return sparse_path(source, loss, kernel, n_basis, units, fit_intercept, np.random.default_rng(seed))


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


@pytest.mark.parametrize("name", CASES)
def test_a_linear_path_obeys_the_conditions_of_a_minimum_in_every_column(name):
    loss, _, groups = CASES[name]
    source, points = linear_path(name)
    X, Y = source.X, source.Y
    strengths = _sparse_path._strengths(source, loss)
    units = FeatureGroups(16, groups)
    assert len(points) > 5
    for point in points:
        U = on_all_columns(point, 16)
        slopes = loss.directions(Y, X @ U.T @ point.weights + point.intercept, source.w)[0]
        np.testing.assert_allclose(slopes.sum(axis=0), 0, atol=0.01)  # of the intercept
        G = slopes.T @ X
        for columns in units.members():
            bound = strengths[point.step] * np.sqrt(len(columns))
            u, g = U[:, columns], G[:, columns]
            if np.any(u):
                assert np.linalg.norm(g + bound * u / np.linalg.norm(u)) < 0.03 * bound
            else:
                assert np.linalg.norm(g) < 1.01 * bound


def test_the_linear_path_of_squared_loss_is_the_lasso():
    source, points = linear_path("real")
    strengths = _sparse_path._strengths(source, Squared())
    for point in points:
        lasso = Lasso(alpha=strengths[point.step] / 2, tol=1e-8)
        lasso.fit(source.X, source.Y[:, 0], sample_weight=source.w[:, 0])
        np.testing.assert_allclose(on_all_columns(point, 16)[0], lasso.coef_, atol=2e-3)
        assert point.intercept[0] == pytest.approx(lasso.intercept_, abs=2e-3)


def test_the_linear_path_of_two_classes_is_logistic_regression_with_an_l1_penalty():
    source, points = linear_path("two classes")
    X, Y, weight = source.X, source.Y, source.w[:, 0] * source.total_weight
    for point in points[::3]:
        strength = _sparse_path._strengths(source, Log())[point.step]
        # C multiplies the sum of weighted losses, here a mean.
        C = 1 / (strength * source.total_weight)
        other = LogisticRegression(l1_ratio=1, C=C, solver="saga", tol=1e-6, max_iter=5000, random_state=0)
        other.fit(X, Y[:, 0], sample_weight=weight)
        F = other.decision_function(X)[:, None]
        expected = source.w[:, 0] @ Log().pointwise(Y, F)[:, 0] + strength * np.abs(other.coef_).sum()
        assert objective_at(point, source, Log(), strength) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("groups", [None, np.arange(16) // 2])
def test_it_does_not_matter_which_columns_a_linear_path_starts_with(monkeypatch, groups):
    source, known = linear_path("two classes" if groups is None else "two classes, groups")
    strengths = _sparse_path._strengths(source, Log())
    expected = [objective_at(p, source, Log(), strengths[p.step], groups) for p in known]
    monkeypatch.setattr(_sparse_path, "FIRST_ACTIVE", 1 if groups is None else 1000)
    points = path_of(source, Log(), Linear(1.0), groups)
    values = [objective_at(p, source, Log(), strengths[p.step], groups) for p in points]
    np.testing.assert_allclose(values, expected, rtol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_columns_become_fewer_and_units_stay_whole(name):
    points = linear_path(name)[1]
    counts = [len(point.columns) for point in points]
    assert [point.step for point in points] == sorted(point.step for point in points)
    assert counts[0] > counts[-1] and sum(np.diff(counts) > 0) <= 2
    units = FeatureGroups(16, CASES[name][2])
    for point in points:
        np.testing.assert_array_equal(point.columns, units.columns(np.unique(units.label[point.columns])))


def test_few_columns_are_those_that_matter():
    points = linear_path("two classes")[1]
    assert set(points[-2].columns) <= {0, 1, 2}
    X, Y = product_problem(80, seed=1)
    points = path_of(ArraySource(X, Y), Log(), Polynomial(2, 1.0, 1.0))
    assert [0, 1] in [point.columns.tolist() for point in points]
    assert all({0, 1} <= set(point.columns) for point in points if len(point.columns) > 1)


@pytest.mark.parametrize("kernel", [Linear(1.0), Polynomial(3, 1.0, 1.0)], ids=["linear", "polynomial"])
@pytest.mark.parametrize("kind", [np.asarray, cases.csr])
def test_other_columns_have_no_influence(monkeypatch, kernel, kind):
    monkeypatch.setattr(_sparse_path, "ITERATIONS", 20)
    X, Y = product_problem()
    points = path_of(ArraySource(kind(X), Y), Log(), kernel)
    assert min(len(point.columns) for point in points) < 8
    for point in points:
        noise = np.full_like(X, 1e200)
        noise[:, point.columns] = X[:, point.columns]
        F = point.predict(ArraySource(kind(noise), Y))
        np.testing.assert_array_equal(F, point.predict(ArraySource(kind(X), Y)))
        by_hand = kernel(X, on_all_columns(point, 8)) @ point.weights + point.intercept
        np.testing.assert_allclose(F, by_hand, rtol=1e-10, atol=1e-10)


def with_intercept(point, d):
    """Return the one basis vector of a linear model of all columns, with its sign, and the intercept."""
    return np.append((point.weights.T @ on_all_columns(point, d)).ravel(), point.intercept)


def distance_from_optimum(source, parameters, strength):
    """Return the length of the shortest subgradient of log loss + strength * |u|_1 at (u, b)."""
    A = np.column_stack([source.dense(), np.ones(source.n_rows)])
    slope = A.T @ (source.w * Log().slope(source.Y, (A @ parameters)[:, None])).ravel()
    u, g = parameters[:-1], slope[:-1]
    shortest = np.where(u != 0, g + strength * np.sign(u), np.sign(g) * np.maximum(np.abs(g) - strength, 0.0))
    return float(np.linalg.norm(np.append(shortest, slope[-1])))


def least_curvature(source, a, b):
    """Return a lower bound of the curvature of the log loss on the way from one (u, b) to another."""
    A = np.column_stack([source.dense(), np.ones(source.n_rows)])
    p = 1 / (1 + np.exp(np.maximum(np.abs(A @ a), np.abs(A @ b))))  # p (1 - p) falls with |f|, which is convex
    return float(np.linalg.eigvalsh(A.T @ (source.w * (p * (1 - p))[:, None] * A))[0])


def test_sparse_rows_have_the_linear_path_of_dense_rows(monkeypatch):
    monkeypatch.setattr(_sparse_path, "ITERATIONS", 1000)
    monkeypatch.setattr(_sparse_path, "TOLERANCE", 0.0)
    X, Y = cases.rows(40, 6), cases.targets(Log(), 40, 1)
    source = ArraySource(X, Y)
    strengths = _sparse_path._strengths(source, Log())
    dense, other = (path_of(ArraySource(kind(X), Y), Log(), Linear(1.0)) for kind in (np.asarray, cases.csr))
    assert [p.step for p in dense] == [p.step for p in other]
    for point, again in zip(dense, other, strict=True):
        a, b = with_intercept(point, 6), with_intercept(again, 6)
        # The slopes of a function of curvature m differ by at least m times the distance of the points.
        slopes = distance_from_optimum(source, a, strengths[point.step])
        slopes += distance_from_optimum(source, b, strengths[point.step])
        bound = slopes / least_curvature(source, a, b)
        assert bound < 1e-4
        assert np.linalg.norm(a - b) <= bound + 1e-12
        large = np.abs(a[:-1]) > bound
        assert set(np.flatnonzero(large)) <= set(again.columns)


def test_sparse_rows_make_the_steps_of_dense_rows_where_a_path_is_not_convex(monkeypatch):
    # One step at each strength: where steps follow their own curvature, rounding grows with their number.
    monkeypatch.setattr(_sparse_path, "ITERATIONS", 1)
    X, Y = cases.rows(40, 6), cases.targets(Log(), 40, 1)
    kernel = Polynomial(2, 1.0, 1.0)
    dense, other = (path_of(ArraySource(kind(X), Y), Log(), kernel) for kind in (np.asarray, cases.csr))
    assert [p.step for p in dense] == [p.step for p in other]
    for a, b in zip(dense, other, strict=True):
        np.testing.assert_allclose(on_all_columns(a, 6), on_all_columns(b, 6), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(a.intercept, b.intercept, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("m", [1, 2])
def test_each_strength_goes_on_from_the_one_before(m):
    rng = np.random.default_rng(0)
    X = cases.frozen(rng.standard_normal((50, 6)))
    Y = cases.frozen(np.column_stack([X[:, 0] * X[:, 1], X[:, 2] ** 2 - 1])[:, :m])
    source = ArraySource(X, Y)
    strengths = _sparse_path._strengths(source, Squared())
    points = path_of(source, Squared(), Polynomial(2, 1.0, 1.0))
    assert points[0].step == _sparse_path.SKIPPED
    for before, point in pairwise(points):
        strength = strengths[point.step]
        assert objective_at(point, source, Squared(), strength) <= objective_at(before, source, Squared(), strength)
        assert set(point.columns) <= set(before.columns)


@pytest.mark.parametrize(("m", "n_basis"), [(1, 1), (1, 7), (3, 2)])
def test_signs_are_fixed_and_each_output_has_its_own_vectors(monkeypatch, m, n_basis):
    monkeypatch.setattr(_sparse_path, "ITERATIONS", 3)
    X, Y, _ = linear_problem(Log(), m)
    point = path_of(ArraySource(X, Y), Log(), Polynomial(2, 1.0, 1.0), n_basis=n_basis)[0]
    assert len(point.basis) == max(n_basis, _sparse_path.VECTORS_PER_OUTPUT * m)
    np.testing.assert_array_equal(np.abs(point.weights).sum(axis=1), 1)
    for column in point.weights.T:
        assert {-1.0, 1.0} <= set(column)
    linear = path_of(ArraySource(X, Y), Log(), Linear(1.0), n_basis=n_basis)[0]
    np.testing.assert_array_equal(linear.weights, np.eye(m))


def test_strengths_are_those_of_weighted_rows():
    X, Y, _ = linear_problem(Log())
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = _sparse_path._strengths(ArraySource(X, Y, weight), Log())
    repeated = _sparse_path._strengths(ArraySource(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)), Log())
    np.testing.assert_allclose(weighted, repeated)
    assert len(weighted) == _sparse_path.N_STEPS
    np.testing.assert_allclose(weighted[1:] / weighted[:-1], _sparse_path.RATIO)
    # Without a column the slope of the log loss is a half everywhere.
    assert weighted[0] == pytest.approx(_sparse_path.LOWEST * 0.5 / np.sqrt(weight.sum()))


def test_a_point_keeps_nothing_of_the_other_columns():
    X, Y, _ = linear_problem(Log(), d=200)
    for point in path_of(ArraySource(X, Y), Log(), Linear(1.0)):
        for part in (point.basis, point.weights, point.intercept):
            assert part.size <= len(point.columns) and (part.base is None or part.base.size == part.size)


def test_without_an_intercept_there_is_none(monkeypatch):
    monkeypatch.setattr(_sparse_path, "ITERATIONS", 20)
    X, Y, _ = linear_problem(Log())
    for kernel in (Linear(1.0), Polynomial(3, 1.0, 1.0)):
        for point in path_of(ArraySource(X, Y + 0.0), Log(), kernel, fit_intercept=False):
            assert point.intercept[0] == 0


@pytest.mark.parametrize("kernel", [Linear(1.0), Polynomial(3, 1.0, 1.0)], ids=["linear", "polynomial"])
def test_a_target_of_nothing_has_no_columns(monkeypatch, kernel):
    monkeypatch.setattr(_sparse_path, "ITERATIONS", 20)
    X = cases.rows(20, 5)
    for point in path_of(ArraySource(X, np.zeros((20, 1))), Squared(), kernel):
        np.testing.assert_allclose(point.predict(ArraySource(X, np.zeros((20, 1)))), 0, atol=0.1)


def test_kernels_with_a_path_are_those_of_a_dot_product_alone():
    for name in KERNELS:
        kernel = KERNELS.resolve(name)
        assert has_path(kernel) == (name in ("linear", "polynomial")) == isinstance(kernel, DotKernel)
    assert not has_path(Sum(Linear(), RBF()))
