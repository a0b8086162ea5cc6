"""Censored times: the loss, the baseline, concordance, and the partial likelihood that they end at."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spkm import SPKMSurvival, load
from spkm.losses import Hazard, baseline_hazard, concordance


def censored(n=200, d=4, seed=0, decimals=1):
    """Return samples, and times of a hazard exp(x0 + x1^2 / 2), rounded so that there are ties."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    time = rng.exponential(np.exp(-X[:, 0] - 0.5 * X[:, 1] ** 2))
    end = rng.uniform(0.3, 3.0, n)
    y = np.rec.fromarrays([time <= end, np.round(np.minimum(time, end), decimals)], names="event,time")
    return X, y


def log_partial_likelihood(time, event, f, weight, ties):
    """Return the logarithm of the partial likelihood, by its definition."""
    total = 0.0
    for t in np.unique(time[event]):
        dying = np.flatnonzero(event & (time == t))
        at_risk = float((weight * np.exp(f))[time >= t].sum())
        dead = float((weight * np.exp(f))[dying].sum())
        total += float(weight[dying] @ f[dying])
        for k in range(len(dying)):
            lost = k / len(dying) * dead if ties == "efron" else 0.0
            total -= weight[dying].mean() * np.log(at_risk - lost)
    return total


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_is_that_of_the_partial_likelihood(ties, weighted):
    rng = np.random.default_rng(0)
    _, y = censored(30)
    assert len(np.unique(y.time[y.event])) < y.event.sum()  # there are ties
    f = rng.standard_normal(30)
    weight = rng.uniform(0.5, 2.0, 30) if weighted else np.ones(30)
    _, cumulative, own = baseline_hazard(y.time, y.event, f, weight, ties)
    assert np.all(np.diff(cumulative) > 0)
    Y = np.where(y.event, own, -own)[:, None]
    slope = weight * Hazard().slope(Y, f[:, None])[:, 0]
    for i in range(30):
        step = np.zeros(30)
        step[i] = 1e-6
        ends = [log_partial_likelihood(y.time, y.event, f + s * step, weight, ties) for s in (1, -1)]
        assert -slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_slope_and_overflow():
    rng = np.random.default_rng(0)
    Y, F = rng.standard_normal((40, 1)), 2 * rng.standard_normal((40, 1))
    loss, step = Hazard(), 1e-6
    numeric = (loss.pointwise(Y, F + step) - loss.pointwise(Y, F - step)) / (2 * step)
    assert_allclose(loss.slope(Y, F), numeric, atol=1e-6)
    assert np.isfinite(loss.pointwise(Y, 1e5 * F)).all()


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_the_fit_ends_at_the_minimum_of_the_penalised_partial_likelihood(ties):
    X, y = censored(150)
    model = SPKMSurvival(3, kernel="linear", ties=ties, weight_penalty=None, basis_bounds=None, random_state=0)
    model.fit(X, y)
    _, _, own = baseline_hazard(y.time, y.event, model.predict(X), np.ones(150), ties)
    slope = own * np.exp(model.predict(X)) - y.event
    assert np.abs(X.T @ slope / 150).max() < 5e-3  # without a penalty the gradient in linear coefficients is zero


def test_scores_are_those_of_scikit_survival():
    linear = pytest.importorskip("sksurv.linear_model", reason="scikit-survival is not installed")
    metrics = pytest.importorskip("sksurv.metrics")
    X, y = censored(250)
    other = linear.CoxPHSurvivalAnalysis(ties="breslow").fit(X, y)
    model = SPKMSurvival(
        2, kernel="linear", ties="breslow", weight_penalty=None, basis_bounds=None, random_state=0
    ).fit(X, y)
    assert np.corrcoef(model.predict(X), other.predict(X))[0, 1] > 0.999
    assert model.score(X, y) == pytest.approx(metrics.concordance_index_censored(y.event, y.time, model.predict(X))[0])
    curves = other.predict_survival_function(X, return_array=True)
    ours = model.predict_survival_function(X, times=other.unique_times_)
    assert np.abs(curves - ours).max() < 0.02
    machine = SPKMSurvival(random_state=0).fit(X, y)
    test = censored(250, seed=1)[1]
    times = np.quantile(test.time[test.event], [0.25, 0.5, 0.75])
    brier = metrics.brier_score(y, test, machine.predict_survival_function(censored(250, seed=1)[0], times), times)[1]
    assert np.all(brier < 0.25)  # that of a coin


