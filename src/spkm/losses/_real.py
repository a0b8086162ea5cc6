"""Losses of real targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm._arrays import Array
from spkm._namespaces import namespace
from spkm._parts import POSITIVE, Number
from spkm.losses._base import SumLoss, weighted_total


class Squared(SumLoss):
    """Squared error, (f - y)^2.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [3.0]]), np.array([[1.5], [1.0]])
    >>> Squared().pointwise(Y, F).ravel()
    array([0.25, 4.  ])
    """

    anywhere = True
    is_quadratic = True

    def pointwise(self, Y: Array, F: Array) -> Array:
        return namespace(F).square(F - Y)

    def slope(self, Y: Array, F: Array) -> Array:
        return 2 * (F - Y)

    def totals_and_directions(self, Y: Array, F: Array, w: Array) -> tuple[Array, tuple[Array, ...]]:
        residual = F - Y
        direction = w * residual
        residual *= direction
        direction *= 2
        return weighted_total(residual), (direction,)


class Huber(SumLoss):
    """Squared for small residuals r = f - y, linear for large: r^2 / 2, or delta (|r| - delta / 2) beyond delta.

    Parameters
    ----------
    delta : float, default=1.0
        Residual where the two meet, in deviations of y in an estimator: 1.48 times the median distance from the median,
        which outliers do not change.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [3.0]]), np.array([[1.5], [1.0]])
    >>> Huber(delta=1.0).pointwise(Y, F).ravel()
    array([0.125, 1.5  ])
    """

    anywhere = True
    robust = True
    numbers = {"delta": POSITIVE}

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def pointwise(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        r = xp.abs(F - Y)
        small = xp.minimum(r, self.delta)
        return small * (r - 0.5 * small)

    def slope(self, Y: Array, F: Array) -> Array:
        return namespace(F).clip(F - Y, -self.delta, self.delta)


class EpsilonInsensitive(SumLoss):
    """Squared error beyond a tube, max(0, |f - y| - epsilon)^2.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube, in standard deviations of y when an estimator fits.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [3.0]]), np.array([[1.5], [1.0]])
    >>> EpsilonInsensitive(epsilon=0.5).pointwise(Y, F).ravel()
    array([0.  , 2.25])
    """

    anywhere = True
    numbers = {"epsilon": Number()}

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def pointwise(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        return xp.square(xp.maximum(xp.abs(F - Y) - self.epsilon, 0))

    def slope(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        r = F - Y
        return 2 * xp.sign(r) * xp.maximum(xp.abs(r) - self.epsilon, 0)


class Quantile(SumLoss):
    """Pinball loss of a quantile, (q - 1/2) r + |r| / 2 with r = y - f, where |r| is a parabola for |r| < width.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile q that f estimates.
    width : float, default=0.05
        Half the width of the parabola, in deviations of y as for :class:`Huber`.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [3.0]]), np.array([[1.5], [1.0]])
    >>> Quantile(0.9).pointwise(Y, F).round(4).ravel()
    array([0.05, 1.8 ])
    """

    anywhere = True
    robust = True
    for_classes = False
    numbers = {"width": POSITIVE}

    def __init__(self, quantile: float = 0.5, width: float = 0.05) -> None:
        self.quantile = quantile
        self.width = width

    def pointwise(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        r = Y - F
        size = xp.abs(r)
        smooth = xp.where(size < self.width, 0.5 * (r * r / self.width + self.width), size)
        return (self.quantile - 0.5) * r + 0.5 * smooth

    def slope(self, Y: Array, F: Array) -> Array:
        return -(self.quantile - 0.5) - 0.5 * namespace(F).clip((Y - F) / self.width, -1, 1)

    def check(self, argument: str) -> Any:
        if not (isinstance(self.quantile, int | float) and 0 < self.quantile < 1):
            raise ValueError(f"quantile of {argument} must lie between 0 and 1; got {self.quantile!r}.")
        return super().check(argument)


class Poisson(SumLoss):
    """Poisson deviance with a log link, exp(f) - y f; predictions are exp(f).

    Beyond f = 30 the exponential goes on as a straight line, so that a wild step of a solver stays finite.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [3.0]]), np.array([[1.5], [1.0]])
    >>> Poisson().pointwise(Y, F).round(4).ravel()
    array([ 2.9817, -0.2817])
    """

    anywhere = True
    standardize_target = False
    for_classes = False
    link = "exp"
    _linear_from = 30.0

    def pointwise(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        inside = xp.minimum(F, self._linear_from)
        return xp.exp(inside) * (1 + F - inside) - Y * F

    def slope(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        return xp.exp(xp.minimum(F, self._linear_from)) - Y

    def predict(self, F: Array) -> Array:
        return np.exp(np.minimum(F, self._linear_from))  # the mean under the straight line: exp cannot overflow

    def working_target(self, Y: Array) -> Array:
        mean = Y.mean(axis=0)
        return np.log(np.maximum(Y, np.where(mean > 0, 0.1 * mean, 1e-3)))  # a column of zeros has no mean to go by

    def check_target(self, y: Array) -> None:
        if np.min(y) < 0:
            raise ValueError(
                f"loss='poisson' needs non-negative targets; y has minimum {np.min(y):g}. Use 'squared' instead."
            )

    def check_whole_target(self, y: Array) -> None:
        if not np.sum(y) > 0:
            raise ValueError("loss='poisson' needs a positive target; all of y is zero.")
