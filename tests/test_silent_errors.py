"""What once gave wrong answers without a word: sparse columns, weights, tables, dates, losses, sizes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressor
from spkm.losses import LOSSES, SumLoss
from tests.small_data import curve, two_classes

QUICK = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


# Sparse samples are dense ones that are stored otherwise


@pytest.mark.parametrize(
    ("scale", "shift"),
    [(True, 0.0), (True, 10.0), (True, -1e3), (True, 1e6), ("common", 10.0), ("common", 1e6), (False, 0.0)],
)
def test_sparse_samples_with_shifted_columns_are_as_dense_ones(scale, shift):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X[:, 0] + X[:, 1] > 0
    X[:, 0] += shift
    # Of classes that a line parts, folds find all weak penalties equally good: the default says the same classes, by
    # scores of another size. With a fixed penalty sums in another order move the minimum by about the root of the
    # solver's tolerance.
    for penalty in ("auto", "rkhs"):
        model = SPKMClassifier(scale=scale, weight_penalty=penalty, **QUICK)
        dense = model.fit(X, y).decision_function(X)
        stored = model.fit(sparse.csr_array(X), y).decision_function(sparse.csr_array(X))
        assert np.mean((dense > 0) != (stored > 0)) <= 0.01
    np.testing.assert_allclose(stored, dense, rtol=0, atol=0.02 * np.abs(dense).max())


def test_one_hot_columns_beside_an_age():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    age = rng.normal(60, 5, 300)
    town = rng.choice(list("abcdefgh"), 300)
    y = (age > 60) ^ (town == "a")
    frame = pd.DataFrame({"town": town, "age": age})
    scores = {}
    for name, threshold in (("dense", 0.0), ("sparse", 1.0)):
        columns = make_column_transformer(
            (OneHotEncoder(sparse_output=True), ["town"]), ("passthrough", ["age"]), sparse_threshold=threshold
        )
        model = make_pipeline(columns, SPKMClassifier(10, random_state=0, n_jobs=1)).fit(frame, y)
        assert sparse.issparse(model[0].transform(frame)) == (name == "sparse")
        scores[name] = model.score(frame, y)
    assert min(scores.values()) > 0.9
    assert scores["sparse"] == pytest.approx(scores["dense"], abs=0.05)


# Weights


def fitted(X, y, weight, **params):
    return SPKMRegressor(**QUICK, max_iter=15, tol=1e-6, **params).fit(X, y, sample_weight=weight).predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    factor=st.floats(1e-300, 1e300),
    penalty=st.sampled_from(["auto", "rkhs"]),
)
def test_only_the_ratios_of_weights_count(seed, factor, penalty):
    X, y = curve(40)
    weight = np.random.default_rng(seed).uniform(0.1, 1.0, len(y)) + 1e-3
    scale = np.float64(2.0) ** np.round(np.log2(factor) / 2)  # a power of two rounds nothing
    base = fitted(X, y, weight, weight_penalty=penalty)
    np.testing.assert_allclose(fitted(X, y, weight * scale, weight_penalty=penalty), base, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), penalty=st.sampled_from(["auto", "rkhs"]))
def test_whole_weights_are_repeats(seed, penalty):
    X, y = curve(40)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    weight[:8] = 1
    repeated = np.repeat(np.arange(len(y)), weight)
    model = SPKMRegressor(**QUICK, max_iter=15, weight_penalty=penalty)
    by_weight = model.fit(X, y, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(model.fit(X[repeated], y[repeated]).predict(X), by_weight)


@pytest.mark.parametrize("total", [1.0, 1e-300, 1e300])
@pytest.mark.parametrize("make", [SPKMRegressor, SPKMClassifier])
def test_weights_that_sum_to_one_fit_as_weights_of_one(make, total):
    X, y = curve() if make is SPKMRegressor else two_classes()
    model = make(**QUICK)
    plain = model.fit(X, y).score(X, y)
    assert model.fit(X, y, sample_weight=np.full(len(y), total / len(y))).score(X, y) == pytest.approx(plain, abs=0.02)
    assert plain > 0.9


def test_boosting_hands_over_weights_that_sum_to_one():
    X, y = curve()
    boosted = AdaBoostRegressor(SPKMRegressor(**QUICK), n_estimators=2, random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.9


# A dict of tables


def tables(pd):
    rng = np.random.default_rng(0)
    left = pd.DataFrame(rng.standard_normal((60, 2)), columns=["a", "b"])
    right = pd.DataFrame(rng.standard_normal((60, 2)) * 9, columns=["c", "d"])
    return {"left": left, "right": right}, (left["a"] + right["c"] > 0).to_numpy()


def test_tables_of_a_dict_keep_the_order_and_the_width_of_their_columns():
    pd = pytest.importorskip("pandas")
    X, y = tables(pd)
    clf = SPKMClassifier(**QUICK).fit(X, y)
    wrong = {
        r"X\['left'\] must be named, and ordered": {**X, "left": X["left"][["b", "a"]]},
        r"X\['left'\] must have the 2 columns of the fit; got 1": {
            "left": X["left"][["a"]],
            "right": X["right"].assign(e=1.0),
        },
        r"X\['right'\] must be named": {**X, "right": X["right"].rename(columns={"c": "z"})},
        "X must be a dict with a table for each view": {"left": X["left"]},
        "same number of rows": {**X, "right": X["right"][:-1]},
    }
    for message, other in wrong.items():
        with pytest.raises(ValueError, match=message):
            clf.predict(other)
    other_order = {"right": X["right"], "left": X["left"]}
    np.testing.assert_array_equal(clf.decision_function(other_order), clf.decision_function(X))


def test_keys_that_are_no_names_are_refused():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"names, which are strings, to tables; got the keys \[0, 1\]"):
        SPKMClassifier(**QUICK).fit({0: X, 1: X}, y)


# Dates


def frames_of_dates():
    days = np.datetime64("2024-01-01") + np.arange(20)
    yield "numpy", np.column_stack([days, days])
    yield "spans", np.column_stack([days, days]) - days[0]
    yield "objects", np.array([[1.0, day] for day in days.astype(object)], dtype=object)
    for name, late in {
        "late object": days.astype(object)[0],
        "late date": days[0],
        "late span": days[1] - days[0],
    }.items():
        X = np.full((20, 2), 1.0, dtype=object)
        X[19, 1] = late
        yield name, X
    yield "lists", [[day, day] for day in days]


@pytest.mark.parametrize("kind", ["numpy", "spans", "objects", "late object", "late date", "late span", "lists"])
def test_dates_are_no_numbers(kind):
    X = dict(frames_of_dates())[kind]
    with pytest.raises((TypeError, ValueError), match=r"X must hold numbers; .* Turn dates into numbers first"):
        SPKMClassifier(**QUICK).fit(X, np.arange(20) % 2)


def test_dates_are_no_targets_of_regression():
    """They would be counted in units that nobody sees, and predictions could not be read."""
    days = np.arange("2020-01-01", "2020-02-10", dtype="M8[D]")
    for y in (days, days - days[0]):
        with pytest.raises(ValueError, match="y must hold numbers"):
            SPKMRegressor(**QUICK).fit(np.arange(40.0)[:, None], y)


@pytest.mark.parametrize("lib", ["pandas", "polars"])
@pytest.mark.parametrize("kind", ["days", "zone", "span"])
def test_dates_in_frames_are_no_numbers(lib, kind):
    frames = pytest.importorskip(lib)
    days = np.array(np.datetime64("2024-01-01") + np.arange(20), dtype="datetime64[us]")
    column = days - days[0] if kind == "span" else days
    frame = frames.DataFrame({"size": np.arange(20.0), "when": column})
    if kind == "zone":
        if lib == "pandas":
            frame["when"] = frame["when"].dt.tz_localize("UTC")
        else:
            frame = frame.with_columns(frames.col("when").cast(frames.Date))
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match=r"column 'when' holds dates .* Turn dates into numbers first"):
        SPKMClassifier(**QUICK).fit(frame, y)
    model = SPKMClassifier(**QUICK).fit(frame.assign(when=0.0) if lib == "pandas" else frame.with_columns(when=0.0), y)
    with pytest.raises(ValueError, match=r"column 'when' holds dates"):
        model.predict(frame)


# Losses and sizes


class Misspelt(SumLoss):
    """A loss of classes whose author forgot a letter."""

    target = "sign"

    def pointwise(self, Y, F):
        return (F - Y) ** 2

    def slope(self, Y, F):
        return 2 * (F - Y)


@pytest.mark.parametrize("make", [SPKMClassifier, SPKMRegressor])
def test_a_misspelt_kind_of_target_is_refused(make):
    with pytest.raises(ValueError, match="target of loss must be 'real' or 'signs'; got 'sign'"):
        make(loss=Misspelt(), **QUICK).fit(*two_classes())


@pytest.mark.parametrize("make", [SPKMClassifier, SPKMClassifierCV])
@pytest.mark.parametrize("loss", ["quantile", "poisson", LOSSES["quantile"]()])
def test_a_loss_of_numbers_is_none_of_classes(make, loss):
    with pytest.raises(ValueError, match="is for real targets"):
        make(loss=loss).fit(*two_classes())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [SPKMClassifier, SPKMRegressor])
def test_more_vectors_than_samples_are_told_of(make):
    X, y = two_classes(50)
    with pytest.warns(UserWarning, match="n_basis=500 is more than the 50 different samples"):
        make(500, max_iter=1, n_jobs=1, random_state=0).fit(X, y)
