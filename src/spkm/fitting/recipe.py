"""A recipe: one way of fitting, with the decisions that belong to it.

``recipe_for`` in :mod:`spkm.fitting.recipes` picks one, from the parameters and the kind of data; nothing below it
reads conditions again. A fit goes through four steps: ``begin`` makes the problem and the first parameters, a solver
descends, ``refine`` works on what it found, and ``conclude`` adds what the model needs beside its parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from spkm.core.evidence import AnyObjective
from spkm.core.fitted import FittedModel
from spkm.core.problem import Problem
from spkm.core.targets import Target
from spkm.fitting.continuing import continued_theta, kept_kernels
from spkm.fitting.problems import Defaults, problem_of
from spkm.fitting.progress import Progress
from spkm.fitting.spec import Spec
from spkm.solvers import Result, Solver
from spkm.sources import Scaling, Source


@dataclass(frozen=True)
class Start:
    """The problem that a solver gets, and where it begins.

    Parameters
    ----------
    problem : Problem
        The problem.
    source : Source
        The samples, in the coordinates that the solver works in.
    onward : callable, default=None
        Map from the first theta of a start rule to the one that the solver begins with; None is the identity.
    theta : ndarray, default=None
        The theta that the solver begins with, if it needs no start rule.
    solver : Solver, default=None
        The solver that suits the beginning, for ``solver="auto"``; None chooses by the problem.
    strength, linear_strength : float, default=None
        Strengths of the penalties on weights and linear part that folds chose, times the total weight.
    noise, ridge : float, default=None and 0
        Ratio of noise to signal variance and ridge that an earlier squared fit found.
    stopped : ndarray, default=None
        The best theta so far, if Ctrl-C ended the way here: no solver runs.
    interrupted : bool, default=False
        Whether Ctrl-C came on the way here: the solver stops after its first iteration.
    """

    problem: Problem
    source: Source
    onward: Callable[[np.ndarray], np.ndarray] | None = None
    theta: np.ndarray | None = None
    solver: Solver | None = None
    strength: float | None = None
    linear_strength: float | None = None
    noise: float | None = None
    ridge: float = 0.0
    stopped: np.ndarray | None = None
    interrupted: bool = False


@dataclass(frozen=True)
class Fit:
    """The end of a descent.

    Parameters
    ----------
    objective : Objective
        The objective; its model may have fewer vectors than the one that the solver had.
    result : Result
        Its minimum.
    solver : Solver
        The solver.
    start : Start
        First parameters.
    columns : ndarray of int, default=None
        The features of the table that the model has; None means all.
    picked : ndarray of int, default=None
        The samples of the source that the basis vectors are.
    posterior : Posterior, default=None
        Numbers that standard deviations of predictions need.
    attributes : dict
        Fitted attributes that only this recipe has.
    """

    objective: AnyObjective
    result: Result
    solver: Solver
    start: Start
    columns: np.ndarray | None = None
    picked: np.ndarray | None = None
    posterior: Any = None
    attributes: dict[str, Any] = field(default_factory=dict)


class Recipe:
    """Base of all recipes: a problem with the recipe's defaults, and no step before or after the descent."""

    #: Name in summaries, reports and model files.
    name: str

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        """Return the meaning of "auto" and of parameters that are not given."""
        return Defaults()

    def problem(
        self,
        spec: Spec,
        source: Source,
        columns: np.ndarray | None = None,
        kernels: list[Any] | None = None,
    ) -> Problem:
        """Return the problem on the features ``columns`` of the table, with the given kernels or new ones."""
        return problem_of(spec, source, self.defaults(spec, source), columns, kernels)

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        """Return the start of a new fit."""
        return Start(self.problem(spec, source), source)

    def resume(
        self, spec: Spec, source: Source, scaling: Scaling | None, target: Target, previous: FittedModel
    ) -> Start:
        """Return the start of a fit that goes on from an earlier model."""
        problem = self.problem(spec, source, kernels=kept_kernels(previous, spec.terms))
        problem = problem.continued(previous.noise, previous.ridge, previous.linear_variance)
        return self.from_previous(Start(problem, source), scaling, target, previous)

    @staticmethod
    def from_previous(start: Start, scaling: Scaling | None, target: Target, previous: FittedModel) -> Start:
        """Return the start with the parameters of an earlier model."""
        model = start.problem.model(start.source)
        return replace(start, onward=partial(continued_theta, previous, model, scaling, target))

    def hold(self, objective: AnyObjective, theta: np.ndarray) -> None:
        """Bound the parameters that a fit which goes on from ``theta`` must leave as they are."""

    def placed(self, objective: AnyObjective, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return theta with its vectors where they may be, and the samples of the source that they then are, if any."""
        return theta, None

    def refine(self, spec: Spec, fit: Fit, progress: Progress) -> Fit:
        """Return the fit after work on what the solver found."""
        return fit

    def outward(self, spec: Spec, fit: Fit) -> Fit:
        """Return the fit in the coordinates of the table, if the solver worked in others."""
        return fit

    def conclude(self, spec: Spec, fit: Fit) -> Fit:
        """Return the fit with all that the model needs beside its parameters."""
        return fit

    def verify(self, spec: Spec, model: FittedModel) -> None:
        """Raise RuntimeError if the model lacks a property that the recipe promises."""


class Around(Recipe):
    """Base of recipes that change one step of another recipe."""

    def __init__(self, inner: Recipe) -> None:
        self.inner = inner
        self.name = inner.name

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        return self.inner.defaults(spec, source)

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        return self.inner.begin(spec, source, scaling, target)

    def resume(
        self, spec: Spec, source: Source, scaling: Scaling | None, target: Target, previous: FittedModel
    ) -> Start:
        return self.inner.resume(spec, source, scaling, target, previous)

    def hold(self, objective: AnyObjective, theta: np.ndarray) -> None:
        self.inner.hold(objective, theta)

    def placed(self, objective: AnyObjective, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return self.inner.placed(objective, theta)

    def refine(self, spec: Spec, fit: Fit, progress: Progress) -> Fit:
        return self.inner.refine(spec, fit, progress)

    def outward(self, spec: Spec, fit: Fit) -> Fit:
        return self.inner.outward(spec, fit)

    def conclude(self, spec: Spec, fit: Fit) -> Fit:
        return self.inner.conclude(spec, fit)

    def verify(self, spec: Spec, model: FittedModel) -> None:
        self.inner.verify(spec, model)
