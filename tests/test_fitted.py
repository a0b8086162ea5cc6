"""The fitted model: three lines of public attributes are all of it, and nothing can change it."""

import math
import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor, Term, View
from tests import cases

# Identities hold of any model, so that few iterations do.
pytestmark = pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
QUICK = {"max_iter": 4, "n_jobs": 1, "random_state": 0}
STORAGE = {"dense": np.asarray, "csr": sparse.csr_array}
SHAPES = {
    "one view": {"n_basis": 4},
    "views": {"n_basis": 3, "views": {"first": [0, 2], "second": [1, 3]}},
    "product": {"terms": lambda kernel: [Term(3, (View(kernel, [0, 1]), View(kernel, [2, 3]))), Term(2, View("rbf"))]},
}


def by_public_attributes(model, X):
    """Return f(x) as the page about the idea shows it."""
    Z = model.scaled(X)
    products = [math.prod(view.kernel(Z[:, view.columns], view.basis) for view in t.views) for t in model.terms]
    return model.intercept + sum(K @ term.weights for K, term in zip(products, model.terms, strict=True))


def assert_same_scores(model, X, scores, size=1.0):
    """Compare scores with those of the public attributes: to 1e-12 of the sum of |c_r| times the largest k."""
    bound = 1e-12 * (np.abs(model.weights).sum() * size + np.abs(model.intercept).sum())
    found = by_public_attributes(model, X)
    np.testing.assert_allclose(np.reshape(scores, found.shape), found, rtol=0, atol=bound)


def nonnegative(kernel):
    """Return rows that the kernel can be used for."""
    X = cases.rows(40)
    return np.abs(X) if kernel.nonnegative else X


def settings_of(shape, kernel):
    found = dict(SHAPES[shape])
    return {"terms": found["terms"](kernel)} if "terms" in found else {**found, "kernel": kernel}


def fitted_with(kernel, loss, shape, X):
    """Return an estimator fitted to targets of the loss's kind."""
    signs = loss.target == "signs" and not loss.scale_free
    Y = cases.targets(loss, X.shape[0], 1)[:, 0]
    estimator = (SPKMClassifier if signs else SPKMRegressor)(loss=loss, **QUICK, **settings_of(shape, kernel))
    return estimator.fit(X, Y)


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", cases.KERNELS)
def test_three_lines_are_the_whole_model_of_every_kernel(kernel, shape, storage):
    kernel = cases.KERNELS[kernel]
    if hasattr(kernel, "factor") and np.ndim(kernel.factor) and shape != "one view":
        pytest.skip("its factors are those of all four columns")
    X = nonnegative(kernel)
    model = fitted_with(kernel, cases.LOSSES["squared"], shape, X)
    rows = STORAGE[storage](X)
    size = max(1.0, np.abs(model.model_.similarities(rows)).max())
    assert_same_scores(model.model_, rows, model.predict(rows), size)


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", cases.LOSSES)
def test_three_lines_are_the_whole_model_of_every_loss(loss, shape, storage):
    loss = cases.LOSSES[loss]
    if getattr(loss, "columns", None) == "labels":
        Y = (cases.targets(loss, 40, 3) > 0).astype(int)
        estimator = SPKMClassifier(**QUICK, **settings_of(shape, cases.KERNELS["rbf"])).fit(cases.rows(40), Y)
    else:
        estimator = fitted_with(cases.KERNELS["rbf"], loss, shape, cases.rows(40))
    rows, model = STORAGE[storage](cases.rows(40)), estimator.model_
    assert_same_scores(model, rows, model.scores(rows))
    f = by_public_attributes(model, rows)
    if hasattr(estimator, "decision_function"):
        assert_same_scores(model, rows, estimator.decision_function(rows))
        sure = np.abs(f) > 1e-9  # elsewhere rounding may decide
        if model.target.two_dimensional:
            np.testing.assert_array_equal(estimator.predict(rows)[sure], (f > 0)[sure])
        else:
            np.testing.assert_array_equal(estimator.predict(rows)[sure[:, 0]], model.target.decode(f[sure[:, 0]]))
    else:
        np.testing.assert_allclose(estimator.predict(rows), loss.predict(f)[:, 0], rtol=1e-10)


@pytest.mark.parametrize("storage", STORAGE)
def test_three_lines_are_the_whole_model_where_features_were_fitted_sparse(storage):
    X = np.array(cases.rows(40))
    X[:, 0] += 30.0  # a column with no zeros is centred, though the others are not
    model = SPKMRegressor(3, **QUICK).fit(sparse.csr_array(X), X[:, 1])
    rows = STORAGE[storage](X)
    assert_same_scores(model.model_, rows, model.predict(rows))


