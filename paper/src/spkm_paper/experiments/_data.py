"""The samples of an experiment: which data sets there are, and how they are split."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from spkm_paper.datasets import BrokenDatasetError, Dataset, load


@lru_cache(maxsize=4)
def loaded(name: str, folder: Path | None) -> Dataset:
    """Return a data set, loaded once in each process; what has to be downloaded, :func:`absence` has."""
    return load(name, folder, download=False)


def absence(name: str, folder: Path | None, download: bool) -> str | None:
    """Return why a data set cannot be had; None if it can, and is in the folder or the cache."""
    try:
        load(name, folder, download=download)
    except (FileNotFoundError, BrokenDatasetError) as error:
        return " ".join(str(error).split())
    return None


def some_rows(n: int, most: int | None, seed: int = 0) -> np.ndarray:
    """Return row numbers: all, or as many as given, drawn at random and put in order."""
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).permutation(n)[:most])


def thirds(n: int, seed: int, groups: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the samples of a training, a validation and a test third.

    Parameters
    ----------
    n : int
        Number of samples.
    seed : int
        Seed of the split.
    groups : ndarray of shape (n,), default=None
        Labels; samples of one label stay together, and the thirds are those of the labels.

    Examples
    --------
    >>> [len(part) for part in thirds(10, seed=0)]
    [3, 4, 3]
    >>> groups = np.repeat([0, 1, 2], [5, 1, 1])
    >>> sorted(len(part) for part in thirds(7, 0, groups))
    [1, 1, 5]
    """
    labels, of_row = np.unique(np.arange(n) if groups is None else groups, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    cuts = np.round(len(labels) * np.array([1 / 3, 2 / 3])).astype(int)
    if groups is None:
        train, validation, test = np.split(order, cuts)
    else:
        train, validation, test = (np.flatnonzero(np.isin(of_row, part)) for part in np.split(order, cuts))
    return train, validation, test
