"""The verbs that take the file of a canonical correlation analysis, and those that say what it is."""

import json
import runpy
from contextlib import chdir

import pytest
from numpy.testing import assert_allclose

from spkm import SPKMCCA, SPKMRegressor, load
from spkm.cli import main
from tests.cli_files import needs_model_files
from tests.test_cca import QUICK, planted

pd = pytest.importorskip("pandas")
pytestmark = needs_model_files


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
