"""Censored times: the loss, the baseline, concordance, and the partial likelihood that they end at."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import type_of_target

from spkm import SPKMSurvival, load
from spkm.losses import Hazard, Times, baseline_hazard, concordance, weibull_hazard
from tests.saving import from_bytes, to_bytes


def censored(n=200, d=4, seed=0, decimals=1):
    """Return samples, and times of a hazard exp(x0 + x1^2 / 2), rounded so that there are ties."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    time = rng.exponential(np.exp(-X[:, 0] - 0.5 * X[:, 1] ** 2))
    end = rng.uniform(0.3, 3.0, n)
    y = np.rec.fromarrays([time <= end, np.round(np.minimum(time, end), decimals)], names="event,time")
    return X, y


def log_partial_likelihood(times, f, weight, ties):
    """Return the logarithm of the partial likelihood, by its definition."""
    time, event, entry, _ = times
    entered = np.full(len(time), -np.inf) if entry is None else entry
    total = 0.0
    for t in np.unique(time[event]):
        dying = np.flatnonzero(event & (time == t))
        at_risk = float((weight * np.exp(f))[(time >= t) & (entered < t)].sum())
        dead = float((weight * np.exp(f))[dying].sum())
        total += float(weight[dying] @ f[dying])
        for k in range(len(dying)):
            lost = k / len(dying) * dead if ties == "efron" else 0.0
            total -= weight[dying].mean() * np.log(at_risk - lost)
    return total


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("truncated", [False, True])
def test_the_slope_is_that_of_the_partial_likelihood(ties, weighted, truncated):
    rng = np.random.default_rng(0)
    _, y = censored(30)
    assert len(np.unique(y.time[y.event])) < y.event.sum()  # there are ties
    f = rng.standard_normal(30)
    weight = rng.uniform(0.5, 2.0, 30) if weighted else np.ones(30)
    entry = np.where(rng.random(30) < 0.5, 0.3 * y.time, 0.0) - 0.01 if truncated else None
    times = Times(y.time, y.event, entry)
    baseline = baseline_hazard(times, f, weight, ties)
    assert np.all(np.diff(baseline.cumulative) > 0)
    own = baseline.of_samples(times)
    Y = np.where(y.event, own, -own)[:, None]
    slope = weight * Hazard().slope(Y, f[:, None])[:, 0]
    for i in range(30):
        step = np.zeros(30)
        step[i] = 1e-6
        ends = [log_partial_likelihood(times, f + s * step, weight, ties) for s in (1, -1)]
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
    times = Times(y.time, y.event)
    own = baseline_hazard(times, model.predict(X), np.ones(150), ties).of_samples(times)
    slope = own * np.exp(model.predict(X)) - y.event
    assert np.abs(X.T @ slope / 150).max() < 5e-3  # without a penalty the gradient in linear coefficients is zero


