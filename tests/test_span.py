"""Fits in the span of the samples: the theorem, the rotation back and forth, and models of all features at the end."""

import numpy as np
import pytest
from scipy import sparse

from spkm import SPKMClassifier, SPKMRegressor
from spkm.core.model import Term, View
from spkm.core.problem import Problem
from spkm.core.span import inward, outward
from spkm.kernels import RBF, Laplacian, Linear, Matern, RationalQuadratic
from spkm.losses import Log, Squared
from spkm.penalties import Evidence, RKHSNorm, SquaredL2
from spkm.sources import ArraySource, Scaling, Span, SpanSource

N, D, R = 12, 30, 4
KERNELS = [RBF(0.02), Matern(1.5, gamma=0.02), RationalQuadratic(2.0, gamma=0.02)]


def wide(n=24, d=150, seed=0):
    """Return two clouds in many columns, one entry far away, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d)) + 0.8 * y[:, None] * (np.arange(d) < 10)
    X[0, 0] = 60.0  # which the scaling clips
    return X, y


def table(m=1, dtype=np.float64, seed=0):
    """Return few samples of many features as a source, with a scaling that clips."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)).astype(dtype)
    X[0, :3] = 9.0
    Y = np.where(rng.random((N, m)) < 0.5, -1.0, 1.0)
    scaling = Scaling(X.mean(axis=0).astype(float), X.std(axis=0).astype(float), clip=np.full(D, 1.5))
    return ArraySource(X, Y, rng.uniform(1, 2, N), scaling)


def problem(kernel, m=1, linear=True, **settings):
    terms = [Term(R, (View(kernel, None, "scale"),))]
    if linear:
        penalty = [] if "evidence" in settings else [SquaredL2(0.1)]
        terms.append(Term(m, (View(Linear(gamma=1.0), None, "fixed", penalty, "linear part"),), is_linear_part=True))
    if "evidence" not in settings:
        settings |= {"loss": Log(), "weight_penalties": [RKHSNorm(0.1), SquaredL2(0.03)], "metric_prior": 0.2}
    return Problem(tuple(terms), **settings)


def random_theta(model, seed=1):
    rng = np.random.default_rng(seed)
    theta, params = model.zeros()
    theta[...] = rng.standard_normal(len(theta))
    if model.terms[-1].is_linear_part:
        params.weights[R:] = np.eye(model.n_outputs)
    return theta


def test_coordinates_keep_all_distances():
    X = np.random.default_rng(0).standard_normal((8, 50)) + 100.0
    X[5] = X[2]
    X[7] = 0.5 * (X[0] + X[1])
    span, A = Span.of(X)
    assert A.shape[1] == len(span.axes) <= 7  # the last axis of a centred table would hold rounding alone
    size = np.abs(X - X.mean(axis=0)).max()
    np.testing.assert_allclose(span.axes @ span.axes.T, np.eye(len(span.axes)), atol=1e-12)
    np.testing.assert_allclose(span.points(A), X, atol=1e-12 * 100)
    V, rests = span.coordinates(X)
    np.testing.assert_allclose(V, A, atol=1e-11 * size)
    assert np.abs(rests).max() <= 1e-11 * size


@pytest.mark.parametrize("n", [1, 3])
def test_equal_samples_have_a_span(n):
    span, A = Span.of(np.ones((n, 4)))
    assert A.shape == (n, 1) and np.all(A == 0)
    np.testing.assert_array_equal(span.points(A), np.ones((n, 4)))


