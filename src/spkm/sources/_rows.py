"""The rows of a fit as a weighted set: order and repetition of rows must not matter."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

MERGED_UP_TO = 5000  # rows; a fit of more rows takes them as they come
LEADING = 64  # entries of a row by which rows are ordered; their digests settle the rest


def merged_rows(X: Any, Y: np.ndarray, weight: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return distinct rows of (X, Y) with their summed weights, in an order that depends on their values alone.

    A fit is not convex, so rounding alone could lead two fits of the same weighted rows to different models. Rows of
    weight zero are dropped at every size; above :data:`MERGED_UP_TO` rows nothing else is done. The order is one of
    values, which a change of units keeps.
    """
    if np.any(weight == 0):
        kept = np.flatnonzero(weight)
        X, Y, weight = X[kept], Y[kept], weight[kept]
    if X.shape[0] > MERGED_UP_TO:
        return X, Y, weight
    if sparse.issparse(X) and not X.has_sorted_indices:
        X = X.sorted_indices()
    keys = np.empty(X.shape[0], dtype=object)
    keys[:] = [_key(X, Y, i) for i in range(X.shape[0])]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    by_size = np.argsort(weight)  # a sum taken in the order of rows would keep a trace of it in its last bit
    X, Y = X[first], Y[first]
    # The layout of memory, too, would show in the last bits of sums.
    X = X if sparse.issparse(X) else np.ascontiguousarray(X)
    return X, np.ascontiguousarray(Y), np.bincount(inverse[by_size], weights=weight[by_size])


def _key(X: Any, Y: np.ndarray, i: int) -> bytes:
    """Return bytes that are equal for equal rows, and ordered by column after column."""
    target = Y[i] + 0.0  # -0.0 becomes 0.0
    if sparse.issparse(X):
        cut = slice(X.indptr[i], X.indptr[i + 1])
        kept = X.data[cut] != 0
        parts = [X.indices[cut][kept].astype(np.int64), X.data[cut][kept]]
    else:
        parts = [X[i] + 0.0]
    digest = blake2b(target.tobytes(), digest_size=16)
    for part in parts:
        digest.update(part.tobytes())
    # Big-endian bytes of two numbers of one sign compare as the numbers do, or the other way round if both are below 0.
    leading = [part[:LEADING].astype(part.dtype.newbyteorder(">")).tobytes() for part in (*parts, target)]
    return b"".join([*leading, digest.digest()])
