"""The search with a budget and with groups of columns, and where its folds agree."""

from dataclasses import replace

import numpy as np
import pytest

from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Log
from spkm.selection import FeatureGroups, Validation
from tests import cases
from tests.small_searches import (
    candidate,
    choice_of,
    linear_rows,
    search_of,
)

pytestmark = pytest.mark.usefixtures("careful")


GROUPS = cases.frozen(np.array([0, 1, 1, 2, 3, 3, 4, 4, 4]))  # the line below needs units 1 and 3


def grouped_rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 9))
    F = X[:, [1]] + X[:, [2]] - X[:, [4]] + X[:, [5]]
    return cases.frozen(X), cases.frozen(np.where(F > 0, 1.0, -1.0))


def assert_whole(columns, groups):
    units = FeatureGroups(len(groups), groups)
    np.testing.assert_array_equal(columns, units.columns(np.unique(units.label[columns])))


@pytest.mark.parametrize("kernel", [Linear(1.0), RBF("mean")], ids=["linear", "rbf"])
def test_groups_enter_and_leave_together(kernel):
    search, everything = search_of(grouped_rows(), Log(), [candidate(kernel, Log(), 2)], groups=GROUPS)
    choice = search.run()
    for model in (*choice.models, search.refit(choice, everything), *search.sequence(choice, everything)):
        assert_whole(model.columns, GROUPS)
    assert {1, 2, 4, 5} <= set(search.refit(choice, everything).columns)


@pytest.mark.parametrize(
    ("kernel", "most", "groups"),
    [
        (Linear(1.0), 1, None),
        (Linear(1.0), 3, None),
        (Linear(1.0), 1, GROUPS),
        (Linear(1.0), 3, GROUPS),
        (Polynomial(2, 1.0, 1.0), 2, None),
        (RBF("mean"), 3, GROUPS),
    ],
)
def test_the_budget_is_hard(kernel, most, groups):
    search, everything = search_of(
        grouped_rows(), Log(), [candidate(kernel, Log(), 2)], groups=groups, max_features=most
    )
    choice = search.run()
    for model in (*choice.models, search.refit(choice, everything)):
        assert 1 <= len(model.columns) <= most
        if groups is not None:
            assert_whole(model.columns, groups)


def test_the_budget_holds_where_all_rows_want_larger_groups_than_the_folds():
    # Two single columns were chosen in the folds; of all rows the two units to keep have two columns each.
    line = candidate(Linear(1.0), Log())
    search, everything = search_of(grouped_rows(), Log(), [line], groups=GROUPS, max_features=3)
    choice = choice_of(search, line, np.array([0, 3]), 2)
    assert len(search.refit(choice, everything).columns) <= 3


def test_a_number_of_units_is_not_less_than_what_was_judged():
    # Where the folds' models differ in size there is no model of the smaller size in the other fold.
    line = candidate(Linear(1.0), Log())
    search, _ = search_of(linear_rows(), Log(), [line])
    few = choice_of(search, line, np.array([1, 4]), 2).models[0]
    more = choice_of(search, line, np.array([0, 1, 2, 4]), 4).models[1]
    choice = choice_of(search, line, np.array([1, 4]), 4)
    picked = search._picked(choice, [[few], [more]])
    assert [len(model.columns) for model in picked.models] == [2, 4]
    assert picked.n_units == 4


@pytest.mark.parametrize("kernel", [Linear(1.0), Polynomial(2, 1.0, 1.0), RBF("mean")], ids=["linear", "poly", "rbf"])
def test_a_budget_of_groups(kernel):
    problem = candidate(kernel, Log(), 2)
    for most in (1, 2):
        search, everything = search_of(grouped_rows(), Log(), [problem], groups=GROUPS, max_groups=most)
        choice = search.run()
        for model in (*choice.models, search.refit(choice, everything)):
            assert search.n_groups(model) <= most
            assert_whole(model.columns, GROUPS)
    assert search.refit(choice, everything).columns.tolist() == [1, 2, 4, 5]


class LossesBySize(Validation):
    """Losses of 80 samples that fall with a power of the number of features."""

    power = 0

    def losses(self, models):
        return np.full(80, 1.0 / len(models[0].columns) ** self.power)


@pytest.mark.parametrize("kernel", [RBF(0.1), Linear(1.0)], ids=["rbf", "linear"])
def test_of_models_that_are_as_good_the_smallest_is_taken_with_and_without_a_budget(kernel):
    problem = candidate(kernel, Log())
    for most in (3, "all"):
        search, _ = search_of(linear_rows(), Log(), [problem], max_features=most, validation=LossesBySize)
        choices = [choice_of(search, problem, np.arange(count), count) for count in (4, 3, 2, 1)]
        sequences = [list(of_fold) for of_fold in zip(*(choice.models for choice in choices), strict=True)]
        for power, expected in ((0, 1), (1, 3 if most == 3 else 4)):  # losses that are all equal, and that fall
            search.validation.power = power
            assert search._picked(choices[0], sequences).n_units == expected


def test_noise_that_leaves_late_everywhere_does_not_win_over_a_column_that_never_came_in_in_one_fold():
    line = candidate(Linear(1.0), Log())
    search, _ = search_of(linear_rows(d=100), Log(), [line])
    left_at = [np.full(100, 100) for _ in range(2)]
    left_at[0][[0, 1, 2]] = 1, 2, 3
    left_at[1][[0, 2]] = 1, 3
    choice = replace(choice_of(search, line, np.array([0, 1]), 2), left_at=left_at)
    on_all_rows = [choice_of(search, line, np.array(columns), 0).models[0] for columns in ([0, 1, 2], [0, 1], [0])]
    np.testing.assert_array_equal(search._agreed(choice, on_all_rows), [0, 1])
