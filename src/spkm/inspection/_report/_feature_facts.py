"""Facts of a report about each feature: its range, its importance, its effect."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.inspection._reading import Reading, direction, members_of, partial_dependence, sobol_indices
from spkm.inspection._report._rows import dense_rows, rounded
from spkm.kernels import ProductForm

CURVES = 40  # features with a curve
POINTS = 33  # of an effect curve: smooth at the width of a page
OUTPUTS = 12  # outputs with a curve
TOGETHER = 20  # features that are moved in one table of samples
MOST = 1000  # features in the file; of more those that matter most
ROWS = 200  # samples that effects are averaged over; fewer for models of many components
EFFORT = 3e8  # products of pairs of components, features and samples up to which shares of variance are exact


def feature_facts(
    reading: Reading, table: Any, sampled: np.ndarray, units: dict[str, str], stability: Any, ship: bool
) -> dict[str, Any]:
    """Return the features that the model reads, in the order of the table, and how many it does not.

    Ranges are those of ``table``; in a file without rows they go from the 1st to the 99th percentile.
    """
    read = reading.read
    unknown = [name for name in units if name not in reading.names]
    if unknown:
        raise ValueError(f"units must be a dict from columns of X to their units; got {unknown[:5]}, no columns of X.")
    rows = np.arange(0, table.shape[0], max(1, table.shape[0] // 20_000))
    values = dense_rows(table, rows, read)
    ends = np.percentile(values, [0, 50, 100] if ship else [1, 50, 99], axis=0)
    total, alone, independent = _shares(reading, sampled)
    order = np.argsort(-total[read], kind="stable")
    with_curve = [int(read[k]) for k in order[:CURVES]]
    place = {int(c): k for k, c in enumerate(read)}
    grid = {c: np.linspace(ends[0, place[c]], ends[2, place[c]], POINTS) for c in with_curve}
    few = sampled[:: max(1, len(sampled) // _rows_for(reading))]
    effects = dict(zip(with_curve, partial_dependence(reading.model, few, with_curve, grid=grid), strict=True))
    found = []
    for k in np.sort(order[:MOST]):
        c = read[k]
        whole = bool(np.all(values[:, k] == np.rint(values[:, k])))
        effect = effects.get(int(c))
        found.append(
            {
                "name": reading.names[c],
                "unit": units.get(reading.names[c], ""),
                "column": int(c),
                "low": rounded(ends[0, k], 6),
                "median": rounded(ends[1, k], 6),
                "high": rounded(ends[2, k], 6),
                "sd": rounded(values[:, k].std(), 5),
                "whole": whole,
                "variance": rounded(total[c], 4),
                "alone": None if alone is None else rounded(alone[c], 4),
                "folds": None if reading.fold_shares is None else rounded(reading.fold_shares[c], 3),
                "stability": None if stability is None else rounded(stability.probabilities[c], 3),
                "effect": None
                if effect is None
                else {
                    "values": rounded(effect.values.T[:OUTPUTS], 4),
                    "shapes": [direction(values) for values in effect.values.T[:OUTPUTS]],
                },
            }
        )
    return {
        "read": found,
        "n_unread": len(reading.names) - len(read),
        "left_out": len(read) - len(found),
        "points": POINTS,
        "independent": independent,
    }


def _shares(reading: Reading, sampled: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, bool]:
    """Return the share of variance that each feature has a part in, and that it explains alone.

    If Sobol indices would take long: the mean size of the score's change when the feature takes its median.
    """
    model = reading.model
    if len(reading.read) == 0:
        nothing = np.zeros(len(reading.names))
        return nothing, nothing, True
    rows = sampled[:: max(1, len(sampled) // 200)]
    if _components(reading) ** 2 * len(reading.read) * len(rows) <= EFFORT:
        indices = sobol_indices(model, rows)
        variance = max(float(indices.variance.sum()), 1e-300)
        return indices.total @ indices.variance / variance, indices.first @ indices.variance / variance, True
    rows = rows[:50]
    scores, middle = model.scores(rows), np.median(sampled, axis=0)
    change = np.zeros(len(reading.names))
    for k in range(0, len(reading.read), TOGETHER):
        columns = reading.read[k : k + TOGETHER]
        moved = np.tile(rows, (len(columns), 1, 1))
        moved[np.arange(len(columns)), :, columns] = middle[columns, None]
        found = model.scores(moved.reshape(-1, moved.shape[2])).reshape(len(columns), len(rows), -1)
        change[columns] = np.abs(found - scores).mean(axis=(1, 2))
    return change / max(float(change.sum()), 1e-300), None, False


def _rows_for(reading: Reading) -> int:
    """Return how many samples effects are averaged over, so that they take less than a second."""
    return int(np.clip(2e7 / (_components(reading) * max(len(reading.read), 1)), 20, ROWS))


def _components(reading: Reading) -> int:
    """Return how many products of features the model is a sum of."""
    count = 0
    for member in members_of(reading.model):
        for term in member.terms:
            forms = [view.kernel.rkhs().forms() for view in term.views]
            sizes = [
                sum(len(form.amounts) if isinstance(form, ProductForm) else 1 for form in f) if f else 1 for f in forms
            ]
            count += (term.rows.stop - term.rows.start) * int(np.prod(sizes))
    return count


def _parts(form: Any) -> int:
    return len(form.amounts) if isinstance(form, ProductForm) else 1
