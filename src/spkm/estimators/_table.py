"""The user's rows at the border: checked, then worked on block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from spkm.estimators._resolve import n_threads
from spkm.estimators._state import FittedState
from spkm.estimators._views import joined_table
from spkm.model import Term
from spkm.sources import ArraySource, PairTable, Scaling, fit_scaling

ON_THREADS = 10_000  # rows; fewer are done before threads have started


class TableMixin:
    """What every estimator does with the rows it is given; those of CSR are taken as they are."""

    n_jobs: Any
    _fitted: FittedState
    #: Names of the tables of X where it is a dict of them.
    _table_names: list[str] | None = None

    def _checked_rows(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Return X, and y if given, as arrays of finite numbers; CSR rows sorted by column, each column once."""
        X = joined_table(X, self._table_names)
        with need_numbers("X"):
            checked = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], **options)
        if isinstance(checked, tuple):
            return canonical(checked[0]), *checked[1:]
        return canonical(checked)

    def _by_blocks(self, function: Callable[..., np.ndarray], X: Any) -> np.ndarray:
        """Return ``function(block, model, theta)``, (n, k), of all rows, with what the fit left behind."""
        check_is_fitted(self)
        return self._by_checked_blocks(function, self._checked_rows(X, reset=False))

    def _by_checked_blocks(self, function: Callable[..., np.ndarray], X: Any) -> np.ndarray:
        """Return the same of rows that have been checked."""
        state = self._fitted
        if state.columns is not None:
            X = X[:, state.columns]
        check_domain(state.model.terms, X)
        source = self._rows_source(X, state.scaling)
        found, done = np.empty((0, 0)), 0
        with source.threads(n_threads(self.n_jobs) if source.n_rows > ON_THREADS else 1):
            for part in source.map(function, state.model, state.theta, width=state.model.n_basis):
                if done == 0:
                    found = np.empty((source.n_rows, part.shape[1]), dtype=part.dtype)
                found[done : done + len(part)] = part
                done += len(part)
        return found

    def _rows_source(
        self, X: Any, scaling: Scaling | None, Y: np.ndarray | None = None, weight: np.ndarray | None = None
    ) -> ArraySource:
        """Return rows as a source."""
        return ArraySource(X, Y, weight, scaling)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


@contextmanager
def need_numbers(argument: str) -> Iterator[None]:
    """Say what to do where scikit-learn meets something in ``argument`` that is no number."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not str(error).startswith(("could not convert string", "float() argument", "The DType")):
            raise
        advice = "Encode text and dates first, with sklearn.preprocessing.OneHotEncoder say."
        raise type(error)(f"{argument} must hold numbers: {error}. {advice}") from error


def canonical(rows: Any) -> Any:
    """Return CSR rows sorted by column, each column once; dense ones as they are."""
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def checked_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Return a weight of at least zero for every row of X, (n,); ones when None."""
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"sample_weight must hold numbers: {error}.") from error
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight must not be negative; its minimum is {weight.min():g}. Drop such rows or set them to zero."
        )
    return weight


def columns_of_counts(terms: Sequence[Term], n_features: int) -> np.ndarray:
    """Return the columns that kernels of counts look at."""
    views = tuple(view for term in terms for view in term.views if view.kernel.nonnegative)
    return Term(1, views).columns(n_features) if views else np.zeros(0, dtype=int)


def check_domain(terms: Sequence[Term], X: Any) -> None:
    """Raise ValueError where a kernel wants columns without numbers below zero and X has some."""
    columns = columns_of_counts(terms, X.shape[1])
    if len(columns) == 0:
        return
    low = (X if len(columns) == X.shape[1] else X[:, columns]).min(axis=0)
    low = np.asarray(low.toarray() if sparse.issparse(low) else low).ravel()
    if low.min() < 0:
        kernel = next(view.kernel for term in terms for view in term.views if view.kernel.nonnegative)
        j = int(np.argmin(low))
        raise ValueError(
            f"kernel={kernel!r} needs non-negative columns; column {columns[j]} of X has minimum {low[j]:g}. "
            "Use fingerprints or counts as they are, or kernel='rbf'."
        )


def scaling_for(terms: Sequence[Term], scale: Any, X: Any, weight: np.ndarray) -> Scaling | None:
    """Return the scaling that ``scale`` (True, False or "common") asks for; None if columns stay as they are.

    Columns that a kernel of counts looks at do.
    """
    counts = columns_of_counts(terms, X.shape[1])
    if len(counts) == X.shape[1] or not (isinstance(scale, str) or scale):
        return None
    common = isinstance(scale, str)
    scaling = X.fit_scaling(weight, common) if isinstance(X, PairTable) else fit_scaling(X, weight, common)
    return scaling.leaving(counts) if len(counts) else scaling