class OfNumbers(SPKMSurvival):
    """The estimator with targets as the checks of scikit-learn have them: each number becomes the time of an event."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, as_events(y), sample_weight)

    def score(self, X, y=None):
        return super().score(X, as_events(y))


def as_events(y):
    if y is None:
        return None
    y = np.asarray(y)
    type_of_target(y, raise_unknown=True)
    time = np.exp(np.ravel(np.real(y)).astype(float) / 100)  # positive, in the same order
    return np.rec.fromarrays([np.ones(len(time), dtype=bool), time], names="event,time")


# With Efron's ties a sample that is there twice is a tie with itself, so that a weight of two is another model.
@parametrize_with_checks([OfNumbers(n_basis=4, ties="breslow", weight_penalty="rkhs", max_iter=5)])
@pytest.mark.filterwarnings("ignore:.* stopped after 5 iterations")
def test_scikit_learn(estimator, check):
    check(estimator)


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


def test_areas_under_time_dependent_curves():
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    X, y = censored(250)
    new, test = (table[censored(250, seed=1)[1].time < 2.0] for table in censored(250, seed=1))
    assert y.time[~y.event].max() > 2.0  # weights of censoring are known for all new samples
    model = SPKMSurvival(random_state=0).fit(X, y)
    times = np.quantile(test.time[test.event], [0.25, 0.5, 0.75])
    by_score, mean = metrics.cumulative_dynamic_auc(y, test, model.predict(new), times)
    by_curve, _ = metrics.cumulative_dynamic_auc(y, test, model.predict_cumulative_hazard_function(new, times), times)
    assert_allclose(by_curve, by_score, atol=1e-12)  # hazards are proportional: one order of samples at all times
    # Without censoring it is the area under the curve of those with an event by then against the others.
    uncensored = np.rec.fromarrays([np.ones(len(test), dtype=bool), test.time], names="event,time")
    area = metrics.cumulative_dynamic_auc(uncensored, uncensored, model.predict(new), times[:1])[0][0]
    assert area == pytest.approx(roc_auc_score(test.time <= times[0], model.predict(new)), abs=1e-12)
    assert mean > 0.7


@pytest.mark.parametrize("late", [False, True])
def test_concordance_by_its_definition(late):
    rng = np.random.default_rng(0)
    time, event, risk = rng.integers(1, 8, 40).astype(float), rng.random(40) < 0.6, rng.integers(0, 5, 40).astype(float)
    entry = np.floor(time * rng.random(40)) if late else np.full(40, -1.0)
    pairs = [
        (i, j)
        for i in range(40)
        for j in range(40)
        if event[i] and (time[j] > time[i] or (time[j] == time[i] and not event[j])) and entry[j] < time[i]
    ]
    expected = np.mean([1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0 for i, j in pairs])
    assert concordance(time, event, risk, entry if late else None) == pytest.approx(expected)
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
    by_scores = model.survival_of_scores(model.predict(X[:2]).tolist(), [0.5, 1.0])
    assert_array_equal(by_scores, model.predict_survival_function(X[:2], times=[0.5, 1.0]))
    order = np.argsort(model.predict(X[:5]))
    assert np.all(np.diff(survival[order], axis=0) <= 1e-12)


def test_weights_selection_and_explanations(tmp_path):
    X, y = censored(120)
    weight = np.random.default_rng(0).integers(0, 3, 120)
    # With one minimum: a descent may turn the last bits of its sums into another one of several.
    weighted = plain(ties="breslow").fit(X, y, sample_weight=weight)
    repeated = plain(ties="breslow").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)  # the root of what tol leaves of the objective
    model = SPKMSurvival(3, weight_penalty="rkhs", ties="breslow", random_state=0).fit(X, y, sample_weight=weight)
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


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("names", [["died", "days"], ["days", "died"]])
def test_columns_of_frames_are_found_by_their_types(kind, names):
    """A time of 0 or 1 is no event, whatever comes first."""
    package = pytest.importorskip(kind)
    y = censored(80, decimals=0)[1]
    columns = {"died": y.event, "days": np.minimum(y.time, 1.0)}
    frame = (package.table if kind == "pyarrow" else package.DataFrame)({name: columns[name] for name in names})
    found = SPKMSurvival().times_of(frame)
    assert_array_equal(found.time, columns["days"])
    assert_array_equal(found.event, columns["died"])


def plain(**settings):
    """Return an estimator whose minimum does not depend on its start: a linear one."""
    return SPKMSurvival(3, kernel="linear", weight_penalty="rkhs", tol=1e-9, random_state=0, **settings)


def in_chunks(X, y, size=70):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("n", [400, 20_400])  # more than are kept in memory
def test_chunks_give_the_fit_of_the_array(ties, n):
    X, y = censored(n, 3)
    array = plain(ties=ties).fit(X, y)
    stream = plain(ties=ties).fit(in_chunks(X, y, n // 5))
    assert_allclose(stream.predict(X), array.predict(X), atol=1e-4)
    assert_array_equal(stream.event_times_, array.event_times_)
    assert_allclose(stream.baseline_hazard_, array.baseline_hazard_, rtol=1e-4)
    numbers = np.column_stack([y.time, y.event])
    assert_array_equal(plain(ties=ties).fit(in_chunks(X, numbers, n // 5)).predict(X), stream.predict(X))
    parts = list(stream.predict_chunks([X[:10], X[10:30]], method="predict_survival_function"))
    assert_allclose(np.concatenate(parts), stream.predict_survival_function(X[:30]), rtol=1e-9)


def test_machines_of_chunks_are_as_good():
    X, y = censored(600)
    new = censored(300, seed=1)
    settings = {"n_basis": 4, "random_state": 0}
    stream = SPKMSurvival(**settings).fit(in_chunks(X, y, 200))
    assert stream.score(*new) == pytest.approx(SPKMSurvival(**settings).fit(X, y).score(*new), abs=0.02)


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas", "polars", "lazy", "dask"])
def test_named_columns_of_all_tables(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = censored(150)
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(days=y.time, died=y.event, w=1.0 + np.arange(150) % 2)
    array = plain().fit(X, y, frame["w"].to_numpy())
    table = frame
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / "t.parquet", row_group_size=40)
        table = tmp_path / "t.parquet"
    elif kind == "csv":
        pytest.importorskip("pyarrow")
        frame.assign(died=frame["died"].astype(int)).to_csv(tmp_path / "t.csv", index=False)
        table = str(tmp_path / "*.csv")
    elif kind in ("polars", "lazy"):
        table = pytest.importorskip("polars").from_pandas(frame)
        table = table.lazy() if kind == "lazy" else table
    elif kind == "dask":
        table = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)
    model = plain().fit(table, target=("days", "died"), weight="w")
    assert model.feature_names_in_.tolist() == list("abcd")
    assert_allclose(model.predict(frame[list("abcd")]), array.predict(X), atol=1e-4)


def test_left_truncation():
    X, y = censored(400, decimals=6)
    late = np.random.default_rng(1).uniform(0.0, 0.5, 400)
    seen = late < y.time
    truncated = np.rec.fromarrays([y.event[seen], y.time[seen], late[seen]], names="event,time,entry")
    model = plain().fit(X[seen], truncated)
    times, ones = Times(y.time[seen], y.event[seen], late[seen]), np.ones(seen.sum())
    by_definition = minimize(lambda w: -log_partial_likelihood(times, X[seen] @ w, ones, "breslow"), np.zeros(4))
    assert np.corrcoef(X[seen] @ by_definition.x, model.predict(X[seen]))[0, 1] > 0.999
    streamed = plain().fit(in_chunks(X[seen], truncated))
    assert_allclose(streamed.predict(X), model.predict(X), atol=1e-4)
    # Pairs that were never at risk together do not count.
    assert concordance(np.array([1.0, 2.0, 3.0]), np.ones(3, bool), np.array([1.0, 2.0, 0.0]), np.array([0, 1, 0])) == 1


def test_views_and_bad_chunks():
    X, y = censored(150)
    views = SPKMSurvival(2, views={"left": [0, 1], "right": [2, 3]}, random_state=0).fit(X, y)
    assert views.view_usage_["left"].share > views.view_usage_["right"].share and views.score(X, y) > 0.65
    tables = SPKMSurvival(2, random_state=0).fit({"left": X[:, :2], "right": X[:, 2:]}, y)
    assert_allclose(tables.predict({"left": X[:, :2], "right": X[:, 2:]}), views.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match=r"not negative; got -1\.0"):
        plain().fit([(X, bad(y.event, np.where(np.arange(150) == 99, -1.0, y.time)))])
    with pytest.raises(ValueError, match="at least one event"):
        plain().fit([(X, bad(np.zeros(150, bool), y.time))])
    with pytest.raises(ValueError, match="selection='strict' needs samples in memory"):
        SPKMSurvival(2, selection="strict").fit(in_chunks(X, y))


def bad(event, time):
    return np.rec.fromarrays([np.asarray(event), np.asarray(time)], names="event,time")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (np.arange(6.0), "y must be a structured array"),
        (bad([True] * 6, [1.0, 2, 3, -4, 5, 6]), "not negative; got -4.0"),
        (bad([True] * 6, [1.0, 2, 3, np.nan, 5, 6]), "must be finite"),
        (bad([False] * 6, np.arange(6.0)), "at least one event"),
        (bad([1, 0, 1, 0, 1, 0], np.arange(6.0)), "one field of truth values and one of numbers"),
        (bad([True] * 5, np.arange(5.0)), "inconsistent numbers of samples"),
        (np.column_stack([np.ones(6), np.arange(6.0)]), "second column of y must be 1 .* got 2.0"),
        (np.array([["soon", "yes"]] * 6), "must hold numbers: time, event"),
        (np.ones((6, 3)), "before the times of y; got entry 1.0 and time 1.0"),
        (np.column_stack([np.ones((6, 2)), -np.ones(6)]), "entry of y must be finite and not negative; got -1.0"),
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
    with pytest.raises(ValueError, match="times must not hold NaN"):
        model.predict_survival_function(X, [np.nan])
    with pytest.raises(ValueError, match="same number of samples; got 30 and 29"):
        model.score(X, y[:29])


def weibull_times(n=400, shape=2.0, scale=3.0, seed=0):
    """Return samples and censored times of the hazard exp(x0) (t / scale) ** shape."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    time = scale * (rng.exponential(size=n) * np.exp(-X[:, 0])) ** (1 / shape)
    end = rng.uniform(1.0, 8.0, n)
    return X, np.rec.fromarrays([time <= end, np.minimum(time, end)], names="event,time")


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_weibull_baseline_has_the_highest_likelihood(truncated, weighted):
    X, y = weibull_times()
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    times = Times(y.time, y.event, 0.3 * y.time * (rng.random(len(X)) < 0.5) if truncated else None)
    found = weibull_hazard(times, X[:, 0], weight)

    def log_likelihood(shape, scale):
        log_hazard = np.log(shape / scale) + (shape - 1) * np.log(y.time / scale) + X[:, 0]
        return weight @ (y.event * log_hazard - np.exp(X[:, 0]) * type(found)(shape, scale).of_samples(times))

    best = log_likelihood(*found)
    for factors in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99)):
        assert log_likelihood(found.shape * factors[0], found.scale * factors[1]) < best
    if not truncated:
        assert_allclose(found, (2.0, 3.0), rtol=0.1)


