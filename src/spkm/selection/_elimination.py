"""Backward elimination: repeatedly drop the feature group whose removal raises the loss least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spkm.core.columns import copied, on_columns, with_relevances
from spkm.core.evidence import AnyObjective
from spkm.core.model import PreimageModel
from spkm.core.objective import Objective
from spkm.core.problem import Problem
from spkm.losses import Loss
from spkm.penalties import ORDINARY_NOISE
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._settings import DEFAULTS, SearchSettings
from spkm.solvers import LBFGS, Proximal, Solver, VarPro
from spkm.sources import ArraySource, Block

TINY = 1e-300  # of relevances, which have logarithms then
# Between numbers of groups while several leave at a time. Halving (Guyon et al. 2002) loses 2.4 points where 30 of 200
# features matter, and gains 0.3 ± 0.2 on 25 tables of few features.
RATIO = 1.25


@dataclass(eq=False)
class Submodel:
    """A model fitted on some features: ``columns`` index those of the whole table."""

    problem: Problem
    columns: np.ndarray
    model: PreimageModel
    theta: np.ndarray
    objective: float
    noise: float | None = None

    def predict(self, source: ArraySource) -> np.ndarray:
        """Return the scores (n, m) of a source of all features."""
        part = source.columns(self.columns)
        blocks = part.map(lambda block: self.model.predict(block, self.theta), width=self.model.n_basis)
        return np.concatenate(list(blocks))


def fit_submodel(
    problem: Problem,
    source: ArraySource,
    columns: np.ndarray,
    theta: np.ndarray,
    max_iter: int,
    rng: np.random.Generator,
) -> Submodel:
    """Return the problem fitted on some features from a first theta."""
    objective = problem.objective(source.columns(columns), columns)
    solver = refit_solver(objective, max_iter)
    try:
        result = solver.minimize(objective, theta, rng)
    except FloatingPointError:
        if problem.evidence is None:
            raise
        # More vectors than features: large ones leave k(U, U) without full rank. Begin with an ordinary size and noise.
        problem = problem.with_noise(ORDINARY_NOISE)
        objective = problem.objective(source.columns(columns), columns)
        theta = theta.copy()
        for basis in objective.model.unpack(theta).basis:
            basis /= max(1.0, float(np.abs(basis).max(initial=0.0)))
        result = solver.minimize(objective, theta, rng)
    if result.interrupted:  # a search would go on, and need one Ctrl-C for each fit
        raise KeyboardInterrupt
    return Submodel(
        problem.with_noise(result.noise), columns, objective.model, result.theta, result.value, result.noise
    )


def refit_solver(objective: AnyObjective, max_iter: int) -> Solver:
    """Return a solver that goes on from a good theta for a few iterations."""
    varpro = VarPro(max_iter, polish=0)
    if varpro.refuses(objective) is None:
        return varpro
    return LBFGS(max_iter) if objective.is_smooth else Proximal(max_iter)


def eliminate(
    first: Submodel,
    source: ArraySource,
    units: FeatureGroups,
    least: int,
    most: int,
    rng: np.random.Generator,
    settings: SearchSettings = DEFAULTS,
) -> list[Submodel]:
    """Return models of fewer and fewer groups, from ``first`` down to ``least``; ``most`` features are to be spent."""
    sequence = [first]
    while True:
        current = sequence[-1]
        inside = units.of(current.columns)
        count = len(inside.size)
        if count <= least:
            return sequence
        wanted = max(next_count(count, settings.one_by_one), least)
        if inside.size.max() > 1 and inside.size.sum() > most:
            # Groups of several features, and too many features: what is kept is what the budget buys most with.
            gain = losses_without(current, source, inside) - training_loss(current, source)
            worth = within_budget(gain, inside.size, most)
            order = np.lexsort((-gain / inside.size, ~worth))
            wanted = max(wanted, int(worth.sum()))
        else:
            order = np.argsort(-uses(current, source, inside), kind="stable")
            if wanted < most < count:  # a budget is to be spent
                wanted = most
        kept = current.columns[inside.columns(order[: min(wanted, count - 1)])]
        sequence.append(moved(current, source, kept, rng, settings=settings, iterations=settings.refit_iterations))


def within_budget(gain: np.ndarray, size: np.ndarray, most: int) -> np.ndarray:
    """Return which units bring most together, as a boolean array, if their features are to be at most ``most``.

    A group of many features may bring more than any other unit and still less than the units that its features would
    pay for: it is a knapsack, solved by dynamic programming, in which gains add up.
    """
    best = np.zeros(most + 1)  # by the number of features that may be spent
    taken = np.zeros((len(size), most + 1), dtype=bool)
    for unit in np.flatnonzero((size <= most) & (gain > 0)):
        richer = best[: most + 1 - size[unit]] + gain[unit]
        taken[unit, size[unit] :] = richer > best[size[unit] :]
        best[size[unit] :] = np.maximum(best[size[unit] :], richer)
    worth, room = np.zeros(len(size), dtype=bool), most
    for k in reversed(range(len(size))):
        if taken[k, room]:
            worth[k] = True
            room -= int(size[k])
    return worth


def training_loss(current: Submodel, source: ArraySource) -> float:
    """Return the loss of a model on the samples of ``source``."""
    loss, part = current.problem.loss, source.columns(current.columns)
    return loss.value(Objective(current.model, loss, part).totals(current.theta))


def uses(current: Submodel, source: ArraySource, units: FeatureGroups) -> np.ndarray:
    """Return what to order units by: the loss without them, or the log relevance that the evidence has learned.

    A model with the evidence may have many features of noise at first. Its training loss rises without any of them, but
    their relevances are small.
    """
    if not current.problem.ranks_features:
        return losses_without(current, source, units)
    params = current.model.unpack(current.theta)
    relevances = units.norms(_by_column(current.model, [np.exp(p)[None, :] for p in params.log_metric]))
    return np.asarray(np.log(np.maximum(relevances, TINY)))


def next_count(count: int, one_by_one: int) -> int:
    """Return how many groups are kept of ``count``: numbers that eliminations of different starts share."""
    if count <= one_by_one:
        return count - 1
    size = one_by_one
    while (larger := max(int(RATIO * size), size + 1)) < count:
        size = larger
    return size


def moved(
    model: Submodel,
    source: ArraySource,
    columns: np.ndarray,
    rng: np.random.Generator,
    factor: float = 1.0,
    settings: SearchSettings = DEFAULTS,
    iterations: int | None = None,
) -> Submodel:
    """Return the model refitted on other features or samples, with ``factor`` on its strength, from where it stands.

    It takes as many ``iterations`` as a first fit unless they are given.
    """
    places = np.where(np.isin(columns, model.columns), np.searchsorted(model.columns, columns), -1)
    problem = model.problem.with_factor(factor)
    _, theta = on_columns(model.model, model.theta, places, problem.on(columns))
    return fit_submodel(problem, source, columns, theta, iterations or settings.first_iterations, rng)


def grown(
    model: Submodel, source: ArraySource, n_basis: int, rng: np.random.Generator, settings: SearchSettings = DEFAULTS
) -> Submodel:
    """Return the model of one term with ``n_basis`` vectors, refitted: those that it has, and new ones of no weight."""
    problem, columns = model.problem.with_vectors([n_basis]), model.columns
    theta, params, old = copied(model.model, model.theta, problem.objective(source.columns(columns), columns).model)
    n_old, n_columns = old.basis[0].shape
    params.basis[0][:n_old] = old.basis[0]
    new = rng.standard_normal((n_basis - n_old, n_columns))
    params.basis[0][n_old:] = settings.first_size / np.sqrt(n_columns) * new
    params.weights[:n_old] = old.weights
    return fit_submodel(problem, source, columns, theta, settings.first_iterations, rng)


def losses_without(current: Submodel, source: ArraySource, units: FeatureGroups) -> np.ndarray:
    """Return the training loss with each unit of features left out of the kernel, all else as it is, one per unit."""
    part = source.columns(current.columns)
    loss = current.problem.loss
    model, theta = with_relevances(current.model, current.theta)
    totals = part.reduce(_block_without, model, theta, loss, units.members(), width=model.n_basis)[0]
    return np.array([loss.value(t) for t in totals])


def _block_without(
    block: Block, model: PreimageModel, theta: np.ndarray, loss: Loss, members: list[np.ndarray]
) -> tuple[np.ndarray]:
    totals = []
    for columns in members:
        without = theta.copy()
        for (_, view), log_metric in zip(model.views, model.unpack(without).log_metric, strict=True):
            log_metric[columns if view.columns is None else np.isin(view.columns, columns)] = -np.inf
        totals.append(loss.totals(block.Y, model.predict(block, without), block.w))
    return (np.array(totals),)


def _by_column(model: PreimageModel, parts: list[np.ndarray]) -> np.ndarray:
    """Return arrays (rows, width) of the views one above the other, in the columns of the table."""
    table = np.zeros((sum(len(part) for part in parts), model.n_features))
    row = 0
    for (_, view), part in zip(model.views, parts, strict=True):
        table[row : row + len(part), slice(None) if view.columns is None else view.columns] = part
        row += len(part)
    return table
