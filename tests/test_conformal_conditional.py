"""Conditional conformal prediction: equal to its linear programme, and to split conformal within groups."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMRegressor
from spkm.conformal import (
    ConditionalConformalClassifier,
    ConditionalConformalRegressor,
    SplitConformalRegressor,
)
from tests.small_data import three_classes


def grouped(n, seed):
    """Return samples of three groups, the second column, whose noise differs."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    X = np.c_[rng.normal(size=n), group]
    return X, X[:, 0] + np.array([0.1, 1.0, 3.0])[group] * rng.normal(size=n)


def indicators(X):
    return (np.asarray(X)[:, [1]] == [1, 2]).astype(float)


def fitted_cutoffs(Z, scores, new, level):
    """Return cut-offs of new samples with the features Z of known ones, whose scores are given."""
    zero = DummyRegressor(strategy="constant", constant=0.0).fit(Z, scores)
    conformal = ConditionalConformalRegressor(zero, confidence_level=level, features=lambda X: X)
    return conformal.conformalize(Z, scores).predict_cutoff(new)[:, 0]


@pytest.mark.parametrize(("n", "p"), [(40, 2), (150, 6), (200, 15)])
def test_cutoffs_are_those_of_the_linear_programme(n, p):
    rng = np.random.default_rng(n)
    Z, new = rng.normal(size=(n, p - 1)), 1.5 * rng.normal(size=(12, p - 1))
    scores = np.abs(rng.normal(size=n)) * (1 + np.abs(Z[:, 0]))
    P, before = np.c_[np.ones(n), Z], 0.8 - 1e-7  # the left side of a kink, if the level is one
    for feature, found in zip(np.c_[np.ones(12), new], fitted_cutoffs(Z, scores, new, 0.8), strict=True):
        solved = linprog(-scores, A_eq=P.T, b_eq=-before * feature, bounds=(-0.2, 0.8), method="highs-ds")
        assert (solved.status == 0) == np.isfinite(found)
        if solved.status == 0:
            assert found == pytest.approx(-solved.eqlin.marginals @ feature, abs=1e-6)


def test_cutoffs_have_the_unit_of_the_scores():
    rng = np.random.default_rng(0)
    Z, scores, new = rng.normal(size=(80, 2)), rng.exponential(size=80), rng.normal(size=(12, 2))
    cutoffs = fitted_cutoffs(Z, scores, new, 0.8)
    np.testing.assert_allclose(fitted_cutoffs(Z, 1e-6 * scores, new, 0.8), 1e-6 * cutoffs, rtol=1e-6)


def test_a_cutoff_is_where_the_score_leaves_the_regression_that_holds_it():
    """S <= g_S(x) up to the cut-off, and S > g_S(x) above it, with g_S the regression of all samples."""
    rng = np.random.default_rng(0)
    Z, scores, new = rng.normal(size=(60, 1)), rng.exponential(size=60), np.array([[1.2]])
    (cutoff,) = fitted_cutoffs(Z, scores, new, 0.9)
    for score, inside in ((cutoff - 1e-6, True), (cutoff + 1e-6, False)):
        whole, every = np.c_[np.ones(61), np.vstack([Z, new])], np.append(scores, score)
        dual = linprog(-every, A_eq=whole.T, b_eq=np.zeros(2), bounds=(-0.1, 0.9), method="highs-ds").x[-1]
        assert (dual < 0.9 - 1e-9) == inside


def test_groups_are_split_conformal_within_each():
    model = LinearRegression().fit(*grouped(200, 0))
    X, y = grouped(300, 1)
    conformal = ConditionalConformalRegressor(model, confidence_level=[0.8, 0.9], features=indicators)
    intervals = conformal.conformalize(X, y).predict_interval(X[:60])[1]
    for group in range(3):
        own, asked = X[:, 1] == group, X[:60, 1] == group
        split = SplitConformalRegressor(model, confidence_level=[0.8, 0.9]).conformalize(X[own], y[own])
        np.testing.assert_allclose(intervals[asked], split.predict_interval(X[:60][asked])[1], atol=1e-6)


@pytest.mark.parametrize("randomize", [False, True])
def test_coverage_near_each_basis_vector(randomize):
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.uniform(-2, 2, size=(n, 1))
        return X, np.sin(2 * X[:, 0]) + (0.05 + (X[:, 0] > 0)) * rng.normal(size=n)

    model = SPKMRegressor(4, kernel="rbf", random_state=0).fit(*draw(150))
    held = model.model_
    total, weight, usual = 0.0, 0.0, 0.0
    for _ in range(60):
        X, y = draw(120)
        conformal = ConditionalConformalRegressor(model, randomize=randomize, random_state=rng).conformalize(X, y)
        split = SplitConformalRegressor(model).conformalize(X, y)
        X, y = draw(40)
        K = np.c_[np.ones(40), held.similarities(X)[:, held.vector_rows]]
        for which, one in enumerate((conformal, split)):
            low, high = one.predict_interval(X)[1][:, :, 0].T
            covered = ((low <= y) & (y <= high)) @ K
            total, usual = (total + covered, usual) if which == 0 else (total, usual + covered)
        weight = weight + K.sum(axis=0)
    # A coverage of 60 draws, each of 40 samples and a regression of 120 in 5 dimensions: deviations of about .012.
    assert np.all(total / weight > 0.9 - 0.04)
    assert np.all(total / weight < 0.9 + 0.04 + (0.0 if randomize else 6 / 121))
    assert np.abs(usual / weight - 0.9).max() > 0.07


