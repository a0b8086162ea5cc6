"""Explanations of fitted estimators: every kind of model that a fit can leave behind."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import spkm.explain as explain_module
from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor, TableEncoder
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
from spkm.sources import PairTable
from tests.enumeration import enumerated_shapley
from tests.small_data import two_classes

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
SHORT = {"max_iter": 30, "random_state": 0}


def settled(estimator, X, y, **more):
    """Return the estimator fitted, whether it converged or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y, **more)


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


def test_strict_selection_leaves_other_features_at_zero(hasty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    y = (X[:, 3] - X[:, 11] + 0.3 * X[:, 3] * X[:, 11] > 0).astype(int)
    estimator = settled(SPKMClassifier(2, selection="strict", max_features=4, random_state=0), X, y)
    read = estimator.model_.features_read()
    assert 0 < len(read) <= 4
    values = explain(estimator, X[:3], X[:50]).values
    assert (np.delete(values, read, axis=1) == 0).all()
    truth = enumerated_shapley(estimator.model_.scores, X[0], X[:50], [[j] for j in read])
    np.testing.assert_allclose(values[0, read], truth, atol=1e-10 * np.abs(estimator.model_.weights).sum())
    found = counterfactual(estimator, X[0], 1 - y[0], ranges=X)
    assert found.found and {int(name[1:]) for name in found.changes} <= set(read.tolist())


def test_views_of_an_estimator():
    X, y = CANCER
    estimator = settled(SPKMClassifier(2, views={"a": slice(0, 3), "b": slice(3, 7)}, **SHORT), X[:, :7], y)
    rows, background = X[:2, :7], X[::60, :7]
    explanation = explain(estimator, rows, background)
    truth = enumerated_shapley(estimator.model_.scores, rows[0], background, [[j] for j in range(7)])
    np.testing.assert_allclose(explanation.values[0], truth, atol=1e-10 * np.abs(estimator.model_.weights).sum())


def test_labels_of_several_outputs():
    X, y = IRIS
    Y = np.column_stack([y == 0, y > 0]).astype(int)
    estimator = settled(SPKMClassifier(2, **SHORT), X, Y)
    assert explain(estimator, X[:2], X[::20]).values.shape == (2, 4, 2)
    found = counterfactual(estimator, X[0], [0, np.nan], ranges=X)
    assert found.none_exists or estimator.predict(found.x[None])[0, 0] == 0
    with pytest.raises(ValueError, match="target must be 2 entries of 0, 1 or NaN"):
        counterfactual(estimator, X[0], [2, 0])
    with pytest.raises(ValueError, match="target must name at least one label"):
        counterfactual(estimator, X[0], [np.nan, np.nan])


def test_pairs_are_explained_by_the_features_of_both_sides():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(12, 3)), rng.normal(size=(10, 2))
    pairs = np.array([(i, j) for i in range(12) for j in range(10)])
    y = left[pairs[:, 0], 0] * right[pairs[:, 1], 1]
    estimator = settled(PairwiseSPKMRegressor(4, **SHORT), pairs, y, left=left, right=right)
    some, background = PairTable(left, right, pairs[:3]), PairTable(left, right, pairs[::7])
    explanation = explain(estimator, some, background)
    assert explanation.feature_names == ("left: x0", "left: x1", "left: x2", "right: x0", "right: x1")
    joined = PairTable(left, right, pairs).toarray()

    def scores(rows):
        pointing = np.column_stack([np.arange(len(rows)), np.arange(len(rows))])
        return estimator.model_.scores(PairTable(rows[:, :3], rows[:, 3:], pointing))

    truth = enumerated_shapley(scores, joined[0], joined[::7], [[j] for j in range(5)])
    np.testing.assert_allclose(explanation.values[0], truth, atol=1e-10 * np.abs(estimator.model_.weights).sum())
    (effect,) = partial_dependence(estimator, background, ["left: x0"], n_points=5)
    assert effect.values.shape == (5, 1)
    assert nearest(estimator, some, PairTable(left, right, pairs), k=1).index[:, 0].tolist() == [0, 1, 2]


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


