"""Importance of every column of the table for the scores: its part in their variance, its effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spkm.explain import partial_dependence, sobol_indices
from spkm.explain._bars import LEVEL, half_width, over_refits
from spkm.explain._summary import direction
from spkm.inspection._reading import Reading
from spkm.inspection._report._samples import rounded
from spkm.kernels import ProductForm

CURVES = 40  # columns with an effect; of models of many scores as many fewer that the file stays small
POINTS = 33  # of an effect curve: smooth at the width of a page
OUTPUTS = 12  # outputs with a curve
LEVELS = 24  # of a category that have an effect: the most frequent ones
IN_ORDER = 8  # levels that keep their order; more are sorted by their effect
TOGETHER = 20  # columns that are moved in one table of samples
ROWS = 200  # samples that effects are averaged over; fewer for models of many components
EFFORT = 3e8  # products of pairs of components, features and samples up to which shares of variance are exact


def importance_facts(
    reading: Reading,
    columns: list[dict[str, Any]],
    features: list[dict[str, Any]],
    middle: np.ndarray,
    sampled: np.ndarray,
    stability: Any,
    curves: bool,
) -> dict[str, Any]:
    """Give every column its importance, its effect and how often it was chosen; return what these numbers are.

    Parameters
    ----------
    reading : Reading
        The estimator.
    columns : list of dict
        Columns of the table, with their features among those that are read; changed in place.
    features : list of dict
        Facts of the features that are read.
    middle : ndarray
        The usual row, by feature that is read.
    sampled : ndarray of shape (n, d)
        Samples that shares and effects are computed on.
    stability : StabilitySelection or None
        Shares of halves that chose a feature.
    curves : bool
        Whether columns have effects of their own; on an axis of ordered features curves over the axis show more.
    """
    members = [np.array([features[k]["column"] for k in column["features"]]) for column in columns]
    total, alone, bars = _shares(reading, columns, members, middle, sampled)
    for k, (column, own) in enumerate(zip(columns, members, strict=True)):
        column["variance"] = rounded(total[k], 4)
        column["bar"] = None if bars is None else rounded(bars[k], 3)
        column["alone"] = None if alone is None else rounded(alone[k], 4)
        shares = reading.fold_shares
        column["folds"] = None if shares is None else rounded(shares[own].max(), 3)
        column["stability"] = None if stability is None else rounded(stability.probabilities[own].max(), 3)
        column["effect"] = None
    if curves:
        few = sampled[:: max(1, len(sampled) // _rows_for(reading))]
        most = max(12, CURVES // -(-min(reading.model.n_outputs, OUTPUTS) // 3))
        chosen = np.argsort(-total, kind="stable")[:most]
        plain = [k for k in chosen if columns[k]["options"] is None and len(members[k]) == 1]
        for k, effect in zip(plain, _curves(reading, [members[k][0] for k in plain], features, few), strict=True):
            columns[k]["effect"] = effect
        for k in chosen:
            if columns[k]["effect"] is None:
                columns[k]["effect"] = _effect(reading, columns[k], members[k], features, few)
    return {"points": POINTS, "independent": alone is not None}


def _curves(reading: Reading, own: list[int], features: list[dict[str, Any]], few: np.ndarray) -> list[dict[str, Any]]:
    """Return the mean score along some features."""
    ends = {feature["column"]: (feature["low"], feature["high"]) for feature in features}
    grid = {int(c): np.linspace(*ends[int(c)], POINTS) for c in own}
    found = []
    for effect in partial_dependence(reading.model, few, list(grid), grid=grid):
        values = effect.values.T[:OUTPUTS]
        shapes, bars = [direction(part) for part in values], None
        if effect.std is not None:
            bars = rounded((effect.interval()[1] - effect.values).T[:OUTPUTS], 3)
        found.append({"levels": None, "values": rounded(values, 4), "bars": bars, "shapes": shapes})
    return found


def _effect(
    reading: Reading, column: Mapping[str, Any], own: np.ndarray, features: list[dict[str, Any]], few: np.ndarray
) -> dict[str, Any] | None:
    """Return the mean score along a number, or at the levels of a category."""
    if column["options"] is None:
        known = few.copy()
        known[:, own[1:]] = 0.0  # where a number may be missing, the curve is of known ones
        return _curves(reading, [own[0]], features, known)[0]
    levels = column["options"]
    if len(levels) > LEVELS:
        counts = [int((few[:, own] == np.array(at)).all(axis=1).sum()) for _, at in levels]
        levels = [levels[k] for k in np.sort(np.argsort(-np.array(counts), kind="stable")[:LEVELS])]
    moved = np.tile(few, (len(levels), 1, 1))
    moved[:, :, own] = np.array([at for _, at in levels])[:, None, :]
    rows = moved.reshape(-1, few.shape[1])

    def means(model: Any) -> np.ndarray:
        return np.asarray(model.scores(rows).reshape(len(levels), len(few), -1).mean(axis=1).T[:OUTPUTS])

    values, bars = means(reading.model), _half_widths(reading.model, over_refits(reading.model, means))
    if len(levels) > IN_ORDER:
        order = np.argsort(-values[0], kind="stable")
        levels, values = [levels[k] for k in order], values[:, order]
        bars = None if bars is None else bars[:, order]
    shapes = [f"highest at {levels[int(np.argmax(part))][0]}" if np.ptp(part) > 0 else "flat" for part in values]
    told = {"values": rounded(values, 4), "bars": None if bars is None else rounded(bars, 3), "shapes": shapes}
    return {"levels": [label for label, _ in levels], **told}


def _shares(
    reading: Reading, columns: list[dict[str, Any]], members: list[np.ndarray], middle: np.ndarray, sampled: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return the share of the scores' variance that each column has a part in, and that it explains alone.

    If Sobol indices would take long: the mean size of the scores' change when the column takes its usual value, as a
    share of the largest, and None. The last are half-widths of error bars of the first, of models with refits.
    """
    model = reading.model
    if len(columns) == 0:
        return np.zeros(0), np.zeros(0), None
    rows = sampled[:: max(1, len(sampled) // 200)]
    effort = _components(reading) ** 2 * len(reading.read) * len(rows)
    if effort <= EFFORT:
        total, alone = _sobol_shares(model, members, rows)
        cheap = effort * len(model.refits) <= EFFORT
        std = over_refits(model, lambda refit: _sobol_shares(refit, members, rows)[0]) if cheap else None
        return total, alone, _half_widths(model, std)
    places = [middle[column["features"]] for column in columns]
    total = _moved_shares(model, members, places, rows[:50])
    std = over_refits(model, lambda refit: _moved_shares(refit, members, places, rows[:50]))
    return total, None, _half_widths(model, std)


def _half_widths(model: Any, std: np.ndarray | None) -> np.ndarray | None:
    """Return half-widths of intervals from deviations over refits; None without refits."""
    return None if std is None else half_width(len(model.refits), LEVEL) * std


def _sobol_shares(model: object, members: list[np.ndarray], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return total and first Sobol indices of columns, weighted by the variance of each score."""
    joined = {f"{k}": own for k, own in enumerate(members) if len(own) > 1}
    indices = sobol_indices(model, rows, groups=joined)
    place = {name: k for k, name in enumerate(indices.feature_names)}
    names = [str(k) if len(own) > 1 else f"x{own[0]}" for k, own in enumerate(members)]
    chosen = [place[name] for name in names]
    variance = max(float(indices.variance.sum()), 1e-300)
    total, first = (part[chosen] @ indices.variance / variance for part in (indices.total, indices.first))
    return total, first


def _moved_shares(model: Any, members: list[np.ndarray], places: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return the mean size of the scores' change when a column takes its usual value, as a share of the largest."""
    scores, change = model.scores(rows), np.zeros(len(members))
    for start in range(0, len(members), TOGETHER):
        some = range(start, min(start + TOGETHER, len(members)))
        moved = np.tile(rows, (len(some), 1, 1))
        for k, c in enumerate(some):
            moved[k][:, members[c]] = places[c]
        found = model.scores(moved.reshape(-1, moved.shape[2])).reshape(len(some), len(rows), -1)
        change[list(some)] = np.abs(found - scores).mean(axis=(1, 2))
    return np.asarray(change / max(float(change.max()), 1e-300))


def _rows_for(reading: Reading) -> int:
    """Return how many samples effects are averaged over, so that they take less than a second."""
    return int(np.clip(2e7 / (_components(reading) * max(len(reading.read), 1)), 20, ROWS))


def _components(reading: Reading) -> int:
    """Return how many products of features the model is a sum of."""
    count = 0
    for member in reading.model.members:
        for term in member.terms:
            forms = [view.kernel.rkhs().forms() for view in term.views]
            sizes = [
                sum(len(form.amounts) if isinstance(form, ProductForm) else 1 for form in f) if f else 1 for f in forms
            ]
            count += (term.rows.stop - term.rows.start) * int(np.prod(sizes))
    return count
