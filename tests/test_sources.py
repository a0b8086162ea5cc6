"""Rows in blocks: the same sums for any cut and any number of threads; scaling and merging by values only."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from threadpoolctl import ThreadpoolController

from spkm import SPKMRegressor
from spkm.sources import ArraySource, Scaling, distinct_rows, fit_scaling, merged_rows, pick_rows
from spkm.sources import _array as array_module
from spkm.sources import _base as base_module
from spkm.sources import _rows as rows_module
from spkm.sources import _scaling as scaling_module
from tests import cases

N = 157
RNG = np.random.default_rng(0)
X = cases.rows(N)
Y = cases.frozen(RNG.standard_normal((N, 2)))
WEIGHT = cases.frozen(RNG.random(N) + 0.1)
SCALING = Scaling(cases.frozen(np.array([0.1, -0.2, 0.3, 0.0])), cases.frozen(np.array([0.5, 1.0, 2.0, 1.5])))


def sums(block):
    """Return sums over the rows of a block that take in all its parts."""
    rows = block.X.toarray() if sparse.issparse(block.X) else block.X
    return rows.T @ (block.w * block.Y), np.array([np.sum(block.w)])


def identity(block):
    return block.X.toarray() if sparse.issparse(block.X) else block.X


@pytest.fixture
def blocks_of(monkeypatch):
    return lambda size: monkeypatch.setattr(array_module, "rows_per_block", lambda n_features, width: size)


@pytest.mark.parametrize("size", [1, 2, 7, 50, N - 1, N, 1000])
@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_any_cut_gives_the_same_sums_and_rows_in_order(blocks_of, size, storage):
    blocks_of(size)
    source = ArraySource(storage(X), Y, WEIGHT)
    product, one = source.reduce(sums, width=3)
    np.testing.assert_allclose(product, X.T @ (WEIGHT[:, None] * Y) / WEIGHT.sum(), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(one, 1.0, rtol=1e-12)
    assert product.dtype == np.float64
    np.testing.assert_array_equal(np.concatenate(list(source.map(identity, width=3))), X)
    assert source.total_weight == pytest.approx(WEIGHT.sum())


@pytest.mark.parametrize("size", [1, 10])
def test_sums_are_the_same_to_the_bit_for_any_number_of_threads(blocks_of, size):
    blocks_of(size)
    results = []
    for n_threads in (1, 2, 3):
        source = ArraySource(X, Y, WEIGHT)
        with source.threads(n_threads):
            results.append(source.reduce(sums, width=3)[0])
            np.testing.assert_array_equal(np.concatenate(list(source.map(identity, width=3))), X)
            part = source.subset(np.arange(40))
            np.testing.assert_array_equal(np.concatenate(list(part.map(identity, width=3))), X[:40])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def blas_threads():
    return [library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_blas_is_held_to_one_thread_and_let_go_again(n_threads):
    source = ArraySource(X, Y)
    with ThreadpoolController().limit(limits=2):
        before = blas_threads()
        with source.threads(n_threads):
            assert set(blas_threads()) <= {1}
        assert blas_threads() == before
        with pytest.raises(RuntimeError, match="inside"), source.threads(n_threads):
            raise RuntimeError("inside")
        assert blas_threads() == before
    assert source._pool is None
    np.testing.assert_allclose(source.reduce(sums, width=3)[1], 1.0)


def test_an_error_in_a_block_comes_out(blocks_of):
    blocks_of(10)
    source = ArraySource(X, Y)

    def failing(block):
        raise KeyError("of a block")

    with source.threads(2), pytest.raises(KeyError, match="of a block"):
        source.reduce(failing, width=3)


def test_memory_map(tmp_path, blocks_of):
    blocks_of(20)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    source = ArraySource(mapped, Y, WEIGHT)
    assert isinstance(source.load((0, 5)).X, np.memmap)
    np.testing.assert_array_equal(source.reduce(sums, width=3)[0], ArraySource(X, Y, WEIGHT).reduce(sums, width=3)[0])


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
@pytest.mark.parametrize("small", [0, 2**22], ids=["scaled when read", "scaled at once"])
def test_scaled_rows_everywhere(monkeypatch, storage, small):
    monkeypatch.setattr(array_module, "SMALL", small)
    before = X.copy()
    scaling = SCALING if storage is np.asarray else Scaling(np.zeros(4), SCALING.scale)  # sparse rows are not centred
    source = ArraySource(storage(X), Y, WEIGHT, scaling)
    expected = scaling(X)
    picked = np.array([3, 0, 11])
    np.testing.assert_array_equal(identity(source.load((2, 9))), expected[2:9])
    np.testing.assert_array_equal(source.dense(), expected)
    np.testing.assert_array_equal(source.subset(picked).dense(), expected[picked])
    part = source.subset(picked)
    np.testing.assert_array_equal(identity(part.load((0, 3))), expected[picked])
    np.testing.assert_array_equal(part.Y, Y[picked])
    assert part.total_weight == pytest.approx(WEIGHT[picked].sum())
    np.testing.assert_allclose(part.w[:, 0], WEIGHT[picked] / WEIGHT[picked].sum())
    doubled = source.encoded(lambda t: 2 * t)
    np.testing.assert_array_equal(doubled.load((0, 5)).Y, 2 * Y[:5])
    np.testing.assert_array_equal(source.load((0, 5)).Y, Y[:5])
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_single_precision_stays_single(storage):
    source = ArraySource(storage(X.astype(np.float32)), Y, WEIGHT, SCALING)
    block = source.load((0, 9))
    assert block.X.dtype == block.Y.dtype == block.w.dtype == np.float32
    assert source.reduce(sums, width=3)[0].dtype == np.float64


@pytest.mark.parametrize("scaling", [None, SCALING], ids=["plain", "scaled"])
@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_some_columns_are_those_of_the_rows_in_the_order_asked_for(storage, scaling):
    source = ArraySource(storage(X), Y, WEIGHT, scaling)
    columns = np.array([3, 0, 2])
    part = source.columns(columns)
    assert (part.n_rows, part.n_features, part.n_outputs) == (N, 3, 2)
    np.testing.assert_array_equal(identity(part.load((0, N))), identity(source.load((0, N)))[:, columns])
    np.testing.assert_array_equal(part.Y, Y)
    np.testing.assert_allclose(part.w, source.w, rtol=1e-14)
    assert part.total_weight == pytest.approx(source.total_weight)
    assert source.n_features == X.shape[1]  # which stays as it was
    with source.threads(2):
        assert source.columns(columns)._pool is source._pool


def test_blocks_have_a_budget():
    for n_features in (1, 10, 784, 10_000, 10**6):
        for width in (1, 10, 500):
            rows = base_module.rows_per_block(n_features, width)
            assert rows in (4, 64) or rows * (n_features + 3 * width) * 8 <= 32 * 2**20
            assert 4 <= rows <= 16384


@pytest.mark.parametrize("chunk", [1, 64, 2**17])
def test_scaling_equals_that_of_scikit_learn(monkeypatch, chunk):
    monkeypatch.setattr(scaling_module, "CHUNK", chunk)
    scaling = fit_scaling(X, WEIGHT, common=False)
    reference = StandardScaler().fit(X, sample_weight=WEIGHT)
    np.testing.assert_allclose(scaling.center, reference.mean_)
    np.testing.assert_allclose(scaling.scale, reference.scale_)
    np.testing.assert_allclose(scaling(X), reference.transform(X).clip(-5, 5), atol=1e-12)
    np.testing.assert_allclose(scaling.inverse(scaling.forward_points(X)), X, atol=1e-12)


def test_sparse_rows_are_scaled_but_not_centred():
    scaling = fit_scaling(cases.csr(X), WEIGHT, common=False)
    np.testing.assert_array_equal(scaling.center, 0.0)
    np.testing.assert_allclose(scaling.scale, StandardScaler().fit(X, sample_weight=WEIGHT).scale_)
    scaled = scaling(cases.csr(X))
    assert sparse.issparse(scaled)
    assert scaled.nnz == np.count_nonzero(X)
    np.testing.assert_allclose(scaled.toarray(), (X / scaling.scale).clip(-5, 5))


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


def identity_of(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_far_rows_are_clipped(storage):
    rows = np.vstack([X, np.full(cases.N_FEATURES, 1e4), np.full(cases.N_FEATURES, -1e4)])
    scaled = identity_of(fit_scaling(storage(X), WEIGHT, common=False)(storage(rows)))
    assert np.all(scaled[-2] == 5.0)
    assert np.all(scaled[-1] == -5.0)
    assert np.all(np.abs(scaled) <= 5.0)


def assert_same_bits(a, b):
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(identity_of(left), identity_of(right))


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_order_repetition_and_zero_weights_do_not_matter(storage, data):
    few = data.draw(st.integers(2, 8))
    base, y = (
        np.array(cases.rows(few, seed=data.draw(st.integers(0, 99)))),
        np.round(np.linspace(0, 1, few), 1)[:, None],
    )
    repeats = np.array(data.draw(st.lists(st.integers(1, 4), min_size=few, max_size=few)))
    weight = np.array(data.draw(st.lists(st.sampled_from([0.1, 0.7, 1.0, 3.3]), min_size=few, max_size=few)))
    merged = merged_rows(storage(base), y, weight * repeats)
    copies = np.repeat(np.arange(few), repeats)
    # Rows of weight zero belong to nobody; they must leave no trace.
    rows = np.vstack([base[copies], 9 + base])
    rows[rows == 0] = -0.0
    targets = np.concatenate([y[copies], y])
    weights = np.concatenate([weight[copies], np.zeros(few)])
    shuffled = np.array(data.draw(st.permutations(range(len(rows)))))
    X2, Y2, w2 = merged_rows(storage(rows[shuffled]), targets[shuffled], weights[shuffled])
    assert_same_bits((X2, Y2), merged[:2])
    np.testing.assert_allclose(w2, merged[2], rtol=1e-14)
    again = merged_rows(storage(rows), targets, weights)
    assert_same_bits((X2, Y2, w2), again)
    order = np.lexsort(np.hstack([base, y]).T)
    found = np.lexsort(np.hstack([identity_of(X2), Y2]).T)
    np.testing.assert_array_equal(identity_of(X2)[found], base[order])
    np.testing.assert_allclose(w2[found], (weight * repeats)[order])


def test_sums_of_different_weights_do_not_depend_on_their_order():
    weights = np.random.default_rng(0).random(40)
    rows, targets = np.ones((40, 2)), np.zeros((40, 1))
    totals = {
        merged_rows(rows, targets, weights[np.random.default_rng(k).permutation(40)])[2].item() for k in range(20)
    }
    assert len(totals) == 1


def test_csr_rows_are_equal_whatever_the_order_of_their_entries():
    ordered = sparse.csr_array(
        (np.array([1.0, 2.0, 1.0, 2.0]), np.array([0, 2, 0, 2]), np.array([0, 2, 4])), shape=(2, 3)
    )
    mixed = sparse.csr_array(
        (np.array([1.0, 2.0, 2.0, 1.0]), np.array([0, 2, 2, 0]), np.array([0, 2, 4])), shape=(2, 3)
    )
    for rows in (ordered, mixed):
        merged, _, weight = merged_rows(rows, np.zeros((2, 1)), np.ones(2))
        assert merged.shape == (1, 3)
        assert weight.tolist() == [2.0]


def test_where_the_distinct_rows_are():
    rows = np.array([[2.0], [1.0], [2.0], [9.0], [-0.0], [0.0]])
    found, weight = distinct_rows(rows, np.zeros((6, 0)), np.array([1.0, 2.0, 3.0, 0.0, 0.5, 0.25]))
    assert found.tolist() == [4, 1, 0]
    assert weight.tolist() == [0.75, 2.0, 4.0]


def test_many_rows_stay_as_they_come_but_for_zero_weights(monkeypatch):
    monkeypatch.setattr(rows_module, "MERGED_UP_TO", 10)
    weight = np.array(WEIGHT)
    weight[3] = 0.0
    merged = merged_rows(X, Y, weight)
    assert_same_bits(merged, (np.delete(X, 3, axis=0), np.delete(Y, 3, axis=0), np.delete(weight, 3)))


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
@pytest.mark.parametrize("small", [0, 10**9])
def test_picked_rows_are_those_of_a_copy(monkeypatch, storage, small):
    monkeypatch.setattr(rows_module, "SMALL", small)
    rng = np.random.default_rng(1)
    rows = rng.permutation(N)[:60]
    again = rng.integers(60, size=20)
    for picked, expected in (
        (pick_rows(storage(X), rows), X[rows]),
        (pick_rows(pick_rows(storage(X), rows), again), X[rows][again]),
    ):
        assert picked.shape == expected.shape and picked.dtype == expected.dtype and picked.ndim == 2

        def dense(part):
            return part.toarray() if sparse.issparse(part) else np.asarray(part)

        np.testing.assert_array_equal(dense(picked[3:11]), expected[3:11])
        np.testing.assert_array_equal(dense(picked[np.array([5, 0, 5])]), expected[[5, 0, 5]])
        np.testing.assert_array_equal(dense(picked[:, np.array([2, 0])]), expected[:, [2, 0]])


def test_rows_in_place_make_the_same_source_as_a_copy(monkeypatch, blocks_of):
    blocks_of(7)
    rows = np.random.default_rng(1).permutation(N)[:60]
    copied = merged_rows(X[rows], Y[rows], WEIGHT[rows])
    monkeypatch.setattr(rows_module, "SMALL", 0)
    monkeypatch.setattr(array_module, "SMALL", 0)
    in_place = merged_rows(pick_rows(X, rows), Y[rows], WEIGHT[rows])
    assert not isinstance(in_place[0], np.ndarray) and isinstance(copied[0], np.ndarray)
    scalings = [fit_scaling(part[0], part[2], False) for part in (copied, in_place)]
    np.testing.assert_array_equal(scalings[0].scale, scalings[1].scale)
    a, b = (ArraySource(*part, scaling) for part, scaling in zip((copied, in_place), scalings, strict=True))
    for one, other in (
        (a, b),
        (a.columns(np.array([2, 0])), b.columns(np.array([2, 0]))),
        (a.subset(np.arange(5, 40)), b.subset(np.arange(5, 40))),
    ):
        for left, right in zip(one.reduce(sums, width=3), other.reduce(sums, width=3), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-13)
        np.testing.assert_array_equal(one.dense(), other.dense())


def test_sparse_rows_are_centred_where_dense_ones_were():
    X = np.where(np.random.default_rng(0).random((30, 4)) < 0.5, 0.0, 1.5)
    np.testing.assert_allclose(SCALING(sparse.csr_array(X)), SCALING(X))
    model = SPKMRegressor(n_basis=3, tol=1e-2, random_state=0).fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(sparse.csr_array(X)), model.predict(X), rtol=1e-10)
