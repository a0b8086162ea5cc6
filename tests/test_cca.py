"""Sparse kernel canonical correlations: gradients, known optima, planted features, bad input."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from spkm import SPKMCCA
from spkm.cca import Correlation, Side, Table, ascend, on_sphere
from spkm.kernels import RBF, Affine, Laplacian, Linear, Matern, NormalizedPolynomial, Polynomial
from spkm.sources import ArraySource

QUICK = {"n_starts": 2, "max_iter": 20}


QUICKER = {"n_starts": 1, "max_iter": 4, "radius": 1.5}


@parametrize_with_checks(
    [SPKMCCA(**QUICKER), SPKMCCA(2, kernel_x="linear", kernel_y="polynomial", scale=False, **QUICKER)]
)
@pytest.mark.filterwarnings("ignore:Only . of n_components=2 components exist:UserWarning")
@pytest.mark.filterwarnings("ignore:Component . has a correlation:UserWarning")  # the tables of the checks are noise
def test_scikit_learn(estimator, check):
    check(estimator)


def planted(n=300, d=12, seed=0):
    """Return two tables: Y[:, 3] holds a bump of X[:, 5] + X[:, 6], and Y[:, 7] is nearly X[:, 1]."""
    rng = np.random.default_rng(seed)
    X, Y = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, (n, d))
    Y[:, 3] = 2 * (X[:, 5] + X[:, 6]) ** 2 + 0.3 * Y[:, 3]
    Y[:, 7] = X[:, 1] + 0.1 * Y[:, 7]
    return X, Y


@pytest.mark.parametrize("seed", range(20))
def test_on_sphere_is_the_nearest_allowed_vector(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 8))
    p, radius = rng.standard_normal(d), float(rng.uniform(1, np.sqrt(d)))
    u = on_sphere(p, radius)
    assert np.linalg.norm(u) == pytest.approx(1, abs=1e-12)
    assert np.abs(u).sum() <= radius * (1 + 1e-12)
    others = np.vstack([u + 0.3 * rng.standard_normal((500, d)), rng.standard_normal((500, d)), np.eye(d), -np.eye(d)])
    others *= rng.random(others.shape) < 0.7
    others = others[np.linalg.norm(others, axis=1) > 0]
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    allowed = others[np.abs(others).sum(axis=1) <= radius]
    assert len(allowed) > 0
    assert np.max(allowed @ p) <= u @ p + 1e-12


def test_on_sphere_of_ties_and_zeros():
    for p in (np.ones(6), np.zeros(6)):
        u = on_sphere(p, 1.5)
        assert np.linalg.norm(u) == pytest.approx(1)
        assert np.abs(u).sum() <= 1.5 + 1e-12
    assert_array_equal(on_sphere(np.array([0.0, -3.0]), 1.0), [0.0, -1.0])


KERNELS = [
    RBF(0.3),
    Linear(1.0),
    Polynomial(3, 1.0, 0.5),
    Matern(2.5, 0.4),
    Laplacian(0.5),
    NormalizedPolynomial(2, 1.0, 1.0),
    Affine(RBF(0.7)),
]


@pytest.mark.parametrize("left", KERNELS, ids=repr)
@pytest.mark.parametrize("right", [RBF(0.5), Polynomial(2, 0.5, 1.0)], ids=repr)
def test_gradient_after_two_components(left, right):
    rng = np.random.default_rng(0)
    X, Y, known = rng.standard_normal((50, 4)), rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    sides = Side(left, 4, True), Side(right, 3, True)
    objective = Correlation(Table(sides[0], ArraySource(X), known), Table(sides[1], ArraySource(Y), known[:, :1]))
    theta = [np.abs(rng.standard_normal(side.size)) for side in sides]
    gradients = objective(*theta).gradients()
    for k in (0, 1):
        for i in range(len(theta[k])):
            step = [np.zeros_like(theta[0]), np.zeros_like(theta[1])]
            step[k][i] = 1e-6
            ends = [objective(theta[0] + s * step[0], theta[1] + s * step[1]).value for s in (1, -1)]
            assert gradients[k][i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


def test_linear_kernels_reach_the_canonical_correlation():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((200, 5)), rng.standard_normal((200, 4))
    Y[:, 0] += X[:, 0] - X[:, 1]
    whitened = [np.linalg.qr(table - table.mean(axis=0))[0] for table in (X, Y)]
    largest = np.linalg.svd(whitened[0].T @ whitened[1], compute_uv=False)[0]
    tables = [Table(Side(Linear(1.0), t.shape[1], False), ArraySource(t), np.zeros((200, 0))) for t in (X, Y)]
    start = np.append(np.ones(5), 0.0), np.append(np.ones(4), 0.0)
    found = ascend(Correlation(*tables), start, (np.inf, np.inf), 500, 1e-12)
    assert found.converged
    assert found.correlation == pytest.approx(largest, abs=1e-8)


@pytest.mark.parametrize(
    ("kernel", "x", "y"),
    [(Polynomial(2, 0.0), [5, 6], [3]), ("polynomial", [1], [7]), ("rbf", [1], [7]), ("linear", [1], [7])],
)
def test_finds_planted_features(kernel, x, y):
    X, Y = planted()
    model = SPKMCCA(kernel_x=kernel, kernel_y="linear", random_state=0).fit(X, Y)
    assert np.flatnonzero(model.x_support_[0]).tolist() == x
    assert np.flatnonzero(model.y_support_[0]).tolist() == y
    assert model.score(*planted(seed=1)) > 0.9


def test_later_components_have_other_relations():
    X, Y = planted()
    model = SPKMCCA(2, kernel_x="polynomial", kernel_y="linear", random_state=0).fit(X, Y)
    assert [np.flatnonzero(row).tolist() for row in model.x_support_] == [[1], [5, 6]]
    assert [np.flatnonzero(row).tolist() for row in model.y_support_] == [[7], [3]]


def test_scores_are_standardised_and_uncorrelated():
    X, Y = planted()
    model = SPKMCCA(3, random_state=0).fit(X, Y)
    for scores in (model.transform(X), model.transform_y(Y)):
        assert_allclose(scores.mean(axis=0), 0, atol=1e-9)
        assert_allclose(np.cov(scores.T, ddof=0), np.eye(3), atol=1e-9)
    assert_allclose(model.correlations(X, Y), model.correlations_, rtol=1e-6)
    assert np.all(model.correlations_ > 0)
    assert model.score(X, Y) == pytest.approx(model.correlations_.mean(), rel=1e-6)
    assert model.get_feature_names_out().tolist() == ["spkmcca0", "spkmcca1", "spkmcca2"]


def test_features_without_weight_have_no_influence():
    X, Y = planted()
    model = SPKMCCA(kernel_x="rbf", kernel_y="polynomial", random_state=0).fit(X, Y)
    others = X.copy()
    others[:, ~model.x_support_[0]] = 1e6
    assert_array_equal(model.transform(others), model.transform(X))
    others = Y.copy()
    others[:, ~model.y_support_[0]] = -1e6
    assert_array_equal(model.transform_y(others), model.transform_y(Y))
    assert_array_equal(np.isnan(model.x_vectors_), ~model.x_support_)


def test_weights_have_length_one_and_a_bounded_l1_norm():
    X, Y = planted()
    model = SPKMCCA(2, radius=(2.0, 1.2), random_state=0).fit(X, Y)
    assert_allclose(np.linalg.norm(model.x_weights_, axis=1), 1)
    assert_allclose(np.linalg.norm(model.y_weights_, axis=1), 1)
    assert_array_equal(model.radii_, [[2.0, 1.2]] * 2)


def test_units_do_not_matter():
    X, Y = planted()
    one = SPKMCCA(kernel_y="linear", random_state=0).fit(X, Y)
    other = SPKMCCA(kernel_y="linear", random_state=0).fit(1000 * X + 5, Y / 64)
    assert_allclose(other.transform(1000 * X + 5), one.transform(X), rtol=1e-5, atol=1e-6)
    assert_array_equal(other.x_support_, one.x_support_)


def test_threads_sparse_tables_and_precision_do_not_matter():
    X, Y = planted(200)
    X[X < 0] = 0.0
    settings = {"kernel_x": "polynomial", "kernel_y": "linear", "scale": False, "n_starts": 2, "random_state": 0}
    model = SPKMCCA(n_jobs=1, **settings).fit(X, Y)
    assert_array_equal(SPKMCCA(n_jobs=2, **settings).fit(X, Y).transform(X), model.transform(X))
    rows = sparse.csr_array(X)
    assert_allclose(SPKMCCA(**settings).fit(rows, sparse.csr_array(Y)).transform(rows), model.transform(X), rtol=1e-5)
    single = SPKMCCA(**settings).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert_array_equal(single.x_support_, model.x_support_)


def test_many_samples_are_chosen_on_some_and_fitted_on_all():
    X, Y = planted(20_100)  # radius and features are chosen on 20,000
    model = SPKMCCA(kernel_x="polynomial", kernel_y="linear", random_state=0).fit(X, Y)
    assert np.flatnonzero(model.x_support_[0]).tolist() in ([1], [5, 6])
    assert model.correlations(X, Y)[0] == pytest.approx(model.correlations_[0], rel=1e-6)
    assert model.correlations_[0] > 0.9


def test_independent_tables_are_told_apart():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((300, 5)), rng.standard_normal((300, 5))
    with pytest.warns(UserWarning, match="Component 1 has a correlation of .* no more than 200 samples of unrelated"):
        model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(X[:200], Y[:200])
    assert model.validation_correlations_[0] < 0.3
    p = model.permutation_test(X[200:], Y[200:], n_permutations=99, random_state=0)
    assert 0.01 <= p[0] <= 1
    X, Y = planted()
    model = SPKMCCA(random_state=0).fit(X, Y)
    assert model.permutation_test(*planted(seed=1), n_permutations=99, random_state=0)[0] == pytest.approx(0.01)


def test_few_samples_and_few_components():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 3)), rng.standard_normal(10)
    model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(X, y)
    assert np.isnan(model.validation_correlations_[0])
    with pytest.warns(UserWarning, match="Only 1 of n_components=2 components exist"):
        model = SPKMCCA(2, kernel_x="linear", kernel_y="linear", random_state=0).fit(X, y)
    assert model.transform(X).shape == (10, 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel_x", ["linear", "rbf"])
def test_what_rounding_leaves_is_no_component(dtype, kernel_x):
    # A column has one linear function. In single precision, what was left of it used to be a second component.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 1))
    X, Y = X.astype(dtype), (X + X**2 + 0.1 * rng.standard_normal((60, 1))).astype(dtype)
    for shift in (0.0, 100.0):
        model = SPKMCCA(2, kernel_x=kernel_x, kernel_y="linear", scale=False, random_state=0)
        with pytest.warns(UserWarning, match="Only 1 of n_components=2 components exist"):
            model.fit(X, Y + dtype(shift))
        assert model.transform(X).shape == (60, 1) and np.abs(model.y_side_.mixing).max() < 10


def test_company():
    X, Y = planted(120)
    model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0)
    again = pickle.loads(pickle.dumps(clone(model).fit(X, Y)))
    assert_array_equal(again.transform(X), model.fit(X, Y).transform(X))
    assert cross_val_score(SPKMCCA(random_state=0, **QUICK), X, Y, cv=2).min() > 0.8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1"),
        ({"radius": 0.5}, "radius must be a number of at least 1"),
        ({"radius": (1.0, 2.0, 3.0)}, "radius must be 'auto', a number or a pair"),
        ({"radius": "wide"}, "radius must be a number"),
        ({"kernel_x": "rbff"}, "Unknown kernel_x 'rbff'. Did you mean 'rbf'"),
        ({"kernel_y": "tanimoto"}, "kernel_y=Tanimoto.* needs non-negative features"),
        ({"scale": "yes"}, "scale must be one of"),
        ({"learn_bandwidth": 2}, "learn_bandwidth must be one of"),
        ({"n_starts": 0}, "n_starts must be an integer"),
        ({"max_iter": 0}, "max_iter must be an integer"),
        ({"tol": -1}, "tol must be a number"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_bad_settings(settings, message):
    X, Y = planted(30)
    with pytest.raises(ValueError, match=message):
        SPKMCCA(**settings).fit(X, Y)


def test_bad_tables():
    X, Y = planted(30)
    model = SPKMCCA(**QUICK)
    for second, message in [
        (Y[:29], "X and Y must have the same number of rows"),
        (None, "requires y to be passed"),
        (np.ones((30, 2)), "both tables need columns that vary"),
        (np.full((30, 2), np.nan), "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(X, second)
    with pytest.raises(ValueError, match="at least 4 samples"):
        model.fit(X[:3], Y[:3])
    model.fit(X, Y)
    with pytest.raises(ValueError, match="Y must have the 12 columns of the fit; got 3"):
        model.transform_y(Y[:, :3])
    with pytest.raises(ValueError, match="same number of rows; got 30 and 29"):
        model.correlations(X, Y[:29])


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    X, Y = planted(60)
    frame = pandas.DataFrame(Y, columns=[f"y{j}" for j in range(12)])
    model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(X, frame)
    assert model.y_feature_names_.tolist() == list(frame.columns)
    assert_array_equal(model.transform_y(frame), model.transform_y(Y))
    with pytest.raises(ValueError, match="The columns of Y must be named"):
        model.transform_y(frame[frame.columns[::-1]])


def test_display():
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pandas")
    from spkm.inspection import CanonicalDisplay

    X, Y = planted()
    model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(X, Y)
    new = planted(seed=1)
    display = CanonicalDisplay.from_estimator(model, *new, n_permutations=19)
    assert display.correlation == pytest.approx(model.score(*new))
    assert display.p_value == pytest.approx(0.05)
    assert display.frame()["feature"].tolist() == ["x1", "y7"]
    assert len(display.axes_[0].patches) == 1
    curves = CanonicalDisplay.from_estimator(model, *new, n_permutations=9, x_axis=np.arange(12.0))
    assert_array_equal(curves.axes_[0].lines[-1].get_ydata(), model.x_weights_[0])
    with pytest.raises(ValueError, match="component must be below the number of components, 1; got 1"):
        CanonicalDisplay.from_estimator(model, *new, component=1)
    with pytest.raises(ValueError, match="x_axis must hold a number for each of the 12 features"):
        CanonicalDisplay.from_estimator(model, *new, x_axis=[1.0])
    plt.close("all")
