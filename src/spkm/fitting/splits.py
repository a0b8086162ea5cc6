"""Samples to fit and samples to judge by."""

from __future__ import annotations

import numpy as np

from spkm.losses import Loss, sign_groups

FOLDS = 5  # as everywhere in scikit-learn


def dealt_folds(
    Y: np.ndarray, loss: Loss, rng: np.random.Generator, n_folds: int | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return samples to fit and to judge by: shuffled, and dealt class by class where targets are signs."""
    n = len(Y)
    if n < 2:
        raise ValueError(f"A choice by held-out samples needs at least 2 different samples; got n_samples = {n}.")
    order = rng.permutation(n)
    if loss.target == "signs" and np.all(np.abs(Y) == 1):
        # Class by class, in the order of their first samples here: how classes are named must not matter.
        _, first, code = np.unique(sign_groups(Y)[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[code], kind="stable")]
    n_folds = min(n_folds or FOLDS, n)
    fold = np.empty(n, dtype=int)
    fold[order] = np.arange(n) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
