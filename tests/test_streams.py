"""Samples that are read in chunks, files and frames: the same sums, the same model, flat memory."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from spkm import FileTable, SPKMClassifier, SPKMRegressor
from spkm.core.model import PreimageModel, Term, View
from spkm.core.profiled import block_moments
from spkm.kernels import RBF
from spkm.sources import (
    ArraySource,
    Chunk,
    ChunkSource,
    IterableReader,
    Preparation,
    TableReader,
    fit_scaling,
    summarized,
)
from tests.small_data import two_classes

RNG = np.random.default_rng(0)
N, D = 6000, 4
X = RNG.standard_normal((N, D)) * [1.0, 2.0, 0.5, 3.0] + [0.0, 5.0, -1.0, 2.0]
SCORE = np.sin(X[:, 0]) + X[:, 2] * X[:, 3] / 4
Y_REAL = SCORE + 0.1 * RNG.standard_normal(N)
LABELS = np.where(SCORE > 0.2, "yes", "no")
WEIGHT = RNG.integers(0, 3, N).astype(float)
NAMES = [f"x{j}" for j in range(D)]
FRAME = pd.DataFrame(X, columns=NAMES).assign(label=LABELS, y=Y_REAL, w=WEIGHT)


def cut(*arrays, at=(0, 1, 1, 700, 2500, N)):
    return [tuple(a[i:j] for a in arrays) for i, j in pairwise(at)]


@pytest.fixture
def chunk_source(kept_of_chunks):
    """Return a function that makes a source of chunks and of what they hold, in memory."""

    def made(kept=500):
        kept_of_chunks(kept)
        return sources_of_chunks()

    return made


def sources_of_chunks():
    reader = IterableReader(cut(X, Y_REAL, WEIGHT))
    summary = summarized(reader, 0, False)
    used = WEIGHT > 0
    scaling = fit_scaling(X[used], WEIGHT[used], common=False)
    recipe = Preparation(_column, scaling, np.float64, 1 / WEIGHT.sum(), WEIGHT.sum())
    return ChunkSource(reader, summary, recipe), ArraySource(X[used], Y_REAL[used, None], WEIGHT[used], scaling)


def _column(y):
    return y[:, None]


def test_sums_ranges_and_order_are_those_of_an_array(chunk_source):
    stream, array = chunk_source()
    model = PreimageModel([Term(3, (View(RBF(0.3)),))], D, 1)
    theta = RNG.standard_normal(model.n_params)
    for threads in (1, 2):
        with stream.threads(threads):
            (moments,) = stream.reduce(block_moments, model, theta, width=3)
            rows = np.concatenate(list(stream.map(_targets, width=3)))
        np.testing.assert_allclose(moments, array.reduce(block_moments, model, theta, width=3)[0], rtol=1e-10)
        np.testing.assert_array_equal(rows, array.Y)
    np.testing.assert_allclose(stream.ranges(), array.ranges(), rtol=1e-12)
    assert (stream.n_rows, stream.total_weight) == (array.n_rows, array.total_weight)
    few = stream.columns(np.array([1, 3])).encoded(np.abs)
    np.testing.assert_array_equal(np.concatenate(list(few.map(_targets, width=3))), np.abs(array.Y))
    assert few.n_features == 2


def _targets(block):
    return block.Y


def test_one_thread_or_two_give_the_same_bits(chunk_source):
    stream, _ = chunk_source()
    model = PreimageModel([Term(3, (View(RBF(0.3)),))], D, 1)
    theta = RNG.standard_normal(model.n_params)
    found = []
    for threads in (1, 2):
        with stream.threads(threads):
            found.append(stream.reduce(block_moments, model, theta, width=3)[0])
    np.testing.assert_array_equal(*found)


def test_a_long_chunk_is_read_in_pieces(kept_of_chunks):
    kept_of_chunks(500)
    rows = np.arange(150_000.0)[:, None] * [1.0, 2.0]
    reader = IterableReader([(rows, rows[:, 0])])
    recipe = Preparation(_column, None, np.float64, 1 / len(rows), float(len(rows)))
    blocks = list(ChunkSource(reader, summarized(reader, 0, False), recipe).map(_targets, width=3))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks)[:, 0], rows[:, 0])


def test_samples_hold_one_another(chunk_source):
    stream, _ = chunk_source()
    sizes = [10, 100, 2000, N]
    *some, last = stream.samples(sizes, np.random.default_rng(0))
    assert [part.n_rows for part in some] == sizes[:-1] and last is stream
    seen = [{row.tobytes() for row in part.dense()} for part in some]
    assert seen[0] < seen[1] < seen[2]


def test_every_sample_is_kept_equally_often(kept_of_chunks):
    kept_of_chunks(100)
    rows = np.arange(1000.0)[:, None]
    count = np.zeros(1000)
    for seed in range(200):
        reader = IterableReader([(rows[:100], rows[:100, 0]), (rows[100:], rows[100:, 0])])
        count[summarized(reader, seed, False).kept_X[:, 0].astype(int)] += 1
    # Binomial with mean 20 and deviation 4.2: over 100 samples the mean is off by at most 4 deviations of it.
    assert abs(count[:100].mean() - 20) < 1.7 and abs(count[100:].mean() - 20) < 0.6


def test_batches_hold_every_sample_once_in_a_pass(chunk_source):
    stream, array = chunk_source()
    size = 64
    steps = array.n_rows // size
    blocks = list(stream.batches(size, steps, np.random.default_rng(0), np.float64))
    assert len(blocks) == steps and all(block.X.shape == (size, D) for block in blocks)
    seen = np.concatenate([block.Y[:, 0] for block in blocks])
    assert len(np.unique(seen)) == len(seen) and set(seen) <= set(array.Y[:, 0])
    assert not np.array_equal(seen, array.Y[: len(seen), 0])
    np.testing.assert_allclose([block.w.sum() for block in blocks], 1.0)


def plain_classifier():
    """Return an estimator whose optimum does not depend on its start: a linear one."""
    return SPKMClassifier(1, kernel="linear", weight_penalty="rkhs", solver="lbfgs", tol=1e-9, random_state=0)


def test_a_fit_of_chunks_is_a_fit_of_the_array(kept_of_chunks):
    kept_of_chunks(500)
    for weight in (WEIGHT, WEIGHT + 0.5):
        array = plain_classifier().fit(X, LABELS, weight)
        stream = plain_classifier().fit(cut(X, LABELS, weight))
        assert stream.objective_ == pytest.approx(array.objective_, rel=1e-6)
        np.testing.assert_allclose(stream.decision_function(X), array.decision_function(X), atol=1e-2)
        assert stream.classes_.tolist() == ["no", "yes"]


def written(folder, kind):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pandas(FRAME)
    for i, part in enumerate((table.slice(0, 2000), table.slice(2000, 0), table.slice(2000))):
        if kind == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(part, folder / f"{i}.parquet", row_group_size=700)
        elif kind == "csv":
            if part.num_rows:
                pytest.importorskip("pyarrow.csv").write_csv(part, folder / f"{i}.csv")
        else:
            pytest.importorskip("pyarrow.feather").write_feather(part, folder / f"{i}.feather")
    return folder


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "dataset", "glob", "polars"])
def test_all_kinds_of_tables_give_one_model(tmp_path, kind, kept_of_chunks):
    kept_of_chunks(2000)
    folder = written(tmp_path, kind if kind in ("feather", "csv") else "parquet")
    table = FileTable(folder, features=NAMES)
    if kind == "dataset":
        table = FileTable(pytest.importorskip("pyarrow.dataset").dataset(folder), features=NAMES)
    elif kind == "glob":
        table = FileTable(str(folder / "*.parquet"), features=NAMES)
    elif kind == "polars":
        table = pytest.importorskip("polars").scan_parquet(folder / "*.parquet").drop("label")
    model = SPKMRegressor(5, kernel=RBF(0.2), random_state=0, basis_bounds=None).fit(table, "y", "w")
    assert model.feature_names_in_.tolist() == NAMES
    assert model.score(FRAME[NAMES], SCORE) > 0.9
    parts = list(model.predict_chunks(table if kind == "polars" else folder))
    np.testing.assert_allclose(np.concatenate(parts), model.predict(FRAME[NAMES]), rtol=1e-9)


def test_classes_of_a_file(tmp_path, kept_of_chunks):
    kept_of_chunks(2000)
    folder = written(tmp_path, "parquet")
    model = SPKMClassifier(5, random_state=0, class_weight="balanced").fit(FileTable(folder, NAMES), "label")
    assert model.score(FRAME[NAMES], LABELS) > 0.9
    shares = np.concatenate(list(model.predict_chunks(folder, "predict_proba")))
    np.testing.assert_allclose(shares, model.predict_proba(FRAME[NAMES]), rtol=1e-9)


def test_several_targets_and_single_precision():
    both = np.column_stack([Y_REAL, -2 * Y_REAL]).astype(np.float32)
    model = SPKMRegressor(5, random_state=0).fit(cut(X.astype(np.float32), both))
    assert model.basis_vectors_.dtype == np.float32 and model.predict(X[:3].astype(np.float32)).shape == (3, 2)


def test_features_beside_a_target_by_position():
    pl, dd = (pytest.importorskip(name) for name in ("polars", "dask.dataframe"))
    for table in (pl.from_pandas(FRAME[:300]).lazy(), dd.from_pandas(FRAME[:300], npartitions=2)):
        model = SPKMClassifier(2, weight_penalty="rkhs", random_state=0).fit(table, "label", "w", features="x1")
        assert model.feature_names_in_.tolist() == ["x1"]


@pytest.mark.parametrize("kind", ["files", "pandas", "polars", "lazy"])
def test_columns_are_named_by_keywords(tmp_path, kind):
    names = {"target": "label", "weight": "w", "features": NAMES[:3]}
    table = FRAME
    if kind == "files":
        table = str(written(tmp_path, "parquet") / "*.parquet")
    elif kind in ("polars", "lazy"):
        table = pytest.importorskip("polars").from_pandas(FRAME)
        table = table.lazy() if kind == "lazy" else table
    model = SPKMClassifier(3, weight_penalty="rkhs", random_state=0).fit(table, **names)
    assert model.feature_names_in_.tolist() == NAMES[:3] and model.classes_.tolist() == ["no", "yes"]
    plain = SPKMClassifier(3, weight_penalty="rkhs", random_state=0).fit(FRAME[NAMES[:3]], LABELS, WEIGHT)
    assert np.mean(model.predict(FRAME[NAMES[:3]]) == plain.predict(FRAME[NAMES[:3]])) > 0.95


def test_columns_are_named_once(tmp_path):
    with pytest.raises(TypeError, match="either y or target"):
        SPKMRegressor(3).fit(FRAME[NAMES], Y_REAL, target="y")
    with pytest.raises(TypeError, match="without names"):
        SPKMRegressor(3).fit(X, target="y")
    with pytest.raises(ValueError, match="no column 'z'"):
        SPKMRegressor(3).fit(FRAME, target="z")
    with pytest.raises(TypeError, match="either features"):
        SPKMRegressor(3).fit(FileTable(tmp_path, NAMES), target="y", features=NAMES)


def broken(what):
    rows, labels, weight = X.copy(), LABELS.copy(), np.ones(N)
    if what == "NaN":
        rows[5000, 2] = np.nan
    elif what == "weight":
        weight[:] = 0
    elif what == "negative":
        weight[3] = -1
    elif what == "one class":
        labels[:] = "yes"
    return cut(rows, labels, weight)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("NaN", "feature 2 holds NaN"),
        ("weight", "sample_weight must be positive"),
        ("negative", "at least zero"),
        ("one class", "at least two classes"),
    ],
)
def test_bad_chunks_are_told(what, message):
    with pytest.raises(ValueError, match=message):
        SPKMClassifier(3).fit(broken(what))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_frames_are_found_by_name(library):
    """Chunks may have their columns in any order, in a fit and in predictions."""
    frame, other = FRAME[NAMES], FRAME[NAMES[::-1]]
    if library == "polars":
        frame, other = map(pytest.importorskip("polars").from_pandas, (frame, other))
    parts = [(frame[:3000], Y_REAL[:3000]), (other[3000:], Y_REAL[3000:])]
    reader = IterableReader(parts)
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in reader.chunks()]), X)
    model = SPKMRegressor(2, weight_penalty="rkhs", random_state=0).fit(parts)
    assert model.feature_names_in_.tolist() == reader.names == NAMES
    (found,) = model.predict_chunks([other])
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-9)
    with pytest.raises(ValueError, match="All chunks must have the columns"):
        SPKMRegressor(2).fit([(frame, Y_REAL), (FRAME[[*NAMES[:3], "w"]], Y_REAL)])
    with pytest.raises(ValueError, match="All chunks must have the columns"):
        list(model.predict_chunks([FRAME[[*NAMES[:3], "w"]]]))


def test_other_mistakes_are_told(tmp_path):
    with pytest.raises(TypeError, match="only once"):
        SPKMClassifier(3).fit(chunk for chunk in cut(X, LABELS))
    with pytest.raises(ValueError, match="same features"):
        SPKMRegressor(3).fit([(X, Y_REAL), (X[:, :2], Y_REAL)])
    with pytest.raises(ValueError, match="no integers"):
        SPKMClassifier(3).fit(cut(X, Y_REAL))
    with pytest.raises(ValueError, match="needs samples in memory"):
        SPKMClassifier(3, selection="strict").fit(cut(X, LABELS))
    with pytest.raises(ValueError, match="monotone needs samples in memory"):
        SPKMRegressor(3, monotone={0: 1}).fit(cut(X, Y_REAL))
    folder = written(tmp_path, "parquet")
    with pytest.raises(ValueError, match=r"'label' holds .*string"):
        SPKMRegressor(3).fit(folder, "y")
    with pytest.raises(ValueError, match="no column 'z'"):
        SPKMRegressor(3).fit(folder, "z")
    with pytest.raises(TypeError, match="names of columns"):
        SPKMRegressor(3).fit(folder, Y_REAL)
    with pytest.raises(FileNotFoundError, match="names no file"):
        SPKMRegressor(3).fit(str(tmp_path / "none*.parquet"), "y")


def test_files_are_read_in_random_order(tmp_path):
    reader = TableReader(written(tmp_path, "parquet"), "y", "w", NAMES)
    ordered = np.concatenate([chunk.y for chunk in reader.chunks()])
    mixed = np.concatenate([chunk.y for chunk in reader.chunks(np.random.default_rng(0))])
    np.testing.assert_array_equal(ordered, Y_REAL)
    assert not np.array_equal(mixed, Y_REAL)
    np.testing.assert_array_equal(np.sort(mixed), np.sort(Y_REAL))


def test_files_of_other_columns(tmp_path):
    ds = pytest.importorskip("pyarrow.dataset")
    folder = written(tmp_path, "parquet")
    FRAME[:100].assign(x0=1, more=0).to_parquet(folder / "9.parquet")  # integers in x0, and a column that others lack
    reader = TableReader(ds.dataset(folder), "y", None, NAMES)
    np.testing.assert_array_equal(np.concatenate([c.X for c in reader.chunks()])[: len(X)], X)
    assert sum(len(c.y) for c in reader.chunks()) == N + 100
    with pytest.raises(ValueError, match="filter"):  # pyarrow's own word: parts of it cannot be read by themselves
        next(TableReader(ds.dataset(folder).filter(ds.field("y") > 0), "y", None, NAMES).chunks())


def test_predictions_of_a_list_of_arrays():
    model = SPKMRegressor(3, random_state=0).fit(X[:500], Y_REAL[:500])
    parts = list(model.predict_chunks([X[:10], X[10:30]]))
    np.testing.assert_allclose(np.concatenate(parts), model.predict(X[:30]), rtol=1e-9)
    with pytest.raises(TypeError, match=r"predict\(X\) itself"):
        list(model.predict_chunks(X))


def test_a_chunk_can_be_cut():
    assert Chunk(X, None, None).cut(slice(0, 2)).X.shape == (2, D)


MEMORY = """
import numpy as np
from spkm import {estimator}