@pytest.mark.parametrize("kind", ["classifier", "regressor", "pairs"])
def test_estimators_have_the_functions_as_methods(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    if kind == "pairs":
        pairs = rng.integers(0, 40, size=(60, 2))
        model = PairwiseSPKMRegressor(2, random_state=0).fit(pairs, X[pairs[:, 0], 0], left=X, right=X)
        X = pairs
    elif kind == "classifier":
        model = SPKMClassifier(2, weight_penalty="rkhs", random_state=0).fit(X, X[:, 0] > 0)
    else:
        model = SPKMRegressor(2, random_state=0).fit(X, X[:, 0])
    assert model.summary() == explain_module.summary(model)
    assert model.formula(3) == explain_module.formula(model, 3)
    assert model.to_frame().equals(explain_module.to_frame(model))
    np.testing.assert_array_equal(
        model.explain(X[:2], X[:9]).values, explain_module.explain(model, X[:2], X[:9]).values
    )


def test_a_notebook_shows_the_summary_of_a_fitted_model_with_names_escaped():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["<script>", "b"])
    model = SPKMRegressor(2, random_state=0)
    assert "The fitted model" not in model._repr_html_() + model._repr_mimebundle_()["text/html"]
    model.fit(X, X["b"])
    for page in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        own = page.partition("The fitted model")[2]
        assert "&lt;script&gt;" in own and "<script>" not in own
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_entities_nearest_to_pairs_and_to_basis_vectors():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(12, 3)), rng.normal(size=(9, 2))
    pairs = np.array([(i, j) for i in range(12) for j in range(9)])
    model = PairwiseSPKMRegressor(3, random_state=0).fit(pairs, left[pairs[:, 0], 0], left=left, right=right)
    found = explain_module.nearest_entities(model, pairs[40:43], k=3)
    assert found.left.index[:, 0].tolist() == pairs[40:43, 0].tolist()
    assert found.right.index[:, 0].tolist() == pairs[40:43, 1].tolist()
    np.testing.assert_allclose(found.left.distance[:, 0], 0.0, atol=1e-6)
    near = explain_module.nearest_entities(model, k=12)
    (term,) = (t for t in model.model_.terms if not t.is_linear_part)
    for side, table, own in ((0, left, near.left), (1, right, near.right)):
        view = term.views[side]
        Z = model.model_.scaled(PairTable(left, right, pairs[:1]))
        values = view.kernel.rkhs()(view.basis, np.asarray(Z.left if side == 0 else Z.right))
        best = np.argsort(-values, axis=1, kind="stable")  # stationary: the most similar is the nearest
        assert own.index.shape == (3, len(table))
        np.testing.assert_array_equal(own.index[:, 0], best[:, 0])
        np.testing.assert_allclose(own.similarity, np.take_along_axis(values, own.index, axis=1), rtol=1e-12)
    with pytest.raises(ValueError, match="must be one of pairs"):
        explain_module.nearest_entities(SPKMRegressor(2, random_state=0).fit(left, left[:, 0]))


def test_levels_of_a_category_read_as_such():
    X, y = two_classes()
    frame = pd.DataFrame({"size": X[:, 0], "job = nurse": (X[:, 1] > 0) * 1.0})
    model = SPKMClassifier(2, weight_penalty="rkhs", tol=1e-2, random_state=0).fit(frame, y)
    text = model.summary()
    assert re.search(r"size = -?[0-9]", text) and re.search(r"job = nurse \([0-9.e-]+\)", text)


def test_a_pipeline_where_an_estimator_is_asked_for():
    X = np.random.default_rng(0).standard_normal((30, 2))
    pipeline = make_pipeline(StandardScaler(), SPKMClassifier(1, random_state=0)).fit(X, X[:, 0] > 0)
    whole, last = (
        explain_module.sobol_indices(*one) for one in ((pipeline, X), (pipeline[-1], pipeline[0].transform(X)))
    )
    np.testing.assert_allclose(whole.total, last.total, rtol=1e-9)
    with pytest.raises(TypeError, match=r"give pipeline\[-1\]"):
        explain_module.gradient(pipeline, X)


def test_a_dict_of_tables_is_explained_as_its_columns_side_by_side():
    rng = np.random.default_rng(0)
    tables = {"rna": pd.DataFrame(rng.standard_normal((40, 2)), columns=["a", "b"]), "protein": rng.random((40, 1))}
    y = tables["rna"]["a"] * tables["protein"][:, 0] > 0
    model = SPKMClassifier(2, random_state=0).fit(tables, y)
    explanation = model.explain({name: table[:3] for name, table in tables.items()}, tables)
    joined = np.hstack([tables["rna"], tables["protein"]])
    np.testing.assert_array_equal(explanation.values, model.explain(joined[:3], joined).values)
    assert explanation.frame().columns.tolist() == ["rna: a", "rna: b", "protein: x0"]
    with pytest.raises(ValueError, match="a table for each view"):
        model.explain({"rna": tables["rna"]}, tables)


