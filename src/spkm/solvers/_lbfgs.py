"""Quasi-Newton steps by SciPy: on all parameters, or with the weights of a squared loss eliminated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import minimize

from spkm.losses import Squared
from spkm.objective import Objective
from spkm.penalties import Evidence, RKHSNorm, SquaredL2
from spkm.profiled import EvidenceObjective, ProfiledObjective, VariableProjection
from spkm.solvers._base import Monitor, OnIteration, Result, Solver, Stop
from spkm.sources import Source

FINE = 3e-4  # tolerance of a stage of few rows, which costs little
MEMORY = 20  # pairs of steps and gradients that L-BFGS remembers


class LBFGS(Solver):
    """L-BFGS on all parameters at once; for smooth penalties.

    Parameters
    ----------
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-3
        Stop when the objective falls by less than this share over ten iterations.
    first_rows : int, default=None
        Rows of a first subsample; it grows tenfold from stage to stage until it holds all rows. None starts with all.
    """

    def __init__(self, max_iter: int = 500, tol: float = 1e-3, first_rows: int | None = None) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.first_rows = first_rows

    def refuses(self, objective: Objective) -> str | None:
        if any(isinstance(p, Evidence) for p in objective.weight_penalties):
            return "weight_penalty='evidence' needs squared loss and solver='varpro' (or 'auto')."
        if not objective.is_smooth:
            return "it needs penalties with a gradient. Use solver='proximal'."
        return None

    def minimize(
        self, objective: Objective, theta: np.ndarray, rng: np.random.Generator, on_iteration: OnIteration | None = None
    ) -> Result:
        for source in stages(objective.source, self.first_rows, rng):
            result = descend(objective.on(source).value_and_gradient, theta, self.max_iter, self.tol, on_iteration)
            theta = result.theta
            if result.interrupted:
                result.value = objective.value(theta)  # not that of a subsample
                break
        return result


class VarPro(Solver):
    """Variable projection: the weights of a squared loss are eliminated, L-BFGS moves the basis; then a joint polish.

    With :class:`~spkm.penalties.Evidence` it is the evidence that is minimised, and there is no polish.

    Parameters
    ----------
    max_iter : int, default=500
        Most iterations.
    tol : float, default=3e-4
        As for :class:`LBFGS`.
    basis_rows : int, default=None
        Rows that the basis is learned from, drawn at random if there are more; the weights are solved for on all rows.
        None takes all.
    polish : int, default=10
        Joint iterations on all parameters at the end.
    first_rows : int, default=None
        As for :class:`LBFGS`, but never to a rougher tolerance than ``FINE`` before the last stage. It is more than a
        matter of time: the evidence of few rows leads to better vectors than that of many, as its trace term is larger.
    """

    def __init__(
        self,
        max_iter: int = 500,
        tol: float = 3e-4,
        basis_rows: int | None = None,
        polish: int = 10,
        first_rows: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.basis_rows = basis_rows
        self.first_rows = first_rows
        self.polish = polish

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.loss, Squared):
            return "it eliminates the weights of a squared loss only. Use solver='lbfgs', or loss='squared'."
        if (
            not all(isinstance(p, RKHSNorm | SquaredL2 | Evidence) for p in objective.weight_penalties)
            or not objective.is_profilable
        ):
            return (
                "it needs weight_penalty 'rkhs', 'l2', 'evidence' or None and a smooth basis_penalty. "
                "Use solver='proximal'."
            )
        evidence = any(isinstance(p, Evidence) for p in objective.weight_penalties)
        if evidence and any(view.metric != "fixed" and not view.kernel.stationary for _, view in objective.model.views):
            return "weight_penalty='evidence' learns bandwidths of stationary kernels only. Use learn_bandwidth=False."
        return None

    def minimize(
        self, objective: Objective, theta: np.ndarray, rng: np.random.Generator, on_iteration: OnIteration | None = None
    ) -> Result:
        source = objective.source
        partial = self.basis_rows is not None and self.basis_rows < source.n_rows
        if partial:
            source = source.subset(np.sort(rng.choice(source.n_rows, size=self.basis_rows, replace=False)))
        phi = profile(objective).start(theta)
        for stage in stages(source, self.first_rows, rng):
            profiled = profile(objective.on(stage))
            tol = self.tol if stage is source else min(self.tol, FINE)
            result = descend(profiled.value_and_gradient, phi, self.max_iter, tol, on_iteration)
            phi = result.theta
            if result.interrupted:
                break
        result.theta = profile(objective).complete(phi)
        if isinstance(profiled, EvidenceObjective):
            result.noise = profiled.noise(phi)
            return result
        if partial:
            result.value = objective.value(result.theta)  # not that of the subsample
            return result
        if not self.polish or result.interrupted:
            return result
        polished = descend(objective.value_and_gradient, result.theta, self.polish, self.tol, None)
        polished.trace = result.trace + polished.trace[1:]
        polished.n_iter, polished.converged = result.n_iter, result.converged
        return polished


def stages(source: Source, first_rows: int | None, rng: np.random.Generator) -> Iterator[Source]:
    """Yield random subsets of the rows, each ten times the one before, and at last all rows."""
    size = first_rows or source.n_rows
    order = rng.permutation(source.n_rows) if size < source.n_rows else None
    while order is not None and size < source.n_rows:
        yield source.subset(np.sort(order[:size]))
        size *= 10
    yield source


def profile(objective: Objective) -> ProfiledObjective:
    """Return the objective with its weights eliminated."""
    if any(isinstance(p, Evidence) for p in objective.weight_penalties):
        return EvidenceObjective(objective)
    return VariableProjection(objective)


def descend(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None,
) -> Result:
    """Minimise a smooth function by SciPy's L-BFGS-B; Ctrl-C and callbacks leave with the best point so far."""
    first, gradient = function(x)
    if not np.isfinite(first):
        raise FloatingPointError(
            "The objective is not finite at the start. Scale X (scale=True) or lower the strengths."
        )
    monitor = Monitor(x, first, tol, on_iteration)
    start = x.copy()

    def guarded(point: np.ndarray) -> tuple[float, np.ndarray]:
        if np.array_equal(point, start):
            return first, gradient
        value, slope = function(point)
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            # The line search backs off from a wall; an infinite value would put NaN into its cubic.
            return 1e6 * (1.0 + abs(first)), np.zeros_like(point)
        return value, slope

    def after(intermediate_result: object) -> None:
        monitor.accept(intermediate_result.x, float(intermediate_result.fun))  # type: ignore[attr-defined]

    options = {
        "maxiter": max_iter,
        "maxfun": 20 * max_iter + 20,
        "maxcor": MEMORY,
        "ftol": 0.0,
        "gtol": 1e-10,
        "maxls": 30,
    }
    try:
        outcome = minimize(guarded, x, jac=True, method="L-BFGS-B", callback=after, options=options)
        # SciPy ends by itself at a point where no step lowers the objective any more: that is convergence too.
        monitor.converged = monitor.converged or outcome.nit < max_iter
    except Stop:
        pass
    except KeyboardInterrupt:
        monitor.interrupted = True
    return monitor.result()
