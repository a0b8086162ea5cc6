"""Stages and the evidence; what solvers need, what objectives offer, and which solver is chosen."""

import itertools

import numpy as np
import pytest

from spkm import SPKMRegressor, kernels, losses, penalties
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.datasets import make_inverse_dynamics
from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Huber, Log
from spkm.penalties import L1, Evidence, RKHSNorm, RowL2
from spkm.solvers import LBFGS, Adam, Proximal, Solver, VarPro, choose_solver
from spkm.sources import ArraySource
from tests import cases
from tests.solver_problems import REAL, N, make, run


def test_stages_grow_tenfold_to_all_rows():
    class Watched(ArraySource):
        def samples(self, sizes, rng):
            for part in super().samples(sizes, rng):
                parts.append(part)
                yield part

    source = Watched(cases.rows(2500), cases.targets(losses.Squared(), 2500, 1))
    objective = cases.make_objective(RBF(0.3), losses.Squared(), weight_penalty=RKHSNorm(0.01)).on(source)
    for first_rows, expected in ((10, [10, 100, 1000, 2500]), (None, [2500]), (2500, [2500]), (9999, [2500])):
        parts = []
        run(LBFGS(1, first_rows=first_rows), objective, cases.random_theta(objective.model))
        assert [part.n_rows for part in parts] == expected and parts[-1] is source
        for small, large in itertools.pairwise(parts):
            assert set(small.Y[:, 0]) < set(large.Y[:, 0])


def test_stages_end_as_low_as_all_rows_at_once():
    objective, theta = make(weight_penalty=RKHSNorm(0.01))
    staged = run(LBFGS(first_rows=20), objective, theta)
    assert staged.value == pytest.approx(objective.value(staged.theta), rel=1e-9)
    assert staged.value < 1.2 * run(LBFGS(), objective, theta).value


@pytest.mark.slow
def test_stages_under_the_evidence_have_less_error_than_all_rows_at_once():
    X, y = make_inverse_dynamics(14_000, random_state=0)
    train, test = slice(0, 12_000), slice(12_000, None)
    errors = []
    for solver in ("auto", VarPro(basis_rows=20_000)):
        model = SPKMRegressor(10, solver=solver, random_state=0).fit(X[train], y[train])
        errors.append(np.mean(np.square(model.predict(X[test]) - y[test])) / y[test].var())
    assert errors[0] < 0.8 * errors[1]


def test_a_first_stage_of_all_rows_changes_nothing():
    objective, theta = make(evidence=Evidence())
    rows = objective.source.n_rows
    staged, direct = (run(VarPro(first_rows=first), objective, theta) for first in (rows, None))
    np.testing.assert_array_equal(staged.theta, direct.theta)


def test_a_basis_of_some_rows_gets_the_best_weights_of_all():
    objective, theta = make(weight_penalty=RKHSNorm(0.01))
    result = run(VarPro(basis_rows=20), objective, theta)
    assert result.value == pytest.approx(objective.value(result.theta), rel=1e-9)
    assert result.value < objective.value(theta)
    slope = objective.value_and_gradient(result.theta)[1]
    assert np.abs(slope[objective.model.weights_part]).max() < 1e-8


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(2, 1.0, 0.3), Linear(0.5)], ids=str)
def test_evidence_is_bounded_and_its_weights_are_the_best(kernel):
    objective, theta = make(kernel=kernel, metric="relevances" if kernel.stationary else "fixed", evidence=Evidence())
    result = run(VarPro(), objective, theta)
    assert -5 < result.value < objective.value(objective.start(theta))
    assert np.all(np.isfinite(result.theta))
    assert np.mean((objective.model.predict(objective.source.load((0, N)), result.theta) - REAL) ** 2) < 0.9 * np.var(
        REAL
    )


