"""The model: packing, predictions against loops, and identities between terms, views and kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spkm import kernels
from spkm.core.columns import on_columns
from spkm.core.model import PreimageModel, Term, View
from spkm.kernels import RBF, Affine, Linear, Polynomial, Tanimoto
from spkm.sources import ArraySource
from tests import cases

N = 9
X = cases.rows(N)
LEFT, RIGHT = np.array([2, 0]), np.array([1, 3])
STRUCTURES = {
    "one view": [Term(3, (View(RBF(0.3)),))],
    "bandwidth": [Term(2, (View(Affine(RBF(0.3)), None, "scale"),))],
    "relevances": [Term(3, (View(Polynomial(2, 1.0, 0.4), RIGHT, "relevances"),))],
    "two terms": [Term(2, (View(RBF(0.3), LEFT, "scale"),)), Term(3, (View(Linear(0.5)),))],
    "product": [
        Term(3, (View(RBF(0.3), LEFT), View(Tanimoto(), RIGHT, "relevances"), View(Linear(0.5), LEFT, "scale")))
    ],
    "mixed": [
        Term(2, (View(RBF(0.3), RIGHT, "relevances"), View(Polynomial(2, 1.0, 0.4), LEFT))),
        Term(1, (View(RBF(0.1), None, "scale"),)),
    ],
}
each_structure = pytest.mark.parametrize("terms", STRUCTURES.values(), ids=STRUCTURES)


def block(storage=np.asarray):
    return ArraySource(storage(X)).load((0, N))


def slow_features(model, theta):
    """Return k(x, u) one number at a time, by the definition: a product over views, terms side by side."""
    params = model.unpack(theta)
    Phi = np.ones((N, model.n_basis))
    k = column = 0
    for term in model.terms:
        for view in term.views:
            rows = X if view.columns is None else X[:, view.columns]
            metric = (
                np.ones(rows.shape[1])
                if not view.learns_metric
                else np.exp(params.log_metric[k]) * np.ones(rows.shape[1])
            )
            for i in range(N):
                for r in range(term.n_basis):
                    Phi[i, column + r] *= view.kernel(rows[i : i + 1], params.basis[k][r : r + 1], metric).item()
            k += 1
        column += term.n_basis
    return Phi


@each_structure
@pytest.mark.parametrize("m", [1, 3])
def test_unpack_cuts_theta_into_its_parts(terms, m):
    model = PreimageModel(terms, cases.N_FEATURES, m)
    theta = cases.random_theta(model)
    params = model.unpack(theta)
    views = [part.ravel() for pair in zip(params.basis, params.log_metric, strict=True) for part in pair]
    np.testing.assert_array_equal(np.concatenate([*views, params.weights.ravel(), params.intercept]), theta)
    assert params.weights.shape == (model.n_basis, m)
    assert params.intercept.shape == (m,)
    assert sum(a.size for a in (*params.basis, *params.log_metric)) == model.basis_part.stop == model.weights_part.start
    assert model.weights_part.stop == model.n_params == theta.size
    changed, parts = model.zeros()
    parts.weights[...] = 1.0
    parts.basis[-1][...] = 2.0
    assert changed.sum() == model.n_basis * m + 2 * params.basis[-1].size, "parts are views on theta"


@each_structure
@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_predictions_equal_a_double_loop(terms, storage):
    model = PreimageModel(terms, cases.N_FEATURES, 2)
    theta = cases.random_theta(model)
    Phi = slow_features(model, theta)
    np.testing.assert_allclose(model.features(block(storage), theta)[0], Phi, rtol=1e-11, atol=1e-14)
    params = model.unpack(theta)
    expected = [
        [params.intercept[k] + sum(params.weights[r, k] * phi[r] for r in range(len(phi))) for k in range(2)]
        for phi in Phi
    ]
    np.testing.assert_allclose(model.predict(block(storage), theta), expected, rtol=1e-11, atol=1e-13)


@each_structure
@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_pullbacks_equal_differences(terms, storage):
    model = PreimageModel(terms, cases.N_FEATURES, 2)
    theta = cases.random_theta(model)
    rows = block(storage)
    rng = np.random.default_rng(0)
    S = rng.standard_normal((N, 2))
    gradient = model.vjp(rows, theta)[1](S.copy())
    assert cases.slope_error(lambda t: np.sum(S * model.predict(rows, t)), gradient, theta) < 1e-8
    for k, (K, pullback) in enumerate(model.gram(theta)):
        G = rng.standard_normal(K.shape)
        G = G + G.T
        inside = model.basis_part
        of_gram = pullback(G.copy())

        def function(phi, k=k, G=G, inside=inside):
            return np.sum(G * model.gram(np.concatenate([phi, theta[inside.stop :]]))[k][0])

        assert cases.slope_error(function, of_gram, theta[inside]) < 1e-7


@each_structure
def test_gram_is_the_kernel_matrix_of_the_rkhs(terms):
    model = PreimageModel(terms, cases.N_FEATURES, 1)
    theta = cases.random_theta(model)
    params = model.unpack(theta)
    k = 0
    for term, (K, _) in zip(terms, model.gram(theta), strict=True):
        expected = np.ones((term.n_basis, term.n_basis))
        for view in term.views:
            metric = 1.0 if not view.learns_metric else np.exp(params.log_metric[k])
            metric = metric if view.metric == "relevances" else np.max(metric)
            expected *= view.kernel.rkhs()(params.basis[k], params.basis[k], metric)
            k += 1
        np.testing.assert_allclose(K, expected, rtol=1e-12)


def test_without_an_intercept_its_gradient_is_zero():
    model = PreimageModel(STRUCTURES["one view"], cases.N_FEATURES, 2, fit_intercept=False)
    gradient = model.vjp(block(), cases.random_theta(model))[1](np.ones((N, 2)))
    np.testing.assert_array_equal(model.unpack(gradient).intercept, 0.0)
    assert np.all(model.unpack(gradient).weights != 0)


@pytest.mark.parametrize("kernel", [RBF(0.3), Affine(RBF(0.3)), Polynomial(3, 1.0, 0.4), Tanimoto()], ids=str)
def test_two_terms_of_one_view_equal_one_term_with_more_vectors(kernel):
    view = View(kernel)
    one = PreimageModel([Term(5, (view,))], cases.N_FEATURES, 2)
    two = PreimageModel([Term(2, (view,)), Term(3, (view,))], cases.N_FEATURES, 2)
    theta = cases.random_theta(one)
    S = np.random.default_rng(0).standard_normal((N, 2))
    for a, b in zip(one.vjp(block(), theta), two.vjp(block(), theta), strict=True):
        np.testing.assert_allclose(a(S.copy()) if callable(a) else a, b(S.copy()) if callable(b) else b, rtol=1e-12)


@pytest.mark.parametrize("metric", ["fixed", "relevances"])
def test_product_of_rbf_on_disjoint_columns_equals_one_rbf(metric):
    joint = PreimageModel([Term(3, (View(RBF(0.3), None, metric),))], cases.N_FEATURES, 1)
    split = PreimageModel([Term(3, (View(RBF(0.3), LEFT, metric), View(RBF(0.3), RIGHT, metric)))], cases.N_FEATURES, 1)
    theta = cases.random_theta(joint)
    params = joint.unpack(theta)
    other, parts = split.zeros()
    for k, columns in enumerate((LEFT, RIGHT)):
        parts.basis[k][...] = params.basis[0][:, columns]
        parts.log_metric[k][...] = params.log_metric[0][columns] if metric == "relevances" else 0.0
    parts.weights[...], parts.intercept[...] = params.weights, params.intercept
    rows = block()
    F, pull = joint.vjp(rows, theta)
    F_split, pull_split = split.vjp(rows, other)
    np.testing.assert_allclose(F_split, F, rtol=1e-12)
    S = np.random.default_rng(0).standard_normal(F.shape)
    gradient, gradient_split = joint.unpack(pull(S.copy())), split.unpack(pull_split(S.copy()))
    for k, columns in enumerate((LEFT, RIGHT)):
        np.testing.assert_allclose(gradient_split.basis[k], gradient.basis[0][:, columns], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(split.gram(other)[0][0], joint.gram(theta)[0][0], rtol=1e-12)


def test_models_of_different_columns_can_share_rows():
    rows = block()
    for columns in (LEFT, RIGHT, None):
        model = PreimageModel([Term(3, (View(RBF(0.3), columns),))], cases.N_FEATURES, 1)
        theta = cases.random_theta(model)
        np.testing.assert_allclose(model.features(rows, theta)[0], slow_features(model, theta), rtol=1e-11)


@given(order=st.permutations(range(N)))
@settings(max_examples=10)
def test_predictions_follow_the_order_of_rows(order):
    model = PreimageModel(STRUCTURES["mixed"], cases.N_FEATURES, 2)
    theta = cases.random_theta(model)
    shuffled = ArraySource(X[order]).load((0, N))
    np.testing.assert_allclose(model.predict(shuffled, theta), model.predict(block(), theta)[order], rtol=1e-12)


@each_structure
def test_single_precision_rows_give_single_precision(terms):
    model = PreimageModel(terms, cases.N_FEATURES, 2)
    theta = cases.random_theta(model)
    rows = ArraySource(X.astype(np.float32)).load((0, N))
    F, pullback = model.vjp(rows, theta)
    assert F.dtype == np.float32
    assert pullback(np.ones_like(F)).dtype == np.float32
    np.testing.assert_allclose(F, model.predict(block(), theta), rtol=1e-4, atol=1e-5)


def test_a_new_column_has_the_mean_relevance_of_the_old_ones():
    model = PreimageModel([Term(2, (View(kernels.RBF(1.0), None, "relevances"),))], 2, 1)
    theta, params = model.zeros()
    params.basis[0][...] = [[1.0, 2.0], [3.0, 4.0]]
    params.log_metric[0][...] = [0.4, 1.0]
    other, moved = on_columns(model, theta, np.array([1, -1, 0]))
    found = other.unpack(moved)
    np.testing.assert_allclose(found.log_metric[0], [1.0, 0.7, 0.4])
    np.testing.assert_array_equal(found.basis[0], [[2.0, 0.0, 1.0], [4.0, 0.0, 3.0]])
    same, kept = on_columns(model, theta, np.array([0, 1]))
    np.testing.assert_array_equal(kept, theta)
    assert same.n_features == 2


def test_new_columns_alone_have_a_relevance_of_one():
    model = PreimageModel([Term(1, (View(kernels.RBF(1.0), None, "relevances"),))], 2, 1)
    theta, params = model.zeros()
    params.log_metric[0][...] = [0.4, 1.0]
    other, moved = on_columns(model, theta, np.array([-1, -1]))
    np.testing.assert_array_equal(other.unpack(moved).log_metric[0], [0.0, 0.0])


def test_a_term_of_fewer_columns_keeps_its_views_of_all():
    whole, some = View(kernels.RBF(1.0), None), View(kernels.Linear(1.0), np.array([1, 3]))
    found = Term(2, (whole, some)).on(np.array([0, 1, 3])).views
    assert found[0].columns is None
    np.testing.assert_array_equal(found[1].columns, [1, 2])
