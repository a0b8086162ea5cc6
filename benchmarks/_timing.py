"""Clocks: for calls, and inside solvers."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from spkm.core.objective import Objective
from spkm.solvers import Result, Solver


def seconds_of(call: Callable[[], Any], clock: Callable[[], float] = perf_counter) -> float:
    """Return how long a call takes by a clock."""
    start = clock()
    call()
    return clock() - start


class Record:
    """When a solver had which objective; copies of a solver, which fits work with, share it."""

    def __init__(self) -> None:
        self.history: list[tuple[float, float]] = []
        self.elapsed = 0.0

    def __deepcopy__(self, memo: Any) -> Record:
        return self


class Watched(Solver):
    """Another solver, which is stopped at a target or after a time, and whose progress is kept.

    Parameters
    ----------
    solver : Solver
        The solver that works.
    target : float, default=-inf
        Stop once the objective is at most this.
    seconds : float, default=inf
        Stop after this time.
    record : Record, default=None
        Where progress is kept; None is a new one.
    """

    def __init__(
        self, solver: Solver, target: float = -np.inf, seconds: float = np.inf, record: Record | None = None
    ) -> None:
        self.solver = solver
        self.target = target
        self.seconds = seconds
        self.record = Record() if record is None else record

    @property
    def first_weights(self) -> str:  # type: ignore[override]
        return self.solver.first_weights

    def refuses(self, objective: Objective) -> str | None:
        return self.solver.refuses(objective)

    def minimize(
        self, objective: Objective, theta: np.ndarray, rng: np.random.Generator, on_iteration: Any = None
    ) -> Result:
        record = self.record
        record.history.clear()
        start = perf_counter()

        def watch(i: int, value: float) -> bool:
            elapsed = perf_counter() - start
            record.history.append((elapsed, value))
            return value <= self.target or elapsed >= self.seconds

        result = self.solver.minimize(objective, theta, rng, watch)
        record.elapsed = perf_counter() - start
        if result.interrupted:  # by us, as planned: no reason for a warning
            result.interrupted, result.converged = False, True
        return result

    @property
    def timed_out(self) -> bool:
        """Whether the time ended the run."""
        return self.elapsed >= self.seconds

    @property
    def elapsed(self) -> float:
        """Seconds of the last run."""
        return self.record.elapsed

    def seconds_to(self, value: float) -> float:
        """Return when the objective was first at most ``value``; NaN if never."""
        return next((t for t, v in self.record.history if v <= value), np.nan)
