"""Solvers: monotone, optimal where that can be known, stoppable, and clear about what they cannot do."""

import itertools
from copy import copy

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from spkm import SPKMRegressor
from spkm.datasets import make_inverse_dynamics
from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Cosine, Huber, Log, Squared, SquaredHinge
from spkm.model import PreimageModel, Term, View
from spkm.objective import Objective
from spkm.penalties import L1, ElasticNet, Evidence, GroupL2, L1Ball, RKHSNorm, RowL2, SquaredL2
from spkm.solvers import LBFGS, Adam, Alternating, Proximal, VarPro, choose_solver
from spkm.solvers._base import Monitor, Stop
from spkm.solvers._lbfgs import descend, stages
from spkm.solvers._proximal import proximal_descent
from spkm.sources import ArraySource
from tests import cases

N, D = 80, 4
RNG = np.random.default_rng(0)
X = cases.frozen(RNG.standard_normal((N, D)))
REAL = cases.frozen((np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.standard_normal(N))[:, None])
SIGNS = cases.frozen(np.where(REAL > 0.1, 1.0, -1.0))
FULL_BATCH = {name: s for name, s in cases.SOLVERS.items() if name != "adam"}


def make(loss=None, kernel=None, n_basis=3, cls=Objective, Y=None, metric="fixed", fit_intercept=True, **penalties):
    loss = loss or Squared()
    Y = (REAL if loss.target == "real" else SIGNS) if Y is None else Y
    model = PreimageModel([Term(n_basis, (View(kernel or RBF(0.3), None, metric),))], D, Y.shape[1], fit_intercept)
    theta, params = model.zeros()
    params.basis[0][...] = X[:n_basis]
    params.weights[...] = np.where(np.arange(n_basis) % 2, -0.5, 0.5)[:, None]
    return cls(model, loss, ArraySource(X, Y), **penalties), cases.frozen(theta)


def run(solver, objective, theta, on_iteration=None):
    return solver.minimize(objective, theta, np.random.default_rng(0), on_iteration)


class FixedBasis(Objective):
    """An objective whose basis does not move: what is left is convex in the weights."""

    def on(self, source):
        other = copy(self)
        other.source = source
        return other

    def value_and_gradient(self, theta):
        value, gradient = super().value_and_gradient(theta)
        gradient[self.model.basis_part] = 0.0
        return value, gradient

    def block_loss(self, block, theta):
        value, gradient = super().block_loss(block, theta)
        gradient[self.model.basis_part] = 0.0
        return value, gradient


def problem(loss, rough):
    penalties = (
        {"basis_penalty": L1(0.01), "weight_penalty": RowL2(0.01)} if rough else {"weight_penalty": RKHSNorm(0.01)}
    )
    return make(loss, metric="scale", metric_prior=0.01, **penalties)


POSSIBLE = [
    pytest.param(solver, loss, rough, id=f"{name}-{loss}-{'rough' if rough else 'smooth'}")
    for name, solver in FULL_BATCH.items()
    for loss in (Squared(), Log(), SquaredHinge(), Huber(0.5))
    for rough in (False, True)
    if solver.refuses(problem(loss, rough)[0]) is None
]


@pytest.mark.parametrize(("solver", "loss", "rough"), POSSIBLE)
def test_the_objective_never_rises(solver, loss, rough):
    objective, theta = problem(loss, rough)
    result = run(solver.__class__(max_iter=25), objective, theta)
    # The weights are solved for, then polished together with the basis: equal to rounding where the two meet.
    assert np.all(np.diff(result.trace) <= 1e-9 * np.abs(result.trace[:-1]))
    assert result.value == pytest.approx(objective.value(result.theta), rel=1e-9)
    assert result.value == pytest.approx(min(result.trace), rel=1e-9)
    assert result.value < objective.value(theta)
    assert not result.interrupted


