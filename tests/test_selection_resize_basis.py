"""Vectors that an l1 penalty takes to zero leave, and new ones come in; the others are fitted anew."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from spkm.kernels import RBF
from spkm.losses import LOSSES, Squared
from spkm.objective import Objective
from spkm.penalties import Evidence, RKHSNorm, RowL2
from spkm.selection import Problem, Submodel, _resize_basis, fit_submodel
from spkm.selection._resize_basis import grow, prune
from spkm.sources import ArraySource
from spkm.starts import KMeans, first_theta
from tests import cases
from tests.interrupting import interrupt_at

COLUMNS = cases.frozen(np.array([0, 2, 3]))
SETTINGS = {
    "rkhs": {"weight_penalties": [RKHSNorm(1e-3)]},
    "evidence": {"evidence": Evidence(noise=0.1, ridge=0.0)},
    "none": {},
}


@cache
def fitted(loss="squared", penalties="rkhs", n_basis=6, m=1, metric="scale"):
    """Return a model of more vectors than it needs, and its rows."""
    loss = LOSSES.resolve(loss)
    X = cases.rows(50, 5)
    F = np.column_stack([np.exp(-(X[:, 0] ** 2)), X[:, 2]])[:, :m]
    Y = np.where(F > np.median(F), 1.0, -1.0) if loss.target == "signs" else F
    source = ArraySource(X, Y)
    problem = Problem(cases.one_view(RBF(0.3), n_basis, metric), loss, **SETTINGS[penalties])
    theta = first_theta(problem.objective(source.columns(COLUMNS)), KMeans(), "ridge", np.random.default_rng(0))
    return fit_submodel(problem, source, COLUMNS, theta, 15, np.random.default_rng(0)), source


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize(("loss", "penalties"), [("squared", "rkhs"), ("log", "rkhs"), ("squared", "evidence")])
def test_fewer_vectors_on_the_same_columns(loss, penalties, m):
    model, source = fitted(loss, penalties, m=m, metric="relevances" if penalties == "evidence" else "scale")
    before = model.theta.copy()
    strength = 0.1 if penalties == "evidence" and m == 2 else 3e-2
    pruned = prune(model, source, strength, np.random.default_rng(0))
    assert 0 < pruned.model.n_basis < 6
    assert pruned.problem.n_basis == pruned.model.n_basis
    np.testing.assert_array_equal(pruned.columns, COLUMNS)
    # The penalty that pruned is not part of what is left, and all other settings are.
    assert not any(isinstance(p, RowL2) for p in pruned.problem.weight_penalties)
    assert pruned.problem.loss is model.problem.loss and pruned.model.terms[0].views == model.model.terms[0].views
    assert np.all(np.isfinite(pruned.predict(source)))
    np.testing.assert_array_equal(model.theta, before)
    # Vectors that are left are refitted without the shrinkage: the objective is that of the problem.
    if penalties == "rkhs":
        objective = pruned.problem.objective(source.columns(COLUMNS))
        assert pruned.objective == pytest.approx(objective.value(pruned.theta), rel=1e-6)


def test_stronger_penalties_leave_fewer_vectors():
    model, source = fitted()
    counts = [prune(model, source, s, np.random.default_rng(0)).model.n_basis for s in (1e-4, 1e-2, 0.1)]
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0]


def test_a_model_that_needs_all_or_would_lose_all_stays():
    model, source = fitted()
    assert prune(model, source, 1e-12, np.random.default_rng(0)) is model
    assert prune(model, source, 1e3, np.random.default_rng(0)) is model


def test_copies_of_a_vector_are_not_needed():
    model, source = fitted(n_basis=2, metric="fixed")
    double = Problem(cases.one_view(RBF(0.3), 4, "fixed"), Squared(), [], [RKHSNorm(1e-3)])
    theta, params = double.objective(source.columns(COLUMNS)).model.zeros()
    old = model.model.unpack(model.theta)
    params.basis[0][...] = np.vstack([old.basis[0], old.basis[0] + 10])  # far vectors, of no use
    params.weights[...] = np.vstack([old.weights, 1e-3 * old.weights])
    params.intercept[...] = old.intercept
    larger = fit_submodel(double, source, COLUMNS, theta, 1, np.random.default_rng(0))
    pruned = prune(larger, source, 1e-3, np.random.default_rng(0))
    assert pruned.model.n_basis <= 2
    assert pruned.objective <= 1.1 * model.objective


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("metric", ["fixed", "relevances"])
def test_new_vectors_beside_the_old_ones_do_no_harm(monkeypatch, metric, m):
    model, source = fitted(n_basis=2, m=m, metric=metric)
    larger = grow(model, source, 5, np.random.default_rng(0))
    assert larger.model.n_basis == larger.problem.n_basis == 5
    np.testing.assert_array_equal(larger.columns, COLUMNS)
    assert larger.objective < model.objective
    # Before they are fitted they have no weight.
    starts = []
    monkeypatch.setattr(_resize_basis, "fit_submodel", lambda *args: starts.append(args))
    grow(model, source, 5, np.random.default_rng(0))
    problem, _, columns, theta = starts[0][:4]
    start = Submodel(problem, columns, problem.objective(source.columns(columns)).model, theta, 0.0)
    np.testing.assert_allclose(start.predict(source), model.predict(source), rtol=1e-12)
    new = start.model.unpack(theta).basis[0][2:]
    assert np.all(np.linalg.norm(new, axis=1) > 0.05) and len(np.unique(new)) == new.size


def test_an_interrupt_is_passed_on(monkeypatch):
    model, source = fitted()
    interrupt_at(monkeypatch, Objective, "value_and_gradient", 3)
    with pytest.raises(KeyboardInterrupt):
        prune(model, source, 3e-2, np.random.default_rng(0))


def test_a_learned_evidence_amounts_to_a_ridge():
    model, source = fitted(penalties="evidence", metric="relevances")
    more = RowL2(0.0)
    penalized = model.problem.penalized(source.total_weight, more)
    assert penalized.evidence is None and penalized.weight_penalties[1] is more
    ridge = replace(penalized, weight_penalties=penalized.weight_penalties[:1])
    objective = ridge.objective(source.columns(COLUMNS))
    # The best weights under the one are those of the other.
    np.testing.assert_allclose(
        objective.eliminated().complete(model.theta[model.model.basis_part]), model.theta, rtol=1e-6
    )
    assert ridge.penalized(60.0, more).weight_penalties == [*ridge.weight_penalties, more]
