"""Reports and explanations of pipelines, in terms of the columns of their tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, TableEncoder
from spkm.explain import counterfactual, explain
from tests.enumeration import enumerated_shapley
from tests.reports import facts


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(40, 10, n)),
            "work": rng.choice(["private", "state", None], n, p=[0.5, 0.4, 0.1]),
            "member": rng.random(n) < 0.5,
        }
    )
    X["member"] = X["member"].astype(object)
    X.loc[::9, "member"] = None
    y = (X["age"].fillna(40) > 40).to_numpy() ^ (X["work"] == "state").to_numpy()
    return make_pipeline(TableEncoder(), SPKMClassifier(3, random_state=0)).fit(X, y), X, y


def columns(found):
    return {column["name"]: column for column in found["columns"]}


def test_levels_numbers_and_truths_become_what_a_page_asks_for(fitted):
    model, X, y = fitted
    found = columns(facts(model, X, y))
    names = [str(name) for name in model[0].get_feature_names_out()]
    assert list(found) == ["age", "work", "member"]
    assert found["age"]["options"] is None and found["age"]["missing"] == np.nanmedian(X["age"])
    assert [label for label, _ in found["work"]["options"]] == ["private", "state", "(missing)"]
    assert [label for label, _ in found["member"]["options"]] == ["False", "True", "(missing)"]
    encoded = model[0].transform(X)
    for i in range(40):
        for name, column in found.items():
            if column["options"] is not None:
                values = encoded[i, column["features"]].tolist()
                assert sum(values == option for _, option in column["options"]) == 1, (name, values)
    assert [names[j] for j in found["age"]["features"]] == ["age", "age is missing"]


def test_the_usual_row_of_a_page_has_the_most_frequent_levels(fitted):
    model, X, y = fitted
    found = facts(model, X, y, privacy="aggregate")
    work, age = (columns(found)[name] for name in ("work", "age"))
    level = next(
        label for label, values in work["options"] if values == [found["page"]["middle"][j] for j in work["features"]]
    )
    assert level == X["work"].value_counts().idxmax()
    assert found["page"]["middle"][age["features"][0]] == pytest.approx(
        X["age"].fillna(X["age"].median()).median(), rel=1e-5
    )


def test_levels_that_the_model_does_not_read_stand_together(fitted):
    _, X, y = fitted
    Z = pd.DataFrame({"work = a": [1, 0, 0, 0] * 30, "work = b": [0, 1, 0, 0] * 30, "work = c": [0, 0, 1, 1] * 30})
    Z["z"] = X["age"].fillna(40)
    selection = {"selection": "strict", "max_features": 1, "weight_penalty": "rkhs"}
    model = SPKMClassifier(2, random_state=0, **selection).fit(Z, Z["work = a"])
    assert model.selected_features_.tolist() == [0]
    found = columns(facts(model, Z, y, groups={"work": [0, 1, 2]}))
    assert found["work"]["options"] == [["a", [1.0]], ["another level", [0.0]]]
    model = SPKMClassifier(2, random_state=0).fit(Z, y)
    with pytest.raises(ValueError, match=r"groups\['work'\] must be columns of which one is 1"):
        facts(model, Z, y, groups={"work": ["work = a", "z"]})


def test_a_pipeline_is_explained_by_the_columns_of_its_table(fitted):
    model, X, y = fitted
    explanation = explain(model, X[:2], X[::20])
    assert list(explanation.frame().columns) == ["age", "work", "member"]
    encoded = model[0].transform(X)
    players = list(model[0].column_groups().values())
    truth = enumerated_shapley(model[-1].model_.scores, encoded[0], encoded[::20], players)
    np.testing.assert_allclose(explanation.values[0], truth, atol=1e-10)
    with pytest.raises(ValueError, match="categories must be None after a TableEncoder"):
        facts(model, X, y, groups={"work": [2, 3]})


def test_other_steps_before_the_estimator_work_too(fitted):
    model, X, y = fitted
    Z = model[0].transform(X)
    pipeline = make_pipeline(StandardScaler(), SPKMClassifier(2, random_state=0)).fit(Z, y)
    scaled = pipeline[0].transform(Z)
    values = explain(pipeline, Z[:2], Z[::10]).values
    np.testing.assert_allclose(values, explain(pipeline[-1], scaled[:2], scaled[::10]).values, rtol=1e-9, atol=1e-12)
    assert all(column["options"] is None for column in facts(pipeline, Z, y)["columns"])  # every one is a number


def test_a_pipeline_changes_columns_of_its_table(fitted):
    model, X, _ = fitted
    rows = X[model.predict(X) == 0]
    seen = set()
    for i in range(12):
        row = rows.iloc[[i]]
        found = counterfactual(model, row, True, ranges=X)
        assert found.found and model[-1].predict(found.x[None])[0]
        seen |= set(found.changes)
        before = model[0].transform(row)[0]
        for name, columns in model[0].column_groups().items():
            if name not in {title.removesuffix(" = True") for title in found.changes}:
                np.testing.assert_array_equal(found.x[columns], before[columns])
        if "work" in found.changes:
            (level,) = found.changes["work"][1]
            assert level in ("work = private", "work = state")
            assert found.x[model[0].column_groups()["work"]].sum() == 1
        names = model[0].get_feature_names_out()
        missing = [str(name).endswith("is missing") for name in names]
        assert not np.any(found.x[missing] > before[missing])
        assert found.x[list(names).index("member = True")] in (0.0, 1.0)
        if row["age"].isna().item():
            assert "age" not in found.changes
    assert "work" in seen


def test_columns_that_determine_each_other_are_marked_and_named():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 120)
    table = np.empty((120, 3), dtype=object)
    table[:, 0], table[:, 1] = np.array(["low", "mid", "high"])[level], 10.0 * level
    table[:, 2] = rng.normal(size=120)
    y = pd.Series(level + table[:, 2].astype(float) > 1, name="thrives")
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=3, random_state=0)).fit(table, y)
    found = facts(pipeline, table, y)
    assert {c["name"]: c["linked"] for c in found["columns"]} == {"x0": True, "x1": True, "x2": False}
    assert (
        found["title"] == "Thrives: a model of 120 samples" and found["model"]["recipe"] == pipeline[-1].model_.recipe
    )
    X = np.column_stack([level, 1 - level, rng.normal(size=120)])
    plain = facts(SPKMClassifier(n_basis=3, random_state=0).fit(X, y), X, y.to_numpy())
    assert [c["linked"] for c in plain["columns"]] == [True, True, False]
    assert plain["title"] == "A model of 120 samples"
