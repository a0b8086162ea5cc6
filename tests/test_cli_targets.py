"""The command with censored times and ordered classes."""

import re

import numpy as np
import pytest

from spkm import load
from spkm.cli import main
from spkm.inspection import brier_scores, judged_times, kaplan_meier, survival_calibration
from spkm.losses import Times
from tests.cli_files import read_json

pd = pytest.importorskip("pandas")
QUICK = ["--vectors", "3"]
LEVELS = ["low", "mid", "high"]


def patients(n=120):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, n).round(1), "sex": rng.choice(["f", "m"], n)})
    f = (frame["age"] - 50) / 20 + (frame["sex"] == "m")
    time, end = rng.exponential(100 * np.exp(-f)), rng.uniform(20, 300, n)
    frame["days"], frame["died"] = np.minimum(time, end).round(2), (time <= end).astype(int)
    return frame.assign(grade=np.array(LEVELS)[np.digitize(f + 0.5 * rng.logistic(size=n), [0.0, 1.0])])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("pyarrow")
    place, frame = tmp_path_factory.mktemp("targets"), patients()
    frame.to_csv(place / "p.csv", index=False)
    grades = pd.Categorical(frame["grade"], categories=LEVELS, ordered=True)
    frame.assign(grade=grades).to_parquet(place / "p.parquet")
    words = [str(place / "p.csv"), "--drop", "grade", "--time", "days", "--event", "died", *QUICK]
    assert main(["fit", *words, "-o", str(place / "s.spkm"), "--json", str(place / "s.json")]) == 0
    words = [str(place / "p.csv"), "--drop", "days", "--drop", "died", "--target", "grade", *QUICK]
    ordered = ["--ordered", "low,mid,high", "-o", str(place / "o.spkm"), "--json", str(place / "o.json")]
    assert main(["fit", *words, *ordered]) == 0
    return place


def test_fit(folder):
    times, grades = read_json(folder / "s.json"), read_json(folder / "o.json")
    assert times["task"] == "times" and times["target"] == ["days", "died"]
    assert set(times["quality"]["spkm"]) == {"concordance", "Brier score"}
    assert times["quality"]["spkm"]["concordance"]["value"] > 0.6
    assert times["quality"]["constant"]["concordance"]["value"] == 0.5
    assert times["quality"]["spkm"]["Brier score"]["value"] < times["quality"]["constant"]["Brier score"]["value"]
    assert grades["task"] == "ordered" and set(grades["quality"]["spkm"]) == {"MAE", "accuracy", "log loss"}
    assert grades["quality"]["spkm"]["MAE"]["value"] < grades["quality"]["constant"]["MAE"]["value"]
    assert load(folder / "o.spkm")[-1].classes_.tolist() == LEVELS


def test_an_ordered_category_brings_its_order(folder, tmp_path, capsys):
    words = [str(folder / "p.parquet"), "--target", "grade", "--drop", "days", "--drop", "died", *QUICK]
    assert main(["fit", *words, "-o", str(tmp_path / "m.spkm")]) == 0
    assert "ordered category" in capsys.readouterr().err
    assert load(tmp_path / "m.spkm")[-1].classes_.tolist() == LEVELS
    assert main(["fit", *words, "--task", "classes", "-o", str(tmp_path / "c.spkm")]) == 0
    assert load(tmp_path / "c.spkm")[-1].classes_.tolist() == sorted(LEVELS)


def test_predict(folder, tmp_path):
    out = tmp_path / "p.csv"
    assert main(["predict", str(folder / "s.spkm"), str(folder / "p.csv"), "--times", "30,90", "-o", str(out)]) == 0
    found, model = pd.read_csv(out), load(folder / "s.spkm")
    Z = model[0].transform(patients()[["age", "sex"]])
    np.testing.assert_allclose(
        found[["survival until 30", "survival until 90"]], model[1].predict_survival_function(Z, [30, 90]), rtol=1e-9
    )
    near = [str(folder / "s.spkm"), str(folder / "p.csv"), "--times", "30,30.00001", "-o", str(out)]
    assert main(["predict", *near]) == 0  # two columns, though six digits are the same
    assert pd.read_csv(out).columns[-2:].tolist() == ["survival until 30", "survival until 30.00001"]
    assert main(["predict", str(folder / "o.spkm"), str(folder / "p.csv"), "-o", str(out)]) == 0
    found = pd.read_csv(out)
    np.testing.assert_allclose(found[[f"probability of {level}" for level in LEVELS]].sum(axis=1), 1)


