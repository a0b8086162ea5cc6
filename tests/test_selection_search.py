"""The search: it finds what is there, leaves a record, and its decisions hold on all rows."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from spkm.core.objective import Objective
from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Log, Squared
from spkm.selection import DEFAULTS, Fold, Search, Validation
from spkm.sources import ArraySource
from tests import cases
from tests.interrupting import interrupt_at
from tests.small_searches import candidate, choice_of, linear_rows, product_rows, search_of

pytestmark = pytest.mark.usefixtures("careful")
#: Iterations with which fits find what is there; the empty model competes.
CAREFUL = {"path_iterations": 60, "first_iterations": 40, "refit_iterations": 10}
CAREFUL |= {"chance": DEFAULTS.chance, "empty_chance": DEFAULTS.empty_chance}


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
def test_the_columns_of_a_product(kernel, n_basis):
    search, everything = search_of(product_rows(), Squared(), [candidate(kernel, Squared(), n_basis)], **CAREFUL)
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
def test_columns_of_which_no_two_tell_anything(kernel, loss, evidence, kind):
    search, everything = search_of(parity_rows(), loss, [candidate(kernel, loss, 8, evidence)], kind=kind, **CAREFUL)
    model = search.refit(search.run(), everything)
    assert model.columns.tolist() == [2, 9, 13]
    X, Y = parity_rows(seed=5)
    assert np.mean((model.predict(ArraySource(X, Y)) > 0) == (Y > 0)) > 0.85


def test_a_wiggly_effect_of_one_feature_among_many():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 30))
    rows = cases.frozen(X), cases.frozen(np.sign(np.sin(4 * X[:, [7]])))
    search, everything = search_of(rows, Log(), [candidate(RBF("mean"), Log(), 10)], **CAREFUL)
    assert search.refit(search.run(), everything).columns.tolist() == [7]


# Held-out samples have no say in what they judge.


@pytest.mark.parametrize(
    ("kernel", "loss", "evidence"),
    [
        (Linear(1.0), Log(), False),
        (Polynomial(2, 1.0, 1.0), Log(), False),
        (RBF("mean"), Log(), False),
        (RBF("mean"), Squared(), True),
    ],
    ids=["linear", "polynomial", "rbf", "rbf, evidence"],
)
def test_other_held_out_targets_leave_the_models_of_their_fold_as_they_are(kernel, loss, evidence):
    X, Y = linear_rows(90, 12)
    problem = candidate(kernel, loss, 4, evidence)

    def models_of_first_fold(targets):
        search, _ = search_of((X, targets), loss, [problem], n_folds=3, max_features=5)
        search.run()
        search, _ = search_of((X, targets), loss, [problem], n_folds=3, max_features=5)
        return search.sequence_of(problem, search.folds[0]), search.folds[0]

    models, fold = models_of_first_fold(Y)
    noise = np.array(Y)
    noise[::3] = np.random.default_rng(1).choice([-1.0, 1.0], size=noise[::3].shape)
    others, same = models_of_first_fold(noise)
    assert np.any(fold.test.Y != same.test.Y) and np.array_equal(fold.train.Y, same.train.Y)
    assert len(models) == len(others)
    for model, other in zip(models, others, strict=True):
        np.testing.assert_array_equal(model.columns, other.columns)
        np.testing.assert_array_equal(model.theta, other.theta)


def test_the_models_that_a_search_judges_are_those_of_training_samples_alone():
    # In the search itself, not in a step of it: every model of the first fold, whatever its held-out targets are.
    X, Y = linear_rows(90, 12)
    problem = candidate(RBF("mean"), Log(), 3, tries_strengths=True)

    def judged(targets):
        seen = []

        class Watched(Validation):
            def losses(self, models):
                seen.append(models[0])
                return super().losses(models)

        search, _ = search_of((X, targets), Log(), [problem], n_folds=3, validation=Watched)
        search._eliminated(problem, [])
        return seen

    noise = np.array(Y)
    noise[::3] = np.random.default_rng(1).choice([-1.0, 1.0], size=noise[::3].shape)
    before, after = {m.theta.tobytes() for m in judged(Y)}, {m.theta.tobytes() for m in judged(noise)}
    assert before == after


def test_no_model_of_a_whole_search_depends_on_the_held_out_targets_of_its_fold():
    # Held-out samples decide which kernels are given up and whether vectors are added; the models must not notice.
    X, _ = linear_rows(120, 6)
    Y = X[:, [0]] * X[:, [1]] + X[:, [2]] * X[:, [3]]
    kernels = [(Polynomial(2, 1.0, 1.0), 2, (4,)), (Polynomial(1, 1.0, 1.0), 2, ()), (RBF("mean"), 1, ())]
    candidates = [candidate(kernel, Squared(), n_basis, sizes=sizes) for kernel, n_basis, sizes in kernels]
    candidates = [replace(c, name=f"{c.name} {i}") for i, c in enumerate(candidates)]

    def models_of_second_fold(targets, clearly):
        seen = {}

        class Watched(Search):
            def sequence_of(self, candidate, fold, least=1, n_basis=None, factor=1.0):
                sequence = super().sequence_of(candidate, fold, least, n_basis, factor)
                if fold is self.folds[1]:
                    seen[candidate.name, n_basis] = b"".join(model.theta.tobytes() for model in sequence)
                return sequence

        settings = {"n_folds": 3, "first_iterations": 40, "clearly": clearly}
        search, _ = search_of((X, targets), Squared(), candidates, search=Watched, **settings)
        search.run()
        return seen

    noise = np.array(Y)
    noise[1::3] = np.random.default_rng(1).standard_normal(noise[1::3].shape)
    before = models_of_second_fold(Y, np.inf)
    assert ("polynomial 0", 4) in before  # two products need four vectors of degree 2
    for others in (models_of_second_fold(noise, np.inf), models_of_second_fold(Y, 0.0)):
        common = before.keys() & others.keys()
        assert len(common) >= 2
        assert {key: before[key] for key in common} == {key: others[key] for key in common}


# The empty model.


@pytest.mark.parametrize("loss", [Log(), Squared()], ids=["classes", "real"])
def test_nothing_is_found_in_noise(loss):
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((60, 8)), rng.standard_normal((60, 1))
        rows = cases.frozen(X), cases.frozen(np.sign(Y) if loss.target == "signs" else Y)
        kernels = [candidate(Linear(1.0), loss), candidate(RBF("mean"), loss, 4)]
        search, everything = search_of(rows, loss, kernels, n_folds=4, **CAREFUL)
        choice = search.run()
        found += not choice.is_empty
        if choice.is_empty:
            model = search.refit(choice, everything)
            F = model.predict(everything.train)
            assert np.all(F == F[0]) and not search.fold_frequencies(choice).any()
            assert search.columns_by_themselves(choice, everything).size == 0
    # Of six draws at a chance of 5 % each, three or more happen twice in a thousand times.
    assert found < 3


def test_the_empty_model_is_the_best_constant():
    X, _ = linear_rows()
    Y = np.where(np.arange(80)[:, None] % 4 == 0, 1.0, -1.0)
    search, everything = search_of((X, Y), Log(), [candidate(Linear(1.0), Log())])
    choice = replace(choice_of(search, search.candidates[0], np.array([1]), 1), is_empty=True)
    F = search.refit(choice, everything).predict(everything.train)
    np.testing.assert_allclose(F, np.log(1 / 3), atol=1e-4)
    search, everything = search_of((X, X[:, [2]] + 3.0), Squared(), [candidate(Linear(1.0), Squared())])
    choice = replace(choice_of(search, search.candidates[0], np.array([1]), 1), is_empty=True)
    F = search.refit(choice, everything).predict(everything.train)
    np.testing.assert_allclose(F, X[:, 2].mean() + 3.0, atol=1e-9)


def test_frequencies_are_shares_of_folds():
    search, _ = search_of(linear_rows(), Log(), [candidate(Linear(1.0), Log())])
    choice = search.run()
    shares = np.mean([np.isin(np.arange(8), model.columns) for model in choice.models], axis=0)
    np.testing.assert_array_equal(search.fold_frequencies(choice), shares)


def test_the_kernel_that_fits_wins_the_race():
    kernels = [candidate(Linear(1.0), Squared()), candidate(Polynomial(2, 1.0, 1.0), Squared(), 4)]
    search, _ = search_of(product_rows(), Squared(), kernels, **CAREFUL)
    assert search.run().candidate.name == "polynomial"
    X, _ = product_rows()
    line = X[:, [0]] - X[:, [3]] + 0.5 * np.random.default_rng(0).standard_normal((len(X), 1))
    search, _ = search_of((X, line), Squared(), kernels, **CAREFUL)
    assert search.run().candidate.name == "linear"  # the polynomial holds every line: among equals the first


def test_no_selection_keeps_all_columns():
    X, Y = linear_rows()
    kernel = candidate(RBF("mean"), Log(), 2, tries_strengths=True)
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
    search, _ = search_of(linear_rows(60), Log(), kernels, on_step=told.append, clearly=np.inf)
    search.run()
    names = ("kernel", "stage", "strength_factor", "mean_n_features", "n_basis", "mean_test_loss", "error_test_loss")
    for record in search.validation.records:
        assert tuple(record) == names
        assert np.isfinite(record["mean_test_loss"]) and record["error_test_loss"] >= 0
        assert (record["mean_n_features"] == 0) == (record["stage"] == "empty model")
        assert record["mean_n_features"] <= 8
    assert {record["stage"] for record in search.validation.records} == {"elimination", "empty model"}
    assert {record["kernel"] for record in search.validation.records if record["stage"] == "elimination"} == {
        "linear",
        "rbf",
    }
    for kernel in ("linear", "rbf"):
        eliminated = [r for r in search.validation.records if r["stage"] == "elimination" and r["kernel"] == kernel]
        assert min(r["mean_n_features"] for r in eliminated) == 1
    for name in ("linear", "rbf"):
        assert any(text.endswith(f"elimination with {name}") for text in told)
    shares = [int(text.split(" %")[0]) for text in told]
    assert shares == sorted(shares) and shares[-1] <= 100


def test_a_kernel_has_one_name_in_all_stages():
    search, _ = search_of(linear_rows(60), Log(), [candidate(Linear(1.0), Log())])
    search.run()
    assert {record["kernel"] for record in search.validation.records} == {"linear"}


def test_held_out_losses_of_a_record_are_those_of_the_models():
    search, _ = search_of(linear_rows(), Log(), [candidate(Linear(1.0), Log())])
    choice = search.run()
    rows = [Validation([fold], Log()).losses([m]) for m, fold in zip(choice.models, search.folds, strict=True)]
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


def test_rows_that_choose_columns_by_themselves_do_not_ask_the_folds():
    search, everything = search_of(linear_rows(), Log(), [candidate(RBF("mean"), Log(), 2)])
    others = np.full(8, 9)
    others[[0, 5]] = 1, 2
    choice = replace(search.run(), n_units=2, left_at=[others] * 2)
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


@pytest.mark.parametrize("call", [1, 10, 40])
def test_an_interrupt_ends_the_search(call):
    # Solvers keep what they have when they are interrupted; a search that went on would need one Ctrl-C for each fit.
    search, _ = search_of(linear_rows(), Log(), [candidate(RBF("mean"), Log(), 2)])
    with interrupt_at(Objective.value_and_gradient, call), pytest.raises(KeyboardInterrupt):
        search.run()


def test_a_scorer_decides_alone():
    # One likes models of many columns, the other of few, whatever their losses are.
    for sign, n_columns in ((1.0, 8), (-1.0, 1)):
        search, everything = search_of(
            linear_rows(60),
            Log(),
            [candidate(RBF("mean"), Log(), 2)],
            scorer=lambda model, fold, sign=sign: sign * len(model.columns),
        )
        assert len(search.refit(search.run(), everything).columns) == n_columns


def test_a_target_of_nothing_is_no_error():
    X, Y = product_rows(40)
    for kernel in (Linear(1.0), RBF("mean")):
        search, everything = search_of((X, np.zeros_like(Y)), Squared(), [candidate(kernel, Squared(), 2)])
        model = search.refit(search.run(), everything)
        np.testing.assert_allclose(model.predict(everything.train), 0, atol=1e-3)


def test_a_step_may_ask_to_stop_and_the_best_so_far_is_kept():
    kernels = [candidate(Linear(1.0), Log()), candidate(RBF("mean"), Log(), 2)]
    for asks_at in ("linear", "rbf"):
        told = []

        def on_step(text, asks_at=asks_at, told=told):
            told.append(text)
            return text.endswith(asks_at)

        search, everything = search_of(linear_rows(60), Log(), kernels, on_step=on_step)
        choice = search.run()
        assert choice.stopped is not None and not isinstance(choice.stopped, KeyboardInterrupt)
        assert choice.candidate.name == "linear"
        # The first kernel is carried to its end, so that there is a choice to keep; nothing more is done after.
        expected = 2 * ["elimination with linear"] + (asks_at == "rbf") * ["elimination with rbf"]
        assert [text.split(": ")[1] for text in told] == expected
        assert np.all(np.isfinite(search.refit(choice, everything).predict(everything.train)))
    assert search_of(linear_rows(60), Log(), kernels, on_step=lambda text: False)[0].run().stopped is None


def test_an_interrupt_after_a_choice_keeps_it():
    kernels = [candidate(Linear(1.0), Log()), candidate(RBF("mean"), Log(), 2)]
    search, everything = search_of(linear_rows(60), Log(), kernels)
    with interrupt_at(Search._eliminated, 2):
        choice = search.run()
    assert isinstance(choice.stopped, KeyboardInterrupt) and choice.candidate.name == "linear"
    assert np.all(np.isfinite(search.refit(choice, everything).predict(everything.train)))


# Numbers of basis vectors.


def test_a_number_of_vectors_is_chosen_by_held_out_samples():
    kernel = candidate(RBF("mean"), Squared(), 1, sizes=(1, 2, 6))
    search, everything = search_of(product_rows(), Squared(), [kernel], max_features=None, **CAREFUL)
    choice = search.run()
    assert choice.n_basis > 1 and search.refit(choice, everything).model.n_basis == choice.n_basis
    assert {r["n_basis"] for r in search.validation.records if r["stage"] == "size"} == {1, 2, 6}
    assert ("number of basis vectors" in choice.at_edge) == (choice.n_basis == 6)
