"""What a report says first depends on the model: on an axis, with categories, by groups, beside simple models."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import (
    PairwiseSPKMRegressor,
    SPKMClassifier,
    SPKMNystroem,
    SPKMRegressor,
    TableEncoder,
    load,
    stability_selection,
)
from spkm.explain import gradient, nearest_entities, partial_dependence, sobol_indices, vector_stability
from spkm.inspection import report


def facts(model, X, y, **options):
    """Return what a report says, as plain data."""
    with TemporaryDirectory() as folder:
        return json.loads(report(model, Path(folder) / "facts.json", X, y, **options).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def spectra():
    rng = np.random.default_rng(0)
    places = np.linspace(900, 1700, 401)
    fat = rng.uniform(1, 50, 120)
    X = fat[:, None] * np.exp(-(((places - 1210) / 40) ** 2)) / 50 + rng.normal(0, 0.01, (120, 401))
    X = pd.DataFrame(X, columns=[f"{place:g} nm" for place in places])
    y = pd.Series(fat, name="fat")
    return SPKMRegressor(n_basis=5, random_state=0, scale="common").fit(X[::2], y[::2]), X[1::2], y[1::2]


def mixed(n=300):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"age": rng.uniform(20, 70, n).round(), "sex": rng.choice(["f", "m"], n), "job": rng.choice(list("abcd"), n)}
    )
    y = pd.Series(
        np.where(table["age"] + 15 * (table["job"] == "b") + rng.normal(0, 8, n) > 50, "yes", "no"), name="owns"
    )
    return make_pipeline(TableEncoder(), SPKMClassifier(n_basis=3, random_state=0)).fit(table, y), table, y


def test_names_that_are_numbers_make_an_axis(spectra, tmp_path):
    model, X, y = spectra
    found = facts(model, X, y)
    assert found["axis"]["label"] == "nm" and found["axis"]["values"][:2] == [900.0, 902.0]
    slopes = gradient(model, X).mean(axis=0)[:, 0] * X.to_numpy().std(axis=0)
    np.testing.assert_allclose(found["axis"]["slopes"][0], slopes, atol=2e-3 * np.abs(slopes).max())
    peak = found["axis"]["values"][int(np.argmax(np.abs(slopes)))]
    assert abs(peak - 1210) < 60 and f"around {peak:g} nm" in found["answer"][2]
    for card in found["basis"]["cards"]:
        np.testing.assert_allclose(card["curve"], model.basis_vectors_[card["r"]], rtol=1e-3, atol=1e-8)
    assert report(model, tmp_path / "page.html", X, y).stat().st_size < 300_000
    assert "## Features" not in report(model, tmp_path / "card.md", X, y).read_text(encoding="utf-8")


@pytest.mark.parametrize("scale", ["common", True])
def test_twenty_vectors_of_401_wavelengths_fit_in_300_kb(spectra, scale, tmp_path):
    _, X, y = spectra
    # A given penalty, so that no vectors are merged.
    model = SPKMRegressor(n_basis=20, random_state=0, scale=scale, weight_penalty="rkhs", tol=1e-1).fit(X, y)
    assert len(model.basis_vectors_) == 20
    assert report(model, tmp_path / "page.html", X, y).stat().st_size < 300_000


def test_an_axis_is_given_or_refused(spectra):
    model, X, y = spectra
    assert facts(model, X, y, x=False)["axis"] is None
    places = pd.Series(np.arange(401)[::-1], name="channel")
    assert facts(model, X, y, x=places)["axis"]["label"] == "channel"
    with pytest.raises(ValueError, match="x must rise or fall"):
        facts(model, X, y, x=np.zeros(401))
    with pytest.raises(ValueError, match="x must have a finite place for each of the 401 features"):
        facts(model, X, y, x=[1, 2])
    diabetes, target = load_diabetes(return_X_y=True, as_frame=True)
    plain = SPKMRegressor(n_basis=2, random_state=0, tol=1e-1).fit(diabetes, target)
    assert facts(plain, diabetes, target)["axis"] is None


def test_a_category_is_one_feature_everywhere():
    pipeline, table, y = mixed()
    found = facts(pipeline, table, y)
    assert [column["name"] for column in found["columns"]] == ["age", "sex", "job"]
    Z, encoder = pipeline[:-1].transform(table), pipeline[0]
    groups = {name: np.flatnonzero(encoder.groups_ == k) for k, name in enumerate(encoder.columns_)}
    expected = sobol_indices(pipeline[-1].model_, Z[::1], groups=groups)
    shares = {name: expected.total[k, 0] for k, name in enumerate(expected.feature_names)}
    for column in found["columns"]:
        assert column["variance"] == pytest.approx(shares[column["name"]], abs=0.03)
    job = next(column for column in found["columns"] if column["name"] == "job")
    assert job["effect"]["levels"] == ["a", "b", "c", "d"] and job["effect"]["shapes"] == ["highest at b"]
    moved = table.assign(job="b")
    scores = pipeline.decision_function(moved)[:: len(table) // 200]
    assert job["effect"]["values"][0][1] == pytest.approx(scores.mean(), abs=1e-3)
    for card in found["basis"]["cards"]:
        assert {name for name, _, _ in card["features"]} <= set(table.columns)
        assert all(isinstance(value, str) == (name != "age") for name, value, _ in card["features"])


def test_quality_by_group_is_counted_in_each():
    pipeline, table, y = mixed()
    outside = pd.Series(np.arange(300) % 3, name="clinic")
    sex, age, clinic = facts(pipeline, table, y, groups=["sex", "age", outside])["by_group"]
    right = (pipeline.predict(table) == y).to_numpy()
    for label, n, accuracy, low, high, *_ in sex["rows"]:
        own = right[table["sex"] == label]
        assert n == len(own) and accuracy == pytest.approx(own.mean(), abs=1e-5) and low <= accuracy <= high
    assert len(age["rows"]) == 4 and sum(row[1] for row in age["rows"]) == 300
    assert [row[0] for row in clinic["rows"]] == ["0", "1", "2"]
    assert "Largest gap: accuracy is" in sex["gap"]["text"] and "all 3 pairs" in clinic["gap"]["text"]
    with pytest.raises(ValueError, match="groups must name a column of X"):
        facts(pipeline, table, y, groups="nothing")
    with pytest.raises(ValueError, match="groups must have a value for each of the 300 samples"):
        facts(pipeline, table, y, groups=outside[:5])


def test_groups_of_numbers_have_errors_and_a_gap():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = SPKMRegressor(n_basis=3, random_state=0).fit(X, y)
    (sex,) = facts(model, X, y, groups="sex")["by_group"]
    error = np.abs(y - model.predict(X))
    means = {row[0]: row[2] for row in sex["rows"]}
    for label, own in error.groupby(X["sex"]):
        assert means[str(label)] == pytest.approx(own.mean(), rel=1e-4)
    apart, low, high = sex["gap"]["values"]
    expected = ttest_ind(*(part.to_numpy() for _, part in error.groupby(X["sex"])), equal_var=False)
    ends = expected.confidence_interval(0.95)
    assert abs(apart) == pytest.approx(abs(error.groupby(X["sex"]).mean().diff().iloc[1]), rel=1e-4)
    assert sorted(map(abs, (low, high))) == pytest.approx(sorted(map(abs, (ends.low, ends.high))), rel=1e-3)


def test_the_model_stands_beside_simple_ones():
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, pd.Series(data.target_names[data.target], name="diagnosis")
    model = SPKMClassifier(n_basis=2, random_state=0).fit(X[::2], y[::2])
    found = facts(model, X[1::2], y[1::2], train=(X[::2], y[::2]))
    rows = {row[0]: row for row in found["beside"]["rows"]}
    assert rows["this model"][1] == pytest.approx(model.score(X[1::2], y[1::2]), abs=1e-5)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300, tol=1e-3)).fit(X[::2], y[::2])
    assert rows["linear model"][1] == pytest.approx(linear.score(X[1::2], y[1::2]), abs=1e-5)
    assert rows["constant"][1] == pytest.approx((y[1::2] == "benign").mean(), abs=1e-5)
    assert found["answer"][0] == "Predicts whether diagnosis is malignant or benign, from 30 features."
    assert found["title"] == "Diagnosis: a model of 285 samples"


def test_a_direction_that_is_proved_is_said_to_be():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = SPKMRegressor(n_basis=3, monotone={"bmi": 1, 3: 1}, random_state=0).fit(X, y)
    found = facts(model, X, y)
    assert found["answer"][-1].startswith("Proved") and "rises with bmi" in found["answer"][-1]
    assert found["model"]["monotone"] == {"bmi": 1, "bp": 1} and found["model"]["outputs"] == ["target"]


def test_few_samples_are_the_first_thing_said():
    X, y = load_breast_cancer(return_X_y=True)
    model = SPKMClassifier(n_basis=2, random_state=0).fit(X[:400], y[:400])
    found = facts(model, X[400:414], y[400:414])
    assert "Few samples to judge it by" in [caution["title"] for caution in found["first"]]
    (few,) = (check for check in found["checks"] if check["code"] == "SPKM16")
    assert "With 14 samples, accuracy" in few["detail"]
    many = facts(model, X[400:], y[400:])
    assert "SPKM16" not in {check["code"] for check in many["checks"] if check["level"] == "look"}


@pytest.fixture(scope="module")
def drugs():
    rng = np.random.default_rng(0)
    left = pd.DataFrame(rng.standard_normal((15, 130)), index=[f"drug {i}" for i in range(15)])
    right = pd.DataFrame(rng.standard_normal((12, 140)), index=[f"protein {j}" for j in range(12)])
    pairs = pd.DataFrame([(i, j) for i in range(15) for j in range(12)], columns=["drug", "protein"])
    y = left.to_numpy()[pairs["drug"], 0] * right.to_numpy()[pairs["protein"], 1]
    return PairwiseSPKMRegressor(n_basis=4, random_state=0, tol=1e-2).fit(pairs, y, left=left, right=right), pairs, y


def test_a_page_of_pairs_computes_any_pair_from_two_tables(drugs):
    model, pairs, y = drugs
    found = facts(model, pairs, y)["pairs"]
    assert found["sides"] == ["drug", "protein"] and found["names"][0][3] == "drug 3"
    left, right, weights = np.array(found["similar"][0]), np.array(found["similar"][1]), np.array(found["weights"])
    scores = found["intercept"][0] + np.einsum("ir,jr,r->ij", left, right, weights[:, 0])
    np.testing.assert_allclose(scores.ravel(), model.predict(pairs), rtol=1e-10, atol=1e-10)
    alone = [scores.mean(axis=1).var() / scores.var(), scores.mean(axis=0).var() / scores.var()]
    np.testing.assert_allclose(found["parts"][:2], alone, atol=1e-3)
    assert sum(found["parts"]) == pytest.approx(1, abs=1e-3)
    expected = nearest_entities(model, [(4, 7)], k=6)
    assert [k for k, _ in found["near"][0][4]] == [k for k in expected.left.index[0].tolist() if k != 4]


def test_entities_are_named_by_the_index_of_the_fit_by_hand_and_after_loading(drugs, tmp_path):
    model, pairs, y = drugs
    again = load(model.save(tmp_path / "model.spkm") or tmp_path / "model.spkm")
    assert facts(again, pairs, y)["pairs"]["names"][1][0] == "protein 0"
    by_hand = facts(model, pairs, y, entities=(list("abcdefghijklmno"), range(12)))["pairs"]["names"]
    assert by_hand[0][:2] == ["a", "b"] and by_hand[1][0] == "0"
    plain = facts(model, pairs, y, privacy="aggregate")
    assert plain["pairs"] is None and plain["page"] is None


def test_a_choice_of_features_says_how_sure_it_is_and_what_could_stand_for_them():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((200, 12)), columns=[f"g{j}" for j in range(12)])
    X["twin"] = -X["g3"] + 0.3 * rng.standard_normal(200)
    y = pd.Series(np.where(X["g3"] + X["g7"] + 0.3 * rng.standard_normal(200) > 0, "ill", "well"))
    model = SPKMClassifier(kernel="linear", n_basis=1, selection="strict", max_features=2, random_state=0)
    model.fit(X[:120], y[:120])
    options = {"train": (X[:120], y[:120]), "stability": 2}
    found = facts(model, X[120:], y[120:], **options)
    chosen = found["selection"]
    assert {row[0] for row in chosen["rows"]} == {"g3", "g7"} and chosen["title"] == "The 2 features it chose of 13"
    stands = {row[0]: row[-1] for row in chosen["rows"]}
    expected = np.corrcoef(X["g3"][:120], X["twin"][:120])[0, 1]
    assert stands == {"g3": f"twin ({expected:+.2f})", "g7": "–"}
    measured = stability_selection(clone(model), X[:120], y[:120], n_pairs=2, random_state=0).probabilities
    place = chosen["head"].index("chosen on halves")
    assert {row[0]: row[place] for row in chosen["rows"]} == {"g3": measured[3], "g7": measured[7]}
    assert "took no part in the choice" in chosen["text"][0]
    assert [row[0] for row in found["beside"]["rows"]] == [
        "this model",
        "linear model",
        "linear, 2 by a test",
        "constant",
    ]
    assert facts(model, X, y, train=(X[:120], y[:120]))["selection"]["text"][0].startswith(
        "Samples of this report took"
    )
    with pytest.raises(ValueError, match="stability as a number needs the training samples"):
        facts(model, X, y, stability=2)


def test_outputs_have_their_names_and_scales():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    Y = pd.DataFrame({"flux": 1e-14 * (X[:, 0] + rng.standard_normal(60)), "cost": 1e4 * np.sin(X[:, 1])})
    model = SPKMRegressor(3, random_state=0, tol=1e-2).fit(X, Y)
    found = facts(model, X, Y)
    assert found["answer"][0] == "Predicts 2 numbers: flux and cost, from 3 features."
    assert [one["name"] for one in found["quality"]["outputs"]] == ["flux", "cost"]
    scores = model.predict(X)
    np.testing.assert_allclose(
        found["model"]["scales"], np.stack([scores.mean(axis=0), scores.std(axis=0)], 1), rtol=1e-4
    )
    alone = facts(SPKMRegressor(3, random_state=0, tol=1e-2).fit(X, Y["flux"]), X, Y["flux"])
    assert alone["model"]["scales"] is None
    wanted = r"Its predictions of 60 samples are typically off by \d\.\d\d×10⁻¹\S, the mean alone by \d"
    assert re.match(wanted, alone["answer"][1])


def test_what_has_no_target_has_no_report(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 3))
    landmarks = SPKMNystroem(4, landmarks="random", random_state=0).fit(X)
    with pytest.raises(ValueError, match="SPKMNystroem has no target"):
        report(landmarks, tmp_path / "page.html", X)


def test_the_target_is_named_by_hand():
    X, y = load_diabetes(return_X_y=True)
    model = SPKMRegressor(n_basis=2, random_state=0, tol=1e-1).fit(X, y)
    assert facts(model, X, y, target="progression")["answer"][0].startswith("Predicts progression, a number")
    assert facts(model, X, y)["model"]["outputs"] == ["prediction"]


def test_effects_and_vectors_have_error_bars_if_the_model_has_refits():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    y = X["a"] + rng.normal(size=120) > 0
    model = SPKMClassifier(2, random_state=0).fit(X, y)
    assert all(column["effect"]["bars"] is None for column in facts(model, X, y)["columns"])
    sure = model.with_uncertainty(X, y, n_refits=4, random_state=0)
    said = facts(sure, X, y)
    place = {column["name"]: column["effect"] for column in said["columns"]}
    low, high = X["a"].min(), X["a"].max()
    (effect,) = partial_dependence(sure, X, ["a"], grid={"a": np.linspace(low, high, len(place["a"]["values"][0]))})
    half = (effect.interval()[1] - effect.values).T
    np.testing.assert_allclose(place["a"]["bars"], half, rtol=5e-3)
    stays = dict(zip(vector_stability(sure).names, vector_stability(sure).similarity, strict=True))
    assert [card["kept"] for card in said["basis"]["cards"]] == pytest.approx(
        [stays[card["name"]] for card in said["basis"]["cards"]], rel=5e-3
    )
