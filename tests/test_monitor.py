"""New samples against those of the fit."""

import numpy as np
import pytest

from spkm import SPKMClassifier, SPKMRegressor, load
from spkm.persistence import summarize
from tests.cases import csr
from tests.fitted_cases import fitted, frame, samples
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
