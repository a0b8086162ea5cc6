"""Mixed tables: scikit-learn's own encoders are the oracle."""

import datetime
import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from spkm import SPKMClassifier, TableEncoder
from spkm.tables.columns import FeatureOrigin
from tests.pipeline_cases import mixed as mixed_columns
from tests.pipeline_cases import targets

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def mixed(n=200, seed=0):
    """Return a frame of every kind of column, with missing values."""
    rng = np.random.default_rng(seed)
    work = rng.choice(["private", "state", "self"], n, p=[0.6, 0.3, 0.1]).astype(object)
    work[rng.random(n) < 0.1] = None
    age = np.round(rng.normal(40, 10, n))
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "work": work,
            "hours": rng.integers(10, 60, n),
            "member": rng.random(n) < 0.3,
            "town": pd.Categorical(rng.choice([f"t{i}" for i in range(40)], n)),
            "planet": "earth",
            "nothing": np.nan,
        }
    )


@parametrize_with_checks([TableEncoder(), TableEncoder(sparse=True)])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_numbers_without_gaps_pass_as_they_are():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for dtype in (np.float64, np.float32):
        encoded = TableEncoder().fit_transform(X.astype(dtype))
        assert encoded.dtype == dtype
        np.testing.assert_array_equal(encoded, X.astype(dtype))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_it_does_what_scikit_learns_parts_do(as_sparse):
    frame = mixed()
    encoder = TableEncoder(min_frequency=8, sparse=as_sparse).fit(frame)
    got = encoder.transform(frame)
    assert sparse.issparse(got) == as_sparse
    got = pd.DataFrame(got.toarray() if as_sparse else got, columns=encoder.get_feature_names_out())
    imputed = SimpleImputer(strategy="median", add_indicator=True).fit_transform(frame[["age"]])
    np.testing.assert_array_equal(got[["age", "age is missing"]], imputed)
    np.testing.assert_array_equal(got["hours"], frame["hours"])
    np.testing.assert_array_equal(got["member = True"], frame["member"])
    theirs = OneHotEncoder(sparse_output=False).fit(frame[["work"]])
    names = [f"work = {level}" for level in ("private", "self", "state")] + ["work is missing"]
    np.testing.assert_array_equal(got[names], theirs.transform(frame[["work"]]))
    pooling = OneHotEncoder(sparse_output=False, min_frequency=8).fit(frame[["town"]])
    np.testing.assert_array_equal(got.filter(like="town = "), pooling.transform(frame[["town"]]))
    assert not got.filter(like="planet").size and not got.filter(like="nothing").size


def test_it_says_where_every_column_comes_from():
    encoder = TableEncoder(min_frequency=8).fit(mixed())
    names, origins = encoder.get_feature_names_out(), encoder.feature_origin_
    assert len(names) == len(origins) == len(encoder.groups_) == len(set(names))
    assert FeatureOrigin("work", "level", "private") in origins and FeatureOrigin("work", "missing") in origins
    groups = encoder.column_groups()
    assert list(groups) == ["age", "work", "hours", "member", "town"]
    np.testing.assert_array_equal(np.concatenate(list(groups.values())), np.arange(len(names)))
    for column, places in groups.items():
        assert all(origins[place].column == column for place in places)
    for said in ("'age'", "median", "'planet'", "dropped", "'town'", "(other)"):
        assert any(said in note for note in encoder.notes_)


def test_pandas_polars_and_arrays_of_objects_give_the_same():
    frame = mixed().drop(columns=["nothing"])
    expected = TableEncoder().fit_transform(frame)
    objects = frame.astype(object).to_numpy()
    np.testing.assert_array_equal(TableEncoder().fit_transform(objects), expected)
    in_polars = pl.from_pandas(frame.astype({"town": str}))
    for table in (in_polars, in_polars.lazy(), in_polars.with_columns(pl.col("town").cast(pl.Categorical))):
        np.testing.assert_array_equal(TableEncoder().fit_transform(table), expected)
    nullable = frame.convert_dtypes()
    np.testing.assert_array_equal(TableEncoder().fit_transform(nullable), expected)


