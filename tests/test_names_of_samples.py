"""Columns by name wherever samples have names: dicts, rows of frames, frames whose columns have numbers for names."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from spkm import SPKMRegressor, TableEncoder, load, save
from spkm.persistence import compiled, export

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "c"])
LEVELS = TABLE.assign(b=np.where(TABLE["b"] > 0, "a", "c"), c=np.where(TABLE["c"] > 0, "b", "a"))
NUMBERED = pd.DataFrame(TABLE.to_numpy(), columns=[2020, 2021, 2022])
Y = (TABLE["a"] - 2 * TABLE["b"]).to_numpy()


def fitted(X: Any, encoded: bool) -> Any:
    model = SPKMRegressor(2, random_state=0)
    return (make_pipeline(TableEncoder(), model) if encoded else model).fit(X, Y)


@pytest.mark.parametrize(("table", "encoded"), [(TABLE, False), (TABLE, True), (LEVELS, True), (NUMBERED, True)])
def test_one_sample_by_name(table: Any, encoded: bool, tmp_path: Path) -> None:
    model = fitted(table, encoded)
    export(model, tmp_path / "model.py")
    module = runpy.run_path(str(tmp_path / "model.py"))
    for answer in (compiled(model), module["predict"]):
        row = table.iloc[0]
        want = pytest.approx(model.predict(table[:1])[0], abs=1e-9)
        assert answer(row) == want
        assert answer(row[::-1]) == want
        assert answer(dict(row[::-1])) == want
        assert answer(row.tolist()) == want
        assert answer(pd.Series(row.tolist())) == want  # its names are places
        with pytest.raises(ValueError, match="columns of the fit"):
            answer(dict(row[1:]))
        with pytest.raises(ValueError, match="columns of the fit"):
            answer(row.rename({table.columns[0]: "other"}))


def test_one_sample_is_no_table() -> None:
    for table in (TABLE[:1].to_numpy(), TABLE[:1], TABLE.to_numpy()):
        for encoded in (False, True):
            with pytest.raises(ValueError, match=r"takes one sample, 3 (numbers|values); got an array of the shape"):
                compiled(fitted(TABLE, encoded))(table)


def test_rows_of_names_without_the_library(tmp_path: Path) -> None:
    """Before, a row that is a dict was a row of its names: levels that the fit had not seen."""
    model = fitted(LEVELS, True)
    save(model, tmp_path / "model.spkm")
    light = load(tmp_path / "model.spkm", runtime="numpy")
    rows = [dict(row[::-1]) for _, row in LEVELS[:5].iterrows()]
    np.testing.assert_allclose(light.predict(rows), model.predict(LEVELS[:5]), atol=1e-9)
    with pytest.raises(TypeError, match="got a dict"):
        light.predict(LEVELS.to_dict("list"))


def test_numbers_for_names_of_columns(tmp_path: Path) -> None:
    swapped = NUMBERED[[2021, 2020, 2022]]
    model = fitted(NUMBERED, True)
    save(model, tmp_path / "model.spkm")
    again, light = load(tmp_path / "model.spkm"), load(tmp_path / "model.spkm", runtime="numpy")
    for one in (model, again):
        with pytest.raises(ValueError, match="in their order"):
            one.predict(swapped)
    np.testing.assert_allclose(light.predict(NUMBERED), model.predict(NUMBERED), atol=1e-9)
    np.testing.assert_allclose(light.predict(swapped), model.predict(NUMBERED), atol=1e-9)
    np.testing.assert_array_equal(model.predict(NUMBERED.to_numpy()), model.predict(NUMBERED))


def test_categories_by_the_number_that_is_their_name() -> None:
    """``header=None`` and a dropped column: the names are 1, 2, 3, and 1 is no place."""
    table = pd.DataFrame(rng.integers(0, 3, (60, 3)), columns=[1, 2, 3])
    names = list(TableEncoder(categorical=[1]).fit(table).get_feature_names_out())
    assert names == ["1 = 0", "1 = 1", "1 = 2", "2", "3"]
    with pytest.raises(ValueError, match=r"categorical must name columns of X.*; got 0\."):
        TableEncoder(categorical=[0]).fit(table)
    assert TableEncoder(categorical=[0]).fit(table.to_numpy()).get_feature_names_out()[0] == "x0 = 0"


def test_chunks_of_arrow_have_their_names(tmp_path: Path) -> None:
    """Before, their columns were taken by places: a list of arrays has no names."""
    pa = pytest.importorskip("pyarrow")
    model = fitted(TABLE, False)
    for columns in (["a", "b", "c"], ["c", "a", "b"]):
        table = pa.Table.from_pandas(TABLE[columns], preserve_index=False)
        for chunks in ([table], table.to_batches(max_chunksize=25)):
            found = np.concatenate(list(model.predict_chunks(chunks)))
            np.testing.assert_allclose(found, model.predict(TABLE), atol=1e-9)
    swapped = TABLE[["c", "a", "b"]]
    first, *rest = (pa.Table.from_pandas(part, preserve_index=False) for part in (TABLE[:30], swapped[30:]))
    whole = [(TABLE[:30], Y[:30]), (TABLE[30:], Y[30:])]
    fits = [
        SPKMRegressor(2, weight_penalty="rkhs", random_state=0).fit(chunks)
        for chunks in (whole, [(first, Y[:30]), (rest[0], Y[30:])])
    ]
    np.testing.assert_allclose(*(fit.predict(TABLE) for fit in fits), atol=1e-3)  # sums in another order


def test_rows_of_names_without_an_encoder(tmp_path: Path) -> None:
    model = fitted(TABLE, False)
    save(model, tmp_path / "model.spkm")
    rows = [dict(row[::-1]) for _, row in TABLE[:5].iterrows()]
    found = load(tmp_path / "model.spkm", runtime="numpy").predict(rows)
    np.testing.assert_allclose(found, model.predict(TABLE[:5]), atol=1e-9)


def test_cells_of_pandas_and_numpy_in_exported_python(tmp_path: Path) -> None:
    """Marks of missing values, and fractions of other precisions, are what the pipeline takes them for."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"level": rng.choice([0.1, 2.0, 3.0], 40), "number": rng.normal(size=40)})
    table.loc[::5, "level"] = table.loc[1::5, "number"] = np.nan
    encoder = TableEncoder(categorical=["level"])
    model = make_pipeline(encoder, SPKMRegressor(2, random_state=0)).fit(table, rng.normal(size=40))
    export(model, tmp_path / "model.py")
    predict = runpy.run_path(str(tmp_path / "model.py"))["predict"]
    for level in (pd.NA, pd.NaT, np.float32("nan"), np.float32(0.1), np.float32(2), np.float64(3), np.int64(3)):
        for number in (pd.NA, np.float32(0.5), np.float64("nan")):
            row = pd.DataFrame([[level, number]], columns=["level", "number"], dtype=object)
            np.testing.assert_allclose(predict([level, number]), model.predict(row)[0], atol=1e-9)
