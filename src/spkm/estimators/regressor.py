"""The regressor: targets are standardised for the fit, and everything is reported in their own units."""

from __future__ import annotations

from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from spkm._arrays import TableLike, TargetLike, WeightLike
from spkm._checks import n_threads
from spkm._methods import available_if
from spkm._namespaces import returned_like_X
from spkm._publish import publish
from spkm.estimators.base import FitsTables, ReadsModel
from spkm.estimators.parameters import OfRegressor
from spkm.fitting.partial import partial_numbers, takes_batches
from spkm.fitting.progress import CallbackSupportMixin


class PredictsNumbers(ReadsModel):
    """Predictions of real targets, from the scores of ``model_``."""

    @overload
    def predict(self, X: TableLike, return_std: Literal[False] = False) -> np.ndarray: ...
    @overload
    def predict(self, X: TableLike, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...
    @returned_like_X
    def predict(self, X: TableLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the predicted targets of every sample.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of them
            Samples.
        return_std : bool, default=False
            Whether to return the standard deviation of a new target from its prediction as well, noise included: near
            the samples of the fit that of the sparse Gaussian process whose mean the model is. Away from them it is a
            heuristic, the deviation of all targets or more. It needs a fit with the evidence and a single stationary
            kernel.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        F = self._scores(X)
        y = self.model_.target.decode(self.model_.loss.predict(F))
        if not return_std:
            return y
        if not self.model_.target.learned.any():  # all targets of the fit were the same
            return y, np.zeros_like(y)
        if self.model_.posterior is None:
            raise ValueError(
                "return_std=True needs a model fitted with loss='squared', weight_penalty='evidence' (or 'auto') and a "
                "single stationary kernel, without a selection. Fit such a model, or use loss='quantile' for limits."
            )
        std = self.model_.deviations(self._rows(X), n_threads(self.n_jobs))
        return y, std.reshape(y.shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags


class SPKMRegressor(OfRegressor, FitsTables, PredictsNumbers, RegressorMixin, CallbackSupportMixin, BaseEstimator):
    """Sparse pre-image kernel regression, f(x) = b + Σ_r c_r k(x, u_r) with learned basis vectors u_r.

    Parameters
    ----------
    n_basis : int or "auto", default=20
        Number of basis vectors at the most, shared by all outputs: those that end at one place are merged. "auto" is
        20 or 60, at most half the samples and at most ``max_basis``, whichever has the lower loss on a held-out fifth
        of the samples; with a selection, pairs, views or a linear kernel it is as in :class:`SPKMClassifier`.
    kernel : str or Kernel, default="matern"
        The kernel: "rbf", "matern", "rational_quadratic", "laplacian", "linear", "polynomial", "normalized_polynomial"
        or "tanimoto", or a Kernel. The default, of smoothness 5/2, had lower errors than "rbf" in measurements.
    views, terms
        As in :class:`SPKMClassifier`.
    loss : str or Loss, default="auto"
        The loss: "squared", "huber", "epsilon_insensitive", "quantile", "poisson" or a Loss; "auto" is "squared".
    basis_penalty : str, Penalty, list or None, default=None
        Penalty on the basis vectors: "l1", "l1_ball", "l2", "elastic_net", "features" (whole features), a Penalty or a
        list of them. Acts on scaled features.
    weight_penalty : str, Penalty, list or None, default="auto"
        Penalty on the weights; "auto" is "evidence" for squared loss, which learns its strength and the relevance of
        each feature, and the RKHS norm of f for the others. "huber", "quantile" and "epsilon_insensitive" begin with
        a squared fit, whose relevances and strength they keep.
    selection, max_features, max_groups, feature_groups, max_basis
        As in :class:`SPKMClassifier`.
    learn_bandwidth, basis_bounds, basis, fit_intercept, scale, solver, start, n_restarts
        As in :class:`SPKMClassifier`.
    monotone : dict, default=None
        Features, by name or number, that predictions rise (1) or fall (-1) with, whatever the others are: by
        construction, as in :class:`SPKMClassifier`. The weights then have fixed signs, and no evidence.
    linear_part : {"auto", True, False}, default="auto"
        Whether a linear function is added, f(x) = b + w'x + Σ_r c_r k(x, u_r). "auto" adds it beside a single
        stationary kernel under the evidence, which learns its strength, for at most 500 features: every iteration
        solves for n_basis + n_features coefficients.
    max_iter, tol, warm_start, n_jobs, random_state, verbose
        As in :class:`SPKMClassifier`.

    Attributes
    ----------
    basis_vectors_ : ndarray of shape (n_vectors, n_features_in_)
        The basis vectors, at most ``n_basis``, in the units of X.
    dual_coef_ : ndarray of shape (n_vectors,) or (n_vectors, n_outputs)
        Their weights c, in the units of y.
    intercept_ : float or ndarray of shape (n_outputs,)
        The intercept b, in the units of y.
    linear_coef_ : ndarray of shape (n_features_in_,) or (n_features_in_, n_outputs)
        The coefficients w of a linear part, for a change of a feature by one unit; only where there is one.
    selected_features_, relevances_, feature_importances_, cv_results_, view_usage_
        As in :class:`SPKMClassifier`.
    nearest_samples_, nearest_distances_, cancellation_
        As in :class:`SPKMClassifier`.
    kernel_, n_iter_, objective_, objective_path_, stationarity_, n_features_in_, feature_names_in_
        As in :class:`SPKMClassifier`; the objective is that of standardised targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SPKMRegressor(n_basis=5, random_state=0).fit(X, y)
    >>> len(model.basis_vectors_) <= 5, bool(model.score(X, y) > 0.5)
    (True, True)
    """

    _of_classes = False

    @available_if(takes_batches)
    def partial_fit(self, X: TableLike, y: TargetLike, sample_weight: WeightLike = None) -> Self:
        """Improve the model by one more batch of samples, in memory of the batch alone.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            A batch. The first one fixes scaling, also of y, bandwidth and start points: let it be a few hundred samples
            at random.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; they count from call to call.

        Returns
        -------
        self : object
            The estimator. ``max_iter`` are passes over each batch, one unless given. After :meth:`fit` it goes on from
            that model.
        """
        return publish(self, partial_numbers(self, X, y, sample_weight))
