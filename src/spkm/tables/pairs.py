"""Pairs of two tables at the border: what estimators of pairs read, keep and report."""

from __future__ import annotations

import sys
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import is_multilabel
from sklearn.utils.validation import _get_feature_names, validate_data

from spkm.core.model import Term
from spkm.core.scaling import check_domain
from spkm.sources import PairTable
from spkm.tables.read import TableLayout, check_of_numpy, checked_entities, checked_weight, known_targets

SIDES = ("left", "right")


@dataclass(frozen=True)
class Entities:
    """The tables of a fit, which predictions look entities up in.

    Attributes
    ----------
    tables : tuple of two arrays
        Copies of the tables: what the user does to them later must not change predictions.
    layouts : tuple of two TableLayout
        Their widths and names.
    pair_names : ndarray of str or None
        Names of the two columns of pairs, where these were a frame.
    terms : tuple of Term
        Features that the kernels read.
    entity_names : pair of ndarray of str or None
        Names of the rows of both tables, where these were frames with an index of text.
    """

    tables: tuple[Any, Any]
    layouts: tuple[TableLayout, TableLayout]
    pair_names: np.ndarray | None
    terms: tuple[Term, ...] = ()
    entity_names: tuple[np.ndarray | None, np.ndarray | None] = (None, None)

    def like(self, pairs: Any, left: Any, right: Any) -> PairTable:
        """Return pairs of the given tables, or of those of the fit where they are None."""
        tables = []
        for side, given, own, layout in zip(SIDES, (left, right), self.tables, self.layouts, strict=True):
            if given is None:
                tables.append(own)
                continue
            table, now = checked_entities(given, side)
            layout.check(now, side)
            tables.append(table)
        names = _get_feature_names(pairs)
        if names is not None and self.pair_names is not None and not np.array_equal(names, self.pair_names):
            raise ValueError(
                f"The columns of pairs must be {self.pair_names.tolist()}, as in the fit; got {names.tolist()}."
            )
        table = _pair_table((tables[0], tables[1]), _checked_pairs(pairs, (tables[0], tables[1])))
        check_domain(self.terms, table)
        return table


@dataclass(frozen=True)
class PairInput:
    """Input of a fit: pairs as a table, targets, weights, and the parts of the tables to keep."""

    table: PairTable
    y: Any
    weight: np.ndarray
    entities: Entities


def read_pairs(estimator: Any, pairs: Any, y: Any, left: Any, right: Any, sample_weight: Any) -> PairInput:
    """Return pairs, targets and tables of a fit, checked; the estimator is not changed."""
    for k, table in enumerate((left, right)):
        if table is None:
            raise ValueError(f"{SIDES[k]} must be given: the table that column {k} of pairs points into.")
    (left_table, left_layout), (right_table, right_layout) = (
        checked_entities(table, side) for table, side in zip((left, right), SIDES, strict=True)
    )
    tables = left_table, right_table
    for side, table in zip(SIDES, tables, strict=True):
        if is_cross_validated() and table.shape[0] == np.shape(pairs)[0]:
            raise ValueError(
                f"{side} has as many rows as there are pairs, {table.shape[0]}: scikit-learn's cross-validation cuts "
                "such an argument into folds, and pairs would point to other entities. Add an entity that no pair has "
                f"to {side}, or write the loop over the splits yourself."
            )
    checked = _checked_pairs(pairs, tables)
    y = known_targets(y)
    several = is_multilabel(y) or np.ndim(y) == 2
    # scikit-learn's check, on a copy as it writes attributes.
    _, y = validate_data(copy(estimator), checked, y, dtype=None, multi_output=several)
    entities = Entities(
        tables,
        (left_layout, right_layout),
        _get_feature_names(pairs),
        entity_names=(_row_names(left), _row_names(right)),
    )
    return PairInput(_pair_table(tables, checked), y, checked_weight(sample_weight, checked), entities)


def _row_names(table: object) -> np.ndarray | None:
    """Return the index of a frame if it is text; None for numbers, which name nothing."""
    index = getattr(table, "index", None)  # whatever a user holds may be the table
    if index is None or callable(index):  # a list has a method of that name
        return None
    names = list(index)
    return np.array(names, dtype=str) if names and all(isinstance(name, str) for name in names) else None


def _pair_table(tables: tuple[Any, Any], pairs: np.ndarray) -> PairTable:
    dtype = np.result_type(*(table.dtype for table in tables))
    left, right = (table.astype(dtype, copy=False) for table in tables)
    return PairTable(left, right, pairs)


def _checked_pairs(pairs: object, tables: tuple[Any, Any]) -> np.ndarray:
    check_of_numpy(pairs, "pairs")
    checked = np.asarray(pairs)
    if checked.dtype == object:  # as pandas makes of its own integers
        try:
            checked = checked.astype(np.int64)
        except (TypeError, ValueError):
            pass
    if checked.ndim != 2 or checked.shape[1] != 2 or checked.dtype.kind not in "iu":
        raise ValueError(
            f"pairs must be integers of shape (n_samples, 2), rows of left and of right; got shape {checked.shape} and "
            f"dtype {checked.dtype}."
        )
    if len(checked) == 0:
        raise ValueError("pairs must hold at least one pair; got shape (0, 2).")
    for k, (side, table) in enumerate(zip(SIDES, tables, strict=True)):
        outside = np.flatnonzero((checked[:, k] < 0) | (checked[:, k] >= table.shape[0]))
        if len(outside):
            raise ValueError(
                f"pairs must point into {side}, which has {table.shape[0]} rows; got {checked[outside[0], k]} in row "
                f"{outside[0]}, column {k}."
            )
    return np.ascontiguousarray(checked, dtype=np.intp)


def is_cross_validated() -> bool:
    """Whether a fit is called by scikit-learn's model selection, which cuts arguments into folds."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn.model_selection"):
            return True
        frame = frame.f_back
    return False
