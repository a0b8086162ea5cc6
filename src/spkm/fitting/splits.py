"""Samples to fit and samples to judge by."""

from __future__ import annotations

import numpy as np

FOLDS = 5  # as everywhere in scikit-learn


def dealt_folds(
    n: int,
    rng: np.random.Generator,
    kinds: np.ndarray | None = None,
    n_folds: int | None = None,
    groups: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return which of n samples to fit and to judge by: shuffled, and dealt kind by kind if they are of several kinds.

    Samples of one of the ``groups`` stay together.
    """
    if n < 2:
        raise ValueError(f"A choice by held-out samples needs at least 2 different samples; got n_samples = {n}.")
    n_folds = n_folds or FOLDS
    if groups is not None:
        fold = dealt_groups(groups, np.zeros(n, dtype=int) if kinds is None else kinds, rng, n_folds)
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]
    order = rng.permutation(n)
    if kinds is not None:
        # One after another, in the order of their first samples here: how classes are named must not matter.
        _, first, code = np.unique(kinds[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[code], kind="stable")]
    n_folds = min(n_folds, n)
    fold = np.empty(n, dtype=int)
    fold[order] = np.arange(n) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def dealt_groups(groups: np.ndarray, kinds: np.ndarray, rng: np.random.Generator, n_folds: int) -> np.ndarray:
    """Return the fold of each sample: whole groups, the largest first, go where kinds of samples become most even."""
    _, group = np.unique(groups, return_inverse=True)
    _, kind = np.unique(kinds, return_inverse=True)
    counts = np.zeros((group.max() + 1, kind.max() + 1))
    np.add.at(counts, (group, kind), 1.0)
    if len(counts) < 2:
        raise ValueError("groups must have at least 2 different values, to be held out one after another; got 1.")
    counts /= counts.sum(axis=0)  # shares, so that rare kinds count as much as others
    held = np.zeros((min(n_folds, len(counts)), counts.shape[1]))
    fold = np.empty(len(counts), dtype=int)
    order = rng.permutation(len(counts))
    for i in order[np.argsort(-counts[order].sum(axis=1), kind="stable")]:
        # The squares rise least there; ties, as of groups of a class each, by size: no fold may have all groups.
        fold[i] = int(np.lexsort((held.sum(axis=1), held @ counts[i]))[0])
        held[fold[i]] += counts[i]
    return fold[group]
