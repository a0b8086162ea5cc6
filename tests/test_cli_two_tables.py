"""The verbs that take the file of a canonical correlation analysis, and those that say what it is."""

import json
import runpy
from contextlib import chdir

import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from spkm import SPKMCCA, SPKMRegressor, load
from spkm.cli import main
from tests.test_cca import QUICK, planted

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model of two tables, one of one table, and new samples."""
    folder = tmp_path_factory.mktemp("two")
    X, Y = (pd.DataFrame(table).add_prefix(name) for table, name in zip(planted(), ("gene ", "acid "), strict=True))
    SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0, **QUICK).fit(X[:200], Y[:200]).save(folder / "m.spkm")
    SPKMRegressor(2, random_state=0).fit(X[:50], Y["acid 7"][:50]).save(folder / "one.spkm")
    X[200:][X.columns[::-1]].assign(more=1).to_csv(folder / "x.csv", index=False)
    Y[200:].to_csv(folder / "y.csv", index=False)
    Y[201:].to_csv(folder / "short.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def two_files(tmp_path_factory):
    """Return a folder with two files of the same samples, named by identifiers, and broken ones beside them."""
    folder = tmp_path_factory.mktemp("fit")
    X, Y = (pd.DataFrame(table).add_prefix(name) for table, name in zip(planted(), ("gene ", "acid "), strict=True))
    names = [f"p{i}" for i in range(len(X))]
    X.assign(patient=names, ward=[i // 3 for i in range(len(X))]).to_csv(folder / "x.csv", index=False)
    Y.assign(patient=names).to_csv(folder / "y.csv", index=False)
    Y.assign(patient=names[::-1]).to_csv(folder / "turned.csv", index=False)
    Y[1:].assign(patient=names[1:]).to_csv(folder / "short.csv", index=False)
    Y.assign(patient=names, age=[None, *range(1, len(Y))]).to_csv(folder / "gaps.csv", index=False)
    return folder


@pytest.mark.parametrize("grouped", [False, True])
def test_fit(two_files, tmp_path, capsys, grouped):
    words = ["fit", str(two_files / "x.csv"), "--with", str(two_files / "y.csv"), "--id", "patient"]
    words += ["--groups", "ward"] if grouped else ["--drop", "ward"]
    files = [str(tmp_path / name) for name in ("m.spkm", "r.html", "r.json")]
    assert main([*words, "--kernels", "linear", "-o", files[0], "--report", files[1], "--json", files[2]]) == 0
    shown, found = capsys.readouterr().out, json.loads((tmp_path / "r.json").read_text())
    assert "relates gene 1 of X to acid 7 of Y" in shown and "60 held-out samples" in shown
    assert found["written"] == {"model": files[0], "report": files[1]} and found["split"]["train"] == 240
    model, (only,) = load(files[0]), found["components"]
    assert list(only["x"]) == ["gene 1"] and list(only["y"]) == ["acid 7"] and only["correlation"] > 0.8
    tables = [pd.read_csv(two_files / name) for name in ("x.csv", "y.csv")]
    cut = (GroupShuffleSplit if grouped else ShuffleSplit)(1, test_size=0.2, random_state=0)
    _, test = next(cut.split(tables[0], groups=tables[0]["ward"].astype(str) if grouped else None))
    X, Y = tables[0][model.feature_names_in_], tables[1][model.y_feature_names_]
    assert only["correlation"] == pytest.approx(model.score(X.iloc[test], Y.iloc[test]))
    assert "The relation of x and y" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("second", "words", "code", "message"),
    [
        ("y.csv", [], 3, "x.csv: column 'patient' holds no numbers"),
        ("y.csv", ["--id", "patient", "--target", "ward"], 2, "--target does not go with --with"),
        ("y.csv", ["--id", "patient", "--features", "3"], 2, "--features does not go with --with"),
        ("y.csv", ["--id", "patient", "--kernels", "cubic"], 2, "--kernels must be one or two of linear, square"),
        ("y.csv", ["--id", "patient", "--components", "0"], 2, "--components must be at least 1"),
        ("y.csv", ["--id", "nobody"], 3, "there is no column 'nobody'"),
        ("y.csv", ["-o", "y.csv"], 2, "--output must be a file of its own"),
        ("turned.csv", ["--id", "patient"], 3, "the tables differ in sample 0. Sort both"),
        ("short.csv", ["--id", "patient"], 3, "both must have the same samples"),
        ("gaps.csv", ["--id", "patient"], 3, "column 'age' has missing values"),
    ],
)
def test_files_that_are_no_two_tables(two_files, second, words, code, message, capsys):
    with chdir(two_files):
        assert main(["fit", "x.csv", "--with", second, *words]) == code
    assert message in " ".join(capsys.readouterr().err.split())


def test_options_of_two_tables_need_a_second_one(two_files, capsys):
    assert main(["fit", str(two_files / "x.csv"), "--target", "ward", "--kernels", "linear"]) == 2
    assert "--components and --kernels go with --with FILE" in capsys.readouterr().err


def test_inspect(folder, tmp_path, capsys):
    assert main(["inspect", str(folder / "m.spkm"), "--json", str(tmp_path / "i.json")]) == 0
    shown = capsys.readouterr().out
    assert str(load(folder / "m.spkm").summary()) in shown and "relates gene 1 of X to acid 7 of Y" in shown
    found = json.loads((tmp_path / "i.json").read_text())
    assert found["estimator"] == "SPKMCCA" and list(found["components"][0]["x"]) == ["gene 1"]


def test_report(folder, tmp_path):
    words = ["report", str(folder / "m.spkm"), str(folder / "x.csv"), "--with", str(folder / "y.csv")]
    assert main([*words, "-o", str(tmp_path / "r.json"), "--title", "Two", "--privacy", "aggregate"]) == 0
    found = json.loads((tmp_path / "r.json").read_text())
    X, Y = pd.read_csv(folder / "x.csv"), pd.read_csv(folder / "y.csv")
    model = load(folder / "m.spkm")
    wanted = model.score(X[model.feature_names_in_], Y)
    assert found["title"] == "Two" and found["n"] == 100 and found["privacy"] == "aggregate"
    assert found["relations"][0]["correlation"] == pytest.approx(wanted, rel=1e-4)


def test_export(folder, tmp_path):
    for side, name in (("x", "x.csv"), ("y", "y.csv")):
        assert main(["export", str(folder / "m.spkm"), "--side", side, "-o", str(tmp_path / "m.py")]) == 0
        model = load(folder / "m.spkm").side(side)
        rows = pd.read_csv(folder / name)[model.feature_names_in_]
        code = runpy.run_path(str(tmp_path / "m.py"))
        assert_allclose([code["predict"](row) for row in rows.to_numpy().tolist()], model.predict(rows), atol=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "m.spkm", "x.csv"], "holds an SPKMCCA, a model of two tables, for `spkm inspect`"),
        (["export", "m.spkm", "-o", "m.py"], "holds an SPKMCCA"),
        (["export", "one.spkm", "--side", "x", "-o", "m.py"], "--side is for a model of two tables (SPKMCCA)"),
        (["report", "one.spkm", "x.csv", "--with", "y.csv", "-o", "r.html"], "--with is for a model of two tables"),
        (["report", "m.spkm", "x.csv", "--with", "y.csv", "--target", "a", "-o", "r.html"], "in the place of --target"),
        (["report", "m.spkm", "y.csv", "--with", "x.csv", "-o", "r.html"], "has no column 'gene 0'"),
        (
            ["report", "m.spkm", "x.csv", "--with", "short.csv", "-o", "r.html"],
            "the same number of rows; got 100 and 99",
        ),
    ],
)
def test_bad_words(folder, words, message, capsys, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    with chdir(tmp_path):
        assert main(words) not in (0, None)
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "r.html").exists() and not (tmp_path / "m.py").exists()
