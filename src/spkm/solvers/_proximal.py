"""Spectral proximal gradient steps, for penalties without a gradient."""

from __future__ import annotations

import numpy as np

from spkm._parts import COUNT, Number
from spkm.core.objective import Objective
from spkm.solvers._base import (
    Composite,
    Monitor,
    OnIteration,
    Result,
    Solver,
    found_state,
    part_dots,
    part_steps,
    stationarity,
)


class Proximal(Solver):
    """Proximal gradient with long and short Barzilai-Borwein steps in turn, one for each part, and backtracking.

    With an l1 ball it is spectral projected gradient. Every accepted step lowers the objective. The weights of a
    squared loss with a quadratic penalty are eliminated.

    Parameters
    ----------
    max_iter : int, default=2000
        Most iterations.
    tol : float, default=1e-4
        Stop when the objective falls by less than this share over ten iterations.

    References
    ----------
    Wright, Nowak, Figueiredo: Sparse reconstruction by separable approximation, IEEE Trans. Signal Processing 57, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SPKMClassifier(3, solver=Proximal(max_iter=300), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    numbers = {"max_iter": COUNT, "tol": Number()}

    def __init__(self, max_iter: int = 2000, tol: float = 1e-4) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def minimize(
        self, objective: Objective, theta: np.ndarray, rng: np.random.Generator, on_iteration: OnIteration | None = None
    ) -> Result:
        found = found_state(on_iteration)
        theta = theta if found is None else found["theta"]
        if not objective.can_eliminate:
            return proximal_descent(objective, theta, self.max_iter, self.tol, on_iteration)
        eliminated = WithoutWeights(objective)
        result = proximal_descent(eliminated, theta, self.max_iter, self.tol, on_iteration)
        result.theta = eliminated.profiled.complete(result.theta[objective.model.basis_part])
        return result


class WithoutWeights:
    """An objective of squared loss whose weights are always the best for the basis; theta's own are ignored."""

    def __init__(self, objective: Objective) -> None:
        self.model = objective.model
        self.profiled = objective.eliminated()
        self.penalty, self.prox = objective.penalty, objective.prox

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the smooth part and its gradient."""
        part = self.model.basis_part
        value, slope = self.profiled.value_and_gradient(theta[part])
        gradient = np.zeros(self.model.n_params)
        gradient[part] = slope
        return value, gradient


def proximal_descent(
    objective: Composite,
    theta: np.ndarray,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None = None,
    mask: np.ndarray | float = 1.0,
) -> Result:
    """Minimise the whole objective over the entries of theta where ``mask`` is 1."""
    theta = objective.prox(theta, 1e-300) if np.isscalar(mask) else theta.copy()
    smooth, gradient = objective.value_and_gradient(theta)
    gradient = gradient * mask
    value = smooth + objective.penalty(theta)
    monitor = Monitor(theta, value, tol, on_iteration)
    monitor.gradient = gradient
    # First steps change each part by a tenth of its own size.
    sizes, slopes = part_dots(objective, theta, theta), part_dots(objective, gradient, gradient)
    steps = 0.1 * np.sqrt((sizes + 1e-2) / np.maximum(slopes, 1e-20))
    with monitor:
        for _ in range(max_iter):
            for _ in range(60):
                vector = part_steps(objective, steps)
                trial = objective.prox(theta - vector * gradient, vector)
                if not np.isscalar(mask):
                    trial = np.where(mask, trial, theta)
                moved = trial - theta
                decrease = float(np.sum(moved * moved / vector))
                new_smooth, new_gradient = objective.value_and_gradient(trial)
                new_value = new_smooth + objective.penalty(trial)
                if np.isfinite(new_value) and new_value <= value - 1e-4 * decrease:
                    break
                steps *= 0.4
            else:
                monitor.converged = True  # not even a minute step lowers the objective
                break
            new_gradient = new_gradient * mask
            steps = _spectral(objective, moved, new_gradient - gradient, steps, long=monitor.n_iter % 2 == 1)
            theta, value, gradient = trial, new_value, new_gradient
            monitor.accept(theta, value, gradient)
            if not decrease > 0:
                monitor.converged = True
                break
    result = monitor.result()
    if monitor.gradient is not None:
        result.stationarity = stationarity(objective, result.theta, monitor.gradient)
    return result


def _spectral(objective: Composite, moved: np.ndarray, change: np.ndarray, steps: np.ndarray, long: bool) -> np.ndarray:
    """Return the next step of each part, from the last one and the change of the gradient along it.

    Long steps |s|^2 / s'y and short ones s'y / |y|^2 take turns: on six problems with l1 balls, l1 norms and groups
    they lead to lower objectives than long ones alone, at two thirds of the gradients. If the curvature s'y is
    negative, their geometric mean |s| / |y| stands for both.
    """
    ss, sy, yy = (part_dots(objective, a, b) for a, b in ((moved, moved), (moved, change), (change, change)))
    with np.errstate(divide="ignore", invalid="ignore"):
        convex = np.where(long, ss / sy, sy / yy)
        found = np.where(sy > 1e-12 * ss, convex, np.sqrt(ss / yy))
    steps = np.where((ss > 0) & (yy > 0), found, 2.0 * steps)
    steps[...] = np.clip(steps, 1e-20, 1e20)  # that of a part which does not move would run away
    return steps
