"""Backward elimination: repeatedly drop the feature group whose removal raises the loss least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.losses import Loss
from spkm.model import PreimageModel
from spkm.objective import Objective, cotangent
from spkm.problem import Problem
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._screening import correlations
from spkm.solvers import LBFGS, Proximal, Solver, VarPro
from spkm.sources import ArraySource, Block

ONE_BY_ONE = 20  # units from which on they leave singly
COARSE, FINE = 1.25, 1.07  # ratios of the numbers of units above: to find about how many count, and how many
LITTLE = 0.1  # share of the columns; without so few a model is nearly fitted as it stands
TINY = 1e-300  # of relevances, which have logarithms then
NEXT_TO_NOTHING = 1e-12  # relevance of a column that is looked at from outside
NOISE_AGAIN = 0.1  # where a fit could not go on from the noise that was learned
TOLERANCE = 1e-4  # of the refits
LEAST_ITERATIONS = 15  # of variable projection
FIRST_ITERATIONS = 100
NEXT_ITERATIONS = 30  # from where a model stands that lost many columns
SINGLE_ITERATIONS = 10  # the same where it lost one unit, or little: more take longer and are no better, measured


@dataclass
class Submodel:
    """A model fitted on some columns: ``columns`` index those of the whole table."""

    problem: Problem
    columns: np.ndarray
    model: PreimageModel
    theta: np.ndarray
    objective: float
    noise: float | None = None

    def predict(self, source: ArraySource) -> np.ndarray:
        """Return the scores (n, m) of a source of all columns."""
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
    """Return the problem fitted on some columns from a first theta."""
    objective = problem.objective(source.columns(columns), columns)
    solver = refit_solver(objective, max_iter)
    try:
        result = solver.minimize(objective, theta, rng)
    except FloatingPointError:
        if problem.evidence is None:
            raise
        # More vectors than columns: large ones leave k(U, U) without full rank. Begin with an ordinary size and noise.
        problem = problem.with_noise(NOISE_AGAIN)
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


def refit_solver(objective: Any, max_iter: int) -> Solver:
    """Return a solver that goes on from a good theta for a few iterations."""
    # Fewer parameters, fewer iterations.
    varpro = VarPro(max(LEAST_ITERATIONS, max_iter // 2), TOLERANCE, polish=0)
    if varpro.refuses(objective) is None:
        return varpro
    return LBFGS(max_iter, TOLERANCE) if objective.is_smooth else Proximal(max_iter, TOLERANCE)


def eliminate(
    first: Submodel,
    source: ArraySource,
    units: FeatureGroups,
    least: int,
    most: int,
    rng: np.random.Generator,
    ratio: float = COARSE,
    unseen: ArraySource | None = None,
) -> list[Submodel]:
    """Return models of fewer and fewer columns, from ``first`` down to ``least`` units, with one of ``most``.

    Where rows that no fit sees are given, their loss decides as well, with as much weight as that of ``source``.
    """
    return eliminate_together([first], [source], units, least, most, [rng], ratio, unseen)[0]


def eliminate_together(
    firsts: list[Submodel],
    sources: list[ArraySource],
    units: FeatureGroups,
    least: int,
    most: int,
    rngs: list[np.random.Generator],
    ratio: float = COARSE,
    unseen: ArraySource | None = None,
) -> list[list[Submodel]]:
    """Return the eliminations of models of the same columns; all lose the same ones, those of the lowest mean use.

    Where chance lets one model use a column of noise, or do without one that counts, the others disagree.
    """
    sequences = [[first] for first in firsts]
    while True:
        current = [sequence[-1] for sequence in sequences]
        inside = units.of(current[0].columns)
        count = len(inside.size)
        if count <= least:
            return sequences
        wanted = max(next_count(count, ratio), least)
        if wanted < most < count:  # a budget is to be spent
            wanted = most
        use = np.mean([uses(m, s, inside) for m, s in zip(current, sources, strict=True)], axis=0)
        seen = [] if current[0].problem.ranks_features else list(zip(current, sources, strict=True))
        if unseen is not None and seen:
            use = use + np.mean([losses_without(model, unseen, inside) for model in current], axis=0)
            seen += [(model, unseen) for model in current]
        order = np.argsort(-use, kind="stable")
        if seen and inside.size.max() > 1 and inside.size.sum() > most:
            gain = use - sum(map(_loss, seen)) / len(current)
            worth = within_budget(gain, inside.size, most)
            order = np.lexsort((-gain / inside.size, ~worth))
            wanted = max(wanted, int(worth.sum()))
        kept = inside.columns(order[:wanted])
        for sequence, source, rng in zip(sequences, sources, rngs, strict=True):
            sequence.append(shrunk(sequence[-1], source, kept, rng))


def within_budget(gain: np.ndarray, size: np.ndarray, most: int) -> np.ndarray:
    """Return which units bring most together, as a boolean array, if their columns are to be at most ``most``.

    A group of many columns may bring more than any other unit and still less than the units its columns would pay for:
    it is a knapsack, solved by dynamic programming, in which gains add up.
    """
    best = np.zeros(most + 1)  # by the number of columns that may be spent
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


def _loss(model_and_source: tuple[Submodel, ArraySource]) -> float:
    current, source = model_and_source
    loss, part = current.problem.loss, source.columns(current.columns)
    return loss.value(Objective(current.model, loss, part).totals(current.theta))


def uses(current: Submodel, source: ArraySource, units: FeatureGroups) -> np.ndarray:
    """Return what to order units by: the loss without them, or the log relevance that the evidence has learned.

    A model with the evidence may have many columns of noise at first. Its training loss rises without any of them, but
    their relevances are small.
    """
    if not current.problem.ranks_features:
        return losses_without(current, source, units)
    params = current.model.unpack(current.theta)
    relevances = units.norms(_by_column(current.model, [np.exp(p)[None, :] for p in params.log_metric]))
    return np.asarray(np.log(np.maximum(relevances, TINY)))


def next_count(count: int, ratio: float) -> int:
    """Return how many units are kept of ``count``: numbers that eliminations of different starts share."""
    if count <= ONE_BY_ONE:
        return count - 1
    size = ONE_BY_ONE
    while int(ratio * size) < count:
        size = int(ratio * size)
    return size


def shrunk(current: Submodel, source: ArraySource, kept: np.ndarray, rng: np.random.Generator) -> Submodel:
    """Return the model refitted on some of its columns, from where it stands."""
    columns = current.columns[kept]
    lost_little = len(columns) < ONE_BY_ONE or len(columns) > (1 - LITTLE) * len(current.columns)
    max_iter = SINGLE_ITERATIONS if lost_little else NEXT_ITERATIONS
    _, theta = current.model.on_columns(current.theta, kept, current.problem.on(columns))
    return fit_submodel(current.problem, source, columns, theta, max_iter, rng)


def moved(
    model: Submodel, source: ArraySource, columns: np.ndarray, rng: np.random.Generator, factor: float = 1.0
) -> Submodel:
    """Return the model refitted on other columns or rows, with ``factor`` on its strength, from where it stands."""
    places = np.where(np.isin(columns, model.columns), np.searchsorted(model.columns, columns), -1)
    problem = model.problem.with_factor(factor)
    _, theta = model.model.on_columns(model.theta, places, problem.on(columns))
    return fit_submodel(problem, source, columns, theta, FIRST_ITERATIONS, rng)


def with_more(
    model: Submodel, source: ArraySource, units: FeatureGroups, allowed: np.ndarray, rng: np.random.Generator
) -> Submodel:
    """Return the model refitted with the allowed columns outside it that its gradient asks for most."""
    scores = entering_scores(model, source, units)
    forbidden = np.ones(len(scores), dtype=bool)
    forbidden[units.label[allowed]] = False
    scores[forbidden] = -np.inf
    count = len(units.of(model.columns).size)
    extra = np.argsort(-scores, kind="stable")[: max(5, count // 2)]
    return moved(model, source, np.union1d(model.columns, units.columns(extra[np.isfinite(scores[extra])])), rng)


def losses_without(current: Submodel, source: ArraySource, units: FeatureGroups) -> np.ndarray:
    """Return the training loss with each unit of columns left out of the kernel, all else as it is, one per unit."""
    part = source.columns(current.columns)
    loss = current.problem.loss
    model, theta = current.model.with_relevances(current.theta)
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


def entering_scores(current: Submodel, source: ArraySource, units: FeatureGroups) -> np.ndarray:
    """Return how much the loss's gradient asks for each unit outside the model; minus infinity for those inside.

    Columns outside get a relevance of next to nothing and basis entries of zero, which leaves the model as it is. The
    gradients in those entries and in the relevances, each over its typical size, tell what a column would bring. Those
    of a polynomial are nothing where a square is missing: how the slopes of the rows go with x and x^2 tells of it.
    """
    places = np.full(source.n_features, -1)
    places[current.columns] = np.arange(len(current.columns))
    model, theta = current.model.on_columns(current.theta, places, list(current.problem.terms))
    model, theta = model.with_relevances(theta)
    outside = places < 0
    for (_, view), log_metric in zip(model.views, model.unpack(theta).log_metric, strict=True):
        log_metric[outside if view.columns is None else outside[view.columns]] = np.log(NEXT_TO_NOTHING)
    slopes = model.unpack(Objective(model, current.problem.loss, source).value_and_gradient(theta)[1])
    # Slopes times the relevance.
    tables = [_by_column(model, p) / NEXT_TO_NOTHING for p in (slopes.basis, [q[None, :] for q in slopes.log_metric])]
    if any(not v.kernel.reads_zero_features and not v.kernel.is_linear for _, v in model.views):
        tables.append(correlations(_with_slopes(current, source))[None, :])
    scores = np.zeros(len(units.size))
    for table in tables:
        norms = units.norms(np.where(outside, table, 0.0))
        scores = np.maximum(scores, norms / max(float(np.median(norms)), 1e-300))
    scores[units.label[~outside]] = -np.inf
    return scores


def _with_slopes(current: Submodel, source: ArraySource) -> ArraySource:
    """Return the rows with the slopes of their losses in the scores as targets."""
    part = source.columns(current.columns)
    loss = current.problem.loss
    totals = Objective(current.model, loss, part).totals(current.theta)
    blocks = part.map(_block_slopes, current.model, current.theta, loss, totals, width=current.model.n_basis)
    slopes = np.concatenate(list(blocks))
    return source.encoded(lambda Y: np.divide(slopes, source.w, out=np.zeros_like(slopes), where=source.w > 0))


def _block_slopes(block: Block, model: PreimageModel, theta: np.ndarray, loss: Loss, totals: np.ndarray) -> np.ndarray:
    return cotangent(block, loss, model.predict(block, theta), totals)


def _by_column(model: PreimageModel, parts: list[np.ndarray]) -> np.ndarray:
    """Return arrays (rows, width) of the views one above the other, in the columns of the table."""
    table = np.zeros((sum(len(part) for part in parts), model.n_features))
    row = 0
    for (_, view), part in zip(model.views, parts, strict=True):
        table[row : row + len(part), slice(None) if view.columns is None else view.columns] = part
        row += len(part)
    return table