def test_concordance_by_its_definition():
    rng = np.random.default_rng(0)
    time, event, risk = rng.integers(1, 8, 40).astype(float), rng.random(40) < 0.6, rng.integers(0, 5, 40).astype(float)
    pairs = [
        (i, j)
        for i in range(40)
        for j in range(40)
        if event[i] and (time[j] > time[i] or (time[j] == time[i] and not event[j]))
    ]
    expected = np.mean([1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0 for i, j in pairs])
    assert concordance(time, event, risk) == pytest.approx(expected)
    with pytest.raises(ValueError, match="no pair of samples can be compared"):
        concordance(np.ones(3), np.ones(3, dtype=bool), np.arange(3.0))


def test_curves_rise_and_fall():
    X, y = censored()
    model = SPKMSurvival(random_state=0).fit(X, y)
    assert model.score(*censored(seed=1)) > 0.68
    assert abs(model.predict(X).mean()) < 1e-9
    survival = model.predict_survival_function(X[:5])
    assert survival.shape == (5, len(model.event_times_))
    assert np.all(np.diff(survival, axis=1) <= 0) and np.all((survival >= 0) & (survival <= 1))
    assert_allclose(survival, np.exp(-model.predict_cumulative_hazard_function(X[:5])))
    assert_array_equal(model.predict_survival_function(X[:2], times=[-1.0]), [[1.0], [1.0]])
    order = np.argsort(model.predict(X[:5]))
    assert np.all(np.diff(survival[order], axis=0) <= 1e-12)


def test_weights_selection_and_explanations(tmp_path):
    X, y = censored(120)
    weight = np.random.default_rng(0).integers(0, 3, 120)
    settings = {"n_basis": 3, "weight_penalty": "rkhs", "ties": "breslow", "random_state": 0}
    model = SPKMSurvival(**settings).fit(X, y, sample_weight=weight)
    other = SPKMSurvival(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(model.predict(X), other.predict(X), atol=1e-6)
    strict = SPKMSurvival(3, selection="strict", random_state=0).fit(*censored(300, 8))
    assert 0 in strict.selected_features_ and len(strict.selected_features_) < 8
    values = model.explain(X[:4], X[:30]).values
    assert_allclose(values.sum(axis=(1, 2)), model.predict(X[:4]) - model.predict(X[:30]).mean(), atol=1e-8)
    model.save(tmp_path / "model.spkm")
    again = load(tmp_path / "model.spkm")
    assert_array_equal(again.predict_survival_function(X), model.predict_survival_function(X))


def test_frames_of_two_columns():
    pandas = pytest.importorskip("pandas")
    X, y = censored(80)
    settings = {"n_basis": 2, "weight_penalty": "rkhs", "random_state": 0}
    model = SPKMSurvival(**settings).fit(X, pandas.DataFrame({"days": y.time, "died": y.event}))
    assert_array_equal(model.predict(X), SPKMSurvival(**settings).fit(X, y).predict(X))


def bad(event, time):
    return np.rec.fromarrays([np.asarray(event), np.asarray(time)], names="event,time")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (np.arange(6.0), "y must be a structured array"),
        (bad([True] * 6, [1.0, 2, 3, -4, 5, 6]), "not negative; field 'time' holds .*-4"),
        (bad([True] * 6, [1.0, 2, 3, np.nan, 5, 6]), "must be finite"),
        (bad([False] * 6, np.arange(6.0)), "at least one event"),
        (bad([1, 0, 1, 0, 1, 0], np.arange(6.0)), "one field of truth values and one of numbers"),
        (bad([True] * 5, np.arange(5.0)), "inconsistent numbers of samples"),
    ],
)
def test_bad_targets(y, message):
    X = np.random.default_rng(0).standard_normal((6, 2))
    with pytest.raises(ValueError, match=message):
        SPKMSurvival(2).fit(X, y)


def test_bad_settings():
    X, y = censored(30)
    with pytest.raises(ValueError, match="ties must be one of 'efron', 'breslow'"):
        SPKMSurvival(ties="exact").fit(X, y)
    model = SPKMSurvival(2, weight_penalty="rkhs", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="times must be a sequence of numbers"):
        model.predict_survival_function(X, times=[[1.0]])
    with pytest.raises(ValueError, match="same number of samples; got 30 and 29"):
        model.score(X, y[:29])