def test_what_was_not_there_in_the_fit():
    fit = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["u", "v"] * 9 + ["w", "z"], "c": np.arange(20.0)})
    encoder = TableEncoder(min_frequency=3).fit(fit)
    assert list(encoder.get_feature_names_out()) == ["a = x", "a = y", "b = u", "b = v", "b = (other)", "c"]
    new = pd.DataFrame({"a": ["new", None], "b": ["new", "w"], "c": [np.nan, 3.0]})
    # An unknown level goes with the rare ones; where there were none it is zeros. So is a missing one.
    np.testing.assert_array_equal(encoder.transform(new), [[0, 0, 0, 0, 1, 9.5], [0, 0, 0, 0, 1, 3]])


@pytest.mark.parametrize("gap", [None, float("nan"), np.float64("nan"), np.float32("nan"), np.float16("nan")])
def test_a_gap_is_one_whatever_its_type(gap):
    X = np.array([["a", 1.0], ["b", 2.0]] * 4 + [[gap, 3.0]] * 3, dtype=object)
    encoder = TableEncoder().fit(X)
    assert list(encoder.get_feature_names_out()) == ["x0 = a", "x0 = b", "x0 is missing", "x1"]


def test_codes_can_be_categories_whatever_type_they_come_in():
    frame = pd.DataFrame({"region": [1, 2, 3, 1, 2, 3], "x": np.arange(6.0)})
    encoder = TableEncoder(categorical=["region"]).fit(frame)
    assert list(encoder.get_feature_names_out()) == ["region = 1", "region = 2", "region = 3", "x"]
    expected = encoder.transform(frame)
    for region in (frame.region.astype(float), frame.region.astype(str), frame.region.astype("category")):
        np.testing.assert_array_equal(encoder.transform(frame.assign(region=region)), expected)
    by_place = TableEncoder(categorical=[0]).fit(frame)
    np.testing.assert_array_equal(by_place.transform(frame), expected)
    of_numbers = TableEncoder().fit(frame.assign(region=frame.region.astype("category")))
    np.testing.assert_array_equal(of_numbers.transform(frame), expected)


def test_booleans_may_be_text_where_they_were_booleans_in_the_fit():
    encoder = TableEncoder().fit(pd.DataFrame({"m": [True, False, True, None]}))
    new = pd.DataFrame({"m": ["true", "False", None, "1"]})
    np.testing.assert_array_equal(encoder.transform(new), [[1, 0], [0, 0], [1, 1], [1, 0]])


def test_many_levels_are_sparse():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 90, 3000).astype(str) for i in range(5)})
    encoder = TableEncoder().fit(frame)
    encoded = encoder.transform(frame)
    assert sparse.issparse(encoded) and encoded.format == "csr" and encoded.shape[1] > 300
    np.testing.assert_array_equal(encoded.toarray(), clone(encoder).set_params(sparse=False).fit_transform(frame))
    few = TableEncoder(max_levels=3).fit(frame)
    assert len(few.column_groups()["c0"]) == 4


cells = st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.integers(-3, 3), st.floats(-2, 2))


