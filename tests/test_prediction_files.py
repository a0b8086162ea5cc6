"""Predictions that go to a file as they come: all of them, in order, at once, and in flat memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import FileTable, SPKMClassifier, SPKMRegressor, TableEncoder, write_predictions

pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 2))
LABELS = np.where(X[:, 0] > 0, "a,b", 'c"d')  # to be quoted
PARTS = [X[:150], X[150:]]


@pytest.fixture(scope="module")
def classifier():
    return SPKMClassifier(2, random_state=0).fit(X, LABELS)


def read(path):
    if path.suffix != ".csv":
        return pd.read_parquet(path)
    found = pd.read_csv(path, dtype=str)
    return found if "prediction" in found else found.map(float)  # Python's own, which is exact


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".pq"])
def test_a_file_holds_what_the_methods_return(tmp_path, classifier, suffix):
    path = tmp_path / f"new{suffix}"
    assert write_predictions(classifier, PARTS, path) == 400
    found = read(path)
    assert found.columns.tolist() == ["prediction"]
    assert found["prediction"].tolist() == classifier.predict(X).tolist()
    assert write_predictions(classifier, PARTS, str(path), "predict_proba") == 400  # in place of the first
    found = read(path)
    assert found.columns.tolist() == ["probability of a,b", 'probability of c"d']
    expected = np.concatenate([classifier.predict_proba(part) for part in PARTS])
    np.testing.assert_array_equal(found.to_numpy(), expected)
    write_predictions(classifier, PARTS, path, "decision_function")
    assert read(path).columns.tolist() == ["decision_function"]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_several_targets(tmp_path):
    model = SPKMRegressor(2, random_state=0).fit(X, np.column_stack([X[:, 0], X[:, 1] ** 2]))
    write_predictions(model, PARTS, tmp_path / "new.parquet")
    found = read(tmp_path / "new.parquet")
    assert found.columns.tolist() == ["prediction 0", "prediction 1"]
    np.testing.assert_array_equal(found.to_numpy(), np.concatenate([model.predict(part) for part in PARTS]))


def test_files_through_a_pipeline(tmp_path):
    frame = pd.DataFrame(X, columns=["x", "z"]).assign(city=np.where(X[:, 1] > 0, "Rome", None))
    frame.to_parquet(tmp_path / "old.parquet")
    pipe = make_pipeline(TableEncoder(), SPKMClassifier(2, random_state=0)).fit(frame, LABELS)
    assert write_predictions(pipe, tmp_path / "old.parquet", tmp_path / "new.csv") == 400
    assert read(tmp_path / "new.csv")["prediction"].tolist() == pipe.predict(frame).tolist()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_error_in_the_middle_leaves_the_file_of_before(tmp_path, classifier, suffix):
    path = tmp_path / f"new{suffix}"
    path.write_bytes(b"before")

    def broken():
        yield X[:100]
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        write_predictions(classifier, broken, path)
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_mistakes_are_told(tmp_path, classifier):
    with pytest.raises(ValueError, match="must end with one of"):
        write_predictions(classifier, PARTS, tmp_path / "new.txt")
    with pytest.raises(ValueError, match="folder that exists"):
        write_predictions(classifier, PARTS, tmp_path / "none" / "new.csv")
    pd.DataFrame(X, columns=["x0", "x1"]).to_csv(tmp_path / "samples.csv", index=False)
    for table in (tmp_path / "samples.csv", FileTable(str(tmp_path))):
        with pytest.raises(ValueError, match="another file than those of X"):
            write_predictions(classifier, table, tmp_path / "samples.csv")
    assert len(pd.read_csv(tmp_path / "samples.csv").columns) == 2
    (tmp_path / "samples.csv").unlink()
    with pytest.raises(ValueError, match="has no 'predict_everything'"):
        write_predictions(classifier, PARTS, tmp_path / "new.csv", "predict_everything")
    with pytest.raises(ValueError, match="at least one sample"):
        write_predictions(classifier, lambda: iter([]), tmp_path / "new.csv")
    with pytest.raises(TypeError, match="LogisticRegression has none"):
        write_predictions(LogisticRegression().fit(X, LABELS), PARTS, tmp_path / "new.csv")
    scaled = make_pipeline(StandardScaler(), SPKMClassifier(2, random_state=0)).fit(X, LABELS)
    with pytest.raises(TypeError, match="For a pipeline X must be files"):
        write_predictions(scaled, X, tmp_path / "new.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_memory_is_flat(tmp_path, classifier, suffix):
    peaks = []
    for n in (5, 50):  # chunks of 4,000 samples: predictions of the second take 2.9 MB more
        tracemalloc.start()
        write_predictions(
            classifier, lambda n=n: (np.tile(X, (10, 1)) for _ in range(n)), tmp_path / f"new{suffix}", "predict_proba"
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 1e6
