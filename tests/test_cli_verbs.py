"""The verbs ``export`` and ``counterfactual``, samples by identifier, and tables of several files."""

import io
import json
import runpy

import numpy as np
import pytest

from spkm import SPKMRegressor, load
from spkm.cli import VERBS, main
from tests.cli_files import flowers, read_json

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with samples, in one file and in parts, and models of classes and of numbers."""
    folder = tmp_path_factory.mktemp("verbs")
    frame = flowers(160)
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "parts").mkdir()
    for k in range(4):
        frame.iloc[40 * k : 40 * (k + 1)].to_parquet(folder / "parts" / f"part-{k}.parquet")
    words = ["fit", str(folder / "data.csv"), "--id", "plant", "--vectors", "3"]
    assert main([*words, "--target", "good", "--drop", "size", "-o", str(folder / "a.spkm")]) == 0
    assert main([*words, "--target", "size", "--drop", "good", "-o", str(folder / "n.spkm")]) == 0
    return folder


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_text_and_every_verb_has_json(verb, capsys):
    if verb == "reproduce":
        pytest.importorskip("spkm_paper")
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0 and "``" not in text and ":class:" not in text
    assert "--json" in text or verb == "reproduce"


@pytest.mark.parametrize("suffix", [".py", ".c", ".js", ".sql", ".json"])
def test_export_writes_the_language_of_the_name(files, tmp_path, suffix, capsys):
    out = tmp_path / f"model{suffix}"
    assert main(["export", str(files / "a.spkm"), "-o", str(out), "--json", str(tmp_path / "r.json")]) == 0
    want = tmp_path / f"want{suffix}"
    load(files / "a.spkm").export(want)
    assert out.read_bytes() == want.read_bytes()
    assert read_json(tmp_path / "r.json")["bytes"] == out.stat().st_size


def test_export_to_stdout_is_the_code_alone(files, tmp_path, capsys):
    assert main(["export", str(files / "a.spkm"), "-o", "-", "--to", "python"]) == 0
    (tmp_path / "m.py").write_text(capsys.readouterr().out)
    frame, model = pd.read_csv(files / "data.csv"), load(files / "a.spkm")
    row = frame.loc[3, model[0].columns_]
    predict = runpy.run_path(str(tmp_path / "m.py"))["predict"]
    assert predict([None if pd.isna(cell) else cell for cell in row]) == model.predict(frame.iloc[[3]][row.index])[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-o", "model.exe"], "--output must end with"),
        (["-o", "-", "--to", "onnx"], "text alone"),
        (["-o", "m.py", "--details"], "--details goes with sql"),
    ],
)
def test_what_export_refuses(files, words, says, capsys):
    assert main(["export", str(files / "a.spkm"), *words]) == 2
    assert says in capsys.readouterr().err


def test_a_counterfactual_reaches_its_class(files, tmp_path, capsys):
    model = load(files / "a.spkm")
    frame = pd.read_csv(files / "data.csv")[model[0].columns_]
    row = int(np.flatnonzero(model.predict(frame) == "no")[0])
    words = ["counterfactual", str(files / "a.spkm"), str(files / "data.csv"), "--to", "yes", "--frozen", "soil"]
    assert main([*words, "--row", str(row), "--json", str(tmp_path / "r.json")]) == 0
    found = read_json(tmp_path / "r.json")
    assert found["found"] and not found["none_exists"] and "soil" not in found["changes"]
    assert "standard deviations" in capsys.readouterr().out
    changed = frame.iloc[[row]].assign(**{name: one["after"] for name, one in found["changes"].items()})
    assert model.predict(changed)[0] == "yes" == found["prediction"]


def test_numbers_and_intervals_as_targets(files, capsys):
    base = ["counterfactual", str(files / "n.spkm"), str(files / "data.csv"), "--id", "plant=p3", "--json", "-"]
    for to, low, high in (("18:19", 18, 19), (":15", -np.inf, 15), ("16", -np.inf, np.inf)):
        assert main([*base, "--to", to]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["found"] and low - 1e-6 <= found["prediction"] <= high + 1e-6
    for to in ("much", "1:2:3", "", ":", "nan", "5:1", "5:5"):
        assert main([*base, "--to", to]) == 2
        assert "--to must be a number" in capsys.readouterr().err
    assert main(base) == 2 and "--to must be given: a number" in capsys.readouterr().err
    assert main([*base, "--to", "16", "--frozen", "leaf"]) == 2
    assert "--frozen: the model reads no column 'leaf'; it reads 'soil'" in capsys.readouterr().err


def test_a_sample_is_named_by_its_place_or_its_identifier(files, capsys):
    outputs = []
    for words in (["--row", "7"], ["--id", "plant=p7"]):
        assert main(["explain", str(files / "a.spkm"), str(files / "data.csv"), *words, "--json", "-"]) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0].pop("id") is None and outputs[1].pop("id") == "plant=p7" and outputs[0] == outputs[1]
    for words, code, says in (
        ([], 2, "one sample must be named"),
        (["--row", "1", "--id", "plant=p1"], 2, "one sample must be named"),
        (["--row", "160"], 3, "from 0 to 159"),
        (["--id", "plant"], 2, "COLUMN=VALUE"),
        (["--id", "plant=x"], 3, "0 samples"),
        (["--id", "leaf=x"], 3, "no column 'leaf'"),
    ):
        assert main(["explain", str(files / "a.spkm"), str(files / "data.csv"), *words]) == code
        assert says in capsys.readouterr().err


def test_folders_and_patterns_are_one_table(files, tmp_path, capsys):
    words = ["--target", "good", "--drop", "size", "--id", "plant", "--vectors", "3"]
    words += ["--json", str(tmp_path / "r.json")]
    results = []
    for data in ("data.csv", "parts", "parts/part-*.parquet"):
        assert main(["fit", str(files / data), *words]) == 0
        results.append(read_json(tmp_path / "r.json")["quality"])
    assert results[0] == results[1] == results[2]
    capsys.readouterr()
    for data in ("data.csv", "parts"):
        assert main(["predict", str(files / "a.spkm"), str(files / data), "--id", "plant", "--chunk", "25"]) == 0
        results.append(pd.read_csv(io.StringIO(capsys.readouterr().out)))
    pd.testing.assert_frame_equal(results[-1], results[-2], rtol=1e-10)


def test_files_of_other_columns_and_empty_folders_are_refused(tmp_path, capsys):
    frame = flowers(20)
    frame.to_csv(tmp_path / "1.csv", index=False)
    frame.drop(columns="light").to_csv(tmp_path / "2.csv", index=False)
    (tmp_path / "none").mkdir()
    for data, says in ((".", "'light'"), ("none", "holds no file"), ("x-*.csv", "there is no file")):
        assert main(["fit", str(tmp_path / data), "--target", "good"]) == 3
        assert says in capsys.readouterr().err


def test_few_columns_of_which_some_are_monotone(files, tmp_path):
    words = ["fit", str(files / "data.csv"), "--target", "size", "--drop", "good", "--id", "plant", "--features", "2"]
    for sign, limit in (("+", 0), ("-", 1)):
        assert main([*words, "--monotone", f"water={sign}", "--monotone", "bed=+", "-o", str(tmp_path / "m.spkm")]) == 0
        model = load(tmp_path / "m.spkm")
        frame = pd.read_csv(files / "data.csv")[model[0].columns_]
        rises = model.predict(frame.assign(water=frame["water"] + 1)) - model.predict(frame)
        assert len(model[0].columns_) <= 2 and "water" in model[0].columns_
        assert (rises >= -1e-9).all() if limit == 0 else (rises <= 1e-9).all()


def test_monotone_columns_and_one_scale(files, tmp_path, capsys):
    words = ["fit", str(files / "data.csv"), "--target", "size", "--drop", "good", "--id", "plant", "--vectors", "3"]
    assert main([*words, "--monotone", "water=+", "--scale", "common", "-o", str(tmp_path / "m.spkm")]) == 0
    model, frame = load(tmp_path / "m.spkm"), flowers(160)
    assert model[-1].scale == "common" and list(model[-1].monotone_.values()) == [1]
    rises = [model.predict(frame.assign(water=w)[model[0].columns_]) for w in np.linspace(2, 18, 9)]
    assert np.all(np.diff(rises, axis=0) >= -1e-9)
    for text, code, says in (
        ("water", 2, "COLUMN=+"),
        ("water=up", 2, "COLUMN=+"),
        ("soil=+", 3, "column of different numbers"),
        ("leaf=-", 3, "no such column"),
    ):
        assert main([*words, "--monotone", text]) == code
        assert says in capsys.readouterr().err


@pytest.mark.parametrize("names", [["h;i"], ["a;b;c", "d"], ["a|b|c|d", "e;f"]])
def test_names_of_a_model_tell_the_separator(names, tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((40, len(names))), columns=names)
    SPKMRegressor(1, random_state=0).fit(table, table[names[0]]).save(tmp_path / "model.spkm", data=table)
    table.to_csv(tmp_path / "table.csv", index=False)
    model, data = str(tmp_path / "model.spkm"), str(tmp_path / "table.csv")
    for verb in (["check", model, data], ["explain", model, data, "--row", "3"], ["predict", model, data]):
        assert main(verb) == 0, verb
    assert main(["prove", model, "score <= ?", "--data", data]) == 0
    capsys.readouterr()


def test_names_of_options_tell_the_separator(tmp_path, capsys):
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 2)), columns=["a|b|c|d", "e;f"])
    table.assign(y=table["e;f"] > 0).to_csv(tmp_path / "fit.csv", index=False)
    assert main(["fit", str(tmp_path / "fit.csv"), "--target", "y", "--drop", "a|b|c|d"]) == 0
    capsys.readouterr()