def test_weibull_curves_go_on_and_have_absolute_times(tmp_path):
    X, y = weibull_times()
    model = SPKMSurvival(4, baseline="weibull", random_state=0).fit(X, y)
    assert_allclose(model.weibull_, (2.0, 3.0), rtol=0.2)
    later = 2 * model.event_times_[-1]
    curves = model.predict_survival_function(X, [model.event_times_[-1], later])
    assert np.all(curves[:, 1] < curves[:, 0])
    medians = model.predict_time(X)
    assert_allclose([model.predict_survival_function(X[i : i + 1], [medians[i]])[0, 0] for i in range(5)], 0.5)
    assert_allclose(medians, 3.0 * (np.log(2) * np.exp(-X[:, 0])) ** 0.5, rtol=0.6)
    steps = SPKMSurvival(4, random_state=0).fit(X, y)
    assert np.corrcoef(steps.predict(X), model.predict(X))[0, 1] > 0.99
    assert_allclose(model.baseline_hazard_[:-20], steps.baseline_hazard_[:-20], atol=0.2)  # few are left at the end
    model.save(tmp_path / "model.spkm")
    again = load(tmp_path / "model.spkm")
    assert_array_equal(again.predict_survival_function(X[:3], [later]), model.predict_survival_function(X[:3], [later]))
    assert_array_equal(again.predict_time(X[:3]), medians[:3])
    assert not hasattr(model.set_params(baseline="steps").fit(X, y), "weibull_")


