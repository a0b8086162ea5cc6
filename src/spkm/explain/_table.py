"""Input of explanations: a fitted estimator or model, tables of samples, names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline as SklearnPipeline

from spkm import _arrays
from spkm._checks import check_integer
from spkm._frames import labels_of, library_of
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._structure import column_index
from spkm.explain._units import in_units, names_after
from spkm.sources import PairTable
from spkm.tables.encoded import Encoding
from spkm.tables.pipelines import encoding_of
from spkm.tables.read import collected


@dataclass(frozen=True)
class Pipeline:
    """A fitted pipeline taken apart: its last step, and the steps before it."""

    estimator: Any  # the last step, scalers before it in its own scaling; an estimator that is no pipeline itself
    before: Any = None  # the other steps, if there are some

    @staticmethod
    def of(estimator: BaseEstimator) -> Pipeline:
        """Take an estimator apart."""
        if not isinstance(estimator, SklearnPipeline):
            return Pipeline(estimator)
        steps, last = in_units([step for _, step in estimator.steps[:-1]], estimator.steps[-1][1])
        return Pipeline(last, estimator[: len(steps)] if steps else None)

    @property
    def model(self) -> Any:
        """The fitted model."""
        return model_of(self.estimator)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its features."""
        return names_of(self.named, self.model.n_features)

    @cached_property
    def encoding(self) -> Encoding | None:
        """The TableEncoder before the last step, with steps that keep some columns between them, or None."""
        if self.before is None:
            return fitted_part(self.estimator, "_encoding")
        return encoding_of([step for _, step in self.before.steps if step is not None and step != "passthrough"])

    @cached_property
    def named(self) -> Any:
        """The last step, with the names that the encoder gives to its features, or the steps before if it has none."""
        encoding = self.encoding
        if self.before is None:
            return self.estimator
        try:
            steps = [step for _, step in self.before.steps]
            names = names_after(steps, self.estimator) if encoding is None else encoding.names
        except (AttributeError, TypeError, ValueError):  # a step of others need not name what it returns
            return self.estimator
        return Named(self.model, tuple(map(str, names)))

    def groups(self, given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return columns that are one feature: those that are given, or that an encoder made of one column."""
        return given if given is not None or self.encoding is None else self.encoding.column_groups()

    def table(self, X: Any) -> Any:
        """Return a table as the last step gets it, but for names, which :attr:`named` has; None stays as it is."""
        if self.before is None or X is None:
            return X
        found = self.before.transform(X)
        return found if labels_of(found) is None or self.encoding is not None else np.asarray(found)

    def rows(self, X: Any, argument: str = "X") -> Any:
        """Return a table as the model gets it, checked as in :func:`table_of`."""
        return table_of(self.table(X), self.named, self.model.n_features, argument)


@dataclass(frozen=True)
class Named:
    """A fitted model with names of its features."""

    model_: Any
    feature_names_in_: tuple[str, ...]


def model_of(estimator: BaseEstimator) -> Any:
    """Return the fitted model of an estimator, or the model itself."""
    model = fitted_part(estimator, "model_", estimator)
    if not isinstance(model, FittedModel | ModelEnsemble):
        if isinstance(estimator, SklearnPipeline):
            raise TypeError(
                "estimator must be the last step of a pipeline here: give pipeline[-1], and samples and names as that "
                "step gets them, pipeline[:-1].transform(X)."
            )
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"estimator must be a fitted estimator of this library or its model_; got {type(estimator).__name__}. "
            "Call fit first; an SPKMCCA has methods of its own, and side('x') and side('y')."
        )
    return model


def joint_model(pipeline: Pipeline, argument: str) -> FittedModel:
    """Return the model of an estimator, which must be one of all outputs."""
    if not pipeline.model.is_joint:
        raise ValueError(f"{argument} must be one model of all classes; fit with multi_class='joint'.")
    return pipeline.model


def fitted_part(estimator: BaseEstimator, name: str, default: Any = None) -> Any:
    """Return an attribute that some estimators have after a fit, and that bare models and other kinds lack."""
    return getattr(estimator, name, default)  # bare models and estimators have different ones


def dense(table: Any) -> np.ndarray:
    """Return a table (array, CSR or pairs) as a dense array in double precision."""
    return np.asarray(_arrays.dense(table), dtype=np.float64)


def names_of(estimator: BaseEstimator, n_features: int) -> tuple[str, ...]:
    """Return the names of the features: those of the fit, of the encoder before, or x0, x1 and so on.

    Names of several tables, and of the two sides of pairs, begin with the name of their table.
    """
    entities, tables = entities_of(estimator), fitted_part(estimator, "_tables")
    if entities is not None:
        return _prefixed(zip(("left", "right"), entities.layouts, strict=True))
    if tables is not None:
        return _prefixed(tables.items())
    names, encoding = fitted_part(estimator, "feature_names_in_"), fitted_part(estimator, "_encoding")
    if names is None and encoding is not None:
        names = encoding.names
    return tuple(str(name) for name in names) if names is not None else tuple(f"x{i}" for i in range(n_features))


def entities_of(estimator: BaseEstimator) -> Any:
    """Return the tables of entities of an estimator of pairs; None for other estimators."""
    return fitted_part(estimator, "_pairs")


def entry_text(name: str, value: str) -> str:
    """Return what a basis vector has of a feature: ``age = 41``, or ``job = nurse (0.94)`` of a level of a category."""
    return f"{name} ({value})" if " = " in name else f"{name} = {value}"


def cell_text(value: object) -> str:
    """Return a cell of a sample as people write it: a number, a text, or the names of levels."""
    if isinstance(value, list):
        return ", ".join(value) or "none of its levels"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them: a, b and c."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def output_place(output: int | str, names: Sequence[str]) -> int:
    """Return the place of an output that is given by place or name."""
    if isinstance(output, str):
        if output not in names:
            raise ValueError(f"output must be one of {', '.join(names)}; got {output!r}.")
        return list(names).index(output)
    if check_integer("output", output, 0) >= len(names):
        raise ValueError(f"output must be below {len(names)}; got {output!r}.")
    return int(output)


def _prefixed(layouts: Any) -> tuple[str, ...]:
    """Return the columns of several tables, with the name of the table before them."""
    return tuple(
        f"{table}: {name}"
        for table, layout in layouts
        for name in (layout.names if layout.names is not None else [f"x{i}" for i in range(layout.width)])
    )


def output_names(model: Any) -> tuple[str, ...]:
    """Return a name for every output of the model; a positive score of two classes speaks for the second."""
    names = model.names if not model.is_joint else model.target.names
    return tuple(str(name) for name in names)


def vector_terms(model: FittedModel) -> tuple[Any, ...]:
    """Return the terms of basis vectors, without a linear part unless there is nothing else."""
    return tuple(term for term in model.terms if not term.is_linear_part) or tuple(model.terms)


def basis_labels(model: FittedModel) -> list[str]:
    """Return a name for every row of basis and weights: u0, u1, ..., and linear for a linear part."""
    names, labels = output_names(model), []
    vectors = output = 0
    for member in model.members:
        for term in member.terms:
            for k in range(term.rows.stop - term.rows.start):
                if term.is_linear_part:
                    labels.append("linear" if len(names) == 1 else f"linear {names[output + k]}")
                else:
                    labels.append(f"u{vectors}")
                    vectors += 1
        output += member.n_outputs
    return labels


def table_of(X: Any, estimator: Any, n_features: int, argument: str) -> Any:
    """Return a table as a dense array or CSR, with columns in the order that ``fit`` saw.

    For an estimator of pairs X holds the pairs, (pairs, left, right) with tables of new entities, or a table of the
    features of both sides; of one of several tables a dict of them, or all of their columns side by side.
    """
    entities = entities_of(estimator)
    if entities is not None and not isinstance(X, PairTable):
        joined = n_features != 2 and np.ndim(X) == 2 and np.shape(X)[1] == n_features
        if not joined:
            return entities.like(*(X if isinstance(X, tuple) else (X, None, None)))
    if isinstance(X, dict) and fitted_part(estimator, "_tables") is not None:
        return table_of(estimator._rows(X), estimator, n_features, argument)
    X = collected(X)
    if library_of(X) == "pyarrow":  # its columns have no names of their own
        X = X.to_pandas()
    check_columns(labels_of(X), estimator, argument)
    if labels_of(X) is not None:
        X = X.to_numpy()
    if isinstance(X, PairTable):  # pairs; their tables were checked when they were made
        return X
    X = sparse.csr_array(X) if sparse.issparse(X) else _numbers(np.asarray(X))
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(f"{argument} must have {n_features} features; got shape {X.shape}.")
    if X.shape[0] == 0:
        raise ValueError(f"{argument} must have at least one sample; got none.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{argument} must hold numbers; got {X.dtype}.")
    X = X.astype(np.float64)
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        raise ValueError(f"{argument} must hold finite numbers; it holds NaN or infinity.")
    return X


def check_columns(columns: Sequence[Any] | None, estimator: BaseEstimator, argument: str) -> None:
    """Raise ValueError if the columns of a frame, None of an array, are others than in the fit, or in another order."""
    known = fitted_part(estimator, "feature_names_in_")
    if columns is not None and known is not None and [str(c) for c in columns] != [str(c) for c in known]:
        raise ValueError(f"{argument} must have the columns that the model was fitted on, in the same order.")


def _numbers(X: np.ndarray) -> np.ndarray:
    """Return objects that are all numbers, such as those of nullable columns, as numbers; anything else as it is."""
    try:
        return X.astype(np.float64) if X.dtype.kind == "O" else X
    except (TypeError, ValueError):
        return X


def dense_columns(X: Any, columns: np.ndarray | slice) -> np.ndarray:
    """Return some columns of a table as a dense array in double precision."""
    return dense(X[:, columns])


def units_of(model: FittedModel, places: Any = slice(None)) -> tuple[Any, Any, Any, Any]:
    """Return center and scale of a model's features, all or at some places, and the bounds of what reaches it."""
    zeros, own = np.zeros(len(model.features)), model.scaling
    if own is None:
        parts = zeros, zeros + 1.0, zeros - np.inf, zeros + np.inf
    else:
        parts = own.center, own.scale, own.middle - own.clip, own.middle + own.clip
    center, scale, least, most = (part[places] for part in parts)
    return center, scale, least, most


def columns_of(columns: Any, names: tuple[str, ...], argument: str) -> np.ndarray:
    """Return the indices of columns given by index or name, one or several."""
    listed = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    place: Mapping[str, int] = {name: i for i, name in enumerate(names)}
    return np.array([column_index(c, place, len(names), argument) for c in listed], dtype=int)


def frames() -> Any:
    """Return the pandas module, or raise an error with the command that installs it."""
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("Frames need pandas: pip install 'spkm[frames]'.") from missing
    return pandas


def names_apart(names: Sequence[str], taken: Iterable[str], kind: str) -> list[str]:
    """Return the names of columns beside others; a name that is taken gets the kind of its column before it."""
    return [f"{kind} {name}" if name in set(taken) else name for name in names]


def columns_of_grid(names: Sequence[str], grid: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the coordinates of all points of a grid by name, the last one varying first."""
    mesh = np.meshgrid(*grid, indexing="ij")
    return {name: points.ravel() for name, points in zip(names, mesh, strict=True)}
