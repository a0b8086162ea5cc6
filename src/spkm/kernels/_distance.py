"""Stationary kernels: functions of a distance between x and u."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm._arrays import Array, Factors, Matrix, dense
from spkm._namespaces import is_foreign, moved_beside, namespace, on_host
from spkm._parts import POSITIVE
from spkm.kernels._bandwidth import ByDistances
from spkm.kernels._base import Cotangents, InvariantKernel, Kernel, Pullback, number, to_parameters
from spkm.kernels._forms import Forms, gamma_mixture, inverse_gamma_mixture, one_product
from spkm.kernels._products import invariants, is_sparse


class DistanceKernel(ByDistances, InvariantKernel):
    """A kernel of s = gamma * |x - u|^2: a subclass defines ``profile(s)``, 1 at 0, and ``slope(s, value)``.

    ``gamma="mean"`` becomes 1 / (2 t^2) with t the mean distance of training samples, ``"median"`` likewise, when a
    model is fitted. ``profile`` may overwrite s; then ``slope`` must do with the value.
    """

    stationary = True
    isotropic = True

    def profile(self, s: Array) -> Array:
        """Return k as a function of s >= 0."""
        raise NotImplementedError(f"{type(self).__name__} must define profile(s).")

    def slope(self, s: Array, value: Array) -> Any:
        """Return dk/ds."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(s, value).")

    def _evaluated(self, t: Array) -> tuple[Any, Array]:
        """Return what :meth:`_fall` will need, and k, of t = -s, which may be overwritten."""
        s = np.negative(t, out=t)
        return s, self.profile(s)

    def _fall(self, state: Any, value: Array) -> Array:
        """Return -dk/ds, (n, R), in new memory or in that of the value."""
        return np.asarray(np.negative(self.slope(state, value), out=np.empty_like(value)))

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        if not isinstance(X, np.ndarray) and is_foreign(X):
            return super().vjp(X, U, metric, xx, learn_metric)
        # -s rather than s, and all of it in place: what is done to the n R values beside the two products with X
        # takes half of the time of a pass where samples have few features.
        of_features = learn_metric and np.ndim(metric) and not is_sparse(X)
        squares = X * X if of_features else None  # which relevances need for norms and for their own gradient
        gamma = number(self)
        w = np.asarray(metric * gamma, dtype=U.dtype)
        t, xx_, uu = invariants(X, U, w, xx, factor=2.0, squares=squares)
        t -= xx_
        t -= uu
        np.minimum(t, 0.0, out=t)  # rounding can leave a distance just below zero
        state, K = self._evaluated(t)

        def pulled(E: Array, weights: Array, factor: Factors = 1.0) -> Cotangents:
            T = -(np.ones(len(E), E.dtype) @ E)
            S = -(E @ weights) if learn_metric else None
            return to_parameters(X, U, metric, gamma, E, S, T, xx_, learn_metric, 2.0, factor, squares)

        def pullback(G: Array) -> Cotangents:
            return pulled(np.multiply(G, self._fall(state, K), out=G), np.ones(G.shape[1], G.dtype))

        def of_outer(s: Array, c: Array) -> Cotangents:
            E = self._fall(state, K)
            return pulled(np.multiply(E, s, out=E), c[:, 0], c)

        return K, Pullback(pullback, of_outer)

    def value(self, dot: Array, xx: Array, uu: Array) -> Array:
        return self.profile(_squared_distances(dot, xx, uu))

    def slopes(self, dot: Array, xx: Array, uu: Array, value: Array) -> tuple[Any, Any, Any]:
        slope = self.slope(_squared_distances(dot, xx, uu), value)
        return -2 * slope, slope, slope

    def diagonal(self, X: Matrix) -> Array:
        return np.ones(X.shape[0])

    def largest_diagonal(self, squared_radius: float = np.inf) -> float | None:
        return float(self.profile(np.zeros((1, 1)))[0, 0]) if self.stationary else None


def _squared_distances(dot: Array, xx: Array, uu: Array) -> Array:
    """Return |x - u|^2, not below zero, from the invariants."""
    return namespace(dot).maximum(xx + uu - 2 * dot, 0.0)


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


class Laplacian(ByDistances, Kernel):
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
        rows: Any = X if is_foreign(X) else dense(X)
        xp = namespace(rows)
        w = np.broadcast_to(np.asarray(metric * number(self), dtype=U.dtype), U.shape[1:])
        factors, vectors = moved_beside(X, w), [moved_beside(X, u) for u in U]
        K = xp.exp(-xp.stack([xp.abs(rows - u) @ factors for u in vectors])).T

        def pullback(G: Array) -> Cotangents:
            G *= K
            dU, d_metric = np.empty_like(U), np.zeros(U.shape[1], U.dtype)
            for r, u in enumerate(vectors):
                difference = rows - u
                dU[r] = on_host(G[:, r] @ xp.sign(difference))
                if learn_metric:
                    d_metric -= on_host(G[:, r] @ xp.abs(difference))
            dU *= w
            if not learn_metric:
                return dU, None
            d_metric *= number(self)
            return dU, d_metric if np.ndim(metric) else d_metric.sum()

        return K, Pullback(pullback)

    def gamma_from(self, X: Matrix, weight: Array) -> float:
        # A Gaussian row pair at Euclidean distance t has a city-block distance near sqrt(2 d / pi) t.
        euclidean = 1.0 / np.sqrt(2.0 * super().gamma_from(X, weight))
        return float(1.0 / (np.sqrt(2.0 * X.shape[1] / np.pi) * euclidean))

    def forms(self) -> Forms:
        return one_product(absolute=number(self))

    def with_bandwidth(self, factor: Factors) -> Kernel:
        if np.ndim(factor):
            return super().with_bandwidth(factor)
        return self.with_gamma(float(number(self) * factor))
