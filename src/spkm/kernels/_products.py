"""Products of samples with a few vectors: dense ones in tiles, CSR and arrays of other libraries as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from spkm._arrays import Array, Factors, Matrix
from spkm._namespaces import is_foreign, moved_beside, on_host, place_like

# Products of so many multiplications OpenBLAS leaves to kernels that do not copy their operands first, where it has
# them (AVX512); both products together then take 0.63 to 0.9 of the time for 5 to 300 features and 5 to 60 vectors.
SMALL_PRODUCT = 10**6
# Rows of a long tile are a multiple of it, as vector instructions want them: 52.5 ms of a pass in place of 57.2.
WHOLE = 16
FEWEST_ROWS = 128  # of a tile: for fewer the call itself takes longer than what is gained


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
    if not isinstance(X, np.ndarray) and is_foreign(X):
        return _norms_elsewhere(squares, metric)
    if np.ndim(metric):
        return np.asarray(squares @ metric)
    # A product with ones runs at the speed of BLAS; numpy's row sums do not when rows are short.
    return np.asarray(squares @ np.full(X.shape[1], metric, dtype=X.dtype))


def _norms_elsewhere(squares: Any, metric: Factors) -> Array:
    norms: Array = squares @ place_like(squares).array(np.broadcast_to(metric, squares.shape[1:]))
    return norms


def invariants(
    X: Matrix,
    U: Array,
    w: Array,
    xx: Array | None,
    factor: float = 1.0,
    squares: Array | None = None,
    norms: bool = True,
) -> tuple[Any, Any, Any]:
    """Return ``factor`` * x.u, |x|^2 and |u|^2 under the relevances w, a number or (d,): (n, R), (n, 1) and (1, R).

    ``xx`` are the |x|^2 under relevances of one, and ``squares`` the squares of X, where the caller has them. Without
    ``norms`` the last two are None.
    """
    V = U * w
    dot = columns_first(X, factor * V)
    if not norms:
        return dot, None, None
    rows = squared_norms(X, w, squares) if xx is None or w.ndim else xx * w
    uu = np.einsum("rj,rj->r", U, V)[None, :]
    return dot, rows[:, None], uu if isinstance(X, np.ndarray) else moved_beside(X, uu)


def columns_first(X: Matrix, V: Array) -> Array:
    """Return X V' with whole columns side by side in memory.

    Rows of values are short, columns long: sums and products with a number per row or per basis vector, as all kernels
    need them, run two to eight times faster along the columns.
    """
    rows: Any = X
    if not isinstance(X, np.ndarray):
        if sparse.issparse(X):
            return np.asfortranarray(X @ V.T)
        products: Array = rows @ place_like(X).array(np.ascontiguousarray(V.T))
        return products
    V = np.asfortranarray(V)  # in memory as X' is: what kernels for small products are quickest with
    count, size = tiles(rows.shape, len(V))
    if count == 1:
        return np.asarray(V @ rows.T).T
    values: Array = np.empty((len(V), len(rows)), dtype=rows.dtype)
    tiled = count * size
    np.matmul(V, _tiled(rows, count, size).transpose(0, 2, 1), out=_tiled(values.T, count, size).transpose(0, 2, 1))
    if tiled < len(rows):
        np.matmul(V, rows[tiled:].T, out=values[:, tiled:])
    return values.T


def summed_rows(D: Array, X: Matrix) -> Array:
    """Return D'X, (R, d), for D (n, R): sums of the samples, one for each basis vector."""
    rows: Any = X
    if not isinstance(X, np.ndarray):
        return np.asarray((X.T @ D).T if sparse.issparse(X) else on_host(D.T @ rows))
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