@pytest.mark.parametrize("multi_class", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize("storage", STORAGE)
def test_members_of_an_ensemble_are_models_by_themselves(multi_class, storage):
    X, y = cases.rows(60), np.arange(60) % 3
    clf = SPKMClassifier(3, multi_class=multi_class, **QUICK).fit(X, y)
    rows, model = STORAGE[storage](X), clf.model_
    scores = model.scores(rows)
    members = model.members
    for k, member in enumerate(members):
        own = scores if len(members) == 1 else scores[:, [k]]
        assert_same_scores(member, rows, own)
    if multi_class != "ovo":  # its decisions are votes
        np.testing.assert_array_equal(clf.decision_function(rows), scores)


@pytest.mark.parametrize("multi_class", ["joint", "ovr", "ovo"])
def test_contributions_add_up_to_the_scores_without_the_intercept(multi_class):
    X, y = cases.rows(60), np.arange(60) % 3
    model = SPKMClassifier(3, multi_class=multi_class, **QUICK).fit(X, y).model_
    parts, similar = model.contributions(X), model.similarities(X)
    assert similar.shape == (60, model.n_basis) and parts.shape == (60, model.n_basis, model.n_outputs)
    assert model.basis_vectors.shape == (model.n_basis, model.n_features)
    bound = 1e-12 * np.abs(model.weights).sum()
    np.testing.assert_allclose(parts.sum(axis=1), model.scores(X) - model.intercept, rtol=0, atol=bound)
    np.testing.assert_allclose(parts, similar[:, :, None] * model.weights, rtol=1e-14)


def test_pairs_have_the_methods_of_rows():
    left, right = cases.rows(12), cases.rows(9, seed=5)
    pairs = np.array([(i, j) for i in range(12) for j in range(9)])
    y = left[pairs[:, 0], 0] * right[pairs[:, 1], 1]
    estimator = PairwiseSPKMRegressor(4, **QUICK).fit(pairs, y, left=left, right=right)
    model = estimator.model_
    side_by_side = np.hstack([left[pairs[:, 0]], right[pairs[:, 1]]])
    assert_same_scores(model, side_by_side, estimator.predict(pairs))
    parts = model.contributions(side_by_side)
    bound = 1e-12 * np.abs(model.weights).sum()
    np.testing.assert_allclose(parts.sum(axis=1)[:, 0], estimator.predict(pairs) - model.intercept, rtol=0, atol=bound)


def arrays_of(model):
    """Return all arrays that the public attributes of a model lead to."""
    found = [model.features, model.weights, model.intercept, model.basis_vectors, model.theta]
    found += [model.scaling.center, model.scaling.scale, model.scaling.clip, model.scaling.middle]
    found += [model.target.constant, model.target.mean, model.target.scale]
    for term in model.terms:
        found += [term.weights, *(view.basis for view in term.views), *(view.columns for view in term.views)]
    return found


@pytest.mark.parametrize("copied", [lambda m: m, lambda m: pickle.loads(pickle.dumps(m)), deepcopy])
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_of_a_model_can_be_changed(shape, copied):
    X = cases.rows(40)
    estimator = SPKMClassifier(**QUICK, **settings_of(shape, cases.KERNELS["rbf"])).fit(X, X[:, 0] > 0)
    before = estimator.decision_function(X)
    model = copied(estimator.model_)
    for array in [*arrays_of(model), model.target.labels]:
        assert not array.flags.writeable
    for owner, name in (
        (model, "theta"),
        (model.terms[0], "weights"),
        (model.scaling, "center"),
        (model.target, "mean"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(owner, name, None)
    np.testing.assert_array_equal(model.scores(X)[:, 0], before)


def test_what_a_user_does_to_parts_and_arrays_after_a_fit_changes_no_prediction():
    X, columns = np.array(cases.rows(40)), np.array([0, 2])
    y = X[:, 0] + X[:, 2] ** 2
    kernel, loss = deepcopy(cases.KERNELS["rbf"]), deepcopy(cases.LOSSES["huber"])
    model = SPKMRegressor(3, kernel=kernel, loss=loss, views={"some": columns}, **QUICK).fit(X, y)
    rows = cases.rows(20, seed=7)
    before = model.predict(rows)
    kernel.gamma, loss.delta, columns[:] = 100.0, 1e-3, 3
    X[:], y[:] = 0.0, 0.0
    model.basis_vectors_[:], model.dual_coef_[:] = 0.0, 0.0
    np.testing.assert_array_equal(model.predict(rows), before)


@pytest.mark.parametrize("multi_class", ["joint", "ovo"])
def test_a_restricted_model_needs_the_features_it_reads_alone(multi_class):
    X, y = cases.rows(60, d=6), np.arange(60) % 3
    views = {"some": [1, 4]}
    model = SPKMClassifier(3, multi_class=multi_class, views=views, **QUICK).fit(X, y).model_
    np.testing.assert_array_equal(model.features_read(), [1, 4])
    for chosen in ([1, 4], [0, 1, 4]):
        small = model.restricted(np.array(chosen))
        assert small.n_features == len(chosen)
        bound = 1e-12 * np.abs(model.weights).sum()
        np.testing.assert_allclose(small.scores(X[:, chosen]), model.scores(X), rtol=0, atol=bound)
        np.testing.assert_allclose(small.basis_vectors[:, [-2, -1]], model.basis_vectors[:, [1, 4]], rtol=1e-14)
    with pytest.raises(ValueError, match=r"features must include all that the model reads; \[4\] are missing"):
        model.restricted(np.array([0, 1]))


def test_a_model_tells_how_many_columns_it_needs():
    X = cases.rows(40)
    model = SPKMRegressor(3, **QUICK).fit(X, X[:, 0]).model_
    with pytest.raises(ValueError, match="X must have the 4 features of the fit; got 3"):
        model.scores(X[:, :3])
