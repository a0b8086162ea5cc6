"""The engine of the experiments: every result is kept, nothing is done twice, nothing is lost in silence."""

import csv
import importlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import toy_experiment as toy
from spkm_paper.datasets import Dataset
from spkm_paper.experiments import EXPERIMENTS, Plan, Progress, Result, Results, Task, regression, reproduce
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._data import some_rows, thirds
from spkm_paper.experiments._figures import files
from spkm_paper.experiments._runner import Work, execute, run_all
from spkm_paper.experiments._store import Store
from spkm_paper.experiments._tables import Line, _signed, comparison, paired_p, runs_csv


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.jsonl")


def work(run, seeds, **settings):
    return [Work(Task("toy", "made up", seed, "a", settings), run) for seed in seeds]


def n_lines(store):
    return len(store.path.read_text().splitlines())


# The store and the runner.


def test_a_repeated_run_does_nothing(store):
    first = run_all(work(toy.fail_on_odd, (0, 2)), store)
    again = run_all(work(toy.die_on_one, (0, 2)), store)  # another function: it is not called
    assert first == again and n_lines(store) == 2


def test_changed_settings_version_or_seed_are_run_anew(store):
    run_all(work(toy.fail_on_odd, (0,), n=1), store)
    run_all(work(toy.fail_on_odd, (0,), n=2), store)
    assert n_lines(store) == 2
    task = Task("toy", "made up", 0, "a", {"n": 1})
    assert len({task.key, Task("toy", "made up", 0, "a", {"n": 1}, version=2).key}) == 2


def test_the_key_changes_with_the_library_version(monkeypatch):
    task = Task("toy", "made up", 0, "a")
    before = task.key
    monkeypatch.setattr("spkm.__version__", "99.0.0")
    assert task.key != before


def test_a_killed_run_loses_only_what_was_not_finished(store):
    results = run_all(work(toy.fail_on_odd, (0, 2, 4)), store)
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-25])  # as a crash in the middle of the last line leaves it
    assert len(store.load()) == 2
    assert {r.task.seed: r.numbers for r in run_all(work(toy.fail_on_odd, (0, 2, 4)), store).values()} == {
        r.task.seed: r.numbers for r in results.values()
    }
    assert n_lines(store) == 4 and len(store.load()) == 3  # the torn line stays, passed over


def test_processes_give_what_one_gives(store, tmp_path):
    tasks = work(toy.fit, range(2))
    other = Store(tmp_path / "other.jsonl")
    parallel, serial = run_all(tasks, store, jobs=2), run_all(tasks, other, jobs=1)
    here = [execute(task, run, None) for task, run, _ in tasks]
    for task, result in zip(tasks, here, strict=True):
        assert parallel[task.task.key].numbers == serial[task.task.key].numbers == result.numbers


def test_a_failing_task_is_recorded_and_the_rest_goes_on(store):
    results = list(run_all(work(toy.fail_on_odd, range(3)), store, jobs=2).values())
    assert [r.failed for r in results] == [False, True, False]
    assert "odd seeds are not for us" in results[1].error
    run_all(work(toy.fail_on_odd, range(3)), store)
    assert n_lines(store) == 4  # what failed is tried again


def test_a_dying_process_fails_its_task_alone(store):
    results = list(run_all(work(toy.die_on_one, range(4)), store, jobs=2).values())
    assert [r.failed for r in results] == [False, True, False, False]
    assert "-9" in results[1].error


