"""New samples against those of the fit."""

import numpy as np
import pytest

from spkm import SPKMClassifier, SPKMRegressor, load, save
from spkm.persistence import monitor, summarize
from spkm.persistence._distributions import binned, chance_shift, exceeds, numbers_summary, shift_of
from tests.cases import csr
from tests.fitted_cases import fitted, frame, samples
from tests.pipeline_cases import fitted as pipelines
from tests.pipeline_cases import mixed
from tests.small_data import curve, two_classes


def test_samples_of_the_fit_are_as_expected():
    X, y = two_classes(400)
    model = SPKMClassifier(n_basis=4, tol=1e-2, random_state=0).fit(X, y)
    drift = model.monitor(X, reference=X)
    assert drift.n_samples == 400 and drift.unlike <= 0.011
    assert drift.similarity == drift.expected
    assert set(drift.features["below"]) == set(drift.features["above"]) == {0.0}
    assert drift.features["name"] == ("x0", "x1")


def test_a_shifted_feature_shows():
    X, y = two_classes(400)
    model = SPKMClassifier(n_basis=4, tol=1e-2, random_state=0).fit(frame(X), y)
    moved = X + np.array([0.0, 20.0])
    drift = model.monitor(frame(moved), reference=frame(X))
    assert drift.unlike > 0.9
    assert drift.features["above"] == (0.0, 1.0) and drift.features["clipped"] == (0.0, 1.0)
    assert drift.frame()["name"].tolist() == ["column 0", "column 1"]


def test_shares_are_those_of_a_loop():
    X, y = curve()
    model = SPKMRegressor(n_basis=3, tol=1e-2, random_state=0).fit(X, y)
    new = np.random.default_rng(0).uniform(-4, 4, (50, 2))
    drift = model.monitor(new, X)
    assert drift.features["below"] == tuple(np.mean([row[j] < X[:, j].min() for row in new]) for j in range(2))
    vectors = model.model_.vector_rows  # nothing is like a linear part
    low = np.quantile([max(model.model_.similarities(row[None])[0][vectors]) for row in X], 0.01)
    want = np.mean([max(model.model_.similarities(row[None])[0][vectors]) < low for row in new])
    assert abs(drift.unlike - want) <= 1 / 50


def test_the_file_brings_the_summary(tmp_path):
    X, y = two_classes()
    model = SPKMClassifier(n_basis=3, tol=1e-2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="reference must be given"):
        model.monitor(X)
    model.save(tmp_path / "model.spkm", data=X)
    assert not hasattr(model, "training_summary_")
    assert load(tmp_path / "model.spkm").monitor(2 * X) == model.monitor(2 * X, reference=X)
    assert model.monitor(2 * X, reference=summarize(model, X)) == model.monitor(2 * X, reference=X)


def test_unbounded_kernels_are_judged_by_ranges_alone():
    model = fitted("strict")
    drift = model.monitor(samples("strict"), samples("strict"))
    assert drift.unlike is None and drift.similarity is None
    assert len(drift.features["name"]) == len(model.selected_features_)


@pytest.mark.parametrize("name", ["one against one", "tables", "sparse"])
def test_every_kind_of_samples_can_be_watched(name):
    drift = fitted(name).monitor(samples(name), samples(name))
    assert drift.unlike <= 0.03
    if name == "sparse":
        assert drift == fitted(name).monitor(csr(samples(name).toarray()), samples(name))


def test_a_shift_inside_the_range_shows_and_is_named():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 3))
    model = SPKMRegressor(n_basis=3, tol=1e-2, random_state=0).fit(frame(X), X[:, 0] + np.sin(X[:, 1]))
    new = rng.standard_normal((300, 3))
    assert model.monitor(frame(new), frame(X)).alarms() == ()
    new[:, 1] = np.clip(new[:, 1] + 1.0, X[:, 1].min(), X[:, 1].max())
    drift = model.monitor(frame(new), frame(X))
    assert max(drift.features["above"]) < 0.02 and drift.unlike < 0.2  # what ranges and similarities say of it
    told = [alarm for alarm in drift.alarms() if "distribution moved" in alarm]
    assert told[0].startswith("column 1: ") and not any(text.startswith(("column 0", "column 2")) for text in told)
    assert told[0] in str(drift) and drift.frame()["psi"].argmax() == 1
    assert drift.scores["name"][0] == "score" and drift.scores["mean"][0] != drift.scores["mean_before"][0]


