"""Kernels of a dot product: they compare x with u by what they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm._arrays import Array
from spkm._namespaces import namespace
from spkm._parts import COUNT, POSITIVE, Number
from spkm.kernels._bandwidth import PerColumn
from spkm.kernels._base import InvariantKernel, Kernel, number
from spkm.kernels._forms import DotForm, Forms, no_largest_diagonal


class DotKernel(PerColumn, InvariantKernel):
    """A kernel of gamma * x.u alone: a subclass defines ``value(dot)`` and ``slope(dot, value)``."""

    claims = {**Kernel.claims, "largest_diagonal": (("vjp", "_value"), no_largest_diagonal)}
    uses_norms = False
    reads_zero_features = False

    def value(self, dot: Array) -> Array:  # type: ignore[override]
        """Return k as a function of gamma x.u, (n, R); ``dot`` must not be changed."""
        raise NotImplementedError(f"{type(self).__name__} must define value(dot).")

    def _value(self, dot: Array, xx: Array, uu: Array) -> Array:
        return self.value(dot)

    def slope(self, dot: Array, value: Array) -> Any:
        """Return dk/d(gamma x.u)."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(dot, value).")

    def slopes(self, dot: Array, xx: Array, uu: Array, value: Array) -> tuple[Any, Any, Any]:
        return self.slope(dot, value), None, None

    def largest_diagonal(self, squared_radius: float = np.inf) -> float | None:
        if squared_radius == np.inf:
            return np.inf
        # k(x, x) never falls as x grows: k is a power series in x.u without negative coefficients (Schoenberg 1942).
        return float(self.value(np.full((1, 1), number(self) * squared_radius))[0, 0])


class Linear(DotKernel):
    """Linear kernel, k(x, u) = gamma x.u: the model is a linear one, of rank at most R over the outputs.

    Parameters
    ----------
    gamma : float or "auto", default="auto"
        Factor on the product; "auto" is one over the number of features.

    Examples
    --------
    >>> Linear(gamma=1.0)([[2.0, 1.0]], [[1.0, 3.0]])
    array([[5.]])
    """

    formula = "linear"
    anywhere = True
    is_linear = True

    def __init__(self, gamma: float | str = "auto") -> None:
        self.gamma = gamma

    def value(self, dot: Array) -> Array:  # type: ignore[override]
        return dot

    def slope(self, dot: Array, value: Array) -> float:
        return 1.0

    def forms(self) -> Forms:
        return (DotForm(np.array([0.0, 1.0]), number(self)),)


class Polynomial(DotKernel):
    """Polynomial kernel, k(x, u) = (gamma x.u + coef0)^degree.

    Parameters
    ----------
    degree : int, default=3
        Degree.
    coef0 : float, default=1.0
        The constant q >= 0; 0 makes the kernel homogeneous.
    gamma : float or "auto", default="auto"
        As in :class:`Linear`.

    Examples
    --------
    >>> Polynomial(degree=2, coef0=1.0, gamma=1.0)([[2.0, 1.0]], [[1.0, 3.0]])
    array([[36.]])
    """

    formula = "polynomial"
    anywhere = True
    numbers = {"degree": COUNT, "coef0": Number()}

    def __init__(self, degree: int = 3, coef0: float = 1.0, gamma: float | str = "auto") -> None:
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma

    def value(self, dot: Array) -> Array:  # type: ignore[override]
        return _power(dot + self.coef0, self.degree)

    def slope(self, dot: Array, value: Array) -> Array:
        return self.degree * _power(dot + self.coef0, self.degree - 1)

    def forms(self) -> Forms:
        coefficients = np.array([1.0])
        for _ in range(self.degree):
            coefficients = np.convolve(coefficients, [self.coef0, 1.0])
        return (DotForm(coefficients, number(self)),)


class NormalizedPolynomial(PerColumn, InvariantKernel):
    """Polynomial kernel on the unit sphere of its feature space, (x.u + q)^p / sqrt((x.x + q)^p (u.u + q)^p).

    Parameters
    ----------
    degree : int, default=2
        The degree p.
    coef0 : float, default=1.0
        The constant q > 0.
    gamma : float or "auto", default="auto"
        Factor on all three products, as in :class:`Linear`.

    Examples
    --------
    >>> NormalizedPolynomial(degree=2, gamma=1.0)([[2.0, 1.0]], [[1.0, 3.0]]).round(4)
    array([[0.5455]])
    """

    formula = "normalized_polynomial"
    anywhere = True
    claims = {**Kernel.claims, "largest_diagonal": (("vjp", "value"), no_largest_diagonal)}
    numbers = {"degree": COUNT, "coef0": POSITIVE}  # with 0 a sample of zeros has no direction

    def __init__(self, degree: int = 2, coef0: float = 1.0, gamma: float | str = "auto") -> None:
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma

    def value(self, dot: Array, xx: Array, uu: Array) -> Array:
        return ((dot + self.coef0) / namespace(dot).sqrt((xx + self.coef0) * (uu + self.coef0))) ** self.degree

    def largest_diagonal(self, squared_radius: float = np.inf) -> float | None:
        return 1.0

    def slopes(self, dot: Array, xx: Array, uu: Array, value: Array) -> tuple[Any, Any, Any]:
        norm = namespace(dot).sqrt((xx + self.coef0) * (uu + self.coef0))
        cosine = (dot + self.coef0) / norm
        half = -0.5 * self.degree * value
        return self.degree * cosine ** (self.degree - 1) / norm, half / (xx + self.coef0), half / (uu + self.coef0)


class Tanimoto(InvariantKernel):
    """Tanimoto (Jaccard) similarity, k(x, u) = x.u / (x.x + u.u - x.u), for fingerprints and counts.

    Positive semi-definite for all real vectors: x.u / (x.x + u.u) is, and k is the sum of its powers. Features are
    taken as they are, never centred or scaled; two zero vectors have similarity 0.

    Examples
    --------
    >>> Tanimoto()([[1.0, 1.0, 0.0]], [[1.0, 0.0, 1.0]]).round(4)
    array([[0.3333]])
    """

    formula = "tanimoto"
    anywhere = True
    claims = {**Kernel.claims, "largest_diagonal": (("vjp", "value", "_union"), no_largest_diagonal)}
    nonnegative = True

    def value(self, dot: Array, xx: Array, uu: Array) -> Array:
        return dot / self._union(dot, xx, uu)

    def largest_diagonal(self, squared_radius: float = np.inf) -> float | None:
        return 1.0  # of every x but zero

    def slopes(self, dot: Array, xx: Array, uu: Array, value: Array) -> tuple[Any, Any, Any]:
        union = self._union(dot, xx, uu)
        shared = -value / union
        return (1 + value) / union, shared, shared

    @staticmethod
    def _union(dot: Array, xx: Array, uu: Array) -> Array:
        union = xx + uu
        union = union - dot
        return namespace(dot).where(union > 0, union, 1.0)  # not above zero where both vectors are


def _power(base: Array, exponent: int) -> Array:
    """Return base ** exponent by products: NumPy takes a logarithm of every entry from the third power on."""
    result = namespace(base).ones_like(base) if exponent == 0 else base
    for _ in range(exponent - 1):
        result = result * base
    return result
