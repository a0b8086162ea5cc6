"""Ordered classes: one score, and thresholds that cut it into classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from spkm._arrays import Array
from spkm.losses._base import SumLoss

LEAST_GAP = 1e-3  # between thresholds: a class of no weight would close its gap
MOST_STEPS = 100  # of Newton


class Ordinal(SumLoss):
    """Cumulative logit (proportional odds), -log(s(t_y - f) - s(t_(y-1) - f)) with s the logistic function.

    Targets are codes 0, 1, ..., K-1 of ordered classes. The thresholds t_0 < ... < t_(K-2) cut the score into classes:
    the probability of a class above k is s(f - t_k).

    Parameters
    ----------
    thresholds : sequence of float, default=(0.0,)
        The K - 1 thresholds, rising. :class:`spkm.SPKMOrdinalClassifier` learns them.

    Notes
    -----
    With a = t_(y-1) - f and b = t_y - f, s(b) - s(a) = s(b) s(-a) (1 - exp(a - b)). So the loss is log(1 + exp(-b)) +
    log(1 + exp(a)) - log(1 - exp(a - b)), of which the last part does not depend on f: two logistic losses, one for the
    threshold above the class and one for that below. Nothing overflows, and the loss is convex in f and the thresholds
    together.

    Examples
    --------
    >>> import numpy as np
    >>> Ordinal((-1.0, 1.0)).probabilities(np.array([[0.0], [3.0]])).round(2)
    array([[0.27, 0.46, 0.27],
           [0.02, 0.1 , 0.88]])
    """

    standardize_target = False
    for_classes = False
    is_likelihood = True
    link = None
    rkhs_strength = (0.1, 0.1)

    def __init__(self, thresholds: Any = (0.0,)) -> None:
        self.thresholds = thresholds

    def check(self, argument: str) -> Any:
        values = np.asarray(self.thresholds, dtype=np.float64)
        if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all() or np.any(np.diff(values) <= 0):
            raise ValueError(f"thresholds of {argument} must be finite numbers that rise; got {self.thresholds!r}.")
        return super().check(argument)

    def _bounds(self, Y: Array) -> tuple[Array, Array]:
        """Return the thresholds below and above the class of each sample, infinite at the ends."""
        edges = np.concatenate([[-np.inf], np.asarray(self.thresholds, dtype=np.float64), [np.inf]])
        code = np.asarray(Y).astype(np.intp)
        return edges[code].astype(Y.dtype), edges[code + 1].astype(Y.dtype)

    def pointwise(self, Y: Array, F: Array) -> Array:
        low, high = self._bounds(Y)
        return np.asarray(-(log_expit(high - F) + log_expit(F - low) + np.log(-np.expm1(low - high))))

    def slope(self, Y: Array, F: Array) -> Array:
        low, high = self._bounds(Y)
        return np.asarray(expit(F - high) - expit(low - F))

    def working_target(self, Y: Array) -> Array:
        edges = np.asarray(self.thresholds, dtype=np.float64)
        middles = np.concatenate([[edges[0] - 1.0], 0.5 * (edges[1:] + edges[:-1]), [edges[-1] + 1.0]])
        return middles[np.asarray(Y).astype(np.intp)].astype(Y.dtype)

    def log_probabilities(self, F: Array) -> Array:
        """Return the logarithm of the probability of every class, (n, K)."""
        n_classes = len(self.thresholds) + 1
        codes = np.broadcast_to(np.arange(n_classes, dtype=F.dtype), (len(F), n_classes))
        return -self.pointwise(codes, F)

    def probabilities(self, F: Array) -> Array:
        """Return the probability of every class, (n, K)."""
        return np.exp(self.log_probabilities(F))

    def check_target(self, y: Array) -> None:
        most = len(self.thresholds)
        if not np.all((y == np.rint(y)) & (y >= 0) & (y <= most)):
            raise ValueError(
                f"Ordinal with {most} thresholds needs codes 0 to {most} as targets; got {np.unique(y)[:10].tolist()}. "
                "SPKMOrdinalClassifier makes codes of labels."
            )


def first_thresholds(share: np.ndarray, spread: float) -> np.ndarray:
    """Return thresholds at which a constant score has the given shares of classes (K,), times ``spread``."""
    below = np.clip(np.cumsum(share)[:-1], 1e-6, 1 - 1e-6)
    thresholds = spread * np.log(below / (1 - below))
    return np.maximum.accumulate(thresholds + LEAST_GAP * np.arange(len(thresholds)))


def best_thresholds(code: np.ndarray, f: np.ndarray, weight: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the thresholds with the lowest loss for given scores: Newton on a convex function of few numbers.

    Parameters
    ----------
    code : ndarray of int of shape (n,)
        Classes.
    f, weight : ndarray of shape (n,)
        Scores and weights.
    start : ndarray of shape (K - 1,)
        Thresholds to begin with, rising.
    """
    weight = weight / weight.sum()
    t = np.asarray(start, dtype=np.float64).copy()
    value = _loss(code, f, weight, t)
    for _ in range(MOST_STEPS):
        gradient, diagonal, beside = _derivatives(code, f, weight, t)
        hessian = np.diag(diagonal + 1e-12) + np.diag(beside, 1) + np.diag(beside, -1)
        step = -np.linalg.solve(hessian, gradient)
        decrease = float(-gradient @ step)
        if decrease < 1e-14:
            break
        size = 1.0
        while size > 1e-8:
            new = t + size * step
            if np.all(np.diff(new) > 0):
                new_value = _loss(code, f, weight, new)
                if new_value <= value - 1e-4 * size * decrease:
                    break
            size *= 0.5
        else:
            break
        t, value = new, new_value
    return t


def _loss(code: np.ndarray, f: np.ndarray, weight: np.ndarray, t: np.ndarray) -> float:
    return float(weight @ Ordinal(t).pointwise(code[:, None].astype(np.float64), f[:, None])[:, 0])


def _derivatives(
    code: np.ndarray, f: np.ndarray, weight: np.ndarray, t: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradient in the thresholds, and the diagonal and the entries beside it of the Hessian."""
    k = len(t)
    is_below, is_above = code < k, code > 0  # samples with a threshold above, and below
    up, down = code[is_below], code[is_above] - 1
    above = expit(f[is_below] - t[up])
    under = expit(t[down] - f[is_above])
    w_up, w_down = weight[is_below], weight[is_above]
    gradient = _sums(down, w_down * under, k) - _sums(up, w_up * above, k)
    diagonal = _sums(down, w_down * under * (1 - under), k) + _sums(up, w_up * above * (1 - above), k)
    share = _sums(code, weight, k + 1)[1:-1]  # of the classes between two thresholds
    gap = np.diff(t)
    closing = 1.0 / np.expm1(gap)  # -d/dgap of -log(1 - exp(-gap))
    curvature = share * closing * (1 + closing)
    gradient[1:] -= share * closing
    gradient[:-1] += share * closing
    diagonal[1:] += curvature
    diagonal[:-1] += curvature
    return gradient, diagonal, -curvature


def _sums(groups: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return the sum of values of each group, (count,)."""
    return np.asarray(np.bincount(groups, values, count), dtype=np.float64)
