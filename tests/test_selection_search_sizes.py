"""The search's strengths of the penalty and numbers of basis vectors."""

import numpy as np
import pytest

from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Log, Squared
from spkm.selection import (
    _search,
    _sparse_path,
)
from tests import cases
from tests.small_searches import candidate, choice_of, fit_for, linear_rows, mean_loss, product_rows, search_of

pytestmark = pytest.mark.usefixtures("careful")


def test_the_strength_with_the_lowest_held_out_loss_is_taken():
    line = candidate(Linear(1.0), Log(), factors=(1e4, 100.0, 1.0))
    search, everything = search_of(linear_rows(), Log(), [line])
    choice = search.run()
    tried = {r["strength_factor"]: r["mean_test_loss"] for r in search.validation.records if r["stage"] == "strength"}
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
    monkeypatch.setattr(search.validation, "losses", lambda models: np.ones(80))
    assert search._with_strength(search._judged(choice, "polish", choice.models)).factor == expected


def test_without_an_rkhs_norm_no_factor_is_reported():
    learned = candidate(Polynomial(2, 1.0, 1.0), Squared(), 2, evidence=True, factors=(1.0, 10.0, 100.0))
    search, _ = search_of(product_rows(60), Squared(), [learned])
    assert search.run().factor == 1.0
    assert {r["strength_factor"] for r in search.validation.records if r["stage"] != "path"} == {1.0}


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
    assert "strength" not in {record["stage"] for record in search.validation.records}


def test_vectors_are_added_while_held_out_rows_gain():
    X, Y = product_rows(80)
    problem = candidate(RBF("mean"), Squared(), 2, sizes=(1, 2, 4, 6, 8))
    search, everything = search_of((X, Y), Squared(), [problem], max_features=3)
    choice = search.run()
    sizes = [record["n_basis"] for record in search.validation.records if record["stage"] == "size"]
    assert sizes == [1, 2, 4, 6, 8][: len(sizes)] and len(sizes) >= 3
    assert choice.n_basis in sizes and choice.n_basis > 1
    model = search.refit(choice, everything)
    assert len(model.columns) <= 3 and model.model.n_basis <= choice.n_basis
    assert ("number of basis vectors" in choice.at_edge) == (choice.n_basis == 8)
    assert [r["stage"] for r in search.validation.records][-1] == "pruning"


def test_the_vectors_of_the_elimination_stay_where_fewer_do_not_do(monkeypatch):
    problem = candidate(RBF(0.1), Log(), 6, sizes=(1, 2, 3, 4, 5, 6))
    search, _ = search_of(linear_rows(), Log(), [problem])
    choice = choice_of(search, problem, np.array([1, 4]), 2)
    monkeypatch.setattr(search.validation, "losses", lambda models: np.full(80, 2.0 - (models[0].model.n_basis == 6)))
    choice = search._judged(choice, "polish", choice.models)
    sized = search._sized(choice)
    assert [r["n_basis"] for r in search.validation.records if r["stage"] == "size"] == [1, 2, 3]
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
    assert [r["n_basis"] for r in search.validation.records if r["stage"] == "size"][-1] == 4