def test_sets_of_classes():
    X, y = three_classes(n=240)
    model = SPKMClassifier(3, random_state=0).fit(X[:90], y[:90])
    conformal = ConditionalConformalClassifier(model, confidence_level=[0.5, 0.9]).conformalize(X[90:210], y[90:210])
    labels, sets = conformal.predict_set(X[210:])
    np.testing.assert_array_equal(labels, model.predict(X[210:]))
    assert sets.shape == (30, 3, 2) and np.all(sets[:, :, 0] <= sets[:, :, 1])
    cutoffs = conformal.predict_cutoff(X[210:])
    np.testing.assert_array_equal(sets[:, :, 1], 1 - model.predict_proba(X[210:]) <= cutoffs[:, [1]])
    np.testing.assert_array_equal(conformal.classes_, [0, 1, 2])
    other = ConditionalConformalClassifier(LogisticRegression().fit(X, y), features=lambda X: X[:, :1])
    assert other.conformalize(X, y).predict_set(X[:4])[1].shape == (4, 3, 1)


def test_pipelines_and_unfitted_estimators():
    X, y = grouped(400, 3)
    pipeline = make_pipeline(StandardScaler(), SPKMRegressor(3, random_state=0)).fit(X[:100], y[:100])
    conformal = ConditionalConformalRegressor(pipeline).conformalize(X[100:], y[100:])
    assert np.isfinite(conformal.predict_interval(X[:5])[1]).any()
    own = ConditionalConformalRegressor(SPKMRegressor(3, random_state=0), prefit=False).fit(X[:100], y[:100])
    assert own.conformalize(X[100:], y[100:]).predict_interval(X[:5])[1].shape == (5, 2, 1)


def test_samples_unlike_all_others_have_infinite_intervals():
    X, y = grouped(120, 0)
    model = LinearRegression().fit(X, y)
    conformal = ConditionalConformalRegressor(model, features=lambda X: np.asarray(X)[:, [0]]).conformalize(X, y)
    low, high = conformal.predict_interval([[50.0, 0.0]])[1][0, :, 0]
    assert low == -np.inf and high == np.inf


def test_intervals_are_empty_only_where_random_numbers_decide():
    """Scores that grow steeply along a feature: the regression is negative at its other end."""
    rng = np.random.default_rng(0)
    Z = rng.uniform(size=(200, 1))
    scores = np.maximum(0.0, 4.0 * Z[:, 0] - 2.0) * rng.uniform(0.5, 1.5, size=200)
    zero = DummyRegressor(strategy="constant", constant=0.0).fit(Z, scores)
    new = np.linspace(-0.5, 1.0, 30)[:, None]
    plain = ConditionalConformalRegressor(zero, confidence_level=0.5, features=lambda X: X).conformalize(Z, scores)
    tilted = ConditionalConformalRegressor(
        zero, confidence_level=0.5, features=lambda X: X, randomize=True, random_state=0
    ).conformalize(Z, scores)
    assert (tilted.predict_cutoff(new) < 0).any()
    assert np.isnan(tilted.predict_interval(new)[1]).any()
    low, high = plain.predict_interval(new)[1][:, :, 0].T
    assert np.all(low <= 0.0) and np.all(high >= 0.0)
    P, before = np.c_[np.ones(200), Z], 0.5 - 1e-7
    at = np.array([1.0, new[0, 0]])
    solved = linprog(-scores, A_eq=P.T, b_eq=-before * at, bounds=(-0.5, 0.5), method="highs-ds")
    assert -solved.eqlin.marginals @ at < 0  # the regression itself
    assert high[0] < 1e-6


def test_clear_errors():
    X, y = grouped(60, 0)
    model = SPKMRegressor(6, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="need at least"):
        ConditionalConformalRegressor(model).conformalize(X[:20], y[:20])
    with pytest.raises(ValueError, match="features must be a function"):
        ConditionalConformalRegressor(LinearRegression().fit(X, y)).conformalize(X, y)
    with pytest.raises(ValueError, match="randomize must be"):
        ConditionalConformalRegressor(model, randomize="yes").conformalize(X, y)
    with pytest.raises(ValueError, match="a row for each"):
        ConditionalConformalRegressor(model, features=lambda X: np.ones((3, 1))).conformalize(X, y)
    with pytest.raises(ValueError, match="features must be finite"):
        ConditionalConformalRegressor(model, features=lambda X: X[:, :1] * np.nan).conformalize(X, y)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_groups_are_followed_to_the_end(level):
    # Rounding of a product that is zero looked like a sample that moves, and two samples were exchanged for ever.
    for seed in range(40):
        X, y = grouped(60, seed)
        new, _ = grouped(20, 1000 + seed)
        zero = DummyRegressor(strategy="constant", constant=0.0).fit(X, y)
        conformal = ConditionalConformalRegressor(zero, confidence_level=level, features=indicators)
        found = conformal.conformalize(X, np.abs(y)).predict_cutoff(new)[:, 0]
        for group in range(3):
            scores = np.sort(np.abs(y[X[:, 1] == group]))
            rank = int(np.ceil(level * (len(scores) + 1) - 1e-9))
            want = scores[rank - 1] if rank <= len(scores) else np.inf
            np.testing.assert_allclose(found[new[:, 1] == group], want, atol=1e-6)
