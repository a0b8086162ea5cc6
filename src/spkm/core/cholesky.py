"""Cholesky factors of small matrices by LAPACK: SciPy's own functions take longer to check than to solve."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from spkm._arrays import Array


def factor(A: Array) -> Array:
    """Return the upper factor L' of A = L L', float64; raise LinAlgError if A is not positive definite, or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[4.0, 2.0], [2.0, 3.0]])
    >>> upper = factor(A)
    >>> bool(np.allclose(upper.T @ upper, A)), bool(np.allclose(inverse(upper) @ A, np.eye(2)))
    (True, True)
    """
    upper: Array
    upper, info = dpotrf(A, lower=0, clean=1)
    if info != 0 or not np.isfinite(upper[-1, -1]):
        raise LinAlgError("The matrix is not positive definite.")
    return upper


def solve(upper: Array, B: Array) -> Array:
    """Return A^-1 B of a factored A, for B (k, m)."""
    return np.asarray(dpotrs(upper, B, lower=0)[0])


def inverse(upper: Array) -> Array:
    """Return A^-1 of a factored A."""
    half: Array = dpotri(upper, lower=0)[0]  # its upper half; below it the zeros of the factor
    full = half + half.T
    full.flat[:: len(full) + 1] *= 0.5
    return full


def log_det(upper: Array) -> float:
    """Return log|A| of a factored A."""
    return 2.0 * float(np.log(upper.diagonal()).sum())
