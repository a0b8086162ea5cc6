"""How much each column of a sample moves its scores: all columns from one look at the sample.

The value of most kernels is a function of a sum over features. If a column is at its usual value its parts of the
sum are others, and the rest stays: no sample with a changed column has to be predicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.persistence._runtime import of_sum, parts_of_sum, scaled


class ColumnEffects:
    """The effects of columns for a model, prepared once.

    Parameters
    ----------
    members : list of dict
        The parts of a plain model, with metrics as wide as their features.
    groups : tuple of ndarray
        Groups of :func:`spkm.persistence._runtime.column_groups`.
    usual : ndarray of shape (n_features,)
        Usual values of the features.
    """

    def __init__(self, members: list[Any], groups: tuple[np.ndarray, ...], usual: np.ndarray) -> None:
        _, copies, features = groups
        column = np.full(len(usual), -1)
        column[features] = copies - 1
        self.n_columns = int(copies.max(initial=0))
        self.members = [(member, self._terms(member, column, usual)) for member in members]

    def _terms(self, member: dict[str, Any], column: np.ndarray, usual: np.ndarray) -> list[Any]:
        Z = scaled(member, usual[None])[0]
        found: list[Any] = []
        for term in member["terms"]:
            (view,) = term["views"]
            places = view["columns"]
            owner = column[member["features"][places]]
            # Each feature a column of its own, in their order: nothing to add up.
            together = None if np.array_equal(owner, np.arange(self.n_columns)) else np.eye(self.n_columns)[owner]
            columns = None if len(places) == len(Z) else places  # they rise, so that as many as there are are all
            found.append(_Term(view["kernel"], view["basis"], term["weights"], Z[places], columns, together))
        return found

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scores, (n, m), and effects, (n, columns, m)."""
        scores: list[Any] = []
        effects: list[Any] = []
        with np.errstate(over="ignore"):
            for member, terms in self.members:
                Z = scaled(member, X)
                score: Any = member["intercept"]
                effect: Any = None
                for term in terms:
                    own, moved = term(Z if term.columns is None else Z[:, term.columns])
                    score = score + own
                    effect = moved if effect is None else effect + moved
                scores.append(score)
                effects.append(effect)
        if len(scores) == 1:
            return scores[0], effects[0]
        return np.concatenate(scores, axis=1), np.concatenate(effects, axis=2)


class _Term:
    """A term of one kernel: its part of the scores, (n, m), and what each column moves it by, (n, columns, m)."""

    def __init__(
        self, kernel: dict[str, Any], U: np.ndarray, weights: np.ndarray, usual: np.ndarray, columns: Any, together: Any
    ) -> None:
        self.kernel, self.U, self.weights, self.columns, self.together = kernel, U, weights, columns, together
        self.is_distance = kernel["name"] not in ("linear", "polynomial")
        self.at_usual = parts_of_sum(kernel, usual[None], U)[0]

    def __call__(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = parts_of_sum(self.kernel, Z, self.U)
        now = np.add.reduce(parts, axis=2)  # (n, R)
        values = of_sum(self.kernel, now)
        change = np.subtract(self.at_usual, parts, out=parts)
        change = change if self.together is None else change @ self.together
        change += now[:, :, None]
        if self.is_distance:
            np.maximum(change, 0.0, out=change)  # it may be below by rounding
        moved = values[:, :, None] - of_sum(self.kernel, change)
        return values @ self.weights, moved.swapaxes(1, 2) @ self.weights


def are_sums(members: list[Any]) -> bool:
    """Whether every term is one kernel of a sum over features."""
    return all(
        len(term["views"]) == 1 and term["views"][0]["kernel"]["name"] in OF_SUMS
        for member in members
        for term in member["terms"]
    )


OF_SUMS = ("rbf", "matern", "rational_quadratic", "laplacian", "linear", "polynomial")
