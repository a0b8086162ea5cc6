"""Matrices that remember the encoder they come from, so that a model of them has the names of the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from spkm._arrays import Matrix, TableLike

MARK = "spkm_encoding"  # attribute of a matrix that an encoder made: its Encoding


@dataclass(frozen=True)
class Encoding:
    """A fitted TableEncoder before a model, and which of its columns reach the model.

    Attributes
    ----------
    encoder : TableEncoder
        The encoder.
    kept : ndarray of int
        Places, among the encoder's columns, of the model's.
    before : tuple
        The steps before the encoder.
    """

    encoder: Any
    kept: np.ndarray
    before: tuple[Any, ...] = ()

    def on(self, columns: np.ndarray) -> Encoding:
        """Return the same for a model of some of the columns."""
        return replace(self, kept=self.kept[columns])

    @property
    def names(self) -> list[str]:
        """The names of the model's columns."""
        return [str(name) for name in self.encoder.get_feature_names_out()[self.kept]]

    def places(self, title: str) -> list[int]:
        """Return the model's column for each column that the encoder makes of one of the table; -1 for none."""
        own = np.flatnonzero(self.encoder.groups_ == self.encoder.columns_.index(title))
        where = {int(k): place for place, k in enumerate(self.kept)}
        return [where.get(int(k), -1) for k in own]

    @property
    def origins(self) -> list[Any]:
        """Origin of every column of the model."""
        return [self.encoder.feature_origin_[k] for k in self.kept]

    @property
    def links(self) -> list[Any]:
        """The columns of the table that determined each other in the fit."""
        return self.encoder.links_

    def links_in(self, X: TableLike) -> list[Any]:
        """Return the columns that determine each other in a table."""
        for step in self.before:
            X = step.transform(X)
        return self.encoder.linked_columns(X)

    def kind(self, title: str) -> str:
        """Return "number", "boolean" or "category" for a column of the table."""
        return self.plan(title).kind

    def column_groups(self) -> dict[str, np.ndarray]:
        """Return, for every column of the table that reaches the model, the model's columns."""
        owners = self.encoder.groups_[self.kept]
        return {self.encoder.columns_[j]: np.flatnonzero(owners == j) for j in np.unique(owners)}

    def encoded(self, title: str, cells: list[Any]) -> np.ndarray:
        """Return what cells of a column of the table become, (n, the model's columns of it)."""
        plan, values = self.plan(title), np.empty(len(cells), dtype=object)
        values[:] = cells
        out = np.zeros((len(cells), len(plan.origins())))
        plan.write(values, out)
        return out[:, np.array(self.places(title)) >= 0]

    def levels(self, title: str) -> tuple[list[str], np.ndarray]:
        """Return the levels of a category, and the model's columns of each, (levels, the model's columns of it)."""
        special = {"other": "(other)", "missing": "(missing)"}
        origins = self.plan(title).origins()
        labels = [special.get(origin.kind, str(origin.level)) for origin in origins]
        return labels, np.eye(len(origins))[:, np.array(self.places(title)) >= 0]

    def cells(self, table: np.ndarray) -> np.ndarray:
        """Return samples of the model's columns by column of the table, (n, columns): numbers, or names of levels."""
        groups = self.column_groups()
        found = np.empty((len(table), len(groups)), dtype=object)
        for k, (title, columns) in enumerate(groups.items()):
            found[:, k] = table[:, columns[0]]
            if self.kind(title) == "category":
                labels, rows = self.levels(title)
                same = (table[:, None, columns] == rows).all(axis=2)
                found[:, k] = np.where(same.any(axis=1), np.array(labels, dtype=object)[same.argmax(axis=1)], "(other)")
        return found

    def plan(self, title: str) -> Any:
        """Return how the encoder treats a column of the table."""
        return self.encoder.plans_[self.encoder.columns_.index(title)]


class EncodedArray(np.ndarray):
    """An array that an encoder made. Whatever is computed from it, a part or a sum, is one without an encoding."""

    def __array_finalize__(self, source: object) -> None:
        setattr(self, MARK, None)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        parts: Any = super().__reduce__()
        return parts[0], parts[1], (parts[2], getattr(self, MARK))

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state[0])
        setattr(self, MARK, state[1])


def encoded_by(encoder: Any, matrix: Matrix) -> Any:
    """Return a matrix (dense or CSR) that an encoder made, with a note of the encoder."""
    marked = matrix if sparse.issparse(matrix) else np.asarray(matrix).view(EncodedArray)
    setattr(marked, MARK, Encoding(encoder, np.arange(matrix.shape[1])))
    return marked


#: Kinds of matrices that an encoder makes.
MARKED = (EncodedArray, sparse.csr_matrix)
