"""What an estimator reports of a strict selection is true of its model."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ShuffleSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMRegressor
from spkm.fitting.recipes import search as search_module
from spkm.kernels import KERNELS
from spkm.losses import Log, Squared
from spkm.penalties import Evidence, GroupL2, SquaredL2
from tests.marks import QUICK_SEARCHES
from tests.small_data import assert_same_fit, scaled, scores
from tests.strict_selection import LINE, STRICT, D, fitted, labels, real_target, rows, spoiled

pytestmark = QUICK_SEARCHES


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
    assert {"elimination", "strength", "empty model"} == set(results["stage"])
    assert np.all(np.isfinite(results["mean_test_loss"]))


def test_frequencies_and_alternatives(careful):
    X = np.array(rows())
    X[:, 0] = X[:, 1] + 0.01 * np.random.default_rng(0).standard_normal(len(X))
    model = SPKMRegressor(**{**LINE, "max_features": 2}).fit(X, X[:, 1] + 0.6 * X[:, 4])
    shares = model.fold_frequency_
    assert shares.shape == (D,) and set(shares) <= {0.0, 0.5, 1.0}  # of two folds
    assert shares[model.selected_features_].min() > 0
    twin = {0: 1, 1: 0}[int(np.intersect1d(model.selected_features_, [0, 1])[0])]
    assert {j: others.tolist() for j, others in model.alternatives_.items()} == {1 - twin: [twin]}
    small = model.restricted()
    np.testing.assert_array_equal(small.fold_frequency_, shares[model.selected_features_])
    np.testing.assert_array_equal(small.half_frequency_, model.half_frequency_[model.selected_features_])
    with pytest.warns(FutureWarning, match="selection_frequency_ is now fold_frequency_"):
        np.testing.assert_array_equal(model.selection_frequency_, shares)
    assert small.alternatives_ == {}


def test_halves_choose_by_themselves(careful):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 6))
    X[:, 1] = X[:, 0] + 0.05 * rng.standard_normal(160)  # either would do
    y = X[:, 0] + X[:, 1] + 2 * X[:, 2] + 0.5 * rng.standard_normal(160)
    model = SPKMRegressor(**{**LINE, "max_features": 2}).fit(X, y)
    assert model.half_frequency_.shape == (6,) and set(model.half_frequency_) <= {0.0, 0.5, 1.0}  # of two halves
    assert model.half_frequency_[2] == 1 and model.half_frequency_.sum() <= len(model.selected_features_)
    order = rng.permutation(160)
    np.testing.assert_array_equal(clone(model).fit(X[order], y[order]).half_frequency_, model.half_frequency_)
    piped = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert hasattr(piped[-1], "half_frequency_")
    (folded,) = cross_validate(clone(model), X, y, cv=ShuffleSplit(1, random_state=0), return_estimator=True)[
        "estimator"
    ]
    assert not hasattr(folded, "half_frequency_") and hasattr(folded, "fold_frequency_")


def test_halves_are_not_drawn_where_they_take_long(careful):
    X = np.random.default_rng(0).standard_normal((60, 20_000))
    model = SPKMRegressor(**{**LINE, "max_features": 2}).fit(X, X[:, 1])
    assert not hasattr(model, "half_frequency_") and model.fold_frequency_[1] == 1


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
    problem = candidate.problem(search.folds[0].train)
    return problem.evidence.prior


def test_a_prior_that_is_given_is_that_of_the_search():
    assert prior_in_the_search() == search_module.SEARCH_PRIOR != Evidence().prior
    assert prior_in_the_search(weight_penalty=Evidence(prior=0.7)) == 0.7
