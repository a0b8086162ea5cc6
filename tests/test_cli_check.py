"""``spkm check``: new samples against those of the fit, as an exit code."""

import json

import numpy as np
import pytest

from spkm import save
from spkm.cli import main
from spkm.persistence import monitor
from tests.cli_files import spkm
from tests.pipeline_cases import fitted, mixed, selector_alone

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a model, samples of the same kind, and samples that drifted in several ways."""
    folder = tmp_path_factory.mktemp("check")
    save(fitted("classes"), folder / "model.spkm", data=mixed())
    save(fitted("classes"), folder / "silent.spkm")
    new = mixed(150, seed=5)
    new.to_csv(folder / "same.csv", index=False)
    new.assign(age=new["age"] + 200).to_csv(folder / "old.csv", index=False)
    new.assign(region=9).to_csv(folder / "region.csv", index=False)
    new.assign(hours=np.where(np.arange(150) % 3, new["hours"], np.nan)).to_csv(folder / "gaps.csv", index=False)
    new.drop(columns="age").to_csv(folder / "narrow.csv", index=False)
    new.head(4).assign(age=900).to_csv(folder / "few.csv", index=False)
    return folder


def test_the_exit_code_tells_drift_from_none(files, capsys):
    same = spkm("check", files / "model.spkm", files / "same.csv")
    assert same.returncode == 0, same.stdout + same.stderr
    assert "Nothing is beyond the limits." in same.stdout
    words = ["check", files / "model.spkm", files / "old.csv", "--json", files / "old.json"]
    assert main(list(map(str, words))) == 5 and "ALARM age: " in capsys.readouterr().out
    found = json.loads((files / "old.json").read_text())
    age = next(one for one in found["features"] if one["name"] == "age")
    assert age["above"] > 0.8 and found["samples"] == 150 and found["alarms"]


@pytest.mark.parametrize("name, says", [("region", "region: 100.0% unknown levels"), ("gaps", "hours: 33.3% missing")])
def test_levels_and_gaps_that_the_fit_never_had(name, says, files, capsys):
    assert main(["check", str(files / "model.spkm"), str(files / f"{name}.csv")]) == 5
    assert says in capsys.readouterr().out


def test_limits_are_options(files, capsys):
    words = ["check", str(files / "model.spkm"), str(files / "old.csv")]
    assert main([*words, "--outside", "1", "--unlike", "1", "--shift", "1", "--psi", "99", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["alarms"] == []
    assert main([*words, "--outside", "2"]) == 2
    assert "--outside must be a share" in capsys.readouterr().err
    assert main([*words, "--psi", "nan"]) == 2
    assert "--psi must be a number" in capsys.readouterr().err


def test_what_cannot_be_checked(files, capsys):
    assert main(["check", str(files / "silent.spkm"), str(files / "same.csv")]) == 4
    assert "data=samples" in capsys.readouterr().err
    assert main(["check", str(files / "model.spkm"), str(files / "narrow.csv")]) == 3
    assert main(["check", str(files / "none.spkm"), str(files / "same.csv")]) == 4


def test_the_shift_is_the_distance_of_distributions():
    pipeline, X = selector_alone()
    assert monitor(pipeline, X, reference=X).shift < 0.05
    far = monitor(pipeline, 50 * X, reference=X)
    model, seen = pipeline[-1], pipeline[:-1]
    rows = model.model_.vector_rows
    new, old = (model.model_.similarities(seen.transform(Z))[:, rows].max(axis=1) for Z in (50 * X, X))
    grid = np.quantile(old, far.quantiles)
    want = max(abs(np.mean(new <= q) - p) for p, q in zip(far.quantiles, grid, strict=True))
    assert far.shift == pytest.approx(want, abs=1 / len(X))


def test_shifts_inside_the_range_are_named(files, capsys):
    new = mixed(150, seed=5)
    low, high = mixed()["age"].min(), mixed()["age"].max()
    moved = new.assign(age=(new["age"] + 15).clip(low, high))
    one = new.assign(**{"work; DROP": "private"})
    for name, frame, column, other in (("older", moved, "age", "work; DROP"), ("one", one, "work; DROP", "age")):
        frame.to_csv(files / f"{name}.csv", index=False)
        assert main(["check", str(files / "model.spkm"), str(files / f"{name}.csv")]) == 5
        shown = capsys.readouterr().out
        assert f"ALARM {column}: the distribution moved, PSI " in shown
        assert f"ALARM {other}" not in shown
    assert """no sample of the level "state's\"""" in shown
