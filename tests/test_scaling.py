"""Scaling: scikit-learn's numbers, weights as repeats, and CSR rows as dense ones up to a shift."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from spkm import SPKMClassifier, SPKMRegressor
from spkm.kernels import RBF
from spkm.sources import Scaling, fit_scaling
from tests import cases

N = 157
X = cases.rows(N)
WEIGHT = cases.frozen(np.random.default_rng(0).random(N) + 0.1)
SPARSE = cases.frozen(np.where(np.random.default_rng(1).random(X.shape) < 0.5, 0.0, X))
SCALING = Scaling(cases.frozen(np.array([0.1, -0.2, 0.3, 0.0])), cases.frozen(np.array([0.5, 1.0, 2.0, 1.5])))


def identity_of(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@pytest.mark.parametrize("times", [1, 250], ids=["157 samples", "39,250 samples"])  # a megabyte is looked at together
def test_scaling_equals_that_of_scikit_learn(times):
    X = np.tile(globals()["X"], (times, 1)) + np.linspace(0, 1, times * N)[:, None]
    weight = np.tile(WEIGHT, times)
    scaling = fit_scaling(X, weight, common=False)
    reference = StandardScaler().fit(X, sample_weight=weight)
    np.testing.assert_allclose(scaling.center, reference.mean_)
    np.testing.assert_allclose(scaling.scale, reference.scale_)
    np.testing.assert_allclose(scaling(X), reference.transform(X).clip(-5, 5), atol=1e-12)
    np.testing.assert_allclose(scaling.inverse(scaling.forward_points(X)), X, atol=1e-12)


def test_sparse_columns_are_scaled_but_not_centred():
    scaling = fit_scaling(cases.csr(SPARSE), WEIGHT, common=False)
    np.testing.assert_array_equal(scaling.center, 0.0)
    reference = StandardScaler().fit(SPARSE, sample_weight=WEIGHT)
    np.testing.assert_allclose(scaling.scale, reference.scale_)
    np.testing.assert_allclose(scaling.middle, reference.mean_ / reference.scale_, atol=1e-14)
    assert np.all(np.abs(scaling.middle) <= 1.0)
    scaled = scaling(cases.csr(SPARSE))
    assert sparse.issparse(scaled)
    assert scaled.nnz == np.count_nonzero(SPARSE)
    expected = (SPARSE / scaling.scale).clip(scaling.middle - 5, scaling.middle + 5)
    np.testing.assert_allclose(scaled.toarray(), expected)


def test_columns_that_are_half_full_are_centred_and_stay_in_one_sparse_table():
    mixed = np.column_stack([SPARSE[:, :3], X[:, :1] + 10.0])
    scaling = fit_scaling(cases.csr(mixed), WEIGHT, common=False)
    np.testing.assert_array_equal(scaling.center != 0, [False, False, False, True])
    assert scaling.middle[3] == 0.0
    scaled = scaling(cases.csr(mixed))
    assert sparse.issparse(scaled)
    assert scaled.nnz <= np.count_nonzero(SPARSE[:, :3]) + N
    np.testing.assert_allclose(scaled.toarray()[:, 3], fit_scaling(mixed, WEIGHT, common=False)(mixed)[:, 3])


def weighted_share(X, weight):
    return weight @ (X != 0) / weight.sum()


@st.composite
def tables(draw):
    """Return a table whose columns are full or sparse, near zero or far from it, with weights and new rows."""
    n, d = draw(st.integers(6, 40)), draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    table = rng.standard_normal((2 * n, d)) + draw(st.sampled_from([0.0, 1.0, 10.0]))
    table *= rng.choice([0.1, 1.0, 30.0], size=d)
    table[rng.random((2 * n, d)) < rng.choice([0.0, 0.4, 0.6, 0.9], size=d)] = 0.0
    table[-1] *= 100.0  # a far row, which is clipped
    weight = rng.uniform(0.5, 2.0, size=n)
    return cases.frozen(table[:n]), cases.frozen(weight), cases.frozen(table[n:])


@given(tables(), st.booleans(), st.sampled_from([np.float64, np.float32]))
@settings(max_examples=60)
def test_csr_rows_are_scaled_as_dense_ones_up_to_a_shift_of_each_column(case, common, dtype):
    train, weight, new = case
    train, new = train.astype(dtype), new.astype(dtype)
    dense, other = (fit_scaling(kind(train), weight, common) for kind in (np.asarray, cases.csr))
    digits = 1e-9 if dtype is np.float64 else 1e-3
    np.testing.assert_allclose(other.scale, dense.scale, rtol=1e-9)
    for rows in (train, new):
        scaled = other(cases.csr(rows))
        assert sparse.issparse(scaled) and scaled.dtype == dtype
        np.testing.assert_allclose(scaled.toarray() - other.middle, dense(rows), rtol=digits, atol=digits)
    # Where nothing is clipped, points come back in the user's units.
    inside = np.abs(dense(train)) < 4.9
    for scaling, kind in ((dense, np.asarray), (other, cases.csr)):
        back = scaling.inverse(identity_of(scaling(kind(train))).astype(float))
        np.testing.assert_allclose(back[inside], train[inside], rtol=digits, atol=10 * digits * np.abs(train).max())


@given(tables(), st.sampled_from([10.0, -1e3]))
@settings(max_examples=30)
def test_a_stationary_kernel_does_not_see_where_csr_columns_have_their_zero(case, shift):
    train, weight, _ = case
    moved = np.array(train)
    moved[:, 0] += shift
    kernel = RBF(0.2 / train.shape[1])
    reference = fit_scaling(train, weight, common=False)(train)
    expected = kernel(reference, reference)
    for rows in (train, moved):
        scaled = fit_scaling(cases.csr(rows), weight, common=False)(cases.csr(rows))
        np.testing.assert_allclose(kernel(scaled, scaled.toarray()), expected, atol=1e-8)


def test_a_scaling_cannot_be_changed():
    scaling = fit_scaling(X, WEIGHT, common=False)
    for part in (scaling.center, scaling.scale, scaling.clip, scaling.middle):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1.0
    left = scaling.leaving(np.array([1]))
    assert (left.center[1], left.scale[1], left.clip[1], left.middle[1]) == (0.0, 1.0, np.inf, 0.0)
    np.testing.assert_array_equal(left(X)[:, 1], X[:, 1])
    np.testing.assert_array_equal(left(X)[:, 2], scaling(X)[:, 2])


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
@pytest.mark.parametrize("common", [False, True])
def test_weights_are_repeats(storage, common):
    repeats = np.random.default_rng(3).integers(1, 4, size=N)
    weighted = fit_scaling(storage(X), repeats.astype(float), common)
    repeated = fit_scaling(storage(np.repeat(X, repeats, axis=0)), np.ones(repeats.sum()), common)
    np.testing.assert_allclose(weighted.center, repeated.center, atol=1e-14)
    np.testing.assert_allclose(weighted.scale, repeated.scale)
    if common:
        assert np.ptp(weighted.scale) == 0
        deviations = StandardScaler().fit(X, sample_weight=repeats).scale_
        np.testing.assert_allclose(weighted.scale, np.sqrt(np.mean(deviations**2)))


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
@pytest.mark.parametrize("constant", [1.0, 0.1, -7e5, 3e-8, 0.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_constant_column_is_not_blown_up(storage, constant, dtype):
    rows = X.astype(dtype)
    rows[:, 1] = constant
    scaling = fit_scaling(storage(rows), WEIGHT, common=False)
    scaled = scaling(storage(rows))
    column = (scaled if storage is np.asarray else scaled.toarray())[:, 1]
    assert np.ptp(column) == 0
    assert np.all(np.abs(column) <= (1e-6 if storage is np.asarray else 1.0))
    others = [0, 2, 3]
    np.testing.assert_allclose(
        scaling.scale[others], StandardScaler().fit(X, sample_weight=WEIGHT).scale_[others], rtol=1e-5
    )


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
@pytest.mark.parametrize("size", [1e-150, 1e150, 1e-300, 1e300])
def test_columns_of_extreme_size(storage, size):
    rows = np.array(X)
    rows[:, 2] *= size
    scaled = fit_scaling(storage(rows), WEIGHT, common=False)(storage(rows))
    expected = fit_scaling(storage(X), WEIGHT, common=False)(storage(X))
    np.testing.assert_allclose(identity_of(scaled), identity_of(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_far_rows_are_clipped(storage):
    rows = np.vstack([X, np.full(cases.N_FEATURES, 1e4), np.full(cases.N_FEATURES, -1e4)])
    scaled = identity_of(fit_scaling(storage(X), WEIGHT, common=False)(storage(rows)))
    assert np.all(scaled[-2] == 5.0)
    assert np.all(scaled[-1] == -5.0)
    assert np.all(np.abs(scaled) <= 5.0)


def test_far_rows_of_sparse_columns_are_clipped_around_their_mean():
    scaling = fit_scaling(cases.csr(SPARSE), WEIGHT, common=False)
    rows = np.vstack([SPARSE, np.full(cases.N_FEATURES, 1e4), np.full(cases.N_FEATURES, -1e4)])
    scaled = scaling(cases.csr(rows)).toarray()
    np.testing.assert_allclose(scaled[-2], scaling.middle + 5.0)
    np.testing.assert_allclose(scaled[-1], scaling.middle - 5.0)
    assert np.all(scaled[:-2][SPARSE == 0] == 0.0)


def test_sparse_rows_are_centred_where_dense_ones_were():
    X = np.where(np.random.default_rng(0).random((30, 4)) < 0.5, 0.0, 1.5)
    np.testing.assert_allclose(SCALING(sparse.csr_array(X)).toarray(), SCALING(X))
    model = SPKMRegressor(n_basis=3, tol=1e-2, random_state=0).fit(X, X[:, 0])
    # Predictions near zero are sums of parts that cancel: their error is that of the parts.
    np.testing.assert_allclose(model.predict(sparse.csr_array(X)), model.predict(X), rtol=1e-10, atol=1e-12)


def test_under_a_common_scale_far_zeros_are_clipped_as_in_dense_rows():
    # One column has nearly all the variance: under the common scale its zeros are far from its mean.
    table = np.zeros((40, 60))
    table[:18, 0] = 1.0
    dense, other = (fit_scaling(kind(table), np.ones(40), common=True) for kind in (np.asarray, cases.csr))
    scaled = other(cases.csr(table))
    assert sparse.issparse(scaled)
    np.testing.assert_allclose(scaled.toarray() - other.middle, dense(table), atol=1e-12)


QUICK = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


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
    for penalty in ("auto", "rkhs") if shift in (0.0, 1e6) else ("rkhs",):
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
