"""Kernels: their values, and their values with a pullback.

Shapes, once for all kernels: ``X`` is (n, d), dense or CSR; ``U`` is (R, d), dense; values are (n, R). ``metric``
holds the relevances w of the features, a number or (d,): the inner product every kernel is built on is sum_j w_j x_j
u_j. A *pullback* maps G = dL/dk (n, R) to dL/dU (R, d) and dL/dmetric (a number or (d,), as ``metric`` is). It may
overwrite G. A kernel may return a plain function, or a :class:`Pullback`, whose ``of_outer`` does the same for a G of
rank one, which is then never formed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any, Generic, TypeVar

import numpy as np

from spkm._arrays import Array, Factors, Integers, Matrix, dense
from spkm._namespaces import is_foreign, namespace, on_host
from spkm._parts import Part
from spkm.kernels._forms import Forms, no_forms
from spkm.kernels._products import invariants, is_sparse, squared, squared_norms, summed_rows

T = TypeVar("T")
#: dL/dU (R, d) and dL/dmetric, which is None unless it was to be learned.
Cotangents = tuple[Array, Any]


@dataclass(frozen=True, slots=True)
class Pullback(Generic[T]):
    """The map from a cotangent G of values, (n, R), to cotangents of the parameters behind them.

    Parameters
    ----------
    apply : callable
        The map. It may overwrite G.
    of_outer : callable, default=None
        The same for G = s c' from s (n, 1) and c (R, 1), without forming G. It may overwrite the values, so it must be
        the last call. None if there is no such map.
    """

    apply: Callable[[Array], T]
    of_outer: Callable[[Array, Array], T] | None = None

    def __call__(self, G: Array) -> T:
        return self.apply(G)


def number(kernel: Kernel) -> float:
    """Return the kernel's gamma, or raise ValueError if it is no positive number."""
    gamma: Any = kernel.gamma
    if type(gamma) is float and 0 < gamma < np.inf:  # as nearly always, and asked for in every pass
        return gamma
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma={gamma!r} of {type(kernel).__name__} is chosen from data when a model is fitted; "
            "give a number to evaluate the kernel by itself."
        )
    if not isinstance(gamma, Real) or not 0 < float(gamma) < np.inf:
        raise ValueError(f"gamma must be a positive number; got {gamma!r}.")
    return float(gamma)


def contract(G: Array, slope: Any, axis: int) -> Array | None:
    """Return the sum over ``axis`` of G * slope, for a slope that broadcasts to G or is None (zero)."""
    if slope is None:
        return None
    if is_foreign(G):
        return namespace(G).sum(G * slope, axis=axis)
    slope = np.broadcast_to(np.asarray(slope, dtype=G.dtype), G.shape)
    return np.asarray(np.einsum("ir,ir->r" if axis == 0 else "ir,ir->i", G, slope))


def to_parameters(
    X: Matrix,
    U: Array,
    metric: Factors,
    gamma: float,
    D: Array,
    S: Array | None,
    T: Array | None,
    xx: Array | None,
    learn_metric: bool,
    dot_factor: float = 1.0,
    factor: Factors = 1.0,
    squares: Array | None = None,
) -> Cotangents:
    """Turn cotangents of x.u (``dot_factor`` * D), |x|^2 (S) and |u|^2 (T) into those of U and the metric.

    ``factor``, a number or (R, 1), multiplies D and T; ``squares`` are those of X, where the caller has them.
    """
    P, T = summed_rows(D, X), on_host(T)
    P *= dot_factor * gamma * factor
    if T is not None and isinstance(factor, np.ndarray):
        T = T * factor[:, 0]
    dU = P * metric
    if T is not None:
        dU += (2.0 * gamma) * T[:, None] * (U * metric)
    if not learn_metric:
        return dU, None
    d_metric = np.einsum("rj,rj->j", U, P)
    if T is not None:
        d_metric += gamma * (T @ (U * U))
    if np.ndim(metric) == 0:
        d_scale = d_metric.sum()
        # xx holds gamma * metric * |x|^2 already: no second product with X is needed for one common scale.
        return dU, d_scale if S is None or xx is None else d_scale + on_host(S @ xx[:, 0]) / metric
    if S is not None:
        if squares is None:
            squares = squared(X)
        d_metric += gamma * np.asarray(on_host(squares.T @ S)).ravel()
    return dU, d_metric


def gathered(K: Array, pull: Pullback[Any], index: Integers) -> tuple[Array, Pullback[Any]]:
    """Return the kernel values of rows that are repeated by ``index``, and their pullback.

    The kernel is evaluated once for each distinct row, however many samples share it; so is its
    pullback, on the sum of the cotangents.
    """
    count = len(K)

    def pullback(G: Array) -> tuple[Array, Any]:
        sums = np.array([np.bincount(index, g, count) for g in G.T], dtype=G.dtype)
        found: tuple[Array, Any] = pull(sums.T)
        return found

    return np.take(K.T, index, axis=1).T, Pullback(pullback)


#: Whoever writes one of these anew has a formula of one's own, which has no name in files and exports.
FORMULAS = ("vjp", "value", "profile", "_value", "_union")


class Kernel(Part):
    """A similarity k(x, u) that can be differentiated in u and in the relevances of the features."""

    claims = {
        "formula": (FORMULAS, None),
        "stationary": (("vjp",), False),
        "isotropic": (("vjp",), False),
        "reads_zero_features": (("vjp", "slopes", "uses_norms"), True),
        "is_linear": (("vjp", "slopes", "uses_norms", "value", "slope"), False),
        "forms": (("vjp", "value", "profile", "_value"), no_forms),
        "anywhere": ((*FORMULAS, "slope", "slopes"), False),
    }
    #: Whether its formula is one of arrays of any library, so that it works where X is.
    anywhere = False
    #: The name of the formula in files and exports; None if it has none.
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
        rows: Any = X if is_sparse(X) else np.asarray(X)
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

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        w = np.asarray(metric * number(self), dtype=U.dtype)
        dot, xx_, uu = invariants(X, U, w, xx, norms=self.uses_norms)
        K = self._value(dot, xx_, uu)

        def pullback(G: Array) -> Cotangents:
            d_dot, d_xx, d_uu = self.slopes(dot, xx_, uu, K)
            T = contract(G, d_uu, axis=0)
            S = contract(G, d_xx, axis=1) if learn_metric else None
            G *= d_dot
            return to_parameters(X, U, metric, number(self), G, S, T, xx_, learn_metric)

        return K, Pullback(pullback)

    def _value(self, dot: Array, xx: Array, uu: Array) -> Array:
        return self.value(dot, xx, uu)

    def diagonal(self, X: Matrix) -> Array:
        xx = squared_norms(X, number(self))[:, None]
        return np.asarray(self._value(xx.copy(), xx, xx)).ravel()

    def with_bandwidth(self, factor: Factors) -> Kernel:
        if np.ndim(factor) or "gamma" not in self.get_params(deep=False):
            return super().with_bandwidth(factor)
        return self.with_gamma(float(number(self) * factor))
