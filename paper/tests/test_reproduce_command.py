"""The command line: what it says, and what it returns."""

import tomllib
from pathlib import Path

import pytest

from spkm.cli import main
from spkm.experiments import EXPERIMENTS
from tests import toy_experiment as toy


@pytest.fixture
def only_toys(monkeypatch):
    monkeypatch.setattr("spkm.cli.EXPERIMENTS", (toy.TOY, toy.LACKS_DATA))


def test_the_command_is_ours():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"spkm": "spkm.cli:main"}


def test_help_names_every_experiment(capsys):
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert all(experiment.name in text for experiment in EXPERIMENTS) and "--quick" in text


def test_list_says_what_is_needed(capsys):
    assert main(["reproduce", "--list"]) == 0
    assert "needs breast_cancer_wisconsin" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "COMMAND"),
        (["reproduce", "tabel1"], "no experiment tabel1; choose from illustrations"),
        (["reproduce", "--seeds", "0"], "at least 1; got '0'"),
        (["reproduce", "--jobs", "two"], "at least 1; got 'two'"),
        (["reproduce", "--data", "/no/such/folder"], "no folder /no/such/folder"),
    ],
)
def test_bad_usage_says_what_is_wrong(arguments, says, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2 and says in capsys.readouterr().err


def test_a_run_says_where_the_page_is_and_what_was_skipped(only_toys, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    options = ["--quick", "--jobs", "1", "--out", str(tmp_path / "out"), "--data", str(tmp_path / "data")]
    assert main(["reproduce", *options]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(tmp_path / "out" / "index.html")
    assert "skipped lacking: ionosphere" in said.err


def test_failures_are_in_the_exit_code(only_toys, monkeypatch, tmp_path, capsys):
    failing = toy.Experiment("toy", "Toy", "Fails.", toy.tasks, toy.fail_on_odd, toy.report)
    monkeypatch.setattr("spkm.cli.EXPERIMENTS", (failing,))
    code = main(["reproduce", "toy", "--no-figures", "--quiet", "--seeds", "2", "--jobs", "1", "--out", str(tmp_path)])
    assert code == 1 and "2 runs failed" in capsys.readouterr().err


@pytest.mark.parametrize("run", [toy.interrupt_parent, toy.terminate_parent])
def test_ctrl_c_says_how_to_go_on(run, ctrl_c, monkeypatch, tmp_path, capsys):
    interrupted = toy.Experiment("toy", "Toy", "Ends early.", toy.tasks, run, toy.report)
    monkeypatch.setattr("spkm.cli.EXPERIMENTS", (interrupted,))
    options = ["toy", "--no-figures", "--quiet", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["reproduce", *options]) == 130
    assert "go on with: spkm reproduce toy --no-figures" in capsys.readouterr().err
    assert (tmp_path / "toy.csv").read_text().count("\n") == 5  # the head and four of six runs


def test_without_matplotlib_the_extra_is_named(only_toys, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert main(["reproduce", "toy", "--out", str(tmp_path)]) == 2
    assert "spkm[plot]" in capsys.readouterr().err