def table_of_refusals():
    """Return objectives, what they offer, and what each solver says that cannot minimise them."""
    smooth = "it needs penalties with a gradient. Use solver='proximal'."
    quadratic = "it eliminates the weights of a squared loss only. Use solver='lbfgs', or loss='squared'."
    form = "it needs weight_penalty 'rkhs', 'l2', 'evidence' or None and a smooth basis_penalty. Use solver='proximal'."
    evidence = "weight_penalty='evidence' needs squared loss and solver='varpro' (or 'auto')."
    beside = "weight_penalty='evidence' needs squared loss, a smooth basis_penalty and solver='varpro' (or 'auto')."
    always = {"prox", "batches"}
    return {
        "ridge": (make(weight_penalty=RKHSNorm(0.1)), always | {"gradient", "elimination"}, {}),
        "no penalty": (make(), always | {"gradient", "elimination"}, {}),
        "log loss": (make(Log(), weight_penalty=RKHSNorm(0.1)), always | {"gradient"}, {"varpro": quadratic}),
        "rough basis": (make(basis_penalty=L1()), always, {"lbfgs": smooth, "varpro": form}),
        "rough weights": (make(weight_penalty=L1()), always, {"lbfgs": smooth, "varpro": form}),
        "rough, log": (make(Log(), basis_penalty=L1()), always, {"lbfgs": smooth, "varpro": quadratic}),
        "evidence": (
            make(evidence=Evidence()),
            {"elimination"},
            {"lbfgs": evidence, "adam": evidence, "proximal": beside, "alternating": beside},
        ),
    }


@pytest.mark.parametrize("name", table_of_refusals())
@pytest.mark.parametrize("solver", cases.SOLVERS.values(), ids=cases.SOLVERS)
def test_refusals_compare_needs_with_offers_and_say_what_to_do(name, solver):
    (objective, theta), offers, refusals = table_of_refusals()[name]
    assert set(objective.offers) == offers
    kind = next(key for key, other in cases.SOLVERS.items() if type(other) is type(solver))
    assert solver.refuses(objective) == refusals.get(kind)
    assert (solver.refuses(objective) is None) == (set(solver.needs) <= offers)
    if kind not in refusals:  # what is not refused is done
        short = solver.__class__(max_iter=3)
        assert np.all(np.isfinite(run(short, objective, theta).theta))


def test_a_solver_of_ones_own_is_refused_by_what_it_needs():
    class Newton(Solver):
        needs = ("gradient", "elimination")

    for (objective, _), offers, _ in table_of_refusals().values():
        refusal = Newton().refuses(objective)
        assert (refusal is None) == ({"gradient", "elimination"} <= offers)
        assert refusal is None or "solver='" in refusal


def test_the_evidence_learns_bandwidths_of_stationary_kernels_only():
    with pytest.raises(ValueError, match=r"bandwidths of stationary kernels only\. Use learn_bandwidth=False"):
        make(kernel=Linear(1.0), metric="scale", evidence=Evidence())
    make(kernel=Linear(1.0), metric="fixed", evidence=Evidence())


def test_the_choice_of_a_solver():
    settings = {
        VarPro: [make(weight_penalty=RKHSNorm(0.1)), make(), make(evidence=Evidence())],
        LBFGS: [make(Log(), weight_penalty=RKHSNorm(0.1)), make(Huber())],
        Proximal: [make(basis_penalty=L1()), make(Log(), weight_penalty=RowL2())],
    }
    for solver, objectives in settings.items():
        for objective, _ in objectives:
            assert type(choose_solver(objective)) is solver
            assert choose_solver(objective).refuses(objective) is None
    many = ArraySource(cases.rows(50_000), cases.targets(Log(), 50_000, 1))
    assert type(choose_solver(make(Log())[0].on(many))) is Adam
    assert type(choose_solver(make(evidence=Evidence())[0].on(many))) is VarPro


def test_a_solver_that_cannot_is_told_what_it_needs():
    X, Y = np.zeros((4, 2)), np.zeros((4, 1))
    model = PreimageModel([Term(1, (View(kernels.RBF(1.0), None),))], 2, 1)
    objective = Objective(model, losses.Squared(), ArraySource(X, Y), penalties.L1(0.5))
    assert "gradient" not in objective.offers
    assert "penalties with a gradient" in objective.why_not("gradient")
    assert "penalties with a gradient" not in objective.why_not("elimination")
