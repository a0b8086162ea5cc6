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
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from spkm._arrays import Array, Factors, Integers, Matrix, dense
from spkm._namespaces import is_foreign, namespace, on_host, place_like
from spkm._parts import Part
from spkm.kernels._forms import Forms, no_forms, no_largest_diagonal


def gamma_from_rows(X: Matrix, weight: Array, rule: str) -> float:
    """Return 1 / (2 t^2), t the weighted mean or median distance between different samples of ``X``."""
    table: Any = X
    rows = (table.toarray() if is_sparse(X) else table).astype(np.float64, copy=False)
    rows = rows - np.average(rows, axis=0, weights=weight)  # what all samples share would cost digits below
    norms = np.einsum("ij,ij->i", rows, rows)
    above = ~np.tri(len(rows), dtype=bool)
    sizes = (norms[:, None] + norms[None, :])[above]
    squared = sizes - 2 * (rows @ rows.T)[above]
    distance = np.sqrt(np.maximum(squared, 0.0))
    pair_weight = (weight[:, None] * weight[None, :])[above]
    pair_weight[squared <= 1e-12 * sizes] = 0.0  # copies of a sample, up to rounding, have no part in the scale
    total = pair_weight.sum()
    if not total > 0:
        return 1.0
    if rule == "median":
        order = np.argsort(distance, kind="stable")
        share = np.cumsum(pair_weight[order])
        typical = float(distance[order][np.searchsorted(share, 0.5 * share[-1])])
    else:
        typical = float(distance @ pair_weight / total)
    return 1.0 / (2.0 * typical**2)


class WithGamma(Protocol):
    """A kernel with a number ``gamma``, which may be a rule until it meets samples."""

    gamma: Any


def number(kernel: WithGamma) -> float:
    """Return the kernel's gamma, or raise ValueError if it is no positive number."""
    gamma = kernel.gamma
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


class PerColumn:
    """gamma="auto": one over the number of features, so that a product of standardised samples is of order one."""

    gamma: Any

    def resolved(self, X: Matrix, weight: Array) -> Any:
        if not isinstance(self.gamma, str):
            return self
        if self.gamma != "auto":
            raise ValueError(f"gamma must be a positive number or 'auto'; got {self.gamma!r}.")
        return self.with_gamma(1.0 / max(X.shape[1], 1))  # type: ignore[attr-defined]


T = TypeVar("T")
#: dL/dU (R, d) and dL/dmetric, which is None unless it was to be learned.
Cotangents = tuple[Array, Any]
# Products of so many multiplications OpenBLAS leaves to kernels that do not copy their operands first, where it has
# them (AVX512); both products together then take 0.63 to 0.9 of the time for 5 to 300 features and 5 to 60 vectors.
SMALL_PRODUCT = 10**6
# Rows of a long tile are a multiple of it, as vector instructions want them: 52.5 ms of a pass in place of 57.2.
WHOLE = 16
FEWEST_ROWS = 128  # of a tile: for fewer the call itself takes longer than what is gained


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


def is_sparse(X: Any) -> bool:
    """Whether samples are a sparse matrix."""
    # SciPy's own test takes a microsecond, several times in a pass.
    return not isinstance(X, np.ndarray) and sparse.issparse(X)


def squared(X: Any) -> Any:
    """Return the squares of samples, dense or CSR as they are."""
    return X.multiply(X) if is_sparse(X) else X * X


def squared_norms(X: Matrix, metric: Factors = 1.0, squares: Array | None = None) -> Array:
    """Return sum_j w_j x_ij^2 for every row i, as (n,); ``squares`` are those of X, where the caller has them."""
    if squares is None:
        squares = squared(X)
    if np.ndim(metric):
        return np.asarray(squares @ metric)
    # A product with ones runs at the speed of BLAS; numpy's row sums do not when rows are short.
    return np.asarray(squares @ np.full(X.shape[1], metric, dtype=X.dtype))


def columns_first(X: Matrix, V: Array) -> Array:
    """Return X V' with whole columns side by side in memory.

    Rows of values are short, columns long: sums and products with a number per row or per basis vector, as all kernels
    need them, run two to eight times faster along the columns.
    """
    if is_sparse(X):
        return np.asfortranarray(X @ V.T)
    rows: Array = cast(Array, X)
    V = np.asfortranarray(V)  # in memory as X' is: what kernels for small products are quickest with
    count, size = tiles(rows.shape, len(V))
    if count == 1:
        return (V @ rows.T).T
    values = np.empty((len(V), len(rows)), dtype=rows.dtype)
    tiled = count * size
    np.matmul(V, _tiled(rows, count, size).transpose(0, 2, 1), out=_tiled(values.T, count, size).transpose(0, 2, 1))
    if tiled < len(rows):
        np.matmul(V, rows[tiled:].T, out=values[:, tiled:])
    return values.T


