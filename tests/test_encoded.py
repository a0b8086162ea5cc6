"""The last step of a pipeline has the names of the table, and a category is one feature of it."""

import pickle
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import spkm
from spkm import SPKMClassifier, TableEncoder
from spkm.explain import (
    counterfactual,
    explain,
    formula,
    h_statistics,
    importances,
    partial_dependence,
    prove,
    sobol_indices,
    summary,
    to_frame,
)
from spkm.inspection import ContributionDisplay, EffectDisplay, ShapleyDisplay
from spkm.tables.encoded import MARK, EncodedArray

ENCODED = ["age", "age is missing", "income", "job = baker", "job = judge", "job = nurse"]


def encoding_behind(matrix):
    return getattr(matrix, MARK, None)


@cache
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 70, 120).astype(float),
            "income": rng.normal(50, 10, 120),
            "job": rng.choice(["nurse", "baker", "judge"], 120),
        }
    )
    frame.loc[frame.index[::17], "age"] = np.nan
    return frame, ((frame["income"] > 50) ^ (frame["job"] == "judge")).to_numpy()


@cache
def fitted():
    X, y = table()
    model = make_pipeline(TableEncoder(), SPKMClassifier(4, random_state=0)).fit(X, y)
    return model, model[0].transform(X)


def test_matrices_remember_their_encoder_and_nothing_made_of_them_does():
    _, Z = fitted()
    assert isinstance(Z, EncodedArray) and encoding_behind(Z).names == ENCODED
    for other in (Z[:5], Z[:, ::-1], Z + 1, Z.mean(axis=0), np.asarray(Z), np.zeros((3, 6)), [[1.0]]):
        assert encoding_behind(other) is None
    assert encoding_behind(pickle.loads(pickle.dumps(Z))).names == ENCODED
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(Z)), Z)
    assert repr(Z[0]).startswith("array(")
    marked = TableEncoder(sparse=True).fit(table()[0]).transform(table()[0])
    assert sparse.issparse(marked) and encoding_behind(marked).names == ENCODED
    assert encoding_behind(marked.copy()) is None


def test_a_model_is_the_same_with_and_without_its_encoder():
    model, Z = fitted()
    plain = SPKMClassifier(4, random_state=0).fit(np.asarray(Z), table()[1])
    assert plain.predict_proba(np.asarray(Z)).tobytes() == model.predict_proba(table()[0]).tobytes()
    assert not hasattr(model[-1], "feature_names_in_")  # arrays of numbers are still welcome, without a warning
    assert model[-1].predict_proba(np.asarray(Z)).tobytes() == model.predict_proba(table()[0]).tobytes()


def test_the_last_step_speaks_of_the_columns_of_the_table():
    model, Z = fitted()
    X, y = table()
    last = model[-1]
    assert "income" in formula(last) and "x2" not in formula(last)
    assert summary(last, Z, y) == summary(model, X, y) and "job" in summary(last)
    assert list(to_frame(last).columns)[1:] == ENCODED == list(to_frame(model).columns)[1:]
    assert explain(last, Z[:3], Z).feature_names == ("age", "income", "job")
    np.testing.assert_allclose(explain(last, Z[:3], Z).values, explain(model, X[:3], X).values, atol=1e-12)
    assert list(last.restricted().get_feature_names_out()) != ENCODED  # places, as scikit-learn has it
    assert explain(last.restricted(), np.asarray(Z)[:3, last.selected_features_]).feature_names[0] in X.columns


def test_names_survive_files_and_pickles(tmp_path):
    model, Z = fitted()
    spkm.save(model, tmp_path / "model.spkm")
    for again in (spkm.load(tmp_path / "model.spkm"), pickle.loads(pickle.dumps(model))):
        assert explain(again[-1], Z[:3]).feature_names == ("age", "income", "job")
        assert summary(again[-1]) == summary(model[-1])


@pytest.mark.parametrize("of_last", [False, True])
def test_a_category_is_one_feature_of_global_explanations(of_last):
    model, Z = fitted()
    X, y = table()
    estimator, samples = (model[-1], Z) if of_last else (model, X)
    assert sobol_indices(estimator, samples).feature_names == ("age", "income", "job")
    assert importances(estimator, samples, y, n_resamples=5).feature_names == ("age", "income", "job")
    names, H = h_statistics(estimator, samples)
    assert names == ("age", "age is missing", "income", "job") and H.shape == (4, 4, 1)


