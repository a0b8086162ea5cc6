"""Explanations of fitted estimators: every kind of model that a fit can leave behind."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from spkm import SPKMClassifier, SPKMRegressor
from spkm.explain import (
    counterfactual,
    explain,
    familiarity,
    gradient,
    h_statistics,
    nearest,
    partial_dependence,
    sobol_indices,
)
from tests.enumeration import enumerated_shapley

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
SHORT = {"max_iter": 30, "random_state": 0}


def settled(estimator, X, y):
    """Return the estimator fitted, whether it converged or not."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


def several_numbers():
    X, y = DIABETES
    return settled(SPKMRegressor(2, **SHORT), X[:80, :4], np.column_stack([y, y**2])[:80]), X[:80, :4]


MODELS = {
    "classifier": lambda: (settled(SPKMClassifier(2, **SHORT), CANCER[0][:100, :6], CANCER[1][:100]), CANCER[0][:, :6]),
    "three classes": lambda: (settled(SPKMClassifier(3, **SHORT), *IRIS), IRIS[0]),
    "one against the rest": lambda: (settled(SPKMClassifier(2, multi_class="ovr", **SHORT), *IRIS), IRIS[0]),
    "one against one": lambda: (settled(SPKMClassifier(2, multi_class="ovo", **SHORT), *IRIS), IRIS[0]),
    "regressor": lambda: (settled(SPKMRegressor(2, **SHORT), DIABETES[0][:, :6], DIABETES[1]), DIABETES[0][:, :6]),
    "several numbers": several_numbers,
    "polynomial": lambda: (settled(SPKMClassifier(2, kernel="polynomial", **SHORT), *IRIS), IRIS[0]),
    "tanimoto": lambda: (settled(SPKMClassifier(2, kernel="tanimoto", **SHORT), *IRIS), IRIS[0]),
}


@pytest.fixture(scope="module")
def fits():
    made = {}

    def get(name):
        if name not in made:
            made[name] = MODELS[name]()
        return made[name]

    return get


@pytest.mark.parametrize("name", MODELS)
def test_every_explanation_of_every_model(fits, name):
    estimator, X = fits(name)
    model, d = estimator.model_, X.shape[1]
    rows, background = X[::40], X[3::30]
    explanation = explain(estimator, rows, background)
    scale = np.abs(model.weights).sum() + np.abs(model.intercept).sum()
    for i in range(2):
        truth = enumerated_shapley(model.scores, rows[i], background, [[j] for j in range(d)])
        np.testing.assert_allclose(explanation.values[i], truth, atol=1e-10 * scale)
    totals = explanation.scores - explanation.base_values
    np.testing.assert_allclose(explanation.contributions.sum(axis=1), totals, atol=1e-10 * scale)
    np.testing.assert_allclose(
        np.einsum("nrd,rm->ndm", explanation.basis_values(), model.weights), explanation.values, atol=1e-10 * scale
    )
    pairs = explanation.interactions()
    np.testing.assert_allclose(pairs, pairs.transpose(0, 2, 1, 3), atol=1e-10 * scale)
    step = 1e-6 * X.std(axis=0)
    for j in range(d):
        up, down = rows.copy(), rows.copy()
        up[:, j] += step[j]
        down[:, j] -= step[j]
        slope = (model.scores(up) - model.scores(down)) / (2 * step[j])
        np.testing.assert_allclose(gradient(estimator, rows)[:, j] * step[j], slope * step[j], atol=1e-11 * scale)
    for effect in partial_dependence(estimator, X, n_points=3):
        changed = X.copy()
        changed[:, int(effect.feature_names[0][1:])] = effect.grid[0][1]
        np.testing.assert_allclose(effect.values[1], model.scores(changed).mean(axis=0), atol=1e-9 * scale)
    assert h_statistics(estimator, rows)[1].shape == (d, d, model.n_outputs)
    assert sobol_indices(estimator, background).total.shape == (d, model.n_outputs)
    assert nearest(estimator, rows, X, k=3).index[:, 0].tolist() == list(range(0, len(X), 40))
    assert familiarity(estimator, rows, X)[1].min() > 0
    assert len(explanation.output_names) == model.n_outputs


@pytest.mark.parametrize("name", ["classifier", "three classes", "regressor", "several numbers", "polynomial"])
def test_counterfactuals_change_the_prediction(fits, name):
    estimator, X = fits(name)
    x, before = X[0], estimator.predict(X[:1])[0]
    if hasattr(estimator, "classes_"):
        target = next(c for c in estimator.classes_ if c != before)
    else:
        target = (before + 1.0) if np.ndim(before) == 0 else [before[0] + 1.0, np.nan]
    found = counterfactual(estimator, x, target, ranges=X)
    if found.none_exists:
        assert found.reach < 0
    else:
        after = estimator.predict(found.x[None])[0]
        assert after == target if hasattr(estimator, "classes_") else np.all(np.ravel(after)[0] >= np.ravel(target)[0])
        assert 0 < len(found.changes) <= 2 and found.size_bound <= found.size


def test_ensembles_have_no_counterfactuals_and_bad_targets_are_named(fits):
    estimator, X = fits("one against one")
    with pytest.raises(ValueError, match="multi_class='joint'"):
        counterfactual(estimator, X[0], 1)
    with pytest.raises(ValueError, match=r"target must be one of the classes \[0, 1, 2\]; got 7"):
        counterfactual(fits("three classes")[0], X[0], 7)
    several, numbers = fits("several numbers")
    with pytest.raises(ValueError, match="target must have an entry for each of the 2 outputs"):
        counterfactual(several, numbers[0], [1.0])


def test_strict_selection_leaves_other_features_at_zero(fits):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 8))
    y = (X[:, 1] * X[:, 4] > 0).astype(int)
    small = settled(SPKMClassifier(4, **SHORT), X, y).model_
    estimator = settled(SPKMClassifier(4, **SHORT), X[:, [1, 4]], y)
    values = explain(estimator, X[:3, [1, 4]], X[:50, [1, 4]]).values
    assert values.shape == (3, 2, 1) and small.n_features == 8


def test_names_of_a_frame_reach_the_explanation():
    frame = load_iris(as_frame=True)
    estimator = settled(SPKMClassifier(2, **SHORT), frame.data, frame.target)
    explanation = explain(estimator, frame.data[::50], frame.data[::10], groups={"petal": list(frame.data.columns[2:])})
    assert explanation.feature_names == ("sepal length (cm)", "sepal width (cm)", "petal")
    assert list(explanation.frame("1").columns) == list(explanation.feature_names)
    with pytest.raises(ValueError, match="X must have the columns that the model was fitted on"):
        explain(estimator, frame.data[frame.data.columns[::-1]])


def test_csr_rows_of_a_sparse_model(fits):
    rng = np.random.default_rng(0)
    X = sparse.random_array((80, 6), density=0.4, random_state=rng, format="csr")
    y = (X.toarray()[:, 0] > X.toarray()[:, 1]).astype(int)
    estimator = settled(SPKMClassifier(2, **SHORT), X, y)
    explanation = explain(estimator, X[:3], X[:20])
    truth = enumerated_shapley(estimator.model_.scores, X.toarray()[0], X.toarray()[:20], [[j] for j in range(6)])
    np.testing.assert_allclose(explanation.values[0], truth, atol=1e-10 * np.abs(estimator.model_.weights).sum())
