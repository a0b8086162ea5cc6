"""The user's samples at the border: every kind of table becomes an array or CSR matrix of finite numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    _get_feature_names,
    check_array,
    check_X_y,
    validate_data,
)

from spkm._arrays import TargetLike, dense
from spkm._cells import is_missing
from spkm._checks import warn_user
from spkm._frames import dtype_of, has_types, is_lazy_frame, kind_of
from spkm._namespaces import Place, on_host, place_of
from spkm._publish import feature_names
from spkm.tables.encoded import MARK, MARKED, EncodedArray

DATES = ("date", "time", "duration", "period")  # beginnings of the names of pandas' and polars' types, in small letters
PLAIN = 2_000  # entries of a small array
DATE_TYPES = (date, time, timedelta, np.datetime64, np.timedelta64)
EXACT = 2.0**53  # up to here floats hold all integers
FEW_LABELS = 10  # numbers of at most so many different whole values are taken for labels
SAMPLES_OF_LABEL = 10  # on average, of integers that are taken for more labels than that


class TableLayout(NamedTuple):
    """Width and names of one of several tables."""

    width: int
    names: np.ndarray | None

    def check(self, now: TableLayout, argument: str) -> None:
        """Raise ValueError if a later table, ``argument`` by name, has other columns."""
        if now.width != self.width:
            raise ValueError(f"{argument} must have the {self.width} columns of the fit; got {now.width}.")
        if self.names is not None and now.names is not None and not np.array_equal(self.names, now.names):
            raise ValueError(
                f"The columns of {argument} must be named, and ordered, as those of the fit, {self.names.tolist()}; "
                f"got {now.names.tolist()}."
            )


@dataclass(frozen=True)
class Table:
    """The samples of a fit.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
        float32 or float64.
    y : ndarray
        Targets as they came.
    weight : ndarray of shape (n,)
        Weights of the samples; they sum to the number that penalties take for n.
    attributes : dict
        Attributes of the fitted estimator.
    place : Place or None
        Library and device of the passes if X is of another library, under scikit-learn's ``array_api_dispatch``.
    """

    X: Any
    y: Any
    weight: np.ndarray
    attributes: dict[str, Any]
    place: Place | None = None


def read_table(estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, **options: Any) -> Table:
    """Return the samples of a fit, checked; the estimator is not changed. ``y="no_validation"`` leaves y out."""
    place = None if isinstance(X, np.ndarray) else place_of(X)
    if place is not None:
        X, y, sample_weight = map(on_host, (X, y, sample_weight))
    layouts = table_layouts(X) if is_tables(X) else None
    rows = joined_table(X, layouts)
    y = known_targets(y)
    settings = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "estimator": estimator}
    with need_numbers("X"):
        if isinstance(y, str):
            X, y = check_array(rows, input_name="X", **settings), None
        else:
            X, y = check_X_y(rows, y, **settings, **options)
    attributes = {"n_features_in_": X.shape[1], "_tables": layouts}
    names = _get_feature_names(rows)
    if isinstance(rows, MARKED) and MARK in vars(rows) and vars(rows)[MARK] is not None:
        attributes["_encoding"] = vars(rows)[MARK]
    if names is not None:
        attributes["feature_names_in_"] = names
    X = canonical(X)
    return Table(X, y, checked_weight(sample_weight, X), attributes, place)


def known_targets(y: Any) -> Any:
    """Return targets; ValueError if some are missing, by any mark of NumPy, pandas, polars or Python.

    Types of pandas' own (Int64, boolean, those of Arrow) become NumPy's: scikit-learn would make floats of them, in
    which labels beyond 2^53 are one.
    """
    marked = next((getattr(y, name) for name in ("isna", "is_null") if hasattr(y, name)), None)  # pandas and polars
    if marked is not None:
        absent = int(np.asarray(marked()).reshape(len(y), -1).any(axis=1).sum())
    elif np.ma.isMaskedArray(y):
        absent = int(np.ma.getmaskarray(y).reshape(len(y), -1).any(axis=1).sum())
    else:
        cells = np.asarray(y, dtype=object) if isinstance(y, list) else y
        if not (isinstance(cells, np.ndarray) and cells.dtype.kind == "O" and cells.ndim == 1):
            return y
        absent = sum(map(is_missing, cells.tolist()))
    if absent:
        raise ValueError(
            f"y must have a value for every sample; {absent} of {len(y)} are missing (None, NaN or NA). Leave these "
            "samples out, or fill their targets in."
        )
    # Types of pandas alone have it.
    kinds = [getattr(kind, "numpy_dtype", None) for kind in (y.dtypes if has_types(y) else [dtype_of(y)])]
    if not kinds or any(kind is None or kind.kind not in "biuf" for kind in kinds):
        return y
    return y.to_numpy(dtype=np.result_type(*kinds))


def target_array(y: TargetLike) -> np.ndarray:
    """Return targets as a dense array, a single column of them as a vector."""
    found: np.ndarray = dense(known_targets(y))
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def holds_labels(y: TargetLike) -> bool:
    """Whether targets are labels where no estimator says so: texts, truth values, indicators, and some whole numbers.

    Whole numbers are labels if they have at most :data:`FEW_LABELS` different values, or are integers of which each
    occurs :data:`SAMPLES_OF_LABEL` times on average. scikit-learn takes all whole numbers for labels, floating-point
    ones, too: a target that was rounded would be a class for each of its values.
    """
    y = target_array(y)
    kind = type_of_target(y, input_name="y")
    if kind.startswith("continuous") or kind == "multiclass-multioutput":
        return False
    if y.ndim == 2 or y.dtype.kind not in "iuf":
        return True
    count = len(np.unique(y))
    return count <= FEW_LABELS or (y.dtype.kind != "f" and len(y) >= SAMPLES_OF_LABEL * count)


def read_like(estimator: BaseEstimator, X: Any) -> Any:
    """Return samples with the columns of the fit, checked."""
    X = X.view(np.ndarray) if isinstance(X, EncodedArray) else X
    if _is_plain(estimator, X):
        return X
    layouts = vars(estimator).get("_tables")
    if is_tables(X) and layouts is None:
        raise ValueError(f"X must be one table, as in the fit; got a dict of {list(X)}.")
    rows = joined_table(X, layouts)
    with need_numbers("X"):
        return canonical(
            validate_data(estimator, rows, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        )


def _is_plain(estimator: BaseEstimator, X: object) -> bool:
    """Whether X is a small array in which there is nothing to check or to change: services predict a row at a time."""
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and 0 < X.size <= PLAIN
        and X.shape[1:] == (estimator.n_features_in_,)
        and feature_names(estimator) is None
        and bool(np.isfinite(X).all())
    )


def table_layouts(X: Any) -> dict[str, TableLayout]:
    """Return width and names of each table of a dict."""
    if not X or not all(isinstance(name, str) for name in X):
        raise ValueError(f"X must be a dict from names, which are strings, to tables; got the keys {list(X)}.")
    layouts = {}
    for name, table in X.items():
        table = collected(table)
        if not (np.ndim(table) == 2 or sparse.issparse(table)):
            raise ValueError(f"X[{name!r}] must be a table of two dimensions; got {np.ndim(table)}.")
        layouts[name] = TableLayout(np.shape(table)[1], _get_feature_names(table))
    return layouts


def joined_table(X: Any, layouts: dict[str, TableLayout] | None) -> Any:
    """Return the tables of a dict side by side, in the order of the fit and checked against it; a table as it is."""
    if not is_tables(X):
        X = collected(X)
        check_no_dates(X, "X")
        check_unmasked(X, "X")
        return X
    X = {name: collected(table) for name, table in X.items()}
    assert layouts is not None
    if set(layouts) != set(X):
        raise ValueError(f"X must be a dict with a table for each view, {list(layouts)}; got {list(X)}.")
    now = table_layouts(X)
    for name, layout in layouts.items():
        layout.check(now[name], f"X[{name!r}]")
    rows = {name: np.shape(X[name])[0] for name in layouts}
    if len(set(rows.values())) > 1:
        raise ValueError(f"The tables of X must have the same number of rows; got {rows}.")
    tables = [X[name] for name in layouts]
    for name, table in zip(layouts, tables, strict=True):
        check_no_dates(table, f"X[{name!r}]")
        check_unmasked(table, f"X[{name!r}]")
    if any(sparse.issparse(table) for table in tables):
        return sparse.hstack(tables, format="csr")
    return np.hstack([np.asarray(table) for table in tables])


def is_tables(X: Any) -> bool:
    """Whether X is a dict of tables (a sparse matrix by keys is a mapping, too)."""
    return isinstance(X, Mapping) and not sparse.issparse(X)


def collected(X: Any) -> Any:
    """Return a lazy frame of polars as a frame; anything else as it is."""
    return X if isinstance(X, np.ndarray) or not is_lazy_frame(X) else X.collect()


def check_no_dates(X: Any, argument: str) -> None:
    """Raise ValueError if a column holds dates or times, which would be taken for numbers."""
    is_array = isinstance(X, np.ndarray)
    if not is_array and has_types(X):
        for name, kind in zip(X.columns, X.dtypes, strict=True):
            if str(kind).lower().startswith(DATES):
                raise ValueError(f"{argument} must hold numbers; column {name!r} holds dates ({kind}). {_DATE_ADVICE}")
        return
    X = np.asarray(X) if isinstance(X, list | tuple) else X
    kind = X.dtype.kind if is_array else kind_of(X)
    if kind in ("m", "M"):
        raise ValueError(f"{argument} must hold numbers; it holds dates ({X.dtype}). {_DATE_ADVICE}")
    if kind == "O" and np.ndim(X) == 2:
        for j, column in enumerate(np.asarray(X).T):
            if any(issubclass(found, DATE_TYPES) for found in set(map(type, column))):
                raise ValueError(f"{argument} must hold numbers; column {j} holds dates. {_DATE_ADVICE}")


def check_unmasked(X: object, argument: str) -> None:
    """Raise ValueError if cells of an array are masked: what lies below the mask would be taken for their values."""
    masked = int(np.ma.count_masked(X)) if np.ma.isMaskedArray(X) else 0
    if masked:
        raise ValueError(
            f"{argument} must have a number in every cell; {masked} are masked. {argument}.filled(numpy.nan) makes "
            "missing values of them, for an imputer or a TableEncoder."
        )


_DATE_ADVICE = "Turn dates into numbers first: days since a date, a month, a day of the week."

_GAPS_ADVICE = (
    "Put a TableEncoder before the model, make_pipeline(TableEncoder(), model): it fills missing values and marks "
    "them. A model of complete samples predicts others by spkm.explain.with_gaps."
)


@contextmanager
def need_numbers(argument: str) -> Iterator[None]:
    """Say what to do where scikit-learn meets something in ``argument`` that is no number."""
    try:
        yield
    except (TypeError, ValueError) as error:
        first = str(error).partition("\n")[0]
        if first.startswith("Input") and first.endswith("contains NaN."):  # what follows recommends other libraries
            advice = {"X": _GAPS_ADVICE, "y": "Leave these samples out."}.get(
                first.split()[1], "Fill missing values in."
            )
            raise ValueError(f"{first} {advice}") from error
        if not str(error).startswith(("could not convert string", "float() argument", "The DType")):
            raise
        advice = "Encode text and dates first, with spkm.TableEncoder say."
        raise type(error)(f"{argument} must hold numbers: {error}. {advice}") from error


def checked_entities(table: Any, side: str) -> tuple[Any, TableLayout]:
    """Return a copy of a table of entities as an array of finite numbers, with its layout."""
    table = collected(table)
    check_of_numpy(table, side)
    check_no_dates(table, side)
    check_unmasked(table, side)
    with need_numbers(side):
        # Rows one after another: a frame's layout in memory must not show in the last bit.
        rows = check_array(
            table, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", copy=True, input_name=side
        )
    return canonical(rows), TableLayout(rows.shape[1], _get_feature_names(table))


def check_of_numpy(table: object, argument: str) -> None:
    """Raise TypeError for an array of another library that scikit-learn's dispatch is set for: pairs are NumPy's."""
    if place_of(table) is not None:
        raise TypeError(
            f"{argument} must be an array of NumPy or SciPy or a data frame; got {type(table).__module__}."
            f"{type(table).__name__}. Pairs are worked on by NumPy alone: convert it, a tensor of torch by "
            ".cpu().numpy()."
        )


def canonical(rows: Any) -> Any:
    """Return CSR samples sorted by column, each column once; dense ones as they are."""
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def checked_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Return a weight of at least zero for every sample of X, (n,), by the rule of :func:`normalized_weight`."""
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"sample_weight must hold numbers: {error}.") from error
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight must not be negative; its minimum is {weight.min():g}. Drop such samples or set them to "
            "zero."
        )
    if not np.any(weight > 0):
        raise ValueError("sample_weight must be positive for some samples; all are zero.")
    return normalized_weight(weight, float(np.count_nonzero(weight)))