@pytest.mark.parametrize("name", ["lbfgs", "proximal", "alternating"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_convex_problems_end_where_scikit_learn_does(name, fit_intercept):
    tight = {
        "lbfgs": LBFGS(500, 1e-12),
        "proximal": Proximal(3000, 1e-12),
        "alternating": Alternating(60, 1e-12, basis_steps=0, weight_steps=200),
    }[name]
    strength = 0.02
    # The proximal solver eliminates the weights of a squared loss, so only the other loss is a problem for it.
    for loss in (Log(),) if name == "proximal" else (Squared(), Log()):
        objective, theta = make(loss, cls=FixedBasis, fit_intercept=fit_intercept, weight_penalty=SquaredL2(strength))
        Phi = RBF(0.3)(X, X[:3])
        if isinstance(loss, Squared):
            reference = Ridge(strength * N / 2, fit_intercept=fit_intercept, tol=1e-12).fit(Phi, REAL[:, 0])
        else:
            reference = LogisticRegression(C=1 / (strength * N), fit_intercept=fit_intercept, tol=1e-10).fit(
                Phi, SIGNS[:, 0]
            )
        params = objective.model.unpack(run(tight, objective, theta).theta)
        np.testing.assert_array_equal(params.basis[0], X[:3])
        np.testing.assert_allclose(params.weights[:, 0], np.ravel(reference.coef_), atol=1e-4)
        np.testing.assert_allclose(params.intercept, np.ravel(reference.intercept_), atol=1e-4)


def test_where_steps_without_weights_end_those_with_weights_find_nothing_left():
    objective, theta = make(basis_penalty=L1(0.01), weight_penalty=RKHSNorm(0.01))
    eliminated = run(Proximal(3000, 1e-9), objective, theta)
    assert eliminated.value == pytest.approx(objective.value(eliminated.theta), rel=1e-9)
    assert eliminated.value < 0.9 * objective.value(theta)
    joint = proximal_descent(objective, eliminated.theta, 500, 0.0)
    assert joint.value == pytest.approx(eliminated.value, rel=1e-4)


def test_lasso_on_the_weights_ends_where_scikit_learn_does():
    objective, theta = make(cls=FixedBasis, n_basis=12, weight_penalty=L1(0.05))
    params = objective.model.unpack(run(Proximal(5000, 1e-13), objective, theta).theta)
    reference = Lasso(0.025, tol=1e-12, max_iter=100_000).fit(RBF(0.3)(X, X[:12]), REAL[:, 0])
    np.testing.assert_allclose(params.weights[:, 0], reference.coef_, atol=1e-4)
    np.testing.assert_array_equal(params.weights[:, 0] != 0, reference.coef_ != 0)


def test_smooth_solvers_end_at_the_same_objective():
    objective, theta = make(weight_penalty=RKHSNorm(0.01))
    # Alternating steps may lead to another basin: they do here, to a lower one.
    results = [run(s, objective, theta) for s in (LBFGS(500, 1e-8), VarPro(500, 1e-8), Proximal(1000, 1e-8))]
    values = [r.value for r in results]
    np.testing.assert_allclose(values, min(values), rtol=1e-3)
    for result in results[:2]:
        assert result.converged
        assert np.max(np.abs(objective.value_and_gradient(result.theta)[1])) < 1e-3


PENALTY_PAIRS = {
    "l1": (L1(0.03), SquaredL2(0.01)),
    "ball": (L1Ball(1.0), SquaredL2(0.01)),
    "features": (GroupL2(0.02), SquaredL2(0.02)),
    "sparse groups": (GroupL2(0.02, (0, 0, 1, 1), 0.5), SquaredL2(0.02)),
    "both parts": (ElasticNet(0.02, 0.8), RowL2(0.01)),
}


@pytest.mark.parametrize("pair", PENALTY_PAIRS.values(), ids=PENALTY_PAIRS)
@pytest.mark.parametrize("loss", [Squared(), Log()], ids=str)
def test_proximal_solutions_are_fixed_points_with_exact_zeros(pair, loss):
    objective, theta = make(loss, basis_penalty=pair[0], weight_penalty=pair[1])
    result = run(Proximal(1500, 1e-10), objective, theta)
    step = 0.1
    gradient = objective.value_and_gradient(result.theta)[1]
    residual = (result.theta - objective.prox(result.theta - step * gradient, step)) / step
    assert np.max(np.abs(residual)) < 1e-4
    assert 0 < np.count_nonzero(objective.model.unpack(result.theta).basis[0]) < 3 * D
    assert np.isfinite(objective.penalty(result.theta))


@pytest.mark.parametrize("name", ["proximal", "alternating"])
def test_a_start_outside_the_ball_is_brought_inside(name):
    objective, theta = make(basis_penalty=L1Ball(0.5), weight_penalty=SquaredL2(0.01))
    assert objective.value(theta) == np.inf
    result = run(cases.SOLVERS[name], objective, theta)
    assert np.all(np.abs(objective.model.unpack(result.theta).basis[0]).sum(axis=1) <= 0.5 * (1 + 1e-6))
    assert np.isfinite(result.value)


def test_steps_of_parts_that_do_not_move_stay_bounded():
    # Without an intercept its part has no gradient, and nothing but a bound holds its step.
    objective, theta = make(
        kernel=Linear(0.5), fit_intercept=False, basis_penalty=L1(0.01), weight_penalty=SquaredL2(0.01)
    )
    result = proximal_descent(objective, theta, 500, -1.0)
    assert np.all(np.isfinite(result.theta))
    np.testing.assert_array_equal(objective.model.unpack(result.theta).intercept, 0.0)


class Walled(Objective):
    """An objective that is not a number further than a little from where it was first asked for."""

    first = None

    def on(self, source):
        return self

    def value_and_gradient(self, theta):
        self.first = theta.copy() if self.first is None else self.first
        value, gradient = super().value_and_gradient(theta)
        return (
            (value, gradient) if np.max(np.abs(theta - self.first)) < 0.05 else (np.nan, np.full_like(gradient, np.nan))
        )


@pytest.mark.parametrize("solver", [LBFGS(), Proximal()], ids=str)
def test_values_that_are_not_finite_are_backed_off_from(solver):
    objective, theta = make(Log(), cls=Walled, weight_penalty=SquaredL2(0.01))
    result = run(solver, objective, theta)
    assert result.value < objective.value(theta)
    assert np.all(np.isfinite(result.trace))
    assert np.max(np.abs(result.theta - theta)) < 0.05


@pytest.mark.parametrize("solver", [LBFGS(), Proximal()], ids=str)
def test_a_start_that_is_not_finite_is_an_error(solver):
    objective, theta = make(Log(), weight_penalty=SquaredL2(0.01))
    with (
        np.errstate(invalid="ignore", over="ignore"),
        pytest.raises(FloatingPointError, match="not finite at the start"),
    ):
        run(solver, objective, np.full(theta.size, 1e200))


def interrupting(target, method, after):
    """Make a method of an object raise KeyboardInterrupt at one of its calls."""
    original, calls = getattr(target, method), []

    def wrapped(*args, **kwargs):
        calls.append(1)
        if len(calls) == after:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    setattr(target, method, wrapped)


@pytest.mark.parametrize("solver", cases.SOLVERS.values(), ids=cases.SOLVERS)
@pytest.mark.parametrize("after", [3, 5, 12])
def test_ctrl_c_returns_the_best_so_far(solver, after):
    objective, theta = make(weight_penalty=RKHSNorm(0.01))
    # All solvers reach the rows through the model, whatever they minimise.
    interrupting(objective.model, "features", after)
    result = run(solver, objective, theta)
    assert result.interrupted
    assert np.all(np.isfinite(result.theta))
    assert result.value <= objective.value(theta)
    assert objective.value(result.theta) == pytest.approx(result.value, rel=1e-6)


@pytest.mark.parametrize("solver", cases.SOLVERS.values(), ids=cases.SOLVERS)
def test_a_callback_hears_of_progress_and_can_stop_it(solver):
    objective, theta = make(weight_penalty=RKHSNorm(0.01))
    heard = []
    result = run(solver, objective, theta, lambda i, value: heard.append((i, value)) or len(heard) == 3)
    assert [i for i, _ in heard] == [1, 2, 3]
    assert result.interrupted
    assert result.trace[-1] == heard[-1][1]
    assert np.all(np.isfinite(result.theta))


@pytest.mark.parametrize("solver", FULL_BATCH.values(), ids=FULL_BATCH)
def test_too_few_iterations_are_not_convergence(solver):
    objective, theta = make(weight_penalty=RKHSNorm(0.01))
    result = run(solver.__class__(max_iter=3), objective, theta)
    assert not result.converged
    assert not result.interrupted
    assert result.n_iter == 3


def test_the_monitor_keeps_the_best_and_stops_when_progress_ends():
    monitor = Monitor(np.zeros(1), 1.0, 1e-3, None)
    with pytest.raises(Stop):
        for i in range(1, 100):
            monitor.accept(np.full(1, float(i)), max(1.0 - 0.1 * i, 0.5))
    assert monitor.converged
    assert monitor.n_iter == 15
    assert monitor.result().theta == 5.0
    assert monitor.result().value == 0.5


def test_descent_on_a_plain_function():
    scale = np.array([1.0, 10.0, 100.0])
    result = descend(lambda x: (float(scale @ (x - 1) ** 2), 2 * scale * (x - 1)), np.zeros(3), 200, 1e-12, None)
    np.testing.assert_allclose(result.theta, 1.0, atol=1e-6)
    assert result.converged


@pytest.mark.parametrize("loss", [Squared(), Log(), Cosine()], ids=str)
@pytest.mark.parametrize("rough", [False, True])
def test_adam_lowers_the_objective_and_the_same_seed_gives_the_same_bits(loss, rough):
    weights = [] if isinstance(loss, Cosine) else [RKHSNorm(0.01)]
    objective, theta = make(loss, metric="scale", basis_penalty=L1(0.01) if rough else None, weight_penalty=weights)
    first, second = (run(Adam(max_iter=40), objective, theta) for _ in range(2))
    assert first.value < objective.value(theta) - 0.02
    assert first.value == objective.value(first.theta)
    np.testing.assert_array_equal(first.theta, second.theta)
    assert first.trace == second.trace
    other = Adam(max_iter=40).minimize(objective, theta, np.random.default_rng(1))
    assert not np.array_equal(first.theta, other.theta)


def test_adam_makes_exact_zeros():
    objective, theta = make(Log(), basis_penalty=L1(0.02), weight_penalty=SquaredL2(0.01))
    params = objective.model.unpack(run(Adam(max_iter=200), objective, theta).theta)
    assert np.count_nonzero(params.basis[0]) <= 9


def test_adam_comes_near_the_optimum_of_a_convex_problem():
    objective, theta = make(Log(), cls=FixedBasis, weight_penalty=SquaredL2(0.02))
    best = run(LBFGS(500, 1e-12), objective, theta).value
    assert run(Adam(max_iter=100), objective, theta).value < best + 1e-3


def test_adam_halves_of_a_batch_are_the_batch(monkeypatch):
    objective, theta = make(Log())
    block = next(objective.source.batches(30, 1, np.random.default_rng(0), np.float32))
    whole = Adam._loss(objective, block, theta.astype(np.float32))
    monkeypatch.setattr("spkm.solvers._adam.SPLIT_FROM", 0)
    with objective.source.threads(2):
        halves = Adam._loss(objective, block, theta.astype(np.float32))
    assert halves[0] == pytest.approx(whole[0], rel=1e-6)
    np.testing.assert_allclose(halves[1], whole[1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [5, 100, 10_000, 10**6, 10**8])
def test_adam_makes_a_sensible_number_of_steps(n):
    batch, steps = Adam().schedule(n)
    assert 1 <= batch <= min(n, 1024)
    assert steps >= 2000
    assert steps <= max(5000, n // batch)
    assert Adam(max_iter=3, batch_size=10).schedule(100) == (10, 30)


def test_stages_grow_tenfold_to_all_rows():
    source = ArraySource(cases.rows(2500), np.arange(2500.0)[:, None])
    parts = list(stages(source, 10, np.random.default_rng(0)))
    assert [p.n_rows for p in parts] == [10, 100, 1000, 2500]
    assert parts[-1] is source
    for small, large in itertools.pairwise(parts):
        assert set(small.Y[:, 0]) < set(large.Y[:, 0])
    for first_rows in (None, 2500, 9999):
        assert list(stages(source, first_rows, np.random.default_rng(0))) == [source]


def test_stages_end_as_low_as_all_rows_at_once():
    objective, theta = make(weight_penalty=RKHSNorm(0.01))
    staged = run(LBFGS(first_rows=20), objective, theta)
    assert staged.value == pytest.approx(objective.value(staged.theta), rel=1e-9)
    assert staged.value < 1.2 * run(LBFGS(), objective, theta).value


def test_stages_under_the_evidence_find_what_all_rows_at_once_miss():
    X, y = make_inverse_dynamics(7000, random_state=0)
    train, test = slice(0, 5000), slice(5000, None)
    errors = []
    for solver in ("auto", VarPro(basis_rows=20_000)):
        model = SPKMRegressor(20, solver=solver, random_state=0).fit(X[train], y[train])
        errors.append(np.mean(np.square(model.predict(X[test]) - y[test])) / y[test].var())
    assert errors[0] < 0.8 * errors[1]


def test_a_first_stage_of_all_rows_changes_nothing():
    objective, theta = make(weight_penalty=Evidence())
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
    objective, theta = make(
        kernel=kernel, metric="relevances" if kernel.stationary else "fixed", weight_penalty=Evidence()
    )
    result = run(VarPro(), objective, theta)
    assert -5 < result.value < objective.value(objective.start(theta))
    assert np.all(np.isfinite(result.theta))
    assert np.mean((objective.model.predict(objective.source.load((0, N)), result.theta) - REAL) ** 2) < 0.9 * np.var(
        REAL
    )


def test_refusals_say_what_to_do():
    rough, _ = make(basis_penalty=L1())
    log, _ = make(Log())
    evidence, _ = make(weight_penalty=Evidence())
    moving, _ = make(kernel=Linear(1.0), metric="scale", weight_penalty=Evidence())
    weights, _ = make(weight_penalty=L1())
    assert "Use solver='proximal'" in LBFGS().refuses(rough)
    assert "Use solver='proximal'" in VarPro().refuses(rough)
    assert "Use solver='proximal'" in VarPro().refuses(weights)
    assert "Use solver='lbfgs', or loss='squared'" in VarPro().refuses(log)
    assert "stationary" in VarPro().refuses(moving)
    for solver in (LBFGS(), Proximal(), Adam(), Alternating()):
        assert "solver='varpro'" in solver.refuses(evidence)
    assert VarPro().refuses(evidence) is None
    for objective in (rough, log, weights):
        for solver in (Proximal(), Adam(), Alternating()):
            assert solver.refuses(objective) is None


def test_the_choice_of_a_solver(monkeypatch):
    settings = {
        VarPro: [make(weight_penalty=RKHSNorm(0.1)), make(), make(weight_penalty=Evidence())],
        LBFGS: [make(Log(), weight_penalty=RKHSNorm(0.1)), make(Huber())],
        Proximal: [make(basis_penalty=L1()), make(Log(), weight_penalty=RowL2())],
    }
    for solver, objectives in settings.items():
        for objective, _ in objectives:
            assert type(choose_solver(objective)) is solver
            assert choose_solver(objective).refuses(objective) is None
    monkeypatch.setattr("spkm.solvers._auto.ADAM_FROM", N)
    assert type(choose_solver(make(Log())[0])) is Adam
    assert type(choose_solver(make(weight_penalty=Evidence())[0])) is VarPro
