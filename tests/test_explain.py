"""Explanations: equal to enumeration over all subsets of features, and efficient at any size."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spkm.explain import (
    _explanation,
    _neighbours,
    _shapley,
    explain,
    familiarity,
    gradient,
    nearest,
    partial_dependence,
    sobol_indices,
)
from spkm.kernels import (
    RBF,
    Affine,
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
)
from tests.enumeration import enumerated_interactions, enumerated_shapley
from tests.made_models import make_model, make_rows

RELEVANCES = np.array([0.5, 2.0, 0.0, 1.0, 0.3])
ONE_VIEW = {
    "rbf": RBF(0.3),
    "laplacian": Laplacian(0.2),
    "matern 3/2": Matern(1.5, gamma=0.2),
    "matern 5/2": Matern(2.5, gamma=0.2),
    "rational quadratic": RationalQuadratic(alpha=2.0, gamma=0.3),
    "linear": Linear(0.5),
    "polynomial": Polynomial(degree=4, coef0=0.5, gamma=0.2),
    "relevances": Rescaled(Matern(2.5, gamma=0.3), RELEVANCES),
    "polynomial with relevances": Rescaled(Polynomial(degree=2, gamma=0.3), RELEVANCES),
    "bipolar": Affine(RBF(0.3)),
    "sum of two kinds": Sum(RBF(0.3), Polynomial(degree=2, gamma=0.3)),
    "product": Product(RBF(0.1), Laplacian(0.2)),
    "normalized polynomial": NormalizedPolynomial(gamma=0.3),
}
TERMS = {name: [(3, [(kernel, None)])] for name, kernel in ONE_VIEW.items()} | {
    "product of views": [(3, [(RBF(0.3), [0, 3]), (Polynomial(degree=2, gamma=0.3), [1, 2]), (Laplacian(0.2), [4])])],
    "two terms": [(2, [(Matern(2.5, gamma=0.3), [0, 1, 2])]), (3, [(Linear(0.3), [2, 3, 4])])],
    "views that share a feature": [(2, [(RBF(0.3), [0, 1, 2]), (Matern(2.5, gamma=0.2), [2, 3, 4])])],
    "other views that share a feature": [(2, [(RBF(0.3), [0, 1, 2]), (Linear(0.2), [2, 3, 4])])],
    "a view without forms": [(2, [(NormalizedPolynomial(gamma=0.3), [0, 1]), (RBF(0.2), [2, 3, 4])])],
}


def columns(d):
    return [[j] for j in range(d)]


@pytest.mark.parametrize("groups", [None, {"pair": [0, 2]}], ids=["features", "groups"])
@pytest.mark.parametrize("name", TERMS)
def test_values_equal_enumeration(name, groups):
    model = make_model(TERMS[name], 5, n_outputs=2)
    X, B = make_rows(model, 3), make_rows(model, 6, seed=2)
    explanation = explain(model, X, B, groups=groups)
    players = columns(5) if groups is None else [[0, 2], [1], [3], [4]]
    for i, x in enumerate(X):
        truth = enumerated_shapley(model.scores, x, B, players)
        np.testing.assert_allclose(explanation.values[i], truth, atol=1e-10)
    pairs = 2 * explanation.interactions()[0]
    truth = enumerated_interactions(model.scores, X[0], B, players)
    off = ~np.eye(len(players), dtype=bool)
    np.testing.assert_allclose(pairs[off], truth[off], atol=1e-10)
    np.testing.assert_allclose(explanation.interactions().sum(axis=2), explanation.values, atol=1e-12)


@settings(max_examples=25)
@given(
    d=st.integers(1, 7),
    n_basis=st.integers(1, 4),
    m=st.integers(1, 3),
    rows=st.integers(1, 8),
    which=st.sampled_from(
        ["rbf", "laplacian", "matern 5/2", "polynomial", "sum of two kinds", "normalized polynomial"]
    ),
    seed=st.integers(0, 99),
)
def test_values_equal_enumeration_at_any_shape(d, n_basis, m, rows, which, seed):
    model = make_model([(n_basis, [(ONE_VIEW[which], None)])], d, n_outputs=m, seed=seed)
    X, B = make_rows(model, 1, seed), make_rows(model, rows, seed + 1)
    truth = enumerated_shapley(model.scores, X[0], B, columns(d))
    np.testing.assert_allclose(explain(model, X, B).values[0], truth, atol=1e-10)


TEN_RELEVANCES = np.linspace(0.1, 2.0, 10)


@pytest.mark.parametrize(
    ("kernel", "error"),
    [
        (RBF(0.1), 1e-12),
        (Rescaled(Matern(2.5, gamma=0.1), TEN_RELEVANCES), 1e-10),
        (RationalQuadratic(1.5, gamma=0.2), 1e-10),
    ],
    ids=["rbf", "matern 5/2", "rational quadratic"],
)
def test_ten_features_equal_enumeration(kernel, error):
    model = make_model([(3, [(kernel, None)])], 10)
    X, B = make_rows(model, 1), make_rows(model, 3, seed=2)
    truth = enumerated_shapley(model.scores, X[0], B, columns(10))
    np.testing.assert_allclose(explain(model, X, B).values[0], truth, atol=error)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern 5/2", "polynomial", "linear"])
@pytest.mark.parametrize("d", [30, 200])
def test_values_and_contributions_add_up(kernel, d):
    gammas = {"rbf": RBF(1 / d), "laplacian": Laplacian(1 / d), "matern 5/2": Matern(2.5, gamma=1 / d)}
    dots = {"polynomial": Polynomial(degree=5, gamma=1 / d), "linear": Linear(1 / d)}
    model = make_model([(2, [((gammas | dots)[kernel], None)])], d, n_outputs=2)
    X, B = make_rows(model, 2), make_rows(model, 5, seed=2)
    explanation = explain(model, X, B)
    difference = model.scores(X) - model.scores(B).mean(axis=0)
    np.testing.assert_allclose(explanation.scores - explanation.base_values, difference, atol=1e-12)
    np.testing.assert_allclose(explanation.values.sum(axis=1), difference, atol=1e-10)
    np.testing.assert_allclose(explanation.contributions.sum(axis=1), difference, atol=1e-10)
    np.testing.assert_allclose(
        explanation.basis_values().sum(axis=2)[..., None] * model.weights, explanation.contributions, atol=1e-10
    )


@pytest.mark.parametrize("name", ["rbf", "matern 5/2", "polynomial", "product of views"])
def test_independent_features_equal_a_background_of_all_combinations(name):
    model = make_model(TERMS[name], 5)
    X, B = make_rows(model, 2), make_rows(model, 2, seed=2)
    every = np.stack(np.meshgrid(*B.T, indexing="ij"), axis=-1).reshape(-1, 5)
    together, apart = explain(model, X, every), explain(model, X, B, independent=True)
    np.testing.assert_allclose(apart.values, together.values, atol=1e-12)
    np.testing.assert_allclose(apart.base_values, together.base_values, atol=1e-10)
    np.testing.assert_allclose(apart.contributions, together.contributions, atol=1e-10)
    np.testing.assert_allclose(apart.interactions(), together.interactions(), atol=1e-12)
    own = explain(model, X, "independent")
    np.testing.assert_allclose(own.values, explain(model, X, X, independent=True).values, atol=1e-15)


def test_features_that_are_not_read_have_zero_and_equal_features_equal_values():
    model = make_model([(3, [(RBF(0.2), None)])], 8, features=[1, 4, 6])
    X, B = make_rows(model, 3), make_rows(model, 9, seed=2)
    values = explain(model, X, B).values
    unread = [0, 2, 3, 5, 7]
    assert (values[:, unread] == 0).all() and (values[:, [1, 4, 6]] != 0).all()
    equal = np.repeat(np.random.default_rng(0).normal(size=(2, 1)), 2, axis=1)
    twin = make_model([(2, [(Laplacian(0.2), None)])], 2, scaling=False, basis=equal)
    same = np.repeat(np.random.default_rng(0).normal(size=(6, 1)), 2, axis=1)
    found = explain(twin, same[:3], same).values
    np.testing.assert_allclose(found[:, 0], found[:, 1], atol=1e-15)


@pytest.mark.parametrize("name", ["rbf", "linear", "two terms"])
def test_csr_rows_are_explained_as_dense_ones(name):
    model = make_model(TERMS[name], 5)
    X, B = make_rows(model, 3), make_rows(model, 4, seed=2)
    X[np.abs(X) < 0.5] = 0.0
    dense, csr = explain(model, X, B), explain(model, sparse.csr_array(X), sparse.csr_array(B))
    np.testing.assert_allclose(csr.values, dense.values, atol=1e-14)
    np.testing.assert_allclose(csr.data, X)


def test_factors_that_vanish_do_no_harm():
    model = make_model([(3, [(RBF(400.0), None)])], 4, scaling=False)
    X, B = 3 * make_rows(model, 4), 3 * make_rows(model, 5, seed=2)
    X[0] = model.terms[0].views[0].basis[0]
    explanation = explain(model, X, B)
    for i in range(4):
        truth = enumerated_shapley(model.scores, X[i], B, columns(4))
        np.testing.assert_allclose(explanation.values[i], truth, atol=1e-12)
    truth = enumerated_interactions(model.scores, X[0], B, columns(4))
    np.testing.assert_allclose(2 * explanation.interactions()[0][np.triu_indices(4, 1)], truth[np.triu_indices(4, 1)])


def test_parts_add_up_to_the_logarithm_or_the_inner_product():
    for name in ("rbf", "laplacian", "matern 5/2", "relevances", "rational quadratic"):
        model = make_model(TERMS[name], 5)
        X = make_rows(model, 4)
        np.testing.assert_allclose(
            explain(model, X).parts().sum(axis=2), np.log(model.similarities(X)), rtol=1e-8, err_msg=name
        )
    bipolar = make_model(TERMS["bipolar"], 5)
    np.testing.assert_allclose(
        2 * np.exp(explain(bipolar, X).parts().sum(axis=2)) - 1, bipolar.similarities(X), rtol=1e-12, atol=1e-12
    )
    linear = make_model(TERMS["linear"], 5)
    np.testing.assert_allclose(explain(linear, X).parts().sum(axis=2), linear.similarities(X), rtol=1e-12)
    with pytest.raises(ValueError, match="NormalizedPolynomial has no parts"):
        explain(make_model(TERMS["normalized polynomial"], 5), X).parts()


@pytest.mark.parametrize("name", TERMS)
def test_gradient_equals_differences_and_is_zero_beyond_the_clip(name):
    model = make_model(TERMS[name], 5, n_outputs=2)
    X = make_rows(model, 6)
    found = gradient(model, X)
    scale = model.scaling.scale
    for j in range(5):
        step = np.zeros(5)
        step[j] = 1e-6 * scale[j]
        slope = (model.scores(X + step) - model.scores(X - step)) / (2 * step[j])
        np.testing.assert_allclose(found[:, j] * scale[j], slope * scale[j], atol=1e-7)
    outside = np.abs(model.scaling.forward_points(X) - model.scaling.middle) > model.scaling.clip
    assert outside.any() and (found[outside] == 0).all()


def test_nearest_samples_are_those_of_the_kernel_metric():
    model = make_model([(2, [(Rescaled(RBF(0.5), RELEVANCES), None)])], 5, scaling=False)
    X, reference = make_rows(model, 3), make_rows(model, 20, seed=2)
    found = nearest(model, X, reference, k=4)
    apart = ((X[:, None] - reference) ** 2) @ (0.5 * RELEVANCES)
    np.testing.assert_array_equal(found.index, np.argsort(apart, axis=1)[:, :4])
    np.testing.assert_allclose(found.similarity, np.exp(-np.sort(apart, axis=1)[:, :4]))
    linear = make_model([(2, [(Linear(1.0), None)])], 5, scaling=False)
    np.testing.assert_array_equal(
        nearest(linear, X, reference, k=1).index[:, 0], ((X[:, None] - reference) ** 2).sum(axis=2).argmin(axis=1)
    )
    far = nearest(model, X + 1e3, reference, k=20)
    assert (np.sort(far.index, axis=1) == np.arange(20)).all() and (far.similarity == 0).all()


def test_a_far_sample_is_unlike_anything_seen():
    model = make_model([(3, [(Affine(RBF(0.1)), None)])], 4, scaling=False)
    B = make_rows(model, 99)
    similarity, rank = familiarity(model, np.vstack([model.terms[0].views[0].basis[0], np.full(4, 50.0)]), B)
    np.testing.assert_allclose(similarity, [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(rank, [1.0, 0.01])


def test_a_kernel_without_forms_is_enumerated_or_refused():
    model = make_model([(2, [(Tanimoto(), None)])], 13, scaling=False)
    X = np.abs(make_rows(model, 2))
    with pytest.raises(ValueError, match=r"Tanimoto need all subsets of its features: at most 12.*reads 13"):
        explain(model, X)
    grouped = explain(model, X, groups={"rest": list(range(4, 13))})
    np.testing.assert_allclose(grouped.values.sum(axis=1), model.scores(X) - model.scores(X).mean(axis=0), atol=1e-12)
    with pytest.raises(ValueError, match="independent=True needs a kernel with closed forms; Tanimoto has none"):
        explain(model, X, independent=True)


def test_frames_carry_names():
    model = make_model(TERMS["rbf"], 5, n_outputs=2)
    X = make_rows(model, 3)
    explanation = explain(model, X, groups={"first two": [0, 1]})
    frame = explanation.frame(1)
    assert list(frame.columns) == ["first two", "x2", "x3", "x4"]
    np.testing.assert_array_equal(frame.to_numpy(), explanation.values[:, :, 1])
    assert np.isnan(explanation.data[:, 0]).all()
    assert explanation.contribution_frame("0").shape == (3, 3)
    with pytest.raises(ValueError, match="output must be one of 0, 1"):
        explanation.frame("2")


def test_shap_gets_its_own_object():
    shap = pytest.importorskip("shap")
    model = make_model(TERMS["rbf"], 5)
    X = make_rows(model, 3)
    explanation = explain(model, X).to_shap()
    assert isinstance(explanation, shap.Explanation) and explanation.values.shape == (3, 5)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), model.scores(X)[:, 0])
    several = explain(make_model(TERMS["rbf"], 5, n_outputs=3), X)
    assert several.to_shap().values.shape == (3, 5, 3) and several.to_shap(2).values.shape == (3, 5)


@pytest.mark.parametrize("name", ["matern 5/2", "polynomial", "product of views", "normalized polynomial"])
def test_small_blocks_change_nothing(name, monkeypatch):
    model = make_model(TERMS[name], 5, n_outputs=2)
    X, B = make_rows(model, 6), make_rows(model, 9, seed=2)
    whole = {
        flag: explain(model, X, B, independent=flag)
        for flag in (False, True)
        if name != "normalized polynomial" or not flag
    }
    near, pairs = nearest(model, X, B), whole[False].interactions()
    for module, names in ((_shapley, ("BLOCK", "STATES")), (_explanation, ("ROWS",)), (_neighbours, ("BLOCK",))):
        for constant in names:
            monkeypatch.setattr(module, constant, 20)
    for flag, explanation in whole.items():
        found = explain(model, X, B, independent=flag)
        np.testing.assert_allclose(found.values, explanation.values, atol=1e-13)
        np.testing.assert_allclose(found.basis_values(), explanation.basis_values(), atol=1e-13)
    np.testing.assert_allclose(
        found.interactions() if len(whole) == 1 else explain(model, X, B).interactions(), pairs, atol=1e-13
    )
    np.testing.assert_array_equal(nearest(model, X, B).index, near.index)


def test_a_model_that_reads_nothing_is_explained_by_nothing():
    model = make_model([(2, [(Matern(2.5, gamma=0.3), None)])], 3, features=[])
    X = np.random.default_rng(0).normal(size=(300, 3))
    explanation = explain(model, X)
    assert (explanation.values == 0).all() and explanation.contributions.shape == (300, 2, 1)
    assert partial_dependence(model, X) == [] and (sobol_indices(model, X).total == 0).all()
    assert repr(explanation) == "Explanation of 300 samples by 2 basis vectors and 3 features"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"X": np.ones((2, 4))}, "X must have 5 features; got shape"),
        ({"X": np.full((2, 5), np.nan)}, "X must hold finite numbers"),
        ({"background": np.ones((0, 5))}, "background must have at least one sample"),
        ({"background": "all"}, "background must be a table, None, 'independent' or 'normal'; got 'all'"),
        ({"groups": {"a": ["x9"]}}, "groups names a feature that X does not have: 'x9'"),
        ({"groups": {"a": [0, 1], "b": [1]}}, "groups must not overlap; column 1 is in 'a' and in 'b'"),
        ({"groups": {"a": [7]}}, "groups must hold names or indices from 0 to 4; got 7"),
        ({"groups": {"a": []}}, r"groups\['a'\] must list at least one column"),
    ],
)
def test_bad_arguments_are_named(change, message):
    model = make_model(TERMS["rbf"], 5)
    arguments = {"X": make_rows(model, 3), "background": None, "groups": None} | change
    with pytest.raises(ValueError, match=message):
        explain(model, arguments["X"], arguments["background"], groups=arguments["groups"])


def test_an_unfitted_estimator_is_told_to_be_fitted():
    from sklearn.exceptions import NotFittedError

    from spkm import SPKMClassifier

    with pytest.raises(NotFittedError, match="Call fit first"):
        explain(SPKMClassifier(), np.ones((2, 2)))


@pytest.mark.parametrize("which", ["all", "first"])
@pytest.mark.parametrize("name", TERMS)
def test_weights_of_zero_are_explained_as_well(name, which):
    model = make_model(TERMS[name], 5, n_outputs=2)
    theta = model.theta.copy()
    model.model.unpack(theta).weights[: None if which == "all" else 1] = 0.0
    model = replace(model, theta=theta)
    X, B = make_rows(model, 2), make_rows(model, 4, seed=2)
    explanation = explain(model, X, B)
    truth = enumerated_shapley(model.scores, X[0], B, columns(5))
    np.testing.assert_allclose(explanation.values[0], truth, atol=1e-10)
    interactions = explanation.interactions()
    np.testing.assert_allclose(interactions.sum(axis=2), explanation.values, atol=1e-10)
    assert which == "first" or (np.all(interactions == 0) and np.all(explanation.values == 0))
