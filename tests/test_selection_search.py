"""The search: it finds what is there, keeps to its budget, leaves a record, and its decisions hold on all rows."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Log, Squared
from spkm.objective import Objective
from spkm.penalties import Evidence, RKHSNorm
from spkm.selection import (
    Candidate,
    Choice,
    FeatureGroups,
    Fold,
    Problem,
    Search,
    Validation,
    _elimination,
    _initial_supports,
    _search,
    _sparse_path,
    fit_submodel,
)
from spkm.selection._choice import Start
from spkm.selection._elimination import moved
from spkm.selection._one_standard_error import mean_and_error
from spkm.selection._validation import scaled_losses
from spkm.sources import ArraySource
from tests import cases
from tests.interrupting import interrupt_at

pytestmark = pytest.mark.usefixtures("careful")


def machine_of(source, kernel, n_basis, loss, evidence=False):
    """Return a problem with numbers that depend on the rows alone."""
    kernel = kernel.resolved(source.dense(), source.w[:, 0])
    metric = "relevances" if evidence else "scale" if kernel.stationary else "fixed"
    terms = cases.one_view(kernel, n_basis, metric)
    if evidence:
        return Problem(terms, loss, evidence=Evidence())
    n = source.total_weight
    return Problem(terms, loss, [], [RKHSNorm(0.1 / n)], metric_prior=3.0 / n)


def candidate(kernel, loss, n_basis=1, evidence=False, **settings):
    return Candidate(
        type(kernel).__name__.lower(),
        cases.one_view(kernel, n_basis, None),
        lambda source, columns, other: machine_of(source, kernel, other or n_basis, loss, evidence),
        **settings,
    )


def linear_rows(n=80, d=8, seed=0):
    """Return rows, and classes by a line in columns 1 and 4."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return cases.frozen(X), cases.frozen(
        np.where(X[:, [1]] - 1.5 * X[:, [4]] + 0.1 * rng.standard_normal((n, 1)) > 0, 1.0, -1.0)
    )


def product_rows(n=100, d=6, seed=0):
    """Return rows, and a target that is the product of columns 0 and 3."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return cases.frozen(X), cases.frozen(X[:, [0]] * X[:, [3]] + 0.05 * rng.standard_normal((n, 1)))


def search_of(
    rows, loss, candidates, *, groups=None, max_features="all", n_folds=2, scorer=None, on_step=None, kind=np.asarray
):
    """Return a search over folds of every other row, and a fold of all rows."""
    X, Y = rows
    d = X.shape[1]
    folds = []
    for k in range(n_folds):
        test = np.arange(len(X)) % n_folds == k
        source = ArraySource(kind(X[~test]), Y[~test])
        folds.append(Fold(source, ArraySource(kind(X[test]), Y[test]), np.random.default_rng(k)))
    judge = Validation(folds, loss, scorer)
    most = d if max_features == "all" else max_features
    search = Search(judge, candidates, FeatureGroups(d, groups), most, True, on_step)
    return search, Fold(ArraySource(kind(X), Y), None, np.random.default_rng(9))


def fit_for(monkeypatch, iterations):
    """Let every fit of a search but those of an elimination have as many iterations."""
    for module in (_search, _initial_supports, _elimination):
        monkeypatch.setattr(module, "FIRST_ITERATIONS", iterations)


# What it finds.


@pytest.mark.parametrize(
    ("kernel", "n_basis", "kind"),
    [
        (Linear(1.0), 1, np.asarray),
        (Linear(1.0), 1, cases.csr),
        (Polynomial(2, 1.0, 1.0), 2, np.asarray),
        (RBF("mean"), 2, cases.csr),
    ],
    ids=["linear", "linear, csr", "polynomial", "rbf, csr"],
)
def test_the_columns_of_a_line(kernel, n_basis, kind):
    search, everything = search_of(linear_rows(), Log(), [candidate(kernel, Log(), n_basis)], kind=kind)
    choice = search.run()
    model = search.refit(choice, everything)
    assert model.columns.tolist() == [1, 4]
    assert choice.n_units == 2 and len(choice.models) == 2
    X, Y = linear_rows(200, seed=5)
    assert np.mean((model.predict(ArraySource(X, Y)) > 0) == (Y > 0)) > 0.93


@pytest.mark.parametrize(
    ("kernel", "n_basis"), [(Polynomial(2, 1.0, 1.0), 4), (RBF("mean"), 6)], ids=["polynomial", "rbf"]
)
def test_the_columns_of_a_product(monkeypatch, kernel, n_basis):
    fit_for(monkeypatch, 40)
    search, everything = search_of(product_rows(), Squared(), [candidate(kernel, Squared(), n_basis)])
    model = search.refit(search.run(), everything)
    assert model.columns.tolist() == [0, 3]
    X, Y = product_rows(200, seed=5)
    assert np.mean((model.predict(ArraySource(X, Y)) - Y) ** 2) < 0.3 * Y.var()


def parity_rows(n=300, d=20, seed=0):
    """Return rows, and the sign of the product of columns 2, 9 and 13."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return cases.frozen(X), cases.frozen(np.sign(X[:, [2]] * X[:, [9]] * X[:, [13]]))


