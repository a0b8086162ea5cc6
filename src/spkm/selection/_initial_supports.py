"""Where the candidates of a supports begin: on columns of a path, on all columns, or on those that tell in threes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from spkm.kernels import Kernel, Linear, Polynomial
from spkm.losses import Loss, Squared
from spkm.selection._choice import Candidate, Start
from spkm.selection._elimination import FIRST_ITERATIONS, Submodel, fit_submodel, with_more
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._screening import screened
from spkm.selection._sparse_path import PathPoint, has_path, sparse_path
from spkm.selection._triple_interactions import MOST_SEEN, triple_interactions
from spkm.selection._validation import Fold, Validation, scaled_losses
from spkm.starts import KMeans, first_theta

PATH_STARTS = 3  # random starts of a path that is not convex
FEW_COLUMNS = 60  # with which a kernel without a path starts from all of them, too
FEW_COLUMNS_EVIDENCE = 300  # with which it starts from all of them, and nothing else, if the evidence learns relevances

#: Kernels whose paths propose columns to kernels that have none.
PROPOSERS: tuple[Kernel, ...] = (Linear(gamma=1.0), Polynomial(degree=3, coef0=1.0, gamma=1.0))
Paths = dict[Kernel, list[list[PathPoint]]]  # of one fold: of every kernel, one path for each start


class InitialSupports:
    """First models of all candidates.

    Parameters
    ----------
    validation : Validation
        Folds and what held-out rows say.
    candidates : list of Candidate
        Kernels in the supports.
    units : FeatureGroups
        What enters and leaves together.
    allowed : ndarray of int
        Columns that may be looked at.
    selects : bool
        Whether columns are selected; all of them are read otherwise.
    fit_intercept : bool
        Whether b is learned.
    on_step : callable
        Told of every step by a line of text.
    """

    def __init__(
        self,
        validation: Validation,
        candidates: list[Candidate],
        units: FeatureGroups,
        allowed: np.ndarray,
        selects: bool,
        fit_intercept: bool,
        on_step: Callable[[str], None],
    ) -> None:
        self.validation = validation
        self.candidates = candidates
        self.units = units
        self.allowed = allowed
        self.selects = selects
        self.fit_intercept = fit_intercept
        self.on_step = on_step
        # A penalty would shrink the scores of a loss that ignores their length to nothing.
        self.path_loss: Loss = Squared() if validation.loss.scale_free else validation.loss

    def kernels(self) -> list[Kernel]:
        """Return the kernels whose paths are needed."""
        if not self.selects:
            return []
        own: list[Kernel] = [c.kernel for c in self.candidates if has_path(c.kernel)]
        if all(has_path(c.kernel) or self._learns_relevances(c) for c in self.candidates):
            return own
        return [*own, *(p for p in PROPOSERS if not any(p.is_linear == k.is_linear for k in own))]

    def paths(self, fold: Fold, kernels: list[Kernel]) -> Paths:
        """Return for each kernel its paths on the rows to fit, one for each start."""
        train = fold.train
        paths: Paths = {}
        for kernel in sorted(kernels, key=lambda k: not k.is_linear):
            linear = kernel.is_linear
            columns = self.allowed
            if not linear:
                # Of the middle of a path: at its weak end noise is in, at its strong end what counts has left. Its best
                # step is not known here, where rows to judge by may be absent.
                known = [run[len(run) // 2].columns for runs in paths.values() for run in runs if run]
                always = np.unique(np.concatenate([np.zeros(0, dtype=int), *known]))
                columns = screened(train, self.units, always, self.allowed)
            source = train if len(columns) == train.n_features else train.columns(columns)
            inside = self.units.of(columns)
            n_basis = max([c.n_basis for c in self.candidates if c.kernel is kernel], default=1)
            paths[kernel] = []
            for _ in range(1 if linear else PATH_STARTS):
                run = sparse_path(source, self.path_loss, kernel, n_basis, inside, self.fit_intercept, fold.rng)
                for point in run:
                    point.columns = columns[point.columns]
                paths[kernel].append(run)
            self.on_step(f"path of {kernel!r}")
        return paths

    def starts(self, candidate: Candidate, paths: list[Paths]) -> list[Start]:
        """Return where a candidate's first columns may come from."""
        linear = candidate.kernel is not None and candidate.kernel.is_linear
        threes = [] if linear or not self._tells_in_threes else [Start(None, 0, True)]
        return [*self._columns_at_first(candidate, paths), *threes]

    def _columns_at_first(self, candidate: Candidate, paths: list[Paths]) -> list[Start]:
        everything = Start(None, 0)
        if not self.selects or self._learns_relevances(candidate):
            return [everything]
        proposers = [candidate.kernel] if has_path(candidate.kernel) else list(paths[0])
        steps = [(*self._best_step(kernel, paths), kernel) for kernel in proposers]
        loss, step, kernel = min(steps, key=lambda t: t[0])
        starts = [Start(kernel, step)] if np.isfinite(loss) else [everything]
        if not has_path(candidate.kernel) and len(self.allowed) <= FEW_COLUMNS:
            starts = list(dict.fromkeys([everything, *starts]))
        return starts

    @cached_property
    def _tells_in_threes(self) -> bool:
        """Whether products of three columns go with the targets in every fold."""
        few = self.selects and 3 <= len(self.allowed) <= MOST_SEEN
        return few and all(self._threes(fold)[1] for fold in self.validation.folds)

    def _threes(self, fold: Fold) -> tuple[np.ndarray, bool]:
        """Return the columns whose products in threes go most with the targets, and whether by more than chance."""
        rows = fold.train.columns(self.allowed)
        X, T = rows.dense(), self.validation.loss.working_target(rows.Y)
        columns, certain = triple_interactions(X, T, rows.w[:, 0] * rows.total_weight)
        return self.units.columns(self.units.label[self.allowed[columns]]), certain

    def _learns_relevances(self, candidate: Candidate) -> bool:
        """Whether the evidence tells a candidate's columns apart by itself, so that it needs no path to start from."""
        if has_path(candidate.kernel) or len(self.allowed) > FEW_COLUMNS_EVIDENCE:
            return False
        some = self.allowed[:10]
        return candidate.build(self.validation.folds[0].train.columns(some), some, None).evidence is not None

    def _best_step(self, kernel: Kernel, paths: list[Paths]) -> tuple[float, int]:
        """Return the lowest held-out loss on a kernel's path and its step; infinity if the path is empty."""
        steps = sorted({point.step for of_fold in paths for run in of_fold[kernel] for point in run})
        best = (np.inf, -1)
        for step in steps:
            pairs = zip(self.validation.folds, paths, strict=True)
            of_folds = [self._point(of_fold[kernel], step, fold) for fold, of_fold in pairs]
            points = [point for point in of_folds if point is not None]
            if len(points) < len(of_folds):
                continue
            n_features = float(np.mean([len(point.columns) for point in points]))
            what = (type(kernel).__name__.lower(), "path", np.nan, n_features, len(points[0].basis))
            best = min(
                best,
                (self.validation.record(*what, self.validation.row_losses(points), self.validation.row_weight), step),
            )
        return best

    def _point(self, runs: list[list[PathPoint]], step: int, fold: Fold) -> PathPoint | None:
        """Return the better of the starts' points at one step, or of their last ones if the paths end before it."""
        points = [p for run in runs for p in run if p.step == step] or [run[-1] for run in runs if run]
        rows = fold.train if fold.test is None else fold.test
        return min(
            points, key=lambda p: float(rows.w[:, 0] @ scaled_losses(p, rows, self.validation.loss)), default=None
        )

    def first(self, candidate: Candidate, fold: Fold, start: Start, paths: Paths, factor: float) -> Submodel:
        """Return a candidate fitted on its first columns."""
        point = None if start.kernel is None else self._point(paths[start.kernel], start.step, fold)
        columns = self.allowed if point is None else point.columns
        if start.threes:
            columns = self._threes(fold)[0]
        source = fold.train.columns(columns)
        problem = candidate.build(source, columns, None).with_factor(factor)
        objective = problem.objective(source, columns)
        if point is not None and candidate.kernel is start.kernel and len(point.basis) == problem.n_basis:
            theta, params = objective.model.zeros()
            params.basis[0][...] = point.basis / objective.model.views[0][1].kernel.gamma
            params.weights[...] = point.weights
            params.intercept[...] = point.intercept
        else:
            theta = first_theta(objective, KMeans(), "ridge", fold.rng)
        first = fit_submodel(problem, fold.train, columns, theta, FIRST_ITERATIONS, fold.rng)
        if not start.threes:
            return first
        # Others may tell something by themselves.
        return with_more(first, fold.train, self.units, self.allowed, fold.rng)
