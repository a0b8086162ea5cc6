"""Stationary kernels: functions of a distance between x and u."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm._arrays import Array, Factors, Matrix, dense
from spkm._namespaces import is_foreign, namespace, on_host, place_like
from spkm._parts import POSITIVE
from spkm.kernels._base import (
    Cotangents,
    DistanceKernel,
    Kernel,
    Pullback,
    gamma_from_rows,
    number,
)
from spkm.kernels._forms import Forms, gamma_mixture, inverse_gamma_mixture, one_product

# A class that writes one of the formulas anew gets the general way to evaluate it.
IN_PLACE = {
    "_evaluated": (("profile", "slope"), DistanceKernel._evaluated),
    "_fall": (("profile", "slope"), DistanceKernel._fall),
}


class RBF(DistanceKernel):
    """Gaussian kernel, k(x, u) = exp(-gamma |x - u|^2).

    Parameters
    ----------
    gamma : float, "mean" or "median", default="mean"
        1 / (2 t^2) for a bandwidth t; a name takes t from the distances of training samples.

    Examples
    --------
    >>> RBF(gamma=0.5)([[0.0, 1.0]], [[0.0, 0.0]]).round(4)
    array([[0.6065]])
    """

    claims = {**DistanceKernel.claims, **IN_PLACE}
    formula = "rbf"
    anywhere = True

    def __init__(self, gamma: float | str = "mean") -> None:
        self.gamma = gamma

    def profile(self, s: Array) -> Array:
        return namespace(s).exp(-s)

    def slope(self, s: Array, value: Array) -> Array:
        return -value

    def _evaluated(self, t: Array) -> tuple[Any, Array]:
        return None, np.exp(t, out=t)

    def _fall(self, state: Any, value: Array) -> Array:
        return value

    def forms(self) -> Forms:
        return one_product(squared=number(self))


class Matern(DistanceKernel):
    """Matern kernel of smoothness 3/2 or 5/2, rougher than the Gaussian.

    With q = 4 nu gamma |x - u|^2, that is (sqrt(2 nu) |x - u| / t)^2 for a length t and gamma = 1 / (2 t^2):
    (1 + sqrt(q)) exp(-sqrt(q)) for nu = 3/2, and (1 + sqrt(q) + q/3) exp(-sqrt(q)) for nu = 5/2.

    Parameters
    ----------
    nu : {1.5, 2.5}, default=2.5
        Smoothness.
    gamma : float, "mean" or "median", default="mean"
        As in :class:`RBF`.

    Examples
    --------
    >>> Matern(nu=1.5, gamma=0.5)([[0.0, 1.0]], [[1.0, 1.0]]).round(4)
    array([[0.4834]])
    """

    claims = {**DistanceKernel.claims, **IN_PLACE}
    formula = "matern"
    anywhere = True
    choices = {"nu": (1.5, 2.5)}

    def __init__(self, nu: float = 2.5, gamma: float | str = "mean") -> None:
        self.nu = nu
        self.gamma = gamma

    def profile(self, s: Array) -> Array:
        xp = namespace(s)
        root = xp.sqrt(4 * self.nu * s)
        polynomial = 1 + root if self.nu == 1.5 else 1 + root + root * root / 3
        return polynomial * xp.exp(-root)

    def slope(self, s: Array, value: Array) -> Array:
        root = namespace(s).sqrt(4 * self.nu * s)
        # d/dq of the two profiles: -exp(-sqrt q)/2 and -(1 + sqrt q) exp(-sqrt q)/6; then dq/ds = 4 nu. The value holds
        # the exponential already, and a division is cheaper than another one.
        if self.nu == 1.5:
            return -3.0 * value / (1 + root)
        return -(5.0 / 3.0) * value * (1 + root) / (1 + root + root * root / 3)

    def _evaluated(self, t: Array) -> tuple[Any, Array]:
        t *= -4 * self.nu
        root = np.sqrt(t, out=t)
        value = np.negative(root)
        np.exp(value, out=value)
        polynomial = self._polynomial(root)
        value *= polynomial
        return (root, polynomial), value

    def _fall(self, state: Any, value: Array) -> Array:
        root, polynomial = state
        if self.nu == 1.5:
            fall = 3.0 / polynomial
        else:
            fall = root + 1.0
            fall *= 5.0 / 3.0
            fall /= polynomial
        return np.asarray(np.multiply(fall, value, out=fall))

    def _polynomial(self, root: Array) -> Array:
        if self.nu == 1.5:
            return 1 + root
        polynomial = root / 3
        polynomial += 1
        polynomial *= root
        polynomial += 1
        return polynomial

    def forms(self) -> Forms:
        return inverse_gamma_mixture(self.nu, number(self))


class RationalQuadratic(DistanceKernel):
    """Mixture of Gaussians of many widths, k(x, u) = (1 + gamma |x - u|^2 / alpha)^(-alpha).

    Parameters
    ----------
    alpha : float, default=1.0
        Mixing; large values approach :class:`RBF`, 1 is the Cauchy kernel.
    gamma : float, "mean" or "median", default="mean"
        As in :class:`RBF`.

    Examples
    --------
    >>> RationalQuadratic(alpha=1.0, gamma=0.5)([[0.0, 1.0]], [[1.0, 1.0]]).round(4)
    array([[0.6667]])
    """

    formula = "rational_quadratic"
    anywhere = True
    numbers = {"alpha": POSITIVE}

    def __init__(self, alpha: float = 1.0, gamma: float | str = "mean") -> None:
        self.alpha = alpha
        self.gamma = gamma

    def profile(self, s: Array) -> Array:
        return (1 + s / self.alpha) ** (-self.alpha)

    def slope(self, s: Array, value: Array) -> Array:
        return -value / (1 + s / self.alpha)

    def forms(self) -> Forms:
        return gamma_mixture(self.alpha, number(self))


class Laplacian(Kernel):
    """Laplacian kernel, k(x, u) = exp(-gamma sum_j |x_j - u_j|).

    The sum of absolute differences is no matrix product: a pass costs O(ndR) as for the others, but some times more.
    CSR samples become dense block by block.

    Parameters
    ----------
    gamma : float, "mean" or "median", default="mean"
        A name sets it to t^-1 for a typical sum of absolute differences t (d times that of one feature, to a constant).

    Examples
    --------
    >>> Laplacian(gamma=0.5)([[0.0, 1.0]], [[1.0, 1.0]]).round(4)
    array([[0.6065]])
    """

    formula = "laplacian"
    anywhere = True
    stationary = True

    def __init__(self, gamma: float | str = "mean") -> None:
        self.gamma = gamma

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        if is_foreign(X):
            return absolute_vjp_anywhere(number(self), X, U, metric, learn_metric)
        rows = dense(X)
        U = np.asarray(U, dtype=rows.dtype)
        w = np.broadcast_to(np.asarray(metric * number(self), dtype=rows.dtype), rows.shape[1:])
        K = np.empty((len(U), len(rows)), dtype=rows.dtype).T
        for r, u in enumerate(U):
            K[:, r] = np.abs(rows - u) @ w
        np.exp(np.negative(K, out=K), out=K)

        def pullback(G: Array) -> Cotangents:
            G *= K
            dU = np.empty_like(U)
            d_metric = np.zeros(rows.shape[1], dtype=rows.dtype)
            for r, u in enumerate(U):
                difference = rows - u
                dU[r] = G[:, r] @ np.sign(difference)
                if learn_metric:
                    d_metric -= G[:, r] @ np.abs(difference)
            dU *= w
            if not learn_metric:
                return dU, None
            d_metric *= number(self)
            return dU, d_metric if np.ndim(metric) else d_metric.sum()

        return K, Pullback(pullback)

    def resolved(self, X: Matrix, weight: Array) -> Kernel:
        if not isinstance(self.gamma, str):
            return self
        if self.gamma not in ("mean", "median"):
            raise ValueError(f"gamma must be a positive number, 'mean' or 'median'; got {self.gamma!r}.")
        # A Gaussian row pair at Euclidean distance t has a city-block distance near sqrt(2 d / pi) t.
        euclidean = 1.0 / np.sqrt(2.0 * gamma_from_rows(X, weight, self.gamma))
        return self.with_gamma(1.0 / (np.sqrt(2.0 * X.shape[1] / np.pi) * euclidean))

    def forms(self) -> Forms:
        return one_product(absolute=number(self))

    def with_bandwidth(self, factor: Factors) -> Kernel:
        if np.ndim(factor):
            return super().with_bandwidth(factor)
        return self.with_gamma(float(number(self) * factor))


def absolute_vjp_anywhere(
    gamma: float, X: Matrix, U: Array, metric: Factors, learn_metric: bool
) -> tuple[Array, Pullback[Cotangents]]:
    """Return exp(-gamma sum_j w_j |x_j - u_j|) and its pullback, which leaves its argument as it is."""
    xp = namespace(X)
    place = place_like(X)
    w = np.broadcast_to(np.asarray(metric * gamma, dtype=U.dtype), U.shape[1:]).copy()
    there, vectors = place.array(w), [place.array(u.copy()) for u in U]
    K = xp.exp(-xp.stack([xp.abs(X - u) @ there for u in vectors], axis=1))

    def pullback(G: Array) -> Cotangents:
        E = G * K
        apart = [X - u for u in vectors]
        signs = [on_host(E[:, r] @ xp.sign(difference)) for r, difference in enumerate(apart)]
        dU = w * np.asarray(signs).reshape(U.shape)
        if not learn_metric:
            return dU, None
        d_metric = -gamma * sum(on_host(E[:, r] @ xp.abs(difference)) for r, difference in enumerate(apart))
        return dU, d_metric if np.ndim(metric) else d_metric.sum()

    return K, Pullback(pullback)
