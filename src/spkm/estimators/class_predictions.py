"""From scores to classes, labels and probabilities: the methods of classifiers of one table."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import TableLike
from spkm._methods import available_if
from spkm._namespaces import returned_like_X
from spkm.core.decisions import decision, log_probabilities, probabilities
from spkm.estimators.base import ReadsModel
from spkm.losses import Loss


def has_probabilities(estimator: BaseEstimator) -> bool:
    """Whether the loss of a classifier gives probabilities."""
    if "model_" in vars(estimator):
        return estimator.model_.loss.has_probabilities
    loss = estimator.get_params(deep=False).get("loss", "auto")  # that of ordered classes is no parameter
    return loss in ("auto", "log") if isinstance(loss, str) else isinstance(loss, Loss) and loss.has_probabilities


class PredictsProbabilities(ReadsModel):
    """Predictions of classes or labels and their probabilities, from the scores of ``model_``."""

    @returned_like_X
    def predict(self, X: TableLike) -> np.ndarray:
        """Return the most likely label of every sample of ``X``, or a matrix that indicates its labels."""
        check_is_fitted(self)
        return self.model_.target.decode(decision(self.model_, self._scores(X)))

    @available_if(has_probabilities)
    @returned_like_X
    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Return the probability of every class, or label; only where the loss gives them ("log").

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            They sum to one over classes, which are in the order of ``classes_``. With ``multi_class="ovr"`` they are
            those of the binary problems over their sum; with "ovo" those that agree best with the pairs (Wu, Lin and
            Weng 2004, second method), of which the largest need not be the class with most votes where a sample is in
            doubt.
        """
        check_is_fitted(self)
        return probabilities(self.model_, self._scores(X))

    @available_if(has_probabilities)
    @returned_like_X
    def predict_log_proba(self, X: TableLike) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`, finite also where a probability rounds to zero."""
        check_is_fitted(self)
        return log_probabilities(self.model_, self._scores(X))


class PredictsClasses(PredictsProbabilities):
    """Predictions of classes or labels with a score for each, from the scores of ``model_``."""

    multi_class: Any = "joint"

    @returned_like_X
    def decision_function(self, X: TableLike) -> np.ndarray:
        """Return the scores f(x).

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            One score for two classes, positive for ``classes_[1]``; else one for each class. With ``multi_class="ovo"``
            these are votes, at most ``n_classes - 1``: the probability of the class in each of its pairs, times that
            of the pair. Losses without probabilities give 1 / (1 + exp(-6 f)) in their place. An indicator matrix
            has one for each label, positive if it is there.
        """
        check_is_fitted(self)
        scores = decision(self.model_, self._scores(X))
        return scores if self.model_.target.two_dimensional else scores[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.multi_class != "ovo"
        return tags