def test_time_of_a_step_is_the_first_event_that_reaches_it():
    X, y = weibull_times(100)
    model = SPKMSurvival(3, random_state=0).fit(X, y)
    times, curves = model.predict_time(X, 0.6), model.predict_survival_function(X)
    for time, curve in zip(times, curves, strict=True):
        below = model.event_times_[curve <= 0.6]
        assert time == (below[0] if len(below) else np.inf)


def test_streams_have_the_weibull_baseline_of_tables():
    X, y = weibull_times(200)
    model, streamed = (plain(baseline="weibull").fit(*given) for given in ((X, y), (in_chunks(X, y),)))
    assert_allclose(streamed.weibull_, model.weibull_, rtol=1e-3)


def test_weibull_baseline_reads_no_time_without_weight():
    y = weibull_times(50)[1]
    times, risk, weight = Times(y["time"], y["event"]), np.zeros(50), np.ones(50)
    want = weibull_hazard(times, risk, weight)
    late = Times(np.append(times.time, 1e6), np.append(times.event, True))
    assert weibull_hazard(late, np.zeros(51), np.append(weight, 0.0)) == want


def test_a_weibull_baseline_whose_scale_is_infinite_is_refused():
    # Few events late, beside a sample that was there for long: the likelihood rises until the shape is zero.
    times = Times(
        np.array([1.3, 0.02, 272.0, 0.035]), np.array([True, True, False, True]), np.array([0.5, 0.01, 3.7, 0.027])
    )
    with pytest.raises(ValueError, match=r"no finite scale .* Use baseline='steps'"):
        weibull_hazard(times, np.zeros(4), np.ones(4))


