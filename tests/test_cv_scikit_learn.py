"""SPKMClassifierCV and SPKMRegressorCV: weights, the company of scikit-learn, warnings and errors."""

import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import (
    PredefinedSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressorCV
from spkm.kernels import RBF, Polynomial
from spkm.penalties import RKHSNorm
from tests.cross_validated import LINE, frame, labels, quick_case, real_target, rows
from tests.marks import QUICK_SEARCHES
from tests.small_data import assert_same_fit, scores

pytestmark = QUICK_SEARCHES


@pytest.fixture(params=["classifier", "regressor"])
def case(request):
    """Return a quick estimator of either kind with rows and targets."""
    return quick_case(request.param)


# Weights.


def test_weights_of_rows_are_used_in_fit_and_judgement(case):
    model, X, y = case
    weight = np.random.default_rng(0).integers(1, 4, 48)
    # Repeated rows in the same splits are the same weighted rows.
    fold = np.arange(48) % 2
    once = clone(model).set_params(cv=PredefinedSplit(fold)).fit(X, y, sample_weight=weight)
    repeated = np.repeat(np.arange(48), weight)
    again = clone(model).set_params(cv=PredefinedSplit(fold[repeated])).fit(X[repeated], y[repeated])
    assert_same_fit(once, again, X)
    for name in ("mean_test_loss", "error_test_loss"):  # a row twice is not two draws
        np.testing.assert_allclose(once.cv_results_[name], again.cv_results_[name], rtol=1e-6)
    assert not np.array_equal(scores(once, X), scores(model.fit(X, y), X))


def test_rows_of_weight_zero_are_not_there(case):
    model, X, y = case
    fold = np.arange(48) % 2
    weight = np.where(np.arange(48) % 5 == 0, 0.0, 1.0)
    kept = weight > 0
    a = clone(model).set_params(cv=PredefinedSplit(fold)).fit(X, y, sample_weight=weight)
    b = clone(model).set_params(cv=PredefinedSplit(fold[kept])).fit(X[kept], y[kept])
    assert_same_fit(a, b, X)


@pytest.mark.parametrize("part", ["test", "train"])
def test_a_split_without_weight_is_refused(case, part):
    model, X, y = case
    train, test = np.arange(24), np.arange(24, 48)
    weight = np.ones(48)
    weight[test if part == "test" else train] = 0.0
    with pytest.raises(ValueError, match=r"weight|split"):
        model.set_params(cv=[(train, test), (np.arange(0, 48, 2), np.arange(1, 48, 2))]).fit(X, y, sample_weight=weight)


def test_weights_of_classes():
    X = rows()
    y = labels(X)
    given = SPKMClassifierCV(**LINE, class_weight={0: 1, 1: 3}).fit(X, y)
    by_row = SPKMClassifierCV(**LINE).fit(X, y, sample_weight=np.array([1, 3])[y])
    assert_same_fit(given, by_row, X)


# Company.


def test_not_worse_than_logistic_regression_with_an_l1_penalty_on_a_wide_line(careful):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 60))
    y = (X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(100) > 0).astype(int)
    new = rng.standard_normal((400, 60))
    truth = (new[:, :3].sum(axis=1) > 0).astype(int)
    splits = list(StratifiedKFold(3).split(X, y))
    ours = SPKMClassifierCV(**{**LINE, "cv": splits, "max_iter": None}).fit(X, y)
    is_old = "use_legacy_attributes" not in LogisticRegressionCV().get_params()  # scikit-learn before 1.8
    lasso = {"penalty": "l1"} if is_old else {"l1_ratios": (1,), "use_legacy_attributes": False}
    theirs = LogisticRegressionCV(
        solver="saga",
        Cs=8,
        cv=splits,
        scoring="neg_log_loss",
        max_iter=300,
        tol=1e-2,
        random_state=0,
        **lasso,
    ).fit(StandardScaler().fit_transform(X), y)
    score = theirs.score(StandardScaler().fit(X).transform(new), truth)
    assert ours.score(new, truth) >= score - 0.02
    assert len(ours.selected_features_) <= np.count_nonzero(theirs.coef_)


def test_real_targets_in_several_columns_and_labels_in_words():
    X = rows()
    noise = np.random.default_rng(0).standard_normal((48, 2))
    Y = np.column_stack([real_target(X), 10 * X[:, 3]]) + noise
    model = SPKMRegressorCV(**LINE).fit(X, Y)
    assert model.predict(X).shape == (48, 2) and model.score(X, Y) > 0.4
    names = np.array(["ape", "bee", "cat"])[np.digitize(real_target(X), [-1, 1])]
    model = SPKMClassifierCV(**LINE).fit(X, names)
    assert model.classes_.tolist() == ["ape", "bee", "cat"] and model.score(X, names) > 0.6


def test_pickles_clones_pipelines_and_cross_validation(case):
    model, X, y = case
    fitted = clone(model).fit(X, y)
    assert_same_fit(pickle.loads(pickle.dumps(fitted)), fitted, X)
    assert_same_fit(clone(fitted).fit(X, y), fitted, X)
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=2).min() > 0.5


