"""Intervals of figures of quality, all of one level, sound for few samples too.

The bootstrap gives an interval of length zero for a share of 0 or 1 and for classes that are separated without an
error. Shares, their means and differences and areas under the curve have formulas that do not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

LEVEL = 0.95  # of every interval in reports and commands
LEVEL_TEXT = "95 %"
RESAMPLES = 300  # of a bootstrap interval: its ends are then sure to about a tenth of its length
FEWEST = 30  # samples below which resamples are too much alike for an interval
Interval = tuple[float, float]
NONE: Interval = (np.nan, np.nan)
_Z = float(norm.ppf(0.5 + 0.5 * LEVEL))


def share_interval(hits: float, n: float) -> Interval:
    """Return Wilson's interval of a share, ``hits`` of ``n`` samples; NaN without a sample.

    Examples
    --------
    >>> low, high = share_interval(14, 14)
    >>> round(low, 3), high
    (0.785, 1.0)
    """
    return _wilson(hits, n, _Z)


def _wilson(hits: float, n: float, z: float) -> Interval:
    if n == 0:
        return NONE
    share, size = hits / n, z * z / n
    middle = (share + 0.5 * size) / (1 + size)
    half = np.sqrt(share * (1 - share) * size + 0.25 * size * size) / (1 + size)
    low = 0.0 if hits == 0 else float(middle - half)
    return low, 1.0 if hits == n else float(middle + half)


def mean_share_interval(hits: np.ndarray, totals: np.ndarray) -> Interval:
    """Return the interval of the mean of independent shares, such as balanced accuracy.

    The distances of the mean from its ends are the root mean squares of those of Wilson's intervals (Newcombe's square
    and add). Shares of no samples are left out.
    """
    kept = np.asarray(totals) > 0
    hits, totals = np.asarray(hits, dtype=float)[kept], np.asarray(totals)[kept]
    if len(hits) == 0:
        return NONE
    shares = hits / totals
    ends = np.array([share_interval(h, int(n)) for h, n in zip(hits, totals, strict=True)])
    below, above = (float(np.sqrt(np.square(shares - ends[:, side]).sum())) / len(shares) for side in (0, 1))
    return float(shares.mean()) - below, float(shares.mean()) + above


def area_under_curve(score: np.ndarray, inside: np.ndarray) -> float:
    """Return the area under the ROC curve, by ranks (Mann and Whitney); NaN if all samples are of one kind."""
    return area_of_places(places_of(score), inside)


def places_of(score: np.ndarray) -> np.ndarray:
    """Return the place of each score among the different ones, from the lowest on."""
    return np.unique(score, return_inverse=True)[1]


def area_of_places(place: np.ndarray, inside: np.ndarray) -> float:
    """Return the area under the ROC curve of scores with given places; resamples need not be sorted again."""
    n, m = int(inside.sum()), int((~inside).sum())
    if n == 0 or m == 0:
        return float("nan")
    others = np.bincount(place[~inside], minlength=int(place.max()) + 1)
    below = np.cumsum(others) - 0.5 * others  # equal scores count half
    return float(below[place[inside]].sum() / (n * m))


def area_interval(area: float, n_positive: int, n_negative: int) -> Interval:
    """Return the interval of an area under the ROC curve: Newcombe's, from the variance of Hanley and McNeil.

    An end is where the area is as many standard errors away as the level needs, with the standard error at the end:
    an area of 1 has a lower end below 1.
    """
    if n_positive == 0 or n_negative == 0 or not np.isfinite(area):
        return NONE
    other = 0.5 * (n_positive + n_negative) - 1

    def outside(value: float) -> float:
        spread = 1 + other * (1 - value) / (2 - value) + other * value / (1 + value)
        return float((value - area) ** 2 - _Z * _Z * value * (1 - value) * spread / (n_positive * n_negative))

    inside = min(max(area, 1e-9), 1 - 1e-9)  # at 0 and 1 themselves the standard error vanishes
    low = float(brentq(outside, 0.0, inside)) if area > 0 else 0.0
    return low, float(brentq(outside, inside, 1.0)) if area < 1 else 1.0


def share_difference(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Return by how much one share exceeds another of the same samples, and the interval of it (Bonett and Price).

    Parameters
    ----------
    first, second : ndarray of bool of shape (n,)
        Truth of a statement for each sample, such as that a model is right.
    """
    n = len(first)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    a, b = (only_first + 1) / (n + 2), (only_second + 1) / (n + 2)
    half = _Z * np.sqrt((a + b - (a - b) ** 2) / (n + 2))
    low, high = max(a - b - half, -1.0), min(a - b + half, 1.0)
    return (only_first - only_second) / max(n, 1), float(low), float(high)


