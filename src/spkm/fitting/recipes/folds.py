"""Three folds choose the strength of the penalty on the weights, and then all samples are fitted.

The penalty is the RKHS norm of the kernels' part of f and a ridge of a share of it. Strengths form a path: three folds
fit the model at the first of them, then at weaker ones while the held-out loss falls, each from where the one before
ended, and at stronger ones only if weaker ones do not help. At the first strength, one bandwidth for each feature
competes with one for all: few samples of many features want the latter. The model of all samples goes on from the fold
whose model suits them best. A path that began at its strong end would let relevances run away while the weights are
small (measured).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.core.problem import Problem
from spkm.core.starts import first_theta, resolve_start
from spkm.core.targets import Target
from spkm.fitting.merging import with_merged_vectors
from spkm.fitting.problems import Defaults
from spkm.fitting.progress import Progress
from spkm.fitting.recipe import Fit, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.fitting.splits import dealt_folds
from spkm.solvers import LBFGS, Adam, Result, Solver
from spkm.sources import Scaling, Source

FOLDS = 3  # five gained nothing beyond the noise, and take longer (panel, half A)
FOLD_ROWS = 5_000  # samples that folds share
MOST_WORK = 1e8  # multiplications of a pass over FOLD_ROWS samples up to which folds are worth their time
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


class Folds(Recipe):
    """Classes by a single stationary kernel: the default classifier.

    **Defaults.** One bandwidth for each feature, or one for all, whichever the folds prefer; they start at half of the
    mean distance of samples. A linear part. The RKHS norm and a ridge of 0.3 of its strength, which three folds choose.
    """

    name = "folds"

    @staticmethod
    def suits(spec: Spec, n_rows: int, n_features: int) -> bool:
        """Whether there are enough samples for folds, and folds are worth their time."""
        n_basis = sum(term.n_basis for term in spec.terms)
        return min(n_rows, FOLD_ROWS) * n_features * n_basis <= MOST_WORK and n_rows >= 2 * FOLDS

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        return Defaults(metric="relevances", linear_part=True, sharper=True)

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        rng = np.random.default_rng(spec.seed)
        problem = self.problem(spec, source)
        # With a few samples for each feature, one bandwidth for all of them overfits less.
        rivals = [problem, problem.with_metric("relevances", "scale")] if spec.learn_bandwidth == "auto" else [problem]
        rule = resolve_start(spec.start, problem.model(source), scaling)
        chosen = choose_strength(spec, rivals, source, rule, rng)
        settled = chosen.problem.with_strength(chosen.value / source.total_weight)
        if chosen.stopped:
            return Start(settled, strength=chosen.value, stopped=chosen.thetas[0])
        theta, interrupted = best_of_folds(settled, chosen.thetas, source, rng)
        return Start(settled, lambda _: theta, last_solver(source), chosen.value, interrupted=interrupted)

    def refine(self, spec: Spec, fit: Fit, progress: Progress) -> Fit:
        return with_merged_vectors(fit)

    def resume(
        self, spec: Spec, source: Source, scaling: Scaling | None, target: Target, previous: FittedModel
    ) -> Start:
        start = super().resume(spec, source, scaling, target, previous)
        if previous.strength is None:
            return start
        problem = start.problem
        if not any(view.metric == "relevances" for _, view in previous.model.views):
            problem = problem.with_metric("relevances", "scale")
        problem = problem.with_strength(previous.strength / source.total_weight)
        start = replace(start, problem=problem, solver=last_solver(source), strength=previous.strength)
        return self.from_previous(start, source, scaling, target, previous)


class Strength(NamedTuple):
    """Choice of the folds: a problem, its strength times the total weight, and the thetas of the folds.

    If Ctrl-C ended the choice, it is ``stopped`` with the best so far.
    """

    problem: Problem
    value: float
    thetas: list[np.ndarray]
    stopped: bool = False


def choose_strength(spec: Spec, problems: list[Problem], source: Any, start: Any, rng: np.random.Generator) -> Strength:
    """Return the problem and the strength whose held-out loss is lowest; problems are compared at the first strength.

    Ctrl-C leaves with the best so far, if some fold has been fitted.
    """
    some = source.sample(FOLD_ROWS, rng)
    splits = dealt_folds(some.Y, spec.loss, rng, FOLDS)
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


def best_of_folds(
    problem: Problem, thetas: list[np.ndarray], source: Any, rng: np.random.Generator
) -> tuple[np.ndarray, bool]:
    """Return the theta that the fit of all samples begins with, and whether Ctrl-C came meanwhile.

    It is that of the fold whose model has the lowest objective on all samples. If there are many, some are fitted
    first.
    """
    many = source.n_rows > MOST_ROWS
    objective = problem.objective(source.sample(STAGE_ROWS, rng) if many else source)
    theta = min((objective.inside(found) for found in thetas), key=objective.value)
    if not many:
        return theta, False
    result = _descended(objective, theta, STAGE_ITERATIONS)
    return result.theta, result.by_signal


def last_solver(source: Source) -> Solver:
    """Return the solver that goes on from the folds: on all samples, or for many of them in one pass."""
    return LBFGS() if source.n_rows <= MOST_ROWS else Adam(max_iter=1)


def _descended(objective: Any, theta: np.ndarray, max_iter: int) -> Result:
    return LBFGS(max_iter=max_iter).minimize(objective, theta, np.random.default_rng(0))
