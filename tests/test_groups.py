"""Groups of samples: folds keep them together, and predictions for new groups are no bolder than they should be."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressor, SPKMRegressorCV
from spkm.sources import dealt_folds, dealt_groups, kinds_of


def subjects(n_groups=12, size=12, seed=0):
    """Return samples of subjects whose features tell who they are, and targets that depend on who they are alone."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    level = rng.standard_normal(n_groups)
    X = rng.standard_normal((n_groups, 4))[groups] + 0.1 * rng.standard_normal((len(groups), 4))
    return X, level[groups] + 0.1 * rng.standard_normal(len(groups)), groups


@pytest.mark.parametrize("of_classes", [True, False])
def test_folds_keep_groups_together_and_are_even(of_classes):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 17, 200)
    Y = np.where(rng.random((200, 1)) < 0.3, 1.0, -1.0)
    splits = dealt_folds(200, rng, kinds_of(Y) if of_classes else None, 3, groups)
    assert len(splits) == 3
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(200))
    largest = np.bincount(groups).max()
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert abs(len(test) - 200 / 3) <= largest
    if of_classes:
        shares = [np.mean(Y[test] > 0) for _, test in splits]
        assert max(shares) - min(shares) < 0.1


def test_two_groups_make_two_folds_and_one_is_told():
    assert len(dealt_folds(6, np.random.default_rng(0), None, 5, np.array([0, 0, 0, 0, 1, 1]))) == 2
    with pytest.raises(ValueError, match="groups must have at least 2 different values"):
        dealt_folds(6, np.random.default_rng(0), None, 5, np.zeros(6))


def test_predictions_for_new_subjects_move_to_the_mean():
    X, y, groups = subjects()
    new, true, _ = subjects(seed=1)
    plain = SPKMRegressor(5, random_state=0).fit(X, y)
    careful = SPKMRegressor(5, random_state=0).fit(X, y, groups=groups)
    share = careful.group_shrinkage_
    assert share.shape == (1,) and 0 <= share[0] < 0.5
    expected = y.mean() + share * (plain.predict(new) - y.mean())
    np.testing.assert_allclose(careful.predict(new), expected, rtol=1e-7, atol=1e-9)
    assert np.mean((true - careful.predict(new)) ** 2) < np.mean((true - plain.predict(new)) ** 2)
    wide, narrow = (model.predict(new, return_std=True)[1] for model in (careful, plain))
    assert np.median(wide) > np.median(narrow)


def test_predictions_stay_where_groups_do_not_differ():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.standard_normal(120)
    model = SPKMRegressor(5, random_state=0).fit(X, y, groups=np.arange(120) % 10)
    assert model.group_shrinkage_[0] > 0.9


def test_folds_of_a_classifier_choose_by_groups():
    X, level, groups = subjects(16, 10)
    y = level > np.median(level)
    plain = SPKMClassifier(5, random_state=0).fit(X, y)
    careful = SPKMClassifier(5, random_state=0).fit(X, y, groups=groups)
    # What tells subjects apart is no help with new ones: the penalty is stronger.
    assert careful.model_.strength > plain.model_.strength


def test_a_search_is_judged_by_held_out_groups():
    X, level, groups = subjects(16, 6)
    y = level > np.median(level)
    found = [SPKMClassifier(2, kernel="linear", selection="strict", random_state=0) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no feature may be left
        found[0].fit(X, y)
        found[1].fit(X, y, groups=groups)
    bold, careful = (model.cv_results_["mean_test_loss"].max() for model in found)
    assert careful > bold


def test_order_of_samples_and_names_of_groups_do_not_matter():
    X, y, groups = subjects(6, 8)
    order = np.random.default_rng(1).permutation(len(y))
    names = np.array([f"subject {g}" for g in groups])
    one = SPKMRegressor(3, random_state=0).fit(X, y, groups=groups)
    other = SPKMRegressor(3, random_state=0).fit(X[order], y[order], groups=names[order])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize(
    ("estimator", "splitter"),
    [(SPKMClassifierCV, StratifiedGroupKFold(3)), (SPKMRegressorCV, GroupKFold(3))],
    ids=["classes", "numbers"],
)
def test_searches_split_by_groups(estimator, splitter):
    X, y, groups = subjects(9, 8)
    y = y > np.median(y) if estimator is SPKMClassifierCV else y
    given = {"kernel": "linear", "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no feature may be left
        found = [estimator(cv=cv, **given).fit(X, y, groups=groups) for cv in (3, splitter)]
        alone = estimator(cv=3, **given).fit(X, y)
    by_number, by_splitter, by_sample = (model.cv_results_["mean_test_loss"] for model in (*found, alone))
    np.testing.assert_array_equal(by_number, by_splitter)
    assert not np.array_equal(by_number, by_sample)


def test_groups_go_through_pipelines_and_routing():
    X, y, groups = subjects(6, 8)
    alone = SPKMRegressor(3, random_state=0).fit(X, y, groups=groups)
    pipe = make_pipeline(StandardScaler(), SPKMRegressor(3, random_state=0))
    pipe.fit(X, y, spkmregressor__groups=groups)
    np.testing.assert_allclose(pipe[-1].group_shrinkage_, alone.group_shrinkage_, atol=1e-3)
    with config_context(enable_metadata_routing=True):
        routed = SPKMRegressor(3, random_state=0).set_fit_request(groups=True)
        scores = cross_val_score(routed, X, y, cv=GroupKFold(2), params={"groups": groups})
    assert scores.shape == (2,)


def test_bad_groups():
    X, y, groups = subjects(4, 5)
    model = SPKMRegressor(2, random_state=0)
    with pytest.raises(ValueError, match="groups must have one entry for each of the 20 samples"):
        model.fit(X, y, groups=groups[:-1])
    with pytest.raises(ValueError, match="groups needs samples in memory"):
        model.fit(lambda: iter([(X, y)]), groups=groups)
    with pytest.raises(ValueError, match="checkpoint does not go with groups"):
        model.fit(X, y, groups=groups, checkpoint="nowhere")
    assert not model.__sklearn_is_fitted__()


@pytest.mark.parametrize("loss", ["huber", "quantile", "epsilon_insensitive"])
def test_groups_without_effect_are_told(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y, groups = X[:, 0] + 0.1 * rng.standard_normal(40), np.arange(40) % 5
    with pytest.warns(UserWarning, match="groups have no effect"):
        told = SPKMRegressor(2, loss=loss, random_state=0).fit(X, y, groups=groups)
    plain = SPKMRegressor(2, loss=loss, random_state=0).fit(X, y)
    np.testing.assert_allclose(told.predict(X), plain.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "groups", [np.arange(60) // 30, np.arange(60) % 3, 2 * (np.arange(60) % 3) + np.arange(60) // 30]
)
@pytest.mark.parametrize("selection", [None, "strict"])
def test_two_groups_and_groups_of_a_class_each_are_held_out(groups, selection):
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 3
    X[:, 0] += 2 * y
    model = SPKMClassifier(3, selection=selection, random_state=0).fit(X, y, groups=groups)
    assert model.score(X, y) > 0.5


def test_no_fold_has_all_groups():
    kinds = np.arange(12) % 3
    for groups in (kinds, np.arange(12) // 6, np.arange(12)):
        fold = dealt_groups(groups, kinds, np.random.default_rng(0), 3)
        assert set(fold) == set(range(min(3, len(set(groups)))))
