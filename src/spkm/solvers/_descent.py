"""A descent of a smooth function in a box by SciPy's L-BFGS-B.

The wrappers of ``fmin_l_bfgs_b`` take half a millisecond to read the bounds of 400 parameters, and 30 microseconds
beside each evaluation: together a tenth of a small fit. So the loop around the compiled routine is written here. That
routine is private. It is called where the installed SciPy is one whose routine is known, and all others go the public
way, which visits the same points to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import scipy
from scipy.optimize import fmin_l_bfgs_b

from spkm.core.bounds import Box
from spkm.solvers._base import Monitor, OnIteration, Result, projected_norm

MEMORY = 20  # pairs of steps and gradients that L-BFGS remembers: SciPy's 10 took more iterations, 40 as many
LONGEST_SEARCH = 30  # evaluations along a line
STATIONARY = 1e-10  # largest entry of a projected gradient that counts as none
KNOWN = (1, 15), (1, 17)  # the first and the last version of SciPy whose routine is called
EVALUATE, ITERATION = 3, 1  # tasks: value and gradient at x are wanted; an iteration has ended

#: From a point to the value and the gradient there.
Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


def known_routine(version: str) -> Any:
    """Return the compiled routine of a version of SciPy, or None where its arguments may be others."""
    if not KNOWN[0] <= tuple(map(int, version.split(".")[:2])) <= KNOWN[1]:
        return None
    from scipy.optimize._lbfgsb import setulb

    return setulb


ROUTINE = known_routine(scipy.__version__)


def descend(
    function: Function,
    x: np.ndarray,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None,
    box: Box | None = None,
    stage: int = 0,
    routine: Any = ROUTINE,
) -> Result:
    """Minimise a smooth function in a box by SciPy's L-BFGS-B; Ctrl-C and callbacks leave with the best so far.

    ``routine`` is SciPy's compiled one; None goes the public way.
    """
    if box is not None:
        x = np.clip(x, *box)
    first, gradient = function(x)
    monitor = Monitor(x, first, tol, on_iteration, stage)
    monitor.gradient = gradient
    guarded = Guarded(function, x, first, gradient)
    minimized = by_wrapper if routine is None else partial(by_routine, routine)
    with monitor:
        n_iter = minimized(guarded, x, box, max_iter, monitor)
        # SciPy ends by itself at a point where no step lowers the objective any more: that is convergence too.
        monitor.converged = monitor.converged or n_iter < max_iter
    result = monitor.result()
    if monitor.gradient is not None:
        result.stationarity = projected_norm(result.theta, monitor.gradient, box)
    return result


def by_routine(routine: Any, guarded: Guarded, x: np.ndarray, box: Box | None, max_iter: int, monitor: Monitor) -> int:
    """Return the number of iterations of the compiled routine, which the monitor has seen."""
    n, m = len(x), MEMORY
    x = np.array(x, dtype=np.float64)  # which is moved in place
    value, gradient = 0.0, np.zeros(n)
    low, high, kinds = np.zeros(n), np.zeros(n), np.zeros(n, np.int32)
    if box is not None:
        bounded = has_low, has_high = np.isfinite(box[0]), np.isfinite(box[1])
        kinds[has_low], kinds[has_high], kinds[has_low & has_high] = 1, 3, 2
        for bound, given, there in zip((low, high), box, bounded, strict=True):
            bound[there] = given[there]
    # Its memory from call to call, of the sizes that it wants.
    task, end, flags, counts = (np.zeros(size, np.int32) for size in (2, 2, 4, 44))
    reals, integers, numbers = np.zeros(2 * m * n + 5 * n + 11 * m * m + 8 * m), np.zeros(3 * n, np.int32), np.zeros(29)
    state = 0.0, STATIONARY, reals, integers, task, flags, counts, numbers, LONGEST_SEARCH, end
    n_iter = n_evaluations = 0
    while True:
        routine(m, x, low, high, kinds, value, gradient, *state)
        if task[0] == EVALUATE:
            n_evaluations += 1
            value, found = guarded(x.copy())
            gradient = found.astype(np.float64)
        elif task[0] == ITERATION:
            n_iter += 1
            monitor.accept(x, *guarded.found)
            if n_iter >= max_iter or n_evaluations > most_evaluations(max_iter):
                return n_iter
        else:
            return n_iter


def by_wrapper(guarded: Guarded, x: np.ndarray, box: Box | None, max_iter: int, monitor: Monitor) -> int:
    """Return the number of iterations of ``fmin_l_bfgs_b``, which the monitor has seen."""
    *_, outcome = fmin_l_bfgs_b(
        guarded.value,
        x,
        guarded.gradient,
        bounds=None if box is None else list(zip(*(bound.tolist() for bound in box), strict=True)),
        m=MEMORY,
        factr=0.0,
        pgtol=STATIONARY,
        maxfun=most_evaluations(max_iter),
        maxiter=max_iter,
        maxls=LONGEST_SEARCH,
        callback=lambda point: monitor.accept(point, *guarded(point)),
    )
    return int(outcome["nit"])


def most_evaluations(max_iter: int) -> int:
    """Return the number of evaluations after which no iteration begins."""
    return 20 * max_iter + 20


class Guarded:
    """A function and its gradient at the last point, with a wall in place of values that are not finite.

    Parameters
    ----------
    function : callable
        The function.
    start : ndarray
        The first point, whose ``first`` value and ``gradient`` are known.
    """

    def __init__(self, function: Function, start: np.ndarray, first: float, gradient: np.ndarray) -> None:
        self.function = function
        # The line search backs off from a wall; an infinite value would put NaN into its cubic.
        self.wall = 1e6 * (1.0 + abs(first)), np.zeros_like(gradient)
        self.point = start.tobytes()
        self.found = self._finite(first, gradient)

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        place = point.tobytes()  # a comparison of arrays takes longer, and SciPy comes three times for each point
        if place != self.point:
            self.found = self._finite(*self.function(point))
            self.point = place
        return self.found

    def _finite(self, value: float, gradient: np.ndarray) -> tuple[float, np.ndarray]:
        return (float(value), gradient) if isfinite(value) and np.isfinite(gradient).all() else self.wall

    def value(self, point: np.ndarray) -> float:
        """Return the value at a point."""
        return self(point)[0]

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient at a point."""
        return self(point)[1]