@settings(max_examples=40)
@given(rows=st.lists(st.tuples(cells, cells), min_size=2, max_size=12))
def test_any_cells_give_finite_numbers_and_survive_plain_data(rows):
    table = np.empty((len(rows), 2), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    try:
        encoder = TableEncoder().fit(table)
    except ValueError as error:
        assert "not the same in all samples" in str(error)
        return
    encoded = encoder.transform(table)
    assert np.isfinite(encoded).all() and encoded.shape[1] == len(encoder.feature_origin_)
    assert (encoded != encoded[0]).any(axis=0).all()  # nothing constant is left
    again = TableEncoder.from_plain(json.loads(json.dumps(encoder.to_plain())))
    np.testing.assert_array_equal(again.transform(table), encoded)


def test_plain_data_keep_everything():
    frame = mixed()
    encoder = TableEncoder(categorical=["hours"], min_frequency=3).fit(frame)
    again = TableEncoder.from_plain(json.loads(json.dumps(encoder.to_plain())))
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    assert again.get_params() == encoder.get_params() and again.notes_ == encoder.notes_
    assert list(again.feature_names_in_) == list(frame.columns)
    assert list(again.get_feature_names_out()) == list(encoder.get_feature_names_out())
    with pytest.raises(ValueError, match="format must be 1; got 99"):
        TableEncoder.from_plain({**encoder.to_plain(), "format": 99})


@pytest.mark.usefixtures("hasty")
def test_it_works_in_one_line_before_a_model():
    frame = mixed(300)
    y = np.where((frame["work"] == "state") ^ (frame["hours"] > 35), "yes", "no")
    model = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=4, random_state=0)).fit(frame, y)
    assert model.score(frame, y) > 0.9
    groups = model[0].groups_
    few = SPKMClassifier(kernel="linear", selection="strict", feature_groups=groups, random_state=0)
    few.fit(model[0].transform(frame), y)
    kept = set(groups[few.selected_features_])
    np.testing.assert_array_equal(few.selected_features_, np.flatnonzero(np.isin(groups, list(kept))))


def test_set_output_names_the_columns():
    frame = mixed()
    named = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert "work = private" in named.columns


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "'day' holds dates.*days since"),
        (pd.DataFrame({"day": [datetime.date(2020, 1, 1), None]}), "'day' holds dates"),
        (pl.DataFrame({"day": [datetime.date(2020, 1, 1), None]}), "'day' holds dates"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")[:, None], "'x0' holds dates"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), r"\['a'\] are there more than once"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "'a' holds infinity"),
        (pd.DataFrame({"a": [1.0, 1.0]}), "not the same in all samples"),
        (pd.DataFrame({"a": [1.0]}), "at least 2 samples"),
    ],
)
def test_what_cannot_be_encoded_is_refused_with_advice(frame, says):
    with pytest.raises(ValueError, match=says):
        TableEncoder().fit(frame)


def test_cells_of_lists_are_refused():
    with pytest.raises(TypeError, match=r"'a' must hold numbers, texts.*list"):
        TableEncoder().fit(pd.DataFrame({"a": [[1], [2]]}))


@pytest.mark.parametrize("dtype", [complex, object])
def test_complex_numbers_are_refused(dtype):
    """Their imaginary parts would be lost."""
    with pytest.raises(TypeError, match=r"'a' must hold numbers, texts.*complex"):
        TableEncoder().fit(pd.DataFrame({"a": [1j, 2 + 1j], "b": [1.0, 2.0]}).astype({"a": dtype}))


@pytest.mark.parametrize("n", [20, 60, 150])
def test_texts_that_identify_samples_are_dropped(n):
    table = pd.DataFrame({"sample": [f"s{i}" for i in range(n)], "b": np.arange(n) % 2})
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == ["b"]
    assert "like an identifier or free text: dropped" in encoder.notes_[0]
    assert TableEncoder(min_frequency=1, max_levels=200).fit_transform(table).shape == (n, n + 1)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%d.%m.%Y", "%m/%d/%y"])
def test_texts_that_are_dates_are_dropped_with_a_remedy(form):
    days = pd.date_range("2024-01-01", periods=60).strftime(form)
    encoder = TableEncoder().fit(pd.DataFrame({"day": days, "b": np.arange(60) % 2}))
    assert encoder.get_feature_names_out().tolist() == ["b"]
    assert encoder.notes_[0].startswith("column 'day' holds dates: dropped. Turn them into numbers first")


