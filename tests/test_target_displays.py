"""Displays of survival curves and of the score of ordered classes: the numbers behind them are the estimator's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.pipeline import make_pipeline

from spkm import SPKMOrdinalClassifier, SPKMRegressor, SPKMSurvival, TableEncoder
from spkm.inspection import DecisionMapDisplay, OrderDisplay, SurvivalCalibrationDisplay, SurvivalDisplay

pd = pytest.importorskip("pandas")
plt = pytest.importorskip("matplotlib.pyplot")
LEVELS = ["low", "mid", "high"]
QUICK = {"n_basis": 3, "weight_penalty": "rkhs", "random_state": 0}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def table(n=120):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, n), "sex": rng.choice(["f", "m"], n)})
    f = (frame["age"] - 50) / 20 + (frame["sex"] == "m")
    time, end = rng.exponential(np.exp(-f)), rng.uniform(0.2, 3, n)
    y = np.rec.fromarrays([time <= end, np.minimum(time, end)], names="event,time")
    return frame, y, np.array(LEVELS)[np.digitize(f + 0.5 * rng.logistic(size=n), [0.0, 1.0])]


@pytest.fixture(scope="module")
def survival():
    frame, y, _ = table()
    return make_pipeline(TableEncoder(), SPKMSurvival(**QUICK)).fit(frame, y)


def test_curves_of_samples_vectors_and_what_if(survival):
    frame, _, _ = table()
    encoder, model = survival.named_steps.values()
    curves = SurvivalDisplay.from_estimator(survival, frame[:4], times=[0.5, 1.0])
    wanted = model.predict_survival_function(encoder.transform(frame[:4]), [0.5, 1.0])
    assert_allclose(curves.survival, wanted)
    assert_allclose(curves.frame()["survival"], wanted.ravel())
    assert_allclose(curves.usual, model.survival_of_scores(np.zeros(1), np.array([0.5, 1.0]))[0])
    vectors = SurvivalDisplay.from_estimator(survival)
    assert_allclose(vectors.survival, model.predict_survival_function(model.basis_vectors_), rtol=1e-6)
    assert vectors.curve_names == [f"u{r}" for r in range(len(model.basis_vectors_))]
    changed = SurvivalDisplay.from_estimator(survival, frame[:1], feature="age", values=[30, 60])
    for k, age in enumerate((30, 60)):
        wanted = model.predict_survival_function(encoder.transform(frame[:1].assign(age=age)))
        assert_allclose(changed.survival[k], wanted[0])
    assert changed.curve_names == ["age = 30", "age = 60"]
    sexes = SurvivalDisplay.from_estimator(
        survival, frame[:1], feature="sex", values=["f", "m"], names=["woman", "man"]
    )
    assert [text.get_text() for text in sexes.ax_.get_legend().get_texts()] == ["usual", "woman", "man"]


@pytest.mark.parametrize("kind", ["polars", "sparse"])
def test_what_if_of_other_tables(kind):
    frame, y, _ = table()
    numbers = frame.assign(sex=(frame["sex"] == "m") * 1.0)
    if kind == "polars":
        X, feature = pytest.importorskip("polars").DataFrame(numbers.to_dict("list")), "age"
    else:
        X, feature = sparse.csr_array(numbers.to_numpy()), 0
    model = SPKMSurvival(**QUICK).fit(X, y)
    shown = SurvivalDisplay.from_estimator(model, X[:1], feature=feature, values=[30.0, 60.0])
    rows = np.array([[30.0, numbers["sex"][0]], [60.0, numbers["sex"][0]]])
    assert_allclose(shown.survival, model.survival_of_scores(model.model_.scores(rows)[:, 0], model.event_times_))
    with pytest.raises(ValueError, match="must be a column of X; got 7"):
        SurvivalDisplay.from_estimator(model, X[:1], feature=7, values=[1.0])


def test_a_vector_without_some_features_is_at_their_centre():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 4)) + 5
    y = np.rec.fromarrays([np.ones(100, bool), rng.exponential(np.exp(5 - X[:, 0]))], names="event,time")
    model = SPKMSurvival(2, views={"left": [0, 1], "right": [2, 3]}, weight_penalty="rkhs", random_state=0).fit(X, y)
    assert np.isnan(model.basis_vectors_).any()
    assert np.isfinite(SurvivalDisplay.from_estimator(model).survival).all()
    arrays = SurvivalDisplay.from_estimator(model, X[:1], feature=0, values=[4.0, 6.0])
    assert np.all(arrays.survival[0] >= arrays.survival[1])


def test_calibration(survival):
    frame, y, _ = table()
    shown = SurvivalCalibrationDisplay.from_estimator(survival, frame, y, times=[0.5, 1.0], n_groups=4)
    found = shown.frame()
    assert found["time"].tolist() == [0.5] * 4 + [1.0] * 4 and found.groupby("time")["n_samples"].sum().eq(120).all()
    assert np.all(found["low"] <= found["observed"]) and np.all(found["observed"] <= found["high"])
    assert len(shown.axes_) == 2
    assert len(SurvivalCalibrationDisplay.from_estimator(survival, frame, y).times) == 3


def test_the_score_axis():
    frame, _, grades = table()
    model = make_pipeline(TableEncoder(), SPKMOrdinalClassifier(order=LEVELS, **QUICK)).fit(frame, grades)
    shown = OrderDisplay.from_estimator(model, frame, grades)
    found = shown.frame()
    assert found["class"].tolist() == grades.tolist() and found["predicted"].tolist() == model.predict(frame).tolist()
    assert_allclose(found["score"], model[-1].latent_score(model[0].transform(frame)))
    assert_allclose(shown.probabilities.sum(axis=1), 1)
    assert [label.get_text() for label in shown.axes_[1].get_yticklabels()] == LEVELS


def test_a_map_of_ordered_classes_does_not_depend_on_their_names():
    X = np.random.default_rng(0).standard_normal((80, 2))
    code = np.digitize(X[:, 0], [-0.5, 0.5])
    maps = []
    for y, order in ((code, None), (np.array(LEVELS)[code], LEVELS)):
        model = SPKMOrdinalClassifier(order=order, **QUICK).fit(X, y)
        maps.append(DecisionMapDisplay.from_estimator(model, X, y, features=[0, 1], n_points=10))
    np.testing.assert_array_equal(maps[0].decisions, maps[1].decisions)
    np.testing.assert_array_equal(maps[1].codes, code)
    with pytest.raises(ValueError, match="must hold labels of the fit"):
        DecisionMapDisplay.from_estimator(model, X, np.full(80, "none"), features=[0, 1])


def test_bad_arguments(survival):
    frame, _, grades = table()
    other = SPKMRegressor(2, random_state=0).fit(frame[["age"]], frame["age"])
    with pytest.raises(TypeError, match="those of an SPKMSurvival; got SPKMRegressor"):
        SurvivalDisplay.from_estimator(other)
    with pytest.raises(TypeError, match="OrderDisplay is for ordered classes; got SPKMRegressor"):
        OrderDisplay.from_estimator(other, frame[["age"]], grades)
    with pytest.raises(ValueError, match="go together, with one sample"):
        SurvivalDisplay.from_estimator(survival, frame[:2], feature="age", values=[1])
    with pytest.raises(ValueError, match="must be a column of X; got 'weight'"):
        SurvivalDisplay.from_estimator(survival, frame[:1], feature="weight", values=[1])
    with pytest.raises(ValueError, match="times must not hold NaN"):
        SurvivalDisplay.from_estimator(survival, frame[:2], times=[0.5, np.nan])
    with pytest.raises(ValueError, match=r"sequence of numbers; got shape \(1, 2\)"):
        SurvivalDisplay.from_estimator(survival, frame[:2], times=[[0.5, 1.0]])
    with pytest.raises(ValueError, match="at most 10 samples"):
        SurvivalDisplay.from_estimator(survival, frame[:11])
    with pytest.raises(ValueError, match="an entry for each of the 2 curves; got 1"):
        SurvivalDisplay.from_estimator(survival, frame[:2], names=["a"])
    ordinal = make_pipeline(TableEncoder(), SPKMOrdinalClassifier(order=LEVELS, **QUICK)).fit(frame, grades)
    with pytest.raises(ValueError, match="'other'"):
        OrderDisplay.from_estimator(ordinal, frame[:1], ["other"])
    with pytest.raises(ValueError, match="1 labels for 2 samples"):
        OrderDisplay.from_estimator(ordinal, frame[:2], ["low"])