def test_other_verbs(folder, tmp_path, capsys):
    data = str(folder / "p.csv")
    assert main(["explain", str(folder / "s.spkm"), data, "--row", "1"]) == 0
    assert "survival until" in capsys.readouterr().out
    assert main(["explain", str(folder / "o.spkm"), data, "--row", "1"]) == 0
    assert main(["counterfactual", str(folder / "o.spkm"), data, "--row", "1"]) == 2
    assert "the class to reach, one of low, mid, high." in capsys.readouterr().err
    assert main(["inspect", str(folder / "s.spkm")]) == 0
    assert main(["inspect", str(folder / "o.spkm")]) == 0
    shown = capsys.readouterr().out
    assert "predicts the log hazard of censored times" in shown and "ordered classes low < mid < high" in shown
    assert main(["check", str(folder / "s.spkm"), data]) == 0 == main(["check", str(folder / "o.spkm"), data])
    both = [str(folder / "s.spkm")] * 2
    words = ["--data", data, "--time", "days", "--event", "died", "--json", str(tmp_path / "c.json")]
    assert main(["compare", *both, *words]) == 0
    assert read_json(tmp_path / "c.json")["difference"]["concordance"]["value"] == 0
    assert main(["compare", *[str(folder / "o.spkm")] * 2, "--data", data, "--target", "grade"]) == 0
    assert main(["export", str(folder / "s.spkm"), "--times", "30", "-o", str(tmp_path / "m.py")]) == 0
    assert "30.0" in (tmp_path / "m.py").read_text()


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ({}, ["--time", "days"], "--time and --event go together"),
        ({}, [], "the target must be named"),
        ({}, ["--target", "grade", "--time", "days", "--event", "died"], "the target is either .* got both"),
        ({}, ["--time", "days", "--event", "days"], "must be two columns"),
        ({}, ["--time", "sex", "--event", "died"], "must be a column of numbers"),
        ({}, ["--time", "age", "--event", "days"], "must hold 1 .or true. for an event"),
        ({"days": -1.0}, ["--time", "days", "--event", "died"], "not negative; it holds -1"),
        ({"died": 0}, ["--time", "days", "--event", "died"], "without an event there is nothing"),
        ({}, ["--target", "grade", "--task", "ordered"], "order is not known. Name its levels by --ordered"),
        ({}, ["--target", "grade", "--ordered", "low,high"], "'mid' is missing"),
        ({}, ["--target", "grade", "--ordered", "low"], "at least two levels"),
        ({"grade": "low"}, ["--target", "grade", "--ordered", "low,mid"], "there is nothing to learn"),
        ({}, ["--time", "days", "--event", "died", "--ordered", "a,b"], "--ordered goes with --target"),
    ],
)
def test_bad_words(tmp_path, capsys, change, words, message):
    frame = patients(40)
    for name, value in change.items():
        frame.loc[frame.index[:1] if name == "days" else frame.index, name] = value
    frame.to_csv(tmp_path / "p.csv", index=False)
    assert main(["fit", str(tmp_path / "p.csv"), *words]) in (2, 3)

    assert re.search(message, capsys.readouterr().err.replace("\n", " "))


def test_the_wrong_kind_of_truth(folder, capsys):
    words = ["report", str(folder / "s.spkm"), str(folder / "p.csv"), "-o", str(folder / "r.html")]
    assert main([*words, "--target", "grade"]) == 2
    assert "name the true values by --time and --event" in capsys.readouterr().err
    assert main(["predict", str(folder / "o.spkm"), str(folder / "p.csv"), "--times", "3"]) == 2
    assert main(["predict", str(folder / "s.spkm"), str(folder / "p.csv"), "--times", "-3"]) == 2


def test_brier_scores_are_those_of_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    frame, rng = patients(), np.random.default_rng(1)
    for decimals in (0, 2):  # with ties, and with few; none of an event and a censored time, for which they differ
        event = frame["died"].to_numpy() == 1
        times = Times(frame["days"].round(decimals).to_numpy() + np.where(event, 0, 0.001), event)
        y = np.array(list(zip(times.event, times.time, strict=True)), dtype=[("event", bool), ("time", float)])
        at = judged_times(times)
        survival = rng.random((len(frame), len(at)))
        other = metrics.brier_score(y, y, survival, at)[1]
        np.testing.assert_allclose(brier_scores(times, survival, at).mean(axis=0), other, rtol=1e-10)
        steps, shares = nonparametric.kaplan_meier_estimator(times.event, times.time)
        np.testing.assert_allclose(kaplan_meier(times.time, times.event).at(steps), shares, rtol=1e-10)


def test_brier_score_of_a_coin_is_a_quarter_where_events_and_censored_samples_share_times():
    rng = np.random.default_rng(0)
    time, end = rng.geometric(0.2, 20_000).astype(float), rng.geometric(0.15, 20_000).astype(float)
    times, at = Times(np.minimum(time, end), time <= end), np.array([1.0, 3.0, 6.0])
    each = brier_scores(times, np.full((20_000, 3), 0.5), at)
    assert np.all(np.abs(each.mean(axis=0) - 0.25) < 4 * each.std(axis=0) / np.sqrt(20_000))


@pytest.mark.parametrize("late", [False, True])
def test_calibration_of_the_truth(late):
    rng = np.random.default_rng(0)
    n = 15_000 if late else 5000
    risk, entry = rng.uniform(0.5, 3, n), rng.uniform(0, 2, n) * (rng.random(n) < 0.8)
    time, end = rng.exponential(1 / risk), rng.uniform(0, 3, n)
    last = np.minimum(time, end)
    seen = np.flatnonzero(last > entry)[:5000] if late else np.arange(n)  # who had the event before entry is unknown
    times = Times(last[seen], (time <= end)[seen], entry[seen] if late else None)
    found = survival_calibration(times, np.exp(-risk[seen] * 0.4), 0.4)
    assert np.all(np.diff(found.predicted) > 0) and found.n_samples.sum() == 5000
    assert np.abs(found.predicted - found.observed).max() < 0.05  # 3.3 standard errors of 1,000 samples
    assert np.all((found.low < found.observed) & (found.observed < found.high))
