"""One component: where to begin, how many features, and the last steps on all samples.

A candidate is found on some samples and judged by the correlation on others. The l1 radius is the smallest whose mean
correlation there is within one standard error of the best. The candidate that did best there is fitted again on all
samples: features that the correlation does not need leave, and none enters.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from spkm.cca._ascent import Found, ascend
from spkm.cca._elimination import eliminated, with_columns
from spkm.cca._objective import Correlation, Table
from spkm.cca._starts import pair_starts

MOST_ROWS = 20_000  # samples that radius and features are chosen on
FOLDS = 3
MANY = 6_000  # samples from which one split is enough
FEWEST = 24  # samples below which nothing can be held out
REFIT_STEPS = 100  # after a loss of features

Start = tuple[np.ndarray, np.ndarray]
Starts = list[Start]


class Effort(NamedTuple):
    """How much work a search may do."""

    n_starts: int
    max_iter: int
    tol: float


class Component(NamedTuple):
    """A component, its correlation on held-out samples (NaN where none were), and the l1 radii of its directions."""

    found: Found
    validation: float
    radii: tuple[float, float]


def search(
    left: Table,
    right: Table,
    radii: list[tuple[float, float]],
    effort: Effort,
    rng: np.random.Generator,
) -> Component | None:
    """Return the next component of two tables; None if nothing varies that earlier components do not explain.

    If there are several pairs of ``radii``, in rising order, one is chosen.
    """
    n = left.source.n_rows
    rows = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, size=MOST_ROWS, replace=False))
    some = Correlation(left.rows(rows), right.rows(rows)) if n > MOST_ROWS else Correlation(left, right)
    starts = pair_starts(some.left, some.right, effort.n_starts, radii[0], rng)
    if not starts:
        return None
    if len(rows) >= FEWEST:
        level, validation, chosen = _validated(some, starts, radii, effort, rng)
    else:
        level, validation = 0, np.nan
        chosen = max((ascend(some, s, radii[0], effort.max_iter, effort.tol) for s in starts), key=lambda f: f.value)
    # No feature enters here that was not there when the candidate was judged.
    best = eliminated(some, chosen, effort.max_iter, effort.tol)
    if n > MOST_ROWS:
        whole = Correlation(left, right)
        best = with_columns(whole, best, effort.max_iter, effort.tol)
    if best.value <= 0:  # all that varies is rounding
        return None
    return Component(_rising(best, left, right), validation, radii[level])


def _rising(found: Found, left: Table, right: Table) -> Found:
    """Return the component with a direction reversed in place of a sign, where that makes its function the negative."""
    if found.sign > 0:
        return found
    turned = _reversed(right, found.right)
    if turned is not None:
        return found._replace(right=turned, sign=1.0)
    turned = _reversed(left, found.left)
    return found if turned is None else found._replace(left=turned, sign=1.0)


def _reversed(table: Table, theta: np.ndarray) -> np.ndarray | None:
    """Return parameters of the negative function, by the opposite direction; None if that is another function."""
    if table.side.kernel.reads_zero_features:
        return None
    turned = theta.copy()
    turned[: table.side.n_features] *= -1
    after, before = table.values(turned)[0], table.values(theta)[0]
    return turned if np.allclose(after, -before, rtol=1e-9, atol=1e-12 * np.abs(before).max()) else None


def _held_out(objective: Correlation, found: Found) -> float:
    """Return the correlation of a component on other samples."""
    return found.sign * objective(found.left, found.right).correlation


def _validated(
    some: Correlation, starts: Starts, radii: list[tuple[float, float]], effort: Effort, rng: np.random.Generator
) -> tuple[int, float, Found]:
    """Return which radii are best on held-out samples, the mean correlation there, and the best candidate with them.

    Each part of the samples has start points of its own; those of all samples serve where it has none.
    """
    n = some.left.source.n_rows
    order = rng.permutation(n)
    parts = [np.sort(part) for part in np.array_split(order, FOLDS)]
    splits = [(np.setdiff1d(np.arange(n), part), part) for part in parts[: 1 if n >= MANY else FOLDS]]
    tables = [[Correlation(some.left.rows(rows), some.right.rows(rows)) for rows in split] for split in splits]
    now: Starts = []
    for train, held_out in tables:
        own = pair_starts(train.left, train.right, effort.n_starts, radii[0], rng) or starts
        first = [ascend(train, start, radii[0], effort.max_iter, effort.tol) for start in own]
        best = max(first, key=partial(_held_out, held_out))
        now.append((best.left, best.right))
    error = 1.0 / np.sqrt(max(sum(len(split[1]) for split in splits) - 3, 1))  # of Fisher's transform of a correlation
    scores: list[float] = []
    candidates: list[Found] = []
    for pair in radii:
        held, ends = [], []
        for k, (train, held_out) in enumerate(tables):
            bounded = ascend(train, now[k], pair, effort.max_iter, effort.tol)
            now[k] = bounded.left, bounded.right
            end = eliminated(train, bounded, REFIT_STEPS, effort.tol)
            ends.append(end)
            held.append(_held_out(held_out, end))
        scores.append(float(np.mean(np.arctanh(np.clip(held, -0.9999, 0.9999)))))
        candidates.append(ends[int(np.argmax(held))])
        if len(scores) > 2 and max(scores[-2:]) <= max(scores[:-2]) + error:
            break  # two wider radii in a row brought nothing
    level = int(np.argmax(np.array(scores) >= max(scores) - error))
    return level, float(np.tanh(scores[level])), candidates[level]
