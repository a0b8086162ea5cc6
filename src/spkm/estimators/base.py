"""What all estimators of one table share: reading the fitted model, and publishing it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from spkm import _methods
from spkm._checks import n_threads
from spkm._namespaces import on_host, place_of
from spkm.core.fitted import FittedModel
from spkm.core.scaling import check_domain
from spkm.fitting.spec import tell_of_numpy
from spkm.fitting.views import ViewUsage
from spkm.tables.read import read_like
from spkm.tables.streams import FileTable, predicted_chunks

IN_FILES = (FileTable, str, Path)


def kernels_of(model: Any) -> list[Any]:
    """Return the kernels of all views of a model, and of its members."""
    members = model.members
    return [view.kernel for member in members for _, view in member.model.views]


class ReadsModel:
    """An estimator whose predictions come from ``model_``, for samples of one table."""

    n_jobs: Any
    selection: Any
    basis_penalty: Any
    multi_class: Any
    model_: Any
    estimators_: list[Any]
    n_features_in_: int
    feature_names_in_: np.ndarray
    selected_features_: np.ndarray
    basis_vectors_: np.ndarray
    kernel_: Any
    view_usage_: dict[str, ViewUsage]
    alternatives_: dict[int, np.ndarray]

    save = _methods.save
    export = _methods.export
    compiled = _methods.compiled
    report = _methods.report
    monitor = _methods.monitor
    explain = _methods.explain
    summary = _methods.summary
    formula = _methods.formula
    to_frame = _methods.to_frame
    _repr_html_inner = _methods.repr_html
    _repr_mimebundle_ = _methods.repr_mimebundle

    def _scores(self, X: Any) -> np.ndarray:
        """Return the scores of the model for every sample, (n, m)."""
        check_is_fitted(self)
        place = place_of(X)
        if place is not None and not all(kernel.anywhere for kernel in kernels_of(self.model_)):
            tell_of_numpy(place, kernels_of(self.model_))
            place = None
        return self.model_.scores(self._rows(X), n_threads(self.n_jobs), place)

    def _rows(self, X: Any) -> Any:
        if isinstance(X, IN_FILES):
            raise TypeError(
                "X must be in memory; got a table in files. predict_chunks(X) yields predictions of these, and "
                "spkm.write_predictions writes them to a file."
            )
        rows = read_like(self, X if place_of(X) is None else on_host(X))
        check_domain_of(self.model_, rows)
        return rows

    def predict_chunks(self, X: Any, method: str = "predict") -> Iterator[np.ndarray]:
        """Yield predictions of samples that do not fit in memory, a chunk at a time and in order.

        Parameters
        ----------
        X : path, dataset, lazy frame, iterable of chunks
            What :meth:`fit` takes; columns are found by their names, and chunks may be of X alone.
        method : str, default="predict"
            The method that is called for each chunk; "predict_proba", say.

        Yields
        ------
        predictions : ndarray
            What the method returns for a chunk.

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

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
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
        small.n_features_in_ = len(chosen)
        if hasattr(self, "feature_names_in_"):
            small.feature_names_in_ = self.feature_names_in_[chosen]
        small.selected_features_ = np.searchsorted(chosen, self.selected_features_)
        for name in ("relevances_", "feature_importances_", "selection_frequency_"):
            if hasattr(self, name):
                setattr(small, name, getattr(self, name)[chosen])
        if hasattr(self, "alternatives_"):
            small.alternatives_ = {}  # the features that could stand for the selected ones are gone
        if hasattr(self, "view_usage_"):
            small.view_usage_ = {name: usage.on(chosen) for name, usage in self.view_usage_.items()}
        small.basis_vectors_ = self.basis_vectors_[:, chosen]
        small.model_ = self.model_.restricted(chosen)
        if hasattr(self, "estimators_"):
            small.estimators_ = [part._restricted_to(chosen) for part in self.estimators_]
        else:
            small.kernel_ = small.model_.kernel
        return small

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


def check_domain_of(model: Any, X: Any) -> None:
    """Raise ValueError where a kernel of a fitted model wants no numbers below zero and X has some."""

    for member in model.members:
        held: FittedModel = member
        check_domain(held.model.terms, X if len(held.features) == X.shape[1] else X[:, held.features])
