"""A fit whose penalty on the weights is as strong as held-out samples want it.

The penalty is the RKHS norm of the kernels' part of f and a ridge of a share of it. Strengths form a path: three folds
fit the model at the first of them, then at weaker ones while the held-out loss falls, each from where the one before
ended, and at stronger ones only if weaker ones do not help. At the first strength, one bandwidth for each feature
competes with one for all: few samples of many features want the latter. The model of all samples goes on from the fold
whose model suits them best. A path that began at its strong end would let relevances run away while the weights are
small (measured).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spkm.core.problem import Problem
from spkm.core.starts import first_theta, resolve_start
from spkm.fitting.lead import Lead
from spkm.fitting.problems import FOLD_ROWS, FOLDS
from spkm.fitting.search import dealt_folds
from spkm.fitting.spec import Request
from spkm.solvers import LBFGS, Adam, Result, Solver
from spkm.sources import ArraySource, Scaling

# Strengths over the total weight. Steps of ten in place of three lose 1.5 ± 0.6 % of log loss, stronger ends of 30 and
# 100 gain nothing, weaker ones of 0.001 and 0.0003 lose 4 ± 2.5 % (panel, half A).
STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
FIRST = STRENGTHS.index(0.1)
# Iterations at the first strength, and of a fit that goes on from its neighbour; 30 and 10 lose 2 ± 1 % of log loss.
FIRST_ITERATIONS, NEXT_ITERATIONS = 40, 20
MOST_ROWS = 20_000  # samples up to which L-BFGS sees all of them
# Samples and iterations of a fit that a pass over more of them goes on from: 0.1 points below one of 20,000 samples and
# 500 iterations, in a third of the time (200,000 samples, 4 of 20 features matter).
STAGE_ROWS, STAGE_ITERATIONS = 10_000, 150


def led_by_folds(request: Request, problem: Problem, source: ArraySource, scaling: Scaling | None) -> Lead:
    """Return the way to the strength that folds choose, from where one of them ended."""
    rng = np.random.default_rng(request.seed)
    # With a few samples for each feature, one bandwidth for all of them overfits less.
    rivals = [problem, problem.with_metric("relevances", "scale")] if request.learn_bandwidth == "auto" else [problem]
    start = resolve_start(request.start, problem.model(source), scaling)
    chosen = choose_strength(request, rivals, source, start, rng)
    settled = chosen.problem.with_strength(chosen.value / source.total_weight)
    onward = FromFolds(settled, chosen.thetas, source, rng)
    stopped = chosen.thetas[0] if chosen.stopped else None
    return Lead(settled, onward, last_solver(source), chosen.value, stopped=stopped)


class Strength(NamedTuple):
    """What folds chose: a problem, its strength times the total weight, and the thetas of the folds that have it.

    If Ctrl-C ended the choice, it is ``stopped`` with the best so far.
    """

    problem: Problem
    value: float
    thetas: list[np.ndarray]
    stopped: bool = False


def choose_strength(
    request: Request, problems: list[Problem], source: ArraySource, start: Any, rng: np.random.Generator
) -> Strength:
    """Return the problem and the strength whose held-out loss is lowest; problems are compared at the first strength.

    Ctrl-C leaves with the best so far, if some fold has been fitted.
    """
    some = source.sample(FOLD_ROWS, rng)
    splits = dealt_folds(some.Y, request.loss, rng, FOLDS)
    folds = [(some.subset(train), some.subset(test)) for train, test in splits]
    n = source.total_weight
    thetas: dict[tuple[int, int], list[np.ndarray]] = {}
    losses: dict[tuple[int, int], float] = {}
    latest: list[tuple[int, np.ndarray]] = []

    def judged(which: int, place: int, before: int | None) -> float:
        found, total = [], 0.0
        for k, (train, test) in enumerate(folds):
            objective = problems[which].with_strength(STRENGTHS[place] / n).objective(train)
            if before is None:
                theta = objective.inside(first_theta(objective, start, "ridge", rng))
            else:
                theta = thetas[which, before][k]
            result = _descended(objective, theta, FIRST_ITERATIONS if before is None else NEXT_ITERATIONS)
            theta = result.theta
            latest[:] = [(which, theta)]
            if result.by_signal:
                raise KeyboardInterrupt
            found.append(theta)
            share = test.total_weight / some.total_weight
            total += share * objective.loss.value(objective.on(test).totals(theta))
        thetas[which, place], losses[which, place] = found, total
        return total

    def lowest() -> tuple[int, int]:
        return min(losses, key=losses.__getitem__)

    stopped = False
    try:
        for which in range(len(problems)):
            judged(which, FIRST, None)
        which, _ = lowest()
        for step in (1, -1):
            place = FIRST
            while 0 <= place + step < len(STRENGTHS):
                place += step
                if not judged(which, place, place - step) < losses[which, place - step]:
                    break
            if lowest()[1] > FIRST:
                break  # weaker is better: stronger need not be looked at
    except KeyboardInterrupt:
        if not latest:
            raise
        stopped = True
        if not losses:
            return Strength(problems[latest[0][0]], STRENGTHS[FIRST], [latest[0][1]], stopped)
    which, place = lowest()
    return Strength(problems[which], STRENGTHS[place], thetas[which, place], stopped)


class FromFolds:
    """Where the fit of all samples begins: at the fold whose model has the lowest objective on them.

    Of many samples some are fitted first.

    Parameters
    ----------
    problem : Problem
        The problem, with its strength.
    thetas : list of ndarray
        Those of the folds.
    source : ArraySource
        All samples.
    rng : Generator
        Draws some of them.
    """

    def __init__(
        self, problem: Problem, thetas: list[np.ndarray], source: ArraySource, rng: np.random.Generator
    ) -> None:
        self.problem = problem
        self.thetas = thetas
        self.source = source
        self.rng = rng
        #: Whether Ctrl-C ended the fit of some samples before its end.
        self.interrupted = False

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """Return the theta to go on from, whatever ``theta`` is."""
        many = self.source.n_rows > MOST_ROWS
        objective = self.problem.objective(self.source.sample(STAGE_ROWS, self.rng) if many else self.source)
        theta = min((objective.inside(found) for found in self.thetas), key=objective.value)
        if many:
            result = _descended(objective, theta, STAGE_ITERATIONS)
            theta, self.interrupted = result.theta, result.by_signal
        return theta


def last_solver(source: ArraySource) -> Solver:
    """Return the solver that goes on from the folds: on all samples, or for many of them in one pass."""
    return LBFGS() if source.n_rows <= MOST_ROWS else Adam(max_iter=1)


def _descended(objective: Any, theta: np.ndarray, max_iter: int) -> Result:
    return LBFGS(max_iter=max_iter).minimize(objective, theta, np.random.default_rng(0))
