"""What leads to the last descent of a fit: the problem it solves, and where it begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.core.problem import Problem
from spkm.solvers import Solver


@dataclass(frozen=True)
class Lead:
    """What an earlier fit, a squared fit or folds of the samples tell a fit; a plain one has its problem alone.

    Parameters
    ----------
    problem : Problem
        What is solved.
    onward : callable, default=None
        From the first theta of a start to the one that the solver begins with. If it is interrupted on its way, its
        attribute ``interrupted`` is true.
    solver : Solver, default=None
        The solver that suits the beginning; the one that suits the problem if None.
    strength : float, default=None
        The strength that folds chose, times the total weight.
    metric : ndarray, default=None
        A theta whose metric is kept as it is.
    noise, ridge : float, default=None and 0
        What a squared fit found.
    stopped : ndarray, default=None
        The best theta so far, where Ctrl-C ended the way: there is no more to be done.
    """

    problem: Problem
    onward: Callable[[np.ndarray], np.ndarray] | None = None
    solver: Solver | None = None
    strength: float | None = None
    metric: np.ndarray | None = None
    noise: float | None = None
    ridge: float = 0.0
    stopped: np.ndarray | None = None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the way to the solver."""
        return bool(getattr(self.onward, "interrupted", False))

    def objective(self, source: Any) -> Any:
        """Return the objective on the samples of ``source``."""
        objective = self.problem.objective(source)
        if self.metric is not None:
            objective.keep_metric(self.metric)
        return objective
