"""Mixed tables in files: the encoder, the numbers and the model are those of the same table in memory."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from spkm import FileTable, SPKMClassifier, SPKMRegressor, TableEncoder, load, save
from spkm.tables import encoded_files as files_module

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 3000
RNG = np.random.default_rng(0)
SIZE = np.where(RNG.random(N) < 0.1, np.nan, RNG.standard_normal(N))
CITY = RNG.choice(np.array(["Rome", "Oslo", "Lima", None], dtype=object), N, p=[0.5, 0.3, 0.15, 0.05])
FRAME = pd.DataFrame(
    {
        "size": SIZE,
        "city": CITY,
        "rare": np.where(np.arange(N) < 5, "seldom", np.where(np.arange(N) % 2, "a", "b")),
        "region": RNG.integers(1, 4, N),
        "new": RNG.random(N) < 0.5,
        "same": np.ones(N),
        "name": [f"person {i}" for i in range(N)],
    }
)
SCORE = np.nan_to_num(SIZE, nan=1.0) + np.where(CITY == "Rome", 1.0, -1.0)
LABELS = np.where(SCORE + 0.1 * RNG.standard_normal(N) > 0, "yes", "no")
NAMES = list(FRAME.columns)


def written(folder, frame, kind="parquet"):
    folder.mkdir()
    for i, start in enumerate(range(0, N, 1000)):
        part = frame[start : start + 1000].reset_index(drop=True)
        if kind == "csv":
            part.to_csv(folder / f"{i}.csv", index=False)
        else:
            getattr(part, f"to_{kind}")(folder / f"{i}.{kind}")
    return folder


@pytest.fixture(autouse=True)
def small_chunks(kept_of_chunks):
    kept_of_chunks(1500)  # fewer than there are: the fit reads chunks


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_the_encoder_is_that_of_the_frame(tmp_path, kind):
    frame = FRAME if kind == "csv" else FRAME.assign(city=FRAME["city"].astype("category"))
    folder = written(tmp_path / "data", frame.assign(label=LABELS), kind)
    encoder = TableEncoder(categorical=["region"]).fit(folder, "label")
    expected = TableEncoder(categorical=["region"]).fit(frame)
    assert encoder.to_plain() == expected.to_plain()
    assert encoder.feature_names_in_.tolist() == NAMES and encoder.n_features_in_ == len(NAMES)
    reader = files_module.FileEncoder(encoder)
    assert reader.names == expected.get_feature_names_out().tolist()
    table = pa.Table.from_pandas(frame)
    X = np.concatenate([reader.encoded(batch) for batch in table.to_batches(max_chunksize=700)])
    np.testing.assert_array_equal(X, expected.transform(frame))


def test_a_pipeline_of_files_is_the_model_of_encoded_files(tmp_path):
    folder = written(tmp_path / "data", FRAME.assign(label=LABELS))
    pipe = make_pipeline(TableEncoder(), SPKMClassifier(4, random_state=0)).fit(str(folder / "*.parquet"), "label")
    X = TableEncoder().fit_transform(FRAME)
    numbers = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(label=LABELS)
    plain = SPKMClassifier(4, random_state=0).fit(written(tmp_path / "numbers", numbers), "label")
    np.testing.assert_array_equal(pipe[-1].basis_vectors_, plain.basis_vectors_)
    assert pipe.score(FRAME, LABELS) > 0.9
    parts = pipe[-1].predict_chunks(pipe[:-1].transform(folder), "predict_proba")
    np.testing.assert_allclose(np.concatenate(list(parts)), pipe.predict_proba(FRAME), rtol=1e-9)
    save(pipe, tmp_path / "model.spkm")
    again = load(tmp_path / "model.spkm")
    np.testing.assert_array_equal(again.predict(FRAME), pipe.predict(FRAME))


def test_the_model_of_files_has_the_names_of_the_table(tmp_path):
    folder = written(tmp_path / "data", FRAME.assign(label=LABELS))
    pipe = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=3, random_state=0)).fit(folder, "label")
    last = pipe[-1]
    assert last.to_frame().columns.tolist()[1:] == pipe[0].get_feature_names_out().tolist()
    assert "city = Rome" in str(last.summary()) and "x0" not in str(last.summary())
    names = last.explain(pipe[:-1].transform(FRAME[:3])).feature_names
    assert names == ("size", "city", "rare", "region", "new")


def test_columns_may_be_chosen_and_weights_named(tmp_path):
    folder = written(tmp_path / "data", FRAME.assign(score=SCORE, w=np.arange(N) % 2))
    table = TableEncoder().fit(FileTable(folder, features=["size", "city"])).transform(folder)
    model = SPKMRegressor(4, random_state=0).fit(table, target="score", weight="w")
    X = TableEncoder().fit_transform(FRAME[["size", "city"]])
    assert model.n_features_in_ == X.shape[1] and model.score(X, SCORE) > 0.9
    assert not hasattr(model, "feature_names_in_")  # as of a pipeline in memory, so that it takes arrays without a word


def test_levels_that_the_fit_did_not_see(tmp_path):
    encoder = TableEncoder().fit(written(tmp_path / "data", FRAME))
    table = FRAME[:50].assign(city="Cairo", rare="never", size=np.nan)
    batch = pa.Table.from_pandas(table).to_batches()[0]
    np.testing.assert_array_equal(files_module.FileEncoder(encoder).encoded(batch), encoder.transform(table))


def test_levels_are_counted_within_the_bound_of_misra_and_gries(encoder_keeps):
    encoder_keeps(levels=20)
    drawn = np.random.default_rng(1).zipf(1.5, 5000).astype(str)
    facts = files_module.LevelFacts("c")
    for start in range(0, 5000, 50):
        facts.add(pa.array(drawn[start : start + 50].tolist()), None)
    levels, counts = np.unique(drawn, return_counts=True)
    assert len(facts.counts) <= 20 < len(levels)
    for level, count in zip(levels, counts, strict=True):
        assert count - 5000 / 21 <= facts.counts.get(level, 0) <= count
    plan, note = facts.plan(10, 100)
    assert plan.other and "at least" in note


def test_identifiers_are_dropped_although_no_count_of_them_is_left(encoder_keeps):
    encoder_keeps(levels=20)
    facts = files_module.LevelFacts("id")
    facts.add(pa.array([str(i) for i in range(500)]), None)
    assert facts.counts == {}
    plan, note = facts.plan(10, 100)
    assert plan is None and "at least 500 levels" in note and "identifier" in note


def test_the_median_is_of_values_kept_at_random(encoder_keeps):
    encoder_keeps(values=400)
    values = np.sort(np.random.default_rng(2).exponential(size=20_000))  # sorted: the first ones would mislead
    facts, rng = files_module.NumberFacts("v", "number"), np.random.default_rng(3)
    for part in np.split(values, 20):
        facts.add(pa.array([*part.tolist(), None]), rng.random(len(part) + 1))
    plan, _ = facts.plan(10, 100)
    # The rank of a median of 400 has a deviation of 0.025: five of them.
    assert abs(np.mean(values < plan.fill) - 0.5) < 0.125
    assert plan.missing and facts.absent == 20 and len(facts.values) == 400
    assert (facts.low, facts.high) == (values[0], values[-1])


def test_mistakes_are_told(tmp_path):
    folder = written(tmp_path / "data", FRAME.assign(label=LABELS))
    with pytest.raises(ValueError, match="Put a TableEncoder before the model"):
        SPKMClassifier(3).fit(folder, "label")
    with pytest.raises(NotFittedError):
        SPKMClassifier(3).fit(FileTable(folder, encoder=TableEncoder()), "label")
    with pytest.raises(TypeError, match="fitted TableEncoder; got str"):
        SPKMClassifier(3).fit(FileTable(folder, encoder="auto"), "label")
    with pytest.raises(TypeError, match="either features or encoder"):
        FileTable(folder, ["size"], TableEncoder())
    with pytest.raises(ValueError, match="dense chunks"):
        SPKMClassifier(3).fit(FileTable(folder, encoder=TableEncoder(sparse=True).fit(FRAME)), "label")
    encoder = TableEncoder().fit(FRAME)
    with pytest.raises(ValueError, match="no encoder has turned"):
        TableEncoder().fit(encoder.transform(folder))
    with pytest.raises(ValueError, match="no column 'size'"):
        SPKMClassifier(3).fit(
            encoder.transform(written(tmp_path / "few", FRAME[["city"]].assign(label=LABELS))), "label"
        )
    named = SPKMRegressor(3).fit(FRAME[["region", "same"]].assign(new=FRAME["new"] * 1.0), SCORE)
    with pytest.raises(ValueError, match="features of the fit"):
        list(named.predict_chunks(encoder.transform(folder)))
    with pytest.raises(TypeError, match="predict_chunks"):
        named.predict(folder)


@pytest.mark.parametrize(
    ("cell", "error", "message"),
    [(datetime.date(2020, 1, 1), ValueError, "dates or times"), ([1, 2], TypeError, "must hold numbers, texts")],
)
def test_columns_that_are_no_features(tmp_path, cell, error, message):
    encoder = TableEncoder().fit(FRAME)
    before = encoder.to_plain()
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [cell, cell]}), tmp_path / "0.parquet")
    with pytest.raises(error, match=f"'b'.*{message}"):
        encoder.fit(tmp_path)
    assert encoder.to_plain() == before  # a fit that fails leaves it as it was


def test_marks_of_missing_cells_in_text_files(tmp_path):
    (tmp_path / "a.csv").write_text("size,city\n1,Rome\n?,Oslo\nNA,\n4,?\n" * 10)
    frame = pd.read_csv(tmp_path / "a.csv", na_values=["?"])
    assert TableEncoder().fit(tmp_path).to_plain() == TableEncoder().fit(frame).to_plain()
