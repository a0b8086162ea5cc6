"""How good models are on held-out samples, with intervals over resamples of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

RESAMPLES = 300  # 95 % intervals by percentiles: their ends are then sure to about a tenth of their length
LOSSES = ("log loss", "MAE", "RMSE")  # less is better


@dataclass(frozen=True)
class Quality:
    """Measures of some models on the same samples.

    Attributes
    ----------
    values : dict of dict
        ``values[model][measure]``.
    draws : dict of dict of ndarray
        The same on resamples, which are those of every model.
    n_samples : int
        Number of samples.
    """

    values: dict[str, dict[str, float]]
    draws: dict[str, dict[str, np.ndarray]]
    n_samples: int

    def interval(self, model: str, measure: str) -> tuple[float, float]:
        """Return the 95 % interval of a measure."""
        return _interval(self.draws[model][measure])

    def difference(self, a: str, b: str, measure: str) -> tuple[float, float, float]:
        """Return by how much a is above b, with its 95 % interval over the same resamples."""
        low, high = _interval(self.draws[a][measure] - self.draws[b][measure])
        return self.values[a][measure] - self.values[b][measure], low, high

    def rows(self) -> list[list[str]]:
        """Return a table of texts, the head first."""
        measures = list(next(iter(self.values.values())))
        rows = [["", *measures]]
        for model, values in self.values.items():
            cells = []
            for measure in measures:
                cells.append(shown(values[measure], *self.interval(model, measure)))
            rows.append([model, *cells])
        return rows

    def plain(self) -> dict[str, Any]:
        """Return all numbers as plain data."""
        return {
            model: {
                measure: {"value": value, "interval_95": list(self.interval(model, measure))}
                for measure, value in values.items()
            }
            for model, values in self.values.items()
        }


def shown(value: float, low: float, high: float, sign: str = "") -> str:
    """Return a figure and its interval, all of four digits; with ``sign="+"`` each with its sign."""
    texts = [f"{number:{sign}#.4g}".rstrip(".") for number in (value, low, high)]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def quality_of_classes(
    y: np.ndarray, classes: np.ndarray, probabilities: dict[str, np.ndarray], groups: np.ndarray | None, seed: int
) -> Quality:
    """Return accuracy, area under the ROC curve and log loss; of several classes the AUC is the mean against the rest.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    classes : ndarray
        All labels, in the order of the columns of the probabilities.
    probabilities : dict from a model to an ndarray of shape (n, n_classes)
        Predictions.
    groups : ndarray of shape (n,) or None
        Groups are resampled as a whole.
    seed : int
        Seed of the resamples.
    """
    codes = np.searchsorted(classes, y)

    def measures(p: np.ndarray, rows: np.ndarray) -> dict[str, float]:
        p, code = p[rows], codes[rows]
        true = np.clip(p[np.arange(len(rows)), code], 1e-15, 1.0)
        return {
            "accuracy": float(np.mean(p.argmax(axis=1) == code)),
            "AUC": _auc(p, code),
            "log loss": float(-np.mean(np.log(true))),
        }

    return _measured(probabilities, measures, len(y), groups, seed)


def quality_of_numbers(
    y: np.ndarray, predictions: dict[str, np.ndarray], groups: np.ndarray | None, seed: int
) -> Quality:
    """Return R2, mean absolute error and root mean squared error."""

    def measures(p: np.ndarray, rows: np.ndarray) -> dict[str, float]:
        error, target = y[rows] - p[rows], y[rows]
        spread = float(np.mean((target - target.mean()) ** 2))
        squared = float(np.mean(error**2))
        return {
            "R2": 1 - squared / spread if spread else float("nan"),
            "MAE": float(np.mean(np.abs(error))),
            "RMSE": squared**0.5,
        }

    return _measured(predictions, measures, len(y), groups, seed)


def _measured(
    predictions: dict[str, np.ndarray],
    measures: Callable[[np.ndarray, np.ndarray], dict[str, float]],
    n: int,
    groups: np.ndarray | None,
    seed: int,
) -> Quality:
    resamples = list(_resamples(n, groups, np.random.default_rng(seed)))
    values, draws = {}, {}
    for model, p in predictions.items():
        values[model] = measures(p, np.arange(n))
        drawn = [measures(p, rows) for rows in resamples]
        draws[model] = {measure: np.array([one[measure] for one in drawn]) for measure in values[model]}
    return Quality(values, draws, n)


def _resamples(n: int, groups: np.ndarray | None, rng: np.random.Generator) -> Any:
    if groups is None:
        for _ in range(RESAMPLES):
            yield rng.integers(0, n, n)
        return
    members = [np.flatnonzero(groups == label) for label in np.unique(groups)]
    for _ in range(RESAMPLES):
        yield np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])


def _auc(p: np.ndarray, codes: np.ndarray) -> float:
    """Return the area under the ROC curve by ranks (Mann and Whitney); NaN if a sample of one class was drawn."""
    areas = []
    for k in (1,) if p.shape[1] == 2 else range(p.shape[1]):
        inside = codes == k
        n_inside = int(inside.sum())
        n_outside = len(codes) - n_inside
        if n_inside and n_outside:
            above = rankdata(p[:, k])[inside].sum() - n_inside * (n_inside + 1) / 2
            areas.append(above / (n_inside * n_outside))
    return float(np.mean(areas)) if areas else float("nan")


def _interval(draws: np.ndarray) -> tuple[float, float]:
    known = draws[np.isfinite(draws)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)
