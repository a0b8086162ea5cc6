"""Samples in blocks: the same sums for any cut and any number of threads; merging by values only."""

import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import ThreadpoolController

from spkm.sources import (
    ArraySource,
    Scaling,
    distinct_rows,
    fit_scaling,
    merged_rows,
    one_blas_thread,
    pick_rows,
)
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
def test_all_threads_have_the_same_buffers_for_a_while(n_threads):
    source = ArraySource(X)
    before = np.getbufsize()
    with source.threads(n_threads):
        assert set(source.map(buffer_of_this_thread, width=1)) == {np.getbufsize()}
        assert np.getbufsize() < before
    assert np.getbufsize() == before


def buffer_of_this_thread(block):
    return np.getbufsize()


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


@pytest.fixture
def two_blas_threads():
    """Let BLAS have two threads whatever the environment says, without a thread that keeps the right to change it."""

    def in_a_thread_that_ends(function):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function).result()

    limiter = in_a_thread_that_ends(lambda: ThreadpoolController().limit(limits=2, user_api="blas"))
    yield
    in_a_thread_that_ends(limiter.restore_original_limits)


def test_whoever_leaves_last_lets_blas_go(two_blas_threads):
    before = ThreadpoolController().info()
    first_left, second_in = Event(), Event()

    def second():
        with one_blas_thread():
            second_in.set()
            first_left.wait(60)
            return blas_threads()

    with ThreadPoolExecutor(1) as pool:
        with one_blas_thread():
            future = pool.submit(second)
            second_in.wait(60)
        first_left.set()
        assert set(future.result()) == {1}
        assert ThreadpoolController().info() == before
        with one_blas_thread():
            assert set(blas_threads()) == {1}
    assert ThreadpoolController().info() == before


def test_threads_that_hold_blas_at_once_leave_it_as_it_was(two_blas_threads):
    n_workers = 6
    before = ThreadpoolController().info()
    everyone = Barrier(n_workers)

    def hold(i):
        seen = []
        for turn in range(10):
            everyone.wait(60)  # all begin together, and leave in any order
            with one_blas_thread():
                time.sleep(1e-3 * ((i + turn) % 3))
                with one_blas_thread():
                    seen += [library["num_threads"] for library in ThreadpoolController().info()]
        return seen

    with ThreadPoolExecutor(n_workers) as pool:
        results = list(pool.map(hold, range(n_workers)))
        assert ThreadpoolController().info() == before
    # OpenMP has a limit for each thread, and every thread has its own.
    assert {number for seen in results for number in seen} == {1}


def test_sources_in_threads_of_the_users_leave_blas_as_it_was(two_blas_threads):
    def fit(i):
        source = ArraySource(X, Y, WEIGHT)
        with source.threads(1 + i % 2):
            return source.reduce(sums, width=3)[0]

    before = ThreadpoolController().info()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(fit, range(12)))
    assert ThreadpoolController().info() == before
    for result in results:
        np.testing.assert_allclose(result, results[0], rtol=1e-12)


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
def test_scaled_rows_everywhere(copied_up_to, storage, small):
    copied_up_to(small)
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
            table = np.broadcast_to(np.zeros((1, 1)), (120_000, n_features))
            pieces = ArraySource(table, np.zeros((120_000, 0))).pieces(width)
            rows = max(stop - start for start, stop in pieces)
            assert rows in (4, 64) or rows * (n_features + 3 * width) * 8 <= 32 * 2**20
            assert 4 <= rows <= 50_000


def identity_of(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


def assert_same_bits(a, b):
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(identity_of(left), identity_of(right))


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
@given(data=st.data())
@settings(max_examples=25)
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_features_that_are_equal_leave_the_order_as_it_is(dtype):
    rng = np.random.default_rng(0)
    rows, targets = rng.integers(-2, 3, (200, 4)).astype(dtype), rng.integers(0, 2, (200, 2)).astype(float)
    rows[rows == 0] = -0.0
    weight = rng.integers(0, 3, 200).astype(float)
    wide = np.hstack([rows, np.ones((200, 80), dtype)])  # long keys end with a digest
    for few in (rows, np.asfortranarray(rows)):
        found, merged = distinct_rows(few, targets, weight)
        np.testing.assert_array_equal(found, distinct_rows(wide, targets, weight)[0])
        np.testing.assert_array_equal(merged, distinct_rows(wide, targets, weight)[1])
    assert len(found) == len(np.unique(np.hstack([rows, targets])[weight > 0] + 0.0, axis=0))


def test_many_rows_stay_as_they_come_but_for_zero_weights():
    many, targets, weight = np.tile(X, (32, 1)), np.tile(Y, (32, 1)), np.tile(WEIGHT, 32)
    weight[3] = 0.0
    merged = merged_rows(many, targets, weight)  # 5,023 samples of 157 values
    assert_same_bits(merged, (np.delete(many, 3, axis=0), np.delete(targets, 3, axis=0), np.delete(weight, 3)))


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
@pytest.mark.parametrize("small", [0, 10**9])
def test_picked_rows_are_those_of_a_copy(copied_up_to, storage, small):
    copied_up_to(small)
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


def test_rows_in_place_make_the_same_source_as_a_copy(copied_up_to, blocks_of):
    blocks_of(7)
    rows = np.random.default_rng(1).permutation(N)[:60]
    copied = merged_rows(X[rows], Y[rows], WEIGHT[rows])
    copied_up_to(0)
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


@pytest.mark.skipif(sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="of glibc")
def test_memory_of_blocks_is_kept_where_the_environment_says_otherwise():
    code = """if True:
        import resource
        import numpy as np
        from spkm.sources import one_blas_thread
        with one_blas_thread():
            kept = []
            for _ in range(50):
                before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
                np.ones(2**18)  # 512 pages
                kept.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        print(sum(kept[10:]))
    """
    environ = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}  # as Dask's workers have it
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 512  # 40 times 512 if every array is new memory
