"""Queries of models: what is missing or no number, categories of every type, and the columns of the answer."""

import sqlite3
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, TableEncoder
from spkm.persistence import export
from tests.plain_cases import N_FEATURES, tasks
from tests.saving import exported, with_model

DATABASES = ["sqlite", "duckdb"]
NAMES = [f"x{j}" for j in range(N_FEATURES)]
QUICK = {"n_basis": 3, "weight_penalty": "rkhs", "tol": 1e-2, "random_state": 0}


def answers(database: str, frame: pd.DataFrame, query: str, kind: str = "DOUBLE") -> pd.DataFrame:
    """Return the result of a query over a table of samples; ``kind`` is the type of its columns of numbers."""
    if database == "duckdb":
        connection = pytest.importorskip("duckdb", reason="duckdb is not installed").connect()
        connection.register("given", frame)
        types = ", ".join(
            f'CAST("{name}" AS {kind}) AS "{name}"' if frame[name].dtype.kind == "f" else f'"{name}"' for name in frame
        )
        connection.execute(f"CREATE TABLE samples AS SELECT {types} FROM given")
        found = connection.execute(query).df()
    else:
        connection = sqlite3.connect(":memory:")
        connection.create_function("exp", 1, lambda x: None if x is None else float(np.exp(x)))
        connection.create_function("sqrt", 1, lambda x: None if x is None else float(np.sqrt(x)))
        frame.to_sql("samples", connection, index=False)
        found = pd.read_sql_query(query, connection)
    connection.close()
    return found


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("name", sorted(tasks()))
def test_what_is_no_number_has_no_answer(name, database):
    query = exported(with_model(tasks()[name], NAMES), ".sql")
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((6, N_FEATURES)), columns=NAMES)
    for row, value in enumerate([np.nan, np.inf, -np.inf], start=1):
        frame.iloc[row, 0 if row < 3 else 2] = value  # all members read the first, some the third
    found = answers(database, frame, query)
    own = [column for column in found if column.startswith(("spkm_pred", "spkm_prob", "spkm_score"))]
    if name == "labels against the rest":  # one of them is the same for every sample
        own = [column for column in own if not column.endswith("_1")]
    assert found.loc[[0, 4, 5], own].notna().all(axis=None)
    assert found.loc[[1, 2], "spkm_prediction" if "spkm_prediction" in found else own].isna().all(axis=None)
    if "spkm_prediction" in found:
        assert found.loc[3, ["spkm_prediction"]].isna().all()


def test_text_is_no_zero_in_sqlite():
    query = exported(with_model(tasks()["two classes"], NAMES), ".sql")
    frame = pd.DataFrame(np.ones((5, N_FEATURES)), columns=NAMES).astype(object)
    frame.iloc[1:, 0] = ["", "one", "1 mile", " 1.0e0"]
    found = answers("sqlite", frame, query)["spkm_prediction"]
    assert found[1:4].isna().all() and found[0] == found[4]


def number_of(text: str) -> float:
    """Return the number that Python reads, NaN where it reads none, and for "nan", "inf" and "1_0"."""
    try:
        return float(text) if set(text.lower()) <= set("0123456789.+-e ") else np.nan
    except ValueError:
        return np.nan


@pytest.mark.parametrize("database", DATABASES)
def test_texts_are_numbers_where_python_says_so(database):
    query = exported(with_model(tasks()["two classes"], NAMES), ".sql")
    texts = ["".join(letters) for n in range(6) for letters in product("1.+-e", repeat=n)]
    texts += ["2020-01-01", "1_0", "1 2", " 1 ", "1E2", "0x1F", "nan", "inf", "1d", "1e9999", "one"]
    read = [number_of(text) for text in texts]
    given, want = (
        answers(database, pd.DataFrame(np.ones((len(texts), N_FEATURES)), columns=NAMES).assign(x0=cells), query)
        for cells in (texts, np.clip(read, -1e300, 1e300))
    )
    known = np.isfinite(read)
    assert 20 < known.sum() < 100
    np.testing.assert_array_equal(given["spkm_score_0"].notna(), known)
    np.testing.assert_array_equal(given["spkm_score_0"][known], want["spkm_score_0"][known])


@pytest.mark.parametrize("database", DATABASES)
def test_the_answer_has_the_table_and_few_columns(database, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "c"])
    model = SPKMClassifier(**QUICK).fit(X, np.where(X["a"] > 0, "yes", "no"))
    for details in (False, True):
        model.export(tmp_path / "model.sql", details=details)
        found = answers(database, X.assign(id=range(60)), (tmp_path / "model.sql").read_text())
        few = "a b c id spkm_row spkm_prediction spkm_probability_0 spkm_probability_1 spkm_score_0".split()
        sizes = [len(term.weights) for term in model.model_.terms]
        more = [f"spkm_similarity_0_{t}_{r}" for t, size in enumerate(sizes) for r in range(size)]
        assert list(found) == few + more * details
        assert found["id"].tolist() == list(range(60))
        assert found["spkm_prediction"].tolist() == model.predict(X).tolist()
    with pytest.raises(ValueError, match=r"details is for paths that end with \.sql"):
        model.export(tmp_path / "model.py", details=True)


CATEGORIES = {
    "fractions": np.array([0.1, 0.30000000000000004, 0.3, 1e-5, -2.0, 1e20, 20.0]),
    "gaps": np.array([0.1, np.nan, 0.3, 1e-5, -2.0, 1e20, 20.0]),
    "whole numbers": np.array([1, 2, 30, -4, 2**40 + 1, 2**40, 0]),
    "texts": np.array(["1.0", "1", "a\r", "a\n", "a\r\n'\"\\", "True", "1e5"], dtype=object),
    "truths": np.array([True, False, True, False, False, True, True]),
    "other texts": np.array(["0.1", None, "nan", "NULL", "\x1b[0m", "é", ""], dtype=object),
}


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("kind", sorted(CATEGORIES))
def test_categories_are_those_of_python(kind, database, tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 7, 210)
    X = pd.DataFrame({"level": CATEGORIES[kind][codes], "x": rng.standard_normal(210)})
    y = np.array([0, 1, 1, 0, 1, 0, 0])[codes] ^ (rng.random(210) < 0.05)
    pipeline = make_pipeline(TableEncoder(categorical=["level"]), SPKMClassifier(**QUICK)).fit(X, y)
    export(pipeline, tmp_path / "model.sql")
    found = answers(database, X, (tmp_path / "model.sql").read_text(encoding="utf-8"))
    np.testing.assert_allclose(found["spkm_probability_1"], pipeline.predict_proba(X)[:, 1], rtol=1e-9, atol=1e-12)


def test_single_precision_in_duckdb():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 200)
    X = pd.DataFrame({"level": np.array([0.1, 0.7, 3.0])[codes], "x": np.round(rng.standard_normal(200))})
    encoder = TableEncoder(categorical=["level"])
    pipeline = make_pipeline(encoder, SPKMClassifier(**QUICK)).fit(X, codes == 1)
    found = answers("duckdb", X, exported(pipeline, ".sql"), kind="FLOAT")
    np.testing.assert_allclose(found["spkm_probability_1"], pipeline.predict_proba(X)[:, 1], rtol=1e-9, atol=1e-12)


def test_names_that_a_text_file_changes_are_refused():
    with pytest.raises(ValueError, match="cannot be called"):
        exported(with_model(tasks()["regression"], ["a\rb", *NAMES[1:]]), ".sql")
