"""How good models are on held-out samples, with intervals that hold for few samples, too."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import t

from spkm.inspection._censored import brier_scores, concordance_among
from spkm.inspection._intervals import (
    FEWEST,
    LEVEL,
    NONE,
    Interval,
    area_interval,
    area_of_places,
    mean_difference,
    places_of,
    resampled_interval,
    share_difference,
    share_interval,
)
from spkm.losses import Times

LOSSES = ("log loss", "MAE", "RMSE", "Brier score")  # less is better


@dataclass(frozen=True)
class Measure:
    """A measure of one model.

    Attributes
    ----------
    on : callable
        ``on(rows)`` is the measure on some of the samples, which may be there more than once.
    each : ndarray of shape (n,) or None
        Values of the samples that the measure is the mean of: truths of a share, or losses.
    areas : tuple of tuples
        For a mean of areas under the curve: each with the numbers of samples inside and outside of its class.
    """

    on: Callable[[np.ndarray], float]
    each: np.ndarray | None = None
    areas: tuple[tuple[float, int, int], ...] = ()


@dataclass(frozen=True)
class Quality:
    """Measures of some models on the same samples.

    Attributes
    ----------
    measures : dict of dict
        ``measures[model][measure]``.
    n_samples : int
        Number of samples.
    groups : list of ndarray or None
        Samples that belong together, which are drawn as a whole.
    seed : int
        Seed of the resamples.
    """

    measures: dict[str, dict[str, Measure]]
    n_samples: int
    groups: list[np.ndarray] | None
    seed: int

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """The figures: ``values[model][measure]``."""
        rows = np.arange(self.n_samples)
        return {model: {name: one.on(rows) for name, one in own.items()} for model, own in self.measures.items()}

    @property
    def too_few(self) -> str:
        """How many samples or groups there are, if these are too few for resamples, else nothing."""
        if self.groups is not None:
            return f"{len(self.groups)} groups" if len(self.groups) < FEWEST else ""
        return f"{self.n_samples} samples" if self.n_samples < FEWEST else ""

    def interval(self, model: str, measure: str) -> Interval:
        """Return the 95 % interval of a measure; NaN where the samples are too few for one.

        Shares have Wilson's, of groups from the number of samples that these are worth; areas under the curve
        Newcombe's; other figures one over resamples, of samples or of groups.
        """
        one = self.measures[model][measure]
        if one.each is not None and one.each.dtype.kind == "b":
            share = float(one.each.mean())
            n = self.n_samples if self.groups is None else _effective(one.each, self.groups)
            return share_interval(share * n, n)
        if one.areas and self.groups is None:  # at most as wide as the mean of all: areas go up and down together
            low, high = np.mean([area_interval(*area) if area[1] else (area[0],) * 2 for area in one.areas], axis=0)
            return float(low), float(high)
        return self._resampled(one.on)

    def difference(self, a: str, b: str, measure: str) -> tuple[float, float, float]:
        """Return by how much a is above b, with its 95 % interval on the same samples."""
        first, second = self.measures[a][measure], self.measures[b][measure]
        if first.each is not None and second.each is not None:
            if self.groups is not None:
                return _grouped_mean(first.each.astype(float) - second.each, self.groups)
            compared = share_difference if first.each.dtype.kind == "b" else mean_difference
            return compared(first.each, second.each)
        rows = np.arange(self.n_samples)
        apart = self._resampled(lambda some: first.on(some) - second.on(some))
        return first.on(rows) - second.on(rows), *apart

    def _resampled(self, metric: Callable[[np.ndarray], float]) -> Interval:
        groups = self.groups
        if groups is None:
            return resampled_interval(metric, self.n_samples, self.seed)
        return resampled_interval(
            lambda drawn: metric(np.concatenate([groups[k] for k in drawn])), len(groups), self.seed
        )

    def rows(self) -> list[list[str]]:
        """Return a table of texts, the head first."""
        values = self.values
        measures = list(next(iter(values.values())))
        rows = [["", *measures]]
        for model, own in values.items():
            rows.append([model, *(shown(own[measure], *self.interval(model, measure)) for measure in measures)])
        return rows

    def difference_row(self, a: str, b: str) -> list[str]:
        """Return a row of such a table: by how much a is above b."""
        measures = next(iter(self.measures.values()))
        return [f"{a} - {b}", *(shown(*self.difference(a, b, measure), sign="+") for measure in measures)]

    def plain(self) -> dict[str, Any]:
        """Return all numbers as plain data."""
        return {
            model: {
                measure: {"value": value, "interval_95": list(self.interval(model, measure))}
                for measure, value in values.items()
            }
            for model, values in self.values.items()
        }

    def plain_difference(self, a: str, b: str) -> dict[str, Any]:
        """Return by how much a is above b as plain data."""
        found = {measure: self.difference(a, b, measure) for measure in self.measures[a]}
        return {measure: {"value": d, "interval_95": [low, high]} for measure, (d, low, high) in found.items()}


def shown(value: float, low: float, high: float, sign: str = "") -> str:
    """Return a figure and its interval, to the third digit of the largest; with ``sign="+"`` each with its sign."""
    numbers = [value, low, high] if np.isfinite([low, high]).all() else [value]
    largest = max(map(abs, numbers))
    digits = max(0, 2 - math.floor(math.log10(largest))) if 0 < largest < math.inf else 3
    texts = [f"{number:{sign},.{min(digits, 9)}f}" for number in numbers]
    return f"{texts[0]} ({texts[1]} to {texts[2]})" if len(texts) == 3 else texts[0]


def quality_of(
    measures: dict[str, dict[str, Measure]], n_samples: int, groups: np.ndarray | None, seed: int
) -> Quality:
    """Return the quality of models from their measures; ``groups`` (n,) are resampled as a whole."""
    members = None if groups is None else [np.flatnonzero(groups == label) for label in np.unique(groups)]
    return Quality(measures, n_samples, members, seed)


def measures_of_classes(code: np.ndarray, p: np.ndarray) -> dict[str, Measure]:
    """Return accuracy, area under the ROC curve and log loss; of several classes the AUC is the mean against the rest.

    Parameters
    ----------
    code : ndarray of shape (n,)
        Places of the classes among the columns of the probabilities.
    p : ndarray of shape (n, n_classes)
        Probabilities.
    """
    places = np.column_stack([places_of(column) for column in p.T])
    area = Measure(
        lambda rows: _mean([area for area, _, _ in _areas(places[rows], code[rows])]),
        areas=tuple(_areas(places, code)),
    )
    return {"accuracy": _mean_of(p.argmax(axis=1) == code), "AUC": area, "log loss": _log_loss(code, p)}


def measures_of_order(code: np.ndarray, p: np.ndarray) -> dict[str, Measure]:
    """Return mean absolute error in classes, accuracy and log loss, of ordered classes as codes 0, 1 and so on."""
    most = p.argmax(axis=1)
    error = _mean_of(np.abs(most - code).astype(float))
    return {"MAE": error, "accuracy": _mean_of(most == code), "log loss": _log_loss(code, p)}


def measures_of_numbers(y: np.ndarray, p: np.ndarray) -> dict[str, Measure]:
    """Return R2, mean absolute error and root mean squared error."""
    error = y - p

    def square(rows: np.ndarray) -> float:
        return float(np.mean(error[rows] ** 2))

    def r_squared(rows: np.ndarray) -> float:
        spread = float(np.mean((y[rows] - y[rows].mean()) ** 2))
        return 1 - square(rows) / spread if spread else float("nan")

    return {
        "R2": Measure(r_squared),
        "MAE": _mean_of(np.abs(error)),
        "RMSE": Measure(lambda rows: square(rows) ** 0.5),
    }


def measures_of_times(times: Times, risk: np.ndarray, curves: np.ndarray, at: np.ndarray) -> dict[str, Measure]:
    """Return concordance, and the Brier score of curves (n, n_times), the mean over the times ``at``."""
    brier = brier_scores(times, curves, at).mean(axis=1)
    return {"concordance": Measure(partial(concordance_among, times, risk)), "Brier score": _mean_of(brier)}


def _log_loss(code: np.ndarray, p: np.ndarray) -> Measure:
    return _mean_of(-np.log(np.clip(p[np.arange(len(code)), code], 1e-15, 1.0)))


def _mean_of(each: np.ndarray) -> Measure:
    return Measure(lambda rows: float(np.mean(each[rows])), each)


def _effective(each: np.ndarray, groups: list[np.ndarray]) -> int:
    """Return how many independent samples the share of groups of samples is as sure as; of equal ones each counts one.

    The variance of the share between groups is set against that of independent samples (the design effect).
    """
    n, share = len(each), float(each.mean())
    variance = share * (1 - share) / n
    _, low, high = _grouped_mean(each.astype(float), groups)
    if variance == 0 or not np.isfinite(low) or high == low:
        return len(groups)
    spread = ((high - low) / (2 * float(t.ppf(0.5 + 0.5 * LEVEL, len(groups) - 1)))) ** 2
    return int(np.clip(round(n * variance / spread), 1, n))


def _grouped_mean(each: np.ndarray, groups: list[np.ndarray]) -> tuple[float, float, float]:
    """Return the mean over samples and Student's interval of it, with groups as what varies."""
    mean, count = float(each.mean()), len(groups)
    if count < 2:
        return mean, *NONE
    rest = np.array([float(each[rows].sum()) - len(rows) * mean for rows in groups])
    error = np.sqrt(count / (count - 1) * float(rest @ rest)) / len(each)
    half = float(t.ppf(0.5 + 0.5 * LEVEL, count - 1)) * error
    return mean, mean - half, mean + half


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _areas(places: np.ndarray, codes: np.ndarray) -> list[tuple[float, int, int]]:
    """Return areas under the ROC curve by places of probabilities, with numbers of samples inside and outside.

    A class of which there are no samples, or nothing but them, has none. Two classes have one area.
    """
    areas = []
    for k in (1,) if places.shape[1] == 2 else range(places.shape[1]):
        inside = codes == k
        area, n_inside = area_of_places(places[:, k], inside), int(inside.sum())
        if np.isfinite(area):
            # The area of a constant is known: it is no estimate.
            areas.append((area, *((n_inside, len(codes) - n_inside) if np.ptp(places[:, k]) > 0 else (0, 0))))
    return areas