@pytest.mark.parametrize("seed", range(5))
def test_the_rest_of_a_vector_only_costs(seed):
    """The theorem: same scores, ridge and RKHS norm no larger, so the objective does not rise."""
    source = table()
    inside = SpanSource.of(source)
    what = problem(RBF(0.02))
    whole, small = what.objective(source), what.objective(inside)
    theta = random_theta(whole.model, seed)
    params = whole.model.unpack(theta)
    assert np.abs(inside.span.coordinates(params.basis[0])[1]).max() > 0.1
    found = inward(inside.span, whole.model, theta)
    np.testing.assert_allclose(small.totals(found), whole.totals(theta), rtol=1e-10)

    def penalties(objective, at):
        model, weights = objective.model, objective.model.unpack(at).weights[:R]
        return float(np.sum(weights * (model.gram(at)[0][0] @ weights))), float(np.sum(weights**2))

    for before, after in zip(penalties(whole, theta), penalties(small, found), strict=True):
        assert after < before
    assert small.value(found) < whole.value(theta)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_shrink_with_the_rest(kernel):
    source = table()
    Z = source.dense()
    span, A = Span.of(Z)
    U = np.random.default_rng(1).standard_normal((R, D))
    assert np.all(kernel(Z, U) < kernel(A, span.coordinates(U)[0]))


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_model_of_all_features_is_the_same_function(kernel, m):
    source = table(m)
    inside = SpanSource.of(source)
    what = problem(kernel, m)
    small, whole = what.objective(inside), what.objective(source)
    theta = random_theta(small.model)
    there = outward(inside.span, small.model, theta)
    scores = [
        objective.model.predict(objective.source.load((0, N)), at) for objective, at in ((small, theta), (whole, there))
    ]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(inward(inside.span, whole.model, there), theta, rtol=1e-9, atol=1e-9)
    (value, gradient), (value_there, gradient_there) = small.value_and_gradient(theta), whole.value_and_gradient(there)
    assert value_there == pytest.approx(value, rel=1e-10)
    parts, parts_there = small.model.unpack(gradient), whole.model.unpack(gradient_there)
    np.testing.assert_allclose(parts_there.basis[0] @ inside.span.axes.T, parts.basis[0], atol=1e-10)
    np.testing.assert_allclose(parts_there.log_metric[0], parts.log_metric[0], atol=1e-10)
    # No gradient leaves the span: a descent that begins there stays there.
    rest = parts_there.basis[0] - parts.basis[0] @ inside.span.axes
    assert np.abs(rest).max() <= 1e-10


