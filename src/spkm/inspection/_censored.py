"""How good survival curves are, on samples some of which are censored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spkm.inspection._intervals import share_interval
from spkm.losses import Times, concordance


class SurvivalCurve(NamedTuple):
    """A step function of time from one: the share without an event, by Kaplan and Meier.

    Attributes
    ----------
    times, survival : ndarray of shape (n_times,)
        Times of events, and the share after each.
    error : ndarray of shape (n_times,)
        Standard error of the share (Greenwood).
    """

    times: np.ndarray
    survival: np.ndarray
    error: np.ndarray

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the share without an event until given times."""
        return np.concatenate([[1.0], self.survival])[np.searchsorted(self.times, times, side="right")]

    def before(self, times: np.ndarray) -> np.ndarray:
        """Return the share without an event before given times."""
        return np.concatenate([[1.0], self.survival])[np.searchsorted(self.times, times, side="left")]

    def error_at(self, times: np.ndarray) -> np.ndarray:
        """Return the standard error of the share at given times."""
        return np.concatenate([[0.0], self.error])[np.searchsorted(self.times, times, side="right")]


def concordance_among(times: Times, risk: np.ndarray, rows: np.ndarray) -> float:
    """Return the concordance of some of the samples; NaN if no two of them can be compared."""
    try:
        some = times.part(rows)
        return concordance(some.time, some.event, risk[rows], some.entry)
    except ValueError:
        return float("nan")


def entered_late(times: Times) -> bool:
    """Whether some samples were not at risk from the start on: they entered after the first of all times."""
    return times.entry is not None and bool(times.entry.max(initial=0.0) >= times.time.min(initial=np.inf))


def kaplan_meier(
    time: np.ndarray, event: np.ndarray, *, first: np.ndarray | None = None, entry: np.ndarray | None = None
) -> SurvivalCurve:
    """Return the curve of Kaplan and Meier.

    Parameters
    ----------
    time, event : ndarray of shape (n,)
        Times, and whether they are those of events.
    first : ndarray of shape (n,) or None
        Samples that leave before others of the same time and are not at risk then: for the curve of censored times,
        those with events.
    entry : ndarray of shape (n,) or None
        Times of entry: a sample is at risk after its entry only.
    """
    times, deaths = np.unique(time[event], return_counts=True)
    at_risk = len(time) - np.searchsorted(np.sort(time), times, side="left")
    if first is not None:
        gone = np.sort(time[first])
        at_risk = at_risk - (np.searchsorted(gone, times, side="right") - np.searchsorted(gone, times, side="left"))
    if entry is not None:
        at_risk = at_risk - (len(entry) - np.searchsorted(np.sort(entry), times, side="left"))
    left = np.maximum(at_risk - deaths, 0)
    survival = np.cumprod(left / np.maximum(at_risk, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(np.where(left > 0, deaths / (at_risk * left), 0.0))
    return SurvivalCurve(times, survival, survival * np.sqrt(greenwood))


def judged_times(times: Times, count: int = 9) -> np.ndarray:
    """Return times at which curves are judged: deciles of those of events, before the last time of all."""
    if not times.event.any():
        raise ValueError("y must hold at least one event: curves are judged at times of events.")
    inner = np.arange(1, count + 1) / (count + 1)
    found = np.unique(np.quantile(times.time[times.event], inner))
    return found[found < times.time.max()] if np.any(found < times.time.max()) else found[:1]


def brier_scores(times: Times, survival: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the squared error of survival probabilities, (n, n_times): its mean over samples is the Brier score.

    Samples that are censored before a time do not count, and others count for them: each is weighted by the inverse
    probability of not being censored (Graf et al. 1999), whose curve is that of the samples themselves: of an event the
    probability of not being censored before it, so that events and censored samples may share times.

    Parameters
    ----------
    times : Times
        Times of n samples, all of them at risk from the start on.
    survival : ndarray of shape (n, n_times)
        Probabilities of no event until each of the times ``at``.
    at : ndarray of shape (n_times,)
        Times.
    """
    if entered_late(times):
        raise ValueError(
            "Brier scores need samples that are at risk from the start on; some entered later. Leave them out."
        )
    uncensored = kaplan_meier(times.time, ~times.event, first=times.event)
    own, there = uncensored.before(times.time), uncensored.at(at)
    with np.errstate(divide="ignore"):
        weight_own, weight_there = (np.where(p > 0, 1.0 / p, 0.0) for p in (own, there))
    happened = times.event[:, None] & (times.time[:, None] <= at)
    later = times.time[:, None] > at
    return happened * survival**2 * weight_own[:, None] + later * (1.0 - survival) ** 2 * weight_there


class Calibration(NamedTuple):
    """Predicted and observed survival of groups of samples at one time.

    Attributes
    ----------
    predicted : ndarray of shape (n_groups,)
        Mean of the predicted probabilities of each group.
    observed, low, high : ndarray of shape (n_groups,)
        The share without an event by Kaplan and Meier, with its 95 % interval.
    n_samples : ndarray of shape (n_groups,)
        Samples of each group.
    """

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_samples: np.ndarray


def survival_calibration(times: Times, survival: np.ndarray, at: float, n_groups: int = 5) -> Calibration:
    """Return predicted and observed survival until a time, for samples grouped by their prediction, (n,)."""
    parts = np.array_split(np.argsort(survival, kind="stable"), min(n_groups, len(survival)))
    rows = [_observed(times.part(part), at) for part in parts]
    predicted = np.array([survival[part].mean() for part in parts])
    observed, low, high = (np.array(column) for column in zip(*rows, strict=True))
    return Calibration(predicted, observed, low, high, np.array([len(part) for part in parts]))


def _observed(times: Times, at: float) -> tuple[float, float, float]:
    """Return the share without an event until a time and Wilson's interval, for as many samples as it is sure as."""
    curve = kaplan_meier(times.time, times.event, entry=times.entry)
    share, error = float(curve.at(np.array([at]))[0]), float(curve.error_at(np.array([at]))[0])
    followed = (times.event | (times.time > at)) & (True if times.entry is None else times.entry < at)
    n = share * (1 - share) / error**2 if error > 0 else float(np.sum(followed))
    return share, *share_interval(share * n, n)
