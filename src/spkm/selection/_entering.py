"""Features that enter again: a floating elimination (Pudil, Novovičová and Kittler 1994).

A feature that a path lost may come back. Each time that half of the groups have left, those with the largest slopes of
the training loss enter, and as many leave. Every number of groups keeps the model of the lower objective.
"""

from __future__ import annotations

import numpy as np

from spkm._arrays import dense
from spkm.core.objective import Objective, cotangent
from spkm.selection._elimination import TINY, Submodel, eliminate, moved
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._settings import SearchSettings
from spkm.sources import ArraySource, Block


def floating_elimination(
    first: Submodel,
    source: ArraySource,
    units: FeatureGroups,
    allowed: np.ndarray,
    least: int,
    most: int,
    rng: np.random.Generator,
    settings: SearchSettings,
) -> list[Submodel]:
    """Return models of fewer and fewer groups, from ``first`` down to ``least``; ``allowed`` features may enter."""
    sequence = [first]
    count = n_groups(first, units)
    allowed = np.union1d(allowed, first.columns)
    while count > least:
        count = max(count // 2, least)
        sequence += eliminate(sequence[-1], source, units, count, most, rng, settings)[1:]
        count = n_groups(sequence[-1], units)
        wider = with_more(sequence[-1], source, units, allowed, rng, settings)
        if wider is None:
            continue
        for model in eliminate(wider, source, units, count, most, rng, settings):
            for i, rival in enumerate(sequence):
                if n_groups(rival, units) == n_groups(model, units) and model.objective < rival.objective:
                    sequence[i] = model
    return sequence


def n_groups(model: Submodel, units: FeatureGroups) -> int:
    """Return the number of feature groups of a model."""
    return len(np.unique(units.label[model.columns]))


def with_more(
    model: Submodel,
    source: ArraySource,
    units: FeatureGroups,
    allowed: np.ndarray,
    rng: np.random.Generator,
    settings: SearchSettings,
) -> Submodel | None:
    """Return the model refitted with half as many groups more, those with the largest slopes; None if none is left."""
    scores = entering_scores(model, source, units, allowed)
    order = np.argsort(-scores, kind="stable")[: max(n_groups(model, units) // 2, 2)]
    extra = order[np.isfinite(scores[order])]
    if len(extra) == 0:
        return None
    return moved(model, source, np.union1d(model.columns, units.columns(extra)), rng, settings=settings)


def entering_scores(model: Submodel, source: ArraySource, units: FeatureGroups, allowed: np.ndarray) -> np.ndarray:
    """Return how much the training loss would gain by each group outside a model of a dot-product kernel.

    These are the slopes in the entries of the basis vectors, which are zero there. If a square is missing the slopes
    vanish as well, and those of a feature x_j^2 beside x_j show it. Each is over its median. Groups inside have
    minus infinity.
    """
    source = source.columns(allowed)
    params = model.model.unpack(model.theta)
    view = model.model.views[0][1]
    d, places = len(allowed), np.searchsorted(allowed, model.columns)
    U = np.zeros((len(params.weights), 2 * d), dtype=source.dtype)
    U[:, places] = params.basis[0]
    metric = view.factors(params.log_metric[0])
    if np.ndim(metric):
        learned, metric = metric, np.full(2 * d, np.mean(metric))
        metric[places] = learned
    loss, part = model.problem.loss, source.columns(places)
    totals = Objective(model.model, loss, part).totals(model.theta)

    def slopes(block: Block) -> tuple[np.ndarray]:
        X = dense(block.X)
        block = block._replace(X=np.hstack([X, np.square(X)]))
        K, pullback = view.kernel.vjp(block.X, U, metric)
        F = K @ params.weights + params.intercept
        S = cotangent(block, loss, F, totals)
        return (pullback(S @ params.weights.T)[0],)

    G = source.reduce(slopes, width=2 * d)[0]
    groups = units.of(allowed)
    scores = np.full(len(units.size), -np.inf)
    both = [groups.norms(table) for table in (G[:, :d], G[:, d:])]
    scores[np.unique(units.label[allowed])] = np.maximum(*(n / max(float(np.median(n)), TINY) for n in both))
    scores[units.label[model.columns]] = -np.inf
    return scores
