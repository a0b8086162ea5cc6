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

    The targets are one number for each sample, or several. They are standardised for the fit; all results are in their
    own units.

    Parameters
    ----------
    n_basis : int, "auto" or dict, default=20
        Largest number of basis vectors, which all outputs share. Vectors that end at the same place are merged. "auto"
        is 20 or 60, at most half the samples and at most ``max_basis``, whichever has the lower loss on a held-out
        fifth of the samples; with a selection, views or a linear kernel it adds vectors while the held-out loss falls,
        then prunes them by an l1 penalty. With ``views`` a dict has a number for each view.
    kernel : str, Kernel or dict, default="matern"
        Kernel that compares a sample with a basis vector: "rbf", "matern", "rational_quadratic", "laplacian", "linear",
        "polynomial", "normalized_polynomial" or "tanimoto", or a Kernel. "matern" has smoothness 5/2, and had lower
        errors than "rbf" in measurements. With ``views`` a dict has one for each view.
    views : dict, default=None
        Named groups of features, each with a kernel and ``n_basis`` vectors of its own; the model is the sum over them.
        Features are given by index, mask, slice, name or a function of X; views may overlap. X may be a dict of tables
        instead.
    terms : list of Term, default=None
        The general form: a sum of :class:`spkm.Term`, each a product of one or more :class:`spkm.View`. Replaces
        ``views``, ``kernel`` and ``n_basis``.
    loss : str or Loss, default="auto"
        Loss that the fit minimises: "squared", "huber", "epsilon_insensitive", "quantile" (for limits that a share of
        the targets stays below), "poisson" (for counts) or a Loss. "auto" is "squared".
    basis_penalty : str, Penalty, list, dict or None, default=None
        Penalty on the basis vectors, on scaled features: "l1", "l1_ball", "l2", "elastic_net", "features" (whole
        features), a Penalty or a list of them. With ``views`` a dict has one for each view.
    weight_penalty : str, Penalty, list or None, default="auto"
        Penalty on the weights: "evidence" (squared loss; its strength and the relevance of each feature are learned),
        "rkhs" (the norm of f in the space of the kernel), "l1", "l2", "elastic_net", "rows" (whole basis vectors), a
        Penalty or a list of them. "auto" is "evidence" for squared loss and "rkhs" for others; "huber", "quantile" and
        "epsilon_insensitive" begin with a squared fit, whose relevances and strength they keep.
    selection : {None, "strict"}, default=None
        "strict" selects features by cross-validation and fits a model of those alone: no other feature has any
        influence on a prediction. None keeps all features.
    max_features, max_groups : int, default=None
        Largest number of features, and of groups, in a strict selection; it takes fewer if these are nearly as good.
    feature_groups : array-like of shape (n_features,), default=None
        Label for every feature; in a strict selection features of one label enter and leave together.
    max_basis : int, default=None
        Largest number of basis vectors with ``n_basis="auto"``; None is 50.
    learn_bandwidth : {"auto", True, False, "columns"} or dict, default="auto"
        Whether the bandwidth of the kernel is learned with the basis: True learns one for all features, "columns" one
        for each. "auto" is "columns" for a single stationary kernel, and True in views and searches. With ``views`` a
        dict has a choice for each view.
    linear_part : {"auto", True, False}, default="auto"
        Whether to add a linear function, f(x) = b + w'x + Σ_r c_r k(x, u_r). "auto" adds it beside a single
        stationary kernel under the evidence, which learns its strength, for at most 500 features: every iteration
        solves for n_basis + n_features coefficients.
    basis_bounds : {"data", None}, default="data"
        "data" keeps basis vectors of stationary kernels, and of fingerprints, inside the range of the training samples,
        feature by feature; None leaves them free. Vectors of dot-product kernels are never bounded.
    basis : {"free", "samples"}, default="free"
        "samples" makes every basis vector a distinct training sample, for prototypes that must be real cases: after a
        free fit each vector moves to the nearest sample, and all else is fitted again. It costs some accuracy.
    monotone : dict, default=None
        Features, by name or index, with which predictions must rise (1) or fall (-1), whatever the others are. Holds by
        construction, for kernels that fall with the distance or "linear"; the weights have fixed signs, and there is no
        evidence.
    fit_intercept : bool, default=True
        Whether the intercept b is learned; False sets it to zero.
    scale : {True, False, "common"}, default=True
        Whether features are scaled for the kernel: True standardises each and clips it at five deviations (sparse ones
        are not centred), "common" gives all features one scale, which suits pixels, and False takes them as they are.
    solver : str or Solver, default="auto"
        Method that minimises the objective: "lbfgs", "varpro" (squared loss), "proximal" (penalties that are not
        smooth), "adam" (mini-batches), "alternating" (the paper's) or a Solver. "auto" takes one by loss, penalties and
        number of samples.
    start : str, Start or array-like of shape (n_basis, n_features), default="auto"
        First basis vectors: "kmeans", "greedy", "rows", "random", a Start or an array in the units of X. "auto" is
        "kmeans".
    n_restarts : int, default=1
        Number of starts; the fit with the lowest objective is kept.
    max_iter : int, default=None
        Largest number of iterations of the solver; None is its default. A Solver has its own.
    tol : float, default=None
        Tolerance at which the solver ends; None is its default. A Solver has its own.
    warm_start : bool, default=False
        Whether a fit begins with the basis, bandwidth and weights of the last one. A larger ``n_basis`` adds vectors.
    n_jobs : int, default=None
        Number of threads; None takes all cores, or what OMP_NUM_THREADS says. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of start points, subsamples and mini-batches.
    verbose : int, default=0
        Messages to the logger "spkm": 1 for the stages and the objective, at most a line a second; 2 for every
        iteration.

    Attributes
    ----------
    basis_vectors_ : ndarray of shape (n_vectors, n_features_in_)
        The basis vectors, at most ``n_basis``, in the units of X; NaN in features that a strict selection left out, or
        that the view of a vector does not use.
    dual_coef_ : ndarray of shape (n_vectors,) or (n_vectors, n_outputs)
        Their weights c, in the units of y.
    intercept_ : float or ndarray of shape (n_outputs,)
        The intercept b, in the units of y.
    linear_coef_ : ndarray of shape (n_features_in_,) or (n_features_in_, n_outputs)
        With a linear part: the change of the prediction for a change of each feature by one unit.
    group_shrinkage_ : ndarray of shape (n_outputs,)
        With ``groups`` in :meth:`fit`: the share a of each output in its predictions mean + a (f - mean), which suits
        groups held out best; 1 leaves predictions as they are.
    kernel_, relevances_, selected_features_, feature_importances_, half_frequency_, fold_frequency_, alternatives_
        As in :class:`SPKMClassifier`.
    cv_results_, monotone_, nearest_samples_, nearest_distances_, cancellation_, view_usage_, model_, n_iter_
        As in :class:`SPKMClassifier`.
    objective_, objective_path_, stationarity_, n_features_in_, feature_names_in_
        As in :class:`SPKMClassifier`; the objective is that of standardised targets.

    See Also
    --------
    SPKMRegressorCV : Chooses kernel, features and penalty by cross-validation.
    SPKMSurvival : For times that may be censored.

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
