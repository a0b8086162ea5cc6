"""Strict selection in the estimators: what is not selected has no influence at all, and what is reported is true."""

import logging
import pickle
import re
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMRegressor
from spkm.estimators import _search_setup
from spkm.kernels import KERNELS, RBF, Polynomial, Rescaled, Sum
from spkm.losses import LOSSES, Log, Poisson, Squared
from spkm.objective import Objective
from spkm.penalties import Evidence, GroupL2, RKHSNorm, SquaredL2
from spkm.selection import _initial_supports, _search
from spkm.solvers import LBFGS
from spkm.sources import _array as array_module
from spkm.sources import _rows as rows_module
from tests.interrupting import interrupt_at
from tests.quick_search import quick_search
from tests.small_data import assert_same_fit, read_only, scaled, scores

pytestmark = [
    pytest.mark.usefixtures("hasty"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),  # few iterations on purpose
    pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning"),
]

D = 5
STRICT = {"selection": "strict", "n_basis": 2, "max_features": 3, "max_iter": 4, "n_jobs": 1, "random_state": 0}
LINE = {**STRICT, "kernel": "linear", "n_basis": 1}
STORAGE = {"dense": np.asarray, "csr": sparse.csr_array, "float32": lambda X: X.astype(np.float32)}


def rows(n=50, d=D, seed=0):
    """Return rows of which some entries are zero; the targets below depend on columns 1 and 4."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.5, 2, d) + 1.0
    X[rng.random((n, d)) < 0.2] = 0.0
    return read_only(X)[0]


def real_target(X):
    return X[:, 1] + 0.6 * X[:, 4] + 0.1 * np.cos(50 * X[:, 0])


def labels(X):
    return (real_target(X) > np.median(real_target(X))).astype(int)


def whole(X):
    """Return counts, which a Tanimoto kernel wants."""
    return np.round(np.abs(2 * X))


@cache
def fitted(estimator, kernel, storage="dense"):
    """Return a strict model and its rows."""
    X = whole(rows()) if kernel == "tanimoto" else rows()
    X, y = STORAGE[storage](X), (labels if estimator is SPKMClassifier else real_target)(rows())
    with quick_search(hasty=True):
        return estimator(**{**STRICT, "kernel": kernel}).fit(X, y), X


def outputs(model, X):
    """Return all that a model says of some rows."""
    if isinstance(model, SPKMRegressor):
        return [model.predict(X)]
    found = [model.decision_function(X), model.predict(X)]
    return [*found, model.predict_proba(X)] if hasattr(model, "predict_proba") else found


def spoiled(X, selected, value):
    """Return rows with other entries in all columns but the selected ones."""
    dense = X.toarray() if sparse.issparse(X) else np.array(X)
    outside = np.setdiff1d(np.arange(dense.shape[1]), selected)
    dense[:, outside] = value * np.random.default_rng(0).standard_normal((len(dense), len(outside)))
    return type(X)(dense) if sparse.issparse(X) else dense


def assert_only_selected_columns_matter(model, X):
    selected = model.selected_features_
    assert 0 < len(selected) < X.shape[1]
    for value in (0.0, 1.0, 1e30):
        other = spoiled(X, selected, value)
        for before, after in zip(outputs(model, X), outputs(model, other), strict=True):
            np.testing.assert_array_equal(after, before)
    small = model.restricted()
    assert small.n_features_in_ == len(selected)
    for before, after in zip(outputs(model, X), outputs(small, X[:, selected]), strict=True):
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_the_layout_of_memory_changes_nothing(estimator, kernel):
    model, X = fitted(estimator, kernel)
    small, part = model.restricted(), X[:, model.selected_features_]
    for layout in (np.ascontiguousarray, np.asfortranarray):
        for expected, whole_rows, few in zip(
            outputs(model, X), outputs(model, layout(X)), outputs(small, layout(part)), strict=True
        ):
            np.testing.assert_array_equal(whole_rows, expected)
            np.testing.assert_array_equal(few, expected)


# Exactness.


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_other_columns_change_nothing_in_a_classifier(kernel, storage):
    assert_only_selected_columns_matter(*fitted(SPKMClassifier, kernel, storage))


def test_columns_that_are_not_read_may_break_the_rules_of_the_kernel():
    model, X = fitted(SPKMClassifier, "tanimoto")
    other = spoiled(X, model.selected_features_, 1.0)
    assert other.min() < 0
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))
    with pytest.raises(ValueError, match="needs non-negative columns"):
        model.predict(-X)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_other_columns_change_nothing_in_a_regressor(kernel):
    assert_only_selected_columns_matter(*fitted(SPKMRegressor, kernel, "csr" if kernel == "rbf" else "dense"))


@pytest.mark.parametrize(
    "settings",
    [
        {"scale": False},
        {"scale": "common"},
        {"learn_bandwidth": "columns"},
        {"learn_bandwidth": False, "fit_intercept": False},
        {"kernel": Sum(RBF(), Polynomial(2))},
        {"kernel": RBF(0.3)},
        {"weight_penalty": "l1"},
        {"weight_penalty": None, "solver": "proximal"},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_other_columns_change_nothing_under_any_setting(settings):
    X = rows()
    assert_only_selected_columns_matter(SPKMClassifier(**{**STRICT, **settings}).fit(X, labels(X)), X)


@pytest.mark.parametrize("loss", sorted(name for name, loss in LOSSES.items() if loss.for_classes))
def test_every_loss_of_classes(loss):
    X = rows()
    model = SPKMClassifier(loss=loss, **LINE).fit(X, labels(X))
    assert_only_selected_columns_matter(model, X)
    assert model.score(X, labels(X)) > 0.6


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive", "quantile", "poisson", "cosine"])
def test_every_loss_of_real_targets(loss):
    X = rows()
    y = np.round(np.exp(real_target(X) / 2)) if loss == "poisson" else real_target(X)
    model = SPKMRegressor(loss=loss, **LINE).fit(X, y)
    assert_only_selected_columns_matter(model, X)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.5


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
def test_three_classes_and_two_outputs(kernel):
    X = rows()
    y = np.digitize(real_target(X), np.quantile(real_target(X), [0.33, 0.67]))
    model = SPKMClassifier(**{**STRICT, "kernel": kernel, "n_basis": 3}).fit(X, np.array(["a", "b", "c"])[y])
    assert model.predict_proba(X).shape == (50, 3)
    assert_only_selected_columns_matter(model, X)
    noise = np.random.default_rng(0).standard_normal(50)
    Y = np.column_stack([real_target(X), 100 * X[:, 4] + 30 * noise])
    model = SPKMRegressor(**{**STRICT, "kernel": kernel, "n_basis": 3}).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert_only_selected_columns_matter(model, X)


def test_two_outputs_without_noise(careful, monkeypatch):
    # More vectors than columns leave k(U, U) without full rank, and noise of nothing does not make up for it.
    for module in (_initial_supports, _search):
        monkeypatch.setattr(module, "FIRST_ITERATIONS", 100)
    X = rows()
    model = SPKMRegressor(**{**LINE, "n_basis": 2}).fit(X, X[:, [1, 4]])
    assert model.selected_features_.tolist() == [1, 4] and model.score(X, X[:, [1, 4]]) > 0.99


def test_the_right_columns_are_found(careful):
    X, new = rows(80), rows(200, seed=9)
    classifier = SPKMClassifier(**STRICT).fit(X, labels(X))
    assert set(classifier.selected_features_) >= {1, 4} and classifier.score(new, labels(new)) > 0.8
    regressor = SPKMRegressor(**STRICT).fit(X, real_target(X))
    assert set(regressor.selected_features_) >= {1, 4} and regressor.score(new, real_target(new)) > 0.8


def test_the_formula_holds_with_what_is_reported():
    model, X = fitted(SPKMClassifier, "rbf")
    s = model.selected_features_
    U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)
    by_hand = model.intercept_ + model.kernel_(scaled(X[:, s], X[:, s]), U) @ model.dual_coef_
    np.testing.assert_allclose(model.decision_function(X), by_hand, rtol=1e-9, atol=1e-9)
    model, X = fitted(SPKMRegressor, "matern")
    s = model.selected_features_
    U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)
    by_hand = model.intercept_ + model.kernel_(scaled(X[:, s], X[:, s]), U) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-6, atol=1e-6)


# What is reported.


@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_attributes_of_columns_agree(estimator, kernel):
    model, _ = fitted(estimator, kernel)
    s = model.selected_features_
    assert s.dtype.kind == "i" and np.all(np.diff(s) > 0) and 0 < len(s) <= 3
    inside = np.isin(np.arange(D), s)
    np.testing.assert_array_equal(model.get_support(), inside)
    np.testing.assert_array_equal(model.get_support(indices=True), s)
    assert model.basis_vectors_.shape[1] == len(model.relevances_) == len(model.feature_importances_) == D
    np.testing.assert_array_equal(np.isnan(model.basis_vectors_).all(axis=0), ~inside)
    np.testing.assert_array_equal(np.isnan(model.basis_vectors_).any(axis=0), ~inside)
    np.testing.assert_array_equal(model.relevances_ != 0, inside)
    np.testing.assert_array_equal(model.feature_importances_[~inside], 0)
    assert list(model.get_feature_names_out()) == [f"x{j}" for j in s]
    # What is handed out is a copy.
    model.get_support(indices=True)[:] = 0
    np.testing.assert_array_equal(model.selected_features_, s)


def test_relevances_are_those_of_the_kernel():
    for kernel in ("linear", "tanimoto"):  # nothing is learned of their metric
        model, _ = fitted(SPKMClassifier, kernel)
        np.testing.assert_array_equal(model.relevances_[model.selected_features_], 1)
    model, _ = fitted(SPKMClassifier, "rbf")  # one bandwidth
    assert len(set(model.relevances_[model.selected_features_])) == 1
    model, _ = fitted(SPKMRegressor, "matern")  # the evidence learns one for each column
    np.testing.assert_allclose(model.relevances_[model.selected_features_], model.kernel_.factor)
    X = rows()
    plain = SPKMClassifier(n_basis=2, max_iter=4, kernel="polynomial", random_state=0).fit(X, labels(X))
    np.testing.assert_array_equal(plain.relevances_, np.ones(D))
    single = fitted(SPKMClassifier, "rbf", "float32")[0]
    assert single.relevances_.dtype == single.basis_vectors_.dtype == np.float32


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf", "laplacian", "tanimoto"])
def test_importances_are_the_rise_of_the_loss_when_a_column_is_deleted(kernel):
    model, X = fitted(SPKMClassifier, kernel)
    Y = 2.0 * labels(rows())[:, None] - 1
    s = model.selected_features_

    def loss_of(kept):
        part, U = X[:, kept], model.basis_vectors_[:, kept]
        if kernel != "tanimoto":  # counts are taken as they are
            part, U = scaled(part, X[:, kept]), scaled(U, X[:, kept], clip=np.inf)
        F = model.kernel_(part, U) @ model.dual_coef_ + model.intercept_
        return Log().pointwise(Y, F[:, None]).mean()

    expected = np.zeros(D)
    if len(s) > 1:
        expected[s] = [loss_of(np.setdiff1d(s, [j])) - loss_of(s) for j in s]
        np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-6, atol=1e-9)
    assert model.feature_importances_.max() > 0


def test_importances_of_a_regressor_are_in_units_of_the_standardised_target():
    model, X = fitted(SPKMRegressor, "matern")
    y = real_target(X)
    s = model.selected_features_
    part = scaled(X[:, s], X[:, s])
    U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)

    def loss_of(mask):
        F = model.kernel_(part, U, mask) @ model.dual_coef_ + model.intercept_
        return Squared().pointwise(y / y.std(), F / y.std()).mean()

    expected = [loss_of(1.0 - np.eye(len(s))[i]) - loss_of(np.ones(len(s))) for i in range(len(s))]
    np.testing.assert_allclose(model.feature_importances_[s], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_frames(frame):
    X = rows()
    names = ["height", "width", "depth", "age", "size"]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = SPKMClassifier(**LINE).fit(table, labels(X))
    chosen = [names[j] for j in model.selected_features_]
    assert model.get_feature_names_out().tolist() == chosen
    assert model.get_feature_names_out(names).tolist() == chosen
    small = model.restricted()
    assert small.feature_names_in_.tolist() == small.get_feature_names_out().tolist() == chosen
    np.testing.assert_array_equal(small.predict_proba(table[chosen]), model.predict_proba(table))
    with pytest.raises(ValueError, match="feature names should match"):
        small.predict(table[[name for name in names if name not in chosen][: len(chosen)]])
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(names[:2])
    plain = SPKMClassifier(**LINE).fit(X, labels(X))
    np.testing.assert_array_equal(model.decision_function(table), plain.decision_function(X))
    assert plain.get_feature_names_out().tolist() == [f"x{j}" for j in plain.selected_features_]


@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
@pytest.mark.parametrize("kernel", ["matern", "linear"])
def test_a_restricted_model_is_a_model_of_its_own(estimator, kernel):
    model, X = fitted(estimator, kernel)
    before = pickle.dumps(model)
    small = model.restricted()
    s = model.selected_features_
    np.testing.assert_array_equal(small.basis_vectors_, model.basis_vectors_[:, s])
    np.testing.assert_array_equal(small.relevances_, model.relevances_[s])
    np.testing.assert_array_equal(small.feature_importances_, model.feature_importances_[s])
    np.testing.assert_array_equal(small.selected_features_, np.arange(len(s)))
    assert small.get_support().all() and len(small.get_feature_names_out()) == len(s)
    again = pickle.loads(pickle.dumps(small)).restricted()
    np.testing.assert_array_equal(scores(again, X[:, s]), scores(model, X))
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match=f"X has {D} features, but {estimator.__name__} is expecting {len(s)}"):
        small.predict(X)


@pytest.mark.parametrize("method", ["get_support", "get_feature_names_out", "restricted"])
def test_not_fitted(method):
    for estimator in (SPKMClassifier(), SPKMRegressor(selection="strict")):
        with pytest.raises(NotFittedError):
            getattr(estimator, method)()


@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
def test_pickles_and_clones(estimator):
    model, X = fitted(estimator, "rbf")
    other = pickle.loads(pickle.dumps(model))
    assert_same_fit(other, model, X)
    for name in ("selected_features_", "relevances_", "feature_importances_"):
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
    again = clone(model)
    assert not hasattr(again, "selected_features_")
    assert_same_fit(again.fit(X, labels(X) if estimator is SPKMClassifier else real_target(X)), model, X)
    assert len(pickle.dumps(model)) < 20_000  # the rows are not in it


def test_a_record_of_the_search(careful):
    X = rows()
    model = SPKMClassifier(**{**STRICT, "kernel": "polynomial"}).fit(X, labels(X))
    results = model.cv_results_
    assert {"kernel", "stage", "strength_factor", "mean_n_features", "n_basis", "mean_test_loss"} <= set(results)
    assert len({len(column) for column in results.values()}) == 1 < len(results["stage"])
    assert {"path", "elimination", "polish"} <= set(results["stage"])
    assert np.all(np.isfinite(results["mean_test_loss"]))


# Without strict selection.


def test_zeros_in_a_basis_do_not_take_columns_from_a_distance():
    X = rows(80)
    y = labels(X)
    settings = {"n_basis": 2, "max_iter": 100, "random_state": 0}
    rbf = SPKMClassifier(basis_penalty="l1", **settings).fit(X, y)
    np.testing.assert_array_equal(rbf.selected_features_, np.arange(D))
    assert rbf.get_support().all() and np.all(rbf.relevances_ > 0)
    assert not np.array_equal(scores(rbf, spoiled(X, np.arange(D - 1), 1.0)), scores(rbf, X))
    for kernel in ("linear", "polynomial"):
        dot = SPKMClassifier(kernel=kernel, basis_penalty=GroupL2(0.05), weight_penalty=SquaredL2(0.05), **settings)
        dot.fit(X, y)
        s = dot.selected_features_
        assert 0 < len(s) < D
        np.testing.assert_array_equal(dot.relevances_, np.isin(np.arange(D), s))
        np.testing.assert_array_equal(scores(dot, spoiled(X, s, 1e30)), scores(dot, X))
        np.testing.assert_allclose(scores(dot.restricted(), X[:, s]), scores(dot, X), rtol=1e-10, atol=1e-12)
        assert np.all(np.isfinite(dot.basis_vectors_))  # the model knows of all columns


def test_what_a_search_leaves_behind_goes_with_the_next_fit():
    X = rows()
    y = labels(X)
    model = SPKMClassifier(**LINE).fit(X, y)
    assert hasattr(model, "feature_importances_") and hasattr(model, "cv_results_")
    model.set_params(selection=None, max_features=None).fit(X, y)
    assert not np.isnan(model.basis_vectors_).any() and model.get_support().all()
    assert not hasattr(model, "feature_importances_") and not hasattr(model, "cv_results_")
    model = SPKMClassifier(**LINE).fit(X, y).set_params(n_basis="auto", max_basis=1, selection=None, max_features=None)
    assert not hasattr(model.fit(X, y), "feature_importances_") and hasattr(model, "cv_results_")


def prior_in_the_search(**settings):
    """Return the prior on relevances of the problem that a search fits."""
    X = rows()
    search = SPKMRegressor(**STRICT, **settings)._search(X, real_target(X), None, lambda text: False).search
    candidate = search.candidates[0]
    problem = candidate.build(search.folds[0].train, None, None)
    return problem.evidence.prior


def test_a_prior_that_is_given_is_that_of_the_search():
    assert prior_in_the_search() == _search_setup.SEARCH_PRIOR != Evidence().prior
    assert prior_in_the_search(weight_penalty=Evidence(prior=0.7)) == 0.7


# The number of vectors.


@pytest.mark.parametrize("most", [1, 3])
def test_a_number_of_vectors_found_by_held_out_rows(most):
    X = rows()
    classifier = SPKMClassifier(n_basis="auto", max_basis=most, max_iter=4, random_state=0).fit(X, labels(X))
    regressor = SPKMRegressor(n_basis="auto", max_basis=most, max_iter=4, random_state=0).fit(X, real_target(X))
    for model in (classifier, regressor):
        assert 1 <= len(model.basis_vectors_) == len(model.dual_coef_) <= most
        np.testing.assert_array_equal(model.selected_features_, np.arange(D))
        assert not np.isnan(model.basis_vectors_).any()
        assert "size" in model.cv_results_["stage"] and model.cv_results_["n_basis"].max() <= most
        assert not hasattr(model, "feature_importances_")


@pytest.mark.parametrize(("most", "tried"), [(1, [1]), (4, [1, 2, 3, 4]), (10, [1, 2, 3, 5, 8, 10])])
def test_the_largest_number_of_vectors_is_tried(monkeypatch, most, tried):
    monkeypatch.setattr(_search, "PATIENCE", 10)
    X = rows()
    model = SPKMClassifier(n_basis="auto", max_basis=most, max_iter=4, random_state=0).fit(X, labels(X))
    results = model.cv_results_
    assert results["n_basis"][results["stage"] == "size"].tolist() == tried


def test_as_many_vectors_as_the_data_want(careful):
    rng = np.random.default_rng(0)
    X = read_only(rng.uniform(-2, 2, (80, 1)))[0]
    y = np.sin(3 * X[:, 0]) + 0.05 * rng.standard_normal(80)
    wavy = SPKMRegressor(n_basis="auto", max_basis=8, max_iter=20, random_state=0).fit(X, y)
    line = SPKMRegressor(n_basis="auto", max_basis=8, kernel="linear", random_state=0).fit(X, X[:, 0])
    assert len(wavy.dual_coef_) >= 3 and len(line.dual_coef_) == 1
    assert wavy.score(X, y) > 0.8


def test_both_the_columns_and_the_number_of_vectors():
    X = rows()
    for kernel in ("rbf", "polynomial"):
        model = SPKMClassifier(**{**STRICT, "kernel": kernel, "n_basis": "auto"}, max_basis=2).fit(X, labels(X))
        assert len(model.dual_coef_) <= 2 and len(model.selected_features_) <= 3
        assert_only_selected_columns_matter(model, X)
    three = np.digitize(real_target(X), np.quantile(real_target(X), [0.33, 0.67]))
    model = SPKMClassifier(**{**LINE, "n_basis": "auto"}, max_basis=2).fit(X, three)
    assert len(model.dual_coef_) <= 2  # of three classes


# Groups and budget.


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_groups_of_columns_enter_and_leave_together(careful, kernel):
    X = rows()
    groups = ["a", "b", "a", "a", "b"]
    model = SPKMClassifier(**{**STRICT, "kernel": kernel, "max_features": 2}, feature_groups=groups)
    model.fit(X, labels(X))
    assert model.selected_features_.tolist() == [1, 4]
    model.set_params(max_features=None, feature_groups=np.array([0, 1, 0, 0, 0])).fit(X, labels(X))
    assert len(model.selected_features_) in (1, 4, 5)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_the_budget_is_hard(most):
    X = rows()
    model = SPKMClassifier(**{**LINE, "max_features": most}).fit(X, labels(X))
    assert 1 <= len(model.selected_features_) <= most


# Rows, weights, seeds, threads.


@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
@pytest.mark.parametrize("settings", [LINE, STRICT], ids=["linear", "default"])
def test_weights_are_repeats_and_the_order_of_rows_does_not_matter(estimator, settings):
    X = rows()
    y = labels(X) if estimator is SPKMClassifier else real_target(X)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, len(X))
    a = estimator(**settings).fit(X, y, sample_weight=weight)
    order = rng.permutation(weight.sum())
    b = estimator(**settings).fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    assert_same_fit(a, b, X)
    np.testing.assert_array_equal(a.feature_importances_, b.feature_importances_)


def test_weights_say_which_rows_count(careful):
    # In one half of the rows the target is column 0, in the other column 2.
    X = rows(80)
    y = np.where(np.arange(80) < 40, X[:, 0], X[:, 2])
    for first, column in ((1.0, 0), (1e-6, 2)):
        weight = np.where(np.arange(80) < 40, first, 1e-6 / first)
        model = SPKMRegressor(**{**LINE, "max_features": 1}).fit(X, y, sample_weight=weight)
        assert model.selected_features_.tolist() == [column]


@pytest.mark.parametrize("settings", [LINE, {**STRICT, "n_basis": "auto", "max_basis": 2}], ids=["linear", "auto"])
def test_same_seed_same_bits_on_any_number_of_threads(settings):
    X = rows()
    fits = [SPKMClassifier(**{**settings, "n_jobs": n}).fit(X, labels(X)) for n in (1, 3)]
    assert_same_fit(*fits, X)


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_every_kind_of_seed(kind):
    X = rows()
    a, b = (SPKMClassifier(**{**LINE, "random_state": kind(3)}).fit(X, labels(X)) for _ in range(2))
    assert_same_fit(a, b, X)


def test_global_randomness_and_arguments_are_left_alone():
    X, y = rows(), labels(rows())
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    model = SPKMClassifier(**{**LINE, "random_state": None}, feature_groups=[0, 1, 0, 2, 1])
    settings = model.get_params()
    model.fit(X, y, sample_weight=np.ones(50)).predict(X)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert model.get_params() == settings


def test_a_search_takes_some_of_many_rows_and_the_fit_all(monkeypatch):
    monkeypatch.setattr(_search_setup, "MOST_ROWS", 40)
    X = rows(150)
    y = labels(X)
    model = SPKMClassifier(**{**LINE, "weight_penalty": RKHSNorm(1e-3), "max_iter": 100}).fit(X, y)
    assert_only_selected_columns_matter(model, X)
    # The objective is that of all rows.
    F = model.decision_function(X)[:, None]
    s = model.selected_features_
    U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)
    norm = model.dual_coef_ @ model.kernel_(U, U) @ model.dual_coef_
    loss = Log().pointwise(2.0 * y[:, None] - 1, F).mean()
    assert model.objective_ == pytest.approx(loss + 0.5e-3 * norm, rel=1e-5)


@pytest.mark.parametrize("settings", [LINE, STRICT], ids=["linear", "rbf"])
def test_rows_that_are_too_many_to_copy(monkeypatch, settings):
    X = rows()
    copied = SPKMClassifier(**settings).fit(X, labels(X))
    monkeypatch.setattr(rows_module, "SMALL", 0)
    monkeypatch.setattr(array_module, "SMALL", 0)
    in_place = SPKMClassifier(**settings).fit(X, labels(X))
    np.testing.assert_array_equal(in_place.selected_features_, copied.selected_features_)
    np.testing.assert_allclose(scores(in_place, X), scores(copied, X), rtol=1e-5, atol=1e-5)


def test_the_strength_of_many_rows_is_that_of_all_rows(monkeypatch):
    # The automatic strength is a number over the rows; a search on some of them must not leave theirs behind.
    X = rows(150)
    y = labels(X)
    settings = {**LINE, "max_iter": 200, "kernel": "linear", "max_features": 1}
    strengths = []
    for most in (1000, 40):
        monkeypatch.setattr(_search_setup, "MOST_ROWS", most)
        model = SPKMClassifier(**settings).fit(X, y)
        s = model.selected_features_
        U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)
        norm = model.dual_coef_ @ model.kernel_(U, U) @ model.dual_coef_
        loss = Log().pointwise(2.0 * y[:, None] - 1, model.decision_function(X)[:, None]).mean()
        found = 2 * (model.objective_ - loss) / norm
        strengths.append(found * 150 / Log.rkhs_strength[0])
    # What is left is the factor that held-out rows chose, a power of ten.
    np.testing.assert_allclose(np.log10(strengths), np.round(np.log10(strengths)), atol=0.02)


# Errors.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"selection": "lenient"}, "selection must be one of None, 'strict'; got 'lenient'."),
        ({"selection": True}, "selection must be one of None, 'strict'; got True."),
        ({"max_features": 0, "selection": "strict"}, "max_features must be an integer of at least 1; got 0."),
        ({"max_features": 3}, "max_features needs selection='strict'; got selection=None."),
        ({"feature_groups": [0] * D}, "feature_groups needs selection='strict'; got selection=None."),
        ({"max_basis": 0}, "max_basis must be an integer of at least 1; got 0."),
        ({"n_basis": 4, "max_basis": 3}, "n_basis must not exceed max_basis=3; got 4."),
        ({"selection": "strict", "warm_start": True}, "selection='strict' cannot go on from the last fit."),
        (
            {"n_basis": "auto", "warm_start": True},
            "n_basis='auto' cannot go on from the last fit. Set warm_start=False.",
        ),
        (
            {"selection": "strict", "basis_penalty": "l1"},
            "selection='strict' has its own penalty on the features; got basis_penalty='l1'.",
        ),
        ({"selection": "strict", "start": "rows"}, "selection='strict' finds its own start; got start='rows'."),
        ({"n_basis": "auto", "start": np.zeros((2, D))}, "n_basis='auto' finds its own start; got start=array("),
        (
            {"selection": "strict", "feature_groups": [0, 1]},
            f"feature_groups must hold one label for each of the {D} columns; got shape (2,).",
        ),
        (
            {"selection": "strict", "feature_groups": [0, 0, 1, 1, 1], "max_features": 1},
            "max_features=1 is smaller than the smallest group of feature_groups, 2.",
        ),
        ({"n_basis": "all"}, "n_basis must be an integer of at least 1; got 'all'."),
    ],
)
@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
def test_settings_that_cannot_be(estimator, settings, message):
    X = rows()
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator(**settings).fit(X, labels(X))


def test_a_kernel_with_a_factor_for_every_column_cannot_lose_columns():
    X = rows()
    with pytest.raises(ValueError, match="kernel"):
        SPKMClassifier(**{**STRICT, "kernel": Rescaled(RBF(), np.ones(D))}).fit(X, labels(X))


@pytest.mark.parametrize(
    "settings",
    [{"solver": "lbgfs"}, {"solver": LBFGS(max_iter=0)}, {"weight_penalty": "l3"}, {"class_weight": {0: -1}}],
)
def test_what_cannot_be_is_told_before_the_search(monkeypatch, settings):
    X = rows()
    calls = interrupt_at(monkeypatch, Objective, "value_and_gradient", 1)
    with pytest.raises(ValueError, match=next(iter(settings))):
        SPKMClassifier(**LINE, **settings).fit(X, labels(X))
    assert not calls


@pytest.mark.parametrize("settings", [{"selection": "strict"}, {"n_basis": "auto"}], ids=str)
def test_a_constant_target_needs_no_search(settings):
    for X, y in ((rows()[:1], [1.0]), (np.ones((5, D)), np.ones(5)), (rows(), np.full(50, 7.0))):
        model = SPKMRegressor(**settings).fit(X, y)
        np.testing.assert_array_equal(model.predict(rows()), np.full(50, y[0]))
        assert len(model.selected_features_) == 0 and not model.dual_coef_.any()


def test_one_row_cannot_be_held_out():
    with pytest.raises(ValueError, match="A choice by held-out rows needs at least 2 different rows"):
        _search_setup.dealt_folds(np.ones((1, 1)), Squared(), np.random.default_rng(0))


def test_few_rows():
    X = rows()
    for n in (2, 3):
        model = SPKMRegressor(**LINE).fit(X[:n], real_target(X)[:n])
        assert np.all(np.isfinite(model.predict(X)))
    y = np.array([0, 1, 1, 0])
    for n in (2, 4):
        assert set(SPKMClassifier(**LINE).fit(X[:n], y[:n]).predict(X)) <= {0, 1}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_columns_that_say_nothing_and_columns_twice(careful, kernel):
    X = rows()
    settings = {**STRICT, "kernel": kernel}
    assert SPKMClassifier(**settings).fit(X[:, [1]], labels(X)).selected_features_.tolist() == [0]
    double = np.hstack([X[:, [1]], X[:, [1]]])
    assert len(SPKMRegressor(**settings).fit(double, X[:, 1]).selected_features_) == 1
    model = SPKMRegressor(**settings).fit(X, np.full(50, -3.5))
    np.testing.assert_allclose(model.predict(X), -3.5, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "matern"])
def test_a_constant_column_is_never_selected(careful, kernel):
    X = rows()
    constant = np.column_stack([np.ones(50), X[:, 1], np.zeros(50)])
    for model, y in ((SPKMClassifier, labels(X)), (SPKMRegressor, X[:, 1])):
        assert model(**{**STRICT, "kernel": kernel}).fit(constant, y).selected_features_.tolist() == [1]


def test_a_rare_class_may_be_missing_from_a_fold():
    X = rows()
    y = np.zeros(50, dtype=int)
    y[:25], y[0] = 1, 2
    model = SPKMClassifier(**LINE).fit(X, y)
    assert model.predict_proba(X).shape == (50, 3) and np.all(np.isfinite(model.predict_proba(X)))


# Interrupts, reports, company.


class Stopper:
    """A callback that asks to stop at a task of a given name."""

    def __init__(self, name):
        self.name = name
        self.names = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)
        return self.name in context.task_name

    def teardown(self, estimator, context):
        self.names.append("teardown")


def test_a_callback_sees_every_step_and_may_stop(careful):
    X = rows()
    recorder = Stopper("no such step")
    SPKMClassifier(**LINE).set_callbacks(recorder).fit(X, labels(X))
    for word in ("path", "elimination", "polish", "iteration"):
        assert any(word in name for name in recorder.names)
    assert recorder.names[-2:] == ["fit", "teardown"]
    for step in ("path", "elimination", "polish"):  # a search stops as soon as it has a choice to keep
        with pytest.warns(ConvergenceWarning, match="The search was interrupted; the best model so far is kept"):
            model = SPKMClassifier(**LINE).set_callbacks(Stopper(step)).fit(X, labels(X))
        assert_only_selected_columns_matter(model, X)
    with pytest.warns(ConvergenceWarning, match="was interrupted; the best model so far is kept"):
        model = SPKMClassifier(**LINE).set_callbacks(Stopper("iteration")).fit(X, labels(X))
    assert_only_selected_columns_matter(model, X)


def test_an_interrupt_ends_the_fit(monkeypatch):
    X = rows()
    calls = interrupt_at(monkeypatch, Objective, "value_and_gradient", 20)
    with pytest.raises(KeyboardInterrupt):
        SPKMClassifier(**LINE).fit(X, labels(X))
    assert len(calls) == 20


def test_an_interrupt_after_the_race_keeps_its_choice(careful, monkeypatch):
    X = rows()
    interrupt_at(monkeypatch, _search.Search, "_with_strength", 1)
    with pytest.warns(UserWarning, match="The search was interrupted; the best model so far is kept") as caught:
        model = SPKMClassifier(**LINE).fit(X, labels(X))
    assert caught[0].filename == __file__  # the user's own line
    assert_only_selected_columns_matter(model, X)


def test_verbose_tells_of_every_step(caplog):
    X = rows()
    caplog.set_level(logging.INFO, "spkm")
    SPKMClassifier(**LINE).fit(X, labels(X))
    assert caplog.messages == []
    model = SPKMClassifier(**LINE, verbose=1).fit(X, labels(X))
    lines = caplog.messages
    assert all(line.startswith("SPKMClassifier ") for line in lines)
    assert sum("iteration" in line for line in lines) == model.n_iter_
    assert sum("elimination with linear" in line for line in lines) == 2  # of two folds


def test_the_warning_of_an_edge_points_to_the_users_line():
    X = rows()
    with pytest.warns(UserWarning, match="The best number of basis vectors lies at the edge") as caught:
        SPKMClassifier(n_basis="auto", max_basis=1, weight_penalty="rkhs", max_iter=50, random_state=0).fit(
            X, labels(X)
        )
    assert caught[0].filename == __file__


def test_pipeline_and_grid_search():
    X = pd.DataFrame(rows(), columns=list("abcde"))
    y = labels(rows())
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), SPKMClassifier(**LINE)).fit(X, y)
    plain = SPKMClassifier(**LINE).fit(X, y)
    assert set(pipe[-1].get_feature_names_out()) & set(plain.get_feature_names_out())
    np.testing.assert_array_equal(
        pipe[-1].get_feature_names_out(), pipe[-1].feature_names_in_[pipe[-1].selected_features_]
    )
    search = GridSearchCV(SPKMClassifier(**LINE), {"max_features": [1, 3]}, cv=2).fit(X, y)
    assert search.best_estimator_.selected_features_.size <= search.best_params_["max_features"]
    assert_only_selected_columns_matter_of_frame(search.best_estimator_, X)


def assert_only_selected_columns_matter_of_frame(model, X):
    other = X.copy()
    for name in X.columns.difference(model.get_feature_names_out()):
        other[name] = 1e9
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))


def test_counts_with_a_log_link():
    X = rows()
    y = np.round(np.exp(real_target(X) / 2))
    model = SPKMRegressor(loss=Poisson(), **LINE).fit(X, y)
    assert np.all(model.predict(X) > 0)
    np.testing.assert_array_equal(model.restricted().predict(X[:, model.selected_features_]), model.predict(X))
