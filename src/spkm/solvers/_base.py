"""Solvers lower an objective from a first theta, keep the best and report how they ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from spkm._arrays import Factors
from spkm._parts import Part
from spkm.core.bounds import Box
from spkm.core.evidence import AnyObjective
from spkm.core.model import PreimageModel
from spkm.core.starts import FirstVectors, first_theta
from spkm.sources import Scaling, Source

WINDOW = 10  # iterations over which progress is judged: a single one may stall while L-BFGS rebuilds its memory
# A descent is on a plateau, and goes on, while the last ten iterations gain more than this share of all gain so far,
# and the later five of them more than this share of what the earlier five gain. Pairs that start on a plateau end at
# R² .55 in place of .10 (5 seeds of 6); default fits take 0 to 4 % more iterations.
OF_ALL, OF_EARLIER = 0.05, 0.5
OnIteration = Callable[[int, float], bool]
State = dict[str, Any]


@dataclass
class Result:
    """Result of a solver.

    Attributes
    ----------
    theta : ndarray
        The best parameters seen.
    value : float
        The objective there.
    n_iter : int
        Iterations (passes over the samples for a stochastic solver).
    converged : bool
        Whether the solver stopped because progress had ended, and not for want of iterations.
    interrupted : bool
        Whether Ctrl-C or a callback stopped it.
    by_signal : bool
        Whether it was Ctrl-C.
    trace : list of float
        The objective after each iteration.
    noise : float or None
        The ratio of noise to signal variance, where it was learned.
    ridge : float
        Number added to the diagonal of k(U, U) beside it.
    linear_variance : float or None
        The variance of the coefficients of a linear part over that of the kernels, where it was learned.
    by_count : bool
        Whether it was asked for a number of iterations, whether or not progress had ended.
    stationarity : float
        Norm of theta - prox(theta - gradient): the length of a proximal gradient step of rate one from the result,
        zero at a stationary point. The gradient is that of the smooth part, the prox that of penalties without a
        gradient and of bounds. NaN if the solver does not give it.
    """

    theta: np.ndarray
    value: float
    n_iter: int
    converged: bool
    interrupted: bool = False
    by_signal: bool = False
    trace: list[float] = field(default_factory=list)
    noise: float | None = None
    ridge: float = 0.0
    linear_variance: float | None = None
    by_count: bool = False
    stationarity: float = np.nan


class Solver(Part):
    """Base of all solvers.

    A subclass states in ``needs`` what an objective must offer, see :mod:`spkm.core.objective`, and defines
    ``minimize(objective, theta, rng, on_iteration)``. ``on_iteration(i, value)`` is called with the progress, and
    stops the solver by returning True.
    """

    #: Services that the objective must offer.
    needs: tuple[str, ...] = ("prox",)
    #: Source of the first weights: a "ridge" regression on the features, the "labels" of the start points, or "none".
    first_weights = "ridge"

    def refuses(self, objective: AnyObjective) -> str | None:
        """Return why this solver cannot minimise ``objective``, with what to do, or None."""
        missing = [need for need in self.needs if need not in objective.offers]
        return objective.why_not(missing[0]) if missing else None

    def minimize(
        self, objective: Any, theta: np.ndarray, rng: np.random.Generator, on_iteration: OnIteration | None = None
    ) -> Result:
        """Return the best parameters found from ``theta``."""
        raise NotImplementedError(f"{type(self).__name__} must define minimize(objective, theta, rng, on_iteration).")


class Composite(Protocol):
    """A smooth function of theta with a gradient, plus a penalty with a prox."""

    model: PreimageModel

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its gradient."""
        ...

    def penalty(self, theta: np.ndarray) -> float:
        """Return the value of the penalty."""
        ...

    def prox(self, theta: np.ndarray, step: Factors) -> np.ndarray:
        """Return the prox of the penalty."""
        ...


class Store(Protocol):
    """Keeps the state of a solver from fit to fit; an ``on_iteration`` may have one, as its attribute ``store``."""

    state: State | None
    context: State

    def keep(self, state: Callable[[], State]) -> None: ...

    def check_data(self, source: Source) -> None: ...


def store_of(on_iteration: OnIteration | None) -> Store | None:
    """Return the store of whoever listens, or None: any function may listen, and most have none."""
    return getattr(on_iteration, "store", None)  # of any function


def keep_state(on_iteration: OnIteration | None, state: Callable[[], State]) -> None:
    """Let whoever listens keep what :func:`found_state` returns in a later fit; ``state`` is called if it is time."""
    store = store_of(on_iteration)
    if store is not None:
        store.keep(state)


def found_state(on_iteration: OnIteration | None) -> State | None:
    """Return the state that an earlier fit left, once; None if there is none."""
    store = store_of(on_iteration)
    if store is None or store.state is None:
        return None
    state, store.state = store.state, None
    return state


class Stop(Exception):
    """Raised inside a solver's loop to leave it."""


