"""First models of an elimination: features and fit of a candidate, from training samples alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from spkm.core.objective import cotangent
from spkm.core.problem import Problem
from spkm.core.starts import KMeans, first_theta
from spkm.kernels import Kernel, Linear, Polynomial
from spkm.losses import Loss, Squared
from spkm.selection._choice import Candidate
from spkm.selection._elimination import Submodel, fit_submodel
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._screening import group_scores
from spkm.selection._settings import SearchSettings
from spkm.selection._sparse_path import PathPoint, has_path, sparse_support
from spkm.selection._validation import Fold
from spkm.sources import ArraySource, Block

#: Kernels whose paths propose features to kernels that have none.
PROPOSERS: tuple[Kernel, ...] = (Linear(gamma=1.0), Polynomial(degree=3, coef0=1.0, gamma=1.0))


class FirstModels:
    """First models of all candidates, by fold.

    Parameters
    ----------
    loss : Loss
        The loss.
    candidates : list of Candidate
        Kernels in the race.
    units : FeatureGroups
        Groups of features that enter and leave together.
    allowed : ndarray of int
        Columns that may be looked at.
    selects : bool
        Whether features are selected; all of them are read otherwise.
    fit_intercept : bool
        Whether b is learned.
    settings : SearchSettings
        The numbers of the search.
    """

    def __init__(
        self,
        loss: Loss,
        candidates: list[Candidate],
        units: FeatureGroups,
        allowed: np.ndarray,
        selects: bool,
        fit_intercept: bool,
        settings: SearchSettings,
    ) -> None:
        self.loss = loss
        self.units = units
        self.allowed = allowed
        self.selects = selects
        self.fit_intercept = fit_intercept
        self.settings = settings
        # A penalty would shrink the scores of a loss that ignores their length to nothing.
        self.path_loss: Loss = Squared() if loss.scale_free else loss
        own = [c.kernel for c in candidates if has_path(c.kernel)]
        self.proposers = [next((k for k in own if k.is_linear == p.is_linear), p) for p in PROPOSERS]
        self._known: dict[tuple[Any, ...], Any] = {}

    def first(self, candidate: Candidate, fold: Fold, factor: float, n_basis: int | None = None) -> Submodel:
        """Return a candidate fitted on its first features."""
        point = self._path(candidate.kernel, fold, n_basis) if self.selects and has_path(candidate.kernel) else None
        columns = self._columns(candidate, fold, point)
        self.seed(fold, "first", candidate.name, n_basis)
        source = fold.train.columns(columns)
        problem = candidate.problem(source, columns, n_basis, factor)
        if point is None or len(point.basis) != problem.n_basis:
            return self._fitted(problem, fold, columns, self.settings.first_iterations)
        objective = problem.objective(source, columns)
        theta, params = objective.model.zeros()
        known = np.isin(columns, point.columns)
        gamma = objective.model.views[0][1].kernel.gamma
        basis = params.basis[0]
        if not point.kernel.is_linear:  # where a product is missing both of its slopes are zero
            size = self.settings.first_size / np.sqrt(len(columns))
            basis[...] = size * fold.rng.standard_normal(basis.shape)
        basis[:, known] = point.basis[:, np.isin(point.columns, columns)] / gamma
        params.weights[...] = point.weights
        params.intercept[...] = point.intercept
        return self._fitted(problem, fold, columns, self.settings.first_iterations, theta)

    def certain(self, fold: Fold) -> np.ndarray:
        """Return the groups that the screen is certain of, the clearest first."""
        if not self.selects:
            return np.zeros(0, dtype=int)
        scores = self._scores(fold)
        order = np.argsort(-scores, kind="stable")
        return order[: np.count_nonzero(scores > -np.log(self.settings.chance / 3))]

    def on(
        self, candidate: Candidate, fold: Fold, columns: np.ndarray, factor: float, n_basis: int | None = None
    ) -> Submodel:
        """Return a candidate fitted on some features from the start."""
        problem = candidate.problem(fold.train.columns(columns), columns, n_basis, factor)
        return self._fitted(problem, fold, columns, 2 * self.settings.first_iterations)

    def _fitted(
        self, problem: Problem, fold: Fold, columns: np.ndarray, iterations: int, theta: np.ndarray | None = None
    ) -> Submodel:
        if theta is None:
            theta = first_theta(problem.objective(fold.train.columns(columns), columns), KMeans(), "ridge", fold.rng)
        return fit_submodel(problem, fold.train, columns, theta, iterations, fold.rng)

    def _columns(self, candidate: Candidate, fold: Fold, point: PathPoint | None) -> np.ndarray:
        """Return the first features of a candidate: of its path, or of those of others; then of the screen."""
        if not self.selects:
            return self.allowed
        labels = np.unique(self.units.label[self.allowed])
        if point is None and len(labels) <= self.settings.one_by_one:
            return self.allowed
        scores = self._scores(fold)
        points = [point] if point is not None else [self._path(kernel, fold) for kernel in self.proposers]
        rank = np.full(len(scores), np.inf)
        for p in points:
            np.minimum.at(rank, self.units.label[p.columns], np.argsort(np.argsort(p.rank)))
        if point is None or not point.kernel.is_linear:
            rank[self.certain(fold)] = -1.0
        # Features of the paths first, the best of the screen if there are none; at most n / log(n) (Fan and Lv
        # 2008) for each output, as outputs may need features of their own.
        order = np.lexsort((-scores, rank))
        n = fold.train.total_weight
        most = max(int(n / max(np.log(n), 1.0)), self.settings.one_by_one) * fold.train.n_outputs
        n_taken = int(np.clip(np.count_nonzero(np.isfinite(rank)), 1, most))
        return self.units.columns(order[:n_taken])

    def _scores(self, fold: Fold) -> np.ndarray:
        """Return the scores of groups by the screen."""
        key = (fold, "scores")
        if key not in self._known:
            targets = self.loss.working_target(fold.train.Y)
            self._known[key] = group_scores(fold.train, targets, self.units, self.allowed, self.settings)
        found: np.ndarray = self._known[key]
        return found

    def seed(self, fold: Fold, *what: Any) -> None:
        """Give a fold the random numbers of one of its fits: they must not depend on which others came before.

        Earlier fits may depend on held-out samples: kernels are given up, and vectors added, by their losses.
        """
        key = (fold, "seed")
        if key not in self._known:
            self._known[key] = int(fold.rng.integers(2**62))
        fold.rng = np.random.default_rng([self._known[key], *repr(what).encode()])

    def seen(self, kernel: Kernel, fold: Fold) -> np.ndarray:
        """Return the features that a kernel gets to see: all of them if it is linear, else those of the best screen."""
        labels = np.unique(self.units.label[self.allowed])
        if kernel.is_linear or len(labels) <= self.settings.n_screened:
            return self.allowed
        scores = self._scores(fold).copy()
        linear = next((k for k in self.proposers if k.is_linear), None)
        if linear is not None:
            scores[self.units.label[self._path(linear, fold).columns]] = np.inf
        return self.units.columns(np.argsort(-scores, kind="stable")[: self.settings.n_screened])

    def _path(self, kernel: Kernel, fold: Fold, n_basis: int | None = None) -> PathPoint:
        """Return the end of a kernel's path."""
        key = (fold, kernel, n_basis)
        if key not in self._known:
            columns = self.seen(kernel, fold)
            self.seed(fold, "path", type(kernel).__name__, n_basis)
            parts = (fold.train.columns(columns), self.path_loss, kernel, n_basis or 1, self.units.of(columns))
            point = sparse_support(*parts, self.fit_intercept, fold.rng, self.settings)
            point.columns = columns[point.columns]
            self._known[key] = point
        found: PathPoint = self._known[key]
        return found


