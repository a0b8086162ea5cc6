"""The verbs that read a model file, and ``spkm doctor``."""

import io
import json
import re

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMNystroem, SPKMRegressor, SPKMSelector, TableEncoder, load, save
from spkm.cli import main
from spkm.cli import predict as predict_verb
from tests.cli_files import flowers, read_json, spkm
from tests.interrupting import interrupt_at

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with samples and two models of classes, and one of numbers."""
    folder = tmp_path_factory.mktemp("models")
    frame = flowers(160)
    frame.to_csv(folder / "data.csv", index=False)
    frame.to_parquet(folder / "data.parquet")
    words = ["fit", str(folder / "data.csv"), "--id", "plant", "--vectors"]
    assert main([*words, "3", "--target", "good", "--drop", "size", "-o", str(folder / "a.spkm")]) == 0
    drops = ["--drop", "size", "--drop", "light"]
    assert main([*words, "2", "--target", "good", *drops, "-o", str(folder / "b.spkm")]) == 0
    assert main([*words, "4", "--target", "size", "--drop", "good", "-o", str(folder / "n.spkm")]) == 0
    return folder


def test_predictions_are_those_of_the_model_whatever_the_chunks(files, tmp_path):
    done = spkm("predict", files / "a.spkm", files / "data.csv", "--id", "plant")
    assert done.returncode == 0, done.stderr
    whole = pd.read_csv(io.StringIO(done.stdout))
    assert list(whole.columns) == ["plant", "prediction", "probability of no", "probability of yes"]
    assert len(whole) == 160 and "predicted 160 samples" in done.stderr
    np.testing.assert_allclose(whole["probability of no"] + whole["probability of yes"], 1, rtol=1e-12)
    words = ["predict", str(files / "a.spkm"), "--id", "plant", "--chunk", "7"]
    assert main([*words, str(files / "data.parquet"), "-o", str(tmp_path / "p.csv")]) == 0
    in_chunks = pd.read_csv(tmp_path / "p.csv")
    pd.testing.assert_frame_equal(in_chunks, whole, rtol=1e-10)
    assert main([*words, str(files / "data.csv"), "-o", str(tmp_path / "p.parquet")]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "p.parquet").astype(whole.dtypes), whole, rtol=1e-10)
    assert (whole["prediction"] == flowers(160)["good"]).mean() > 0.7


def test_columns_may_come_in_any_order_and_with_others(files, tmp_path, capsys):
    frame = pd.read_csv(files / "data.csv")
    frame[sorted(frame.columns, reverse=True)].assign(more=1).to_csv(tmp_path / "other.csv", index=False)
    outputs = []
    for data in (files / "data.csv", tmp_path / "other.csv"):
        assert main(["predict", str(files / "n.spkm"), str(data)]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] and outputs[0].startswith("prediction\n")


@pytest.mark.parametrize("verb", [["predict"], ["explain", "--row", "0"], ["report", "--target", "good"]])
def test_bad_data_and_bad_models(verb, files, tmp_path, capsys):
    frame = pd.read_csv(files / "data.csv")
    frame.drop(columns="soil").to_csv(tmp_path / "narrow.csv", index=False)
    frame.assign(water="wet").to_csv(tmp_path / "text.csv", index=False)
    (tmp_path / "bad.spkm").write_bytes(b"\x80\x04no model")
    out = tmp_path / ("out.html" if verb[0] == "report" else "out.csv")
    written = [] if verb[0] == "explain" else ["-o", str(out)]
    for model, data, code, says in [
        (files / "a.spkm", tmp_path / "narrow.csv", 3, "'soil'"),
        (files / "a.spkm", tmp_path / "nothing.csv", 3, "there is no file"),
        (tmp_path / "bad.spkm", files / "data.csv", 4, "cannot be read as a model file"),
        (tmp_path / "none.spkm", files / "data.csv", 4, "there is no model file"),
        (files / "data.csv", files / "a.spkm", 4, "The model comes first, then the samples."),
    ]:
        assert main([verb[0], str(model), str(data), *verb[1:], *written]) == code
        assert says in capsys.readouterr().err and not out.exists()
    assert main([verb[0], str(files / "a.spkm"), str(tmp_path / "text.csv"), *verb[1:], *written]) == 3
    said = capsys.readouterr().err
    assert "'water' must hold numbers" in said and "'wet'" in said and not out.exists()


@pytest.mark.parametrize("verb", ["report", "compare"])
def test_targets_that_the_model_does_not_know(verb, files, tmp_path, capsys):
    data = ["report", str(files / "data.csv"), "-o", str(tmp_path / "r.html")]
    if verb == "compare":
        data = ["compare", str(files / "a.spkm"), "--data", str(files / "data.csv")]
    assert main([data[0], str(files / "a.spkm"), *data[1:], "--target", "size"]) == 3
    assert "was fitted without the classes " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("labels", "written", "unknown"),
    [
        (np.array(["1", "10"]), ["1", "10"], "100"),
        (np.array([0, 1]), ["False", "True"], "0.5"),
        (np.array([False, True]), ["False", "True"], "maybe"),
    ],
)
def test_targets_become_the_labels_that_they_equal_and_no_others(labels, written, unknown, tmp_path, capsys):
    code = np.arange(60) % 3 == 0
    table = pd.DataFrame({"a": code + 0.1 * np.sin(np.arange(60)), "b": np.cos(np.arange(60))})
    model = make_pipeline(TableEncoder(), SPKMClassifier(2, random_state=0)).fit(table, labels[code.astype(int)])
    save(model, tmp_path / "m.spkm")
    m, d, r = (str(tmp_path / name) for name in ("m.spkm", "d.csv", "r.json"))
    texts = np.array(written, dtype=object)[code.astype(int)]
    table.assign(y=texts).to_csv(d, index=False)
    assert main(["compare", m, m, "--data", d, "--target", "y", "--json", r]) == 0
    assert read_json(tmp_path / "r.json")["quality"]["a"]["accuracy"]["value"] == 1.0
    table.assign(y=np.where(np.arange(60) == 5, unknown, texts)).to_csv(d, index=False)
    assert main(["compare", m, m, "--data", d, "--target", "y"]) == 3
    assert "was fitted without the classes" in capsys.readouterr().err


def test_codes_of_categories_are_read_alike_by_all_verbs(tmp_path, capsys):
    """Codes with leading zeros are levels, not numbers, in every verb that reads a model."""
    code, amount = np.tile(["01", "02", "03"], 20), np.linspace(0, 1, 60)
    table = pd.DataFrame({"code": code, "amount": amount})
    y = (code == "02").astype(int)
    model = make_pipeline(TableEncoder(), SPKMClassifier(2, random_state=0)).fit(table, y)
    save(model, tmp_path / "m.spkm")
    table.assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    m, d, r = (str(tmp_path / name) for name in ("m.spkm", "d.csv", "r.json"))
    assert main(["explain", m, d, "--row", "1", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["score"] == pytest.approx(model.decision_function(table)[1])
    assert main(["compare", m, m, "--data", d, "--target", "y", "--json", r]) == 0
    loss = log_loss(y, model.predict_proba(table))
    assert read_json(tmp_path / "r.json")["quality"]["a"]["log loss"]["value"] == pytest.approx(loss)
    assert main(["report", m, d, "--target", "y", "-o", r]) == 0
    metrics = {one["name"]: one["value"] for one in read_json(tmp_path / "r.json")["quality"]["metrics"]}
    assert metrics["accuracy"] == model.score(table, y)


def test_identifiers_are_copied_and_found_as_they_stand(tmp_path, capsys):
    """Numbers with leading zeros, and beyond 2^63, name samples as they are written, whatever the chunk."""
    x = np.linspace(0, 1, 20)
    save(make_pipeline(TableEncoder(), SPKMRegressor(2, random_state=0)).fit(pd.DataFrame({"x": x}), x), tmp_path / "m")
    names = [f"{k:03d}" if k % 3 else f"{10**25 + k}" for k in range(20)]
    pd.DataFrame({"name": names, "x": x}).to_csv(tmp_path / "d.csv", index=False)
    m, d, p = (str(tmp_path / name) for name in ("m", "d.csv", "p.csv"))
    assert main(["predict", m, d, "--id", "name", "--chunk", "7", "-o", p]) == 0
    assert pd.read_csv(p, dtype=str)["name"].tolist() == names
    assert main(["explain", m, d, "--id", "name=007", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["row"] == 7
    assert main(["predict", m, d, "--id", "x", "-o", p]) == 0  # a column that the model reads stays one of numbers
    assert pd.read_csv(p)["x"].tolist() == x.tolist()


def test_predictions_that_are_no_numbers_are_refused_and_no_column_is_lost(tmp_path, capsys):
    x = np.linspace(0, 1, 20)
    frame = pd.DataFrame({"x": x, "z": x[::-1], "prediction": "old"})
    model = SPKMRegressor(2, kernel="linear", scale=False, random_state=0).fit(frame[["x", "z"]], x - 3 * x[::-1])
    save(model, tmp_path / "m.spkm")
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.assign(x=np.where(frame.index == 7, 1e308, x), z=1e308).to_csv(tmp_path / "huge.csv", index=False)
    m, d, huge, p = (str(tmp_path / name) for name in ("m.spkm", "d.csv", "huge.csv", "p.csv"))
    assert main(["predict", m, d, "--id", "prediction", "-o", p]) == 2
    assert "--id must not be a column of the predictions; got 'prediction'" in capsys.readouterr().err
    assert main(["predict", m, huge, "--chunk", "6", "-o", p]) == 3
    assert "has no finite score: its numbers are too large" in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("name", ["p.xlsx", "p.csv.gz", "p.json"])
def test_predictions_are_of_no_other_format_than_their_name_says(name, files, tmp_path, capsys):
    assert main(["predict", str(files / "a.spkm"), str(files / "data.csv"), "-o", str(tmp_path / name)]) == 2
    assert "--output must be a file of CSV or Parquet" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_ctrl_c_in_a_prediction_keeps_what_there_is(files, tmp_path, capsys):
    words = ["predict", str(files / "a.spkm"), str(files / "data.csv"), "--chunk", "10"]
    with interrupt_at(predict_verb.read_chunks, 2):  # once there is a chunk
        assert main([*words, "-o", str(tmp_path / "p.csv")]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv.part"]
    assert len(pd.read_csv(tmp_path / "p.csv.part")) == 10


@pytest.mark.parametrize("name", ["a", "n"])
def test_the_parts_of_an_explanation_add_up(files, name, capsys):
    words = ["explain", str(files / f"{name}.spkm"), str(files / "data.csv"), "--row", "5"]
    assert main([*words, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    difference = found["score"] - found["usual_score"]
    assert sum(one["part"] for one in found["contributions"].values()) == pytest.approx(difference, abs=1e-9)
    if found["columns"] is not None:
        assert set(found["columns"]) <= {"soil", "water", "light", "bed"}
        assert sum(found["columns"].values()) == pytest.approx(difference, abs=1e-6)
    assert main(words) == 0
    assert "sample 5" in capsys.readouterr().out
    assert main([*words[:-1], "160"]) == 3


def test_inspect(files, capsys):
    n_basis = len(load(files / "a.spkm")[-1].basis_vectors_)
    done = spkm("inspect", files / "a.spkm")
    assert done.returncode == 0 and f"{n_basis} basis vectors" in done.stdout
    assert "soil = sand (" in done.stdout and "columns; a positive score is yes" in done.stdout
    vectors = [line for line in done.stdout.splitlines() if re.match(r"u\d", line)]
    assert vectors and all(line.count("soil = ") <= 1 for line in vectors)
    assert main(["inspect", str(files / "a.spkm"), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"] == ["no", "yes"] and found["n_basis"] == n_basis
    assert found["about"]["target"] == "good" and 0 < found["about"]["held-out AUC"] <= 1
    assert [one["kind"] for one in found["inputs"]] == ["category", "number", "number", "number"]


def test_compare(files, tmp_path, capsys):
    words = ["compare", str(files / "a.spkm"), str(files / "b.spkm")]
    assert main(words) == 0
    assert "only a reads" in capsys.readouterr().out
    samples = ["--data", str(files / "data.csv"), "--target", "good"]
    assert main([*words, *samples, "--json", str(tmp_path / "r.json")]) == 0
    assert "a - b" in capsys.readouterr().out
    result = read_json(tmp_path / "r.json")
    values = {name: result["quality"][name]["log loss"]["value"] for name in "ab"}
    assert result["difference"]["log loss"]["value"] == pytest.approx(values["a"] - values["b"])
    same = ["compare", str(files / "a.spkm"), str(files / "a.spkm"), *samples, "--json", str(tmp_path / "s.json")]
    assert main(same) == 0 and read_json(tmp_path / "s.json")["difference"]["AUC"]["interval_95"] == [0, 0]
    assert main([*words, "--target", "good"]) == 2
    assert main(["compare", str(files / "a.spkm"), str(files / "n.spkm"), *samples]) == 2


def test_doctor(tmp_path, capsys):
    flowers().drop(columns=["plant", "size"]).to_csv(tmp_path / "data.csv", index=False)
    assert main(["doctor"]) == 0
    assert "scikit-learn" in capsys.readouterr().out
    assert main(["doctor", str(tmp_path / "data.csv"), "--target", "good", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["samples"] == 120 and found["fit"]["task"] == "classes" and found["fit"]["minutes"] > 0
    soil = next(one for one in found["data"]["columns"] if one["column"] == "soil")
    assert soil["missing"] == flowers()["soil"].isna().sum() and soil["different"] == 3
    kinds = {one["column"]: one["type"] for one in found["data"]["columns"]}
    assert kinds == {"soil": "text", "water": "number", "light": "number", "bed": "whole number", "good": "text"}
    assert main(["doctor", str(tmp_path / "data.csv"), "--target", "none"]) == 3
    assert main(["doctor", str(tmp_path / "data.csv"), "--target", "soil"]) == 0  # some have none


def test_models_from_python(tmp_path, capsys):
    """Several targets, pairs of classes, a selection after the encoder, transformers, classes without probabilities."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = (table["c"] > 0).astype(int)
    table.assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    selector = SPKMSelector(SPKMClassifier(kernel="linear", n_basis=1, selection="strict", max_features=1))
    models = {
        "outputs": SPKMRegressor(2, random_state=0).fit(table, table[["a", "b"]]),
        "pairs": SPKMClassifier(2, multi_class="ovo", random_state=0).fit(table, np.digitize(table["c"], [-0.5, 0.5])),
        "hinge": SPKMClassifier(2, loss="squared_hinge", random_state=0).fit(table, y),
        "selected": make_pipeline(TableEncoder(), selector, SPKMClassifier(2, random_state=0)).fit(table, y),
        "landmarks": SPKMNystroem(2, landmarks="kmeans", random_state=0).fit(table),
    }
    paths = {name: str(tmp_path / f"{name}.spkm") for name in models}
    for name, model in models.items():
        save(model, paths[name])
    data = str(tmp_path / "d.csv")
    assert main(["predict", paths["outputs"], data]) == 0
    assert capsys.readouterr().out.startswith("prediction 0,prediction 1\n")
    for name, says in (("outputs", "several targets"), ("pairs", "a score for each pair of classes")):
        assert main(["explain", paths[name], data, "--row", "0"]) == 2
        assert says in capsys.readouterr().err
    assert main(["compare", paths["hinge"], paths["hinge"], "--data", data, "--target", "y"]) == 2
    assert main(["predict", paths["landmarks"], data]) == main(["inspect", paths["landmarks"]]) == 4
    assert main(["inspect", paths["selected"], "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["columns_read"] == ["c"]
    assert main(["explain", paths["selected"], data, "--row", "0", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["columns"]) == ["c"]
    assert found["columns"]["c"] == pytest.approx(found["score"] - found["usual_score"])