@pytest.mark.parametrize("form", ["{:,}", "${}", "{}%", "{} €", "-£{:,}.50"])
def test_numbers_with_marks_are_dropped_with_a_remedy(form):
    price = [form.format(700 + 37 * i) for i in range(60)]
    encoder = TableEncoder().fit(pd.DataFrame({"price": price, "b": np.arange(60) % 2}))
    assert encoder.get_feature_names_out().tolist() == ["b"]
    assert encoder.notes_[0].startswith("column 'price' holds numbers with marks, ")
    assert encoder.notes_[0].endswith("Write them as plain numbers, 1234.5, to use them.")


@pytest.mark.parametrize("form", ["{:05d}", "S{}", "555-{}-0000", "192.168.0.{}"])
def test_identifiers_of_digits_are_no_numbers_with_marks(form):
    codes = [form.format(100 + i) for i in range(60)]
    note = TableEncoder().fit(pd.DataFrame({"code": codes, "b": np.arange(60) % 2})).notes_[0]
    assert "like an identifier or free text: dropped" in note


def test_a_word_among_numbers_is_named():
    cells = [*map(str, range(20)), "low"] * 8
    (note,) = TableEncoder().fit(pd.DataFrame({"dose": cells})).notes_
    assert note.startswith("column 'dose': text because of 'low', all else are numbers")
    assert TableEncoder().fit(pd.DataFrame({"room": ["1", "2", "3a", "4b"] * 20})).notes_ == []


def test_a_missing_truth_value_is_noted_as_one():
    truths = [True, False, False, None] * 10
    note = TableEncoder().fit(pd.DataFrame({"wet": truths, "b": np.arange(40) % 3})).notes_[0]
    assert note == "column 'wet': 10 missing values became the median, false; a further feature marks them."


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"categorical": "age"}, "categorical must be a list"),
        ({"categorical": ["agee"]}, "categorical must name columns of X.*got 'agee'"),
        ({"categorical": [9]}, "got 9"),
        ({"min_frequency": 0}, "min_frequency"),
        ({"max_levels": 0}, "max_levels"),
        ({"sparse": "yes"}, "sparse"),
    ],
)
def test_parameters_are_checked(params, says):
    with pytest.raises((TypeError, ValueError), match=says):
        TableEncoder(**params).fit(mixed())


def test_text_in_a_column_of_numbers_is_named():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="'a' must hold numbers, as in the fit; got 'two'"):
        encoder.transform(pd.DataFrame({"a": ["two", "1"]}))


def test_a_fit_that_fails_changes_nothing():
    encoder = TableEncoder().fit(mixed())
    before = encoder.to_plain()
    with pytest.raises(ValueError):
        encoder.fit(pd.DataFrame({"a": [1.0, 1.0]}))
    assert encoder.to_plain() == before


def test_columns_that_determine_each_other_are_found():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 300
    level = rng.integers(0, 5, n)
    height = rng.normal(170, 10, n)
    table = pd.DataFrame(
        {
            "school": np.array(["none", "some", "HS", "BA", "MA"])[level],
            "years": np.array([0, 4, 12, 16, 18])[level],
            "other": rng.integers(0, 5, n),
            "cm": height,
            "inch": 20.0 - height / 2.54,
            "noisy": height + 0.01 * rng.normal(size=n),
            "apart": np.exp(height / 50),
        }
    )
    encoder = TableEncoder().fit(table)
    by_value, on_line = encoder.links_
    assert by_value.columns == ("school", "years")
    assert set(by_value.rows) == {("none", 0.0), ("some", 4.0), ("HS", 12.0), ("BA", 16.0), ("MA", 18.0)}
    assert on_line.columns == ("cm", "inch") and not on_line.rows
    np.testing.assert_allclose(on_line.slopes, (1.0, -1 / 2.54), rtol=1e-9)
    assert encoder.whole_ == ["years", "other"]
    again = TableEncoder.from_plain(json.loads(json.dumps(encoder.to_plain())))
    assert again.links_ == encoder.links_
    assert again.whole_ == encoder.whole_
    table.loc[7, "years"] = 16 if table.loc[7, "school"] != "BA" else 12  # one sample that contradicts
    assert [link.columns for link in TableEncoder().fit(table).links_] == [("cm", "inch")]
    few = TableEncoder().fit(table.iloc[8:16])  # values of eight samples match by chance
    assert all("school" not in link.columns for link in few.links_)


