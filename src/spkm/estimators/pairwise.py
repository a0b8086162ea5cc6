"""Estimators of pairs: a drug and a target, a user and a film. Kernels are worked out per entity, not per pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import TableLike, TargetLike, WeightLike
from spkm._checks import n_threads
from spkm._methods import Explains, available_if
from spkm._publish import publish
from spkm.core.decisions import log_probabilities, probabilities
from spkm.estimators.classifier import has_probabilities
from spkm.estimators.parameters import OfPairs, OfPairsOfClasses
from spkm.fitting.outcome import Outcome, attributes_of
from spkm.fitting.progress import CallbackSupportMixin, Progress, with_callbacks
from spkm.fitting.reading import pair_data
from spkm.fitting.strategies import strategy_for
from spkm.tables.pairs import SIDES, PairInput, read_pairs

BOTH = {"left": True, "right": True}


class PredictsPairs(OfPairs, Explains):
    """Scores of pairs, from ``model_`` and the tables of entities of the fit or of new ones."""

    model_: Any
    _of_classes: bool
    get_params: Any
    # Whoever passes tables through cross_val_score or a search means them for these methods.
    __metadata_request__fit = BOTH
    __metadata_request__predict = BOTH
    __metadata_request__score = BOTH

    def _scores(self, pairs: ArrayLike, left: TableLike | None, right: TableLike | None) -> np.ndarray:
        check_is_fitted(self)
        table = self._pairs.like(pairs, left, right)
        return self.model_.scores(table, n_threads(self.n_jobs))

    @with_callbacks
    def fit(
        self,
        pairs: ArrayLike,
        y: TargetLike,
        left: TableLike | None = None,
        right: TableLike | None = None,
        sample_weight: WeightLike = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        pairs : array-like of int of shape (n_samples, 2)
            For each sample a row of ``left`` and one of ``right``.
        y : array-like of shape (n_samples,), (n_samples, n_labels) or (n_samples, n_outputs)
            Labels, or an indicator matrix; of a regressor targets.
        left, right : array-like, DataFrame or CSR of shapes (n_left, n_features_left), (n_right, n_features_right)
            The entities; those that no pair names are not looked at. Copies of them are kept for predictions.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong, it is as it was.
        """
        given = read_pairs(self, pairs, y, left, right, sample_weight)
        spec, data = pair_data(self.get_params(deep=False), given, left, right, self._of_classes)
        progress = Progress(self)
        progress.begin(X=given.table.pairs, y=given.y)
        outcome = strategy_for(spec, data)(spec, data, None, progress)
        progress.end(X=given.table.pairs, y=given.y)
        return publish_pairs(self, given, outcome, {"classes_": data.target.labels} if self._of_classes else {})

    def predict(self, pairs: ArrayLike, left: TableLike | None = None, right: TableLike | None = None) -> np.ndarray:
        """Return the most likely label, or the predicted target, of every pair.

        Parameters
        ----------
        pairs : array-like of int of shape (n_samples, 2)
            For each sample a row of ``left`` and one of ``right``.
        left, right : array-like, DataFrame or CSR, default=None
            Entities, new ones on either side or both; None are those of the fit.

        Returns
        -------
        y : ndarray of shape (n_samples,), (n_samples, n_labels) or (n_samples, n_outputs)
            Labels, a matrix that indicates them, or targets.
        """
        F = self._scores(pairs, left, right)
        return self.model_.target.decode(self.model_.loss.predict(F))

    def score(
        self,
        pairs: ArrayLike,
        y: TargetLike,
        left: TableLike | None = None,
        right: TableLike | None = None,
        sample_weight: WeightLike = None,
    ) -> float:
        """Return the accuracy, or R2 of a regressor.

        Parameters
        ----------
        pairs, left, right
            As in :meth:`predict`.
        y : array-like of shape (n_samples,), (n_samples, n_labels) or (n_samples, n_outputs)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            1 is perfect.
        """
        measure = accuracy_score if self._of_classes else r2_score
        return float(measure(y, self.predict(pairs, left, right), sample_weight=sample_weight))

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)


