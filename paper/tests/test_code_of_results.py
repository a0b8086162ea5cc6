"""Results know the code that made them: moved and reworded code leaves them fresh, changed code does not."""

import json
from pathlib import Path

import pytest

from spkm_paper.experiments import EXPERIMENTS, Plan, Result, _code, stale, stamp
from spkm_paper.experiments._code import check, code_of, definitions, same
from spkm_paper.experiments._store import Store, write_text
from spkm_paper.experiments._tables import runs_csv
from toy_experiment import TOY

RESULTS = Path(__file__).parents[1] / "results"
OLD = '"""About."""\nimport os\n\n\ndef f(x):\n    """Return."""\n    return x + 1  # one\n\n\nY = 2\n'
MOVED = '"""Else."""\nimport sys\n\nY = 2\n\n\ndef f(x):\n    """Give."""\n    return x + 1\n'


def test_results_are_not_older_than_the_code():
    """Run the experiments again, or ``spkm-paper reproduce --check --out paper/results`` where nothing has changed."""
    assert stale(RESULTS, EXPERIMENTS) == []


def test_moved_and_reworded_code_is_the_same_and_changed_code_is_not():
    assert sorted(definitions(OLD)) == sorted(definitions(MOVED))
    assert sorted(definitions(OLD)) != sorted(definitions(OLD.replace("x + 1", "x + 2")))


def test_an_experiment_depends_on_its_own_module_and_not_on_others(monkeypatch, tmp_path):
    first, second = EXPERIMENTS[:2]
    assert code_of(first) != code_of(second) and code_of(first) == code_of(first)
    stamp(tmp_path, [first])
    write_text(tmp_path / f"{first.name}.csv", "")
    write_text(tmp_path / f"{second.name}.csv", "")
    assert stale(tmp_path, EXPERIMENTS) == [second.name]  # which has results and no stamp
    known = json.loads((tmp_path / _code.FILE).read_text())
    write_text(tmp_path / _code.FILE, json.dumps({**known, first.name: "other"}))
    assert stale(tmp_path, EXPERIMENTS) == [first.name, second.name]


def made(plan):
    return [Result(task, numbers=TOY.run(task, None)) for task in TOY.tasks(plan)]


@pytest.mark.parametrize("changed", [False, True])
def test_a_check_finds_numbers_that_have_changed(tmp_path, changed):
    text = runs_csv(made(Plan(seeds=2)))
    line = text.splitlines()[1]
    number = line.split(",")[3]
    write_text(tmp_path / "toy.csv", text.replace(number, str(1.01 * float(number))) if changed else text)
    found = check(TOY, tmp_path, Plan(seeds=2), [], Store(tmp_path / "again.jsonl"))
    assert found.n_runs == 4 and len(found.differ) == int(changed)


def test_times_may_differ():
    task = next(iter(TOY.tasks(Plan())))
    assert same(Result(task, {"error": 0.5, "fit seconds": 3.0}), {"error": "0.5000001", "fit seconds": "9"})
    assert not same(Result(task, {"error": 0.5}), {"error": "0.6"}) and not same(Result(task, None, "failed"), {})
