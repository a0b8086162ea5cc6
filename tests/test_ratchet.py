"""The ratchet: what counts as fallen, what is stored, and that every part of the library has a figure."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import spkm
from benchmarks.ratchet import __main__ as command
from benchmarks.ratchet.record import (
    COST,
    ERROR,
    FIGURES,
    LOSS,
    PERCENT,
    Best,
    Figure,
    Skipped,
    has_fallen,
    read_best,
    recorded,
    tolerance_of,
    write_best,
)
from spkm.kernels import KERNELS
from spkm.losses import LOSSES
from spkm.solvers import SOLVERS

ROOT = Path(__file__).parents[1]


def figure(kind=PERCENT, measure=float, **settings):
    return Figure("some.figure", "what it is", kind, measure, **settings)


def best(value, tolerance):
    return Best("some.figure", value, tolerance, "0.1", (value,))


@pytest.mark.parametrize(
    ("kind", "value", "known", "fell"),
    [
        (PERCENT, 89.0, best(90.0, 0.5), True),
        (PERCENT, 89.6, best(90.0, 0.5), False),
        (PERCENT, 95.0, best(90.0, 0.5), False),
        (PERCENT, np.nan, best(90.0, 0.5), True),
        (LOSS, 0.23, best(0.2, 0.02), True),
        (LOSS, 0.21, best(0.2, 0.02), False),
        (LOSS, 0.1, best(0.2, 0.02), False),
        (ERROR, 1e-12, best(0.0, 1e-11), False),
        (ERROR, 2e-11, best(1e-12, 1e-11), False),
        (ERROR, 1e-9, best(1e-12, 1e-11), True),
        (COST, 15.0, best(10.0, 3.5), True),
    ],
)
def test_a_figure_has_fallen_only_if_it_is_worse_by_more_than_its_tolerance(kind, value, known, fell):
    assert has_fallen(figure(kind), value, known) is fell


def test_the_tolerance_follows_repeated_runs():
    runs = (90.0, 92.0, 94.0, 96.0)
    deviation = np.std(runs, ddof=1)
    assert tolerance_of(figure(seeds=4), runs) == pytest.approx(deviation)  # 2 / sqrt(4) deviations
    assert tolerance_of(figure(seeds=4, worst=True), runs) == pytest.approx(2 * deviation)
    assert tolerance_of(figure(), (90.0, 90.0)) == PERCENT.absolute
    assert tolerance_of(figure(LOSS), (2.0, 2.0)) == pytest.approx(0.04)


def test_the_worst_is_that_of_the_direction():
    assert figure(worst=True, seeds=2).of_runs([3.0, 5.0, 1.0]) == 3.0
    assert figure(LOSS, worst=True, seeds=2).of_runs([3.0, 5.0, 9.0]) == 5.0
    assert figure(seeds=2).of_runs([3.0, 5.0, 100.0]) == 4.0


def test_a_better_value_is_stored_and_a_worse_one_only_with_a_reason():
    known = best(90.0, 0.5)
    assert recorded(figure(), (95.0,) * 3, known, "0.3", "").best == 95.0
    assert recorded(figure(), (95.0,) * 3, None, "0.3", "").version == "0.3"
    assert recorded(figure(), (80.0,) * 3, known, "0.3", "") is None
    assert recorded(figure(), (89.9,) * 3, known, "0.3", "a reason") is None, "it has not fallen"
    lowered = recorded(figure(), (80.0,) * 3, known, "0.3", "a smaller default model")
    assert lowered.best == 80.0 and lowered.note == "90 in 0.1: a smaller default model"


def test_the_file_gives_back_what_was_written(tmp_path):
    entries = {
        "b": Best("b", 1.5, 0.25, "0.2", (1.5, 1.75), "2 in 0.1: for a reason, with a comma"),
        "a": Best("a", 0.0, 1e-11, "0.1", (0.0,)),
    }
    write_best(entries, tmp_path / "best.csv")
    assert read_best(tmp_path / "best.csv") == entries
    assert (tmp_path / "best.csv").read_text().splitlines()[1].startswith("a,")
    assert read_best(tmp_path / "none.csv") == {}


def _needs_data(seed):
    raise Skipped("needs a file")


def test_the_command_prints_which_fell(tmp_path, capsys):
    path = tmp_path / "best.csv"
    values = {"a.same": 90.0, "a.worse": 80.0, "a.new": 5.0}
    figures = {name: Figure(name, name, PERCENT, lambda seed, v=v: v) for name, v in values.items()}
    figures["a.absent"] = Figure("a.absent", "absent", PERCENT, _needs_data)
    figures["a.broken"] = Figure("a.broken", "broken", PERCENT, lambda seed: 1 / 0)
    write_best({name: best(90.0, 0.5) for name in ("a.same", "a.worse", "a.absent")}, path)
    run = partial(command.main, figures=figures, path=path)
    assert run([]) == 1
    told = capsys.readouterr().out
    assert "not measured, needs a file" in told and "FAILED, ZeroDivisionError" in told
    assert told.endswith("4 figures measured. Worse than the best known: a.worse, a.broken\n")
    assert run(["a.same"]) == 0
    assert run(["--accept", "a smaller model", "a.worse"]) == 0
    assert read_best(path)["a.worse"].best == 80.0 and run(["a.worse"]) == 0
    with pytest.raises(SystemExit, match="no figure begins with 'b'"):
        run(["b"])


def test_every_part_has_a_figure_and_every_figure_a_best_value():
    for group, names in (("kernel", KERNELS), ("loss", LOSSES), ("solver", SOLVERS)):
        assert {f"{group}.{name}" for name in names} <= set(FIGURES)
    assert set(read_best()) == set(FIGURES)
    newest = tuple(int(part) for part in spkm.__version__.split(".")[:2])
    for entry in read_best().values():
        assert tuple(int(part) for part in entry.version.split(".")[:2]) <= newest
        assert entry.tolerance >= 0 and np.isfinite(entry.best)


def test_several_figures_are_measured_at_a_time():
    """As ``make ratchet`` runs: other processes know the module of the command by another name."""
    line = [sys.executable, "-m", "benchmarks.ratchet", "--jobs", "2", "source.order", "source.weights"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2 figures measured. Worse than the best known: nothing"