class Monitor:
    """Keeps the best point of a descent, its trace, and decides when it has ended.

    Progress has ended when the objective fell by less than ``tol`` times its size (but at least 0.1) over the last ten
    iterations, unless it falls as steadily as on a plateau.
    """

    def __init__(
        self, theta: np.ndarray, value: float, tol: float, on_iteration: OnIteration | None, stage: int = 0
    ) -> None:
        if not np.isfinite(value):
            raise FloatingPointError(
                "The objective is not finite at the start. Scale X (scale=True) or lower the strengths."
            )
        self.stage = stage
        self.theta = theta.copy()
        self.value = value
        #: The gradient at the best point, where the solver gives it.
        self.gradient: np.ndarray | None = None
        self.tol = tol
        self.on_iteration = on_iteration
        self.trace = [value]
        self.converged = False
        self.interrupted = False
        self.by_signal = False

    @property
    def n_iter(self) -> int:
        return len(self.trace) - 1

    def accept(self, theta: np.ndarray, value: float, gradient: np.ndarray | None = None) -> None:
        """Take note of an iteration that ended at ``theta``; raise :class:`Stop` if it should be the last."""
        if value < self.value or self.n_iter == 0:
            self.theta, self.value, self.gradient = theta.copy(), min(value, self.value), gradient
        self.trace.append(value)
        keep_state(self.on_iteration, lambda: {"theta": self.theta, "stage": self.stage})
        if self.on_iteration is not None and self.on_iteration(self.n_iter, value):
            self.interrupted = True
            raise Stop
        if self.n_iter >= WINDOW and self._has_ended():
            self.converged = True
            raise Stop

    def _has_ended(self) -> bool:
        """Return whether the last iterations gain next to nothing, and do not gain it as on a plateau."""
        first, middle, last = self.trace[-1 - WINDOW], self.trace[-1 - WINDOW // 2], self.trace[-1]
        if first - last > self.tol * max(abs(last), 0.1):
            return False
        return first - last <= OF_ALL * (self.trace[0] - last) or middle - last <= OF_EARLIER * (first - middle)

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> bool:
        """Let a loop end at :class:`Stop` and at Ctrl-C, of which note is taken."""
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.interrupted = self.by_signal = True
            return True
        return kind is Stop

    def result(self) -> Result:
        """Return what was found."""
        n_iter = max(self.n_iter, 1)
        return Result(self.theta, self.value, n_iter, self.converged, self.interrupted, self.by_signal, self.trace)


def part_steps(objective: AnyObjective | Composite, steps: ArrayLike) -> np.ndarray:
    """Return a theta whose entries are the step of the part they belong to, from one step for each part."""
    return np.repeat(steps, np.diff(objective.model.part_cuts))


def part_dots(objective: AnyObjective | Composite, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the inner products of a and b, one for each part of theta."""
    cuts = objective.model.part_cuts
    return np.array([a[i:j] @ b[i:j] for i, j in pairwise(cuts)], dtype=np.float64)


def note_end(objective: Composite, result: Result) -> None:
    """Set the value and the stationarity of a result from the whole objective; one pass with its gradient."""
    value, gradient = objective.value_and_gradient(result.theta)
    result.value = value + objective.penalty(result.theta)
    result.stationarity = stationarity(objective, result.theta, gradient)


def projected_norm(theta: np.ndarray, gradient: np.ndarray, box: Box | None) -> float:
    """Return the norm of the step from theta against the gradient, inside the box."""
    ahead = theta - gradient
    return float(np.linalg.norm(theta - (ahead if box is None else np.clip(ahead, *box))))


def stationarity(objective: Composite, theta: np.ndarray, gradient: np.ndarray) -> float:
    """Return the norm of theta - prox(theta - gradient), which is zero at a stationary point."""
    return float(np.linalg.norm(theta - objective.prox(theta - gradient, 1.0)))


def written_result(result: Result) -> dict[str, Any]:
    """Return a result as arrays of a checkpoint; what it does not have is NaN."""
    known = {field.name: getattr(result, field.name) for field in fields(Result)}
    numbers = {name: np.nan if value is None else value for name, value in known.items() if name != "theta"}
    return {"best": result.theta} | {f"best_{name}": value for name, value in numbers.items()}


def read_result(arrays: Mapping[str, np.ndarray]) -> Result:
    """Return the result that :func:`written_result` wrote."""
    found = {field.name: arrays[f"best_{field.name}"].tolist() for field in fields(Result) if field.name != "theta"}
    absent = {name: None for name in ("noise", "linear_variance") if np.isnan(found[name])}
    return Result(arrays["best"], **{**found, **absent})


def best_of_restarts(
    objective: AnyObjective,
    solver: Solver,
    start: FirstVectors,
    rngs: Iterable[np.random.Generator],
    on_iteration: OnIteration | None = None,
    continued: Callable[[np.ndarray], np.ndarray] | None = None,
    theta: np.ndarray | None = None,
    scaling: Scaling | None = None,
) -> Result:
    """Return the best result over the generators, each of which makes one start.

    Parameters
    ----------
    objective, solver, start
        Function to minimise, solver, and start.
    rngs : iterable of Generator
        One for each start.
    on_iteration : callable, default=None
        As for :meth:`Solver.minimize`.
    continued : callable, default=None
        From the first theta of the first start to the one to go on from, for a warm start.
    theta : ndarray, default=None
        The theta of the first start itself, in place of one by ``start``.
    scaling : Scaling, default=None
        Scaling of basis vectors that ``start`` holds.
    """
    best: Result | None = None
    store = store_of(on_iteration)
    if store is not None:
        store.check_data(objective.source)
    found = {} if store is None or store.state is None else store.state
    if "best" in found:
        best = read_result(found)
    for k, rng in enumerate(rngs):
        if k < int(found.get("restart", 0)):
            continue
        if store is not None:
            store.context = {"restart": k, **({} if best is None else written_result(best))}
        try:
            known = theta if k == 0 else None
            first = first_theta(objective, start, solver.first_weights, rng, scaling) if known is None else known
            if continued is not None and k == 0:
                first = continued(first)
            result = solver.minimize(objective, objective.inside(first), rng, on_iteration)
        except KeyboardInterrupt:
            if best is None:
                raise
            best.interrupted = best.by_signal = True
            break
        if best is None or result.value < best.value:
            best = result
        if result.interrupted:
            best.interrupted, best.by_signal = True, result.by_signal
            break
    assert best is not None
    return best