def chunks():
    for i in range(n // 20_000):
        X = np.random.default_rng(i).standard_normal((20_000, 10))
        yield X, {y}

for n in (200_000, 1_000_000):
    {estimator}(5, weight_penalty="rkhs", max_iter=2, random_state=0, n_jobs=2).fit(chunks)
    # Not ru_maxrss, which a process inherits from the one that started it.
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
@pytest.mark.parametrize(
    ("estimator", "y"), [("SPKMClassifier", "X[:, 0] * X[:, 1] > 0"), ("SPKMRegressor", "X[:, 0] * X[:, 1] + X[:, 2]")]
)
def test_memory_is_flat(estimator, y):
    code = MEMORY.format(estimator=estimator, y=y if estimator == "SPKMClassifier" else y + " * 0.1")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    few, many = (int(peak) / 1024 for peak in done.stdout.split())
    # 64 MB more samples, of which less than a third may show.
    assert many - few < 21


QUICK = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


def test_a_lazy_frame_of_polars_is_collected():
    pl = pytest.importorskip("polars")
    X, y = two_classes()
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    eager = SPKMClassifier(**QUICK).fit(frame, y)
    lazy = SPKMClassifier(**QUICK).fit(frame.lazy(), y)
    np.testing.assert_array_equal(lazy.feature_names_in_, ["a", "b"])
    np.testing.assert_array_equal(lazy.decision_function(frame.lazy()), eager.decision_function(frame))
    tables = SPKMClassifier(**QUICK).fit({"one": frame.lazy(), "two": X}, y)
    np.testing.assert_array_equal(
        tables.predict({"one": frame, "two": X}), tables.predict({"one": frame.lazy(), "two": X})
    )