def test_ctrl_c_keeps_what_is_finished(store, ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        run_all(work(toy.interrupt_parent, range(4)), store)
    assert sorted(r.task.seed for r in store.load().values()) == [0, 1]


def test_warnings_are_kept_and_bad_numbers_are_errors():
    task = Task("toy", "made up", 0, "a")
    assert execute(task, toy.warn, None).warnings == ("1 x UserWarning: as an example",)
    assert "got object" in execute(task, toy.bad_numbers, None).error


def test_work_that_needs_the_machine_comes_last(store):
    alone = Work(Task("toy", "made up", 9, "a"), toy.die_on_one, alone=True)
    run_all([alone, *work(toy.fail_on_odd, (0, 2))], store, jobs=2)
    assert [r.task.seed for r in store.load().values()][-1] == 9


def test_progress_tells_the_log_of_failures_and_of_the_time_left(store, caplog, capsys):
    with caplog.at_level("INFO", logger="spkm_paper"):
        run_all(work(toy.fail_on_odd, range(2)), store, progress=Progress())
    text = caplog.text
    assert capsys.readouterr() == ("", "")  # only the command shows the log
    assert "failed: toy, made up, split 1, a: ValueError: odd seeds" in text
    assert re.search(r"\[2/2\] .* left", text)


# Tables.


def result(method, seed, value):
    return Result(Task("toy", "made up", seed, method), {"accuracy": value})


def test_a_comparison_pairs_by_split_and_says_who_is_best():
    ours = [result("ours", seed, 90.0 + seed) for seed in range(8)]
    good = [result("good", seed, 89.0 + seed) for seed in range(8)]
    bad = [result("bad", seed, 50.0) for seed in range(8)]
    lines = [Line("ours", "91.0"), Line("good", competitor=True), Line("bad", competitor=True), Line("absent")]
    table = comparison(Results(ours + good + bad), "made up", "T", lines, "accuracy", "accuracy %")
    assert [row[0] for row in table.rows] == ["ours", "good", "bad"]
    assert table.rows[0] == ["ours", "93.5 ± 2.4", "91.0", "+1.0", "0.008", "8"]
    assert _signed(-0.01, "{:.1f}") == "0.0" and _signed(-0.1, "{:.1f}") == "-0.1"
    assert table.rows[1][3:5] == ["", ""] and table.notes[-1] == "Best competitor: good."


def test_no_p_of_few_splits_and_none_of_equals():
    few = [result(m, s, 1.0 + s + (m == "a")) for m in "ab" for s in range(3)]
    table = comparison(Results(few), "made up", "T", [Line("a"), Line("b", competitor=True)], "accuracy", "x")
    assert table.rows[0][-3:] == ["+1.0", "", "3"]
    assert paired_p(np.zeros(9)) == 1.0


def test_tables_escape_what_has_a_meaning():
    table = Table("a < b", ["x|y", "<i>"], [["1|2", "&"]], ["note & note"])
    assert "| 1\\|2 | & |" in table.markdown()
    assert "<i>" not in table.html() and "&lt;i&gt;" in table.html()


def test_csv_has_every_run_also_those_that_failed():
    failed = Result(Task("toy", "made up", 1, "ours"), error="Traceback\nValueError: no, no")
    rows = list(csv.DictReader(runs_csv([result("ours", 0, 0.1 + 0.2), failed]).splitlines()))
    assert float(rows[0]["accuracy"]) == 0.1 + 0.2
    assert rows[1]["failure"] == "ValueError: no, no" and rows[1]["accuracy"] == ""


# Splits.


def test_thirds_share_no_row_and_no_group():
    parts = thirds(100, 3)
    assert sorted(np.concatenate(parts)) == list(range(100))
    groups = np.repeat(np.arange(10), 10)
    parts = thirds(100, 3, groups)
    assert sorted(np.concatenate(parts)) == list(range(100))
    assert not set(groups[parts[0]]) & set(groups[parts[2]])


def test_some_rows_are_the_same_ones_every_time():
    assert np.array_equal(some_rows(50, 10), some_rows(50, 10)) and len(some_rows(50, 10)) == 10
    assert len(some_rows(5, 10)) == len(some_rows(5, None)) == 5


# From experiments to a page.


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    plan = Plan(quick=True, seeds=7, data=tmp_path_factory.mktemp("no data"))
    outcome = reproduce([toy.TOY, toy.LACKS_DATA], out, plan, command="spkm reproduce --quick", progress=None)
    return out, outcome


def test_files_and_page(made):
    out, outcome = made
    assert {"index.html", "results.jsonl", "toy.csv", "toy.md", "toy.png", "toy.svg"} <= {p.name for p in out.iterdir()}
    assert outcome.page == out / "index.html" and outcome.failed == []


def test_what_lacks_data_is_listed_with_the_reason(made):
    out, outcome = made
    assert list(outcome.skipped) == ["lacking: ionosphere"]
    assert "ionosphere.npz" in outcome.skipped["lacking: ionosphere"]
    assert "lacking: ionosphere" in (out / "index.html").read_text()


def test_the_page_needs_nothing_else(made):
    out, _ = made
    text = (out / "index.html").read_text()
    targets = re.findall(r"(?:src|href)=\"([^\"]*)\"", text)
    assert targets and all(target.startswith(("data:", "#")) for target in targets)
    assert "<script" not in text and "@import" not in text and "url(" not in text
    assert "A quick run" in text and "seeds 0, 1, 2, 3, 4, 5, 6" in text and "Wilcoxon" in text
    assert "spkm reproduce --quick" in text and "numpy" in text and "Errors &amp; &lt;such&gt;." in text


def test_the_numbers_of_markdown_are_those_of_csv(made):
    out, _ = made
    rows = list(csv.DictReader((out / "toy.csv").read_text().splitlines()))
    for method in toy.METHODS:
        values = np.array([float(row["error"]) for row in rows if row["method"] == method])
        assert f"| {method} | {values.mean():.1f} ± {values.std(ddof=1):.1f} |" in (out / "toy.md").read_text()


def test_experiments_of_earlier_calls_stay_on_the_page(made, tmp_path):
    out, _ = made
    again = reproduce([], out, Plan(), others=[toy.TOY])
    assert 'id="toy"' in again.page.read_text()


def test_what_is_not_done_yet_is_said(tmp_path):
    reproduce([toy.TOY], tmp_path, Plan(seeds=1), figures=False)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    (tmp_path / "results.jsonl").write_text(lines[0] + "\n")
    page = reproduce([], tmp_path, Plan(), figures=False, others=[toy.TOY]).page.read_text()
    assert "1 of 2 runs are not done yet" in page and "<img" not in page


def test_figures_without_matplotlib_say_which_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"spkm\[plot\]"):
        reproduce([toy.TOY], tmp_path, Plan())


