"""Refits with random weights and the error bars that come from them."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit
from scipy.stats import t
from sklearn.pipeline import make_pipeline

import spkm
from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressor, TableEncoder
from spkm.explain import (
    explain,
    importances,
    partial_dependence,
    sobol_indices,
    summary,
    vector_stability,
    with_uncertainty,
)
from spkm.fitting.refits import random_weights
from tests.small_data import curve, three_classes, two_classes

RNG = np.random.default_rng(0)
X2, Y2 = two_classes()
X3, Y3 = three_classes()
WIDE = np.random.default_rng(1).standard_normal((24, 60))
QUICK = {"random_state": 0, "tol": 1e-3}
CASES = {
    "folds": (SPKMClassifier(3, **QUICK), X2, Y2),
    "three classes": (SPKMClassifier(3, **QUICK), X3, Y3),
    "one against one": (SPKMClassifier(2, multi_class="ovo", **QUICK), X3, Y3),
    "evidence": (SPKMRegressor(3, **QUICK), *curve()),
    "two outputs": (SPKMRegressor(3, **QUICK), curve()[0], np.c_[curve()[1], np.ones(len(curve()[1]))]),
    "huber": (SPKMRegressor(3, loss="huber", **QUICK), *curve()),
    "fixed": (SPKMRegressor(3, kernel="polynomial", **QUICK), *curve()),
    "samples": (SPKMClassifier(3, basis="samples", **QUICK), X2, Y2),
    "monotone": (SPKMClassifier(3, monotone={0: 1}, **QUICK), X2, Y2),
    "span": (SPKMClassifier(2, **QUICK), WIDE, (WIDE[:, 0] > 0).astype(int)),
    "strict": (SPKMClassifier(2, selection="strict", **QUICK), X2, Y2),
    "race": (SPKMClassifierCV(n_basis=2, kernel="rbf", cv=2, **QUICK), X2, Y2),
    "one class": (SPKMRegressor(2, **QUICK), curve()[0], np.full(len(curve()[1]), 3.0)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_fit_has_refits_of_its_own_shape(case):
    estimator, X, y = CASES[case]
    model = estimator.fit(X, y)
    before = model.model_.scores(X)
    sure = model.with_uncertainty(X, y, n_refits=3, random_state=0)
    assert not model.model_.refits and len(sure.model_.refits) == 3
    np.testing.assert_array_equal(sure.model_.scores(X), before)
    for refit in sure.model_.refits:
        assert refit.weights.shape == sure.model_.weights.shape
        assert np.isfinite(refit.scores(X)).all()
        # Not another model: scores of the samples vary, but go with those of the model.
        if case != "one class":
            assert np.corrcoef(refit.scores(X)[:, 0], before[:, 0])[0, 1] > 0.3
    std = np.std([refit.scores(X) for refit in sure.model_.refits], axis=0)
    assert (std.max() > 0) == (case != "one class")
    if case == "samples":
        rows, refit = sure.model_.vector_rows, sure.model_.refits[0]
        np.testing.assert_array_equal(refit.basis_vectors[rows], sure.model_.basis_vectors[rows])
    small = sure.restricted()
    chosen = sure.selected_features_
    np.testing.assert_allclose(small.model_.refits[1].scores(X[:, chosen]), sure.model_.refits[1].scores(X), atol=1e-10)


def test_deviations_are_those_of_linear_regression():
    """A linear model with next to no penalty: the sandwich formula gives its deviation over samples."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 2))
    y = X @ [1.0, -2.0] + (0.2 + np.abs(X[:, 0])) * rng.standard_normal(150)
    weak = spkm.penalties.SquaredL2(1e-9)
    model = SPKMRegressor(1, kernel="linear", weight_penalty=weak, learn_bandwidth=False, tol=1e-9, random_state=0)
    model = model.fit(X, y).with_uncertainty(X, y, n_refits=150, random_state=0)
    A = np.c_[np.ones(150), X]
    inverse = np.linalg.inv(A.T @ A)
    residual = y - A @ (inverse @ (A.T @ y))
    covariance = inverse @ (A.T * residual**2) @ A @ inverse
    wanted = np.sqrt(np.einsum("ij,jk,ik->i", A[:20], covariance, A[:20]))
    # The mean leverage of a linear regression is the number of its coefficients over that of samples.
    assert 1 - 1 / model.model_.refit_spread == pytest.approx(3 / 150, abs=0.03)
    found = explain(model, X[:20], X).bars().scores[:, 0]
    # Of 150 draws a deviation is known to 1 / sqrt(300) = 5.8 %; four times that.
    np.testing.assert_allclose(found, wanted, rtol=0.23)