def test_the_effect_of_a_category_is_the_mean_score_at_each_level():
    model, Z = fitted()
    X, _ = table()
    (effect,) = partial_dependence(model, X, ["job"])
    assert effect.grid[0].tolist() == ["baker", "judge", "nurse"]
    for level, value in zip(effect.grid[0], effect.values, strict=True):
        held = model.decision_function(X.assign(job=level)).mean()
        np.testing.assert_allclose(value[0], held, atol=1e-10)
    (both,) = partial_dependence(model[-1], Z, [("job", "income")], n_points=3)
    assert both.values.shape == (3, 3, 1)
    held = model.decision_function(X.assign(job="judge", income=both.grid[1][2])).mean()
    np.testing.assert_allclose(both.values[1, 2, 0], held, atol=1e-10)


def test_h_of_a_category_is_its_definition():
    model, _ = fitted()
    X, _ = table()
    names, H = h_statistics(model, X, ["income", "job"])
    assert names == ("income", "job")
    rows = X.to_dict("records")

    def means(columns):
        held = [model.decision_function(X.assign(**{c: row[c] for c in columns})).mean() for row in rows]
        return np.array(held) - np.mean(held)

    joint = means(["income", "job"])
    left = joint - means(["income"]) - means(["job"])
    np.testing.assert_allclose(H[0, 1, 0], np.sqrt((left**2).sum() / (joint**2).sum()), atol=1e-8)


@pytest.mark.parametrize("of_last", [False, True])
def test_displays_name_levels(of_last):
    model, Z = fitted()
    X, _ = table()
    estimator, samples = (model[-1], Z) if of_last else (model, X)
    drawn = EffectDisplay.from_estimator(estimator, samples, "job")
    assert [text.get_text().split(" ")[0] for text in drawn.ax_.get_yticklabels()] == ["baker", "judge", "nurse"]
    assert EffectDisplay.from_estimator(estimator, samples, "income").frame().columns[0] == "income"
    with pytest.raises(ValueError, match="two numbers, or one feature that may be a category"):
        EffectDisplay.from_estimator(estimator, samples, ("job", "income"))
    one = ShapleyDisplay.from_estimator(estimator, samples[:1], background=samples)
    wanted = f"job = {X['job'][0]}"
    assert wanted in [text.get_text() for text in one.ax_.get_yticklabels()]
    assert list(ShapleyDisplay.from_estimator(estimator, samples[:20]).frame().columns) == ["age", "income", "job"]
    taken = ContributionDisplay.from_estimator(estimator, samples, row=0, level="features")
    assert wanted in [text.get_text() for text in taken.ax_.get_yticklabels()]
    plt.close("all")


def test_changes_and_proofs_of_the_last_step_are_those_of_the_pipeline():
    model, Z = fitted()
    X, _ = table()
    target = not model.predict(X[:1])[0]
    whole = counterfactual(model, X[:1], target, ranges=X)
    last = counterfactual(model[-1], Z[:1], target, ranges=Z)
    assert str(whole) == str(last)
    statement = "score <= 100 where job = judge"
    assert str(prove(model, statement, ranges=X)) == str(prove(model[-1], statement, ranges=Z))


def test_a_summary_has_one_entry_for_a_category_and_none_for_dead_vectors():
    model, Z = fitted()
    _, y = table()
    rows = [line for line in summary(model[-1]).splitlines() if line.startswith("u")]
    assert rows and all(line.count("job = ") <= 1 for line in rows)
    assert not any("missing = 0" in line for line in rows)
    dead = SPKMClassifier(6, monotone={"income": 1}, random_state=0).fit(Z, y)
    zero = int((dead.model_.weights[dead.model_.vector_rows] == 0).sum())
    told = summary(dead, Z, y)
    assert sum(line.startswith("u") for line in told.splitlines()) == 6 - zero
    assert zero == 0 or f"... and {zero} basis vector" in told