@pytest.mark.parametrize("baseline", ["steps", "weibull"])
@pytest.mark.parametrize("attribute", ["event_times_", "baseline_hazard_", "weibull_"])
def test_files_with_a_broken_baseline_are_refused(baseline, attribute):
    X, y = weibull_times(60)
    model = SPKMSurvival(2, baseline=baseline, max_iter=30, tol=1e-2, random_state=0).fit(X, y)
    assert from_bytes(to_bytes(model)).predict_time(X).shape == (60,)
    given = getattr(model, attribute, np.ones(2))
    for broken in (np.r_[given[:-1], np.nan], np.r_[np.nan, given[1:]], np.r_[given[:-1], np.inf], given[:-1], -given):
        setattr(model, attribute, broken)
        with pytest.raises(ValueError, match="baseline hazard is none"):
            to_bytes(model)


def test_weibull_bad_input():
    X, y = weibull_times(50)
    with pytest.raises(ValueError, match="baseline must be one of 'steps', 'weibull'; got 'cox'"):
        SPKMSurvival(baseline="cox").fit(X, y)
    y.time[np.flatnonzero(y.event)[0]] = 0.0
    with pytest.raises(ValueError, match="needs positive times of events; got 0"):
        SPKMSurvival(3, baseline="weibull").fit(X, y)
    y.time[:] = np.where(y.event, 5.0, y.time)
    y.time[~y.event] = 1.0
    assert weibull_hazard(Times(y.time, y.event), np.zeros(50), np.ones(50)).shape > 100  # all events at once
    model = SPKMSurvival(3, random_state=0).fit(*weibull_times(50))
    for bad in (0, 1.0, -0.5, "half"):
        with pytest.raises(ValueError, match="survival must be"):
            model.predict_time(X, bad)


@pytest.mark.filterwarnings("ignore:LBFGS stopped after:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_repeats_and_order_do_not_matter_to_the_bit(ties, dtype):
    # Whole weights are repeats with Breslow's ties. An event that is there twice is a tie with itself for Efron's.
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3)).astype(dtype)
    time = np.ceil(4 * rng.exponential(np.exp(-X[:, 0])))
    y = np.rec.fromarrays([rng.random(60) < 0.7, time], names="event,time")
    weight = rng.integers(0, 4, 60)
    often = np.repeat(np.arange(60), weight)
    model = SPKMSurvival(3, ties=ties, weight_penalty="rkhs", max_iter=15, random_state=0)
    scores, hazards = [], []
    copies = [(X[rows], y[rows], None) for rows in (often, rng.permutation(often))]
    for table, target, own in [*copies, *([(X, y, weight)] if ties == "breslow" else [])]:
        fitted = clone(model).fit(table, target, sample_weight=own)
        scores.append(fitted.predict(X))
        hazards.append(fitted.baseline_hazard_)
    for other, hazard in zip(scores[1:], hazards[1:], strict=True):
        assert np.array_equal(other, scores[0]) and np.array_equal(hazard, hazards[0])
