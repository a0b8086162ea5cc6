"""Mixed tables in lazy frames, Dask frames and chunks of frames: as in files, as in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from spkm import FileTable, SPKMClassifier, TableEncoder, write_predictions
from tests.test_encoded_files import FRAME, LABELS, N

pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
dd = pytest.importorskip("dask.dataframe")
WHOLE = FRAME.assign(label=LABELS)
CUTS = [slice(0, 700), slice(700, 700), slice(700, 2100), slice(2100, N)]
FITTED = TableEncoder(categorical=["region"]).fit(FRAME)


@pytest.fixture(autouse=True)
def small_chunks(kept_of_chunks):
    kept_of_chunks(1500)  # fewer than there are: the fit reads chunks


def lazy():
    return pl.from_pandas(WHOLE).lazy()


def of_dask():
    return dd.from_pandas(WHOLE, npartitions=3, sort=False)


def pandas_chunks():
    return [(FRAME[cut], LABELS[cut]) for cut in CUTS]


def polars_chunks():
    def chunks():
        for cut in CUTS:
            yield pl.from_pandas(FRAME[cut]), LABELS[cut]

    return chunks


TABLES = [(lazy, "label"), (of_dask, "label"), (pandas_chunks, None), (polars_chunks, None)]
BY_NAME = pytest.mark.parametrize(("made", "y"), TABLES, ids=lambda part: getattr(part, "__name__", ""))


@BY_NAME
def test_the_encoder_is_that_of_the_frame(made, y):
    encoder = TableEncoder(categorical=["region"]).fit(made(), y)
    assert encoder.to_plain() == FITTED.to_plain()
    assert encoder.feature_names_in_.tolist() == list(FRAME.columns)


@BY_NAME
def test_a_pipeline_is_fitted_and_predicts(made, y, tmp_path):
    model = SPKMClassifier(3, weight_penalty="rkhs", tol=0.1, random_state=0)
    pipe = make_pipeline(TableEncoder(categorical=["region"]), model).fit(made(), y)
    assert pipe.score(FRAME, LABELS) > 0.9  # frames in memory, as ever
    assert pipe[-1].n_features_in_ == len(FITTED.get_feature_names_out())
    n = write_predictions(pipe, made(), tmp_path / "found.csv")
    assert n == N
    assert pd.read_csv(tmp_path / "found.csv")["prediction"].tolist() == pipe.predict(FRAME).tolist()


def test_numbers_are_those_of_the_frame():
    expected = FITTED.transform(FRAME)
    for made, _ in TABLES:
        table = FITTED.transform(FileTable(made()))
        assert isinstance(table, FileTable)
        np.testing.assert_array_equal(np.concatenate(list(opened(table))), expected)


def opened(table):
    from spkm.tables.streams import opened_stream

    return (chunk.X for chunk in opened_stream(table).chunks())


def test_a_lazy_frame_without_a_name_is_collected():
    np.testing.assert_array_equal(FITTED.transform(pl.from_pandas(FRAME).lazy()), FITTED.transform(FRAME))


def test_passes_over_parts_are_merged(encoder_keeps):
    """Bounds on what is kept hold for shards, too, and few levels are exact."""
    encoder_keeps(values=500, levels=40)
    encoder = TableEncoder(categorical=["region"]).fit(of_dask(), "label")
    known, found = FITTED.to_plain(), encoder.to_plain()
    assert [note for note in found["notes"] if "name" in note]
    for column, plan, expected in zip(known["columns"], found["plans"], known["plans"], strict=True):
        if column != "size":
            assert plan == expected
    below = np.mean(FRAME["size"].dropna() < found["plans"][0]["fill"])
    assert 0.4 < below < 0.6  # 500 values at random: 4.5 deviations of their median's rank


def test_a_chunk_of_missing_cells_says_nothing_of_its_column():
    first = FRAME[:20].assign(city=None, size=np.nan)
    frames = [(first, LABELS[:20]), (FRAME[20:], LABELS[20:])]
    expected = TableEncoder().fit(pd.concat([first.astype({"city": object}), FRAME[20:]]))
    assert TableEncoder().fit(frames).to_plain() == expected.to_plain()
    table = TableEncoder().fit(frames).transform(frames)
    np.testing.assert_array_equal(
        np.concatenate(list(opened(table))), expected.transform(pd.concat([f for f, _ in frames]))
    )


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([(FRAME, LABELS), (FRAME.assign(size="text"), LABELS)], None, "'size' must hold the same in all chunks"),
        ([(FRAME, LABELS), (FRAME.drop(columns="size"), LABELS)], None, "no column 'size'"),
        ([(FRAME.assign(size=[1, "a"] * (N // 2)), LABELS)], None, "one kind"),
        (lambda: iter([(np.zeros((2, 2)), [0, 1])]), None, "must be frames"),
        (lambda: iter([]), None, "at least 2 samples"),
        (of_dask(), "price", "no column 'price'"),
        (lazy(), "price", "no column 'price'"),
    ],
)
def test_mistakes_are_told(X, y, message):
    encoder = TableEncoder()
    with pytest.raises((TypeError, ValueError), match=message):
        encoder.fit(X, y)
    assert vars(encoder) == vars(TableEncoder())


def test_text_without_an_encoder_is_refused_with_the_way_out():
    for X in (lazy(), of_dask()):
        with pytest.raises(ValueError, match="make_pipeline"):
            SPKMClassifier(2).fit(X, "label")
    with pytest.raises(TypeError, match="must be None"):
        SPKMClassifier(2).fit(FileTable(pandas_chunks(), encoder=FITTED), "label")
