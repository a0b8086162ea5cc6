"""Facts of a report about each basis vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.explain import vector_stability
from spkm.explain._summary import telling_features
from spkm.explain._table import basis_labels
from spkm.inspection._reading import Reading
from spkm.inspection._report._features import Told
from spkm.inspection._report._findings import Evidence
from spkm.inspection._report._pair_facts import nearest_to_vectors
from spkm.inspection._report._samples import rounded

MOST = 60  # basis vectors with a card of their own
TELLING = 8  # features of a card
NEAREST = 5  # samples of a card
SMALLEST = 0.2  # entry of a level that a vector still stands for
MOST_CLASSES = 30  # with more a card would be a list of classes


def basis_facts(seen: Evidence, told: Told, paired: dict[str, Any] | None, ship: bool) -> dict[str, Any]:
    """Return the cards of the basis vectors, those with the largest share of the variance first.

    Vectors whose weights are all zero have none: they are counted. On an axis a card has the vector as a curve, else
    the columns that set it apart most, a category as one.
    """
    samples, share, columns, has_axis = seen.samples, seen.share, told.columns, told.axis is not None
    reading, sampled, similarities = samples.reading, samples.sampled, samples.similarities
    model = reading.model
    near_pairs = None if paired is None else nearest_to_vectors(paired)
    telling = telling_features(model)
    deviations = reading.deviations(np.array(model.basis_vectors), sampled)
    is_vector = model.vector_rows
    alive = is_vector & np.any(np.asarray(model.weights) != 0, axis=1)
    order = [r for r in np.argsort(-np.abs(share), kind="stable") if alive[r]][:MOST]
    terms, labels = _places(model), basis_labels(model)
    near = np.zeros((0, model.n_basis))
    if ship:
        whole = np.tile(np.median(sampled, axis=0), (len(samples.shown), 1))
        whole[:, reading.read] = samples.shown
        near = model.similarities(whole)
    nearest = np.bincount(np.argmax(np.where(is_vector, similarities, -np.inf), axis=1), minlength=model.n_basis)
    owner = {int(told.listed[k]): c for c, column in enumerate(columns) for k in column["features"]}
    swings = np.abs(np.asarray(model.weights)) * similarities.std(axis=0)[:, None]
    kept, cautions = _kept(model), dict(seen.contrary)
    cards = []
    for r in order:
        vector = np.asarray(model.basis_vectors[r], dtype=float)
        chosen = list(dict.fromkeys(owner[int(c)] for c in telling[r] if int(c) in owner))[: 0 if has_axis else TELLING]
        cards.append(
            {
                "r": int(r),
                "name": labels[r],
                "weights": rounded(model.weights[r]),
                "share": rounded(share[r], 4),
                "count": rounded(nearest[r] / len(sampled), 4),
                "part": terms[r],
                "caution": cautions.get(int(r), ""),
                "swing": rounded(swings[r].max(), 3),
                "kept": None if kept is None else rounded(kept[r], 3),
                "features": [
                    _entry(columns[c], told.listed[columns[c]["features"]], vector, deviations[r]) for c in chosen
                ],
                "curve": rounded(vector, 4) if has_axis else None,
                "spread": rounded(np.percentile(similarities[:, r], [5, 25, 50, 75, 95]), 4),
                "classes": _by_class(reading, similarities[:, r], samples.sampled_y),
                "entities": None if near_pairs is None else near_pairs[r],
                "nearest": [[int(i), rounded(near[i, r], 4)] for i in np.argsort(-near[:, r], kind="stable")[:NEAREST]],
            }
        )
    return {
        "cards": cards,
        "left_out": int(alive.sum()) - len(cards),
        "n_dead": int(is_vector.sum() - alive.sum()),
        "linear_share": rounded(float(share[~is_vector].sum()), 4),
        "spread": rounded((similarities @ np.asarray(model.weights)).std(axis=0).max(), 3),
    }


def _kept(model: Any) -> np.ndarray | None:
    """Return the mean similarity of each basis vector to its places in refits; None if the model has no refits."""
    if not model.refits:
        return None
    found = np.ones(model.n_basis)
    found[model.vector_rows] = vector_stability(model).similarity
    return found


def _entry(column: dict[str, Any], own: np.ndarray, vector: np.ndarray, deviations: np.ndarray) -> list[Any]:
    """Return name, value and deviation of a vector in a column; of a category the levels it stands for, and None."""
    if column["options"] is None:
        value, deviation = float(vector[own[0]]), float(deviations[own[0]])
        size = abs(value / deviation) if deviation else 0.0
        return [column["name"], 0.0 if abs(value) < 1e-9 * size else rounded(value), rounded(deviation, 3)]
    at, options = vector[own], column["options"]
    amounts = [float(at[np.argmax(values)]) if any(values) else max(0.0, 1 - at.sum()) for _, values in options]
    order = [k for k in np.argsort(-np.array(amounts), kind="stable")[:2] if amounts[k] >= SMALLEST]
    text = ", ".join(f"{options[k][0]} ({amounts[k]:.2f})" for k in order)
    return [column["name"], text or "no level in particular", None]


def _by_class(reading: Reading, similarity: np.ndarray, y: np.ndarray | None) -> list[list[Any]] | None:
    """Return the mean similarity of the samples of each class."""
    if y is None or reading.labels is None or np.ndim(y) > 1 or len(reading.labels) > MOST_CLASSES:
        return None
    found = []
    for label in reading.labels:
        own = similarity[y == label]
        found.append([str(label), rounded(own.mean(), 4) if len(own) else None])
    return found


def _places(model: Any) -> list[str]:
    """Return where each basis vector belongs: its binary problem, or its term; empty where there is but one."""
    members = model.members
    found = []
    for k, member in enumerate(members):
        for term in member.terms:
            name = model.names[k] if len(members) > 1 else term.name if len(member.terms) > 1 else ""
            found += [name] * (term.rows.stop - term.rows.start)
    return found
