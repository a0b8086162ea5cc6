"""Kernels: their values, and their values with a pullback.

Shapes, once for all kernels: ``X`` is (n, d), dense or CSR; ``U`` is (R, d), dense; values are (n, R). ``metric``
holds the relevances w of the features, a number or (d,): the inner product every kernel is built on is sum_j w_j x_j
u_j. A *pullback* maps G = dL/dk (n, R) to dL/dU (R, d) and dL/dmetric (a number or (d,), as ``metric`` is). It may
overwrite G. A kernel may return a plain function, or a :class:`Pullback`, whose ``of_outer`` does the same for a G of
rank one, which is then never formed.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from spkm._arrays import Array, Factors, Matrix, dense
from spkm._namespaces import is_foreign, namespace
from spkm._parts import Part
from spkm.kernels._array_api import Evaluated, vjp_anywhere
from spkm.kernels._bandwidth import PerColumn, gamma_from_rows, number
from spkm.kernels._forms import Forms, no_forms, no_largest_diagonal
from spkm.kernels._pullbacks import Cotangents, Pullback, columns_first, contract, squared_norms, to_parameters

#: Whoever writes one of these anew has a formula of one's own, which files and exports do not know by name.
FORMULAS = ("vjp", "value", "profile", "_invariants", "_value", "_union")


class Kernel(Part):
    """A similarity k(x, u) that can be differentiated in u and in the relevances of the features."""

    claims = {
        "formula": (FORMULAS, None),
        "stationary": (("vjp",), False),
        "isotropic": (("vjp", "_invariants"), False),
        "reads_zero_features": (("vjp", "slopes", "uses_norms"), True),
        "is_linear": (("vjp", "slopes", "uses_norms", "value", "slope"), False),
        "forms": (("vjp", "value", "profile", "_value", "_invariants"), no_forms),
        "anywhere": ((*FORMULAS, "slope", "slopes"), False),
    }
    #: Whether its formula is one of arrays of any library, so that it works where X is.
    anywhere = False
    #: The name by which files and exports know the formula; None if they do not.
    formula: str | None = None
    #: Whether a feature that is zero in u still changes k(x, u), as it does in a distance but not in a dot product.
    reads_zero_features = True
    #: Whether k is linear in u: then no more vectors than outputs are of use, and a sparse path is convex.
    is_linear = False
    #: Whether it has a factor of its own for each feature, so that it fits one set of features only.
    is_per_feature = False
    #: True if k depends on x - u alone: then k(x, x) is 1, a bandwidth is worth learning and features may be centred.
    stationary = False
    #: True if k depends on the Euclidean distance |x - u| alone: then it is the same in any orthonormal coordinates.
    isotropic = False
    #: True if features have no meaning below zero (fingerprints, counts): such data are neither centred nor scaled.
    nonnegative = False
    #: True if a constant was added (2k - 1): then the values are not those of the kernel behind the RKHS norm.
    shifted = False

    @property
    def inner(self) -> Kernel:
        """The kernel without bandwidths, relevances and 2k - 1 around it."""
        return self

    def __call__(self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None) -> Array:
        """Return the values k(x_i, u_r), (n, R)."""
        rows: Any = X if sparse.issparse(X) else np.asarray(X)
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
        self.check(type(self).__name__)
        return self.vjp(rows, np.asarray(U, dtype=rows.dtype), metric, xx)[0]

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        """Return the values and their pullback.

        Parameters
        ----------
        X, U, metric
            See the module's docstring.
        xx : ndarray of shape (n,), default=None
            Squared norms of the samples under a metric of ones, where the caller has them already.
        learn_metric : bool, default=False
            Whether the pullback must return dL/dmetric; None comes in its place otherwise.

        Returns
        -------
        values : ndarray of shape (n, R)
            The values k(x_i, u_r).
        pullback : callable
            Takes the derivatives of a loss by the values, G = dL/dvalues of shape (n, R), and returns two things: the
            derivatives by U, of the shape of U, whose row r is the sum over i of G_ir dk(x_i, u_r)/du_r; and those by
            the metric, of its shape, or None if ``learn_metric`` is False.
        """
        raise NotImplementedError(f"{type(self).__name__} must define vjp(X, U, metric, xx, learn_metric).")

    def diagonal(self, X: Matrix) -> Array:
        """Return k(x_i, x_i), (n,)."""
        if self.stationary:
            return np.ones(X.shape[0])
        rows = (X[i : i + 1] for i in range(X.shape[0]))
        return np.array([self(x, dense(x))[0, 0] for x in rows])

    @property
    def has_sparse_path(self) -> bool:
        """Whether a penalty on basis vectors selects features: those that are zero in u are gone, and gamma is free."""
        return not self.reads_zero_features and "gamma" in self.get_params(deep=False)

    def with_gamma(self, gamma: float) -> Kernel:
        """Return the same kernel with another ``gamma``."""
        changed: Kernel = copy(self).set_params(gamma=gamma)
        return changed

    def resolved(self, X: Matrix, weight: Array) -> Kernel:
        """Return a kernel with numbers from samples X (n, d) of ``weight`` (n,); itself if nothing depends on them."""
        return self

    def rkhs(self) -> Kernel:
        """Return the positive semi-definite kernel whose RKHS norm regularises the weights (itself, but for 2k-1)."""
        return self

    def affine_parts(self) -> tuple[float, float, Kernel]:
        """Return (scale, shift, core) with k = scale * core + shift; (1, 0, k) of a kernel that is not of this form."""
        return 1.0, 0.0, self

    def largest_diagonal(self, squared_radius: float = np.inf) -> float | None:
        """Return the largest k(x, x) over |x|^2 <= ``squared_radius``; inf if k is not bounded, None if it is unknown.

        As k is positive semi-definite, |k(x, u)| is not larger either.
        """
        return 1.0 if self.stationary else None

    def forms(self) -> Forms | None:
        """Return closed forms over features that add up to k (``ProductForm``, ``DotForm``); None if there are none.

        With them Shapley values, partial dependence and counterfactuals are exact for any number of features.
        """
        return None

    def with_bandwidth(self, factor: Factors) -> Kernel:
        """Return the same kernel with its metric multiplied by ``factor``, a number or (d,)."""
        from spkm.kernels._combine import Rescaled  # which is made of kernels itself

        return Rescaled(self, factor)

    def plain(self) -> dict[str, Any]:
        """Return the kernel as plain data: the name of its formula and its parameters, kernels among them likewise.

        Examples
        --------
        >>> from spkm.kernels import RBF, Affine
        >>> Affine(RBF(0.5)).plain()
        {'name': 'affine', 'kernel': {'name': 'rbf', 'gamma': 0.5}, 'scale': 2.0, 'shift': -1.0}
        """
        if self.formula is None:
            raise TypeError(f"{type(self).__name__} has a formula of its own, which has no name in files and exports.")
        parameters = self.get_params(deep=False).items()
        return {"name": self.formula, **{k: v.plain() if isinstance(v, Kernel) else v for k, v in parameters}}


class InvariantKernel(Kernel):
    """A kernel of the three invariants x.u, |x|^2 and |u|^2, each multiplied by ``gamma``.

    A subclass defines ``value(dot, xx, uu)`` and ``slopes(dot, xx, uu, value)``, which returns the derivatives of the
    value in the three invariants. ``dot`` is (n, R), ``xx`` (n, 1), ``uu`` (1, R). A slope may be None (zero), a
    number or an array that broadcasts to (n, R). X is touched by two matrix products only, so CSR samples need no
    second method.
    """

    gamma: Any = 1.0
    #: Whether the kernel depends on |x|^2 and |u|^2; False saves their computation.
    uses_norms = True

    def value(self, dot: Array, xx: Array, uu: Array) -> Array:
        """Return k as a function of the invariants, (n, R); ``dot`` may be overwritten."""
        raise NotImplementedError(f"{type(self).__name__} must define value(dot, xx, uu).")

    def slopes(self, dot: Array, xx: Array, uu: Array, value: Array) -> tuple[Any, Any, Any]:
        """Return dk/d(x.u), dk/d|x|^2 and dk/d|u|^2."""
        raise NotImplementedError(f"{type(self).__name__} must define slopes(dot, xx, uu, value).")

    def _invariants(
        self, X: Matrix, U: Array, metric: Factors, xx: Array | None, factor: float = 1.0, squares: Array | None = None
    ) -> tuple[Any, Any, Any]:
        w = np.asarray(metric * number(self), dtype=U.dtype)
        V = U * w
        dot = columns_first(X, factor * V)
        if not self.uses_norms:
            return dot, None, None
        rows = squared_norms(X, w, squares) if xx is None or w.ndim else xx * w
        return dot, rows[:, None], np.einsum("rj,rj->r", U, V)[None, :]

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        if not isinstance(X, np.ndarray) and is_foreign(X):
            return vjp_anywhere(self, X, U, metric, learn_metric)
        dot, xx_, uu = self._invariants(X, U, metric, xx)
        K = self._value(dot, xx_, uu)

        def pullback(G: Array) -> Cotangents:
            d_dot, d_xx, d_uu = self.slopes(dot, xx_, uu, K)
            T = contract(G, d_uu, axis=0)
            S = contract(G, d_xx, axis=1) if learn_metric else None
            D = np.multiply(G, d_dot, out=G)
            return to_parameters(X, U, metric, number(self), D, S, T, xx_, learn_metric)

        return K, Pullback(pullback)

    def _value(self, dot: Array, xx: Array, uu: Array) -> Array:
        return self.value(dot, xx, uu)

    def _evaluated_anywhere(self, dot: Array, xx: Array, uu: Array) -> Evaluated:
        K = self._value(dot, xx, uu)
        return K, lambda: self.slopes(dot, xx, uu, K)

    def diagonal(self, X: Matrix) -> Array:
        xx = squared_norms(X, number(self))[:, None]
        return np.asarray(self._value(xx.copy(), xx, xx)).ravel()

    def with_bandwidth(self, factor: Factors) -> Kernel:
        if np.ndim(factor) or "gamma" not in self.get_params(deep=False):
            return super().with_bandwidth(factor)
        return self.with_gamma(float(number(self) * factor))


class DotKernel(PerColumn, InvariantKernel):
    """A kernel of gamma * x.u alone: a subclass defines ``value(dot)`` and ``slope(dot, value)``."""

    claims = {**Kernel.claims, "largest_diagonal": (("vjp", "_invariants", "_value"), no_largest_diagonal)}
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


class DistanceKernel(InvariantKernel):
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
            return vjp_anywhere(self, X, U, metric, learn_metric)
        # -s rather than s, and all of it in place: what is done to the n R values beside the two products with X
        # takes half of the time of a pass where samples have few features.
        of_features = learn_metric and np.ndim(metric) and not sparse.issparse(X)
        squares = X * X if of_features else None  # which relevances need for norms and for their own gradient
        t, xx_, uu = self._invariants(X, U, metric, xx, factor=2.0, squares=squares)
        t -= xx_
        t -= uu
        np.minimum(t, 0.0, out=t)  # rounding can leave a distance just below zero
        state, K = self._evaluated(t)

        def pulled(E: Array, weights: Array, factor: Factors = 1.0) -> Cotangents:
            T = -(np.ones(len(E), E.dtype) @ E)
            S = -(E @ weights) if learn_metric else None
            return to_parameters(X, U, metric, number(self), E, S, T, xx_, learn_metric, 2.0, factor, squares)

        def pullback(G: Array) -> Cotangents:
            return pulled(np.multiply(G, self._fall(state, K), out=G), np.ones(G.shape[1], G.dtype))

        def of_outer(s: Array, c: Array) -> Cotangents:
            E = self._fall(state, K)
            return pulled(np.multiply(E, s, out=E), c[:, 0], c)

        return K, Pullback(pullback, of_outer)

    def _evaluated_anywhere(self, dot: Array, xx: Array, uu: Array) -> Evaluated:
        s = namespace(dot).maximum(xx + uu - 2 * dot, 0.0)
        K = self.profile(s)

        def slopes() -> tuple[Any, Any, Any]:
            slope = self.slope(s, K)
            return -2 * slope, slope, slope

        return K, slopes

    def diagonal(self, X: Matrix) -> Array:
        return np.ones(X.shape[0])

    def largest_diagonal(self, squared_radius: float = np.inf) -> float | None:
        return float(self.profile(np.zeros((1, 1)))[0, 0]) if self.stationary else None

    def resolved(self, X: Matrix, weight: Array) -> Kernel:
        if not isinstance(self.gamma, str):
            number(self)
            return self
        if self.gamma not in ("mean", "median"):
            raise ValueError(f"gamma must be a positive number, 'mean' or 'median'; got {self.gamma!r}.")
        return self.with_gamma(gamma_from_rows(X, weight, self.gamma))