def test_frames_have_names(case):
    model, X, y = case
    model.fit(frame(X), y)
    assert set(model.get_feature_names_out()) >= {"b", "d"}
    np.testing.assert_array_equal(scores(model, frame(X)), scores(clone(model).fit(X, y), X))


def test_float32_and_sparse_rows(case):
    model, X, y = case
    single = clone(model).fit(X.astype(np.float32), y)
    assert single.basis_vectors_.dtype == scores(single, X.astype(np.float32)).dtype == np.float32
    scattered = sparse.csr_array(np.where(np.abs(X) < 0.3, 0.0, X))
    assert model.fit(scattered, y).score(scattered, y) > 0.7


# Warnings and errors.


def test_an_edge_is_told_on_the_users_line(careful):
    X = rows(80)
    settings = {**LINE, "kernel": "rbf", "selection": None, "n_basis": "auto", "max_basis": 2}
    with pytest.warns(
        UserWarning, match="The best number of basis vectors lies at the edge of what was tried"
    ) as caught:
        SPKMRegressorCV(**settings).fit(X, np.sin(2 * X[:, 1]) - X[:, 3] ** 2)
    assert caught[0].filename == __file__


def test_a_strength_that_is_given_is_taken_as_it_is(case):
    model, X, y = case
    model.set_params(weight_penalty=RKHSNorm(0.01)).fit(X, y)
    assert model.best_params_["strength_factor"] == 1.0
    assert "strength" not in model.cv_results_["stage"]


def test_the_evidence_has_no_factor_on_a_strength():
    X = rows()
    model = SPKMRegressorCV(**{**LINE, "kernel": Polynomial(2)}, n_basis=2).fit(X, real_target(X))
    assert model.best_params_["strength_factor"] == 1.0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"kernel": []}, ValueError, "kernel must be 'auto', a kernel or a list of kernels; got an empty list."),
        ({"kernel": ["rbf", "tanimoto"]}, ValueError, "mixes kernels of raw counts with kernels of scaled features."),
        ({"kernel": ["rbf", "rbff"]}, ValueError, "Unknown kernel 'rbff'. Did you mean 'rbf'?"),
        ({"kernel": [RBF]}, TypeError, "kernel must be an object, not a class; got RBF. Write RBF()."),
        ({"selection": "soft"}, ValueError, "selection must be one of None, 'strict'; got 'soft'."),
        ({"n_basis": 0}, ValueError, "n_basis must be an integer of at least 1; got 0."),
        ({"n_basis": 5, "max_basis": 2}, ValueError, "n_basis must not exceed max_basis=2; got 5."),
        ({"cv": 100}, ValueError, "100"),
        ({"cv": "five"}, ValueError, "five"),
        ({"feature_groups": [1, 2]}, ValueError, "feature_groups must hold one label for each of the 5 features"),
    ],
)
def test_settings_that_cannot_be(case, settings, error, message):
    model, X, y = case
    with pytest.raises(error, match=re.escape(message)):
        model.set_params(**settings).fit(X, y)


def test_parameters_of_the_search_are_not_parameters_of_the_user():
    for name in ("basis_penalty", "start", "n_restarts", "warm_start"):
        for estimator in (SPKMClassifierCV, SPKMRegressorCV):
            assert name not in estimator().get_params()
            with pytest.raises(TypeError):
                estimator(**{name: None})


def test_a_callback_that_asks_to_stop_keeps_the_best_so_far(case, callbacks):
    model, X, y = case

    class Stopper:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            return "elimination" in context.task_name

        def teardown(self, estimator, context):
            pass

    with pytest.warns(ConvergenceWarning, match="The search was interrupted; the best model so far is kept"):
        model.set_callbacks(Stopper()).fit(X, y)
    assert model.score(X, y) > 0.5 and "stage" in model.cv_results_
    assert not {"polish", "size"} & set(model.cv_results_["stage"])


def test_one_candidate_is_the_estimator_itself():
    # With folds dealt alike, the search over one kernel is that of the plain estimator.
    X = rows()
    y = labels(X)
    settings = {k: v for k, v in LINE.items() if k != "cv"}
    plain = SPKMClassifier(selection="strict", n_basis=1, **settings).fit(X, y)
    searched = SPKMClassifierCV(n_basis=1, **LINE).fit(X, y)
    assert set(plain.get_params()) - set(searched.get_params()) == {
        "basis",
        "basis_bounds",
        "basis_penalty",
        "linear_part",
        "monotone",
        "views",
        "terms",
        "multi_class",
        "start",
        "n_restarts",
        "warm_start",
    }
    assert set(searched.get_params()) - set(plain.get_params()) == {"cv", "scoring", "refit"}
    assert np.mean(plain.predict(X) == searched.predict(X)) > 0.9
    assert is_classifier(searched) and is_regressor(SPKMRegressorCV())
