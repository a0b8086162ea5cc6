"""Models edited by hand: the other weights are the best ones, and the result is an estimator like any other."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

import spkm
from spkm import SPKMClassifier, SPKMRegressor, SPKMSurvival
from spkm.explain import edited


@pytest.fixture(scope="module")
def wave():
    X = np.random.default_rng(0).uniform(-2, 2, size=(200, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    return X, y, SPKMRegressor(6, random_state=0).fit(X, y)


def _mean_square(model, X, weights, intercept, before):
    parts = model.similarities(X)
    rows = model.vector_rows
    linear = (parts[:, ~rows] @ model.weights[~rows])[:, 0]
    return np.mean((parts[:, rows] @ weights + linear + intercept - before) ** 2)


def test_no_other_weights_change_the_scores_less(wave):
    X, _, model = wave
    before = model.predict(X)
    small = edited(model, X, drop=[1, 4])
    kept = [0, 2, 3, 5]
    rows = model.model_.vector_rows
    weights = model.model_.weights[rows][:, 0].copy()
    weights[[1, 4]] = 0.0
    weights[kept] = small.dual_coef_
    np.testing.assert_array_equal(small.basis_vectors_, model.basis_vectors_[kept])
    least = _mean_square(model.model_, X, weights, small.intercept_, before)
    np.testing.assert_allclose(least, np.mean((small.predict(X) - before) ** 2), rtol=1e-8)
    np.testing.assert_allclose(small.edit_["score_change"] ** 2, least, rtol=1e-8)
    for j in kept:  # the slope in every free weight is zero, up to the small ridge
        step = np.zeros(6)
        step[j] = 1e-3
        both = [_mean_square(model.model_, X, weights + s * step, small.intercept_, before) for s in (1, -1)]
        assert min(both) > least
    for shift in (1e-3, -1e-3):
        assert _mean_square(model.model_, X, weights, small.intercept_ + shift, before) > least


def test_pinned_weights_are_kept_and_own_weights_change_nothing(wave):
    X, y, model = wave
    pinned = edited(model, X, y, pin={2: 0.25})
    assert pinned.dual_coef_[2] == 0.25
    assert pinned.edit_["score_before"] == model.score(X, y)
    assert pinned.edit_["score_after"] == pinned.score(X, y) < model.score(X, y)
    same = edited(model, X, pin={2: float(model.model_.weights[model.model_.vector_rows][2, 0])})
    np.testing.assert_allclose(same.predict(X), model.predict(X), rtol=1e-12)


def test_without_samples_it_is_the_nearest_function_of_the_hilbert_space(wave):
    _, _, model = wave
    small = edited(model, drop=[0])
    K = model.model_.model.gram(model.model_.theta)[0][0]
    old = model.model_.weights[model.model_.vector_rows][:, 0]
    new = np.concatenate([[0.0], small.dual_coef_])
    change = new - old
    ridge = 1e-6 * np.diag(K)[1:]
    np.testing.assert_allclose((K @ change)[1:] + ridge * change[1:], 0, atol=1e-9 * np.abs(K @ old).max())
    assert small.intercept_ == model.intercept_


@pytest.mark.parametrize("setting", [{}, {"multi_class": "ovr"}, {"multi_class": "ovo"}, {"basis": "samples"}])
def test_classes_files_exports_and_explanations(setting, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SPKMClassifier(4, random_state=0, **setting).fit(X, y)
    small = edited(model, X, y, drop=[1])
    n = len(model.basis_vectors_)
    assert len(small.basis_vectors_) == len(small.nearest_samples_) == n - 1
    assert len(model.basis_vectors_) == n
    small.save(tmp_path / "small.spkm")
    again = spkm.load(tmp_path / "small.spkm")
    np.testing.assert_array_equal(again.predict_proba(X), small.predict_proba(X))
    small.export(tmp_path / "small.json")
    parts = small.explain(X[:3]).contributions
    assert parts.shape[1] == small.model_.n_basis
    assert small.edit_["score_after"] > 0.8


def test_bars_stay(wave):
    X, y, model = wave
    sure = edited(model.with_uncertainty(X, y, n_refits=3, random_state=0), X, drop=[0])
    assert len(sure.model_.refits) == 3
    assert sure.model_.refits[0].n_basis == sure.model_.n_basis
    assert sure.explain(X[:2]).bars().values.shape == (2, 2, 1)


def test_survival_keeps_its_baseline():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.column_stack([rng.exponential(np.exp(-X[:, 0])), np.ones(80)])
    model = SPKMSurvival(3, random_state=0).fit(X, y)
    small = edited(model, X, drop=[0])
    assert small.predict_survival_function(X[:2], [1.0]).shape == (2, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "drop or pin must name"),
        ({"drop": 3}, "drop must be a list"),
        ({"drop": [6]}, "6 basis vectors"),
        ({"drop": [-1]}, "rows of drop"),
        ({"pin": [1]}, "pin must be a dict"),
        ({"pin": {1: np.nan}}, "finite number"),
        ({"pin": {1: [1.0, 2.0]}}, "finite number"),
        ({"drop": [1], "pin": {1: 1.0}}, "not both"),
        ({"drop": range(6)}, "must leave a basis vector"),
    ],
)
def test_bad_edits(wave, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        edited(wave[2], wave[0], **options)


def test_targets_need_samples(wave):
    with pytest.raises(ValueError, match="X is None"):
        edited(wave[2], None, wave[1], drop=[0])


def test_monotone_models_are_refused(wave):
    X, y, _ = wave
    model = SPKMRegressor(3, monotone={0: 1}, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="monotone"):
        edited(model, X, drop=[0])


def test_a_vector_of_small_kernel_values_gets_its_weight():
    # Kernel values of one vector are a million times those of another, which can stand for a third one exactly.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) * [1e3, 1e-3]
    start = np.array([[1.0, 0.0], [0.0, 1e-3], [0.0, 2e-3]])
    model = SPKMRegressor(3, kernel="linear", scale=False, linear_part=False, start=start, random_state=0)
    model.fit(X, X[:, 0] + 1e6 * X[:, 1])
    before = model.predict(X)
    assert np.abs(edited(model, X, drop=[2]).predict(X) - before).max() < 1e-3 * np.abs(before).max()


def test_a_pipeline_is_named():
    X = np.random.default_rng(0).standard_normal((40, 2))
    pipeline = make_pipeline("passthrough", SPKMRegressor(2, random_state=0)).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=r"give pipeline\[-1\]"):
        edited(pipeline, X, drop=[0])