def summed_rows(D: Array, X: Matrix) -> Array:
    """Return D'X, (R, d), for D (n, R): sums of the samples, one for each basis vector."""
    if is_sparse(X):
        return np.asarray((X.T @ D).T)
    rows: Array = cast(Array, X)
    count, size = tiles(rows.shape, D.shape[1])
    if count == 1:
        return np.asarray(D.T @ rows)
    tiled = count * size
    total = np.matmul(_tiled(D, count, size).transpose(0, 2, 1), _tiled(rows, count, size)).sum(axis=0)
    if tiled < len(rows):
        total += D[tiled:].T @ rows[tiled:]
    return np.asarray(total)


def tiles(shape: tuple[int, ...], width: int) -> tuple[int, int]:
    """Return how many tiles of how many rows of X (n, d) have small products with (d, width): fewer than n rows in all.

    The rest are few. One tile stands for none: all is small, or rows are so wide that tiles would be too short.
    """
    n, d = shape
    size = SMALL_PRODUCT // max(d * width, 1)
    if size < FEWEST_ROWS or size >= n:
        return 1, n
    count = -(-n // size)
    size = n // count
    return count, size - size % WHOLE if size >= 8 * WHOLE else size


def _tiled(A: Array, count: int, size: int) -> Array:
    """Return the first rows of A as (count, size, columns), in the same memory.

    A product of all tiles is one call: each call takes the interpreter's lock, for which other threads wait.
    """
    return A[: count * size].reshape(count, size, A.shape[1])


def contract(G: Array, slope: ArrayLike | None, axis: int) -> Array | None:
    """Return the sum over ``axis`` of G * slope, for a slope that broadcasts to G or is None (zero)."""
    if slope is None:
        return None
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
    P = summed_rows(D, X)
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
        return dU, d_scale if S is None or xx is None else d_scale + S @ xx[:, 0] / metric
    if S is not None:
        if squares is None:
            squares = squared(X)
        d_metric += gamma * np.asarray(squares.T @ S).ravel()
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


#: The value and its derivatives in x.u, |x|^2 and |u|^2 (None is zero), from these invariants.
Evaluated = tuple[Any, Callable[[], tuple[Any, Any, Any]]]
#: Whoever writes one of these anew has a formula of one's own, which has no name in files and exports.
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
        of_features = learn_metric and np.ndim(metric) and not is_sparse(X)
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


def vjp_anywhere(
    kernel: InvariantKernel, X: Matrix, U: Array, metric: Factors, learn_metric: bool
) -> tuple[Array, Pullback[Cotangents]]:
    """Return the values of a kernel of invariants and their pullback, which leaves its argument as it is."""
    xp = namespace(X)
    place = place_like(X)
    gamma = number(kernel)
    w = np.broadcast_to(np.asarray(metric * gamma, dtype=U.dtype), U.shape[1:])
    V = U * w
    dot = X @ place.array(np.ascontiguousarray(V.T))
    xx: Any = ((X * X) @ place.array(w.copy()))[:, None] if kernel.uses_norms else None
    uu = place.array(np.einsum("rj,rj->r", U, V))[None, :]
    K, slopes = kernel._evaluated_anywhere(dot, xx, uu)

    def pullback(G: Array) -> Cotangents:
        d_dot, d_xx, d_uu = slopes()
        P = on_host((G * d_dot).T @ X)
        T = np.zeros(len(U), U.dtype) if d_uu is None else on_host(xp.sum(G * d_uu, axis=0))
        dU = gamma * metric * (P + 2 * T[:, None] * U)
        if not learn_metric:
            return dU, None
        d_metric = np.einsum("rj,rj->j", U, P) + T @ (U * U)
        if d_xx is not None:
            d_metric = d_metric + on_host(xp.sum(G * d_xx, axis=1) @ (X * X))
        d_metric = gamma * d_metric
        return dU, d_metric if np.ndim(metric) else d_metric.sum()

    return K, Pullback(pullback)
