"""The command of the experiments: what it says, and what it returns."""

import errno
import os
import tomllib
from pathlib import Path

import pytest

import spkm.cli
import toy_experiment as toy
from spkm_paper.cli import main
from spkm_paper.experiments import EXPERIMENTS


@pytest.fixture
def only_toys(monkeypatch):
    monkeypatch.setattr("spkm_paper.cli.reproduce.EXPERIMENTS", (toy.TOY, toy.LACKS_DATA))


def test_the_command_is_ours():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"spkm-paper": "spkm_paper.cli:main"}


def test_help_names_every_experiment(capsys):
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert all(experiment.name in text for experiment in EXPERIMENTS) and "--quick" in text


def test_list_says_what_is_needed(capsys):
    assert main(["reproduce", "--list"]) == 0
    assert "needs breast_cancer_wisconsin" in capsys.readouterr().out


def exit_code(arguments):
    """Return the exit code, whichever way the command ends."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "COMMAND"),
        (["reproduce", "tabel1"], "no experiment tabel1; choose from illustrations"),
        (["reproduce", "--seeds", "0"], "at least 1; got '0'"),
        (["reproduce", "--jobs", "two"], "at least 1; got 'two'"),
        (["reproduce", "--data", "/no/such/folder"], "no folder /no/such/folder"),
        (["reproduce", "--renew", "/no/such/folder"], "no folder /no/such/folder"),
    ],
)
def test_bad_usage_says_what_is_wrong(arguments, says, capsys):
    assert exit_code(arguments) == 2 and says in capsys.readouterr().err


def test_a_bad_folder_of_the_environment_is_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SPKM_DATA", str(tmp_path / "gone"))
    assert exit_code(["reproduce", "table1", "--quick", "--out", str(tmp_path / "out")]) == 2
    assert "SPKM_DATA must be an existing folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_library_s_command_runs_the_same(only_toys, tmp_path, capsys):
    options = ["toy", "--quick", "--jobs", "1", "--no-figures", "--quiet", "--out", str(tmp_path)]
    assert spkm.cli.main(["reproduce", *options]) == 0
    assert "`spkm reproduce toy --quick" in (tmp_path / "toy.md").read_text()


# A folder that cannot be written


def refused(out, capsys):
    """Return what the command says on the error stream when it cannot write to a folder."""
    assert exit_code(["reproduce", "toy", "--quick", "--no-figures", "--jobs", "1", "--out", str(out)]) == 1
    said = capsys.readouterr()
    assert "Traceback" not in said.err and said.out == ""
    message = said.err.splitlines()[-1]
    assert message.startswith("spkm-paper reproduce: --out: ") and "go on with: spkm-paper reproduce toy" in message
    return message


def test_out_that_is_a_file_is_told(only_toys, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert f"{tmp_path / 'file'} must be a folder; it is a file" in refused(tmp_path / "file", capsys)
    assert (tmp_path / "file").read_text() == "mine"


def test_out_below_a_file_is_told(only_toys, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert "cannot be written: Not a directory" in refused(tmp_path / "file" / "below", capsys)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="there is no /proc")
def test_out_where_nobody_may_write_is_told(only_toys, capsys):
    assert "/proc/self" in refused(Path("/proc/self/reproduction"), capsys)
    assert "/proc/self" in refused(Path("/proc/self"), capsys)  # it is there, and takes no files


@pytest.mark.parametrize("writer", ["fsync", "replace"])
def test_a_full_disk_is_told_and_nothing_is_left_half_written(writer, only_toys, monkeypatch, tmp_path, capsys):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"spkm_paper.experiments._store.os.{writer}", full)
    assert "cannot be written: No space left on device" in refused(tmp_path, capsys)
    assert not list(tmp_path.glob("*.part"))
    monkeypatch.undo()


def test_a_damaged_plan_is_told(only_toys, tmp_path, capsys):
    (tmp_path / "plans.json").write_text("{half")
    assert "plans.json is damaged" in refused(tmp_path, capsys)


# Runs


def test_a_run_says_where_the_page_is_and_what_was_skipped(only_toys, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    options = ["--quick", "--jobs", "1", "--out", str(tmp_path / "out"), "--data", str(tmp_path / "data")]
    assert main(["reproduce", *options]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(tmp_path / "out" / "index.html")
    assert "skipped lacking: ionosphere" in said.err


def test_failures_are_in_the_exit_code(only_toys, monkeypatch, tmp_path, capsys):
    failing = toy.Experiment("toy", "Toy", "Fails.", toy.tasks, toy.fail_on_odd, toy.report)
    monkeypatch.setattr("spkm_paper.cli.reproduce.EXPERIMENTS", (failing,))
    code = main(["reproduce", "toy", "--no-figures", "--quiet", "--seeds", "2", "--jobs", "1", "--out", str(tmp_path)])
    assert code == 1 and "2 runs failed" in capsys.readouterr().err


@pytest.mark.parametrize("run", [toy.interrupt_parent, toy.terminate_parent])
def test_ctrl_c_says_how_to_go_on(run, ctrl_c, monkeypatch, tmp_path, capsys):
    interrupted = toy.Experiment("toy", "Toy", "Ends early.", toy.tasks, run, toy.report)
    monkeypatch.setattr("spkm_paper.cli.reproduce.EXPERIMENTS", (interrupted,))
    options = ["toy", "--no-figures", "--quiet", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["reproduce", *options]) == 130
    assert "go on with: spkm-paper reproduce toy --no-figures" in capsys.readouterr().err
    assert (tmp_path / "toy.csv").read_text().count("\n") == 5  # the head and four of six runs


def test_without_matplotlib_the_extra_is_named(only_toys, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert main(["reproduce", "toy", "--out", str(tmp_path)]) == 2
    assert "spkm[plot]" in capsys.readouterr().err


def test_renewed_results_keep_what_agrees_and_run_the_rest_again(only_toys, tmp_path, capsys):
    fresh, old, new = tmp_path / "fresh", tmp_path / "old", tmp_path / "new"
    assert main(["reproduce", "toy", "--quiet", "--no-figures", "--out", str(fresh)]) == 0
    lines = (fresh / "toy.csv").read_text().splitlines()
    first, kept = lines[1].split(","), lines[3].split(",")
    assert first[1:3] == ["0", "mean"] and kept[1:3] == ["1", "mean"]
    old.mkdir()
    changed = {f"{kept[1]},mean,{kept[3]}": f"{kept[1]},mean,7.5"}  # a later split of a method whose first one agrees
    median = lines[2].split(",")
    changed[f"0,median,{median[3]}"] = "0,median,8.5"  # the first split of another
    text = "\n".join(lines) + "\n"
    for before, after in changed.items():
        text = text.replace(before, after)
    (old / "toy.csv").write_text(text)
    capsys.readouterr()
    assert main(["reproduce", "toy", "--quiet", "--no-figures", "--out", str(new), "--renew", str(old)]) == 0
    renewed = (new / "toy.csv").read_text()
    assert ",1,mean,7.5," in renewed and "8.5" not in renewed  # kept unseen, and run again
    assert [line.split(",")[3] for line in renewed.splitlines() if "median" in line] == [
        line.split(",")[3] for line in lines if "median" in line
    ]
    assert "toy: made up, median is run again" in capsys.readouterr().err
