"""Mixed tables with missing values become matrices of numbers that remember where they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from spkm._arrays import TableLike
from spkm._cells import is_missing, level_text
from spkm._checks import check_choice, check_integer
from spkm._frames import dtype_of, has_types, is_frame, kind_of, labels_of, library_of
from spkm._methods import Saves
from spkm._publish import feature_names, publish
from spkm.tables.columns import (
    FeatureOrigin,
    Plan,
    date_message,
    distinct_names,
    plain_plan,
    plan_from,
    plan_of,
)
from spkm.tables.encoded import encoded_by
from spkm.tables.links import Link, links_of, whole_columns
from spkm.tables.read import DATES, EXACT, collected
from spkm.tables.streams import FileTable, is_streamed, names_columns

PLAIN_FORMAT = 1  # of to_plain; raised when older readers would misread it
# A dense matrix is centred before kernels see it and a sparse one is not, so sparse is for what would not fit densely.
SPARSE_WIDTH, SPARSE_DENSITY = 300, 0.1


class TableEncoder(TransformerMixin, Saves, BaseEstimator):
    """Turn a table of numbers, texts, categories and booleans with missing values into a matrix of numbers.

    Numbers stay as they are; missing ones become the median, with a column that says where. Categories become one
    column for each level, 1 where the sample has it; rare levels share one, missing values have their own. Columns that
    are the same in all samples are dropped.

    Parameters
    ----------
    categorical : list of str or int, default=None
        Names, or places, of columns of numbers or booleans that are categories (codes of regions, say). A number is a
        name in a frame whose columns have numbers for names. Texts and columns of a frame's type for categories always
        are.
    min_frequency : int or "auto", default="auto"
        Fewest samples of a level with a column of its own; "auto" is 10, or 2 % of the samples if that is less, but at
        least 2 of 20 samples or more. The others are pooled, and levels that were not there in the fit go with them (if
        none was rare, they are zeros in all columns).
    max_levels : int, default=100
        Most levels of a column with columns of their own, the most frequent first.
    sparse : {"auto", True, False}, default="auto"
        Whether the result is a CSR matrix; "auto" is, if it has more than 300 columns and at most a tenth of its
        entries are not zero.

    Attributes
    ----------
    feature_origin_ : list of FeatureOrigin
        For every column of the result its ``column`` in the table, the ``kind`` ("number", "boolean", "level", "other"
        or "missing") and the ``level``.
    groups_ : ndarray of int of shape (n_features_out,)
        For every column of the result the place of its column in the table: the ``feature_groups`` that let columns of
        the table enter and leave a model as a whole.
    notes_ : list of str
        Remarks on the encoding for readers of the model.
    links_ : list of Link
        Columns of the table that determine each other in all samples, such as a level of education and its number: a
        counterfactual changes them together. Empty after a fit in chunks.
    whole_ : list of str
        Columns of numbers that are whole in all samples: a counterfactual keeps them so.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    sklearn.preprocessing.OneHotEncoder, sklearn.impute.SimpleImputer : The same steps, one by one.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[39.0, "private"], [np.nan, "state"], [52.0, None], [28.0, "private"]], dtype=object)
    >>> encoder = TableEncoder().fit(X)
    >>> list(encoder.get_feature_names_out())
    ['x0', 'x0 is missing', 'x1 = private', 'x1 = state', 'x1 is missing']
    >>> encoder.transform(X)[1]
    array([39.,  1.,  0.,  1.,  0.])

    In front of a model it is one line:

    >>> from sklearn.pipeline import make_pipeline
    >>> from spkm import SPKMClassifier
    >>> model = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=1, random_state=0)).fit(X, [0, 1, 1, 0])
    >>> model.predict(X)
    array([0, 1, 1, 0])
    """

    feature_origin_: list[FeatureOrigin]
    groups_: np.ndarray
    notes_: list[str]
    links_: list[Link]
    whole_: list[str]
    n_features_in_: int

    def __init__(
        self,
        *,
        categorical: Sequence[str | int] | None = None,
        min_frequency: int | Literal["auto"] = "auto",
        max_levels: int = 100,
        sparse: bool | Literal["auto"] = "auto",
    ) -> None:
        self.categorical = categorical
        self.min_frequency = min_frequency
        self.max_levels = max_levels
        self.sparse = sparse

    def fit(self, X: TableLike, y: object = None) -> Self:
        """Learn medians and levels.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features), or files
            Samples: a frame of pandas or polars, or an array of numbers or objects. Or a table that is read once, a
            chunk at a time: a path, a folder, a pattern, a dataset of pyarrow, :class:`~spkm.FileTable`, a data frame
            of Dask, a lazy frame of polars with a name as y, or chunks of frames.
        y : object, default=None
            For such a table the name of the target's column, or a list of names, which are no features. Else ignored.

        Returns
        -------
        self : object
            The fitted transformer. If anything goes wrong, it is as it was.
        """
        check_choice("sparse", self.sparse, ("auto", True, False))
        most = check_integer("max_levels", self.max_levels, 1)
        if self.min_frequency != "auto":
            check_integer("min_frequency", self.min_frequency, 1)
        if is_streamed(X, y):
            return publish(self, self._learned_of_chunks(X if isinstance(X, FileTable) else FileTable(X), y, most))
        probe = TableEncoder()  # takes what scikit-learn learns of the table: nothing is changed before all went well
        table = _table(probe, X, reset=True)
        names = _names(table)
        n = table.shape[0]
        least = self._least(n)
        categories = _places(self.categorical, names, list(labels_of(table)) if has_types(table) else names)
        plans, notes = [], []
        for j, values in enumerate(_columns(table, names)):
            plan, note = plan_of(names[j], values, j in categories, least, most)
            plans.append(plan)
            notes += [note] if note else []
        _check_varies(plans, notes)
        float32 = dtype_of(table) == np.float32
        learned = {key: value for key, value in vars(probe).items() if key.endswith("_")}
        columns = dict(zip(names, _columns(table, names), strict=True))
        learned["links_"] = _links(columns, plans)
        numbers = [plan.column for plan in plans if plan is not None and plan.kind == "number"]
        learned["whole_"] = whole_columns({name: columns[name] for name in numbers})
        return publish(self, {**learned, **_learned(plans, names, notes, self.sparse, bool(float32))})

    def _least(self, n: int) -> int:
        least = max(2 if n >= 20 else 1, int(0.02 * n))  # a level of one sample identifies it
        return min(10, least) if self.min_frequency == "auto" else self.min_frequency

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn medians and levels, and return the matrix of numbers.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.

        Returns
        -------
        X : ndarray or CSR of shape (n_samples, n_features_out), or FileTable
            As from :meth:`transform`; of a lazy frame whose y is the name of a column a table that is read in chunks.
        """
        self.fit(X, y)
        return self.transform(FileTable(X) if is_streamed(X, y) and not isinstance(X, FileTable) else X)

    def _learned_of_chunks(self, X: FileTable, y: Any, most: int) -> dict[str, Any]:
        """Return the fitted attributes of a table that is read in chunks."""
        if X.encoder is not None:
            raise ValueError("X must be a table that no encoder has turned into numbers yet.")
        from spkm.tables.encoded_files import learned_of

        others = [] if not names_columns(y) else [y] if isinstance(y, str) else list(y)
        facts = learned_of(X.table, X.features, others, lambda names: _places(self.categorical, names, names))
        names, n = facts.names, facts.n
        if n < 2:
            raise ValueError(f"X must have at least 2 samples; got {n}.")
        found = facts.plans(self._least(n), most)
        plans, notes = [plan for plan, _ in found], [note for _, note in found if note]
        _check_varies(plans, notes)
        attributes = {"n_features_in_": len(names), "feature_names_in_": np.array(names, dtype=object)}
        kept = {plan.column for plan in plans if plan is not None}
        attributes |= {"links_": [], "whole_": [name for name in facts.whole() if name in kept]}
        return {**attributes, **_learned(plans, names, notes, self.sparse, False)}

    def transform(self, X: Any) -> Any:
        """Return the matrix of numbers.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features), or files
            Samples with the columns of the fit.

        Returns
        -------
        X : ndarray or CSR of shape (n_samples, n_features_out), or FileTable
            float64; for an array of float32 it is float32. A model that is fitted on it has the names of the table.
            For a table in files nothing is read here: models read, and encode, what is returned a chunk at a time.
        """
        check_is_fitted(self)
        if is_streamed(X):
            return FileTable(X.table if isinstance(X, FileTable) else X, encoder=self)
        table = _table(self, X, reset=False)
        columns = _columns(table, self.columns_)
        dtype = np.float32 if self.float32_ and dtype_of(table) == np.float32 else np.float64
        if self.is_sparse_:
            parts = [plan.csr(values) for plan, values in zip(self.plans_, columns, strict=True) if plan is not None]
            return encoded_by(self, sparse.csr_matrix(sparse.hstack(parts, format="csr", dtype=dtype)))
        out = np.zeros((table.shape[0], len(self.feature_origin_)), dtype=dtype)
        first = 0
        for plan, values in zip(self.plans_, columns, strict=True):
            if plan is not None:
                width = len(plan.origins())
                plan.write(values, out[:, first : first + width])
                first += width
        return encoded_by(self, out)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result: ``age``, ``workclass = Private``, ``age is missing``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of the table; those seen in fit, or x0, x1 and so on, when None.

        Returns
        -------
        names : ndarray of str
            All different.
        """
        check_is_fitted(self)
        given = self.columns_ if input_features is None else list(_check_feature_names_in(self, input_features))
        return distinct_names(
            [o._replace(column=str(given[j])).name for j, o in zip(self.groups_, self.feature_origin_, strict=True)]
        )

    def column_groups(self) -> dict[str, np.ndarray]:
        """Return, for every column of the table that is kept, its columns of the result: the groups of explanations."""
        check_is_fitted(self)
        return {self.columns_[j]: np.flatnonzero(self.groups_ == j) for j in np.unique(self.groups_)}

    def linked_columns(self, X: Any) -> list[Link]:
        """Return the columns of a table that determine each other in all of its samples, as ``links_`` of the fit.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Samples with the columns of the fit.

        Returns
        -------
        links : list of Link
            With the names of the columns and the combinations of their values.
        """
        check_is_fitted(self)
        return _links(cells_of(self, X), self.plans_)

    def to_plain(self) -> dict[str, Any]:
        """Return parameters and what was learned as strings, numbers, lists and dicts of them, for a file."""
        check_is_fitted(self)
        names = feature_names(self)
        categorical = self.categorical
        return {
            "format": PLAIN_FORMAT,
            "params": {**self.get_params(), "categorical": None if categorical is None else list(categorical)},
            "columns": list(self.columns_),
            "named": names is not None,
            "plans": [None if plan is None else plain_plan(plan) for plan in self.plans_],
            "notes": list(self.notes_),
            "links": [link.to_plain() for link in self.links_],
            "whole": list(self.whole_),
            "float32": self.float32_,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> TableEncoder:
        """Return the fitted encoder that :meth:`to_plain` wrote.

        Examples
        --------
        >>> import json
        >>> encoder = TableEncoder().fit([["a", 1.0], ["b", 2.0], ["b", 3.0]])
        >>> again = TableEncoder.from_plain(json.loads(json.dumps(encoder.to_plain())))
        >>> again.transform([["b", 5.0]])
        array([[0., 1., 5.]])
        """
        if plain.get("format") != PLAIN_FORMAT:
            raise ValueError(
                f"The encoder's format must be {PLAIN_FORMAT}; got {plain.get('format')!r}. Read it with the "
                "version of spkm that wrote it."
            )
        encoder = cls(**plain["params"])
        names = list(plain["columns"])
        plans = [None if one is None else plan_from(one) for one in plain["plans"]]
        attributes = _learned(plans, names, list(plain["notes"]), encoder.sparse, plain["float32"])
        attributes["n_features_in_"] = len(names)
        attributes["links_"] = [Link.from_plain(one) for one in plain.get("links", [])]  # none before 0.3
        attributes["whole_"] = list(plain.get("whole", []))
        if plain["named"]:
            attributes["feature_names_in_"] = np.array(names, dtype=object)
        return publish(encoder, attributes)

    def __sklearn_is_fitted__(self) -> bool:
        return "plans_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _links(columns: dict[str, np.ndarray], plans: list[Plan | None]) -> list[Link]:
    return links_of({plan.column: columns[plan.column] for plan in plans if plan is not None})


def _check_varies(plans: list[Plan | None], notes: list[str]) -> None:
    if not any(plans):
        raise ValueError("X must have a column that is not the same in all samples: " + " ".join(notes))


def _learned(
    plans: list[Plan | None], names: list[str], notes: list[str], as_sparse: object, float32: bool
) -> dict[str, Any]:
    """Return the fitted attributes that follow from the plans."""
    origins = [plan.origins() if plan is not None else [] for plan in plans]
    width = sum(map(len, origins))
    density = sum(1 for part in origins if part) / max(width, 1)
    return {
        "plans_": plans,
        "columns_": names,
        "feature_origin_": [origin for part in origins for origin in part],
        "groups_": np.repeat(np.arange(len(plans)), [len(part) for part in origins]),
        "notes_": notes,
        "float32_": float32,
        "is_sparse_": (width > SPARSE_WIDTH and density <= SPARSE_DENSITY) if as_sparse == "auto" else bool(as_sparse),
    }


def _table(estimator: Any, X: Any, reset: bool) -> Any:
    """Return a frame as it is, anything else as an array, with number and names of its columns checked."""
    X = collected(X)
    if library_of(X) == "pyarrow" and is_frame(X):  # with its names; integers beside gaps stay what they are
        X = X.to_pandas(integer_object_nulls=True)
    least = 2 if reset else 1
    if has_types(X):
        twice = [name for name, count in Counter(map(str, X.columns)).items() if count > 1]
        if twice:
            raise ValueError(f"The columns of X must have different names; {twice} are there more than once.")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _check_order(estimator, X)
        if len(X.shape) != 2 or X.shape[0] < least or X.shape[1] < 1:
            raise ValueError(f"X must have at least {least} samples and a column; got the shape {tuple(X.shape)}.")
        return X
    if isinstance(X, list):  # as an array of its own choice NumPy makes text of numbers beside text
        X = np.array(X, dtype=object)
    table = validate_data(
        estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=least
    )
    if table.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers, texts or booleans.")
    return table


def _check_order(encoder: TableEncoder, X: Any) -> None:
    """Raise ValueError if a frame has other columns than in the fit; scikit-learn compares names that are texts."""
    known, found = vars(encoder).get("columns_"), [str(name) for name in X.columns]
    if known is None or feature_names(encoder) is not None or known == [f"x{j}" for j in range(len(known))]:
        return
    if found != known:
        raise ValueError(f"X must have the columns of the fit in their order, {known[:8]}; got {found[:8]}.")


def cells_of(encoder: TableEncoder, X: Any) -> dict[str, np.ndarray]:
    """Return the columns of a table of a fitted encoder by name: arrays of numbers, booleans or objects."""
    table = _table(encoder, X, reset=False)
    return dict(zip(encoder.columns_, _columns(table, encoder.columns_), strict=True))


def _names(table: Any) -> list[str]:
    """Return the names of the columns."""
    return [str(name) for name in table.columns] if has_types(table) else [f"x{j}" for j in range(table.shape[1])]


def _columns(table: Any, names: list[str]) -> Iterator[np.ndarray]:
    """Yield the columns as arrays of numbers, booleans or objects."""
    if not has_types(table):
        yield from table.T
        return
    for j, name in enumerate(names):
        series = table.to_series(j) if library_of(table) == "polars" else table.iloc[:, j]
        if str(series.dtype).lower().startswith(DATES):
            raise ValueError(date_message(name))
        yield _values(series)


def _values(series: Any) -> np.ndarray:
    """Return a column of a frame as an array; numbers keep their type if none is missing, else they are float64."""
    if str(series.dtype).lower().startswith(("categor", "enum")):  # levels, even if they are numbers
        cells = series.to_list()
        return _objects([None if is_missing(cell) else level_text(cell) for cell in cells])
    if library_of(series) == "polars":
        if not series.dtype.is_numeric():
            return _objects(series.to_list())
        if series.null_count() == 0 and not series.dtype.is_decimal():
            return series.to_numpy()
        return _with_gaps(series.cast(float).to_numpy(), series)
    kind = kind_of(series)
    if kind in ("i", "u", "f"):
        if isinstance(series.dtype, np.dtype):
            return series.to_numpy()
        return _with_gaps(series.to_numpy(dtype=np.float64, na_value=np.nan), series)
    if isinstance(series.dtype, np.dtype) and kind == "b":
        return series.to_numpy()
    return _objects(series.tolist())


def _with_gaps(numbers: np.ndarray, series: Any) -> np.ndarray:
    """Return the numbers of a column with missing ones, or its cells if floats do not hold its integers."""
    return numbers if np.nanmax(np.abs(numbers), initial=0.0) < EXACT else _objects(series.to_list())


def _objects(cells: list[Any]) -> np.ndarray:
    """Return cells as an array of objects of one dimension, whatever they are."""
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    return values


def _places(categorical: object, names: list[str], labels: list[Any]) -> set[int]:
    """Return the places of the columns that are named as categories; ``labels`` are their names in the user's frame.

    A whole number is the name of a column of a frame whose columns have numbers for names, and a place elsewhere.
    """
    if categorical is None:
        return set()
    if isinstance(categorical, str) or not np.iterable(categorical):
        raise TypeError(f"categorical must be a list of names or places of columns, or None; got {categorical!r}.")
    places, numbered = set(), any(isinstance(label, int | np.integer) for label in labels)
    for label in categorical:
        known = names if label in names else labels
        place = known.index(label) if label in known else -1 if numbered else label
        if isinstance(place, bool) or not isinstance(place, int | np.integer) or not 0 <= place < len(names):
            raise ValueError(f"categorical must name columns of X, {names}; got {label!r}.")
        places.add(int(place))
    return places
