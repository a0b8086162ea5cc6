"""The samples of a fit as a weighted set: order and repetition of samples must not matter."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from spkm._arrays import Matrix
from spkm.sources._array import pick_rows

MERGED_UP_TO = 5000  # samples; a fit of more samples takes them as they come
LEADING = 64  # entries by which samples are ordered; digests settle ties


def distinct_rows(X: Any, Y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the distinct samples (X, Y), in an order set by their values alone, and their weights.

    Samples of weight zero are always left out; above :data:`MERGED_UP_TO` samples nothing else is done.
    """
    kept = np.flatnonzero(weight)
    weight = weight[kept]
    if len(kept) > MERGED_UP_TO:
        return kept, weight
    if sparse.issparse(X) and not X.has_sorted_indices:
        X = X.sorted_indices()
    _, first, inverse = np.unique(_keys(X, Y, kept), return_index=True, return_inverse=True)
    by_size = np.argsort(weight)  # else the last bit of a sum would depend on the order of samples
    return kept[first], np.bincount(inverse[by_size], weights=weight[by_size])


def distinct_pairs(pairs: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the distinct pairs of positive weight with their targets, by left entity, and weights."""
    kept = np.flatnonzero(weight)
    keys = (*Y[kept].T[::-1], pairs[kept, 1], pairs[kept, 0])
    order = np.lexsort((weight[kept], *keys))  # weights, too: else the last bit of a sum would depend on the order
    differ = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    first = np.flatnonzero(np.concatenate([[True], differ]))
    return kept[order[first]], np.add.reduceat(weight[kept[order]], first)


def merged_rows(X: Matrix, Y: np.ndarray, weight: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the samples that :func:`distinct_rows` finds, their targets and their weights.

    A fit is not convex, so rounding alone could lead two fits of the same weighted samples to different models. Samples
    are ordered by their values, an order that a change of units keeps.
    """
    rows, merged = distinct_rows(X, Y, weight)
    return *gathered_rows(X, Y, rows), merged


def gathered_rows(X: Any, Y: np.ndarray, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the given samples of X and Y, in one memory layout if they are few."""
    if len(rows) > MERGED_UP_TO:
        return pick_rows(X, rows), Y[rows]
    X = pick_rows(X, rows)
    if sparse.issparse(X) and not X.has_sorted_indices:
        X = X.sorted_indices()
    # The layout of memory, too, would show in the last bits of sums.
    X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
    return X, np.ascontiguousarray(Y[rows])


def _keys(X: Any, Y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the keys of some samples; those of few dense features hold all entries and need no digest."""
    if sparse.issparse(X) or X.shape[1] > LEADING:
        keys = np.empty(len(rows), dtype=object)
        keys[:] = [_key(X, Y, i) for i in rows.tolist()]
        return keys
    parts = [(table[rows] + 0.0).astype(table.dtype.newbyteorder(">"), order="C") for table in (X, Y)]
    entries = np.hstack([part.view(np.uint8).reshape(len(rows), part.shape[1] * part.itemsize) for part in parts])
    return entries.view(f"S{entries.shape[1]}")[:, 0]


def _key(X: Any, Y: np.ndarray, i: int) -> bytes:
    """Return bytes that are equal for equal samples, and that sort them by one feature after another."""
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
