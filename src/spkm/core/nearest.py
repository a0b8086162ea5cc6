"""The samples nearest to basis vectors, in the metric of the kernels.

Nearness is the cosine |k(x, u)| / sqrt(k(x, x) k(u, u)) in the feature space of a term's kernel, which for a stationary
kernel is k(x, u) itself. Length and sign of a vector there do not count: its weight carries both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from spkm._arrays import Matrix
from spkm.core.fitted import FittedTerm
from spkm.sources import ArraySource, Block, Source

DIGITS = 6  # of a cosine by which samples differ: equal samples of single precision agree to so many


class Nearest(NamedTuple):
    """For each basis vector the nearest sample, and its distance sqrt(2 - 2 cosine) in the feature space."""

    rows: np.ndarray
    distances: np.ndarray


def cosines(term: FittedTerm, Z: Matrix) -> np.ndarray:
    """Return k(x, u) / sqrt(k(x, x) k(u, u)) of samples on the scale of the model and a fitted term's vectors, (n, R).

    Zero where a norm is zero.
    """
    product: Any = 1.0
    for view in term.views:
        kernel, part = view.kernel.rkhs(), Z[:, view.columns]
        basis = view.basis.astype(Z.dtype, copy=False)
        norms = np.sqrt(np.outer(kernel.diagonal(part), kernel.diagonal(basis)))
        product = product * np.where(norms > 0, kernel(part, basis) / np.where(norms > 0, norms, 1.0), 0.0)
    return np.asarray(product)


def nearest_rows(source: Source, terms: Sequence[FittedTerm]) -> Nearest:
    """Return the sample of ``source`` that is nearest to each basis vector of fitted terms, ties to the first."""
    width = sum(term.rows.stop - term.rows.start for term in terms)
    rows, best, start = np.zeros(width, dtype=int), np.full(width, -np.inf), 0
    for n_rows, found, values in source.map(_block_nearest, terms, width=width):
        better = values > best
        rows, best, start = np.where(better, start + found, rows), np.where(better, values, best), start + n_rows
    return Nearest(rows, np.sqrt(np.maximum(2.0 - 2.0 * best, 0.0)))


def distinct_nearest_rows(source: ArraySource, terms: Sequence[FittedTerm]) -> np.ndarray:
    """Return a near sample of each basis vector, no two of them equal: vectors choose in order of nearness.

    A sample is chosen twice only if there are fewer distinct samples than basis vectors.
    """
    width = sum(term.rows.stop - term.rows.start for term in terms)
    pool: list[tuple[np.ndarray, np.ndarray]] = [(np.zeros(0, dtype=int), np.zeros(0))] * width
    start = 0
    for n_rows, listed in source.map(_block_candidates, terms, width, width=width):
        pool = [
            _best_distinct(source.X, np.append(rows, start + found), np.append(values, more), width)
            for (rows, values), (found, more) in zip(pool, listed, strict=True)
        ]
        start += n_rows
    chosen, taken = np.zeros(width, dtype=int), set()
    for r in np.argsort([-values[0] for _, values in pool], kind="stable"):
        candidates = pool[r][0]
        keys = (_row_key(source.X, i) for i in candidates)
        place = next((k for k, key in enumerate(keys) if key not in taken), 0)
        chosen[r] = candidates[place]
        taken.add(_row_key(source.X, candidates[place]))
    return chosen


def _block_nearest(block: Block, terms: Sequence[FittedTerm]) -> tuple[int, np.ndarray, np.ndarray]:
    values = _nearness(block, terms)
    found = np.argmax(values, axis=0)
    return len(values), found, values[found, np.arange(values.shape[1])]


def _block_candidates(
    block: Block, terms: Sequence[FittedTerm], count: int
) -> tuple[int, list[tuple[np.ndarray, np.ndarray]]]:
    values = _nearness(block, terms)
    return len(values), [_best_distinct(block.X, np.arange(len(values)), column, count) for column in values.T]


def _nearness(block: Block, terms: Sequence[FittedTerm]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.hstack([np.abs(cosines(term, block.X)) for term in terms]).astype(np.float64)


def _best_distinct(X: Matrix, rows: np.ndarray, values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``count`` rows with the largest values, falling, ties in their order, without repeats of a sample."""
    kept: dict[bytes, int] = {}
    for i in np.argsort(-np.round(values, DIGITS), kind="stable"):
        kept.setdefault(_row_key(X, rows[i]), i)
        if len(kept) == count:
            break
    places = list(kept.values())
    return rows[places], values[places]


def _row_key(X: Matrix, i: int) -> bytes:
    row = X[i : i + 1]
    row = row.toarray() if sparse.issparse(row) else np.asarray(row)
    return (row + 0.0).tobytes()  # -0.0 becomes 0.0
