"""Splits of pairs that say what is new in the test samples: pairs, entities of one side, or of both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from spkm._arrays import NewPart, RandomState
from spkm._checks import check_choice, check_integer, generator


class PairKFold(BaseCrossValidator):
    """Folds of pairs whose test samples hold new pairs, new left entities, new right entities or both.

    A pair of two entities that occur in other pairs is easier to predict than one of two new entities. This splitter
    makes the folds of each task, so that a figure can name its task.

    Parameters
    ----------
    new : {"pairs", "left", "right", "both"}, default="pairs"
        Part of the test samples that is in no training sample: pairs, left entities, right entities, or both. With
        "both", pairs of a known with a new entity are in neither part, and there are ``n_splits`` squared splits:
        each fold of left entities with each of right ones.
    n_splits : int, default=5
        Folds.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([(i, j) for i in range(4) for j in range(6)])
    >>> train, test = next(PairKFold(new="left", n_splits=2, random_state=0).split(pairs))
    >>> bool(set(pairs[train, 0]) & set(pairs[test, 0])), bool(set(pairs[train, 1]) & set(pairs[test, 1]))
    (False, True)
    """

    def __init__(self, new: NewPart = "pairs", n_splits: int = 5, random_state: RandomState = None) -> None:
        self.new = new
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        check_choice("new", self.new, ("pairs", "left", "right", "both"))
        n_splits = check_integer("n_splits", self.n_splits, 2)
        return n_splits**2 if self.new == "both" else n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield samples to train on and to test on.

        Parameters
        ----------
        X : array-like of int of shape (n_samples, 2)
            Pairs.
        y, groups : object
            Not used.
        """
        self.get_n_splits()
        pairs = np.asarray(X)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"X must hold pairs, of shape (n_samples, 2); got an array of shape {pairs.shape}.")
        rng = generator(self.random_state)
        if self.new == "pairs":
            distinct = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
            yield from _each_fold(self._dealt(distinct, "pairs", rng), self.n_splits)
            return
        if self.new != "both":
            side = ("left", "right").index(self.new)
            folds = self._dealt(pairs[:, side], f"{self.new} entities", rng)
            yield from _each_fold(folds, self.n_splits)
            return
        left, right = (self._dealt(pairs[:, k], f"{side} entities", rng) for k, side in enumerate(("left", "right")))
        for k in range(self.n_splits):
            for m in range(self.n_splits):
                train, test = (left != k) & (right != m), (left == k) & (right == m)
                if not train.any() or not test.any():
                    raise ValueError(
                        f"No pair is left to {'train' if test.any() else 'test'} on where both entities are new: "
                        f"the pairs are too few for n_splits={self.n_splits}. Lower it."
                    )
                yield np.flatnonzero(train), np.flatnonzero(test)

    def _dealt(self, labels: np.ndarray, what: str, rng: np.random.Generator) -> np.ndarray:
        """Return a fold for each pair; pairs of one label share it."""
        distinct, code = np.unique(labels, return_inverse=True)
        if len(distinct) < self.n_splits:
            raise ValueError(f"n_splits={self.n_splits} needs as many {what}; got {len(distinct)}. Lower it.")
        return (rng.permutation(len(distinct)) % self.n_splits)[code.ravel()]


def _each_fold(folds: np.ndarray, n_splits: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for k in range(n_splits):
        yield np.flatnonzero(folds != k), np.flatnonzero(folds == k)
