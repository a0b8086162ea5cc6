"""Quantile regression of scores that includes a new sample, exactly and along a path.

A score S of a new sample is accepted up to the value at which its dual variable reaches ``t`` in

    minimise over b:  sum_i rho(S_i - p_i'b) + rho(S - p'b),     rho(r) = max(level r, -(1 - level) r).

That value is p'b for the b that minimises sum_i rho(S_i - p_i'b) - t p'b: the regression of the known samples, tilted
by the new one. The dual variables, one for each known sample, are -(1 - level) below the regression and level above it,
and change with t in the few samples that lie on it. So a regression of the known samples alone is followed from t = 0
to the t that is asked for, one exchange of samples after another (parametric simplex), instead of solving a linear
programme for each new sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.optimize import linprog

ON = 1e-9  # a dual variable farther than this from its bounds belongs to a sample on the regression
MOST = 10_000  # exchanges
ROUNDED = 1e-11  # a product of less than this share of its summands is zero: features of groups have many


@dataclass(frozen=True)
class Regression:
    """The quantile regression of known samples.

    Attributes
    ----------
    P, scores : ndarray of shapes (n, p), (n,)
        Features and scores.
    level : float
        The quantile.
    basis : ndarray of shape (p,)
        Samples that lie on the regression.
    inverse : ndarray of shape (p, p)
        Inverse of the matrix of their features, one in each column.
    duals : ndarray of shape (p,)
        Their dual variables.
    residuals : ndarray of shape (n,)
        Scores minus the regression.
    """

    P: np.ndarray
    scores: np.ndarray
    level: float
    basis: np.ndarray
    inverse: np.ndarray
    duals: np.ndarray
    residuals: np.ndarray

    @staticmethod
    def of(P: np.ndarray, scores: np.ndarray, level: float) -> Regression:
        """Return the regression of a quantile of scores on features of full rank; scores must not be tied."""
        n, p = P.shape
        found = linprog(-scores, A_eq=P.T, b_eq=np.zeros(p), bounds=(level - 1.0, level), method="highs-ds")
        eta = np.asarray(found.x)
        coefficients = -np.asarray(found.eqlin.marginals)
        apart = np.minimum(eta - (level - 1.0), level - eta)
        # Samples on the regression come first; of a degenerate vertex those that are nearest to it.
        rank = np.where(apart > ON, 1e6 + apart, -np.abs(scores - P @ coefficients))
        order = np.argsort(-rank, kind="stable")
        basis = _independent(P, order)
        inverse = np.linalg.inv(P[basis].T)
        residuals = scores - P @ np.linalg.solve(P[basis], scores[basis])
        residuals[basis] = 0.0
        outside = np.ones(n, dtype=bool)
        outside[basis] = False
        at = np.where(residuals > 0, level, level - 1.0)
        duals = -inverse @ (P[outside].T @ at[outside])
        return Regression(P, scores, level, basis, inverse, duals, residuals)

    def cutoff(self, feature: np.ndarray, t: float) -> float:
        """Return the score of a new sample at which its dual variable reaches ``t``; infinite if none does.

        Parameters
        ----------
        feature : ndarray of shape (p,)
            Features of the new sample.
        t : float
            A number between ``level - 1`` and ``level``.
        """
        basis, inverse, duals = self.basis.copy(), self.inverse.copy(), self.duals.copy()
        residuals, turn = self.residuals.copy(), 1.0 if t >= 0 else -1.0
        at, low, high = 0.0, self.level - 1.0, self.level
        for _ in range(MOST):
            rates = -turn * _product(inverse, feature)
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(rates > 0, (high - duals) / rates, np.where(rates < 0, (low - duals) / rates, np.inf))
            k = int(np.argmin(room))
            step = max(float(room[k]), 0.0)
            if at + step >= abs(t) - ON:  # of a kink the side before it
                return float(feature @ np.linalg.solve(self.P[basis], self.scores[basis]))
            at += step
            duals += step * rates
            side = 1.0 if rates[k] > 0 else -1.0
            moved = side * _product(self.P, inverse[k])
            moved[basis] = 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                crossing = np.where(residuals * moved < 0, -residuals / moved, np.inf)
            j = int(np.argmin(crossing))
            if not np.isfinite(crossing[j]):
                return turn * np.inf
            entering = high if residuals[j] > 0 else low
            residuals += crossing[j] * moved
            residuals[basis[k]] = side * crossing[j]
            residuals[j] = 0.0
            column = inverse @ self.P[j]
            inverse[k] /= column[k]
            column[k] = 0.0
            inverse -= np.outer(column, inverse[k])
            basis[k], duals[k] = j, entering
        raise RuntimeError("The regression of the scores did not end: a bug of spkm.")


def _product(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return A b with zeros in place of rounding: what only seems to move would be exchanged for ever."""
    found = A @ b
    return np.where(np.abs(found) > ROUNDED * (np.abs(A) @ np.abs(b)), found, 0.0)


def _independent(P: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the first samples of an order whose features are linearly independent, as many as features."""
    p = P.shape[1]
    first = order[:p]
    if np.linalg.cond(P[first]) < 1e10:
        return first
    weights = 2.0 ** -np.minimum(np.arange(len(order)) / 4.0, 400.0)  # earlier ones weigh more in the pivoting
    _, _, pivots = qr((P[order] * weights[:, None]).T, mode="economic", pivoting=True)
    return order[pivots[:p]]
