"""A fit whose penalty on the weights is as strong as held-out samples want it.

Strengths form a path. Three folds fit the model at the middle of it, then at weaker strengths while the held-out loss
falls, each from where the one before ended, and at stronger ones only if weaker ones do not help. The model of all
samples goes the same way. At the middle, one bandwidth for each feature competes with one for all: few samples of many
features want the latter. A path that began at its strong end would let relevances run away while the weights are
small (measured).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spkm.estimators._defaults import FIRST_STRENGTH, FOLD_ROWS, FOLDS
from spkm.estimators._lead import Lead
from spkm.estimators._request import Request
from spkm.estimators._search_setup import dealt_folds
from spkm.problem import Problem
from spkm.solvers import LBFGS, Adam, Result, Solver
from spkm.sources import ArraySource, Scaling
from spkm.starts import first_theta, resolve_start

STRENGTHS = (10.0, 3.0, 1.0, FIRST_STRENGTH, 0.1, 0.03, 0.01)  # over the total weight; weaker ones lose on many classes
FIRST_ITERATIONS, NEXT_ITERATIONS = 40, 20  # of a fit at the first strength, and of one that goes on from its neighbour
STAGE_ROWS = 20_000  # samples of a fit that a stochastic solver goes on from


def led_by_folds(request: Request, problem: Problem, source: ArraySource, scaling: Scaling | None) -> Lead:
    """Return the way along the path to the strength that folds choose."""
    rng = np.random.default_rng(request.seed)
    # With a few samples for each feature, one bandwidth for all of them overfits less.
    rivals = [problem, problem.with_metric("relevances", "scale")] if request.learn_bandwidth == "auto" else [problem]
    start = resolve_start(request.start, problem.model(source), scaling)
    chosen, place, stopped = choose_strength(request, rivals, source, start, rng)
    strength = STRENGTHS[place]
    settled = chosen.with_ridge(strength / source.total_weight)
    way = Path(chosen, place, source, rng)
    return Lead(settled, way, last_solver(source), strength, stopped=stopped)


class Strength(NamedTuple):
    """What folds chose: a problem, the place of its strength, and the best theta so far if Ctrl-C ended the choice."""

    problem: Problem
    place: int
    stopped: np.ndarray | None = None


def choose_strength(
    request: Request, problems: list[Problem], source: ArraySource, start: Any, rng: np.random.Generator
) -> Strength:
    """Return the problem and the strength whose held-out loss is lowest; problems are compared at the first strength.

    If Ctrl-C ends the choice and some fold has been fitted, its theta comes as well: the best model so far.
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
            objective = problems[which].with_ridge(STRENGTHS[place] / n).objective(train)
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

    first = STRENGTHS.index(FIRST_STRENGTH)
    try:
        for which in range(len(problems)):
            judged(which, first, None)
        which, _ = lowest()
        for step in (1, -1):
            place = first
            while 0 <= place + step < len(STRENGTHS):
                place += step
                if not judged(which, place, place - step) < losses[which, place - step]:
                    break
            if lowest()[1] > first:
                break  # weaker is better: stronger need not be looked at
    except KeyboardInterrupt:
        if not latest:
            raise
        if not losses:
            return Strength(problems[latest[0][0]], first, latest[0][1])
        which, place = lowest()
        return Strength(problems[which], place, thetas[which, place][0])
    which, place = lowest()
    return Strength(problems[which], place)


class Path:
    """The way of a first theta to a strength: along the path, and for many samples on some of them.

    Parameters
    ----------
    problem : Problem
        The problem, whatever its strength.
    place : int
        The place of the strength.
    source : ArraySource
        All samples.
    rng : Generator
        Draws some of them.
    """

    def __init__(self, problem: Problem, place: int, source: ArraySource, rng: np.random.Generator) -> None:
        self.problem = problem
        self.place = place
        self.source = source
        self.rng = rng
        #: Whether Ctrl-C ended the way before its end.
        self.interrupted = False

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """Return the theta at the end of the way, or where it was interrupted."""
        first, n = STRENGTHS.index(FIRST_STRENGTH), self.source.total_weight
        some = self.source.sample(STAGE_ROWS, self.rng)
        steps = [(i, NEXT_ITERATIONS) for i in range(first, self.place, 1 if self.place > first else -1)]
        if steps:
            steps[0] = first, FIRST_ITERATIONS
        if some is not self.source:
            steps.append((self.place, LBFGS().max_iter))
        for place, max_iter in steps:
            objective = self.problem.with_ridge(STRENGTHS[place] / n).objective(some)
            result = _descended(objective, objective.inside(theta), max_iter)
            theta, self.interrupted = result.theta, result.by_signal
            if self.interrupted:
                break
        return theta


def last_solver(source: ArraySource) -> Solver:
    """Return the solver that goes on from the end of a path: on all samples, or for many of them in one pass."""
    return LBFGS() if source.n_rows <= STAGE_ROWS else Adam(max_iter=1)


def _descended(objective: Any, theta: np.ndarray, max_iter: int) -> Result:
    return LBFGS(max_iter=max_iter).minimize(objective, theta, np.random.default_rng(0))
