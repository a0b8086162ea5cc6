"""Closed forms of kernels over features: mixtures of products, and polynomials of an inner product.

A kernel that has one says so by ``Kernel.forms()``. They are what makes explanations exact: a product of functions of
one feature each, or a polynomial of a sum of them, can be averaged, integrated and taken apart feature by feature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from spkm._arrays import Array, Factors

MIXTURE_ERROR = 4e-12  # largest absolute error of a kernel that is replaced by a mixture of products
TRUNCATION_POWER = 0.25  # of 0.1, 0.25, 0.5 and 1 it leaves fewest exponentials for Matern kernels: 24 of 44
NODES = (24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 72, 80, 96, 128, 192, 256, 384, 512, 768, 1024)


@dataclass(frozen=True)
class ProductForm:
    """k(x, u) = sum_q a_q exp(-sum_j (g_qj (x_j - u_j)^2 + h_qj |x_j - u_j|)), a mixture of products over features.

    Parameters
    ----------
    amounts : ndarray of shape (Q,)
        The factors a_q; of any sign.
    squared, absolute : ndarray of shape (Q, d) or (Q, 1)
        The rates g and h, at least 0; one column stands for all.

    Examples
    --------
    >>> from spkm.kernels import Affine, RBF
    >>> Affine(RBF(gamma=0.5)).forms()[0].amounts
    array([ 2., -1.])
    """

    amounts: Array
    squared: Array
    absolute: Array

    def scaled(self, factor: float) -> ProductForm:
        """Return the form of ``factor`` * k."""
        return replace(self, amounts=self.amounts * factor)

    def shifted(self, constant: float) -> ProductForm:
        """Return the form of k + ``constant``."""
        if constant == 0:
            return self
        none = np.zeros((1, 1))
        other = ProductForm(np.array([float(constant)]), none, none)
        return _joined(self, other)

    def rescaled(self, factor: Factors) -> ProductForm:
        """Return the form of k under a metric multiplied by ``factor``, a number or (d,)."""
        return replace(self, squared=self.squared * factor, absolute=self.absolute * factor)

    def times(self, other: object) -> ProductForm | None:
        """Return the form of the product with another kernel of the same features and basis vectors."""
        if not isinstance(other, ProductForm):
            return None
        amounts = np.outer(self.amounts, other.amounts).ravel()
        both = [
            (a[:, None] + b[None]).reshape(len(amounts), -1)
            for a, b in ((self.squared, other.squared), (self.absolute, other.absolute))
        ]
        return ProductForm(amounts, *both)

    def plus(self, other: object) -> ProductForm | None:
        """Return one form of the sum with another kernel; None if there is none."""
        return _joined(self, other) if isinstance(other, ProductForm) else None

    def values(self, X: Array, U: Array) -> Array:
        """Return the values k(x_i, u_r), (n, R), by the form."""
        apart = np.abs(np.asarray(X)[:, None, :] - np.asarray(U)[None, :, :])
        width = np.ones(apart.shape[-1])
        exponent = (apart**2) @ (self.squared * width).T + apart @ (self.absolute * width).T
        return np.exp(-exponent) @ self.amounts


@dataclass(frozen=True)
class DotForm:
    """k(x, u) = sum_i c_i s^i with s = sum_j g_j x_j u_j, a polynomial of an inner product.

    Parameters
    ----------
    coefficients : ndarray of shape (p + 1,)
        The coefficients c_i, the constant first.
    rates : float or ndarray of shape (d,)
        The factors g_j; a number stands for all.
    """

    coefficients: Array
    rates: Any

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return len(self.coefficients) - 1

    def scaled(self, factor: float) -> DotForm:
        """Return the form of ``factor`` * k."""
        return replace(self, coefficients=self.coefficients * factor)

    def shifted(self, constant: float) -> DotForm:
        """Return the form of k + ``constant``."""
        coefficients = self.coefficients.copy()
        coefficients[0] += constant
        return replace(self, coefficients=coefficients)

    def rescaled(self, factor: Factors) -> DotForm:
        """Return the form of k under a metric multiplied by ``factor``, a number or (d,)."""
        return replace(self, rates=self.rates * np.asarray(factor))

    def times(self, other: object) -> DotForm | None:
        """Return the form of the product with another kernel of the same features and basis vectors."""
        coefficients = self._in_own_product(other)
        return (
            None if coefficients is None else replace(self, coefficients=np.convolve(self.coefficients, coefficients))
        )

    def plus(self, other: object) -> DotForm | None:
        """Return one form of the sum with another kernel; None if there is none."""
        coefficients = self._in_own_product(other)
        if coefficients is None:
            return None
        length = max(len(coefficients), len(self.coefficients))
        padded = [np.pad(c, (0, length - len(c))) for c in (self.coefficients, coefficients)]
        return replace(self, coefficients=padded[0] + padded[1])

    def values(self, X: Array, U: Array) -> Array:
        """Return the values k(x_i, u_r), (n, R), by the form."""
        return np.asarray(
            np.polynomial.polynomial.polyval((np.asarray(X) * self.rates) @ np.asarray(U).T, self.coefficients)
        )

    def _in_own_product(self, other: object) -> Array | None:
        """Return the other form's coefficients as powers of this form's inner product, which must be proportional."""
        if not isinstance(other, DotForm):
            return None
        ratio = np.unique(np.asarray(other.rates, dtype=float) / np.asarray(self.rates, dtype=float))
        if not (np.isfinite(ratio).all() and np.allclose(ratio, ratio[0], rtol=1e-14, atol=0.0)):
            return None
        scaled: Array = other.coefficients * ratio[0] ** np.arange(len(other.coefficients))
        return scaled


Forms = tuple[Any, ...]


def no_largest_diagonal(kernel: object, squared_radius: float = np.inf) -> None:
    """Return None: nothing is known of k(x, x). A class that writes the formula of a known kernel anew gets this."""


def no_forms(kernel: object) -> None:
    """Return None: no form is known. A class that writes the formula of a known kernel anew gets this."""


def product_of(left: Forms | None, right: Forms | None) -> Forms | None:
    """Return the forms of a product of two kernels of the same features, None if one of the parts has none."""
    if left is None or right is None:
        return None
    products = [a.times(b) for a in left for b in right]
    return None if any(form is None for form in products) else sum_of(tuple(products), ())


def sum_of(left: Forms | None, right: Forms | None) -> Forms | None:
    """Return the forms of a sum of two kernels, as few as possible; None if one of them has none."""
    if left is None or right is None:
        return None
    result: list[Any] = []
    for form in (*left, *right):
        for i, known in enumerate(result):
            together = known.plus(form)
            if together is not None:
                result[i] = together
                break
        else:
            result.append(form)
    return tuple(result)


def one_product(squared: float = 0.0, absolute: float = 0.0) -> Forms:
    """Return the form of exp(-sum_j (squared (x_j - u_j)^2 + absolute |x_j - u_j|))."""
    return (ProductForm(np.ones(1), np.full((1, 1), float(squared)), np.full((1, 1), float(absolute))),)


def inverse_gamma_mixture(shape: float, gamma: float) -> Forms:
    """Return the Matern kernel of smoothness ``shape`` as a mixture of Gaussians.

    With s = gamma |x - u|^2 it is the mean of exp(-shape s / t) over t from the Gamma distribution of that shape.
    """

    def exact(s: Array) -> Array:
        root = np.sqrt(4 * shape * s)
        with np.errstate(invalid="ignore"):
            value = root**shape * special.kv(shape, root) * 2 ** (1 - shape) / special.gamma(shape)
        # The Bessel function of a root below 1e-4 has no digits to lose, its product with the power has.
        return np.where(root < 1e-4, 1 - root**2 / (4 * (shape - 1)), value)

    nodes, amounts = _gamma_nodes(shape, -1, exact)
    return _of_gaussians(amounts, gamma * shape / nodes)


def gamma_mixture(shape: float, gamma: float) -> Forms:
    """Return (1 + s / shape)^(-shape), s = gamma |x - u|^2, as a mixture of Gaussians: a mean of exp(-t s / shape)."""

    def exact(s: Array) -> Array:
        return (1 + s / shape) ** -shape

    nodes, amounts = _gamma_nodes(shape, 1, exact)
    return _of_gaussians(amounts, gamma * nodes / shape)


def _of_gaussians(amounts: Array, rates: Array) -> Forms:
    return (ProductForm(amounts, rates[:, None], np.zeros((len(rates), 1))),)


_FOUND: dict[tuple[float, int], tuple[Array, Array]] = {}


def _gamma_nodes(shape: float, power: int, exact: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return points t and weights, as few as give the mean of exp(-shape^-power s t^power) to MIXTURE_ERROR."""
    key = (float(shape), power)
    if key not in _FOUND:
        s = np.concatenate([[0.0], np.logspace(-14, 8, 160)])
        truth = exact(s)
        plain = _fewest_nodes(shape, power, s, truth, MIXTURE_ERROR)
        nodes, amounts = _fewest_nodes(shape, power, s, truth, MIXTURE_ERROR / 10)  # leaves room for the truncation
        rates, amounts = _truncated((nodes / shape) ** power, amounts, s, truth)
        fewer = shape * rates**power, amounts  # 1 / power is power
        _FOUND[key] = min(plain, fewer, key=lambda found: len(found[1]))
    return _FOUND[key]


