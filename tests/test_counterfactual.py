"""Counterfactuals: none nearer exists by brute force, and a proof holds at every sample that was drawn."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMRegressor, SPKMSelector, TableEncoder
from spkm.core.targets import Classes, Labels, Ordered
from spkm.explain import counterfactual
from spkm.explain._bounds import Axis, BoxBounds
from spkm.explain._structure import scaled_rows, structure_of
from spkm.kernels import RBF, Affine, Linear
from spkm.losses import Poisson
from tests.made_models import make_model, make_rows
from tests.test_explain import TERMS

CLOSED = [name for name in TERMS if name not in ("normalized polynomial", "a view without forms")]
CLOSED.remove("other views that share a feature")


def size(model, x, new):
    return np.sqrt((((new - x) / model.scaling.scale) ** 2).sum(axis=-1))


@pytest.mark.parametrize("name", CLOSED)
def test_bounds_hold_within_boxes_and_are_sharp_at_points(name):
    model = make_model(TERMS[name], 5, n_outputs=2)
    structure = structure_of(model, [f"x{i}" for i in range(5)])
    rng = np.random.default_rng(0)
    z = scaled_rows(model, make_rows(model, 1))[0]
    least, most = model.scaling.middle - 2.5, model.scaling.middle + 2.5
    axes = [Axis(j, np.array([j]), least=least[j], most=most[j]) for j in (1, 3)]
    A = np.array([[1.0, 0.0], [-1.0, 2.0]])
    bounds = BoxBounds(structure.terms, z, axes, model.intercept, A)
    low = rng.uniform(-3, 2, size=(30, 2))
    high = low + rng.uniform(0, 2, size=(30, 2))
    lower, upper = bounds(low, high)

    def at(points):
        rows = np.repeat(z[None], len(points), axis=0)
        rows[:, [1, 3]] = np.clip(points, least[[1, 3]], most[[1, 3]])
        return model.scores(model.scaling.inverse(rows)) @ A.T

    for share in rng.uniform(size=(40, 30, 2)):
        values = at(low + share * (high - low))
        assert (values >= lower - 1e-10).all() and (values <= upper + 1e-10).all()
    np.testing.assert_allclose(bounds(low, low)[0], at(low), atol=1e-10)
    np.testing.assert_allclose(bounds(low, low)[1], at(low), atol=1e-10)


@pytest.mark.parametrize("name", ["rbf", "matern 5/2", "laplacian", "polynomial", "product of views", "bipolar"])
@pytest.mark.parametrize("max_changes", [1, 2])
def test_no_nearer_change_exists_on_a_fine_grid(name, max_changes):
    model = make_model(TERMS[name], 5, seed=4)
    X = make_rows(model, 60)
    x, target = X[0], float(np.quantile(model.scores(X), 0.7))
    found = counterfactual(model, x, target, ranges=X, max_changes=max_changes)
    ranges = list(zip(X.min(axis=0), X.max(axis=0), strict=True))
    steps = 200 if max_changes == 2 else 20_000
    best = np.inf
    sets = [(j,) for j in range(5)] if max_changes == 1 else [(j, k) for j in range(5) for k in range(j)]
    for columns in sets:
        mesh = np.stack(np.meshgrid(*(np.linspace(*ranges[j], steps) for j in columns)), axis=-1)
        rows = np.tile(x, (mesh[..., 0].size, 1))
        rows[:, list(columns)] = mesh.reshape(-1, len(columns))
        F = model.scores(rows)[:, 0]
        reached = F >= target if model.scores(x[None])[0, 0] < target else F <= target
        best = min(best, size(model, x, rows[reached]).min(initial=np.inf))
    assert found.found == np.isfinite(best)
    if found.found:
        assert len(found.changes) <= max_changes
        assert found.size <= best * (1 + 1e-9)
        assert found.size_bound <= found.size <= found.size_bound * 1.002
        np.testing.assert_allclose(size(model, x, found.x), found.size, rtol=1e-6)
        np.testing.assert_allclose(found.scores, target, atol=0.05)
        started_below = model.scores(x[None])[0, 0] < target
        assert found.scores[0] >= target if started_below else found.scores[0] <= target
        for title, (before, after) in found.changes.items():
            column = int(title[1:])
            assert before == x[column] and after == found.x[column]
            assert ranges[column][0] - 1e-9 <= after <= ranges[column][1] + 1e-9


@pytest.mark.parametrize("name", ["rbf", "matern 3/2", "polynomial", "two terms"])
def test_a_proof_that_none_exists_holds_at_random_points(name):
    model = make_model(TERMS[name], 5, seed=1)
    X = make_rows(model, 40)
    low, high = X.min(axis=0), X.max(axis=0)
    rng = np.random.default_rng(0)
    rows = np.repeat(X[:1], 40_000, axis=0)
    pairs = np.array([rng.choice(5, 2, replace=False) for _ in rows])
    for k in range(2):
        rows[np.arange(len(rows)), pairs[:, k]] = rng.uniform(low[pairs[:, k]], high[pairs[:, k]])
    top = model.scores(rows).max()
    for above, exists in ((0.2, False), (-0.02, True)):
        target = float(top + above * abs(top))
        found = counterfactual(model, X[0], (target, np.inf), ranges=X)
        if exists:
            assert found.found
        if not found.found:
            assert found.none_exists and found.reach < 0 and not found.changes
            assert found.reach >= top - target - 1e-6 * abs(target)


def test_frozen_integer_and_grouped_features_are_respected():
    model = make_model([(4, [(RBF(0.1), None)])], 6, scaling=False, seed=2)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 2)), rng.integers(0, 4, size=50), np.eye(3)[rng.integers(3, size=50)]])
    groups = {"colour": [3, 4, 5]}
    target = float(np.quantile(model.scores(X), 0.8))
    x = X[np.argmin(model.scores(X)[:, 0])]
    arguments = {"ranges": X, "integers": ["x2"], "groups": groups}
    options = []
    for level in range(3):
        for count in range(4):
            row = x.copy()
            row[2], row[3:] = count, np.eye(3)[level]
            options.append(row)
    options = np.array(options)
    found = counterfactual(model, x, (target, np.inf), frozen=["x0", 1], **arguments)
    reached = options[model.scores(options)[:, 0] >= target]
    if len(reached):
        best = np.sqrt(((reached - x) ** 2).sum(axis=1)).min()
        np.testing.assert_allclose(found.size, best)
        np.testing.assert_array_equal(found.x[:2], x[:2])
        assert found.x[2] == int(found.x[2]) and sorted(found.x[3:]) == [0.0, 0.0, 1.0]
    else:
        assert found.none_exists
    top = float(model.scores(options).max())
    assert counterfactual(model, x, (top - 1e-6, np.inf), frozen=["x0", 1], **arguments).found
    assert counterfactual(model, x, (top + 1e-6, np.inf), frozen=["x0", 1], **arguments).none_exists
    still = counterfactual(model, x, (top - 1e-6, np.inf), frozen=["x0", 1, "colour"], **arguments)
    assert still.none_exists or list(still.changes) == ["x2"]


def test_a_linear_model_needs_the_distance_to_its_plane():
    model = make_model([(1, [(Linear(1.0), None)])], 2, seed=3)
    slope = model.terms[0].views[0].basis[0] * model.weights[0, 0]
    x = model.scaling.center.copy()
    found = counterfactual(model, x, float(model.intercept[0] + 0.5))
    np.testing.assert_allclose(found.size, 0.5 / np.linalg.norm(slope), rtol=2e-3)
    one = counterfactual(model, x, float(model.intercept[0] + 0.5), max_changes=1)
    np.testing.assert_allclose(one.size, 0.5 / np.abs(slope).max(), rtol=1e-7)


def test_a_sample_that_is_there_already_needs_no_change():
    model = make_model(TERMS["rbf"], 5)
    X = make_rows(model, 3)
    found = counterfactual(model, X[0], (-100.0, 100.0))
    assert found.found and found.size == 0.0 and found.changes == {} and not found.none_exists


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (Classes.of(np.array(["no", "yes"])), ["no", "yes"]),
        (Classes.of(np.array(["a", "b", "c"])), ["a", "b", "c"]),
        (Labels(np.full(2, np.nan), np.zeros(2), np.ones(2), True), [[0, 0], [0, 1], [1, np.nan], [np.nan, 0]]),
        (
            Ordered(
                np.full(1, np.nan), np.zeros(1), np.ones(1), False, np.arange(3), np.array([-np.inf, 0, 1, np.inf])
            ),
            range(3),
        ),
    ],
    ids=["two", "three", "labels", "ordered"],
)
def test_half_spaces_of_a_target_are_its_predictions_ties_as_well(target, wanted):
    near = [-1.0, -5e-324, 0.0, 5e-324, np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 2.0)]
    scores = np.array(list(product(near, repeat=len(target.constant))))
    predicted = target.decode(scores)
    for one in wanted:
        A, a = target.region(one, scores[0])
        given = np.equal(predicted, one) if np.ndim(one) == 0 else (predicted == one) | np.isnan(one)
        inside = (scores @ A.T + a >= 0).all(axis=1)
        np.testing.assert_array_equal(inside, given if given.ndim == 1 else given.all(axis=1))


def test_a_tie_reaches_only_the_class_that_is_predicted():
    X = make_rows(make_model(TERMS["rbf"], 5), 60)
    model = SPKMClassifier(n_basis=2, weight_penalty="rkhs", random_state=0)
    model.fit(X, X[:, 0] > 0)
    model.model_ = replace(model.model_, theta=np.zeros_like(model.model_.theta))
    assert not model.predict(X).any()
    there, other = (counterfactual(model, X[0], wanted, ranges=X) for wanted in (False, True))
    assert there.found and there.changes == {} and not there.prediction
    assert other.none_exists and other.reach < 0


def test_a_prediction_that_is_the_target_is_there_and_narrow_intervals_are_reached():
    model = make_model(TERMS["rbf"], 5)
    X = make_rows(model, 40)
    now = float(model.scores(X[:1])[0, 0])
    assert counterfactual(model, X[0], now, ranges=X).changes == {}
    wanted = float(np.median(model.scores(X)))
    with pytest.raises(ValueError, match="low < high"):
        counterfactual(model, X[0], (wanted, wanted), ranges=X)
    width = 1e-10 * np.abs(model.weights).sum()  # rounding is far below it, the margin of wider intervals above
    found = counterfactual(model, X[0], (wanted, wanted + width), ranges=X)
    assert found.found and wanted <= model.scores(found.x[None])[0, 0] <= wanted + width


def test_features_may_go_to_the_clip_but_need_ranges_without_one():
    model = make_model([(2, [(Affine(RBF(0.1)), None)])], 3, scaling=False)
    with pytest.raises(ValueError, match="ranges must hold finite limits for 'x0'"):
        counterfactual(model, np.zeros(3), 0.0)
    assert counterfactual(make_model(TERMS["rbf"], 5), np.zeros(5), (-100.0, 100.0)).found


@pytest.mark.parametrize(
    "change, message",
    [
        ({"max_changes": 3}, "max_changes must be 1 or 2; got 3"),
        ({"ranges": {"x0": (2.0, 1.0)}}, r"ranges\['x0'\] must be \(low, high\) with low <= high"),
        ({"frozen": ["y"]}, "frozen names a feature that X does not have: 'y'"),
        ({"integers": [9]}, "integers must hold names or indices from 0 to 4"),
        ({"linked": [["x0"]]}, "linked must hold lists of two or more different columns"),
        ({"linked": [["x0", "z"]]}, "linked must hold lists of two or more different columns of X; got"),
    ],
)
def test_bad_arguments_are_named(change, message):
    model = make_model(TERMS["rbf"], 5)
    with pytest.raises(ValueError, match=message):
        counterfactual(model, np.zeros(5), 5.0, **change)


def test_kernels_without_bounds_are_refused():
    model = make_model(TERMS["normalized polynomial"], 5)
    with pytest.raises(ValueError, match="NormalizedPolynomial has none"):
        counterfactual(model, np.zeros(5), 5.0)


@pytest.fixture(scope="module")
def people():
    """Return a table without missing values, whose classes need both columns."""
    pd, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    table = pd.DataFrame({"income": rng.normal(size=60), "owner": rng.random(60) < 0.5, "job": ["nurse", "cook"] * 30})
    return table, np.where((table["income"] > 0) ^ table["owner"], "good", "bad")


def test_a_table_without_missing_values_can_be_changed(people):
    table, y = people
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(3, random_state=0)).fit(table, y)
    now = pipeline.predict(table[:1])[0]
    target = "good" if now == "bad" else "bad"
    free = counterfactual(pipeline, table[:1], target, ranges=table)
    assert free.found and pipeline[-1].predict(free.x[None])[0] == target
    for frozen in ("owner", ["owner", "job"]):  # columns of the table, as the user knows them
        change = counterfactual(pipeline, table[:1], target, ranges=table, frozen=frozen)
        assert set(change.changes) == {"income"} and change.size >= free.size * (1 - 1e-3)
    assert counterfactual(pipeline, table[:1], target, ranges=table, frozen=list(table)).none_exists


def test_without_a_target_the_other_of_two_classes_is_reached(people):
    table, y = people
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(3, random_state=0)).fit(table, y)
    row, owner = table[:1], bool(table["owner"][0])
    change = counterfactual(pipeline, row, ranges=table)
    assert {change.prediction, pipeline.predict(row)[0]} == {"bad", "good"}
    change = counterfactual(pipeline, row, ranges=table, frozen=["income", "job"])
    assert change.changes == {"owner": (owner, not owner)} and f"{owner} → {not owner}" in str(change)
    three = SPKMClassifier(1, random_state=0).fit(np.eye(3).repeat(4, axis=0), np.arange(3).repeat(4))
    with pytest.raises(ValueError, match="target must be given unless there are two classes"):
        counterfactual(three, np.zeros(3))


def test_names_come_from_all_steps_before_the_model(people):
    table, _ = people
    selector = SPKMSelector(SPKMRegressor(kernel="linear", n_basis=1, selection="strict", random_state=0))
    pipeline = make_pipeline(TableEncoder(), selector, SPKMRegressor(2, random_state=0)).fit(table, table["income"])
    change = counterfactual(pipeline, table[:1], (2, np.inf))
    assert set(change.changes) == {"income"}


def test_targets_are_in_the_units_of_y_under_a_link():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    y = rng.poisson(np.exp(1 + X[:, 0] + 0.5 * X[:, 1] ** 2))
    model = SPKMRegressor(4, loss="poisson", random_state=0).fit(X, y)
    x = X[np.argmin(model.predict(X))]
    reachable = float(np.quantile(model.predict(X), 0.7))
    found = counterfactual(model, x, reachable, ranges=X)
    assert found.found
    np.testing.assert_allclose(model.predict(found.x[None])[0], reachable, rtol=1e-3)
    assert found.prediction == model.predict(found.x[None])[0] >= reachable
    between = counterfactual(model, x, (reachable, reachable + 1), ranges=X)
    assert reachable <= model.predict(between.x[None])[0] <= reachable + 1
    below = counterfactual(model, found.x, (-np.inf, 0.9 * reachable), ranges=X)
    assert model.predict(below.x[None])[0] <= 0.9 * reachable
    assert counterfactual(model, x, (-5.0, 1e6), ranges=X).size == 0.0  # no end of it is ever reached
    high = counterfactual(model, x, 1e4, ranges=X)
    assert high.none_exists and "proved" in str(high)
    for impossible in (-1.0, 0.0, (1e15, np.inf), (-np.inf, -2.0)):
        with pytest.raises(ValueError, match="target must be a value that Poisson can predict, between"):
            counterfactual(model, x, impossible, ranges=X)


class Rooted(Poisson):
    """A loss of a user, whose predictions no file has a name for."""

    def predict(self, F):
        return np.cbrt(F)


def test_targets_are_in_the_units_of_y_under_a_link_of_ones_own():
    model = replace(make_model(TERMS["rbf"], 5), loss=Rooted())
    X = make_rows(model, 30)
    wanted = float(np.cbrt(np.quantile(model.scores(X), 0.6)))
    found = counterfactual(model, X[np.argmin(model.scores(X)[:, 0])], wanted, ranges=X)
    assert found.found and np.cbrt(found.scores[0]) >= wanted
    np.testing.assert_allclose(found.prediction, wanted, rtol=1e-3)


@pytest.fixture(scope="module")
def schooled():
    """Return a table with whole years, a school that is the same thing, and lengths in two units."""
    pd, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    n = 400
    level = rng.integers(0, 6, n)
    height = rng.normal(170.0, 10.0, n)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "school": np.array(["none", "some", "HS", "college", "BA", "MA"])[level],
            "years": np.array([0, 6, 12, 14, 16, 18])[level],
            "cm": height,
            "inch": height / 2.54,
        }
    )
    score = 0.3 * table["years"] - 0.05 * (table["age"] - 45) ** 2 / 10 + 0.1 * (table["cm"] - 170)
    return table, np.where(score > score.median(), "yes", "no")


def consistent(pipeline, table, x):
    """Return whether a sample after the encoder keeps whole numbers whole and linked columns together."""
    names = list(pipeline[0].get_feature_names_out())
    at = dict(zip(names, x, strict=True))
    combinations = set(zip(table["school"], table["years"], strict=True))
    (school,) = [name.split(" = ")[1] for name in names if name.startswith("school") and at[name] == 1]
    return (
        at["age"] == round(at["age"])
        and (school, at["years"]) in combinations
        and np.isclose(at["cm"], 2.54 * at["inch"], rtol=1e-9)
    )


@pytest.mark.parametrize("with_ranges", [False, True])
def test_whole_numbers_stay_whole_and_linked_columns_together(schooled, with_ranges):
    table, y = schooled
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(4, random_state=0)).fit(table, y)
    ranges = table if with_ranges else None
    seen = set()
    for i in range(0, 60, 5):
        now = pipeline.predict(table[i : i + 1])[0]
        target = "yes" if now == "no" else "no"
        found = counterfactual(pipeline, table[i : i + 1], target, ranges=ranges)
        if not found.found:
            continue
        assert consistent(pipeline, table, found.x), str(found)
        assert pipeline[-1].predict(found.x[None])[0] == found.prediction == target
        assert ("school" in found.changes) == ("years" in found.changes)
        assert ("cm" in found.changes) == ("inch" in found.changes)
        assert all(name in str(found) for name in found.changes)
        seen |= set(found.changes)
    assert seen >= {"age", "cm"}  # the search has something to do


def test_a_change_of_linked_columns_is_the_best_of_all_that_occur(schooled):
    table, y = schooled
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(4, random_state=0)).fit(table, y)
    encoded, model = pipeline[0].transform(table), pipeline[-1].model_
    names = list(pipeline[0].get_feature_names_out())
    own = [j for j, name in enumerate(names) if name.startswith("school") or name == "years"]
    age = names.index("age")
    tried = 0
    for i in range(40):
        now = pipeline.predict(table[i : i + 1])[0]
        target = "yes" if now == "no" else "no"
        rows = []
        for values in np.unique(encoded[:, own], axis=0):
            for years in np.arange(table["age"].min(), table["age"].max() + 1):
                row = encoded[i].copy()
                row[own], row[age] = values, years
                rows.append(row)
        rows = np.array(rows)
        reached = rows[pipeline[-1].predict(rows) == target]
        found = counterfactual(pipeline, table[i : i + 1], target, ranges=table, frozen=["cm"])
        assert found.found == bool(len(reached))
        if found.found:
            best = np.sqrt((((reached - encoded[i]) / model.scaling.scale) ** 2).sum(axis=1)).min()
            np.testing.assert_allclose(found.size, best, rtol=1e-3)
            tried += 1
    assert tried > 10


def test_columns_on_a_line_move_together_whatever_the_number_of_values():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 300)  # too many values for their samples to be compared one by one
    table = pd.DataFrame({"months": 12 * age, "age": age, "hours": rng.integers(10, 70, 300)})
    y = np.where(0.05 * (age - 45) + 0.03 * (table.hours - 40) > 0, "yes", "no")
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=3, random_state=0)).fit(table, y)
    moved = 0
    for i in range(6):
        change = counterfactual(pipeline, table.iloc[[i]], frozen=["hours"])
        ends = {name: value for name, (_, value) in change.changes.items()}
        assert not ends or (ends["months"] == 12 * ends["age"] and ends["age"] == round(ends["age"]))
        moved += bool(ends)
    assert moved


def test_links_can_be_named_and_left_out(schooled):
    table, y = schooled
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(4, random_state=0)).fit(table, y)
    rows = [i for i in range(60) if counterfactual(pipeline, table[i : i + 1], "yes", linked=()).found][:20]
    apart = [counterfactual(pipeline, table[i : i + 1], "yes", linked=(), integers=()) for i in rows]
    assert any(("cm" in one.changes) != ("inch" in one.changes) for one in apart)
    assert any(value != round(value) for one in apart for _, value in [one.changes.get("age", (0, 0))])
    for i in rows:  # nothing is known of what goes with an age: it stays
        one = counterfactual(pipeline, table[i : i + 1], "yes", linked=[["age", "cm"]])
        assert not {"age", "cm"} & set(one.changes)


def test_plain_arrays_are_looked_through_as_well():
    rng = np.random.default_rng(1)
    level, other = rng.integers(0, 2, 200), rng.integers(0, 4, 200)
    X = np.column_stack([level, 1 - level, other, rng.normal(size=200)]).astype(float)
    y = (level + 0.5 * other + 0.5 * X[:, 3] > 1.2).astype(int)
    model = SPKMClassifier(4, random_state=0).fit(X, y)
    changed = set()
    for i in range(60):
        found = counterfactual(model, X[i], 1 - model.predict(X[i : i + 1])[0], ranges=X, frozen=[3])
        if found.found:
            assert found.x[0] + found.x[1] == 1 and (found.x[:3] == np.rint(found.x[:3])).all()
            changed |= set(found.changes)
    assert changed >= {"x0", "x1", "x2"}


def test_columns_of_a_category_stay_together_behind_a_selector(people):
    table, y = people
    table = table.assign(job=np.array(["nurse", "cook", "clerk"])[np.arange(60) % 3])
    chosen = make_pipeline(TableEncoder(), SelectKBest(f_classif, k="all"), SPKMClassifier(3, random_state=0))
    chosen.fit(table, y)
    for i in range(20):
        target = "good" if chosen.predict(table[i : i + 1])[0] == "bad" else "bad"
        found = counterfactual(chosen, table[i : i + 1], target, frozen=["income"])
        at = dict(zip(chosen[:-1].get_feature_names_out(), found.x, strict=True))
        assert sum(at[f"job = {job}"] for job in ("nurse", "cook", "clerk")) == 1 and at["owner = True"] in (0, 1)


def test_what_is_missing_stays_missing():
    rng = np.random.default_rng(0)
    table = np.array([[v, j] for v, j in zip(rng.normal(size=80), ["a", "b"] * 40, strict=True)], dtype=object)
    y = np.array([(v > 0) ^ (j == "a") for v, j in table])
    table[::7, 1] = None
    table[::5, 0] = np.nan
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(3, random_state=0)).fit(table, y)
    for i in range(0, 70, 5):
        found = counterfactual(pipeline, table[i : i + 1], not pipeline.predict(table[i : i + 1])[0])
        gone = {name for name, cell in zip(("x0", "x1"), table[i], strict=True) if cell is None or cell != cell}
        assert not gone & set(found.changes)
