"""Solvers: monotone, optimal where that can be known, and stoppable."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from spkm import SPKMRegressor
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.kernels import RBF, Linear
from spkm.losses import Cosine, Huber, Log, Squared, SquaredHinge
from spkm.penalties import L1, ElasticNet, GroupL2, L1Ball, RKHSNorm, RowL2, SquaredL2
from spkm.solvers import LBFGS, Adam, Alternating, Monitor, Proximal, Stop, VarPro, proximal_descent
from spkm.sources import ArraySource
from tests import cases
from tests.solver_problems import FULL_BATCH, REAL, SIGNS, D, FixedBasis, N, X, make, run


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
    # Penalties strong enough for the descent to end: along a flat valley there is always something left.
    objective, theta = make(basis_penalty=L1(0.03), weight_penalty=SquaredL2(0.01))
    eliminated = run(Proximal(5000, 1e-9), objective, theta)
    assert eliminated.converged
    assert eliminated.value == pytest.approx(objective.value(eliminated.theta), rel=1e-9)
    assert eliminated.value < 0.9 * objective.value(theta)
    joint = proximal_descent(objective, eliminated.theta, 200, 0.0)
    assert joint.value == pytest.approx(eliminated.value, rel=1e-8)


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


BOXED = {
    "smooth": {"basis_penalty": SquaredL2(0.02), "weight_penalty": SquaredL2(0.05)},
    "l1": {"basis_penalty": L1(0.03), "weight_penalty": SquaredL2(0.02)},
    "ball": {"basis_penalty": L1Ball(1.0), "weight_penalty": SquaredL2(0.02)},
    "features": {"basis_penalty": GroupL2(0.02), "weight_penalty": SquaredL2(0.02)},
    "rows": {"basis_penalty": GroupL2(0.02, (0, 0, 1, 1), 0.5), "weight_penalty": RowL2(0.02)},
}
TIGHT = {
    "lbfgs": LBFGS(300, 0.0),
    "varpro": VarPro(300, 0.0, polish=100),
    "proximal": Proximal(1000, 0.0),
    "alternating": Alternating(50, 0.0),
}
#: Share of the first step that may be left. Rounds of alternating steps come near slowly.
LEFT = {"lbfgs": 1e-2, "varpro": 1e-2, "proximal": 1e-2, "alternating": 0.2}


@pytest.mark.parametrize("loss", [Squared(), Log()], ids=str)
@pytest.mark.parametrize("penalties", BOXED.values(), ids=BOXED)
@pytest.mark.parametrize("boxed", [False, True], ids=["free", "bounded"])
def test_every_solver_ends_at_a_stationary_point_and_says_so(loss, penalties, boxed):
    objective, theta = make(loss, **penalties)
    if boxed:  # narrow enough to bind
        low, high = (np.full(theta.size, side) for side in (-np.inf, np.inf))
        objective.model.unpack(low).basis[0][...], objective.model.unpack(high).basis[0][...] = -0.3, 0.25
        objective.box = low, high
    theta = objective.prox(theta, 1e-300)
    gradient = objective.value_and_gradient(theta)[1]
    first = np.linalg.norm(theta - objective.prox(theta - gradient, 1.0))
    for name, solver in TIGHT.items():
        if solver.refuses(objective) is not None:
            continue
        result = run(solver, objective, theta)
        gradient = objective.value_and_gradient(result.theta)[1]
        left = np.linalg.norm(result.theta - objective.prox(result.theta - gradient, 1.0))
        assert result.stationarity == pytest.approx(left, rel=1e-4, abs=1e-8), name
        # A prox that is clipped afterwards would leave 2e-3 and 2e-2 with the ball, and 9e-3 with features.
        exact = name == "proximal" and penalties is not BOXED["smooth"]
        assert left < (1e-5 if exact else LEFT[name]) * first, name


def test_adam_and_interrupted_descents_say_how_far_they_are():
    objective, theta = make(Log(), weight_penalty=RKHSNorm(0.05))
    for solver, stop in ((Adam(max_iter=20), None), (LBFGS(), lambda i, value: i == 2)):
        result = run(solver, objective, theta, stop)
        left = np.linalg.norm(objective.value_and_gradient(result.theta)[1])
        assert result.stationarity == pytest.approx(left, rel=1e-9)
        assert left > 1e-4


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
    interrupting(objective.model, "_features", after)
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


def test_the_monitor_goes_on_over_a_plateau_and_stops_where_gains_fade():
    def iterations(gains):
        monitor = Monitor(np.zeros(1), 1.0, 1e-3, None)
        with pytest.raises(Stop):
            for i, value in enumerate(1.0 - np.cumsum(gains)):
                monitor.accept(np.full(1, float(i)), value)
        assert monitor.converged
        return monitor.n_iter

    plateau = np.full(30, 1e-6)
    descent = np.full(10, 0.01)
    # Thirty steady steps and a descent: it is not left before the window holds next to nothing of it.
    assert iterations([*plateau, *descent, *np.zeros(20)]) == 50
    # A start near the minimum gains as little, but less and less: ten iterations are enough.
    assert iterations(1e-5 * 0.7 ** np.arange(40)) == 10
    # A plateau without an end is left once the window holds a twentieth of all gain.
    assert iterations(np.full(400, 1e-6)) == 200


@pytest.mark.parametrize("loss", [Squared(), Log(), Cosine()], ids=str)
@pytest.mark.parametrize("rough", [False, True])
def test_adam_lowers_the_objective_and_the_same_seed_gives_the_same_bits(loss, rough):
    weights = [] if isinstance(loss, Cosine) else [RKHSNorm(0.01)]
    objective, theta = make(loss, metric="scale", basis_penalty=L1(0.01) if rough else None, weight_penalty=weights)
    first, second = (run(Adam(max_iter=40), objective, theta) for _ in range(2))
    assert first.value < objective.value(theta) - 0.02
    assert first.value == pytest.approx(objective.value(first.theta), rel=1e-13)  # sums of other blocks
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


def test_adam_halves_of_a_large_batch_are_the_batch():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2000, 100))
    source = ArraySource(rows, np.sign(rows[:, :1]))
    objective = Objective(PreimageModel([Term(110, (View(RBF(0.01), None, "scale"),))], 100, 1), Log(), source)
    block = next(source.batches(2000, 1, rng, np.float32))  # 2.2e7 multiplications
    theta = (0.1 * rng.standard_normal(objective.model.n_params)).astype(np.float32)
    whole = objective.block_loss(block, theta)
    with source.threads(2):
        halves = Adam._loss(objective, block, theta)
    assert halves[0] == pytest.approx(whole[0], rel=1e-6)
    np.testing.assert_allclose(halves[1], whole[1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [5, 100, 10_000, 10**6, 10**8])
def test_adam_makes_a_sensible_number_of_steps(n):
    batch, steps = Adam().schedule(n)
    assert 1 <= batch <= min(n, 1024)
    assert steps >= 2000
    assert steps <= max(5000, n // batch)
    assert Adam(max_iter=3, batch_size=10).schedule(100) == (10, 30)


def test_rates_of_adam_go_to_their_parts():
    # Parts of theta alternate: basis and metric of each view. A linear part is a view, too.
    rng = np.random.default_rng(0)
    table, y = rng.standard_normal((200, 3)), rng.standard_normal(200)
    for factor in (1.0, 1e6):
        spec = {"n_basis": 4, "solver": "adam", "linear_part": True, "learn_bandwidth": "columns", "scale": False}
        model = SPKMRegressor(loss="huber", max_iter=1, random_state=0, **spec).fit(factor * table, y).model_.model
        objective = Objective(model, Squared(), ArraySource(factor * table, y[:, None]))
        rates = model.unpack(Adam(basis_rate=0.1, weight_rate=0.2, metric_rate=0.3).rates(objective, rng))
        np.testing.assert_allclose(rates.log_metric[0], 0.3, rtol=1e-6)
        np.testing.assert_allclose(rates.weights, 0.2, rtol=1e-6)
        deviation = np.sqrt((factor * table).var(axis=0).mean())
        np.testing.assert_allclose(rates.basis[0], 0.1 * np.sqrt(2) * deviation, rtol=1e-6)
        np.testing.assert_allclose(rates.basis[1] * max(deviation, 1.0), 0.01, rtol=1e-6)


def test_lbfgs_evaluates_no_point_twice():
    # SciPy wants value and gradient apart, and the monitor both again at the end of an iteration.
    seen = []

    class Noted(Objective):
        def value_and_gradient(self, theta):
            seen.append(theta.tobytes())
            return super().value_and_gradient(theta)

    objective, theta = make(Log(), cls=Noted, weight_penalty=RKHSNorm(0.01))
    result = run(LBFGS(20), objective, theta)
    assert result.n_iter > 5
    assert len(seen) == len(set(seen)) >= result.n_iter