def _truncated(rates: Array, amounts: Array, s: Array, truth: Array) -> tuple[Array, Array]:
    """Return a mixture of fewer exponentials exp(-rate s) that keeps to MIXTURE_ERROR, by balanced truncation.

    The mixture is the impulse response of a symmetric linear system, b' exp(-s diag(rates)) b with b = sqrt(amounts).
    It is projected on the leading eigenvectors of its Gramian, which weighs s by s^(TRUNCATION_POWER - 1): more near 0,
    where these kernels are least smooth. The result is again a mixture with positive amounts and rates.
    """
    b = np.sqrt(amounts)
    vectors = np.linalg.eigh(np.outer(b, b) / (rates[:, None] + rates) ** TRUNCATION_POWER)[1][:, ::-1]
    for size in range(1, len(rates)):  # upwards: with many, rounding takes over
        kept = vectors[:, :size]
        values, rotation = np.linalg.eigh(kept.T @ (rates[:, None] * kept))
        found = np.maximum(values, 0.0), (rotation.T @ (kept.T @ b)) ** 2
        if np.abs(np.exp(-np.outer(s, found[0])) @ found[1] - truth).max() <= MIXTURE_ERROR:
            return found
    return rates, amounts


def _fewest_nodes(shape: float, power: int, s: Array, truth: Array, largest_error: float) -> tuple[Array, Array]:
    """Return the trapezoid rule of fewest nodes that keeps to an error."""
    rights = np.log(special.gammainccinv(shape, [1e-13, 1e-15]))
    best = (np.inf, np.empty(0), np.empty(0))
    for count in NODES:
        for bend, right in ((0.05, rights[0]), (0.05, rights[1]), (1.0, rights[1])):
            for left in np.linspace(-8.0, right - 2.0, 60):
                nodes, amounts = _trapezoid(shape, count, left, right, bend)
                error = np.abs(np.exp(-np.outer(s, (nodes / shape) ** power)) @ amounts - truth).max()
                best = min(best, (float(error), nodes, amounts), key=lambda found: found[0])
        if best[0] <= largest_error:
            break
    return best[1], best[2]


def _trapezoid(shape: float, count: int, left: float, right: float, bend: float) -> tuple[Array, Array]:
    """Return the trapezoid rule for the Gamma distribution in v, t = exp(v - bend exp(-v)).

    In log t alone the density falls off to the left by powers of t only; the bend makes both of its ends fall off
    doubly exponentially, which needs a third fewer points.
    """
    v, step = np.linspace(left, right, count, retstep=True)
    fold = bend * np.exp(-v)
    log_t = np.maximum(v - fold, -200.0)  # whatever lies below has no weight, and its inverse must not overflow
    log_density = shape * log_t - np.exp(log_t) - special.gammaln(shape) + np.log1p(fold)
    return np.exp(log_t), step * np.exp(log_density)


def _joined(a: ProductForm, b: ProductForm) -> ProductForm:
    width = max(a.squared.shape[1], b.squared.shape[1], a.absolute.shape[1], b.absolute.shape[1])
    both = [
        np.concatenate([np.broadcast_to(rates, (len(rates), width)) for rates in pair])
        for pair in ((a.squared, b.squared), (a.absolute, b.absolute))
    ]
    return ProductForm(np.concatenate([a.amounts, b.amounts]), *both)
