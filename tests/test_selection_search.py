"""The search: it finds what is there, leaves a record, and its decisions hold on all rows."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Log, Squared
from spkm.objective import Objective
from spkm.selection import Fold, Search, _initial_supports, fit_submodel
from spkm.selection._choice import Start, StopSearch
from spkm.selection._elimination import moved
from spkm.selection._validation import scaled_losses
from spkm.sources import ArraySource
from tests import cases
from tests.interrupting import interrupt_at
from tests.small_searches import candidate, fit_for, linear_rows, product_rows, search_of

pytestmark = pytest.mark.usefixtures("careful")


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
    assert {record["stage"] for record in search.validation.records} == {"elimination", "strength"}
    assert {record["mean_n_features"] for record in search.validation.records} == {8.0}


# Records, steps, seeds, all rows.


def test_every_model_that_was_judged_is_in_the_record():
    told = []
    kernels = [candidate(Linear(1.0), Log()), candidate(RBF("mean"), Log(), 2)]
    search, _ = search_of(linear_rows(60), Log(), kernels, on_step=told.append)
    search.run()
    names = ("kernel", "stage", "strength_factor", "mean_n_features", "n_basis", "mean_test_loss", "error_test_loss")
    for record in search.validation.records:
        assert tuple(record) == names
        assert np.isfinite(record["mean_test_loss"]) and record["error_test_loss"] >= 0
        assert 1 <= record["mean_n_features"] <= 8
        assert np.isnan(record["strength_factor"]) == (record["stage"] == "path")
    assert {"path", "elimination", "polish"} <= {record["stage"] for record in search.validation.records}
    assert {record["kernel"] for record in search.validation.records if record["stage"] == "elimination"} == {
        "linear",
        "rbf",
    }
    for kernel in ("linear", "rbf"):
        eliminated = [r for r in search.validation.records if r["stage"] == "elimination" and r["kernel"] == kernel]
        assert min(r["mean_n_features"] for r in eliminated) == 1
    for word in ("path", "elimination", "polish"):
        assert any(word in text for text in told)


def test_a_kernel_has_one_name_in_all_stages():
    search, _ = search_of(linear_rows(60), Log(), [candidate(Linear(1.0), Log())])
    search.run()
    assert {record["kernel"] for record in search.validation.records} == {"linear"}


def test_held_out_losses_of_a_record_are_those_of_the_models():
    search, _ = search_of(linear_rows(), Log(), [candidate(Linear(1.0), Log())])
    choice = search.run()
    rows = [scaled_losses(m, fold.test, Log()) for m, fold in zip(choice.models, search.folds, strict=True)]
    np.testing.assert_array_equal(choice.losses, np.concatenate(rows))
    assert any(
        record["mean_test_loss"] == pytest.approx(np.mean(np.concatenate(rows))) for record in search.validation.records
    )


def test_the_same_seeds_make_the_same_choice():
    def run():
        search, everything = search_of(linear_rows(60, 5), Log(), [candidate(RBF("mean"), Log(), 2)])
        choice = search.run()
        return choice, search.refit(choice, everything), search.validation.records

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
    paths = search.supports.paths(everything, [kernel])
    point = paths[kernel][0][0]
    starts = []

    def keep_start(problem, source, columns, theta, max_iter, rng):
        starts.append((problem, columns, theta))
        return fit_submodel(problem, source, columns, theta, max_iter, rng)

    monkeypatch.setattr(_initial_supports, "fit_submodel", keep_start)
    search.supports.first(search.candidates[0], everything, Start(kernel, point.step), paths, 1.0)
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


def test_a_step_may_ask_to_stop_and_what_was_chosen_is_kept():
    kernels = [candidate(Linear(1.0), Log()), candidate(RBF("mean"), Log(), 2)]
    for asks_at in ("path", "elimination", "polish"):
        told = []

        def on_step(text, asks_at=asks_at, told=told):
            told.append(text)
            return text.startswith(asks_at)

        search, everything = search_of(linear_rows(60), Log(), kernels, on_step=on_step)
        choice = search.run()
        assert isinstance(choice.stopped, StopSearch)
        # All kernels are compared before a choice can be kept, and nothing is done after.
        assert {"elimination with linear", "elimination with rbf"} <= set(told)
        assert not any(text.startswith("size") for text in told)
        model = search.refit(choice, everything)
        assert np.all(np.isfinite(model.predict(everything.train)))
        assert search.confirmed(choice, model, everything) == (choice, model)
    assert search_of(linear_rows(60), Log(), kernels, on_step=lambda text: False)[0].run().stopped is None


def test_a_step_of_the_last_look_may_ask_to_stop():
    told = []
    line = candidate(Linear(1.0), Log())
    search, everything = search_of(linear_rows(200), Log(), [line], on_step=lambda text: told.append(text) or stop)
    stop = False
    choice = search.run()
    assert choice.stopped is None
    stop = True
    model = search.refit(choice, everything)  # what was chosen is carried out
    assert told[-1].startswith("path")
    last, same = search.confirmed(choice, model, everything)
    assert isinstance(last.stopped, StopSearch) and same is model
    assert told[-1].startswith("confirmation")


def test_an_interrupt_after_a_choice_keeps_it(monkeypatch):
    search, everything = search_of(linear_rows(60), Log(), [candidate(Linear(1.0), Log())])
    interrupt_at(monkeypatch, Search, "_polished", 1)
    choice = search.run()
    assert isinstance(choice.stopped, KeyboardInterrupt)
    assert np.all(np.isfinite(search.refit(choice, everything).predict(everything.train)))