def mean_difference(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Return by how much one mean exceeds another over the same samples, and Student's interval of it."""
    apart = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if len(apart) < 2:
        return float(apart.mean()) if len(apart) else np.nan, *NONE
    half = float(t.ppf(0.5 + 0.5 * LEVEL, len(apart) - 1)) * float(apart.std(ddof=1)) / np.sqrt(len(apart))
    return float(apart.mean()), float(apart.mean()) - half, float(apart.mean()) + half


def mean_interval(values: np.ndarray) -> Interval:
    """Return Student's interval of a mean; NaN for fewer than two values."""
    return mean_difference(values, np.zeros(len(values)))[1:]


def share_gap(first: np.ndarray, second: np.ndarray, comparisons: int = 1) -> tuple[float, float, float]:
    """Return by how much a share exceeds that of other samples, and Newcombe's interval of it.

    Parameters
    ----------
    first, second : ndarray of bool
        Truth of a statement for the samples of two groups.
    comparisons : int, default=1
        Intervals that are to hold at once (Bonferroni).
    """
    z = float(norm.ppf(1 - 0.5 * (1 - LEVEL) / comparisons))
    (p, low_p, high_p), (q, low_q, high_q) = (
        (float(part.mean()), *_wilson(int(part.sum()), len(part), z)) for part in (first, second)
    )
    apart = p - q
    low = apart - float(np.hypot(p - low_p, high_q - q))
    return apart, low, apart + float(np.hypot(high_p - p, q - low_q))


def mean_gap(first: np.ndarray, second: np.ndarray, comparisons: int = 1) -> tuple[float, float, float]:
    """Return by how much a mean exceeds that of other samples, and Welch's interval of it, as in ``share_gap``."""
    parts = [np.asarray(part, dtype=float) for part in (first, second)]
    apart = float(parts[0].mean() - parts[1].mean())
    if min(map(len, parts)) < 2:
        return apart, *NONE
    errors = [part.var(ddof=1) / len(part) for part in parts]
    if sum(errors) == 0:
        return apart, apart, apart
    freedom = sum(errors) ** 2 / sum(e * e / (len(part) - 1) for e, part in zip(errors, parts, strict=True))
    half = float(t.ppf(1 - 0.5 * (1 - LEVEL) / comparisons, freedom)) * float(np.sqrt(sum(errors)))
    return apart, apart - half, apart + half


def resampled_interval(metric: Callable[[np.ndarray], float], n: int, seed: int) -> Interval:
    """Return the bootstrap interval of a metric of rows; NaN for fewer than ``FEWEST`` samples, where it is too short.

    For figures without a formula: log loss, R², errors. Resamples on which the metric is not finite are left out.
    """
    if n < FEWEST:
        return NONE
    rng = np.random.default_rng(seed)
    values = np.array([metric(rng.integers(0, n, n)) for _ in range(RESAMPLES)])
    values = values[np.isfinite(values)]
    if len(values) < RESAMPLES // 2:
        return NONE
    low, high = np.percentile(values, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return float(low), float(high)
