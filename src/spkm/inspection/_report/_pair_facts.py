"""Facts of a report about pairs: named entities on both sides, and what the page predicts any pair of them with.

A term of a model of pairs is a product of kernels, each of one side, so that

    f(i, j) = b + sum_r c_r left_ir right_jr

with a table of similarities for each side. They are all that a page needs, however wide the tables of the entities are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.explain._table import dense, entities_of
from spkm.inspection._reading import Reading, order_along
from spkm.inspection._report._rounding import bounds_of, product_with_rounding, rounding_of_sums, with_rounding
from spkm.inspection._report._samples import Samples, plain_values, rounded, stratified
from spkm.persistence._plain import kernel_or_none
from spkm.persistence._runtime import ready_kernel
from spkm.sources import PairTable

ENTRIES = 22_000  # numbers of both tables together, about 20 bytes each
NEAREST = 5  # entities like one
MATRIX = (30, 40)  # entities of both sides in the matrix of the overview
VERIFIED = 50


def pair_facts(samples: Samples, names: Any, most: int) -> dict[str, Any]:
    """Return the entities, their similarities to the basis vectors, their neighbours, and some pairs.

    Parameters
    ----------
    samples : Samples
        Pairs of the report, and those of the fit.
    names : pair of sequences or None
        Names of the entities of both sides; None are those of the fit, or numbers.
    most : int
        Most pairs in the file.
    """
    reading, table, y, known = samples.reading, samples.table, samples.y, samples.known
    entities = entities_of(reading.estimator)
    titles = ("left entity", "right entity") if entities.pair_names is None else tuple(map(str, entities.pair_names))
    kept = [_kept(table.pairs[:, k], side.shape[0], reading.model) for k, side in enumerate((table.left, table.right))]
    given = names if names is not None else entities.entity_names
    labels = [
        [str(own[i]) if own is not None else f"{title.removesuffix(' entity')} {i}" for i in places]
        for own, title, places in zip(given, titles, kept, strict=True)
    ]
    place = [{int(i): k for k, i in enumerate(part)} for part in kept]
    inside = [i for i, (a, b) in enumerate(table.pairs) if int(a) in place[0] and int(b) in place[1]]
    own_y = None if y is None or np.ndim(y) > 1 else np.asarray(y)[inside]
    some = np.array(inside)[stratified(own_y, len(inside), min(most, 1000), reading.labels is not None)]
    pairs = [[place[0][int(a)], place[1][int(b)]] for a, b in table.pairs[some]]
    left, right = (side[own].astype(np.float64) for side, own in zip((table.left, table.right), kept, strict=True))
    shown = PairTable(left, right, np.array(pairs, dtype=int).reshape(-1, 2))  # in double precision, as pages compute
    similar, errors, alike = zip(*(_similarities(reading, shown, side) for side in (0, 1)), strict=True)
    weights, intercept = np.asarray(reading.model.weights), np.asarray(reading.model.intercept)
    scores = intercept + np.einsum("ir,jr,ro->ijo", *similar, weights)
    probes = shown[:VERIFIED]
    both = zip(similar, errors, probes.pairs.T, strict=True)
    values = product_with_rounding([(value[own], error[own]) for value, error, own in both])
    return {
        "sides": titles,
        "names": labels,
        "similar": [part.tolist() for part in similar],
        "weights": weights.tolist(),
        "intercept": intercept.tolist(),
        "near": [_neighbours(part) for part in alike],
        "pairs": pairs,
        "y": None if y is None or np.ndim(y) > 1 else [plain_values(value) for value in np.asarray(y)[some]],
        "n_fit": None if known is None else _counts(known[0], kept),
        "parts": rounded(_parts(scores[:, :, 0]), 4),
        "matrix": _matrix(scores[:, :, 0]),
        "verify": reading.model.scores(probes).tolist(),
        "rounding": bounds_of(rounding_of_sums(*values, weights, intercept), reading.labels is not None),
    }


def pair_sentence(found: dict[str, Any]) -> str:
    """Return how much of what is predicted goes with either side alone, and how much with the pair."""
    left, right, both = (f"{100 * part:.0f}\u00a0%" for part in found["parts"])
    first, second = found["sides"]
    return (
        f"The {first} alone makes {left} of the variation of its scores, the {second} alone {right}, and the pair "
        f"{both}."
    )


def _kept(used: np.ndarray, n: int, model: Any) -> np.ndarray:
    """Return the entities of a side that the file has room for: those that most pairs name."""
    room = max(20, ENTRIES // (2 * max(model.n_basis, 1)))
    if n <= room:
        return np.arange(n)
    return np.sort(np.argsort(-np.bincount(used, minlength=n), kind="stable")[:room])


def _similarities(reading: Reading, table: PairTable, side: int) -> tuple[np.ndarray, ...]:
    """Return similarities to every basis vector and their errors, (n, R), and those among the entities, (n, n)."""
    at, values, errors, alike = table.left.shape[1], [], [], []
    for member in reading.model.members:
        scaled = member.scaled(table)
        rows = dense((scaled.left, scaled.right)[side])
        for term in member.terms:
            views = [view for view in term.views if len(view.columns) and bool(view.columns[0] >= at) == bool(side)]
            own = np.ones((len(rows), term.rows.stop - term.rows.start))
            parts = [(own, np.zeros_like(own))]
            among = np.ones((len(rows), len(rows)))
            for view in views:
                seen, kernel = rows[:, view.columns - side * at], view.kernel.rkhs()
                own = own * view.kernel(seen, view.basis)
                tree = kernel_or_none(view.kernel)
                if tree is not None:
                    parts.append(with_rounding(ready_kernel(tree, seen.shape[1]), seen, view.basis))
                sizes = np.sqrt(np.maximum(kernel.diagonal(seen), 1e-300))
                among = among * (kernel(seen, seen) / np.outer(sizes, sizes))
            values.append(own)
            errors.append(product_with_rounding(parts)[1])
            alike.append(among)
    return np.hstack(values), np.hstack(errors), np.mean(alike, axis=0)


def _neighbours(alike: np.ndarray) -> list[list[list[Any]]]:
    """Return for each entity the most similar others, with the cosine of the angle between them in feature space."""
    found = []
    for i, row in enumerate(alike):
        order = [k for k in np.argsort(-row, kind="stable") if k != i][:NEAREST]
        found.append([[int(k), rounded(row[k], 3)] for k in order])
    return found


def _counts(table: Any, kept: list[np.ndarray]) -> list[list[int]]:
    """Return how many pairs of the fit each entity has."""
    sizes = (table.left.shape[0], table.right.shape[0])
    return [np.bincount(table.pairs[:, k], minlength=sizes[k])[kept[k]].tolist() for k in (0, 1)]


def _parts(scores: np.ndarray) -> np.ndarray:
    """Return the shares of the variance over all pairs of either side alone, and of both together; they sum to one."""
    whole = scores - scores.mean()
    left, right = whole.mean(axis=1), whole.mean(axis=0)
    total = max(float(np.square(whole).mean()), 1e-300)
    alone = np.array([np.square(left).mean(), np.square(right).mean()]) / total
    return np.append(alone, max(0.0, 1 - float(alone.sum())))


def _matrix(scores: np.ndarray) -> list[list[int]]:
    """Return which entities of both sides the matrix shows, in an order in which neighbours have similar scores."""
    chosen = []
    for part, most in zip((scores, scores.T), MATRIX, strict=True):
        centred = part - part.mean(axis=0)
        spread = np.argsort(-np.square(centred).sum(axis=1), kind="stable")[:most]
        chosen.append(np.sort(spread)[order_along(centred[np.sort(spread)])].tolist())
    return chosen


def nearest_to_vectors(found: dict[str, Any]) -> list[list[list[list[Any]]]]:
    """Return for each basis vector the entities most like it on both sides, with their similarities."""
    sides = [np.array(part) for part in found["similar"]]
    result = []
    for r in range(sides[0].shape[1]):
        own = [np.argsort(-part[:, r], kind="stable")[:NEAREST] for part in sides]
        result.append(
            [[[int(k), rounded(part[k, r], 3)] for k in order] for part, order in zip(sides, own, strict=True)]
        )
    return result