def empty_model(candidate: Candidate, columns: np.ndarray, fold: Fold) -> Submodel:
    """Return a model of one basis vector whose weights are zero: it holds ``columns`` and reads none of them."""
    source = fold.train.columns(columns)
    problem = candidate.problem(source, columns, 1)
    model = problem.objective(source, columns).model
    theta, params = model.zeros()
    if problem.fit_intercept:
        params.intercept[...] = best_constant(problem.loss, source)
    F = np.broadcast_to(params.intercept, source.Y.shape)
    return Submodel(problem, columns, model, theta, problem.loss.value(problem.loss.totals(source.Y, F, source.w)))


def best_constant(loss: Loss, source: ArraySource) -> np.ndarray:
    """Return the constant scores of the lowest loss, (m,)."""
    if loss.is_quadratic or loss.scale_free:
        return np.asarray(np.sum(source.w * source.Y, axis=0))
    block = Block(None, source.Y.astype(np.float64), source.w.astype(np.float64), {})

    def value_and_slope(b: np.ndarray) -> tuple[float, np.ndarray]:
        F = np.broadcast_to(b, block.Y.shape)
        totals = loss.totals(block.Y, F, block.w)
        return loss.value(totals), cotangent(block, loss, F, totals).sum(axis=0)

    return np.asarray(minimize(value_and_slope, np.zeros(source.n_outputs), jac=True, method="L-BFGS-B").x)
