"""What a loss is: totals over rows that add up, a value from totals, and directions for the gradient.

Shapes, once for all losses: targets ``Y`` and predictions ``F`` are (n, m), row weights ``w`` (n, 1) and sum to one
over all rows of a fit. A gradient dL/dF is sum_q mix_q * directions_q with numbers mix_q that may need the totals of
*all* rows: that is what lets a loss that is no sum over rows, the cosine proximity, do with one pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

FAR = 3.0  # deviations beyond which a robust loss cuts targets for its first guess


class Loss(BaseEstimator):
    """Base of all losses."""

    #: What the targets are: "real" numbers, or "signs" (+1 in the column of the class, -1 elsewhere).
    target = "real"
    #: Whether an affine change of real targets only rescales the loss, so that they may be standardised before a fit.
    standardize_target = True
    #: Whether far targets count little. Then they must not set the scale of all targets either, nor the first guess.
    robust = False
    #: Whether the loss ignores the length of F; then a penalty on the weights has nothing to balance.
    scale_free = False
    #: The strength of the RKHS-norm penalty is the first number, or with several outputs the second, over the sum of
    #: row weights, unless given. Measured.
    rkhs_strength = (0.2, 0.2)

    def totals(self, Y: np.ndarray, F: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return sums over the rows of a block, in float64; those of several blocks add up."""
        raise NotImplementedError(f"{type(self).__name__} must define totals(Y, F, w).")

    def value(self, totals: np.ndarray) -> float:
        """Return the loss from the totals of all rows."""
        raise NotImplementedError(f"{type(self).__name__} must define value(totals).")

    def directions(self, Y: np.ndarray, F: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the arrays (n, m) that the gradient is made of."""
        raise NotImplementedError(f"{type(self).__name__} must define directions(Y, F, w).")

    def mix(self, totals: np.ndarray) -> tuple[Any, ...]:
        """Return the factor of each direction, a number or (m,)."""
        return (1.0,)

    def predict(self, F: np.ndarray) -> np.ndarray:
        """Return predictions of real targets from scores: the inverse of the loss's link."""
        return F

    def best_scale(self, totals: np.ndarray) -> Any:
        """Return the factor on F, (m,), that brings it nearest to Y; of use where the loss is ``scale_free``."""
        raise NotImplementedError(f"{type(self).__name__} must define best_scale(totals) if it is scale_free.")

    def working_target(self, Y: np.ndarray) -> np.ndarray:
        """Return targets on the scale of F, for a first guess by least squares."""
        return np.clip(Y, -FAR, FAR) if self.robust else Y

    def check_target(self, y: np.ndarray) -> None:
        """Raise ValueError if the targets have no meaning under this loss."""


class SumLoss(Loss):
    """A weighted sum over rows: a subclass defines ``pointwise(Y, F)`` and ``slope(Y, F)``, its derivative in F."""

    def pointwise(self, Y: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the loss of every entry, (n, m), or of every row, (n, 1)."""
        raise NotImplementedError(f"{type(self).__name__} must define pointwise(Y, F).")

    def slope(self, Y: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the derivative of the row's loss in F, (n, m)."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(Y, F).")

    def totals(self, Y: np.ndarray, F: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.asarray([np.sum(w * self.pointwise(Y, F), dtype=np.float64)])

    def value(self, totals: np.ndarray) -> float:
        return float(totals[0])

    def directions(self, Y: np.ndarray, F: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
        return (w * self.slope(Y, F),)
