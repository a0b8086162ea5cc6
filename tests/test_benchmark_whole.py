"""The run of all benchmarks: none is forgotten, one that fails stops no other, and what is there is not run again."""

import shlex
import subprocess
from pathlib import Path

import pytest

from benchmarks import mutation
from benchmarks.__main__ import main
from benchmarks._front import whole
from benchmarks._results import Outcome, append, read
from benchmarks._tables import ROOT, Table
from benchmarks._whole import ALONE, BESIDE, Done, module_of, names, problem_of, process, run_whole


def test_every_benchmark_has_its_place():
    found = [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "benchmarks" / "choices").glob("*.py")]
    modules = {path.relative_to(ROOT).with_suffix("") for path in found if not path.stem.startswith("_")}
    assert {Path(*module_of(name).split(".")) for name in names()} == modules
    assert len({*ALONE, *BESIDE}) == len(ALONE) + len(BESIDE)


def test_one_that_fails_stops_no_other():
    said = []
    ends = {"passes": "failed (1): ValueError: no", "svc": "skipped: no data"}
    failed = run_whole(lambda line: Done(line, 60.0, ends.get(line, "")), 2, said.append)
    assert [entry.line for entry in failed] == ["passes", "svc"]
    assert said[0] == "passes: failed (1): ValueError: no, 1.0 min"
    report = "\n".join(said[len(ALONE) + len(BESIDE) :])
    assert "- svc: skipped: no data" in report and "mutation is left out" in report


def test_a_benchmark_runs_in_a_process_of_its_own(tmp_path):
    asked = []

    def run(command, env, stdout, **_):
        asked.append((command[1:], env["OMP_NUM_THREADS"]))
        Table("some_A", ("what",), [["a"]], facts).write(tmp_path)
        return subprocess.CompletedProcess(command, 0)

    facts = {"commit": "abc", "command": "python -m benchmarks some --half A --families 'n = 5'"}
    line = facts["command"].removeprefix("python -m benchmarks ")
    now = {"commit": "abc"}
    replaced = {"logs": tmp_path / "logs", "run": run, "now": lambda: dict(now)}
    assert process(line, ["--jobs", "1"], tmp_path, quick=False, **replaced).problem == ""
    assert asked == [
        (["-m", "benchmarks", "some", "--half", "A", "--families", "n = 5", "--jobs", "1"], "1"),
    ]
    assert "measured before" in process(line, [], tmp_path, quick=False, **replaced).line and len(asked) == 1
    now["commit"] = "abc+"
    process(line, [], tmp_path, quick=False, **replaced)
    assert len(asked) == 2, "code that is no commit's is measured again"


def test_a_missing_table_has_its_reason(tmp_path):
    log = tmp_path / "some"
    log.with_suffix(".txt").write_text("so far so good\nValueError: no such file\n")
    log.with_suffix(".md").write_text("## some\nskipped: needs data\n")
    assert problem_of(1, log, True) == "failed (1): ValueError: no such file"
    assert problem_of(0, log, False) == "skipped: needs data"
    log.with_suffix(".md").write_text("## some\n")
    assert problem_of(0, log, False) == "wrote no table" and problem_of(0, log, True) == ""


def test_settings_of_all_benchmarks_are_not_given_at_once(capsys):
    with pytest.raises(SystemExit):
        main(["--seeds", "2"])
    assert "--seeds needs the name of a benchmark" in capsys.readouterr().err


def test_commands_of_tables_are_those_that_were_asked_for():
    for line in (*ALONE, *BESIDE):
        assert shlex.join(shlex.split(line)) == line, "the table would name its command in other quotes"


def test_outcomes_of_several_processes_share_a_file(tmp_path):
    path: Path = tmp_path / "kept.csv"
    path.touch()
    for seed in range(2):
        append(path, Outcome("code", "A", "p", seed, "ours", 1.0, 1.0, 1.0, 0.5, "1 2"))
    assert [outcome.seed for outcome in read(path, Outcome)] == [0, 1]


@pytest.mark.parametrize(("cell", "number"), [("140.0", "140"), ("140.6 ± 2.5", "141")])
def test_a_mean_of_the_readme_is_a_whole_number(cell, number):
    assert whole(cell) == number


def test_faults_are_put_into_files_that_there_are_and_sought_by_tests_that_there_are():
    source = ROOT / "src" / "spkm"
    for paths, tests in mutation.MODULES.values():
        assert all((source / path).is_file() for path in paths), paths
        assert all((ROOT / "tests" / f"{name}.py").is_file() for name in tests), tests
    assert {path for path, *_ in mutation.EXPLAINED} <= {p for paths, _ in mutation.MODULES.values() for p in paths}
    faults = mutation.sample(20, 0, tuple(mutation.MODULES))
    assert all(fault.source != (source / fault.path).read_text() for fault in faults)