# The experiments themselves.


def test_experiments_have_names_of_their_own():
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(set(names)) == len(names)


def test_made_up_rows_do_without_the_data(tmp_path):
    plan = Plan(quick=True, seeds=1, data=tmp_path)
    (timing,) = (experiment for experiment in EXPERIMENTS if experiment.name == "timing")
    wanted = list(timing.tasks(plan, []))
    assert wanted and all(task.data.startswith("made-up") for task in wanted)
    small = replace(timing, tasks=lambda plan, sets: wanted[:1])
    outcome = reproduce([small], tmp_path / "out", plan, figures=False)
    assert list(outcome.skipped) == ["timing: sarcos"] and not outcome.failed
    assert "Seconds of a fit, made-up" in (tmp_path / "out" / "timing.md").read_text()


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
@pytest.mark.parametrize("quick", [False, True])
def test_tasks_are_distinct_and_plain(experiment, quick):
    tasks = list(experiment.tasks(Plan(quick=quick), experiment.data))
    assert tasks and len({task.key for task in tasks}) == len(tasks)
    for task in tasks:
        assert task.experiment == experiment.name
        json.dumps(task.settings)
        assert experiment.makes_data or task.data.split(",")[0] in experiment.data or not experiment.data


def rows_at_hand(name, folder):
    """Return scikit-learn's own rows in the place of a data set: few of them, of the same kind."""
    bunch = load_diabetes() if name in regression.EXPERIMENT.data else load_breast_cancer()
    X, y = bunch.data[:90, :6], bunch.target[:90]
    views = {view: X[:, 2 * k : 2 * k + 2] for k, view in enumerate(("fou", "zer", "mor", "kar"))}
    if name == "uci_multiple_features":
        return Dataset(name, X, np.where(y == 1, 4, 9), views=dict(views, kar=X))
    return Dataset(name, X, y, groups=np.arange(90) // 5)


@pytest.mark.parametrize("name", ["table1", "table2", "mkl", "regression", "landmarks", "sparsity", "simulated"])
def test_an_experiment_reports_what_there_is(name, monkeypatch):
    module = importlib.import_module(f"spkm_paper.experiments.{name}")
    for user in (module, importlib.import_module("spkm_paper.experiments._binary")):
        if hasattr(user, "loaded"):
            monkeypatch.setattr(user, "loaded", rows_at_hand)
    experiment = module.EXPERIMENT
    tasks = list(experiment.tasks(Plan(quick=True, seeds=1), experiment.data[:1]))
    some = [task for k, task in enumerate(tasks) if task.method != "SPKM, strict" and k % 3 == len(tasks) % 3]
    results = [execute(task, experiment.run, None) for task in some]
    assert [result.error for result in results if result.failed] == []
    blocks = experiment.report(Results(results))
    assert any(isinstance(block, Table) and block.rows for block in blocks)
    for block in blocks:
        if isinstance(block, Figure):
            assert files(block.draw())["svg"].startswith(b"<?xml")


def test_a_quick_run_without_any_data(tmp_path):
    plan = Plan(quick=True, seeds=1, data=tmp_path)
    chosen = [experiment for experiment in EXPERIMENTS if experiment.name in ("illustrations", "table1")]
    outcome = reproduce(chosen, tmp_path / "out", plan)
    assert outcome.failed == [] and len(outcome.skipped) == 4
    text = outcome.page.read_text()
    assert 'id="illustrations"' in text and "table1: ionosphere" in text and text.count("<img") == 3