@pytest.mark.parametrize("cell", ["nan", "NaN", "inf", "1_0", "", "0x10", "1e", "٣"])
def test_texts_are_numbers_as_tables_write_them(cell):
    encoder = TableEncoder().fit([[1.0], [2.0], [3.0]])
    with pytest.raises(ValueError, match="must hold numbers"):
        encoder.transform([[cell]])
    assert encoder.transform([[" +1.5e0 "], [".5"]])[:, 0].tolist() == [1.5, 0.5]


@pytest.mark.parametrize("cell", [7.5, 2, "yes", "7"])
def test_truths_are_zero_or_one(cell):
    encoder = TableEncoder().fit([[True], [False], [True]])
    for table in ([[cell]], np.array([[cell]], dtype=object)) + (
        () if isinstance(cell, str) else (np.array([[cell]]),)
    ):
        with pytest.raises(ValueError, match="must hold truths"):
            encoder.transform(table)
    assert encoder.transform([[1.0], ["False"], [0]])[:, 0].tolist() == [1.0, 0.0, 0.0]


few = settings(max_examples=6, derandomize=True, database=None)


seeds = st.integers(0, 2**32 - 1)


@cache
def encoder():
    return TableEncoder(categorical=["region"]).fit(mixed_columns())


@few
@given(seeds)
def test_encoders_see_each_sample_by_itself(seed):
    frame = mixed_columns(20, seed=seed % 1000)
    order = np.random.default_rng(seed).permutation(20)
    whole = encoder().transform(frame)
    np.testing.assert_array_equal(encoder().transform(frame.iloc[order]), whole[order])
    parts = [encoder().transform(frame.iloc[[i]]) for i in range(20)]
    np.testing.assert_array_equal(np.vstack(parts), whole)


@few
@given(seeds)
def test_encoders_do_not_mind_the_order_of_samples_in_the_fit(seed):
    frame = mixed_columns(60, seed=seed % 1000)
    order = np.random.default_rng(seed).permutation(60)
    a, b = TableEncoder().fit(frame), TableEncoder().fit(frame.iloc[order])
    np.testing.assert_array_equal(a.transform(frame), b.transform(frame))
    assert len(targets(frame)) == 60


@few
@given(seeds)
def test_names_of_levels_are_names(seed):
    frame = mixed_columns(60, seed=seed % 1000)
    renamed = frame.assign(
        **{"work; DROP": frame["work; DROP"].map(lambda level: None if pd.isna(level) else f"z{level}")}
    )
    a, b = TableEncoder().fit(frame), TableEncoder().fit(renamed)
    np.testing.assert_array_equal(a.transform(frame), b.transform(renamed))


def test_names_with_braces_are_names():
    encoder = TableEncoder().fit(
        pd.DataFrame({"weight {kg}": ["{a}", "b", "{a}", "b"], "{}": [True, False, True, True]})
    )
    assert list(encoder.get_feature_names_out()) == ["weight {kg} = b", "weight {kg} = {a}", "{} = True"]


BIG = 2**53


@pytest.mark.parametrize("library", ["pandas", "pandas with gaps", "polars", "polars with gaps", "array"])
def test_integers_that_floats_merge_stay_apart(library):
    codes = [BIG, BIG + 1] * 6
    cells = [*codes, None] if "gaps" in library else codes
    if library == "array":
        table, named = np.array(codes)[:, None], [0]
    elif "polars" in library:
        polars = pytest.importorskip("polars")
        table, named = polars.DataFrame({"code": polars.Series(cells, dtype=polars.Int64)}), ["code"]
    else:
        pandas = pytest.importorskip("pandas")
        table, named = pandas.DataFrame({"code": pandas.array(cells, dtype="Int64")}), ["code"]
    found = TableEncoder(categorical=named, min_frequency=1).fit_transform(table)
    assert (found[0] != found[1]).any() and np.array_equal(found[0::2][:6], np.repeat(found[:1], 6, axis=0))


