"""Pairs of entities that are new: folds that leave entities out choose the strength of the penalty.

However many pairs there are, a table has few entities, and a model may learn each of them by heart. Pairs that are left
out at random do not show it, because their entities are known from other pairs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from sklearn.base import clone

from spkm._arrays import NewPart
from spkm.core.problem import Problem
from spkm.core.starts import first_theta
from spkm.core.targets import Target
from spkm.fitting.problems import usual_strength
from spkm.fitting.recipe import Around, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.penalties import RKHSNorm
from spkm.solvers import with_settings
from spkm.sources import PairSource, PairTable, Scaling, Source
from spkm.tables.pair_splits import PairKFold

FACTORS = (100.0, 30.0, 10.0, 3.0, 1.0)  # on the strength of the loss
FIRST = FACTORS.index(10.0)
FOLDS = {"left": 3, "right": 3, "both": 2}  # of each side
FOLD_PAIRS = 30_000  # pairs that folds share
FIRST_ITERATIONS, NEXT_ITERATIONS = 200, 100


class NewEntities(Around):
    """Pairs with a new left entity, a new right one or both: the strength comes from folds of the same kind.

    The folds are fitted at ten times the strength of the loss, then at weaker ones while the held-out loss falls, and
    at stronger ones if weaker ones do not help; each goes on from the one before.

    **Defaults.** As for pairs, but for the strength of the RKHS norm: 1 to 100 times that of the loss, as folds
    choose that leave left entities, right entities or both out.
    """

    name = "new entities"

    def __init__(self, inner: Recipe) -> None:
        super().__init__(inner)
        self.name = "new entities"

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        start = super().begin(spec, source, scaling, target)
        folds = FoldsOfEntities(spec, start, cast(PairSource, source), spec.rng())
        place, stopped = folds.best()
        problem = folds.problem(place)
        start = replace(start, problem=problem, strength=FACTORS[place] * folds.usual)
        return replace(start, stopped=stopped) if stopped is not None else start


class FoldsOfEntities:
    """Held-out losses of folds that leave entities out, along a path of strengths.

    Parameters
    ----------
    spec : Spec
        The parameters; ``new`` names the side that is left out.
    start : Start
        The start of the fit of all pairs: its problem, of any strength, and its solver.
    source : PairSource
        The pairs, of which at most FOLD_PAIRS are dealt to folds.
    rng : Generator
        Source of random numbers.
    """

    def __init__(self, spec: Spec, start: Start, source: PairSource, rng: np.random.Generator) -> None:
        self.spec, self.start, self.rng = spec, start, rng
        self.usual, self.n = usual_strength(spec, source.n_outputs), source.total_weight
        some = source.sample(FOLD_PAIRS, rng)
        splits = entity_splits(some.X, spec.new, rng)
        self.folds = [(some.subset(train), some.subset(test)) for train, test in splits]
        self.thetas: dict[int, list[np.ndarray]] = {}
        self.losses: dict[int, float] = {}

    def problem(self, place: int) -> Problem:
        """Return the problem with the strength of a place."""
        return replace(self.start.problem, weight_penalties=[RKHSNorm(FACTORS[place] * self.usual / self.n)])

    def best(self) -> tuple[int, np.ndarray | None]:
        """Return the place of the lowest held-out loss; after Ctrl-C, that of the last fit and its theta."""
        place = FIRST
        interrupted = self.fit(place, None)
        for step in (1, -1):
            while interrupted is None and 0 <= place + step < len(FACTORS):
                interrupted = self.fit(place + step, place)
                if interrupted is not None or self.losses[place + step] >= self.losses[place]:
                    break
                place += step
            if place != FIRST:
                break
        return place, interrupted

    def fit(self, place: int, before: int | None) -> np.ndarray | None:
        """Fit all folds at a place, from where those at ``before`` ended; after Ctrl-C return the theta so far."""
        thetas, loss = [], 0.0
        for k, (train, test) in enumerate(self.folds):
            objective = self.problem(place).objective(train)
            if before is None:
                theta = objective.inside(first_theta(objective, self.spec.start, "ridge", self.rng))
            else:
                theta = self.thetas[before][k]
            iterations = FIRST_ITERATIONS if before is None else NEXT_ITERATIONS
            solver = clone(self.start.solver)
            solver = with_settings(solver, {"max_iter": min(iterations, solver.get_params()["max_iter"])})
            result = solver.minimize(objective, theta, np.random.default_rng(0))
            if result.by_signal:
                return result.theta
            thetas.append(result.theta)
            loss += test.total_weight * objective.loss.value(objective.on(test).totals(result.theta))
        self.thetas[place], self.losses[place] = thetas, loss
        return None


def entity_splits(table: PairTable, new: NewPart, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs to fit and to judge by, whose entities of a side, or of both, are apart."""
    try:
        return list(PairKFold(new, FOLDS[new], rng).split(table.pairs))
    except ValueError as error:
        raise ValueError(
            f"new={new!r} leaves entities out in {FOLDS[new]} folds, and there are too few of them: {error} Set "
            "new='pairs' for a fixed strength."
        ) from error
