"""Estimators of pairs: a drug and a target, a user and a film. Kernels are worked out per entity, not per pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _get_feature_names, check_array, check_is_fitted, validate_data

from spkm.estimators._classifier import SPKMClassifier, has_probabilities
from spkm.estimators._regressor import SPKMRegressor
from spkm.estimators._table import canonical, need_numbers
from spkm.estimators._views import check_learns, check_vectors, named_columns, one_for_each
from spkm.kernels import KERNELS
from spkm.model import Term, View
from spkm.sources import PairSource, PairTable, Scaling

SIDES = ("left", "right")


class _PairwiseMixin:
    """Pairs of two tables in place of rows of one. It stands before a plain estimator and hands it a pair table."""

    n_basis: Any
    learn_bandwidth: Any
    scale: Any
    left_views: Any
    right_views: Any
    n_features_left_: int
    basis_vectors_: np.ndarray
    relevances_: np.ndarray
    _tables: tuple[Any, Any]
    _of_pairs = True
    # Whoever passes tables through cross_val_score or a search means them for these methods.
    __metadata_request__fit = {"left": True, "right": True}
    __metadata_request__predict = {"left": True, "right": True}
    __metadata_request__score = {"left": True, "right": True}
    # What is not for pairs, or not yet.
    kernel = "rbf"
    views = None
    terms = None
    multi_class = "joint"
    selection = None
    max_features = None
    feature_groups = None
    max_basis = None
    start = "auto"
    warm_start = False

    def fit(self, pairs: Any, y: Any, left: Any = None, right: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        pairs : array-like of int of shape (n_samples, 2)
            For each sample a row of ``left`` and one of ``right``.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        left, right : array-like, DataFrame or CSR of shapes (n_left, n_features_left), (n_right, n_features_right)
            The entities; those that no pair names are not looked at. They are kept for predictions.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        for k, table in enumerate((left, right)):
            if table is None:
                raise ValueError(f"{SIDES[k]} must be given: the table that column {k} of pairs points into.")
        self._view_columns = [
            None if asked is None else named_columns(asked, table, f"{side}_views")
            for side, table, asked in zip(SIDES, (left, right), (self.left_views, self.right_views), strict=True)
        ]
        tables = self._entities(left, "left", True), self._entities(right, "right", True)
        table = _pair_table(tables, _checked_pairs(self, pairs, tables, reset=True))
        super().fit(table, y, sample_weight)  # type: ignore[misc]
        self._tables = tables
        return self

    def _table(self, pairs: Any, left: Any, right: Any) -> PairTable:
        """Return the pairs of the given tables, or of those of the fit where they are None."""
        if isinstance(pairs, PairTable):
            return pairs
        check_is_fitted(self)
        tables = (
            self._tables[0] if left is None else self._entities(left, "left", False),
            self._tables[1] if right is None else self._entities(right, "right", False),
        )
        return _pair_table(tables, _checked_pairs(self, pairs, tables, reset=False))

    def _entities(self, table: Any, side: str, reset: bool) -> Any:
        """Return a table of entities as an array of finite numbers with the columns of the fit."""
        names = _get_feature_names(table)
        with need_numbers(side):
            rows = canonical(check_array(table, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=side))
        name = f"{side}_feature_names_in_"
        if reset:
            setattr(self, f"n_features_{side}_", rows.shape[1])
            self.__dict__.pop(name, None)
            if names is not None:
                setattr(self, name, names)
            return rows
        expected = getattr(self, f"n_features_{side}_")
        if rows.shape[1] != expected:
            raise ValueError(f"{side} must have the {expected} columns of the fit; got {rows.shape[1]}.")
        if names is not None and hasattr(self, name) and not np.array_equal(names, getattr(self, name)):
            raise ValueError(f"The columns of {side} must be named, and ordered, as those of the fit.")
        return rows

    def _asked_terms(self, X: PairTable) -> tuple[Term, ...]:
        """Return a term for each view of the left entities with each of the right ones."""
        check_vectors(self.n_basis)
        if isinstance(self.n_basis, str):
            raise ValueError(f"n_basis must be an integer of at least 1; got {self.n_basis!r}.")
        check_learns(self.learn_bandwidth)
        left = self._views_of(0, X.left.shape[1], 0)
        right = self._views_of(1, X.right.shape[1], X.left.shape[1])
        return tuple(Term(self.n_basis, (a, b)) for a in left for b in right)

    def _views_of(self, k: int, width: int, offset: int) -> list[View]:
        side, asked = SIDES[k], self._view_columns[k]
        argument = f"{side}_kernel"
        kernel = getattr(self, argument)
        everything = np.arange(width)
        if asked is None:
            if isinstance(kernel, Mapping):
                raise ValueError(f"{argument} can be a dict only with {side}_views; got {kernel!r}.")
            kernels = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
            if not kernels:
                raise ValueError(f"{argument} must be a kernel or a list of kernels; got an empty list.")
            names = [side] if len(kernels) == 1 else [f"{side} {i}" for i in range(len(kernels))]
            columns = dict.fromkeys(names, everything)
            by_name = dict(zip(names, kernels, strict=True))
        else:
            columns = {name: everything if places is None else places for name, places in asked.items()}
            by_name = one_for_each(argument, kernel, list(columns))
        return [
            View(clone(KERNELS.resolve(by_name[name], argument)), places + offset, name=name)
            for name, places in columns.items()
        ]

    def _checked_rows(self, X: PairTable, y: Any = "no_validation", **options: Any) -> Any:
        """Return the pair table as it is, it was checked where it was made; y checked against it."""
        if isinstance(y, str) and y == "no_validation":
            return X
        return X, validate_data(self, X.pairs, y, dtype=None, **options)[1]

    @staticmethod
    def _merged(X: PairTable, Y: np.ndarray, weight: np.ndarray) -> tuple[PairTable, np.ndarray, np.ndarray]:
        """Return the pairs of positive weight and the entities they name, by left entity: a block has few of these."""
        kept = np.flatnonzero(weight)
        kept = kept[np.lexsort((X.pairs[kept, 1], X.pairs[kept, 0]))]
        return X[kept].named_alone(), Y[kept], weight[kept]

    def _rows_source(
        self, X: PairTable, scaling: Scaling | None, Y: np.ndarray | None = None, weight: np.ndarray | None = None
    ) -> PairSource:
        return PairSource(X, Y, weight, scaling)

    def _complete_report(self) -> None:
        super()._complete_report()  # type: ignore[misc]
        at = self.n_features_left_
        for name, part in (("left", np.s_[:at]), ("right", np.s_[at:])):
            setattr(self, f"basis_{name}_", self.basis_vectors_[:, part])
            setattr(self, f"relevances_{name}_", self.relevances_[part])
        for name in ("basis_vectors_", "relevances_", "selected_features_"):  # of a table that does not exist
            delattr(self, name)

    def predict(self, pairs: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """Return the prediction for every pair.

        Parameters
        ----------
        pairs : array-like of int of shape (n_samples, 2)
            For each sample a row of ``left`` and one of ``right``.
        left, right : array-like, DataFrame or CSR, default=None
            Entities, new ones on either side or both; None are those of the fit.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        return super().predict(self._table(pairs, left, right))  # type: ignore[misc]

    def score(self, pairs: Any, y: Any, left: Any = None, right: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, R2 of a regressor.

        Parameters
        ----------
        pairs, left, right
            As in :meth:`predict`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            1 is perfect.
        """
        return super().score(self._table(pairs, left, right), y, sample_weight)  # type: ignore[misc]


class PairwiseSPKMClassifier(_PairwiseMixin, SPKMClassifier):  # type: ignore[misc]
    """Classifier of pairs, f(x, z) = b + sum_r c_r k(x, u_r) k'(z, v_r) with learned pairs of basis vectors.

    Parameters
    ----------
    n_basis : int, default=20
        Number of pairs (u_r, v_r) of basis vectors, for each view of the left entities with each of the right ones.
    left_kernel, right_kernel : str, Kernel, list or dict, default="rbf"
        The kernel of each side. A list are kernels on the same columns, a dict one for each view, by name.
    left_views, right_views : dict, default=None
        Named columns of a side, as ``views`` of :class:`SPKMClassifier`. The model has a term for each view of one
        side with each of the other.
    loss, basis_penalty, weight_penalty, learn_bandwidth, fit_intercept, scale, solver, n_restarts
        As in :class:`SPKMClassifier`; the columns of each table are scaled by themselves.
    max_iter, tol, class_weight, n_jobs, random_state, verbose
        As in :class:`SPKMClassifier`.

    Attributes
    ----------
    basis_left_, basis_right_ : ndarray of shapes (n_basis, n_features_left_), (n_basis, n_features_right_)
        The basis vectors in the units of the tables; NaN in columns that a vector's view does not look at.
    relevances_left_, relevances_right_ : ndarray
        The learned factor of each column in its kernel, as ``relevances_`` of :class:`SPKMClassifier`.
    n_features_left_, n_features_right_ : int
        Columns of the tables.
    left_feature_names_in_, right_feature_names_in_ : ndarray of str
        Their names, where the tables are frames.
    kernel_, view_usage_ : dict
        The kernel of each view, by name; what the model makes of each term, as in :class:`SPKMClassifier`.
    dual_coef_, intercept_, classes_, n_iter_, objective_, objective_path_
        As in :class:`SPKMClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.standard_normal((30, 3)), rng.standard_normal((20, 4))
    >>> pairs = np.array([(i, j) for i in range(30) for j in range(20)])
    >>> y = drugs[pairs[:, 0], 0] * targets[pairs[:, 1], 1] > 0
    >>> model = PairwiseSPKMClassifier(n_basis=8, random_state=0).fit(pairs, y, left=drugs, right=targets)
    >>> model.basis_left_.shape, model.basis_right_.shape, bool(model.score(pairs, y) > 0.9)
    ((8, 3), (8, 4), True)
    >>> model.predict([[0, 0]], left=rng.standard_normal((1, 3))).shape  # a new drug, a known target
    (1,)
    """

    __metadata_request__decision_function = {"left": True, "right": True}
    __metadata_request__predict_proba = {"left": True, "right": True}
    __metadata_request__predict_log_proba = {"left": True, "right": True}

    def __init__(
        self,
        n_basis: int = 20,
        *,
        left_kernel: Any = "rbf",
        right_kernel: Any = "rbf",
        left_views: Any = None,
        right_views: Any = None,
        loss: Any = "auto",
        basis_penalty: Any = None,
        weight_penalty: Any = "auto",
        learn_bandwidth: Any = "auto",
        fit_intercept: bool = True,
        scale: Any = True,
        solver: Any = "auto",
        n_restarts: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_basis = n_basis
        self.left_kernel = left_kernel
        self.right_kernel = right_kernel
        self.left_views = left_views
        self.right_views = right_views
        self.loss = loss
        self.basis_penalty = basis_penalty
        self.weight_penalty = weight_penalty
        self.learn_bandwidth = learn_bandwidth
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.solver = solver
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def decision_function(self, pairs: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """Return the scores f(x, z).

        Parameters
        ----------
        pairs, left, right
            As in :meth:`predict`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One score for two classes, positive for ``classes_[1]``; else one for each class.
        """
        return super().decision_function(self._table(pairs, left, right))

    @available_if(has_probabilities)
    def predict_proba(self, pairs: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """Return the probability of every class, (n_samples, n_classes); only where the loss gives them ("log")."""
        return super().predict_proba(self._table(pairs, left, right))

    @available_if(has_probabilities)
    def predict_log_proba(self, pairs: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`."""
        return np.log(self.predict_proba(pairs, left, right))


class PairwiseSPKMRegressor(_PairwiseMixin, SPKMRegressor):  # type: ignore[misc]
    """Regressor of pairs, f(x, z) = b + sum_r c_r k(x, u_r) k'(z, v_r) with learned pairs of basis vectors.

    Parameters
    ----------
    n_basis : int, default=20
        Number of pairs (u_r, v_r) of basis vectors, for each view of the left entities with each of the right ones.
    left_kernel, right_kernel : str, Kernel, list or dict, default="rbf"
        The kernel of each side. A list are kernels on the same columns, a dict one for each view, by name.
    left_views, right_views : dict, default=None
        Named columns of a side, as ``views`` of :class:`SPKMClassifier`. The model has a term for each view of one
        side with each of the other.
    loss, basis_penalty, weight_penalty, learn_bandwidth, fit_intercept, scale, solver, n_restarts
        As in :class:`SPKMRegressor`; the columns of each table are scaled by themselves.
    max_iter, tol, n_jobs, random_state, verbose
        As in :class:`SPKMRegressor`.

    Attributes
    ----------
    basis_left_, basis_right_, relevances_left_, relevances_right_, n_features_left_, n_features_right_
        As in :class:`PairwiseSPKMClassifier`.
    left_feature_names_in_, right_feature_names_in_, kernel_, view_usage_
        As in :class:`PairwiseSPKMClassifier`.
    dual_coef_, intercept_, n_iter_, objective_, objective_path_
        As in :class:`SPKMRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.standard_normal((30, 3)), rng.standard_normal((20, 4))
    >>> pairs = np.array([(i, j) for i in range(30) for j in range(20)])
    >>> y = drugs[pairs[:, 0], 0] * targets[pairs[:, 1], 1]
    >>> model = PairwiseSPKMRegressor(n_basis=10, random_state=0).fit(pairs, y, left=drugs, right=targets)
    >>> bool(model.score(pairs, y) > 0.9)
    True
    """

    def __init__(
        self,
        n_basis: int = 20,
        *,
        left_kernel: Any = "rbf",
        right_kernel: Any = "rbf",
        left_views: Any = None,
        right_views: Any = None,
        loss: Any = "auto",
        basis_penalty: Any = None,
        weight_penalty: Any = "auto",
        learn_bandwidth: Any = "auto",
        fit_intercept: bool = True,
        scale: Any = True,
        solver: Any = "auto",
        n_restarts: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_basis = n_basis
        self.left_kernel = left_kernel
        self.right_kernel = right_kernel
        self.left_views = left_views
        self.right_views = right_views
        self.loss = loss
        self.basis_penalty = basis_penalty
        self.weight_penalty = weight_penalty
        self.learn_bandwidth = learn_bandwidth
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.solver = solver
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


def _pair_table(tables: tuple[Any, Any], pairs: np.ndarray) -> PairTable:
    dtype = np.result_type(*(table.dtype for table in tables))
    left, right = (table.astype(dtype, copy=False) for table in tables)
    return PairTable(left, right, pairs)


def _checked_pairs(estimator: Any, pairs: Any, tables: tuple[Any, Any], reset: bool) -> np.ndarray:
    checked = validate_data(estimator, pairs, dtype=None, reset=reset)
    if checked.shape[1] != 2 or checked.dtype.kind not in "iu":
        raise ValueError(
            f"pairs must be integers of shape (n_samples, 2), rows of left and of right; got shape {checked.shape} and "
            f"dtype {checked.dtype}."
        )
    for k, (side, table) in enumerate(zip(SIDES, tables, strict=True)):
        outside = np.flatnonzero((checked[:, k] < 0) | (checked[:, k] >= table.shape[0]))
        if len(outside):
            raise ValueError(
                f"pairs must point into {side}, which has {table.shape[0]} rows; got {checked[outside[0], k]} in row "
                f"{outside[0]}, column {k}."
            )
    return np.ascontiguousarray(checked, dtype=np.intp)
