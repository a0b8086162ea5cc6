"""The regressor: targets are standardised for the fit, and everything is reported in their own units."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from spkm.estimators._base import BaseSPKM
from spkm.estimators._state import FittedState
from spkm.losses import Loss


class SPKMRegressor(RegressorMixin, BaseSPKM):
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

    _task = "regression"

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

    def _encode_targets(
        self, y: Any, weight: np.ndarray, previous: FittedState | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights as they are, and the targets as (n, m)."""
        try:
            Y = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"y must hold numbers, as a dense array of shape (n_samples,) or (n_samples, n_outputs); "
                f"got {type(y).__name__} of dtype {y.dtype}. For labels use SPKMClassifier."
            ) from error
        self._two_dimensional = Y.ndim == 2
        return weight, Y.reshape(len(Y), -1)

    def _standardized(self, Y: np.ndarray, weight: np.ndarray, loss: Loss) -> np.ndarray:
        if not loss.standardize_target:
            self._target_scale, self._target_mean = 1.0, 0.0
            return Y
        share = weight / weight.sum()
        size = np.maximum(np.abs(Y).max(axis=0), 1e-300)
        centre = _weighted_median(Y / size, share) if loss.robust else share @ (Y / size)
        if not self.fit_intercept:
            centre = np.zeros_like(centre)  # a target of zero stays zero: only the scale is changed
        deviation = np.sqrt(share @ np.square(Y / size - centre))
        if loss.robust:
            typical = 1.4826 * _weighted_median(
                np.abs(Y / size - centre), share
            )  # the deviation, for a normal distribution
            deviation = np.where(typical < 1e-13, deviation, typical)
        deviation[deviation < 1e-13] = 1.0
        self._target_scale, self._target_mean = deviation * size, centre * size
        return (Y / size - centre) / deviation

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets of every row of ``X``, (n_samples,) or (n_samples, n_outputs)."""
        F = self._scores(X)
        F = self._fitted.loss.predict(F)
        return F if self._two_dimensional else F[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags


def _weighted_median(Y: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the least value of each column that at least half of the weight does not exceed, (m,)."""
    order = np.argsort(Y, axis=0, kind="stable")
    below = np.cumsum(share[order], axis=0)
    first = np.argmax(below >= 0.5 * (1 - 1e-12), axis=0)
    return np.take_along_axis(Y, np.take_along_axis(order, first[None], axis=0), axis=0)[0]