def test_whole_weights_are_repeats_and_others_factors():
    rng = np.random.default_rng(0)
    repeats = np.array([random_weights(np.array([1.0, 4.0, 95.0]), rng) for _ in range(3000)])
    factors = np.array([random_weights(np.array([1.5, 4.0, 95.0]), rng) for _ in range(3000)])
    np.testing.assert_allclose(repeats.sum(axis=1), 100.0)
    np.testing.assert_allclose(repeats[:, 1].std(), 2.0, rtol=0.15)  # as the sum of four exponential draws
    assert factors[:, 1].std() > 3.0  # one draw, times four


def test_bars_are_taken_off_the_refits():
    model = SPKMClassifier(3, random_state=0).fit(X3, Y3).with_uncertainty(X3, Y3, n_refits=4, random_state=1)
    explanation = explain(model, X3[:5], X3[::3])
    bars = explanation.bars(0.8)
    refits = [explain(refit, X3[:5], X3[::3]) for refit in model.model_.refits]
    for name in ("scores", "base_values", "values", "contributions"):
        std = model.model_.refit_spread * np.std([getattr(refit, name) for refit in refits], axis=0, ddof=1)
        np.testing.assert_allclose(getattr(bars, name), std, atol=1e-12)
        lower, upper = bars.interval(name)
        np.testing.assert_allclose(upper - lower, 2 * t(3).ppf(0.9) * std, atol=1e-9)
        np.testing.assert_allclose((upper + lower) / 2, getattr(explanation, name), atol=1e-9)
    assert repr(bars).startswith("Error bars from 4 refits: Explanation of 5 samples") and "array" not in repr(bars)
    frame = bars.frame(1)
    assert frame.columns.tolist() == ["sample", "feature", "value", "std", "lower", "upper"]
    assert len(frame) == 5 * X3.shape[1]
    np.testing.assert_array_equal(frame["std"], bars.values[:, :, 1].ravel())
    assert len(bars.contribution_frame()) == 5 * model.model_.n_basis
    assert "4 refits" in bars.meaning and "bias" in bars.meaning
    with pytest.raises(ValueError, match="name must be"):
        bars.interval("data")


def test_effects_and_importances_have_bars():
    X, y = curve()
    plain = SPKMRegressor(3, random_state=0).fit(X, y)
    model = plain.with_uncertainty(X, y, n_refits=3, random_state=0)
    (effect,) = partial_dependence(model, X, [0], n_points=7)
    of_refits = [partial_dependence(refit, X, [0], n_points=7)[0].values for refit in model.model_.refits]
    spread = model.model_.refit_spread
    np.testing.assert_allclose(effect.std, spread * np.std(of_refits, axis=0, ddof=1), atol=1e-12)
    assert effect.frame().columns.tolist()[-3:] == ["0 std", "0 lower", "0 upper"]
    assert partial_dependence(plain, X, [0])[0].std is None
    with pytest.raises(ValueError, match="with_uncertainty"):
        partial_dependence(plain, X, [0])[0].interval()
    found = importances(model, X, y, n_resamples=5)
    of_refits = [importances(refit, X, y, n_resamples=5) for refit in model.model_.refits]
    for name in ("dropped", "sobol"):
        std = spread * np.std([getattr(refit, name) for refit in of_refits], axis=0, ddof=1)
        np.testing.assert_allclose(getattr(found, f"{name}_std"), std, atol=1e-12)
    assert {"dropped_std", "sobol_std"} <= set(found.frame().columns)


def test_stability_of_vectors():
    model = SPKMClassifier(3, random_state=0).fit(X2, Y2).with_uncertainty(X2, Y2, n_refits=4, random_state=0)
    stability = vector_stability(model)
    held = model.model_
    kernel, rows = held.terms[0].views[0].kernel, held.vector_rows
    moved = [np.diagonal(kernel(held.terms[0].views[0].basis, r.terms[0].views[0].basis)) for r in held.refits]
    np.testing.assert_allclose(stability.similarity, np.mean(moved, axis=0))
    weights = np.array([refit.weights[rows] for refit in held.refits])
    np.testing.assert_allclose(stability.weight_std, held.refit_spread * weights.std(axis=0, ddof=1))
    assert stability.frame().shape == (int(rows.sum()), 3)
    assert "4 refits" in summary(model)
    with pytest.raises(ValueError, match="need refits"):
        vector_stability(SPKMClassifier(3, random_state=0).fit(X2, Y2))