@pytest.mark.parametrize(
    ("kernel", "loss", "evidence", "kind"),
    [
        (Polynomial(3, 1.0, 1.0), Log(), False, cases.csr),
        (RBF("mean"), Log(), False, np.asarray),
        (RBF("mean"), Squared(), False, cases.csr),
        (RBF("mean"), Squared(), True, np.asarray),
    ],
    ids=["polynomial, csr", "rbf", "rbf, squared, csr", "rbf, evidence"],
)
def test_columns_of_which_no_two_tell_anything(monkeypatch, kernel, loss, evidence, kind):
    fit_for(monkeypatch, 40)
    search, everything = search_of(parity_rows(), loss, [candidate(kernel, loss, 8, evidence)], kind=kind)
    choice = search.run()
    assert choice.start.threes
    model = search.refit(choice, everything)
    assert model.columns.tolist() == [2, 9, 13]
    X, Y = parity_rows(seed=5)
    assert np.mean((model.predict(ArraySource(X, Y)) > 0) == (Y > 0)) > 0.85


def test_columns_in_threes_beside_one_with_an_effect_of_its_own(monkeypatch):
    fit_for(monkeypatch, 40)
    X, Y = parity_rows()
    rows = X, Y + X[:, [5]] + 0.1 * np.random.default_rng(1).standard_normal(Y.shape)
    search, everything = search_of(rows, Squared(), [candidate(RBF("mean"), Squared(), 10)])
    choice = search.run()
    assert choice.start.threes and search.refit(choice, everything).columns.tolist() == [2, 5, 9, 13]


