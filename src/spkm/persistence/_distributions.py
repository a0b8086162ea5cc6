"""Distributions of columns as shares of bins: what a model file keeps of them, and how far new ones are from these.

Numbers have ten bins between the deciles of the samples of the fit, categories one for each level. The distance is the
population stability index, sum (p - q) log(p / q): below 0.1 it is usually called small, above 0.25 large. Chance alone
makes it positive, so there is a chi-squared test of the counts beside it.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc
from scipy.stats import chi2

from spkm._cells import cell_list, is_missing, level_places, level_text

DECILES = np.arange(1, 10) / 10
CHANCE = 0.01  # how likely an alarm may be if nothing has changed
MOST_NAMED = 5  # levels that are named
LEAST_EXPECTED = 1.0  # samples of a bin; those with fewer are taken together in a test


class Shift(NamedTuple):
    """How far a distribution has moved.

    Attributes
    ----------
    psi : float
        The population stability index.
    p_value : float
        How likely a statistic as large is by chance, if nothing has changed.
    """

    psi: float
    p_value: float


def numbers_summary(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return deciles and shares of the bins between them, a row for each column; the last share is that of NaN.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        Numbers, NaN where they are missing.
    """
    edges = np.zeros((values.shape[1], len(DECILES)))
    for j, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        if len(known):
            edges[j] = np.quantile(known, DECILES, method="inverted_cdf")
    return {"edges": edges, "shares": binned(values, edges)}


def binned(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the shares of values up to each edge, above all, and missing, (d, edges + 2)."""
    width = edges.shape[1] + 2
    found = np.zeros((values.shape[1], width))
    for j, column in enumerate(values.T):
        places = np.where(np.isnan(column), width - 1, np.searchsorted(edges[j], column, side="left"))
        found[j] = np.bincount(places, minlength=width) / max(len(column), 1)
    return found


def level_shares(cells: np.ndarray, levels: tuple[str, ...]) -> tuple[np.ndarray, Counter[str]]:
    """Return the shares of levels, of other texts and of missing cells, and how often each of the others is there."""
    places = level_places(levels)
    counts, others = np.zeros(len(levels) + 2), Counter[str]()
    for cell in cell_list(cells):
        if is_missing(cell):
            counts[-1] += 1
            continue
        text = level_text(cell)
        counts[places.get(text, len(levels))] += 1
        if text not in places:
            others[text] += 1
    return counts / max(len(cells), 1), others


def shift_of(before: np.ndarray, n_before: int, now: np.ndarray, n_now: int) -> Shift:
    """Return how far shares of bins have moved.

    Parameters
    ----------
    before, now : ndarray of shape (bins,)
        Shares.
    n_before, n_now : int
        Numbers of samples.

    Examples
    --------
    >>> same = shift_of(np.array([0.5, 0.5]), 1000, np.array([0.52, 0.48]), 1000)
    >>> moved = shift_of(np.array([0.5, 0.5]), 1000, np.array([0.9, 0.1]), 1000)
    >>> same.psi < 0.01 < same.p_value, moved.psi > 0.8, moved.p_value < 1e-6
    (True, True, True)
    """
    a, b = np.round(before * n_before), np.round(now * n_now)
    there = a + b > 0
    a, b = a[there], b[there]
    # Half a sample more in every bin: an empty one is then at a finite distance.
    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * len(counts)) for counts in (a, b))
    psi = float(np.sum((q - p) * np.log(q / p)))
    rare = (a + b) * min(n_before, n_now) < LEAST_EXPECTED * (n_before + n_now)
    if rare.any():
        a, b = (np.append(counts[~rare], counts[rare].sum()) for counts in (a, b))
    if len(a) < 2:
        return Shift(psi, 1.0)
    ratio = np.sqrt(n_now / n_before)
    statistic = float(np.sum((ratio * a - b / ratio) ** 2 / np.maximum(a + b, 1.0)))
    return Shift(psi, float(chi2.sf(statistic, len(a) - 1)))


def new_levels(others: Counter[str], n: int, share_before: float) -> tuple[tuple[str, float], ...]:
    """Return levels that are more frequent than all others of the fit were together, and their shares."""
    found = [(level, count / n) for level, count in others.most_common() if exceeds(count / n, n, share_before)]
    return tuple(found[:MOST_NAMED])


def lost_levels(levels: tuple[str, ...], before: np.ndarray, now: np.ndarray, n: int) -> tuple[str, ...]:
    """Return levels of the fit that no new sample has, though chance would have brought some."""
    gone = [
        (share, level)
        for level, share, new in zip(levels, before, now, strict=False)
        if new == 0 and n * np.log1p(-min(share, 1 - 1e-12)) < np.log(CHANCE / max(len(levels), 1))
    ]
    return tuple(level for _, level in sorted(gone, reverse=True)[:MOST_NAMED])


def exceeds(share: float, n: int, limit: float) -> bool:
    """Whether a share of n samples is above a limit by more than chance: a binomial test at ``CHANCE``.

    Examples
    --------
    >>> exceeds(0.1, 10, 0.05), exceeds(0.1, 1000, 0.05)
    (False, True)
    """
    count = round(share * n)
    if share <= limit or count == 0:
        return False
    return limit == 0 or float(bdtrc(count - 1, n, limit)) < CHANCE


def chance_shift(n: int) -> float:
    """Return the largest difference of distributions that chance explains (Dvoretzky, Kiefer and Wolfowitz)."""
    return float(np.sqrt(np.log(2 / CHANCE) / (2 * n)))


def checked_summary(numbers: object, n_columns: int) -> bool:
    """Whether a part of a summary has the numbers of so many columns."""
    if not isinstance(numbers, dict) or set(numbers) != {"edges", "shares"}:
        return False
    shapes = {"edges": (n_columns, len(DECILES)), "shares": (n_columns, len(DECILES) + 2)}
    return all(np.shape(numbers[name]) == shape for name, shape in shapes.items())
