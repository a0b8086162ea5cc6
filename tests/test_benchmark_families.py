"""The made-up families of the benchmark of selections, its measures, and the file that keeps its outcomes."""

import numpy as np
import pytest

from benchmarks._families import CLASSES, NOISE, NUMBERS, halves, precision, recall
from benchmarks._results import Outcome, Results
from benchmarks.selection_panel import jaccard, stratified_halves


def name(family):
    return f"{family.task}: {family.name}"


def test_there_are_28_families_of_different_names_and_5_kinds_of_noise():
    assert len({name(family) for family in CLASSES + NUMBERS}) == 28
    assert len({name(family) for family in NOISE}) == 5


@pytest.mark.parametrize("family", CLASSES + NUMBERS + NOISE, ids=name)
def test_a_draw_is_made_again_by_its_seed_and_differs_from_others(family):
    X, y, relevant = family.draw(0)
    again, other = family.draw(0), family.draw(1)
    assert X.shape[0] == len(y) == family.n and np.isfinite(X).all() and np.isfinite(y).all()
    assert np.array_equal(X, again[0]) and np.array_equal(y, again[1]) and relevant == again[2]
    assert not np.array_equal(X, other[0])
    if family.task == "classes":
        assert np.unique(y, return_counts=True)[1].min() >= 20


@pytest.mark.parametrize("family", CLASSES + NUMBERS, ids=name)
def test_relevant_sets_are_disjoint_and_lie_anywhere(family):
    d = family.draw(0)[0].shape[1]
    draws = [family.draw(seed)[2] for seed in range(3)]
    for relevant in draws:
        members = [j for group in relevant for j in group]
        assert len(set(members)) == len(members) and 0 <= min(members) and max(members) < d
    assert draws[0] != draws[1] or draws[0] != draws[2]


@pytest.mark.parametrize(
    "family", [f for f in CLASSES if f.name.startswith(("AND", "product,", "three-way"))], ids=name
)
def test_classes_without_noise_are_a_function_of_the_relevant_features(family):
    X, y, relevant = family.draw(3)
    z = X[:, [j for (j,) in relevant]]
    if "product" in family.name:
        assert np.array_equal(y, (z.prod(axis=1) > 0).astype(int))
    else:  # 5 % of the labels are flipped
        assert np.mean(y == (z.sum(axis=1) == 3)) > 0.9


def test_any_feature_of_a_set_of_copies_counts_once():
    relevant = [(0, 1, 2), (6,)]
    assert precision(np.array([1, 2, 5]), relevant) == pytest.approx(2 / 3)
    assert recall(np.array([1, 2, 5]), relevant) == 0.5
    assert np.isnan(precision(np.array([], dtype=int), relevant)) and recall(np.array([]), relevant) == 0


def test_halves_have_no_family_in_common():
    parts = halves(CLASSES)
    assert not {name(f) for f in parts["A"]} & {name(f) for f in parts["B"]}
    assert len(parts["A"]) + len(parts["B"]) == len(CLASSES)


def test_halves_of_samples_are_disjoint_and_hold_all_classes_alike():
    y = np.repeat([0, 1, 2], [10, 20, 8])
    first, second = stratified_halves(y, 0)
    assert np.array_equal(np.sort(np.concatenate([first, second])), np.arange(38))
    assert np.abs(np.bincount(y[first]) - np.bincount(y[second])).max() <= 1
    assert jaccard(np.array([1, 2]), np.array([2, 3])) == pytest.approx(1 / 3) and jaccard(y[:0], y[:0]) == 1


def test_known_outcomes_are_read_from_the_file_and_not_measured_again(tmp_path):
    made = []

    def measure():
        made.append(1)
        return Outcome("code", "A", "classes: x", 3, "ours", 97.5, np.nan, 0.5, 1.25, "4 17")

    path = tmp_path / "folder" / "outcomes.csv"
    first = Results(path).get("code", "classes: x", 3, "ours", measure)
    again = Results(path).get("code", "classes: x", 3, "ours", measure)
    assert len(made) == 1 and again.selected.tolist() == [4, 17] and again.score == first.score == 97.5
    assert np.isnan(again.precision)
    Results(path).get("other code", "classes: x", 3, "ours", measure)
    assert len(made) == 2
