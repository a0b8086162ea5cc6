"""The matrix products of kernels of invariants, and their pullbacks; shapes are those of ``_base.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

Array = Any  # dense or CSR
# Products of so many multiplications OpenBLAS leaves to kernels that do not copy their operands first, where it has
# them (AVX512); both products together then take 0.63 to 0.9 of the time for 5 to 300 features and 5 to 60 vectors.
SMALL_PRODUCT = 10**6
# Rows of a long tile are a multiple of it, as vector instructions want them: 52.5 ms of a pass in place of 57.2.
WHOLE = 16
FEWEST_ROWS = 128  # of a tile: for fewer the call itself takes longer than what is gained


def squared_norms(X: Array, metric: Any = 1.0, squares: np.ndarray | None = None) -> np.ndarray:
    """Return sum_j w_j x_ij^2 for every row i, as (n,); ``squares`` are those of X, where the caller has them."""
    if squares is None:
        squares = X.multiply(X) if sparse.issparse(X) else X * X
    if np.ndim(metric):
        return np.asarray(squares @ metric)
    # A product with ones runs at the speed of BLAS; numpy's row sums do not when rows are short.
    return np.asarray(squares @ np.full(X.shape[1], metric, dtype=X.dtype))


def columns_first(X: Array, V: np.ndarray) -> np.ndarray:
    """Return X V' with whole columns side by side in memory.

    Rows of values are short, columns long: sums and products with a number per row or per basis vector, as all kernels
    need them, run two to eight times faster along the columns.
    """
    if sparse.issparse(X):
        return np.asfortranarray(X @ V.T)
    V = np.asfortranarray(V)  # in memory as X' is: what kernels for small products are quickest with
    count, size = tiles(X.shape, len(V))
    if count == 1:
        return (V @ X.T).T
    values = np.empty((len(V), len(X)), dtype=X.dtype)
    tiled = count * size
    np.matmul(V, _tiled(X, count, size).transpose(0, 2, 1), out=_tiled(values.T, count, size).transpose(0, 2, 1))
    if tiled < len(X):
        np.matmul(V, X[tiled:].T, out=values[:, tiled:])
    return values.T


def summed_rows(D: np.ndarray, X: Array) -> np.ndarray:
    """Return D'X, (R, d), for D (n, R): sums of the samples, one for each basis vector."""
    if sparse.issparse(X):
        return np.asarray((X.T @ D).T)
    count, size = tiles(X.shape, D.shape[1])
    if count == 1:
        return np.asarray(D.T @ X)
    tiled = count * size
    total = np.matmul(_tiled(D, count, size).transpose(0, 2, 1), _tiled(X, count, size)).sum(axis=0)
    if tiled < len(X):
        total += D[tiled:].T @ X[tiled:]
    return np.asarray(total)


def tiles(shape: tuple[int, int], width: int) -> tuple[int, int]:
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


def _tiled(A: np.ndarray, count: int, size: int) -> np.ndarray:
    """Return the first rows of A as (count, size, columns), in the same memory.

    A product of all tiles is one call: each call takes the interpreter's lock, for which other threads wait.
    """
    return A[: count * size].reshape(count, size, A.shape[1])


def contract(G: np.ndarray, slope: Any, axis: int) -> np.ndarray | None:
    """Return the sum over ``axis`` of G * slope, for a slope that broadcasts to G or is None (zero)."""
    if slope is None:
        return None
    slope = np.broadcast_to(np.asarray(slope, dtype=G.dtype), G.shape)
    return np.einsum("ir,ir->r" if axis == 0 else "ir,ir->i", G, slope)


def to_parameters(
    X: Array,
    U: np.ndarray,
    metric: Any,
    gamma: float,
    D: np.ndarray,
    S: np.ndarray | None,
    T: np.ndarray | None,
    xx: np.ndarray | None,
    learn_metric: bool,
    dot_factor: float = 1.0,
    factor: Any = 1.0,
    squares: np.ndarray | None = None,
) -> tuple[np.ndarray, Any]:
    """Turn cotangents of x.u (``dot_factor`` * D), |x|^2 (S) and |u|^2 (T) into those of U and the metric.

    ``factor``, a number or (R, 1), multiplies D and T; ``squares`` are those of X, where the caller has them.
    """
    P = summed_rows(D, X)
    P *= dot_factor * gamma * factor
    if T is not None and np.ndim(factor):
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
        return dU, d_scale if S is None else d_scale + S @ xx[:, 0] / metric  # type: ignore[index]
    if S is not None:
        if squares is None:
            squares = X.multiply(X) if sparse.issparse(X) else X * X
        d_metric += gamma * np.asarray(squares.T @ S).ravel()
    return dU, d_metric