class PairwiseSPKMClassifier(OfPairsOfClasses, PredictsPairs, ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Classifier of pairs, f(x, z) = b + Σ_r c_r k(x, u_r) k'(z, v_r) with learned pairs of basis vectors.

    Parameters
    ----------
    n_basis : int, default=20
        Number of pairs (u_r, v_r) of basis vectors, for each view of the left entities with each of the right ones.
    left_kernel, right_kernel : str, Kernel, list or dict, default="rbf"
        The kernel of each side. A list are kernels on the same features, a dict one for each view, by name.
    left_views, right_views : dict, default=None
        Named features of a side, as ``views`` of :class:`SPKMClassifier`. The model has a term for each view of one
        side with each of the other.
    loss, basis_penalty, weight_penalty, learn_bandwidth, fit_intercept, scale, solver, n_restarts
        As in :class:`SPKMClassifier`; the features of each table are scaled by themselves.
    new : {"pairs", "left", "right", "both"}, default="pairs"
        The part of later pairs that the fit has not met. For new pairs of known entities the penalty has a fixed
        strength; for new left entities, new right ones or both, folds that leave such entities out choose it, up to a
        hundred times as strong. The fit then takes a few times as long.
    max_iter, tol, class_weight, n_jobs, random_state, verbose
        As in :class:`SPKMClassifier`.

    Attributes
    ----------
    basis_left_, basis_right_ : ndarray of shapes (n_basis, n_features_left_), (n_basis, n_features_right_)
        The basis vectors in the units of the tables; NaN in features that a vector's view does not look at.
    relevances_left_, relevances_right_ : ndarray
        The learned factor of each feature in its kernel, as ``relevances_`` of :class:`SPKMClassifier`.
    n_features_left_, n_features_right_ : int
        Columns of the tables.
    left_feature_names_in_, right_feature_names_in_ : ndarray of str
        Their names, where the tables are frames.
    kernel_, view_usage_ : dict
        The kernel of each view, by name; what the model makes of each term, as in :class:`SPKMClassifier`.
    dual_coef_, intercept_, classes_, n_iter_, objective_, objective_path_, stationarity_
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

    __metadata_request__decision_function = BOTH
    __metadata_request__predict_proba = BOTH
    __metadata_request__predict_log_proba = BOTH
    _of_classes = True
    classes_: np.ndarray

    def decision_function(
        self, pairs: ArrayLike, left: TableLike | None = None, right: TableLike | None = None
    ) -> np.ndarray:
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
        scores = self._scores(pairs, left, right)
        return scores if self.model_.target.two_dimensional else scores[:, 0]

    @available_if(has_probabilities)
    def predict_proba(
        self, pairs: ArrayLike, left: TableLike | None = None, right: TableLike | None = None
    ) -> np.ndarray:
        """Return the probability of every class, (n_samples, n_classes); only where the loss gives them ("log")."""
        return probabilities(self.model_, self._scores(pairs, left, right))

    @available_if(has_probabilities)
    def predict_log_proba(
        self, pairs: ArrayLike, left: TableLike | None = None, right: TableLike | None = None
    ) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`."""
        return log_probabilities(self.model_, self._scores(pairs, left, right))


class PairwiseSPKMRegressor(PredictsPairs, RegressorMixin, CallbackSupportMixin, BaseEstimator):
    """Regressor of pairs, f(x, z) = b + Σ_r c_r k(x, u_r) k'(z, v_r) with learned pairs of basis vectors.

    Parameters
    ----------
    n_basis, left_kernel, right_kernel, left_views, right_views, new
        As in :class:`PairwiseSPKMClassifier`.
    loss, basis_penalty, weight_penalty, learn_bandwidth, fit_intercept, scale, solver, n_restarts
        As in :class:`SPKMRegressor`; the features of each table are scaled by themselves.
    max_iter, tol, n_jobs, random_state, verbose
        As in :class:`SPKMRegressor`.

    Attributes
    ----------
    basis_left_, basis_right_, relevances_left_, relevances_right_, n_features_left_, n_features_right_
        As in :class:`PairwiseSPKMClassifier`.
    left_feature_names_in_, right_feature_names_in_, kernel_, view_usage_
        As in :class:`PairwiseSPKMClassifier`.
    dual_coef_, intercept_, n_iter_, objective_, objective_path_, stationarity_
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

    _of_classes = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags


def publish_pairs(estimator: BaseEstimator, given: PairInput, outcome: Outcome, more: dict[str, Any]) -> Any:
    """Give an estimator of pairs its fitted attributes, those of each side apart; return the estimator."""
    entities = given.entities
    attributes = attributes_of(outcome, given.table.dtype)
    at = entities.layouts[0].width
    basis, relevances = attributes.pop("basis_vectors_"), attributes.pop("relevances_")
    del attributes["selected_features_"]  # of a table that does not exist
    for side, layout, part in zip(SIDES, entities.layouts, (np.s_[:at], np.s_[at:]), strict=True):
        attributes[f"basis_{side}_"] = basis[:, part]
        attributes[f"relevances_{side}_"] = relevances[part]
        attributes[f"n_features_{side}_"] = layout.width
        if layout.names is not None:
            attributes[f"{side}_feature_names_in_"] = layout.names
    attributes["n_features_in_"] = 2
    if entities.pair_names is not None:
        attributes["feature_names_in_"] = entities.pair_names
    attributes["_pairs"] = replace(entities, terms=outcome.model.asked)
    return publish(estimator, {**attributes, **more})
