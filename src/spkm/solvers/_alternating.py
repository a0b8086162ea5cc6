"""The algorithm of the paper: steps in the basis at fixed weights, then the best weights for the basis."""

from __future__ import annotations

import numpy as np

from spkm._parts import COUNT, Number
from spkm.core.objective import Objective
from spkm.solvers._base import Monitor, OnIteration, Result, Solver, found_state, note_end
from spkm.solvers._descent import descend
from spkm.solvers._proximal import proximal_descent


class Alternating(Solver):
    """Algorithm 1 of the paper: (1) gradient steps on U at fixed c, each with its prox or projection; (2) solve for c.

    Step 2 is a ridge regression for squared loss with a quadratic penalty, else a convex problem for a quasi-Newton
    or proximal solver. Weights start from labels: the class of a start point, or +1 and -1 in turn. Restarts are the
    estimator's ``n_restarts``.

    Parameters
    ----------
    max_iter : int, default=100
        Most rounds.
    tol : float, default=1e-5
        Stop when the objective falls by less than this share over ten rounds. With 0 all rounds are done, and a fit
        does not warn that more of them might help.
    basis_steps, weight_steps : int, default=5 and 50
        Most gradient steps on U, and iterations on c where it has no closed form, in a round.

    Examples
    --------
    >>> from spkm import algorithm1
    >>> algorithm1(3).solver
    Alternating(basis_steps=200, max_iter=1, tol=0.0)
    """

    first_weights = "labels"
    numbers = {"max_iter": COUNT, "tol": Number(), "basis_steps": COUNT, "weight_steps": COUNT}

    def __init__(self, max_iter: int = 100, tol: float = 1e-5, basis_steps: int = 5, weight_steps: int = 50) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.basis_steps = basis_steps
        self.weight_steps = weight_steps

    def minimize(
        self, objective: Objective, theta: np.ndarray, rng: np.random.Generator, on_iteration: OnIteration | None = None
    ) -> Result:
        model = objective.model
        mask = np.zeros(model.n_params, dtype=bool)
        mask[model.basis_part] = True
        found = found_state(on_iteration)
        theta = objective.prox(theta if found is None else found["theta"], 1e-300)
        monitor = Monitor(theta, objective.value(theta), self.tol, on_iteration)
        with monitor:
            for _ in range(self.max_iter):
                theta = _unless_interrupted(proximal_descent(objective, theta, self.basis_steps, 0.0, mask=mask))
                theta, value = self._solve_weights(objective, theta, mask)
                monitor.accept(theta, value)
        result = monitor.result()
        result.by_count = self.tol == 0
        note_end(objective, result)
        return result

    def _solve_weights(self, objective: Objective, theta: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, float]:
        before = objective.value(theta)
        if objective.can_eliminate:
            solved = objective.eliminated().complete(theta[objective.model.basis_part])
        elif not objective.has_weight_prox:
            part = objective.model.weights_part

            def of_weights(weights: np.ndarray) -> tuple[float, np.ndarray]:
                joined = np.concatenate([theta[: part.start], weights])
                value, gradient = objective.value_and_gradient(joined)
                return value, gradient[part]

            box = None if objective.box is None else (objective.box[0][part], objective.box[1][part])
            weights = _unless_interrupted(descend(of_weights, theta[part], self.weight_steps, self.tol, None, box))
            solved = np.concatenate([theta[: part.start], weights])
        else:
            solved = _unless_interrupted(proximal_descent(objective, theta, self.weight_steps, self.tol, mask=~mask))
        after = objective.value(solved)
        return (solved, after) if after <= before else (theta, before)


def _unless_interrupted(result: Result) -> np.ndarray:
    """Return the point where a descent ended; a Ctrl-C that it has caught goes on, to end the rounds as well."""
    if result.interrupted:
        raise KeyboardInterrupt
    return result.theta