def test_frames_of_other_kinds_are_explained_alike():
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    model = SPKMClassifier(2, random_state=0).fit(frame, y)
    values = model.explain(frame[:3], frame).values
    kinds = [frame.astype("Float64"), frame.astype(object), pytest.importorskip("polars").from_pandas(frame).lazy()]
    for kind in kinds:
        np.testing.assert_array_equal(model.explain(kind[:3], kind).values, values)
    with pytest.raises(ValueError, match="X must hold numbers"):
        model.explain(frame.astype(object).assign(f0="a"), frame)


def test_steps_of_others_name_the_features():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)), columns=["a", "b"])
    pipeline = make_pipeline(StandardScaler(), SPKMClassifier(1, random_state=0)).fit(X, X["a"] > 0)
    assert explain(pipeline, X[:2], background=X).frame().columns.tolist() == ["a", "b"]
    nameless = make_pipeline(FunctionTransformer(np.asarray), SPKMClassifier(1, random_state=0)).fit(X, X["a"] > 0)
    assert explain(nameless, X[:2], background=X).frame().columns.tolist() == ["x0", "x1"]


def test_words_of_a_pipeline_speak_of_the_columns_of_its_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=80), "job": rng.choice(["nurse", "cook", "judge"], 80)})
    y = table["size"] + (table["job"] == "cook") > 0
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(2, random_state=0)).fit(table, y)
    told = explain_module.summary(pipeline, table, y)
    features = told.parts[-2]
    assert {row[0] for row in features[1:]} == {"size", "job"}  # a category is one of them
    assert "job = cook" in told and "[job = cook]" in explain_module.formula(pipeline)


def test_a_notebook_shows_values_that_add_up_to_the_score():
    """Ten features, the others in one row; a name is no HTML."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 12)), columns=[f"<b>{j}" for j in range(12)])
    model = SPKMClassifier(2, random_state=0).fit(X, X["<b>0"] > 0)
    html = explain(model, X[:8], X[8:])._repr_html_()
    assert "<b>" not in html and html.count("sample ") == 5
    rows = re.findall(r"<tr><td[^>]*>([^<]*)</td><td[^>]*>([^<]*)</td>", html)
    assert [name for name, _ in rows[10:]] == ["other features", "usual score", "score"]
    *parts, score = (float(value) for _, value in rows)
    assert score == pytest.approx(sum(parts), abs=0.01 * sum(map(abs, parts)))


def test_summaries_and_formulas_print_and_render():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["<b>a</b>", "b"])
    model = SPKMClassifier(2, random_state=0).fit(X, X["b"] > 0)
    told = model.summary(X, X["b"] > 0)
    assert isinstance(told, str) and repr(told) == str(told) and pickle.loads(pickle.dumps(told)) == told
    html = told._repr_html_()
    assert html.count("<table>") == 2 and "<b>" not in html and "&lt;b&gt;a&lt;/b&gt;" in html
    assert "<table>" in model._repr_html_() and model.formula()._repr_html_().startswith("<pre>f(x) = ")


@pytest.mark.parametrize("scale", [True, False])
def test_a_formula_has_the_numbers_of_the_linear_part(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(3, 2, size=(80, 3))
    model = SPKMClassifier(2, linear_part=True, scale=scale, random_state=0).fit(X, X[:, 0] - X[:, 1] > 0)
    (line,) = (line for line in model.formula(12).splitlines() if line.startswith("w·x = "))
    constant, *terms = line.removeprefix("w·x = ").split(" ")
    slopes = dict(zip(terms[1::2], map(float, terms[::2]), strict=True))
    row = X.mean(axis=0, keepdims=True)  # inside of the clip
    expected = model.model_.contributions(row)[0, ~model.model_.vector_rows, 0].sum()
    found = float(constant) + sum(slopes.get(f"x{j}", 0.0) * row[0, j] for j in range(3))
    assert found == pytest.approx(expected, abs=1e-8)
