"""The search with a budget and with groups of columns, and where its folds agree."""

from dataclasses import replace

import numpy as np
import pytest

from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Log, Squared
from spkm.selection import (
    FeatureGroups,
    _search,
)
from spkm.selection._agreement import agreed_columns
from spkm.selection._choice import Start
from tests import cases
from tests.small_searches import (
    candidate,
    choice_of,
    linear_rows,
    product_rows,
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


def test_a_polish_that_brings_larger_groups_keeps_the_budget():
    # Four single columns were chosen. Of the units that come back the best two are groups of three: as a model they
    # exceed the budget of five.
    groups = np.array([0, 1, 1, 1, 2, 2, 2, 3, 4, 5])
    X = cases.frozen(np.random.default_rng(0).standard_normal((60, 10)))
    Y = np.where(X[:, 1:4].sum(axis=1, keepdims=True) > X[:, 4:7].sum(axis=1, keepdims=True), 1.0, -1.0)
    line = candidate(Linear(1.0), Log())
    search, _ = search_of((X, Y), Log(), [line], groups=groups, max_features=5)
    polished = search._polished(choice_of(search, line, np.array([0, 7, 8, 9]), 4))
    assert max(len(model.columns) for model in polished.models) <= 5


def test_a_number_of_units_is_not_less_than_what_was_judged():
    # Where the folds' models differ in size there is no model of the smaller size in the other fold.
    line = candidate(Linear(1.0), Log())
    search, _ = search_of(linear_rows(), Log(), [line])
    few = choice_of(search, line, np.array([1, 4]), 2).models[0]
    more = choice_of(search, line, np.array([0, 1, 2, 4]), 4).models[1]
    choice = choice_of(search, line, np.array([1, 4]), 4)
    picked = search._picked(choice, "strength", [[few], [more]])
    assert [len(model.columns) for model in picked.models] == [2, 4]
    assert picked.n_units == 4


@pytest.mark.parametrize(
    ("kernel", "loss", "most", "expected"),
    [
        (RBF(0.1), Log(), 3, 3),
        (RBF(0.1), Log(), "all", 1),
        (Linear(1.0), Log(), 3, 1),
        (RBF(0.1), Squared(), 3, 1),
    ],
)
def test_a_budget_is_spent_by_classifiers_whose_kernel_has_no_path(monkeypatch, kernel, loss, most, expected):
    problem = candidate(kernel, loss)
    search, _ = search_of(linear_rows(), loss, [problem], max_features=most)
    choices = [choice_of(search, problem, np.arange(count), count) for count in (4, 3, 2, 1)]
    sequences = [list(of_fold) for of_fold in zip(*(choice.models for choice in choices), strict=True)]
    monkeypatch.setattr(search.validation, "losses", lambda models: np.ones(80))
    assert search._picked(choices[0], "polish", sequences).n_units == expected
    # Columns that do harm leave even so.
    monkeypatch.setattr(search.validation, "losses", lambda models: np.full(80, float(len(models[0].columns))))
    assert search._picked(choices[0], "polish", sequences).n_units == 1


@pytest.mark.parametrize(
    ("kernel", "most", "seen"), [(RBF(0.1), 3, True), (RBF(0.1), "all", False), (Linear(1.0), 3, False)]
)
def test_held_out_rows_say_which_columns_leave_where_there_is_a_budget(monkeypatch, kernel, most, seen):
    problem = candidate(kernel, Log())
    search, everything = search_of(linear_rows(), Log(), [problem], max_features=most)
    model = choice_of(search, problem, np.array([1, 4]), 2).models[0]
    given = []
    monkeypatch.setattr(_search, "eliminate", lambda *args: given.append(args[-1]))
    for fold in (search.folds[0], everything):
        search._reduced(model, fold, 1)
    assert given == [search.folds[0].test if seen else None, None]


def test_held_out_rows_that_score_a_path_have_no_say_in_its_columns(monkeypatch):
    problem = candidate(RBF(0.1), Log())
    search, _ = search_of(linear_rows(), Log(), [problem], max_features=3)
    choice = replace(choice_of(search, problem, np.array([1, 4]), 2), start=Start(None, 0))
    given = []
    monkeypatch.setattr(_search, "eliminate", lambda *args: given.append(args[-1]))
    search.sequence(choice, search.folds[0])
    assert given == [None]


def test_a_budget_does_not_count_among_many_columns(monkeypatch):
    search, _ = search_of(linear_rows(), Log(), [candidate(RBF(0.1), Log())], max_features=3)
    assert search._has_budget(RBF(0.1)) and not search._has_budget(None)
    monkeypatch.setattr(_search, "FEW_COLUMNS", 7)
    assert not search._has_budget(RBF(0.1))


def test_no_last_look_where_there_is_a_budget(monkeypatch):
    problem = candidate(RBF(0.1), Log())
    search, everything = search_of(linear_rows(), Log(), [problem], max_features=3)
    choice = choice_of(search, problem, np.array([0, 1, 4]), 3)
    monkeypatch.setattr(_search, "ROWS_FOR_PARAMETER", 0)
    assert search.confirmed(choice, choice.models[0], everything) == (choice, choice.models[0])


# Folds that agree.


def test_folds_whose_columns_the_evidence_ranks_choose_the_same_and_all_rows_take_these():
    problem = candidate(RBF("mean"), Squared(), 4, evidence=True)
    search, everything = search_of(product_rows(), Squared(), [problem], n_folds=3)
    choice = search.run()
    columns = choice.models[0].columns
    for model in (*choice.models, search.refit(choice, everything)):
        np.testing.assert_array_equal(model.columns, columns)
        assert model.problem.n_basis == 4
    assert set(columns) >= {0, 3}


def test_noise_that_leaves_late_everywhere_does_not_win_over_a_column_that_never_came_in_in_one_fold():
    line = candidate(Linear(1.0), Log())
    search, _ = search_of(linear_rows(d=100), Log(), [line])
    left_at = [np.full(100, 100) for _ in range(2)]
    left_at[0][[0, 1, 2]] = 1, 2, 3
    left_at[1][[0, 2]] = 1, 3
    choice = replace(choice_of(search, line, np.array([0, 1]), 2), left_at=left_at)
    on_all_rows = [choice_of(search, line, np.array(columns), 0).models[0] for columns in ([0, 1, 2], [0, 1], [0])]
    np.testing.assert_array_equal(agreed_columns(choice, on_all_rows, search.units, search.max_features), [0, 1])


def test_a_polish_of_folds_that_agree_begins_with_the_columns_that_left_last():
    problem = candidate(RBF("mean"), Squared(), 3, evidence=True)
    search, _ = search_of(product_rows(d=9), Squared(), [problem])
    choice = search._eliminated(problem, Start(None, 0), [{}, {}])
    n_wider = min(9, int(np.ceil(1.5 * choice.n_units)))
    np.testing.assert_array_equal(choice.wider, np.flatnonzero(choice.left_at[0] <= n_wider))
    search.validation.records.clear()
    search._polished(choice)
    assert max(record["mean_n_features"] for record in search.validation.records) == n_wider
