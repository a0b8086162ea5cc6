"""A fit whose penalty on the weights is as strong as held-out samples want it.

Strengths form a path. Three folds fit the model at the middle of it, then at weaker strengths while the held-out loss
falls, each from where the one before ended, and at stronger ones only if weaker ones do not help. The model of all
samples goes the same way. At the middle, one bandwidth for each feature competes with one for all: few samples of many
features want the latter. A path that began at its strong end would let relevances run away while the weights are
small (measured).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spkm.estimators._request import FIRST_STRENGTH, Request
from spkm.estimators._search_setup import dealt_folds
from spkm.penalties import SquaredL2
from spkm.problem import Problem
from spkm.solvers import LBFGS, Adam, Result, Solver
from spkm.sources import ArraySource
from spkm.starts import first_theta

FOLDS = 3  # five gained nothing beyond the noise, and take longer (panel, half A)
STRENGTHS = (10.0, 3.0, 1.0, FIRST_STRENGTH, 0.1, 0.03, 0.01)  # over the total weight; weaker ones lose on many classes
FIRST_ITERATIONS, NEXT_ITERATIONS = 40, 20  # of a fit at the first strength, and of one that goes on from its neighbour
FOLD_ROWS = 5_000  # samples that folds share
STAGE_ROWS = 20_000  # samples of a fit that a stochastic solver goes on from
MOST_WORK = 1e8  # multiplications of a pass over FOLD_ROWS samples up to which folds are worth their time


def suits(n_rows: int, n_features: int, n_basis: int) -> bool:
    """Whether folds are worth their time, and possible."""
    return min(n_rows, FOLD_ROWS) * n_features * n_basis <= MOST_WORK and n_rows >= 2 * FOLDS


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
            objective = with_strength(problems[which], STRENGTHS[place] / n).objective(train)
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


def with_one_bandwidth(problem: Problem) -> Problem:
    """Return the problem with one bandwidth for all features where it learns one for each."""
    terms = tuple(
        replace(
            term, views=tuple(replace(v, metric="scale" if v.metric == "relevances" else v.metric) for v in term.views)
        )
        for term in problem.terms
    )
    return replace(problem, terms=terms)


def with_strength(problem: Problem, strength: float) -> Problem:
    """Return the problem with a ridge of the given strength on its weights."""
    return replace(problem, weight_penalties=[SquaredL2(strength)])


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
            objective = with_strength(self.problem, STRENGTHS[place] / n).objective(some)
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
