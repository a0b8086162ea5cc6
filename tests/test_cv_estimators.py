"""SPKMClassifierCV and SPKMRegressorCV: the user's splits, kernels and scores, and the model of the choice."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
)

from spkm import SPKMClassifierCV, SPKMRegressorCV
from spkm.kernels import RBF, Linear, Matern, Polynomial, Tanimoto
from spkm.selection import DEFAULTS
from tests.cross_validated import LINE, RESULTS, frame, labels, quick_case, real_target, rows
from tests.marks import QUICK_SEARCHES
from tests.quick_search import quick_search
from tests.small_data import assert_same_fit, fingerprints, scores

pytestmark = QUICK_SEARCHES


@pytest.fixture(params=["classifier", "regressor"])
def case(request):
    """Return a quick estimator of either kind with rows and targets."""
    return quick_case(request.param)


# What is chosen and told.


def test_attributes(careful, case):
    model, X, y = case
    model.fit(X, y)
    assert set(model.best_params_) == {"kernel", "n_basis", "n_features", "strength_factor"}
    assert isinstance(model.best_params_["kernel"], Linear)
    assert model.best_params_["n_basis"] == len(model.dual_coef_) == len(model.basis_vectors_) == 1
    assert model.best_params_["n_features"] == len(model.selected_features_) == model.get_support().sum()
    assert tuple(model.cv_results_) == RESULTS
    n_models = len(model.cv_results_["stage"])
    assert n_models > 5 and all(len(column) == n_models for column in model.cv_results_.values())
    assert np.all(np.isfinite(model.cv_results_["mean_test_loss"]))
    assert set(model.selected_features_) >= {1, 3} and model.score(X, y) > 0.8
    np.testing.assert_array_equal(np.isnan(model.basis_vectors_).any(axis=0), ~model.get_support())
    noise = np.where(model.get_support(), X, 1e9)
    np.testing.assert_array_equal(scores(model, noise), scores(model, X))
    np.testing.assert_array_equal(scores(model.restricted(), X[:, model.selected_features_]), scores(model, X))


def test_the_default_kernels_and_a_list_of_kernels(careful):
    X = rows()
    for estimator, y, last in ((SPKMClassifierCV, labels(X), RBF), (SPKMRegressorCV, real_target(X), Matern)):
        model = estimator(**{**LINE, "kernel": "auto"}, max_basis=2).fit(X, y)
        assert {name.lower() for name in model.cv_results_["kernel"]} >= {"linear", "polynomial", last.__name__.lower()}
        asked = [Polynomial(2), "rbf"]
        model.set_params(kernel=asked, n_basis=2).fit(X, y)
        eliminated = np.isin(model.cv_results_["stage"], ["elimination", "given up"])
        assert set(model.cv_results_["kernel"][eliminated]) == {"polynomial", "rbf"}
        assert isinstance(model.best_params_["kernel"], Polynomial | RBF)
        assert model.kernel is asked and asked[0].gamma == "auto"


def test_the_kernel_that_fits_is_chosen():
    X = rows(100, 4)
    product = (X[:, 0] * X[:, 2] > 0).astype(int)
    settings = {**LINE, "kernel": ["linear", Polynomial(2)], "n_basis": 2, "max_iter": 50}
    with quick_search(settings=DEFAULTS):
        model = SPKMClassifierCV(**settings).fit(X, product)
        other = SPKMClassifierCV(**settings).fit(X, (X[:, 0] > X[:, 2]).astype(int))
    assert isinstance(model.best_params_["kernel"], Polynomial) and model.score(X, product) > 0.9
    assert isinstance(other.best_params_["kernel"], Linear)


def test_without_selection_all_columns_are_kept(careful, case):
    model, X, y = case
    model.set_params(selection=None, kernel=["linear", "rbf"], n_basis=2).fit(X, y)
    assert model.get_support().all() and not np.isnan(model.basis_vectors_).any()
    assert set(model.cv_results_["mean_n_features"]) == {5.0}
    assert model.best_params_["n_features"] == 5
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(ValueError, match="max_features needs selection='strict'"):
        model.set_params(max_features=2).fit(X, y)


def test_what_an_earlier_fit_left_behind_goes(case):
    model, X, y = case
    assert hasattr(model.fit(X, y), "feature_importances_")
    model.set_params(selection=None).fit(X, y)
    assert not hasattr(model, "feature_importances_") and set(model.cv_results_["mean_n_features"]) == {5.0}


def test_budget_and_groups(careful, case):
    model, X, y = case
    model.set_params(max_features=1).fit(X, y)
    assert len(model.selected_features_) == 1
    model.set_params(max_features=2, feature_groups=[0, 1, 0, 1, 0]).fit(X, y)
    assert model.selected_features_.tolist() == [1, 3]


def test_counts_with_tanimoto():
    X, y = fingerprints(60, 8)
    model = SPKMClassifierCV(**{**LINE, "kernel": ["tanimoto"], "n_basis": 2}).fit(X, y)
    assert isinstance(model.best_params_["kernel"], Tanimoto) and model.score(X, y) > 0.6
    np.testing.assert_array_equal(model.predict_proba(np.where(model.get_support(), X, -7.0)), model.predict_proba(X))
    with pytest.raises(ValueError, match="needs non-negative features"):
        model.fit(-X, y)


# Splits.


SPLITTERS = {
    "number": 3,
    "k-fold": KFold(2, shuffle=True, random_state=1),
    "stratified": StratifiedKFold(2),
    "shuffled": ShuffleSplit(2, test_size=0.3, random_state=0),
    "one split": ShuffleSplit(1, test_size=0.3, random_state=0),
    "list": [(np.arange(24), np.arange(24, 48)), (np.arange(24, 48), np.arange(24))],
    "part of the rows": [(np.arange(20), np.arange(30, 40))],
}


@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS)
def test_any_splitter(cv):
    X = rows()
    model = SPKMClassifierCV(**{**LINE, "cv": cv}).fit(X, labels(X))
    assert model.score(X, labels(X)) > 0.8


def test_the_default_is_five_folds_and_classes_are_stratified():
    X = rows()
    order = np.argsort(labels(X), kind="stable")
    told = SPKMClassifierCV(**{**LINE, "cv": None, "verbose": 0}).fit(X[order], labels(X)[order])
    by_hand = SPKMClassifierCV(**{**LINE, "cv": StratifiedKFold(5)}).fit(X[order], labels(X)[order])
    assert_same_fit(told, by_hand, X)
    np.testing.assert_equal(told.cv_results_, by_hand.cv_results_)


def test_a_class_may_be_missing_from_the_training_rows_of_a_split():
    X = rows()
    y = np.digitize(real_target(X), [-1, 1])
    order = np.argsort(y, kind="stable")
    model = SPKMClassifierCV(**{**LINE, "cv": KFold(3)}).fit(X[order], y[order])
    assert model.predict_proba(X).shape == (48, 3) and np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize("cv", [GroupKFold(2), LeaveOneGroupOut()], ids=["k-fold", "one"])
def test_groups_of_rows_stay_together(cv):
    X = rows()
    model, y, groups = SPKMClassifierCV(**LINE), labels(X), np.arange(48) % 3
    a = clone(model).set_params(cv=cv).fit(X, y, groups=groups)
    b = clone(model).set_params(cv=list(cv.split(X, y, groups))).fit(X, y)
    assert_same_fit(a, b, X)
    with pytest.raises(ValueError, match="groups"):
        clone(model).set_params(cv=GroupKFold(2)).fit(X, y)


def test_the_choice_follows_from_the_splits_given(careful):
    # Of the rows that are fitted the target needs column 2, too; of those that are held out it does not.
    X = rows(60)
    train, test = np.arange(40), np.arange(40, 60)
    y = 2 * X[:, 0] + np.where(np.arange(60) < 40, X[:, 2], 0.0) + 0.1 * np.cos(50 * X[:, 1])
    model = SPKMRegressorCV(**{**LINE, "cv": [(train, test)], "refit": False}).fit(X, y)
    both = SPKMRegressorCV(**{**LINE, "cv": [(train, np.arange(20))], "refit": False}).fit(X, y)
    assert model.selected_features_.tolist() == [0] and set(both.selected_features_) >= {0, 2}


# Without a refit.


def test_without_a_refit_the_model_is_that_of_the_training_rows(case):
    model, X, y = case
    fold = np.where(np.arange(48) < 30, -1, 0)
    model.set_params(cv=PredefinedSplit(fold), refit=False).fit(X, y)
    assert set(model.best_params_) == {"kernel", "n_basis", "n_features", "strength_factor"}
    assert model.score(X[:30], y[:30]) > 0.8 and model.n_iter_ == 1
    # Held-out rows have no part in it but by the choice: where the choice is the same, so is the model, to the rounding
    # of sums that other rows put into another order.
    other = X.copy()
    other[30:] += 0.01 * np.random.default_rng(1).standard_normal((18, 5))
    again = clone(model).fit(other, y)
    assert again.best_params_["strength_factor"] == model.best_params_["strength_factor"]
    np.testing.assert_array_equal(again.selected_features_, model.selected_features_)
    np.testing.assert_allclose(scores(again, X), scores(model, X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(again.feature_importances_, model.feature_importances_, rtol=1e-6, atol=1e-9)


def test_a_refit_sees_all_rows(case):
    model, X, y = case
    fold = np.where(np.arange(48) < 30, -1, 0)
    model.set_params(cv=PredefinedSplit(fold), max_iter=100)
    part = clone(model).set_params(refit=False).fit(X, y)
    whole = model.fit(X, y)
    assert not np.array_equal(scores(whole, X), scores(part, X))
    assert whole.score(X, y) >= part.score(X, y) - 0.02
    np.testing.assert_equal(whole.cv_results_, part.cv_results_)


def test_the_scale_of_a_loss_without_one_is_that_of_the_target():
    X = rows()
    y = 50 * real_target(X)
    fold = np.where(np.arange(48) < 30, -1, 0)
    for refit in (True, False):
        settings = {**LINE, "kernel": "rbf", "n_basis": 2, "cv": PredefinedSplit(fold), "refit": refit}
        model = SPKMRegressorCV(loss="cosine", **settings).fit(X, y)
        assert 0.5 < np.std(model.predict(X[:30])) / np.std(y[:30]) < 1.5


def test_more_than_one_split_leaves_no_model_to_keep(case):
    model, X, y = case
    with pytest.raises(ValueError, match="refit=False keeps the model of the only split; cv makes 2 of them"):
        model.set_params(refit=False).fit(X, y)
    with pytest.raises(ValueError, match="refit must be one of True, False; got 'yes'"):
        model.set_params(refit="yes").fit(X, y)


# Scores.


@pytest.mark.parametrize(
    ("scoring", "kind"), [("accuracy", frame), ("roc_auc", sparse.csr_array), ("neg_log_loss", np.asarray)]
)
def test_scores_of_held_out_rows_decide(scoring, kind):
    X = rows()
    y = np.array(["no", "yes"])[labels(X)]
    table = kind(X)
    model = SPKMClassifierCV(**LINE, scoring=scoring).fit(table, y)
    judged = model.cv_results_["stage"] != "path"
    bound = 0.0 if scoring == "neg_log_loss" else -1.0
    assert np.all(model.cv_results_["mean_test_loss"][judged] >= bound)
    if scoring != "neg_log_loss":
        assert np.all(model.cv_results_["mean_test_loss"][judged] <= 0)
    assert get_scorer(scoring)(model, table, y) > -0.7


def test_a_score_is_that_of_an_estimator_with_the_folds_model():
    # A scorer of one's own is asked with the fold's model, rows and targets as they were given.
    X = rows()
    y = real_target(X)
    seen = []

    def scorer(estimator, rows_, targets):
        predicted = estimator.predict(rows_)
        seen.append((len(rows_), predicted.shape))
        assert set(np.round(targets, 12)) <= set(np.round(y, 12))  # in the units of y
        return -float(np.mean((predicted - targets) ** 2))

    model = SPKMRegressorCV(**LINE, scoring=scorer).fit(X, y)
    assert set(seen) == {(24, (24,))}
    by_name = SPKMRegressorCV(**LINE, scoring="neg_mean_squared_error").fit(X, y)
    assert_same_fit(model, by_name, X)
    assert model.cv_results_["mean_test_loss"].min() < 0.5


def test_a_score_may_ask_for_few_columns():
    def prefer_few(estimator, X, y):
        return -float(len(estimator.selected_features_)) if hasattr(estimator, "selected_features_") else 0.0

    def as_good_as_any(estimator, X, y):
        return 1.0

    X = rows()
    for scoring in (as_good_as_any, prefer_few):
        with pytest.warns(UserWarning, match="No feature is selected"):
            model = SPKMClassifierCV(**LINE, scoring=scoring).fit(X, labels(X))
        assert len(model.selected_features_) == 0  # of equal models the smallest


def test_weights_reach_the_scorer():
    X = rows()
    weight = np.random.default_rng(0).uniform(0.5, 2, 48)
    seen = []

    def score(targets, predicted, sample_weight=None):
        seen.append(sample_weight)
        return np.average(targets == predicted, weights=sample_weight)

    a = SPKMClassifierCV(**LINE, scoring=make_scorer(score)).fit(X, labels(X), sample_weight=weight)
    # Only the ratios of weights count; they are made to sum to the number of samples.
    expected = [48 * weight[test] / weight.sum() for _, test in StratifiedKFold(2).split(X, labels(X))]
    assert all(any(len(part) == len(w) and np.allclose(part, w, rtol=1e-12) for w in expected) for part in seen)
    assert_same_fit(a, SPKMClassifierCV(**LINE, scoring="accuracy").fit(X, labels(X), sample_weight=weight), X)
    seen.clear()
    SPKMClassifierCV(**LINE, scoring=make_scorer(score)).fit(X, labels(X))
    assert seen and all(part is None for part in seen)


def test_scoring_that_cannot_be(case):
    model, X, y = case
    with pytest.raises(ValueError, match="scoring"):
        model.set_params(scoring="no such score").fit(X, y)
