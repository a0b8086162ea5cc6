"""Three folds choose the strengths of the penalties on weights and linear part, and then all samples are fitted.

The penalty on the weights is the RKHS norm of the kernels' part of f and a ridge of a share of it. Strengths form a
path: three folds fit the model at the first of them, then at weaker ones while the held-out loss falls, each from where
the one before ended, and at stronger ones only if weaker ones do not help. At the first strength, one bandwidth for
all features is fitted first, and one for each goes on from there and competes with it: few samples of many features
want the former. After the kernels' strength the linear part's is weakened while that gains clearly, as it does if
classes differ by small differences of features that rise and fall together (spectra), and then the kernels' strength is
chosen once more. A place whose first fold is worse is given up. The model of all samples goes on from the fold whose
model suits them best. A path that began at its strong end would let relevances run away while the weights are small
(measured).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from spkm.core.columns import carried
from spkm.core.fitted import FittedModel
from spkm.core.problem import Problem
from spkm.core.starts import FirstVectors, first_theta
from spkm.core.targets import Target
from spkm.fitting.merging import with_merged_vectors
from spkm.fitting.problems import LINEAR_STRENGTH, Defaults, problem_of
from spkm.fitting.progress import Progress
from spkm.fitting.recipe import Fit, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.penalties import SquaredL2, norm_with_ridge
from spkm.solvers import LBFGS, Adam, Solver
from spkm.sources import ArraySource, Scaling, Source, dealt_folds, kinds_of

FOLDS = 3  # five gained nothing beyond the noise, and take longer (panel, half A)
FOLD_ROWS = 5_000  # samples that folds share, at most,
# and entries of them, unless samples are fewer than FEWEST_ROWS: 1,913 images of MNIST. With 2,000 of 6,000 (three
# draws, 10 vectors) accuracy is 91.6 %, with 5,000 91.3, in 0.8 of the time of a fit.
FOLD_ENTRIES, FEWEST_ROWS = 1_500_000, 1_000
# Strengths over the total weight. Steps of ten in place of three lose 1.5 ± 0.6 % of log loss, stronger ends of 30 and
# 100 gain nothing, weaker ones of 0.001 and 0.0003 lose 4 ± 2.5 % (panel, half A).
STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
FIRST = STRENGTHS.index(0.1)
# The same for a linear part, over the number of features as well.
LINEAR_STRENGTHS = tuple(LINEAR_STRENGTH * factor for factor in (1.0, 0.1, 0.01, 0.001))
FIRST_LINEAR = LINEAR_STRENGTHS.index(LINEAR_STRENGTH)
LINEAR_SHARE = 0.95  # of the held-out loss, below which a weaker penalty on a linear part has to bring it
SLACK = 0.02  # of the held-out loss: a place whose first folds are worse by more is given up
# Iterations of a first fit that has no rival, of one that its rival goes on from, and of a fit that goes on from
# another; 30 and 10 in place of 40 and 20 lose 2 ± 1 % of log loss.
ALONE_ITERATIONS, FIRST_ITERATIONS, NEXT_ITERATIONS = 40, 20, 20
# Multiplications of the last descent, unless it has fewer than LAST_ITERATIONS. For 6,000 images of MNIST, 10 vectors,
# 200 iterations are as accurate as 500 (90.9 %), and 100 more so (91.5); but 150 for tables of at most 1,500 samples
# lose 0.07 to 0.26 points (halves A and B of the panel).
LAST_WORK, LAST_ITERATIONS = 1.5e10, 150
MOST_ROWS = 20_000  # samples up to which L-BFGS uses all of them
# Samples and iterations of a fit that a pass over more of them goes on from: 0.1 points below one of 20,000 samples and
# 500 iterations, in a third of the time (200,000 samples, 4 of 20 features matter).
STAGE_ROWS, STAGE_ITERATIONS = 10_000, 150


@dataclass(frozen=True)
class Course:
    """Strengths that a walk of the folds goes over, strong ones first, and how long its first fits are.

    Parameters
    ----------
    strengths : tuple of float
        Strengths of the kernels, over the total weight.
    linear_strengths : tuple of float
        Strengths of the linear part, over the total weight and the number of features.
    first_iterations : int
        Iterations of a first fit that its rival goes on from.
    """

    strengths: tuple[float, ...] = STRENGTHS
    linear_strengths: tuple[float, ...] = LINEAR_STRENGTHS
    first_iterations: int = FIRST_ITERATIONS


USUAL = Course()
# Log hazards vary less than log odds: a variance of 0.4 a priori in place of 4 (docs/numbers/constants.md).
CENSORED = Course(tuple(10.0 * s for s in STRENGTHS), tuple(10.0 * s for s in LINEAR_STRENGTHS))


@dataclass(frozen=True)
class Folds(Recipe):
    """Classes by a single stationary kernel: the default classifier.

    **Defaults.** One bandwidth for each feature, or one for all, whichever the folds prefer; they start at half of the
    mean distance of samples. A linear part. The RKHS norm and a ridge of 0.3 of its strength, which three folds choose;
    so is the strength of the penalty on the linear part, from 0.25 times the number of features over the total weight
    to a thousandth of it. For censored times all strengths are ten times as strong. Vectors inside the range of the
    data, unless ``basis_bounds`` is None; those that end at one place become one.

    Parameters
    ----------
    course : Course
        Strengths and iterations of the folds.
    two_metrics : bool
        Whether the folds choose between one bandwidth for all features and one for each.
    """

    course: Course = USUAL
    two_metrics: bool = False
    name = "folds"

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        return Defaults(metric="relevances", linear_part=True, sharper=True)

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        rng = np.random.default_rng(spec.seed)
        folds = folds_of(spec, source, rng)
        problem = problem_of(spec, source, self.defaults(spec, source))
        # With a few samples for each feature, one bandwidth for all of them overfits less.
        metrics = ("scale", "relevances") if self.two_metrics else ("relevances",)
        chosen = choose_strength(
            Walk(problem, metrics, folds, source.total_weight, spec.start, scaling, rng, self.course)
        )
        start = Start(
            chosen.problem,
            source,
            strength=chosen.kernels,
            linear_strength=chosen.linear if chosen.problem.has_linear_part else None,
        )
        if chosen.stopped:
            return replace(start, stopped=chosen.thetas[0])
        theta, interrupted = best_of_folds(chosen.problem, chosen.thetas, source, rng)
        return replace(start, theta=theta, solver=last_solver(chosen.problem, source), interrupted=interrupted)

    def refine(self, spec: Spec, fit: Fit, progress: Progress) -> Fit:
        return with_merged_vectors(fit, LBFGS())

    def resume(
        self, spec: Spec, source: Source, scaling: Scaling | None, target: Target, previous: FittedModel
    ) -> Start:
        start = super().resume(spec, source, scaling, target, previous)
        if previous.strength is None:
            return start
        problem = start.problem
        if not any(view.metric == "relevances" for _, view in previous.model.views):
            problem = problem.with_metric("relevances", "scale")
        n, linear = source.total_weight, previous.linear_strength
        penalties = norm_with_ridge(previous.strength / n), None if linear is None else SquaredL2(linear / n)
        problem = problem.with_penalties(*penalties)
        start = replace(start, problem=problem, solver=last_solver(problem, source))
        start = replace(start, strength=previous.strength, linear_strength=linear)
        return self.from_previous(start, scaling, target, previous)


class Strength(NamedTuple):
    """Choice of the folds: a problem, its strengths times the total weight, and the thetas of the folds.

    If Ctrl-C ended the choice, it is ``stopped`` with the best so far.
    """

    problem: Problem
    kernels: float
    linear: float
    thetas: list[np.ndarray]
    stopped: bool = False


def folds_of(spec: Spec, source: Source, rng: np.random.Generator) -> list[tuple[ArraySource, ArraySource]]:
    """Return samples to fit and to judge by, of at most FOLD_ROWS samples in all, and fewer of many features."""
    some = source.sample(min(FOLD_ROWS, max(FOLD_ENTRIES // source.n_features, FEWEST_ROWS)), rng)
    kinds = kinds_of(some.Y) if spec.loss.target == "signs" else None
    splits = dealt_folds(some.n_rows, rng, kinds, FOLDS, some.groups)
    return [(some.subset(train), some.subset(test)) for train, test in splits]


class Place(NamedTuple):
    """A point of the walk: which metric, and which of the strengths of kernels and of a linear part."""

    metric: int
    kernels: int
    linear: int


class Walk:
    """Folds that are fitted at places next to one another, each from where its neighbour ended.

    Parameters
    ----------
    problem : Problem
        The problem, whose views learn relevances.
    metrics : tuple of {"scale", "relevances"}
        Rivals of these, compared at the first strengths; each goes on from the one before.
    folds : list of pairs of ArraySource
        Samples to fit and to judge by.
    n : float
        Total weight of all samples.
    start : FirstVectors
        Rule of the first vectors.
    scaling : Scaling or None
        Scaling of the samples.
    rng : Generator
        Source of random numbers.
    course : Course
        Strengths and iterations.
    """

    def __init__(
        self,
        problem: Problem,
        metrics: tuple[str, ...],
        folds: list[tuple[ArraySource, ArraySource]],
        n: float,
        start: FirstVectors,
        scaling: Scaling | None,
        rng: np.random.Generator,
        course: Course,
    ) -> None:
        self.whole, self.metrics, self.course = problem, metrics, course
        self.folds, self.n, self.start, self.scaling, self.rng = folds, n, start, scaling, rng
        self.n_features = folds[0][0].n_features
        self.thetas: dict[Place, list[np.ndarray]] = {}
        #: Held-out losses of the folds, added up from the first fold on; places that were given up are not here.
        self.losses: dict[Place, list[float]] = {}
        self.latest: tuple[Place, np.ndarray] | None = None

    def strengths(self, place: Place) -> tuple[float, float]:
        """Return the strengths of kernels and linear part at a place, times the total weight."""
        return self.course.strengths[place.kernels], self.course.linear_strengths[place.linear] * self.n_features

    def problem(self, place: Place) -> Problem:
        """Return the problem of a place."""
        kernels, linear = self.strengths(place)
        penalties = norm_with_ridge(kernels / self.n), SquaredL2(linear / self.n)
        return self.whole.with_penalties(*penalties).with_metric("relevances", self.metrics[place.metric])

    def fitted(self, place: Place, before: Place | None, fold: int) -> tuple[np.ndarray, float]:
        """Return the theta of one fold at a place, from where that of ``before`` ended, and its held-out loss."""
        train, test = self.folds[fold]
        objective = self.problem(place).objective(train)
        if before is None:
            theta = first_theta(objective, self.start, "ridge", self.rng, self.scaling)
            iterations = ALONE_ITERATIONS if len(self.metrics) == 1 else self.course.first_iterations
        else:
            theta = carried(self.problem(before).model(train), self.thetas[before][fold], objective.model)
            iterations = NEXT_ITERATIONS
        result = LBFGS(max_iter=iterations).minimize(objective, theta, np.random.default_rng(0))
        self.latest = place, result.theta
        if result.by_signal:
            raise KeyboardInterrupt
        loss = objective.loss.value(objective.on(test).totals(result.theta))
        return result.theta, test.total_weight * loss

    def wins(self, place: Place, rival: Place | None, before: Place | None) -> bool:
        """Return whether the loss at a place is below that at a rival; the folds begin where those at ``before`` ended.

        The place is given up if the folds so far are worse than the rival's by more than SLACK; one of another strength
        of the linear part, if they are not better by as much as such a place has to be in the end.
        """
        limit = 1 + SLACK if rival is None or place.linear == rival.linear else LINEAR_SHARE
        thetas: list[np.ndarray] = []
        losses: list[float] = []
        for fold in range(len(self.folds)):  # as many as there are groups, if those are fewer than FOLDS
            theta, loss = self.fitted(place, before, fold)
            thetas.append(theta)
            losses.append(loss + (losses[-1] if losses else 0.0))
            if rival is not None and losses[-1] > limit * self.losses[rival][fold]:
                return False
        self.thetas[place], self.losses[place] = thetas, losses
        return rival is None or losses[-1] < self.losses[rival][-1]

    def along(self, place: Place, axis: str, count: int, steps: tuple[int, ...] = (1, -1)) -> Place:
        """Return the last place on the way to weaker strengths of one kind that wins; or to stronger ones, if none."""
        origin = place
        for step in steps:
            while 0 <= getattr(place, axis) + step < count:
                following = place._replace(**{axis: getattr(place, axis) + step})
                if not self.wins(following, place, place):
                    break
                place = following
            if place != origin:
                break
        return place

    def end(self) -> Place:
        """Compare the rivals, then walk over strengths of kernels, of a linear part, and of kernels again."""
        first = Place(0, FIRST, FIRST_LINEAR)
        self.wins(first, None, None)
        for which in range(1, len(self.metrics)):
            other = first._replace(metric=which)
            first = other if self.wins(other, first, first) else first
        place = self.along(first, "kernels", len(self.course.strengths))
        if not self.whole.has_linear_part:
            return place
        weaker = self.along(place, "linear", len(self.course.linear_strengths), (1,))
        return place if weaker == place else self.along(weaker, "kernels", len(self.course.strengths))

    @property
    def best(self) -> Place:
        """The place of the lowest loss so far."""
        return min(self.losses, key=lambda place: self.losses[place][-1])


def choose_strength(walk: Walk) -> Strength:
    """Return the problem and the strengths whose held-out loss is lowest.

    Ctrl-C leaves with the best so far, if some fold has been fitted.
    """
    try:
        place, stopped = walk.end(), False
    except KeyboardInterrupt:
        if walk.latest is None:
            raise
        if not walk.losses:
            place, theta = walk.latest
            return Strength(walk.problem(place), *walk.strengths(place), [theta], stopped=True)
        place, stopped = walk.best, True
    return Strength(walk.problem(place), *walk.strengths(place), walk.thetas[place], stopped)


def best_of_folds(
    problem: Problem, thetas: list[np.ndarray], source: Source, rng: np.random.Generator
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
    result = LBFGS(max_iter=STAGE_ITERATIONS).minimize(objective, theta, np.random.default_rng(0))
    return result.theta, result.by_signal


def last_solver(problem: Problem, source: Source) -> Solver:
    """Return the solver that goes on from the folds: on all samples, or for many of them in one pass."""
    if source.n_rows > MOST_ROWS:
        return Adam(max_iter=1)
    affordable = int(LAST_WORK / (source.n_rows * source.n_features * problem.n_basis))
    return LBFGS(max_iter=min(LBFGS().max_iter, max(affordable, LAST_ITERATIONS)))
