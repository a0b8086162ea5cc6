"""The last look on all rows: what is missing comes in, what may be chance leaves, held-out rows have a say."""

from dataclasses import replace

import numpy as np
import pytest

from spkm.kernels import Linear, Polynomial
from spkm.losses import Log, SquaredHinge
from spkm.penalties import RKHSNorm
from spkm.selection import Candidate, FeatureGroups, Fold, Problem, Search, Validation, fit_submodel
from spkm.selection._confirmation import ENTERS, confirm
from spkm.sources import ArraySource
from tests import cases

pytestmark = pytest.mark.usefixtures("careful")
D = 12


def rows_of(n=400, flipped=0.0, seed=0):
    """Return rows, and classes by a line in columns 1, 4 and, little, 7."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    signs = np.where(X[:, [1]] - 1.5 * X[:, [4]] + 0.4 * X[:, [7]] > 0, 1.0, -1.0)
    return cases.frozen(X), cases.frozen(np.where(rng.random((n, 1)) < flipped, -signs, signs))


def problem(kernel=None, loss=None, n_basis=1):
    return Problem(cases.one_view(kernel or Linear(1.0), n_basis, "fixed"), loss or Log(), [], [RKHSNorm(1e-4)])


FIRM = problem().with_factor(100.0)


def model_on(columns, source, settings=None):
    settings = settings or problem()
    columns = np.asarray(columns)
    model = settings.objective(source.columns(columns), columns).model
    theta = 0.3 * np.random.default_rng(0).standard_normal(model.n_params)
    return fit_submodel(settings, source, columns, theta, 100, np.random.default_rng(0))


def confirmed(columns, source, units=None, allowed=None, settings=None):
    allowed = np.arange(D) if allowed is None else allowed
    model = model_on(columns, source, settings)
    return confirm(model, source, units or FeatureGroups(D), allowed, np.random.default_rng(0)).columns.tolist()


@pytest.mark.parametrize("settings", [problem(), problem(Polynomial(2, 1.0, 1.0), n_basis=2)], ids=["line", "square"])
@pytest.mark.parametrize("before", [[1, 4], [1, 4, 7], [1, 2, 4], [1]], ids=str)
def test_what_is_missing_comes_in_and_noise_leaves(settings, before):
    assert confirmed(before, ArraySource(*rows_of()), settings=settings) == [1, 4, 7]


def test_columns_that_are_not_allowed_stay_outside():
    source = ArraySource(*rows_of())
    assert confirmed([1, 4], source, allowed=np.delete(np.arange(D), 7)) == [1, 4]


def test_a_group_comes_in_as_a_whole_and_one_unit_is_always_left():
    source = ArraySource(*rows_of())
    assert confirmed([0, 1, 4, 5], source, FeatureGroups(D, np.arange(D) // 2)) == [0, 1, 4, 5, 6, 7]
    X, Y = rows_of(flipped=0.5)
    assert len(confirmed([0, 2, 3], ArraySource(X, Y))) == 1


def test_noise_comes_in_as_seldom_as_said():
    wrong = 0
    for seed in range(40):
        found = confirmed([1, 4, 7], ArraySource(*rows_of(flipped=0.15, seed=seed)))
        wrong += len(set(found) - {1, 4, 7}) > 0
    assert wrong <= 40 * ENTERS + 3


def test_a_row_of_weight_two_counts_as_two():
    X, Y = rows_of(200, flipped=0.1)
    weight = np.random.default_rng(0).integers(1, 3, len(X))
    repeated = ArraySource(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    assert confirmed([1, 2], ArraySource(X, Y, weight.astype(float))) == confirmed([1, 2], repeated)


def search_of(X, Y, loss, scorer=None, max_features=D, factors=(1.0,)):
    line = Candidate("linear", cases.one_view(Linear(1.0), 1, "fixed"), lambda *_: problem(loss=loss), factors)
    half = len(X) // 2
    fold = Fold(ArraySource(X[:half], Y[:half]), ArraySource(X[half:], Y[half:]), np.random.default_rng(0))
    search = Search(Validation([fold], loss, scorer), [line], FeatureGroups(D), max_features)
    return search, Fold(ArraySource(X, Y), None, np.random.default_rng(1))


def choice_on(search, columns):
    """Return the choice of a search as if it had ended with the given columns."""
    choice = search.run()
    model = model_on(columns, search.folds[0].train, problem(loss=search.loss))
    return search._judged(replace(choice, n_units=len(columns)), "polish", [model])


def test_the_choice_and_its_model_change_together():
    search, everything = search_of(*rows_of(), Log())
    before = choice_on(search, [1, 4])
    choice, model = search.confirmed(before, before.models[0], everything)
    assert model.columns.tolist() == choice.models[0].columns.tolist() == [1, 4, 7]
    assert choice.n_units == 3 and choice.losses.mean() < before.losses.mean()
    assert (
        search.validation.records[-1]["stage"] == "confirmation"
        and search.validation.records[-1]["mean_n_features"] == 3
    )
    # The model of the split is that of its own rows.
    again = model_on([1, 4, 7], search.folds[0].train)
    assert choice.models[0].objective == pytest.approx(again.objective, rel=0.01)


def test_strengths_are_tried_again_on_new_columns():
    search, everything = search_of(*rows_of(), Log(), factors=(100.0, 1.0))
    before = choice_on(search, [1, 4])
    strong = search._judged(replace(before, factor=100.0), "strength", [model_on([1, 4], search.folds[0].train, FIRM)])
    choice, model = search.confirmed(strong, strong.models[0], everything)
    assert model.columns.tolist() == [1, 4, 7] and choice.factor < 100
    for found in (model, choice.models[0]):
        assert found.problem.weight_penalties[0].strength == pytest.approx(1e-4 * choice.factor)


def test_held_out_rows_may_object():
    X, Y = rows_of()
    noise = np.random.default_rng(3).choice([-1.0, 1.0], (200, 1))
    search, everything = search_of(X, np.vstack([Y[:200], noise]), Log())  # a line that holds for the first rows alone
    before = choice_on(search, [1])
    assert search.confirmed(before, before.models[0], everything) == (before, before.models[0])


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": SquaredHinge()},
        {"loss": Log(), "scorer": lambda model, fold: 0.0},
        {"loss": Log(), "max_features": 2},
    ],
    ids=["no likelihood", "a scorer judges", "budget"],
)
def test_no_last_look_where_it_cannot_decide(settings):
    search, everything = search_of(*rows_of(), **settings)
    before = choice_on(search, [1, 4])
    assert search.confirmed(before, before.models[0], everything) == (before, before.models[0])


def test_few_rows_are_no_judge():
    search, everything = search_of(*rows_of(30), Log())
    before = choice_on(search, [1, 2, 4, 5])
    assert search.confirmed(before, before.models[0], everything) == (before, before.models[0])


def test_an_interruption_keeps_what_was_there(monkeypatch):
    search, everything = search_of(*rows_of(), Log())
    before = choice_on(search, [1, 4])

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("spkm.selection._search.confirm", interrupted)
    choice, model = search.confirmed(before, before.models[0], everything)
    assert isinstance(choice.stopped, KeyboardInterrupt) and before.stopped is None
    assert replace(choice, stopped=None) == before and model is before.models[0]
    # A search that was stopped has no last look.
    assert search.confirmed(choice, model, everything) == (choice, model)