@pytest.mark.parametrize(("first", "second"), [("float32", "float64"), ("float64", "float32")])
def test_levels_are_the_same_in_both_precisions(first, second):
    pandas = pytest.importorskip("pandas")
    levels = np.array([0.1, 0.3, 2.0, 1e-3] * 5)
    encoder = TableEncoder(categorical=["a"], min_frequency=1)
    fitted = encoder.fit(pandas.DataFrame({"a": levels.astype(first)})).get_feature_names_out()
    np.testing.assert_array_equal(
        encoder.transform(pandas.DataFrame({"a": levels.astype(second)})),
        encoder.transform(pandas.DataFrame({"a": levels.astype(first)})),
    )
    assert list(fitted) == ["a = 0.001", "a = 0.1", "a = 0.3", "a = 2"]


@pytest.mark.parametrize("fitted", ["single", "widened", "literal"])
def test_a_level_has_one_column_however_wide_its_numbers_are(fitted):
    single = np.array([0.1, 0.3, 2.0, 1e-3, 123456792.0] * 5, dtype=np.float32)
    tables = {
        "single": single,
        "widened": single.astype(float),
        "literal": np.array([0.1, 0.3, 2, 1e-3, 123456792] * 5),
    }
    encoder = TableEncoder(categorical=[0], min_frequency=1).fit(tables[fitted][:, None])
    found = encoder.transform(single[:, None])
    assert found.sum() == len(single)
    for values in tables.values():
        np.testing.assert_array_equal(encoder.transform(values[:, None]), found)
        np.testing.assert_array_equal(encoder.transform(values.astype(object)[:, None]), found)
    back = TableEncoder.from_plain(encoder.to_plain())
    np.testing.assert_array_equal(back.transform(tables["widened"][:, None]), found)


def test_levels_that_are_there_come_before_those_of_another_precision():
    wide = float(np.float32(0.1))
    encoder = TableEncoder(categorical=[0], min_frequency=1).fit(np.array([[0.1], [wide], [0.3]] * 2))
    assert encoder.transform(np.array([[0.1], [wide], [0.3], [float(np.float32(0.3))]])).argmax(axis=1).tolist() == [
        *(0, 1, 2, 2),
    ]
    # Whole numbers beyond single precision are neighbours, not the same.
    codes = TableEncoder(categorical=[0], min_frequency=1).fit(np.array([[123456790.0], [123456789.0]] * 3))
    assert not codes.transform(np.array([[123456792.0]])).any()


def test_levels_of_files_are_those_of_frames(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(
        {"a": np.array([0.1, 0.3] * 5, dtype=np.float32), "code": [BIG, BIG + 1] * 5, "y": [0, 1] * 5}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    settings = {"categorical": ["a", "code"], "min_frequency": 1}
    in_memory = TableEncoder(**settings).fit(frame[["a", "code"]])
    in_files = TableEncoder(**settings).fit(tmp_path / "t.parquet", "y")
    assert list(in_memory.get_feature_names_out()) == list(in_files.get_feature_names_out())


@pytest.mark.parametrize("kind", ["table", "batch"])
def test_a_table_of_arrow_has_its_names(kind):
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "age": [1.0, 2.0, 3.0] * 6,
            "id": pd.array([2**53, 2**53 + 1, None] * 6, "Int64"),
            "word": ["a", "b", None] * 6,
        }
    )
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table if kind == "table" else table.to_batches()[0]
    encoder = TableEncoder(categorical=["id"]).fit(frame)
    again = TableEncoder(categorical=["id"]).fit(table)
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(again.transform(table), encoder.transform(frame))
    np.testing.assert_array_equal(encoder.transform(table), encoder.transform(frame))
    with pytest.raises(ValueError, match="same order as they were in fit"):
        encoder.transform(table.select(["word", "id", "age"]))
