"""Reports of censored times and ordered classes: the facts are those of the estimator, and the page says so itself."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

from spkm import SPKMOrdinalClassifier, SPKMSurvival, TableEncoder
from spkm.inspection import brier_scores, judged_times, report
from spkm.losses import Times

pd = pytest.importorskip("pandas")
LEVELS = ["low", "mid", "high"]
QUICK = {"n_basis": 3, "weight_penalty": "rkhs", "random_state": 0}


def table(n=140):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, n).round(1), "sex": rng.choice(["f", "m"], n)})
    f = (frame["age"] - 50) / 20 + (frame["sex"] == "m")
    time, end = rng.exponential(np.exp(-f)), rng.uniform(0.2, 3, n)
    y = np.rec.fromarrays([time <= end, np.minimum(time, end).round(3)], names="event,time")
    return frame, y, np.array(LEVELS)[np.digitize(f + 0.5 * rng.logistic(size=n), [0.0, 1.0])]


def written(model, folder, X, y, **options):
    report(model, folder / "r.json", X, y, **options)
    report(model, folder / "r.md", X, y, **options)
    return json.loads((folder / "r.json").read_text()), (folder / "r.md").read_text()


@pytest.fixture(scope="module")
def survival():
    frame, y, _ = table()
    return make_pipeline(TableEncoder(), SPKMSurvival(**QUICK)).fit(frame[:100], y[:100])


def test_survival_of_samples_that_entered_late(survival, tmp_path):
    frame, y, _ = table()
    encoder, model = survival.named_steps.values()
    entry = np.where(np.arange(40) % 2, 0.5, 0.0) * np.asarray(y.time)[100:]
    late = np.rec.fromarrays([y.event[100:], y.time[100:], entry], names="event,time,entry")
    facts, card = written(survival, tmp_path, frame[100:], late)
    (found,) = facts["quality"]["metrics"]  # no Brier score
    assert found["value"] == pytest.approx(model.score(encoder.transform(frame[100:]), late), rel=1e-4)
    assert "of the pairs that can be compared" in card and "Brier" not in facts["answer"][1]
    with pytest.raises(ValueError, match="some entered later"):
        brier_scores(Times(late.time, late.event, late.entry), np.ones((40, 1)), np.ones(1))


def test_survival(survival, tmp_path):
    frame, y, _ = table()
    encoder, model = survival.named_steps.values()
    facts, card = written(survival, tmp_path, frame[100:], y[100:], train=(frame[:100], y[:100]))
    Z, times = encoder.transform(frame[100:]), Times(np.asarray(y.time)[100:], np.asarray(y.event)[100:])
    found = {one["name"]: one["value"] for one in facts["quality"]["metrics"]}
    assert found["concordance"] == pytest.approx(model.score(Z, y[100:]), rel=1e-4)
    at = judged_times(times)
    brier = brier_scores(times, model.predict_survival_function(Z, at), at).mean()
    assert found["Brier score"] == pytest.approx(brier, rel=1e-4) and found["Brier score"] < 0.25
    assert facts["samples"]["target"]["events"] == [int(times.event.sum()), 40]
    curves = facts["survival"]
    at_vectors = model.predict_survival_function(model.basis_vectors_, curves["times"])
    for one in curves["vectors"]:
        assert_allclose(one["survival"], at_vectors[int(one["name"][1:])], atol=1e-3)
    assert len(facts["quality"]["survival_calibration"]) == 3
    texts = [text.endswith("+") for text in facts["rows"]["y"]]
    assert texts == [not y.event[100 + i] for i in facts["rows"]["index"]]
    assert_allclose(facts["page"]["plain"]["survival"]["times"], curves["times"], rtol=1e-5)
    assert "Survival of basis vectors" in card and "concordance" in card and "proportional" in card
    assert facts["model"]["score_names"] == ["log hazard"]


def test_survival_without_targets_or_samples(survival, tmp_path):
    frame, y, _ = table()
    facts, _ = written(survival, tmp_path, frame, None)
    assert facts["quality"] is None and facts["survival"]["vectors"]
    facts, _ = written(survival, tmp_path, frame, y, privacy="aggregate")
    assert facts["rows"] is None
    with pytest.raises(ValueError, match="an entry for each of the 140 samples; got 139"):
        report(survival, tmp_path / "r.html", frame, y[1:])


def test_ordered(tmp_path):
    frame, _, grades = table()
    model = make_pipeline(TableEncoder(), SPKMOrdinalClassifier(order=LEVELS, **QUICK)).fit(frame[:100], grades[:100])
    facts, card = written(model, tmp_path, frame[100:], grades[100:], train=(frame[:100], grades[:100]))
    found = {one["name"]: one["value"] for one in facts["quality"]["metrics"]}
    predicted, truth = model.predict(frame[100:]), grades[100:]
    assert found["accuracy"] == pytest.approx(np.mean(predicted == truth), rel=1e-4)
    apart = np.abs([LEVELS.index(a) - LEVELS.index(b) for a, b in zip(predicted, truth, strict=True)])
    assert found["mean absolute error in classes"] == pytest.approx(apart.mean(), rel=1e-4)
    p = model.predict_proba(frame[100:])[np.arange(40), [LEVELS.index(label) for label in truth]]
    assert found["log loss"] == pytest.approx(-np.log(p).mean(), rel=1e-4)
    confusion = np.array(facts["quality"]["confusion"])
    assert facts["model"]["classes"] == LEVELS and confusion.trace() == np.sum(predicted == truth)
    assert_allclose(facts["order"]["thresholds"], model[-1].thresholds_, rtol=1e-4)
    assert [len(one) for one in facts["order"]["samples"]] == [int(np.sum(truth == label)) for label in LEVELS]
    assert facts["page"]["plain"]["probabilities"] == "ordered" and "Thresholds of the score" in card
    hidden, _ = written(model, tmp_path, frame, grades, privacy="aggregate")
    assert [len(one) for one in hidden["order"]["samples"]] == [9, 9, 9]


def test_the_pages_hold_all_their_parts(survival, tmp_path):
    frame, y, _ = table()
    page = report(survival, tmp_path / "r.html", frame, y).read_text()
    for name in ("vectorCurves", "orderChart", "survivalCalibration"):
        assert len(re.findall(rf"function {name}\(", page)) == 1