def test_columns_in_threes_bring_their_groups_and_keep_the_budget(monkeypatch):
    fit_for(monkeypatch, 40)
    product = candidate(Polynomial(3, 1.0, 1.0), Log(), 8)
    search, everything = search_of(parity_rows(500), Log(), [product], groups=np.arange(20) // 2, max_features=6)
    assert search.refit(search.run(), everything).columns.tolist() == [2, 3, 8, 9, 12, 13]


def test_no_columns_in_threes_where_there_are_none_or_too_many_columns(monkeypatch):
    product = candidate(Polynomial(3, 1.0, 1.0), Log(), 2)
    assert search_of(parity_rows(), Log(), [product])[0].supports._tells_in_threes
    assert not search_of(linear_rows(300, 20), Log(), [product])[0].supports._tells_in_threes
    assert not search_of(parity_rows(), Log(), [product], max_features=None)[0].supports._tells_in_threes
    monkeypatch.setattr(_initial_supports, "MOST_SEEN", 19)
    assert not search_of(parity_rows(), Log(), [product])[0].supports._tells_in_threes


def test_the_kernel_that_fits_wins_the_race(monkeypatch):
    fit_for(monkeypatch, 30)
    kernels = [candidate(Linear(1.0), Squared()), candidate(Polynomial(2, 1.0, 1.0), Squared(), 4)]
    search, _ = search_of(product_rows(), Squared(), kernels)
    assert search.run().candidate.name == "polynomial"
    X, _ = product_rows()
    line = X[:, [0]] - X[:, [3]] + 0.5 * np.random.default_rng(0).standard_normal((len(X), 1))
    search, _ = search_of((X, line), Squared(), kernels)
    assert search.run().candidate.name == "linear"  # the polynomial holds every line: among equals the first


def test_no_selection_keeps_all_columns():
    X, Y = linear_rows()
    kernel = candidate(RBF("mean"), Log(), 2, factors=(10.0, 1.0))
    search, everything = search_of((X, Y), Log(), [kernel], max_features=None)
    choice = search.run()
    for model in (*choice.models, search.refit(choice, everything)):
        np.testing.assert_array_equal(model.columns, np.arange(8))
    assert {record["stage"] for record in search.judge.records} == {"elimination", "strength"}
    assert {record["mean_n_features"] for record in search.judge.records} == {8.0}


# Budget and groups.


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


def mean_loss(search, losses):
    return mean_and_error(losses, search.judge.weight)[0]


def choice_of(search, candidate, columns, n_units):
    """Return a choice of given columns in every fold."""
    models = []
    for fold in search.folds:
        source = fold.train.columns(columns)
        problem = candidate.build(source, None, None)
        theta, params = problem.objective(source).model.zeros()
        params.weights[...] = 1.0
        models.append(fit_submodel(problem, fold.train, columns, theta, 5, fold.rng))
    losses = search.judge.losses(models)
    return Choice(candidate, Start(None, 0), 1.0, n_units, models, losses, mean_loss(search, losses))


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
    monkeypatch.setattr(search.judge, "losses", lambda models: np.ones(80))
    assert search._picked(choices[0], "polish", sequences).n_units == expected
    # Columns that do harm leave even so.
    monkeypatch.setattr(search.judge, "losses", lambda models: np.full(80, float(len(models[0].columns))))
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
    np.testing.assert_array_equal(search._agreed(choice, on_all_rows), [0, 1])


def test_a_polish_of_folds_that_agree_begins_with_the_columns_that_left_last():
    problem = candidate(RBF("mean"), Squared(), 3, evidence=True)
    search, _ = search_of(product_rows(d=9), Squared(), [problem])
    choice = search._eliminated(problem, Start(None, 0), [{}, {}])
    n_wider = min(9, int(np.ceil(1.5 * choice.n_units)))
    np.testing.assert_array_equal(choice.wider, np.flatnonzero(choice.left_at[0] <= n_wider))
    search.judge.records.clear()
    search._polished(choice)
    assert max(record["mean_n_features"] for record in search.judge.records) == n_wider


# Strengths and numbers of vectors.


def test_the_strength_with_the_lowest_held_out_loss_is_taken():
    line = candidate(Linear(1.0), Log(), factors=(1e4, 100.0, 1.0))
    search, everything = search_of(linear_rows(), Log(), [line])
    choice = search.run()
    tried = {r["strength_factor"]: r["mean_test_loss"] for r in search.judge.records if r["stage"] == "strength"}
    assert set(tried) == {1e4, 100.0}  # the elimination was done with 1
    assert mean_loss(search, choice.losses) <= min(tried.values())
    assert choice.factor == 1.0 or mean_loss(search, choice.losses) == tried[choice.factor]
    model = search.refit(choice, everything)
    assert model.problem.weight_penalties[0].strength == pytest.approx(choice.factor * 0.1 / 80)


@pytest.mark.parametrize(("kernel", "expected"), [(RBF(0.1), 1.0), (Linear(1.0), 100.0)])
def test_of_strengths_that_are_as_good_a_kernel_without_a_path_takes_the_default(monkeypatch, kernel, expected):
    problem = candidate(kernel, Log(), factors=(0.1, 1.0, 10.0, 100.0))
    search, _ = search_of(linear_rows(), Log(), [problem])
    choice = choice_of(search, problem, np.array([1, 4]), 2)
    monkeypatch.setattr(search.judge, "losses", lambda models: np.ones(80))
    assert search._with_strength(search._judged(choice, "polish", choice.models)).factor == expected


def test_without_an_rkhs_norm_no_factor_is_reported():
    learned = candidate(Polynomial(2, 1.0, 1.0), Squared(), 2, evidence=True, factors=(1.0, 10.0, 100.0))
    search, _ = search_of(product_rows(60), Squared(), [learned])
    assert search.run().factor == 1.0
    assert {r["strength_factor"] for r in search.judge.records if r["stage"] != "path"} == {1.0}


def test_a_strength_at_the_end_of_the_grid_is_told():
    # Less of a penalty is always better on a line without noise.
    X, _ = linear_rows(120)
    Y = np.asarray(X[:, [1]] - X[:, [4]])
    line = candidate(Linear(1.0), Squared(), factors=(1e4, 1e3))
    search, _ = search_of((X, Y), Squared(), [line])
    choice = search.run()
    assert choice.factor == 1e3 and choice.at_edge == ("strength of the penalty",)
    _search.BEYOND = 2  # the fixture restores it
    search, _ = search_of((X, Y), Squared(), [line])
    assert search.run().factor == pytest.approx(10.0)


def test_the_evidence_has_no_strength_to_try():
    X, Y = product_rows(60)
    problem = candidate(RBF("mean"), Squared(), 4, evidence=True, factors=(100.0, 10.0, 1.0))
    search, _ = search_of((X, Y), Squared(), [problem], max_features=None)
    choice = search.run()
    assert choice.at_edge == ()
    assert "strength" not in {record["stage"] for record in search.judge.records}


def test_vectors_are_added_while_held_out_rows_gain():
    X, Y = product_rows(80)
    problem = candidate(RBF("mean"), Squared(), 2, sizes=(1, 2, 4, 6, 8))
    search, everything = search_of((X, Y), Squared(), [problem], max_features=3)
    choice = search.run()
    sizes = [record["n_basis"] for record in search.judge.records if record["stage"] == "size"]
    assert sizes == [1, 2, 4, 6, 8][: len(sizes)] and len(sizes) >= 3
    assert choice.n_basis in sizes and choice.n_basis > 1
    model = search.refit(choice, everything)
    assert len(model.columns) <= 3 and model.model.n_basis <= choice.n_basis
    assert ("number of basis vectors" in choice.at_edge) == (choice.n_basis == 8)
    assert [r["stage"] for r in search.judge.records][-1] == "pruning"


def test_the_vectors_of_the_elimination_stay_where_fewer_do_not_do(monkeypatch):
    problem = candidate(RBF(0.1), Log(), 6, sizes=(1, 2, 3, 4, 5, 6))
    search, _ = search_of(linear_rows(), Log(), [problem])
    choice = choice_of(search, problem, np.array([1, 4]), 2)
    monkeypatch.setattr(search.judge, "losses", lambda models: np.full(80, 2.0 - (models[0].model.n_basis == 6)))
    choice = search._judged(choice, "polish", choice.models)
    sized = search._sized(choice)
    assert [r["n_basis"] for r in search.judge.records if r["stage"] == "size"] == [1, 2, 3]
    assert sized.n_basis == 0 and sized.models == choice.models


def test_one_vector_where_one_does_it_all():
    X, _ = linear_rows()
    bump = np.where(np.square(X[:, [1, 4]]).sum(axis=1, keepdims=True) < 1, 1.0, -1.0)
    problem = candidate(RBF("mean"), Log(), 2, sizes=(1, 2, 3))
    search, everything = search_of((X, bump), Log(), [problem])
    choice = search.run()
    assert choice.n_basis == 1 and search.refit(choice, everything).model.n_basis == 1


def squares_rows(n=300, d=8, seed=0):
    """Return rows, and classes by a sum of squares of columns 0, 2 and 5, two of them with a minus."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return cases.frozen(X), cases.frozen(np.where(X[:, [0]] ** 2 - X[:, [2]] ** 2 - X[:, [5]] ** 2 > -1, 1.0, -1.0))


def test_a_kernel_with_a_path_grows_where_its_vectors_have_no_room_for_all_columns(monkeypatch):
    monkeypatch.setattr(_sparse_path, "VECTORS_PER_OUTPUT", 1)
    fit_for(monkeypatch, 60)
    problem = candidate(Polynomial(2, 1.0, 1.0), Log(), 1, sizes=(4, 8))
    search, everything = search_of(squares_rows(), Log(), [problem])
    choice = search.run()
    model = search.refit(choice, everything)
    assert choice.n_basis in (4, 8) and model.model.n_basis == choice.n_basis
    assert model.columns.tolist() == [0, 2, 5]
    assert ("number of basis vectors" in choice.at_edge) == (choice.n_basis == 8)
    # So do the models of other numbers of columns, of which one is that of these.
    sequence = search.sequence(choice, everything)
    assert {other.model.n_basis for other in sequence} == {choice.n_basis}
    assert [0, 2, 5] in [other.columns.tolist() for other in sequence]


def test_the_most_vectors_of_a_kernel_with_a_path_are_told(monkeypatch):
    monkeypatch.setattr(_sparse_path, "VECTORS_PER_OUTPUT", 1)
    fit_for(monkeypatch, 60)
    search, _ = search_of(squares_rows(), Log(), [candidate(Polynomial(2, 1.0, 1.0), Log(), 1, sizes=(4,))])
    choice = search.run()
    assert choice.n_basis == 4 and "number of basis vectors" in choice.at_edge


@pytest.mark.parametrize("most", ["all", None])
def test_a_kernel_with_a_path_has_no_more_vectors_than_bring_something(monkeypatch, most):
    fit_for(monkeypatch, 60)
    problem = candidate(Polynomial(2, 1.0, 1.0), Log(), 2, sizes=(4, 8))
    search, everything = search_of(linear_rows(200), Log(), [problem], max_features=most)
    choice = search.run()
    assert choice.n_basis == 0 and search.refit(choice, everything).model.n_basis == 2
    assert [r["n_basis"] for r in search.judge.records if r["stage"] == "size"][-1] == 4


# Records, steps, seeds, all rows.


def test_every_model_that_was_judged_is_in_the_record():
    told = []
    kernels = [candidate(Linear(1.0), Log()), candidate(RBF("mean"), Log(), 2)]
    search, _ = search_of(linear_rows(60), Log(), kernels, on_step=told.append)
    search.run()
    names = ("kernel", "stage", "strength_factor", "mean_n_features", "n_basis", "mean_test_loss", "error_test_loss")
    for record in search.judge.records:
        assert tuple(record) == names
        assert np.isfinite(record["mean_test_loss"]) and record["error_test_loss"] >= 0
        assert 1 <= record["mean_n_features"] <= 8
        assert np.isnan(record["strength_factor"]) == (record["stage"] == "path")
    assert {"path", "elimination", "polish"} <= {record["stage"] for record in search.judge.records}
    assert {record["kernel"] for record in search.judge.records if record["stage"] == "elimination"} == {
        "linear",
        "rbf",
    }
    for kernel in ("linear", "rbf"):
        eliminated = [r for r in search.judge.records if r["stage"] == "elimination" and r["kernel"] == kernel]
        assert min(r["mean_n_features"] for r in eliminated) == 1
    for word in ("path", "elimination", "polish"):
        assert any(word in text for text in told)


def test_a_kernel_has_one_name_in_all_stages():
    search, _ = search_of(linear_rows(60), Log(), [candidate(Linear(1.0), Log())])
    search.run()
    assert {record["kernel"] for record in search.judge.records} == {"linear"}


def test_held_out_losses_of_a_record_are_those_of_the_models():
    search, _ = search_of(linear_rows(), Log(), [candidate(Linear(1.0), Log())])
    choice = search.run()
    rows = [scaled_losses(m, fold.test, Log()) for m, fold in zip(choice.models, search.folds, strict=True)]
    np.testing.assert_array_equal(choice.losses, np.concatenate(rows))
    assert any(
        record["mean_test_loss"] == pytest.approx(np.mean(np.concatenate(rows))) for record in search.judge.records
    )


def test_the_same_seeds_make_the_same_choice():
    def run():
        search, everything = search_of(linear_rows(60, 5), Log(), [candidate(RBF("mean"), Log(), 2)])
        choice = search.run()
        return choice, search.refit(choice, everything), search.judge.records

    (a, model, records), (b, again, others) = run(), run()
    np.testing.assert_array_equal(a.losses, b.losses)
    np.testing.assert_array_equal(model.theta, again.theta)
    np.testing.assert_equal(records, others)


def test_a_refit_looks_at_all_rows():
    line = candidate(Linear(1.0), Squared())
    X, _ = linear_rows()
    Y = cases.frozen(X[:, [1]] - 1.5 * X[:, [4]] + 2.0)
    search, everything = search_of((X, Y), Squared(), [line])
    choice = search.run()
    model = search.refit(choice, everything)
    # The strength is that of all rows, and the objective that on all rows.
    assert model.problem.weight_penalties[0].strength == pytest.approx(0.1 / 80)
    objective = model.problem.objective(everything.train.columns(model.columns))
    assert model.objective == pytest.approx(objective.value(model.theta), rel=1e-6)
    other = Fold(ArraySource(X, -Y), None, np.random.default_rng(9))
    np.testing.assert_allclose(
        search.refit(choice, other).predict(everything.train), -model.predict(everything.train), atol=0.05
    )


@pytest.mark.parametrize("evidence", [False, True])
def test_rows_that_choose_columns_by_themselves_do_not_ask_the_folds(evidence):
    X, _ = linear_rows()
    loss = Squared() if evidence else Log()
    Y = X[:, [1]] - 1.5 * X[:, [4]]
    problem = candidate(RBF("mean"), loss, 2, evidence=evidence)
    search, everything = search_of((X, Y if evidence else np.sign(Y)), loss, [problem])
    others = np.full(8, 8)
    others[[0, 5]] = 1, 2
    choice = replace(search.run(), n_units=2, left_at=[others] * 2)
    pairs = zip(search.folds, choice.models, strict=True)
    choice = replace(choice, models=[moved(m, fold.train, np.array([0, 5]), fold.rng) for fold, m in pairs])
    assert search.refit(choice, everything).columns.tolist() == [0, 5]
    assert search.columns_by_themselves(choice, everything).tolist() == [1, 4]


def test_a_sequence_goes_down_to_one_unit():
    search, everything = search_of(linear_rows(), Log(), [candidate(RBF("mean"), Log(), 2)])
    choice = search.run()
    models = search.sequence(choice, everything)
    counts = [len(model.columns) for model in models]
    assert counts[-1] == 1 and counts == sorted(counts, reverse=True)
    for before, after in pairwise(models):
        assert set(after.columns) < set(before.columns)


@pytest.mark.parametrize("gamma", [1.0, 0.25, 3.0])
def test_a_fit_from_a_path_begins_with_the_paths_own_predictions(monkeypatch, gamma):
    # A kernel whose gamma the user gives has its path with that gamma.
    kernel = Polynomial(2, 1.0, gamma)
    search, everything = search_of(linear_rows(), Log(), [candidate(kernel, Log(), 4)])
    paths = search.race.paths(everything, [kernel])
    point = paths[kernel][0][0]
    starts = []

    def keep_start(problem, source, columns, theta, max_iter, rng):
        starts.append((problem, columns, theta))
        return fit_submodel(problem, source, columns, theta, max_iter, rng)

    monkeypatch.setattr(_initial_supports, "fit_submodel", keep_start)
    search.race.first(search.candidates[0], everything, Start(kernel, point.step), paths, 1.0)
    problem, columns, theta = starts[0]
    model = problem.objective(everything.train.columns(columns)).model
    F = model.predict(everything.train.columns(columns).load((0, 80)), theta)
    np.testing.assert_allclose(F, point.predict(everything.train), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("call", [1, 20, 100])
def test_an_interrupt_ends_the_search(monkeypatch, call):
    # Solvers keep what they have when they are interrupted; a search that went on would need one Ctrl-C for each fit.
    search, _ = search_of(linear_rows(), Log(), [candidate(RBF("mean"), Log(), 2)])
    interrupt_at(monkeypatch, Objective, "value_and_gradient", call)
    with pytest.raises(KeyboardInterrupt):
        search.run()


def test_a_scorer_decides_alone():
    # One likes models of many columns, the other of few, whatever their losses are.
    for sign, n_columns in ((1.0, 8), (-1.0, 1)):
        search, everything = search_of(
            linear_rows(60),
            Log(),
            [candidate(Polynomial(2, 1.0, 1.0), Log(), 2)],
            scorer=lambda model, fold, sign=sign: sign * len(model.columns),
        )
        assert len(search.refit(search.run(), everything).columns) == n_columns


def test_a_target_of_nothing_is_no_error():
    X, Y = product_rows(40)
    for kernel in (Linear(1.0), RBF("mean")):
        search, everything = search_of((X, np.zeros_like(Y)), Squared(), [candidate(kernel, Squared(), 2)])
        model = search.refit(search.run(), everything)
        np.testing.assert_allclose(model.predict(everything.train), 0, atol=1e-3)
