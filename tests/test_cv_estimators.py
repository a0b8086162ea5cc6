"""SPKMClassifierCV and SPKMRegressorCV: the user's splits, kernels and scores, and the model of the choice."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressorCV
from spkm.kernels import RBF, Linear, Matern, Polynomial, Tanimoto
from spkm.penalties import RKHSNorm
from spkm.selection import _sparse_path
from tests.small_data import assert_same_fit, fingerprints, read_only, scores

pytestmark = [
    pytest.mark.usefixtures("hasty"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),  # few iterations on purpose
    pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning"),
]

LINE = {"kernel": "linear", "cv": 2, "max_iter": 4, "n_jobs": 1, "random_state": 0}
RESULTS = ("kernel", "stage", "strength_factor", "mean_n_features", "n_basis", "mean_test_loss", "error_test_loss")


def rows(n=48, d=5, seed=0):
    """Return rows; the targets below depend on columns 1 and 3."""
    return read_only(np.random.default_rng(seed).standard_normal((n, d)))[0]


def real_target(X):
    return X[:, 1] - X[:, 3] + 0.2 * np.cos(50 * X[:, 0])


def labels(X):
    return (real_target(X) > 0).astype(int)


@pytest.fixture(params=["classifier", "regressor"])
def case(request):
    """Return a quick estimator of either kind with rows and targets."""
    X = rows()
    if request.param == "classifier":
        return SPKMClassifierCV(**LINE), X, labels(X)
    return SPKMRegressorCV(**LINE), X, real_target(X)


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
        eliminated = model.cv_results_["stage"] == "elimination"
        assert set(model.cv_results_["kernel"][eliminated]) == {"polynomial", "rbf"}
        assert isinstance(model.best_params_["kernel"], Polynomial | RBF)
        assert model.kernel is asked and asked[0].gamma == "auto"


def test_the_kernel_that_fits_is_chosen(careful, monkeypatch):
    monkeypatch.setattr(_sparse_path, "ITERATIONS", 60)
    X = rows(100, 4)
    product = (X[:, 0] * X[:, 2] > 0).astype(int)
    settings = {**LINE, "kernel": ["linear", Polynomial(2)], "n_basis": 2, "max_iter": 50}
    model = SPKMClassifierCV(**settings).fit(X, product)
    assert isinstance(model.best_params_["kernel"], Polynomial) and model.score(X, product) > 0.9
    model = SPKMClassifierCV(**settings).fit(X, (X[:, 0] > X[:, 2]).astype(int))
    assert isinstance(model.best_params_["kernel"], Linear)


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
    with pytest.raises(ValueError, match="needs non-negative columns"):
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


def frame(X):
    return pd.DataFrame(X, columns=list("abcde"))


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
    model = SPKMClassifierCV(**LINE, scoring=as_good_as_any).fit(X, labels(X))
    assert len(model.selected_features_) == 1  # of equal models the smallest
    model = SPKMClassifierCV(**LINE, scoring=prefer_few).fit(X, labels(X))
    assert len(model.selected_features_) == 1


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
    theirs = LogisticRegressionCV(
        l1_ratios=(1,),
        solver="saga",
        Cs=8,
        cv=splits,
        scoring="neg_log_loss",
        max_iter=300,
        tol=1e-2,
        random_state=0,
        use_legacy_attributes=False,
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
    y = X[:, 1] - X[:, 3]
    with pytest.warns(
        UserWarning, match="The best strength of the penalty lies at the edge of what was tried"
    ) as caught:
        SPKMRegressorCV(**{**LINE, "max_iter": 100}, loss="huber").fit(X, y)
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
        ({"cv": "five"}, ValueError, "Expected `cv`"),
        ({"feature_groups": [1, 2]}, ValueError, "feature_groups must hold one label for each of the 5 columns"),
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


def test_a_callback_that_asks_to_stop_keeps_the_best_so_far(case):
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
        "basis_penalty",
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