def test_levels_that_came_and_went_are_named(tmp_path):
    save(pipelines("three classes"), tmp_path / "model.spkm", data=mixed(600, seed=3))
    loaded = load(tmp_path / "model.spkm")
    new = mixed(300, seed=4)
    assert loaded.monitor(new).alarms() == ()  # a pipeline has the method, too
    new.loc[new["work; DROP"] == "private", "work; DROP"] = "robot"
    new["region"] = new["region"].replace(30, 1)
    drift = loaded.monitor(new)
    columns = drift.frame().set_index("name")
    assert [level for level, _ in columns.loc["work; DROP", "new_levels"]] == ["robot"]
    assert columns.loc["work; DROP", "lost_levels"] == ("private",)
    assert columns.loc["region", "lost_levels"] == ("30",) and columns.loc["region", "new_levels"] == ()
    assert columns.loc["age", "psi"] < 0.1 < columns.loc["region", "psi"]
    assert drift == monitor(pipelines("three classes"), new, reference=mixed(600, seed=3))
    assert "new level 'robot'" in str(drift)


def test_summaries_of_earlier_versions_still_work():
    X, y = two_classes(400)
    model = SPKMClassifier(n_basis=4, tol=1e-2, random_state=0).fit(X, y)
    whole = summarize(model, X)
    old = {name: whole[name] for name in ("low", "high", "similarity")}
    drift = model.monitor(3 * X, reference=old)
    assert drift.columns == drift.scores == {} and drift.alarms()
    assert drift.unlike == model.monitor(3 * X, reference=whole).unlike
    other = SPKMClassifier(n_basis=4, tol=1e-2, random_state=0).fit(np.hstack([X, X[:, :1]]), y)
    with pytest.raises(ValueError, match="summary of samples of this model"):
        other.monitor(np.hstack([X, X[:, :1]]), reference={**whole, "low": np.zeros(3), "high": np.ones(3)})


def test_the_index_is_its_formula_and_its_test_holds_its_level():
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    want = np.sum((q - p) * np.log(q / p))
    assert shift_of(p, 10**6, q, 10**6).psi == pytest.approx(want, rel=1e-4)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2000):  # bins of every size, empty ones among them
        shares = rng.dirichlet(np.full(12, 0.5))
        a, b = rng.multinomial(2000, shares), rng.multinomial(150, shares)
        found.append(shift_of(a / 2000, 2000, b / 150, 150).p_value < 0.01)
    assert np.mean(found) < 0.02  # 0.01 is asked for; its standard error is 0.002


def test_numbers_with_few_values_and_gaps_have_bins_of_their_own():
    rng = np.random.default_rng(0)
    new, old = (rng.choice([0.0, 1.0, 2.0, np.nan], 500, p=p) for p in ([0.7, 0.1, 0.1, 0.1], [0.5, 0.2, 0.2, 0.1]))
    kept = numbers_summary(old[:, None])
    for values in (old, new):
        shares = binned(values[:, None], kept["edges"])[0]
        want = [np.mean(values == k) for k in range(3)] + [np.mean(np.isnan(values))]
        np.testing.assert_allclose(sorted(shares[shares > 0]), sorted(want), rtol=1e-12)


def test_shares_above_a_limit_need_more_than_chance():
    assert not exceeds(0.05, 10**6, 0.05) and exceeds(0.06, 10**6, 0.05)
    assert not exceeds(1.0, 1, 0.05) and exceeds(1.0, 4, 0.05)
    assert exceeds(0.01, 100, 0.0) and not exceeds(0.0, 100, 0.0)
    assert chance_shift(10_000) < 0.02 < chance_shift(100)
