"""Partial dependence and H-statistics: equal to brute force over the samples."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence as brute_force
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMRegressor, TableEncoder
from spkm.explain import explain, h_statistics, partial_dependence, summary, to_frame
from tests.made_models import make_model, make_rows
from tests.test_explain import TERMS


@pytest.fixture(scope="module")
def wave():
    X = np.random.default_rng(0).uniform(-2, 2, size=(60, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 2 * X[:, 0]


class Predictor(RegressorMixin, BaseEstimator):
    """A model in the form that scikit-learn's own functions take."""

    def __init__(self, model):
        self.model = model
        self.n_features_in_ = model.n_features

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.model.scores(X)[:, 0]

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.skipif(
    "custom_values" not in signature(brute_force).parameters, reason="scikit-learn before 1.7 chooses points by itself"
)
@pytest.mark.parametrize("name", TERMS)
def test_partial_dependence_equals_scikit_learn(name):
    model = make_model(TERMS[name], 5)
    X = make_rows(model, 40)
    for effect in partial_dependence(model, X, [0, "x3", (1, 3), (0, 2)], n_points=6):
        columns = [int(title[1:]) for title in effect.feature_names]
        grid = {c: points for c, points in zip(columns, effect.grid, strict=True)}
        truth = brute_force(
            Predictor(model), X, columns, kind="average", method="brute", custom_values=grid, grid_resolution=6
        )
        np.testing.assert_allclose(effect.values[..., 0], truth["average"][0], atol=1e-10)


def test_all_features_on_given_points_and_several_outputs():
    model = make_model(TERMS["two terms"], 7, n_outputs=3, features=[0, 2, 3, 5, 6])
    X = make_rows(model, 20)
    effects = partial_dependence(model, X, grid={"x2": [0.0, 1.0, 2.0]}, n_points=4)
    assert [effect.feature_names[0] for effect in effects] == ["x0", "x2", "x3", "x5", "x6"]
    for effect in effects:
        column = int(effect.feature_names[0][1:])
        for point, value in zip(effect.grid[0], effect.values, strict=True):
            rows = X.copy()
            rows[:, column] = point
            np.testing.assert_allclose(value, model.scores(rows).mean(axis=0), atol=1e-10)
    (unread,) = partial_dependence(model, X, [1])
    np.testing.assert_allclose(unread.values, np.tile(model.scores(X).mean(axis=0), (100, 1)), atol=1e-10)
    frame = effects[1].frame()
    assert list(frame.columns) == ["x2", "0", "1", "2"] and len(frame) == 3


@pytest.mark.parametrize("name", ["matern 5/2", "polynomial", "product of views", "normalized polynomial"])
def test_h_statistics_equal_their_definition(name):
    model = make_model(TERMS[name], 5)
    X = make_rows(model, 15)

    def mean_with(columns):
        rows = np.repeat(X[None], len(X), axis=0)
        rows[:, :, columns] = X[:, None, columns]
        values = model.scores(rows.reshape(-1, 5)).reshape(len(X), len(X)).mean(axis=1)
        return values - values.mean()

    names, H = h_statistics(model, X, [0, 2, 4])
    assert names == ("x0", "x2", "x4")
    joint = mean_with([0, 4])
    left = joint - mean_with([0]) - mean_with([4])
    np.testing.assert_allclose(H[0, 2, 0], np.sqrt((left**2).sum() / (joint**2).sum()), rtol=1e-6)
    np.testing.assert_array_equal(H, H.transpose(1, 0, 2))


def test_additive_features_do_not_interact():
    model = make_model(TERMS["linear"], 5)
    assert h_statistics(model, make_rows(model, 30))[1].max() < 1e-7
    apart = make_model([(2, [(TERMS["rbf"][0][1][0][0], [0, 1])]), (2, [(TERMS["rbf"][0][1][0][0], [2])])], 3)
    H = h_statistics(apart, make_rows(apart, 30))[1][..., 0]
    assert H[0, 1] > 1e-3 and H[0, 2] < 1e-7 and H[1, 2] < 1e-7


@pytest.mark.parametrize(
    "features, message",
    [([(0, 0)], "has a column twice"), ([(0, 1, 2)], "single columns and pairs"), (["y"], "'y'")],
)
def test_bad_features_are_named(features, message):
    model = make_model(TERMS["rbf"], 5)
    with pytest.raises(ValueError, match=message):
        partial_dependence(model, make_rows(model, 4), features)
    if features == [(0, 0)]:
        with pytest.raises(ValueError, match=message):
            h_statistics(model, make_rows(model, 4), [0, 0])


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_the_target_change_no_interactions_and_no_words(wave, unit):
    X, y = wave
    one, other = (SPKMRegressor(3, random_state=0).fit(X, y * size) for size in (1.0, unit))
    H = h_statistics(one, X)[1]
    assert H.max() > 0.1
    np.testing.assert_allclose(h_statistics(other, X)[1], H, atol=1e-2)
    assert summary(other, X).count("rises") + summary(other, X).count("falls") >= 1


def test_names_of_features_and_outputs_may_be_the_same(wave):
    X, y = wave
    table = pd.DataFrame(X, columns=["yes", "weight"])
    model = SPKMClassifier(2, random_state=0).fit(table, np.where(y > 0, "yes", "no"))
    (effect,) = partial_dependence(model, table, ["yes"], n_points=4)
    assert list(effect.frame().columns) == ["yes", "output yes"]
    np.testing.assert_array_equal(effect.frame()["yes"], effect.grid[0])
    frame = to_frame(model)
    assert list(frame.columns) == ["weight", "yes", "feature weight"]
    np.testing.assert_array_equal(frame["weight"], model.model_.weights[:, 0])
    score = SPKMRegressor(2, random_state=0).fit(table.rename(columns={"yes": "score"}), y)
    shown = explain(score, table.rename(columns={"yes": "score"}))._repr_html_()
    assert shown.count("<tr>") == 5  # a head, two features, the usual score and the score


def test_a_category_has_its_levels_and_no_other_points():
    table = pd.DataFrame({"code": pd.Categorical([1, 2, 3] * 10), "age": np.arange(30.0)})
    model = make_pipeline(TableEncoder(), SPKMRegressor(2, random_state=0)).fit(table, np.arange(30.0))
    with pytest.raises(ValueError, match="grid must be of numbers; 'code' is a category"):
        partial_dependence(model, table, ["code"], grid={"code": [1, 2]})
    with pytest.raises(ValueError, match="has a column twice"):
        partial_dependence(model, table, [("code", "code = 1")])