@pytest.mark.parametrize("linear", [True, False])
def test_the_evidence_is_the_same(linear):
    source = table()
    inside = SpanSource.of(source)
    settings = {"evidence": Evidence(noise=0.3, linear_variance=0.05), "loss": Squared()}
    what = problem(RBF(0.02), linear=linear, **settings)
    small, whole = what.objective(inside), what.objective(source)
    theta = random_theta(small.model)
    there = outward(inside.span, small.model, theta)
    value, value_there = (o.value(o.start(at)) for o, at in ((small, theta), (whole, there)))
    assert value_there == pytest.approx(value, rel=1e-8)
    completed, completed_there = (o.complete(o.start(at)) for o, at in ((small, theta), (whole, there)))
    np.testing.assert_allclose(outward(inside.span, small.model, completed), completed_there, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("estimator", [SPKMClassifier(4), SPKMRegressor(4), SPKMClassifier(4, kernel="matern")])
@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_a_fit_is_an_ordinary_model(estimator, kind):
    X, y = wide()
    X = sparse.csr_array(np.where(np.abs(X) < 1, 0, X)) if kind == "csr" else X.astype(kind)
    model = estimator.set_params(random_state=0).fit(X, y).model_
    assert model.recipe == "span"
    assert estimator.score(X, y) > 0.8
    Z = model.scaled(X)
    Z = (Z.toarray() if kind == "csr" else Z).astype(np.float64)
    scores = model.intercept + sum(t.views[0].kernel(Z, t.views[0].basis) @ t.weights for t in model.terms)
    np.testing.assert_allclose(model.scores(X), scores, rtol=1e-3, atol=1e-3 if kind == "float32" else 1e-9)
    dense = X.toarray() if kind == "csr" else X
    U, slack = model.basis_vectors[model.vector_rows], 1e-6 * np.ptp(dense, axis=0)
    assert np.all((dense.min(axis=0) - slack <= U) & (dense.max(axis=0) + slack >= U))
    free = estimator.set_params(basis_bounds=None).fit(X, y).model_
    span, _ = Span.of(Z)
    basis = free.terms[0].views[0].basis
    assert np.abs(span.coordinates(basis)[1]).max() <= (1e-4 if kind == "float32" else 1e-9) * np.abs(basis).max()
    estimator.set_params(basis_bounds="data")


def test_three_classes_and_weights():
    X, _ = wide(30)
    y = np.array(list("abc"))[np.arange(30) % 3]
    X[:, :8] += 2.0 * (y == "a")[:, None]
    clf = SPKMClassifier(random_state=0).fit(X, y, sample_weight=np.where(y == "a", 2.0, 1.0))
    assert clf.model_.recipe == "span"
    again = SPKMClassifier(random_state=0).fit(np.vstack([X, X[y == "a"]]), np.append(y, y[y == "a"]))
    np.testing.assert_allclose(again.decision_function(X), clf.decision_function(X), rtol=1e-6, atol=1e-6)


def test_basis_vectors_can_be_samples():
    X, y = wide()
    clf = SPKMClassifier(4, basis="samples", random_state=0).fit(X, y)
    assert clf.model_.recipe == "span, on samples"
    rows = clf.model_.vector_rows
    np.testing.assert_array_equal(clf.model_.basis_vectors[rows], X[clf.nearest_samples_])
    basis = clf.model_.terms[0].views[0].basis
    np.testing.assert_allclose(basis, clf.model_.scaled(X[clf.nearest_samples_]), atol=1e-12)


@pytest.mark.parametrize("estimator", [SPKMClassifier(3), SPKMRegressor(3)])
def test_a_warm_start_goes_on(estimator):
    X, y = wide()
    estimator.set_params(warm_start=True, random_state=0).fit(X, y)
    before, scores, strength = estimator.objective_, estimator.model_.scores(X), estimator.model_.strength
    estimator.fit(X, y)
    assert estimator.model_.recipe == "span" and estimator.model_.strength == strength
    assert estimator.objective_ <= before * (1 + 1e-3) + 1e-3
    assert np.abs(estimator.model_.scores(X) - scores).max() < 0.2 * np.ptp(scores)
    more, labels = wide(160, seed=3)
    assert estimator.fit(more, labels).model_.recipe == "span"  # more samples than features
    assert np.all(np.isfinite(estimator.model_.scores(more)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_keeps_bandwidths_of_each_feature():
    X, y = wide(60)
    clf = SPKMClassifier(3, random_state=0, learn_bandwidth="columns", max_iter=5, warm_start=True).fit(X, y)
    assert clf.set_params(learn_bandwidth="auto").fit(X[:24], y[:24]).model_.recipe == "folds"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "span"),
        ({"learn_bandwidth": True}, "span"),
        ({"learn_bandwidth": False}, "folds"),
        ({"learn_bandwidth": "columns"}, "folds"),
        ({"kernel": Laplacian()}, "folds"),
        ({"kernel": "linear"}, "fixed"),
        ({"start": "rows"}, "span"),
        ({"start": wide()[0][:4]}, "folds"),
        ({"basis_penalty": "l2"}, "fixed"),
        ({"weight_penalty": "rkhs"}, "fixed"),
        ({"linear_part": False}, "span"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_span_is_for_one_isotropic_kernel_with_one_bandwidth(settings, expected):
    X, y = wide()
    clf = SPKMClassifier(4, random_state=0, max_iter=5).set_params(**settings).fit(X, y)
    assert clf.model_.recipe == expected


def test_classes_need_four_times_as_many_features_as_samples():
    X, y = wide(24, 96)
    assert SPKMClassifier(4, random_state=0).fit(X, y).model_.recipe == "folds"
    assert SPKMRegressor(4, random_state=0).fit(X, y).model_.recipe == "span"


def test_a_formula_of_ones_own_is_not_taken_for_isotropic():
    class Own(RBF):
        def vjp(self, *args, **kwargs):
            return super().vjp(*args, **kwargs)

    assert RBF().isotropic and not Own().isotropic and not Laplacian().isotropic


def test_deviations_are_those_of_the_model_of_all_features():
    X, y = wide()
    reg = SPKMRegressor(4, random_state=0).fit(X, y.astype(float))
    _, deviation = reg.predict(X, return_std=True)
    far = reg.predict(X + 50.0, return_std=True)[1]
    assert np.all(deviation > 0) and np.all(far >= deviation.min())
