"""The fit and the methods that all estimators of one table share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.multiclass import is_multilabel
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from spkm._arrays import FileName, Matrix, TableLike, TargetLike, WeightLike
from spkm._checks import n_threads
from spkm._methods import Explains, Monitors
from spkm._namespaces import on_host, place_of
from spkm._publish import feature_names, publish
from spkm.core.fitted import Fitted, FittedModel
from spkm.core.scaling import check_domain
from spkm.core.targets import Target
from spkm.estimators.forecast import forecast
from spkm.estimators.parameters import GroupsLike
from spkm.estimators.uncertainty import with_uncertainty
from spkm.fitting.binary import fit_parts
from spkm.fitting.checkpoint import EVERY, opened_checkpoint
from spkm.fitting.data import TableData
from spkm.fitting.outcome import Parts, attributes_of, joined_attributes
from spkm.fitting.progress import Progress, with_callbacks
from spkm.fitting.reading import class_data, number_data, stream_data
from spkm.fitting.search import Searching
from spkm.fitting.spec import Spec
from spkm.fitting.strategies import search_for, strategy_for
from spkm.fitting.views import ViewUsage
from spkm.sources import Reader
from spkm.tables.encoded import Encoding
from spkm.tables.read import Table, check_same_columns, read_like, read_table, tell_of_numpy
from spkm.tables.streams import FileTable, named_columns, opened_stream, predicted_chunks

IN_FILES = (FileTable, str, Path)


def group_codes(groups: Any, n_samples: int) -> np.ndarray:
    """Return a number for the group of each sample."""
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(
            f"groups must have one entry for each of the {n_samples} samples; got an array of shape {groups.shape}."
        )
    try:
        return np.unique(groups, return_inverse=True)[1]
    except TypeError as error:
        raise TypeError("groups must hold labels of one type, without None.") from error


def _seen(weight: float, target: Target) -> dict[str, Any]:
    """Return the weight of all samples so far and, for classes, the labels."""
    return {"_seen": float(weight), **({"classes_": target.labels} if target.of_classes else {})}


def _previous(estimator: BaseEstimator, table: Table, in_parts: bool) -> Any:
    """Return the model of the last fit, which a warm start goes on from, checked; None if there is none."""
    if not estimator.__sklearn_is_fitted__():
        return None
    check_same_columns(estimator, table)
    if in_parts == estimator.model_.is_joint:
        raise ValueError(
            f"warm_start=True needs the classes and the multi_class of the last fit; got multi_class="
            f"{estimator.multi_class!r}. Set warm_start=False to fit anew."
        )
    return estimator.model_


def kernels_of(model: Fitted) -> list[Any]:
    """Return the kernels of all views of a model, and of its members."""
    return [view.kernel for member in model.members for _, view in member.model.views]


class _Renamed:
    """An attribute that has another name now; an object with one of its own, of an earlier version, keeps that."""

    def __init__(self, name: str) -> None:
        self.now = name

    def __set_name__(self, owner: type, name: str) -> None:
        self.before = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None or self.now not in vars(instance):
            raise AttributeError(f"{owner.__name__} has no attribute {self.before!r}")
        warnings.warn(f"{self.before} is now {self.now}, as it is the share of the folds.", FutureWarning, stacklevel=2)
        return vars(instance)[self.now]


class ReadsModel(Explains, Monitors):
    """An estimator whose predictions come from ``model_``, for samples of one table."""

    n_jobs: Any
    selection: Any
    basis_penalty: Any
    multi_class: Any = "joint"
    model_: Any
    estimators_: list[Any]
    n_features_in_: int
    feature_names_in_: np.ndarray
    _encoding: Encoding
    selected_features_: np.ndarray
    basis_vectors_: np.ndarray
    kernel_: Any
    view_usage_: dict[str, ViewUsage]
    alternatives_: dict[int, np.ndarray]
    selection_frequency_ = _Renamed("fold_frequency_")

    def _scores(self, X: TableLike) -> np.ndarray:
        """Return the scores of the model for every sample, (n, m)."""
        check_is_fitted(self)
        place = place_of(X)
        if place is not None and not all(kernel.anywhere for kernel in kernels_of(self.model_)):
            tell_of_numpy(place, kernels_of(self.model_))
            place = None
        return self.model_.scores(self._rows(X), n_threads(self.n_jobs), place)

    def _rows(self, X: TableLike) -> Any:
        if isinstance(X, IN_FILES):
            raise TypeError(
                "X must be in memory; got a table in files. predict_chunks(X) yields predictions of these, and "
                "spkm.write_predictions writes them to a file."
            )
        rows = read_like(self, X if place_of(X) is None else on_host(X))
        check_domain_of(self.model_, rows)
        return rows

    def predict_chunks(self, X: TableLike, method: str = "predict") -> Iterator[np.ndarray]:
        """Yield predictions of samples that do not fit in memory, a chunk at a time and in order.

        Parameters
        ----------
        X : path, dataset, lazy frame, iterable of chunks
            Samples as in :meth:`fit`; columns are found by their names, and chunks may be of X alone.
        method : str, default="predict"
            The method that is called for each chunk; "predict_proba", say.

        Yields
        ------
        predictions : ndarray
            Return value of the method for a chunk.

        Examples
        --------
        >>> import numpy as np
        >>> from spkm import SPKMRegressor
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> model = SPKMRegressor(2, random_state=0).fit(X, X[:, 0] ** 2)
        >>> [len(part) for part in model.predict_chunks(lambda: iter([X[:20], X[20:]]))]
        [20, 30]
        """
        check_is_fitted(self)
        return predicted_chunks(self, method, X)

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return which features of X the model reads.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return indices in place of a mask.

        Returns
        -------
        support : ndarray of bool of shape (n_features_in_,), or of int
            A feature outside it has no influence on any prediction.
        """
        check_is_fitted(self)
        if indices:
            return self.selected_features_.copy()
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_features_] = True
        return mask

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Return the names of the features that the model reads.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of all features; those seen in fit, or x0, x1 and so on, when None.

        Returns
        -------
        names : ndarray of str
            In the order of ``selected_features_``.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.selected_features_]

    def restricted(self) -> Any:
        """Return a fitted model of the selected features alone.

        Returns
        -------
        small : estimator
            ``small.predict(X[:, selected_features_])`` gives the numbers of ``predict(X)``.
        """
        check_is_fitted(self)
        return self._restricted_to(self.selected_features_)

    def _restricted_to(self, chosen: np.ndarray) -> Any:
        """Return a fitted estimator of columns that hold the selected ones."""
        small = copy(self)
        small.__dict__["_tables"] = None  # columns of several tables are now those of one
        if "_encoding" in vars(self):
            small._encoding = self._encoding.on(chosen)
        small.n_features_in_ = len(chosen)
        if feature_names(self) is not None:
            small.feature_names_in_ = self.feature_names_in_[chosen]
        small.selected_features_ = np.searchsorted(chosen, self.selected_features_)
        for name in ("relevances_", "feature_importances_", "fold_frequency_", "half_frequency_"):
            if name in vars(self):
                setattr(small, name, getattr(self, name)[chosen])
        if "alternatives_" in vars(self):
            small.alternatives_ = {}  # the features that could stand for the selected ones are gone
        if "view_usage_" in vars(self):
            small.view_usage_ = {name: usage.on(chosen) for name, usage in self.view_usage_.items()}
        small.basis_vectors_ = self.basis_vectors_[:, chosen]
        small.model_ = self.model_.restricted(chosen)
        if "estimators_" in vars(self):
            small.estimators_ = [part._restricted_to(chosen) for part in self.estimators_]
        else:
            small.kernel_ = small.model_.kernel
        return small

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class FitsTables(ReadsModel):
    """An estimator that is fitted to samples of one table, in memory or in chunks."""

    _of_classes: bool
    get_params: Any
    warm_start: Any

    forecast = forecast
    with_uncertainty = with_uncertainty

    @with_callbacks
    def fit(
        self,
        X: TableLike,
        y: TargetLike | None = None,
        sample_weight: WeightLike = None,
        *,
        groups: GroupsLike = None,
        target: str | Sequence[str] | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        checkpoint: FileName | None = None,
        checkpoint_every: float = EVERY,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of them
            Samples. float32 stays float32, all else becomes float64; never changed. A dict holds a table for each view,
            by name; they are put side by side. Samples that do not fit in memory may be files (a path of Parquet,
            Arrow or CSV files, a folder, a pattern, :class:`~spkm.FileTable`, a dataset of pyarrow), a lazy frame of
            polars, Dask arrays and frames, or chunks: anything that yields (X, y) or (X, y, weight) each time it is
            iterated over, or a function that returns such an iterator.
        y : array-like of shape (n_samples,), (n_samples, n_labels) or (n_samples, n_outputs)
            Labels, or an indicator matrix; numbers for a regressor, which predicts a target that is the same in all
            samples as it is. For files and lazy frames the name of a column, or of several for a regressor; chunks hold
            their own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. Integers are repeats: 2 is the sample given twice, 0 the sample left out. For other
            weights only the ratios count. For files and lazy frames the name of a column.
        groups : array-like of shape (n_samples,), default=None
            Groups of the samples, such as subjects. Folds keep the samples of a group together, so that choices suit
            new groups. For a regressor with a squared loss five more fits then find how far predictions are to be moved
            towards the mean for groups held out (``group_shrinkage_``). With another loss and a fixed number of vectors
            a regressor chooses nothing by folds: groups have no effect, with a warning. Samples must be in memory.
        target : str or list of str, default=None
            Name of the column of y, in place of ``y``; a list of several for a regressor.
        weight : str, default=None
            Name of the column of weights, in place of ``sample_weight``.
        features : list of str, default=None
            Names of the columns of X; None takes all but those of y and of the weights.
        checkpoint : path, default=None
            File that holds the best model so far: if a fit was stopped, the same call goes on from there.
        checkpoint_every : float, default=120
            Seconds between two writes of that file, at least.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong, it is as it was.
        """
        X, y, sample_weight = named_columns(X, y, sample_weight, target, weight, features)
        if groups is not None and checkpoint is not None:
            raise ValueError(
                "checkpoint does not go with groups, whose folds are fits of their own. Leave one of them out."
            )
        store = None if checkpoint is None else opened_checkpoint(self, checkpoint, checkpoint_every)
        params = self.get_params(deep=False) if store is None else store.params
        reader = opened_stream(X, y, sample_weight)
        if reader is not None:
            return self._fit_stream(params, reader, groups, store)
        several = is_multilabel(y) if self._of_classes else True
        table = read_table(self, X, y, sample_weight, multi_output=several)
        codes = None if groups is None else group_codes(groups, table.X.shape[0])
        spec, data = (class_data if self._of_classes else number_data)(params, X, table, codes)
        in_parts = spec.multi_class != "joint" and data.target.two_dimensional
        previous = _previous(self, table, in_parts) if self.warm_start else None
        progress = Progress(self, store=store)
        progress.begin(X=table.X, y=table.y)
        fit = fit_parts if in_parts else strategy_for(spec, data)
        outcome = fit(spec, data, previous, progress)
        progress.end(X=table.X, y=table.y)
        progress.done()
        known = {**table.attributes, **_seen(data.weight.sum(), data.target)}
        if isinstance(outcome, Parts):
            return publish(self, {**known, **self._attributes_of_parts(outcome, data.dtype, known)})
        return publish(self, {**known, **attributes_of(outcome, data.dtype)})

    def _fit_stream(self, params: dict[str, Any], reader: Reader, groups: Any, store: Any) -> Self:
        if groups is not None:
            raise ValueError("groups needs samples in memory; X is read in chunks. Fit a sample of them, or no groups.")
        spec, data = stream_data(params, reader, self._of_classes)
        progress = Progress(self, store=store)
        progress.begin()
        outcome = strategy_for(spec, data)(spec, data, None, progress)
        progress.end()
        progress.done()
        seen = _seen(data.summary.total, data.target)
        return publish(self, {**data.attributes, **seen, **attributes_of(outcome, data.dtype)})

    def _spec_and_data(self, X: TableLike, table: Table) -> tuple[Spec, TableData]:
        """Return checked parameters and data of samples that were read."""
        return (class_data if self._of_classes else number_data)(self.get_params(deep=False), X, table)

    def _search(
        self, X: TableLike, y: TargetLike | None, sample_weight: WeightLike, on_step: Callable[[str], bool]
    ) -> Searching:
        """Return the search that the parameters set, before it begins."""
        several = is_multilabel(y) if self._of_classes else True
        table = read_table(self, X, y, sample_weight, multi_output=several)
        spec, data = self._spec_and_data(X, table)
        return Searching(spec, table, data, search_for(spec, data, on_step) if data.n_outputs else None)

    def _attributes_of_parts(self, found: Parts, dtype: np.dtype, known: dict[str, Any]) -> dict[str, Any]:
        """Return the fitted attributes of several binary problems: those of the parts, one after another."""
        remembered = {name: value for name, value in known.items() if name != "_seen"}
        parts = []
        for outcome, seed in zip(found.outcomes, found.seeds, strict=True):
            part = clone(self).set_params(multi_class="joint", class_weight=None, random_state=seed)
            own = {**attributes_of(outcome, dtype), "classes_": outcome.model.target.labels}
            parts.append(publish(part, {**remembered, **own}))
        return joined_attributes(found.model, parts)


def check_domain_of(model: Fitted, X: Matrix) -> None:
    """Raise ValueError where a kernel of a fitted model wants no numbers below zero and X has some."""

    for member in model.members:
        held: FittedModel = member
        check_domain(held.model.terms, X if len(held.features) == X.shape[1] else X[:, held.features])