def test_vectors_of_binary_problems_keep_the_sign_of_the_weight_that_they_have():
    X, y = three_classes()
    model = SPKMClassifier(2, multi_class="ovr", random_state=0).fit(X, y).with_uncertainty(X, y, random_state=0)
    same = vector_stability(model).same_sign
    own = [
        np.mean([np.sign(refit.weights[:2, 0]) == np.sign(one.weights[:2, 0]) for refit in one.refits], axis=0)
        for one in model.model_.members
    ]
    np.testing.assert_array_equal(same.min(axis=1), np.concatenate(own))
    assert f"and {np.sum(same.min(axis=1) == 1)} of 6 keep the sign" in str(summary(model)).replace("\n", " ")


@pytest.mark.parametrize("kind", ["joint", "ovo"])
def test_model_files_keep_refits(kind, tmp_path):
    model = SPKMClassifier(2, multi_class=kind, random_state=0).fit(X3, Y3)
    model = model.with_uncertainty(X3, Y3, n_refits=3, random_state=0)
    model.save(tmp_path / "model.spkm")
    loaded = spkm.load(tmp_path / "model.spkm")
    for ours, theirs in zip(model.model_.refits, loaded.model_.refits, strict=True):
        np.testing.assert_array_equal(ours.scores(X3), theirs.scores(X3))
    np.testing.assert_array_equal(loaded.explain(X3[:2]).bars().values, model.explain(X3[:2]).bars().values)


def test_pipelines_of_tables():
    table = pd.DataFrame({"age": np.arange(60.0), "job": ["nurse", "baker", "judge"] * 20})
    y = (table["age"] > 30) ^ (table["job"] == "judge")
    model = make_pipeline(TableEncoder(), SPKMClassifier(4, random_state=0)).fit(table, y)
    sure = with_uncertainty(model, table, y, n_refits=3, random_state=0)
    np.testing.assert_array_equal(sure.predict_proba(table), model.predict_proba(table))
    bars = explain(sure, table[:4]).bars()
    assert bars.frame()["feature"].tolist()[:2] == ["age", "job"]
    assert (bars.values > 0).any()


def test_refits_are_those_of_the_seed_whatever_the_order():
    X, y = curve()
    order = np.random.default_rng(0).permutation(len(y))
    model = SPKMRegressor(3, random_state=0).fit(X, y)
    first = model.with_uncertainty(X, y, n_refits=2, random_state=5)
    again = model.with_uncertainty(X[order], y[order], n_refits=2, random_state=5)
    np.testing.assert_array_equal(first.model_.refit_thetas, again.model_.refit_thetas)


def test_clear_errors():
    model = SPKMClassifier(2, random_state=0).fit(X2, Y2)
    with pytest.raises(ValueError, match="n_refits must be"):
        model.with_uncertainty(X2, Y2, n_refits=1)
    with pytest.raises(ValueError, match="other features"):
        model.with_uncertainty(X2[:, :1], Y2)
    with pytest.raises(ValueError, match="other classes"):
        model.with_uncertainty(X3[:, : X2.shape[1]] if X3.shape[1] >= X2.shape[1] else X2[:90], Y3)
    with pytest.raises(ValueError, match="Error bars need refits"):
        model.explain(X2[:2]).bars()
    with pytest.raises(TypeError, match="must be a fitted SPKMClassifier"):
        with_uncertainty(io.BytesIO(), X2, Y2)


def test_importances_of_a_report_have_the_bars_of_the_refits(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    model = SPKMRegressor(4, random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2)
    sure = model.with_uncertainty(X, X[:, 0] + X[:, 1] ** 2, n_refits=4, random_state=0)
    sure.report(tmp_path / "sure.json", X)
    found = json.loads((tmp_path / "sure.json").read_text())["columns"]
    totals = [sobol_indices(refit, X).total[:, 0] for refit in sure.model_.refits]
    bars = stdtrit(3, 0.95) * sure.model_.refit_spread * np.std(totals, axis=0, ddof=1)
    np.testing.assert_allclose([column["bar"] for column in found], bars, rtol=2e-3)
    sure.report(tmp_path / "sure.md", X)
    assert f"{found[1]['variance']:.4g} ± {found[1]['bar']:.4g}" in (tmp_path / "sure.md").read_text()
    model.report(tmp_path / "plain.json", X)
    assert {column["bar"] for column in json.loads((tmp_path / "plain.json").read_text())["columns"]} == {None}
