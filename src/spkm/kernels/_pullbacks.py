"""The matrix products of kernels of invariants, and their pullbacks; shapes are those of ``_base.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from spkm._arrays import Array, Factors, Integers, Matrix, squared

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
    if sparse.issparse(X):
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
    if sparse.issparse(X):
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
