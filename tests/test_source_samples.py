"""Samples and batches at random, columns of a block: the same samples whatever holds them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spkm.sources import MANY_ROWS, ArraySource, Block, PairSource, PairTable, Scaling
from tests import cases

N, D = 157, cases.N_FEATURES
X = cases.rows(N)
NUMBER = cases.frozen(np.arange(float(N))[:, None])  # targets that tell which sample it is
WEIGHT = cases.frozen(np.random.default_rng(0).random(N) + 0.1)
SCALING = Scaling(cases.frozen(np.array([0.1, -0.2, 0.3, 0.0])), cases.frozen(np.array([0.5, 1.0, 2.0, 1.5])))


def pair_source(scaling=None):
    rng = np.random.default_rng(1)
    pairs = np.column_stack([rng.integers(7, size=N), rng.integers(9, size=N)])
    return PairSource(PairTable(cases.rows(7, 2), cases.rows(9, 2, seed=5), pairs), NUMBER, WEIGHT, scaling)


SOURCES = {
    "dense": lambda scaling=None: ArraySource(X, NUMBER, WEIGHT, scaling),
    "csr": lambda scaling=None: ArraySource(cases.csr(X), NUMBER, WEIGHT, scaling),
    "pairs": pair_source,
}
each_source = pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
each_scaling = pytest.mark.parametrize("scaling", [None, SCALING], ids=["plain", "scaled"])


def dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


def assert_samples_of(source, X, Y, w):
    """Samples are whole: features and weights (up to a factor) go with the targets."""
    picked = Y[:, 0].astype(int)
    np.testing.assert_allclose(dense(X), source.dense()[picked], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(w[:, 0], WEIGHT[picked] / WEIGHT[picked].sum(), rtol=1e-5)
    return picked


@each_source
@each_scaling
def test_a_sample_holds_whole_samples_once(make, scaling):
    source = make(scaling)
    some = source.sample(40, np.random.default_rng(0))
    assert some.n_rows == 40 and type(some) is type(source)
    picked = assert_samples_of(source, some.dense(), some.Y, some.w)
    assert len(set(picked)) == 40 and np.all(np.diff(picked) > 0)
    assert some.total_weight == pytest.approx(WEIGHT[picked].sum())
    other = source.sample(40, np.random.default_rng(1))
    assert not np.array_equal(other.Y, some.Y)
    np.testing.assert_array_equal(source.sample(40, np.random.default_rng(0)).Y, some.Y)
    for n in (N, N + 1):
        assert source.sample(n, np.random.default_rng(0)) is source
    with source.threads(2):
        assert source.sample(40, np.random.default_rng(0))._pool is source._pool


def test_samples_are_drawn_without_preference():
    counts = np.zeros(N)
    for seed in range(400):
        counts[ArraySource(X, NUMBER).sample(30, np.random.default_rng(seed)).Y[:, 0].astype(int)] += 1
    # Of 400 draws each sample is in 30 / 157, with a deviation of sqrt(400 p (1 - p)); six of them are never seen.
    p = 30 / N
    assert np.max(np.abs(counts - 400 * p)) < 6 * np.sqrt(400 * p * (1 - p))


@each_source
def test_samples_of_rising_sizes_hold_one_another(make):
    source = make()
    parts = list(source.samples([5, 50, 500], np.random.default_rng(0)))
    assert [part.n_rows for part in parts] == [5, 50, N] and parts[-1] is source
    assert set(parts[0].Y[:, 0]) < set(parts[1].Y[:, 0])
    assert all(part is source for part in source.samples([N, N], np.random.default_rng(0)))


@each_source
@each_scaling
@pytest.mark.parametrize(("size", "n_steps"), [(13, 30), (150, 440)])  # samples of 430 of these are read at once
@pytest.mark.parametrize("n_threads", [1, 2])
def test_batches_are_whole_samples_and_a_pass_has_each_once(make, scaling, size, n_steps, n_threads):
    source = make(scaling)
    with source.threads(n_threads):
        blocks = list(source.batches(size, n_steps, np.random.default_rng(0), np.float32))
    assert len(blocks) == n_steps
    blocks = blocks[-30:]
    seen = []
    for block in blocks:
        assert isinstance(block, Block) and block.X.dtype == block.Y.dtype == block.w.dtype == np.float32
        assert block.X.shape == (size, D) and np.sum(block.w) == pytest.approx(1.0, rel=1e-5)
        seen.append(assert_samples_of(source, block.X, block.Y, block.w))
    per_pass = N // size
    for start in range(0, 30 - per_pass + 1, per_pass):
        rows = np.concatenate(seen[start : start + per_pass])
        assert len(set(rows)) == len(rows)
    assert not np.array_equal(seen[0], seen[per_pass])


@given(seed=st.integers(0, 1000), size=st.integers(1, N))
@settings(max_examples=30)
def test_batches_depend_on_the_seed_alone(seed, size):
    source = ArraySource(X, NUMBER, WEIGHT)
    first, again = (list(source.batches(size, 5, np.random.default_rng(seed), np.float64)) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.Y, b.Y)


def test_batches_of_many_samples_are_runs_of_neighbours():
    number = np.arange(float(MANY_ROWS))[:, None]
    source = ArraySource(number, number)
    rows = np.concatenate([block.Y[:, 0] for block in source.batches(16, 9, np.random.default_rng(0), np.float64)])
    runs = rows.reshape(-1, 8)
    np.testing.assert_array_equal(np.diff(runs, axis=1), 1)
    assert len(set(runs[:, 0])) == len(runs)
    # A batch that is no multiple of a run is made of single samples.
    single = next(source.batches(12, 1, np.random.default_rng(0), np.float64)).Y[:, 0]
    assert not np.all(np.diff(np.sort(single)) == 1)


@each_source
def test_encoded_targets_leave_everything_else(make):
    source = make()
    other = source.encoded(lambda Y: np.hstack([Y, -Y]))
    np.testing.assert_array_equal(other.Y, np.hstack([NUMBER, -NUMBER]))
    np.testing.assert_array_equal(source.Y, NUMBER)
    np.testing.assert_array_equal(other.dense(), source.dense())
    assert other.total_weight == source.total_weight
    some = other.sample(20, np.random.default_rng(0))
    np.testing.assert_array_equal(some.Y[:, 1], -some.Y[:, 0])
    assert some.Y.shape == (20, 2)


@pytest.mark.parametrize("storage", [np.asarray, cases.csr], ids=["dense", "csr"])
def test_columns_of_a_block(storage):
    block = ArraySource(storage(X), NUMBER).load((3, 20))
    for columns in (None, np.array([1, 2]), np.array([0, 2, 3]), np.array([2]), np.arange(D)):
        part, index = block.columns(columns)
        assert index is None
        np.testing.assert_array_equal(dense(part), X[3:20] if columns is None else X[3:20][:, columns])
        if storage is np.asarray and (columns is None or np.all(np.diff(columns) == 1)):
            assert np.shares_memory(part, X)  # neighbours are looked at where they lie
    empty, _ = block.columns(np.array([], dtype=int))
    assert empty.shape == (17, 0)


def test_columns_of_a_block_of_pairs_are_those_of_entities():
    source = pair_source()
    block = source.load((3, 20))
    for columns in (np.array([0, 1]), np.array([1]), np.array([2, 3]), np.array([3])):
        part, index = block.columns(columns)
        np.testing.assert_array_equal(dense(part)[index], source.dense()[3:20][:, columns])
        assert part.shape[0] <= 9
    assert sparse.issparse(ArraySource(cases.csr(X)).load((0, 5)).X)


@each_source
def test_pieces_cover_all_samples_in_order(make):
    source = make()
    for width in (1, 100, 10**6):
        pieces = source.pieces(width)
        loaded = [source.load(piece).Y[:, 0] for piece in pieces]
        np.testing.assert_array_equal(np.concatenate(loaded), NUMBER[:, 0])
        assert all(len(part) for part in loaded)
