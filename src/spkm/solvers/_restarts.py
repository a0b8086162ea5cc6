"""Several starts of one solver, of which the best objective wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from spkm.core.protocols import AnyObjective
from spkm.core.starts import Start, first_theta
from spkm.solvers._base import OnIteration, Result, Solver, store_of


def best_of_restarts(
    objective: AnyObjective,
    solver: Solver,
    start: Start | np.ndarray,
    rngs: Iterable[np.random.Generator],
    on_iteration: OnIteration | None = None,
    continued: Callable[[np.ndarray], np.ndarray] | None = None,
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
    """
    best: Result | None = None
    store = store_of(on_iteration)
    if store is not None:
        store.check_data(objective.source)
    found = {} if store is None or store.state is None else store.state
    if "best" in found:
        best = Result(found["best"], float(found["best_value"]), 1, True)
    for k, rng in enumerate(rngs):
        if k < int(found.get("restart", 0)):
            continue
        if store is not None:
            so_far = {} if best is None else {"best": best.theta, "best_value": best.value}
            store.context = {"restart": k, **so_far}
        try:
            theta = first_theta(objective, start, solver.first_weights, rng)
            if continued is not None and k == 0:
                theta = continued(theta)
            result = solver.minimize(objective, objective.inside(theta), rng, on_iteration)
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
