"""Predictions of samples with gaps: equal to quadrature, to Monte Carlo, and to the model where nothing is missing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor, SPKMSurvival
from spkm.explain import Normal, expected_scores, with_gaps
from spkm.kernels import Laplacian
from tests.quadrature import normal_nodes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.4], [0.0, 0.0, 0.9]]) + [1.0, -2.0, 3.0]
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * X[:, 2]
CLASSES = np.digitize(SIGNAL + 0.3 * RNG.normal(size=200), np.quantile(SIGNAL, [0.3, 0.7]))
GAPS = X[:6].copy()
GAPS[:2, 1] = np.nan
GAPS[2, [0, 2]] = np.nan
GAPS[3] = np.nan


@pytest.fixture(scope="module")
def classifier():
    return SPKMClassifier(4, random_state=0).fit(X, CLASSES)


@pytest.fixture(scope="module")
def regressor():
    return SPKMRegressor(5, random_state=0).fit(X, SIGNAL + 0.1 * RNG.normal(size=200))


def mean_over(function, row, nodes=60):
    """Return the mean of a function over what is missing of a sample, by a product rule of Gauss and Hermite."""
    mean, covariance = X.mean(axis=0), np.cov(X, rowvar=False, bias=True)
    rows, shares = normal_nodes(mean, covariance, row, np.flatnonzero(~np.isnan(row)), nodes)
    return np.tensordot(shares, function(rows), axes=1), rows, shares


def test_probabilities_equal_quadrature(classifier):
    found = with_gaps(classifier, X, n_draws=1024).predict_proba(GAPS)
    for i in range(3):
        np.testing.assert_allclose(found[i], mean_over(classifier.predict_proba, GAPS[i])[0], atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(found[4:], classifier.predict_proba(X[4:6]))


def test_probabilities_equal_monte_carlo_where_nothing_is_known(classifier):
    drawn = np.random.default_rng(1).multivariate_normal(X.mean(axis=0), np.cov(X, rowvar=False, bias=True), 200_000)
    P = classifier.predict_proba(drawn)
    found = with_gaps(classifier, X, n_draws=4096).predict_proba(GAPS[[3]])[0]
    assert np.abs(found - P.mean(axis=0)).max() < 1e-3 + 4 * P.std(axis=0).max() / np.sqrt(len(P))


def test_predictions_of_regressors_are_expected_scores(regressor):
    found = with_gaps(regressor, X).predict(GAPS)
    np.testing.assert_allclose(found, expected_scores(regressor, GAPS, X)[:, 0], atol=1e-12)
    np.testing.assert_allclose(found[4:], regressor.predict(X[4:6]), atol=1e-10)
    for i in range(3):  # the closed form leaves out the clip of far values
        assert found[i] == pytest.approx(mean_over(regressor.predict, GAPS[i])[0], abs=2e-3)


def test_kernels_without_closed_forms_and_pipelines_by_draws():
    for model in (
        SPKMRegressor(4, kernel=Laplacian(0.3), random_state=0).fit(X, SIGNAL),
        make_pipeline(StandardScaler(), SPKMRegressor(4, random_state=0)).fit(X, SIGNAL),
        SPKMRegressor(3, loss="poisson", random_state=0).fit(X, CLASSES),
    ):
        found = with_gaps(model, X, n_draws=2048).predict(GAPS)
        spread = np.ptp(model.predict(X))
        for i in range(3):
            assert found[i] == pytest.approx(mean_over(model.predict, GAPS[i], 80)[0], abs=2e-3 * spread)


def test_ordered_classes_and_censored_times():
    ordinal = SPKMOrdinalClassifier(3, random_state=0).fit(X, CLASSES)
    found = with_gaps(ordinal, X, n_draws=1024)
    np.testing.assert_allclose(found.predict_proba(GAPS)[2], mean_over(ordinal.predict_proba, GAPS[2])[0], atol=1e-3)
    np.testing.assert_array_equal(found.predict(GAPS), np.argmax(found.predict_proba(GAPS), axis=1))
    y = np.rec.fromarrays([np.ones(200, dtype=bool), np.exp(-SIGNAL)], names="event,time")
    survival = SPKMSurvival(3, random_state=0).fit(X, y)
    predictor = with_gaps(survival, X, n_draws=1024)
    np.testing.assert_allclose(predictor.predict(GAPS), expected_scores(survival, GAPS, X)[:, 0], atol=1e-12)
    curves = predictor.expected(GAPS, survival.predict_survival_function)
    np.testing.assert_allclose(curves[2], mean_over(survival.predict_survival_function, GAPS[2])[0], atol=2e-3)


def test_what_a_missing_value_is_worth(classifier, regressor):
    for model, read in ((classifier, classifier.predict_proba), (regressor, lambda X: regressor.predict(X)[:, None])):
        worth = with_gaps(model, X, n_draws=1024).worth(GAPS)
        assert np.all(worth.values[~np.isnan(GAPS)] == 0)
        mean, rows, weights = mean_over(read, GAPS[0])  # one gap: measuring it leaves nothing open
        deviation = np.sqrt(weights @ (read(rows) - mean) ** 2)
        np.testing.assert_allclose(worth.values[0, 1], deviation, atol=5e-3)
        np.testing.assert_allclose(worth.shares()[0, 1], 1.0, atol=0.05)
        np.testing.assert_allclose(worth.total[0], deviation, atol=5e-3)
        assert np.all(worth.total[4:] < 1e-12)
        assert worth.frame().columns.tolist() == ["sample", "feature", "worth", "share"]
        assert len(worth.frame()) == np.isnan(GAPS).sum()


def test_a_copy_that_is_known_leaves_nothing_open():
    doubled = np.column_stack([X[:, 0], X[:, 0]])
    model = SPKMRegressor(4, random_state=0).fit(doubled, np.sin(X[:, 0]))
    gaps = doubled[:3].copy()
    gaps[:, 1] = np.nan
    predictor = with_gaps(model, doubled)
    np.testing.assert_allclose(predictor.predict(gaps), model.predict(doubled[:3]), atol=1e-6)
    assert predictor.worth(gaps).values.max() < 1e-6


def test_frames_labels_and_errors(classifier):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = SPKMClassifier(2, random_state=0).fit(table, CLASSES > 0)
    gaps = pandas.DataFrame(GAPS, columns=table.columns)
    predictor = with_gaps(model, Normal.of(table))
    assert predictor.predict(gaps).dtype == bool
    assert set(predictor.worth(gaps).frame()["feature"]) == {"a", "b", "c"}
    several = SPKMClassifier(2, random_state=0).fit(X, np.column_stack([CLASSES > 0, CLASSES > 1]).astype(int))
    assert with_gaps(several, X).predict(GAPS).shape == (6, 2)
    with pytest.raises(ValueError, match="NaN"):
        classifier.predict(GAPS)  # the estimator itself stays strict
    with pytest.raises(TypeError, match="one of this library"):
        with_gaps(LogisticRegression().fit(X, CLASSES), X)
    with pytest.raises(ValueError, match="background must have the 3 features"):
        with_gaps(classifier, X[:, :2])
    with pytest.raises(ValueError, match="X must have one or more samples of 3 features"):
        with_gaps(classifier, X).predict(X[:, :2])
    with pytest.raises(ValueError, match="infinity"):
        with_gaps(classifier, X).predict([[np.inf, 0, 0]])
    with pytest.raises(ValueError, match="n_draws"):
        with_gaps(classifier, X, n_draws=1)
    with pytest.raises(ValueError, match=r"power of two.*got 100"):
        with_gaps(classifier, X, n_draws=100)
    hinge = SPKMClassifier(2, loss="smooth_hinge", random_state=0).fit(X, CLASSES)
    with pytest.raises(ValueError, match="need probabilities"):
        with_gaps(hinge, X)
