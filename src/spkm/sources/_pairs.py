"""Samples that are pairs: the features of two entities side by side, in a table that is never built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from spkm._arrays import Matrix, dense
from spkm.sources._array import ArraySource, Block, equal_cuts, rows_per_block
from spkm.sources._scaling import Scaling, fit_scaling

PER_VALUE = 25  # features of an entity that cost a kernel as much as the rest costs for one pair; measured


class PairTable:
    """Samples [left[i], right[j]] for pairs (i, j), as a table that can be sliced by rows and by columns.

    Parameters
    ----------
    left, right : ndarray or CSR of shapes (n_left, d_left), (n_right, d_right)
        The entities.
    pairs : ndarray of int of shape (n, 2)
        A row of ``left`` and a row of ``right`` for each sample.
    """

    ndim = 2

    def __init__(self, left: Any, right: Any, pairs: np.ndarray) -> None:
        self.left = left
        self.right = right
        self.pairs = pairs
        self.shape = (len(pairs), left.shape[1] + right.shape[1])
        self.dtype = np.result_type(left.dtype, right.dtype)

    def __getitem__(self, key: Any) -> PairTable:
        if isinstance(key, tuple):  # features of all pairs
            columns = np.arange(self.shape[1])[key[1]]
            at = self.left.shape[1]
            left, right = self.left[:, columns[columns < at]], self.right[:, columns[columns >= at] - at]
            return PairTable(left, right, self.pairs[key[0]])
        return PairTable(self.left, self.right, self.pairs[key])

    def named_alone(self) -> PairTable:
        """Return the same pairs of tables without the entities that none of them names."""
        tables, codes = [], []
        for k, table in enumerate((self.left, self.right)):
            used, code = np.unique(self.pairs[:, k], return_inverse=True)
            tables.append(table if len(used) == table.shape[0] else table[used])
            codes.append(code.ravel())
        return PairTable(tables[0], tables[1], np.column_stack(codes))

    def scaling(self, weight: np.ndarray, common: bool) -> Scaling:
        """Return the scaling of the weighted pairs, as the joined table would have it."""
        parts = []
        for k, table in enumerate((self.left, self.right)):
            by_entity = np.bincount(self.pairs[:, k], weight, table.shape[0])
            parts.append(fit_scaling(table, by_entity, common))
        return Scaling.joined(*parts)

    def scaled(self, scaling: Scaling) -> PairTable:
        """Return the same pairs of scaled entities."""
        at = self.left.shape[1]
        left, right = scaling.columns(np.s_[:at]), scaling.columns(np.s_[at:])
        return PairTable(left(self.left), right(self.right), self.pairs)

    def entities(self, columns: np.ndarray | None) -> tuple[Any, np.ndarray]:
        """Return features of the side they belong to, for all entities of it, and the entity of each pair."""
        at = self.left.shape[1]
        if columns is None or (len(columns) and columns[0] < at <= columns[-1]):
            raise ValueError("A view of pairs must read features of one side alone.")
        on_left = len(columns) > 0 and columns[0] < at
        table, index = (self.left, self.pairs[:, 0]) if on_left else (self.right, self.pairs[:, 1])
        columns = columns if on_left else columns - at
        if len(index) < table.shape[0]:  # fewer pairs than entities: some are not named
            used, index = np.unique(index, return_inverse=True)
            table = table[used]
        return table if len(columns) == table.shape[1] else table[:, columns], index

    def min(self, axis: int) -> np.ndarray:
        """Return the smallest value of each feature (``axis`` 0) over all entities."""
        return self._extremes("min", axis)

    def max(self, axis: int) -> np.ndarray:
        """Return the largest value of each feature (``axis`` 0) over all entities."""
        return self._extremes("max", axis)

    def _extremes(self, name: str, axis: int) -> np.ndarray:
        parts = [getattr(table, name)(axis=axis) for table in (self.left, self.right) if table.shape[1]]
        return np.concatenate([dense(part).ravel() for part in parts])

    def astype(self, dtype: DTypeLike, copy: bool = True) -> PairTable:
        """Return the same pairs of entities in another precision."""
        return PairTable(self.left.astype(dtype, copy=copy), self.right.astype(dtype, copy=copy), self.pairs)

    def toarray(self) -> np.ndarray:
        """Return the joined table, dense: for few pairs."""
        parts = [table[self.pairs[:, k]] for k, table in enumerate((self.left, self.right))]
        return np.hstack([dense(part) for part in parts])


def scaled_table(X: Matrix | PairTable, scaling: Scaling) -> Any:
    """Return samples on the scale of a model: a table of pairs, a dense array or CSR as it is."""
    return X.scaled(scaling) if isinstance(X, PairTable) else scaling(X)


class PairBlock(Block):
    """Some pairs, whose features are rows of tables that pairs share."""

    def columns(self, columns: np.ndarray | None) -> tuple[Any, np.ndarray]:
        """Return some features of all entities of a side, and the entity of each pair."""
        found: tuple[Any, np.ndarray] = self.X.entities(columns)
        return found


class PairSource(ArraySource):
    """Pairs of a :class:`PairTable`; entities are scaled once.

    Parameters
    ----------
    X : PairTable
        Pairs.
    Y, weight, scaling
        As in :class:`ArraySource`.
    """

    block = PairBlock

    @staticmethod
    def fit_scaling(X: PairTable, weight: np.ndarray, common: bool) -> Scaling:
        """Return the scaling of weighted pairs, that of each table by itself."""
        return X.scaling(weight, common)

    def __init__(
        self,
        X: PairTable,
        Y: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        scaling: Scaling | None = None,
    ) -> None:
        super().__init__(X if scaling is None else X.scaled(scaling), Y, weight)

    def pieces(self, width: int) -> Sequence[tuple[int, int]]:
        """Return the cuts into blocks: of so many pairs that the entities' kernels do not cost more than the pairs."""
        entries = sum(table.shape[0] * table.shape[1] for table in (self.X.left, self.X.right))
        size = max(rows_per_block(1, width), min(entries // PER_VALUE, 2**22 // width))
        return equal_cuts(self.n_rows, size)

    def batches(self, size: int, n_steps: int, rng: np.random.Generator, dtype: DTypeLike) -> Iterator[Block]:
        lighter = copy(self)
        lighter.X = self.X.astype(dtype, copy=False)  # once, not for every batch
        yield from ArraySource.batches(lighter, size, n_steps, rng, dtype)

    def _picked(self, rows: np.ndarray) -> PairTable:
        picked: PairTable = self.X[rows]
        return picked