def normalized_weight(weight: np.ndarray, total: float) -> np.ndarray:
    """Return weights whose sum is what penalties take for the number of samples.

    Integers are repeats, as scikit-learn has it: 2 is a sample given twice, and the sum is the number of samples. Other
    weights mean importance: only their ratios count, and they are made to sum to ``total``. So weights that sum to one,
    or to a million, give the same model.
    """
    if np.all(weight == np.rint(weight)) and weight.sum() < EXACT:
        return weight
    share = weight / weight.max()  # first, as the sum may overflow
    return share * (total / np.sort(share).sum())  # sorted: the order of samples must not show in the last bit


def check_same_columns(estimator: BaseEstimator, table: Table) -> None:
    """Raise ValueError if a warm start has tables or columns of other names than the last fit."""
    pairs: dict[str, tuple[Any, Any]]
    last, given = vars(estimator).get("_tables"), table.attributes["_tables"]
    if last is not None and given is not None:
        pairs = {"tables": (list(last), list(given))}
        for name in last.keys() & given.keys():
            pairs[f"columns of X[{name!r}]"] = _names(last[name].names), _names(given[name].names)
    else:
        names = feature_names(estimator), table.attributes.get("feature_names_in_")
        pairs = {"columns": (_names(names[0]), _names(names[1]))}
    for what, (before, now) in pairs.items():
        if before is not None and now is not None and before != now:
            raise ValueError(
                f"warm_start=True needs the {what} of the last fit, {before}; got {now}. Set warm_start=False to fit "
                "anew."
            )


def _names(names: np.ndarray | None) -> list[str] | None:
    return None if names is None else names.tolist()


def tell_of_numpy(place: Place, parts: Iterable[Any]) -> None:
    """Warn that the work on an array of another library is done by NumPy, because of some parts."""
    library = place.xp.__name__.split(".")[-1]
    names = sorted({type(part).__name__ for part in parts if not part.anywhere})
    warn_user(
        f"X is an array of {library}, but {' and '.join(names)} works with NumPy's arrays alone: the work is done by "
        "NumPy, on a copy in the processor's memory. Give X as a NumPy array, or set anywhere = True in the class if "
        "its formulas are those of any library.",
        UserWarning,
    )
