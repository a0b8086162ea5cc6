"""The regressor: targets are standardised for the fit, and everything is reported in their own units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from spkm.estimators._base import ReadsModel, attributes_of, publish
from spkm.estimators._callbacks import CallbackSupportMixin, Progress, with_callbacks
from spkm.estimators._fitting import Finish, SearchSetup, fit_model, prepared, search_for
from spkm.estimators._request import Request
from spkm.estimators._tables import Table, check_same_columns, read_table
from spkm.targets import Real


class PredictsNumbers(ReadsModel):
    """Predictions of real targets, from the scores of ``model_``."""

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets of every sample of ``X``, (n_samples,) or (n_samples, n_outputs)."""
        F = self._scores(X)
        return self.model_.target.decode(self.model_.loss.predict(F))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags


class SPKMRegressor(PredictsNumbers, RegressorMixin, CallbackSupportMixin, BaseEstimator):
    """Sparse pre-image kernel regression, f(x) = b + sum_r c_r k(x, u_r) with learned basis vectors u_r.

    Parameters
    ----------
    n_basis : int or "auto", default=20
        Number of basis vectors, shared by all outputs; "auto" as in :class:`SPKMClassifier`.
    kernel : str or Kernel, default="matern"
        The kernel; the default, of smoothness 5/2, had lower errors than "rbf" in measurements.
    views, terms
        As in :class:`SPKMClassifier`.
    loss : str or Loss, default="auto"
        "auto" is "squared".
    basis_penalty : str, Penalty, list or None, default=None
        Penalty on the basis vectors, on the scale of the model.
    weight_penalty : str, Penalty, list or None, default="auto"
        Penalty on the weights; "auto" is "evidence" for squared loss, which learns its strength and the relevance of
        each column, and the RKHS norm of f for the others.
    selection, max_features, feature_groups, max_basis
        As in :class:`SPKMClassifier`.
    learn_bandwidth, fit_intercept, scale, solver, start, n_restarts
        As in :class:`SPKMClassifier`.
    max_iter, tol, warm_start, n_jobs, random_state, verbose
        As in :class:`SPKMClassifier`.

    Attributes
    ----------
    basis_vectors_ : ndarray of shape (n_basis, n_features_in_)
        The basis vectors, in the units of X.
    dual_coef_ : ndarray of shape (n_basis,) or (n_basis, n_outputs)
        Their weights c, in the units of y.
    intercept_ : float or ndarray of shape (n_outputs,)
        The intercept b, in the units of y.
    selected_features_, relevances_, feature_importances_, cv_results_, view_usage_
        As in :class:`SPKMClassifier`.
    kernel_, n_iter_, objective_, objective_path_, n_features_in_, feature_names_in_
        As in :class:`SPKMClassifier`; the objective is that of standardised targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SPKMRegressor(n_basis=5, random_state=0).fit(X, y)
    >>> model.basis_vectors_.shape, bool(model.score(X, y) > 0.5)
    ((5, 10), True)
    """

    def __init__(
        self,
        n_basis: Any = 20,
        *,
        kernel: Any = "matern",
        views: Any = None,
        terms: Any = None,
        loss: Any = "auto",
        basis_penalty: Any = None,
        weight_penalty: Any = "auto",
        selection: Any = None,
        max_features: int | None = None,
        feature_groups: Any = None,
        max_basis: int | None = None,
        learn_bandwidth: Any = "auto",
        fit_intercept: bool = True,
        scale: Any = True,
        solver: Any = "auto",
        start: Any = "auto",
        n_restarts: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_basis = n_basis
        self.kernel = kernel
        self.views = views
        self.terms = terms
        self.loss = loss
        self.basis_penalty = basis_penalty
        self.weight_penalty = weight_penalty
        self.selection = selection
        self.max_features = max_features
        self.feature_groups = feature_groups
        self.max_basis = max_basis
        self.learn_bandwidth = learn_bandwidth
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.solver = solver
        self.start = start
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SPKMRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of them
            Samples, as in :class:`SPKMClassifier`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets. One that is the same in all samples is predicted so.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :class:`SPKMClassifier`.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong, it is as it was.
        """
        request, table, Y, finish = real_samples(self, X, y, sample_weight)
        previous = getattr(self, "model_", None) if self.warm_start else None
        if previous is not None:
            check_same_columns(self, table)
        progress = Progress(self)
        progress.begin(X=table.X, y=table.y)
        samples = prepared(request, table.X, Y, table.weight, finish)
        outcome = fit_model(request, samples, previous, progress)
        progress.end(X=table.X, y=table.y)
        return publish(self, {**table.attributes, **attributes_of(outcome, table.X.dtype)})

    def _search(self, X: Any, y: Any, sample_weight: Any, on_step: Callable[[str], bool]) -> SearchSetup:
        """Return the search that the parameters ask for, before it begins."""
        request, table, Y, finish = real_samples(self, X, y, sample_weight)
        samples = prepared(request, table.X, Y, table.weight, finish)
        search = search_for(request, samples, on_step) if samples.Y.shape[1] else None
        return SearchSetup(request, table, samples, search)


def real_samples(
    estimator: Any, X: Any, y: Any, sample_weight: Any, params: dict[str, Any] | None = None
) -> tuple[Request, Table, np.ndarray, Finish]:
    """Return the request of a regressor, its table, the targets (n, m), and how they are standardised."""
    table = read_table(estimator, X, y, sample_weight, multi_output=True)
    params = estimator.get_params(deep=False) if params is None else params
    request = Request.of(params, X, "regression", tables=table.attributes["_tables"])
    Y = real_targets(table.y)
    request.loss.check_target(Y)
    return request, table, Y, standardizing(request, table.y.ndim == 2)


def real_targets(y: Any) -> np.ndarray:
    """Return targets as numbers, (n, m)."""
    try:
        Y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numbers, as a dense array of shape (n_samples,) or (n_samples, n_outputs); "
            f"got {type(y).__name__} of dtype {y.dtype}. For labels use SPKMClassifier."
        ) from error
    return Y.reshape(len(Y), -1)


def standardizing(request: Request, two_dimensional: bool) -> Finish:
    """Return the function that standardises targets as the loss wants it."""
    loss = request.loss

    def finish(Y: np.ndarray, weight: np.ndarray) -> tuple[Real, np.ndarray]:
        y = Y if two_dimensional else Y[:, 0]
        target = Real.of(y, weight, loss.standardize_target, loss.robust, bool(request.fit_intercept))
        return target, target.encode(Y)

    return finish
