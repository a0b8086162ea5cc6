"""A regressor as a classifier: it is fitted to signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.utils import get_tags

from spkm_paper.competitors._rows import labelled_rows, rows_like_fitted


class SignClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A regressor fitted to -1 and +1, of more than two classes to one column of signs for each.

    Parameters
    ----------
    regressor : regressor, default=None
        What is fitted; for more than two classes it must take several targets. None is ridge regression.

    Attributes
    ----------
    regressor_ : regressor
        The fitted one.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SignClassifier(KernelRidge(kernel="rbf", alpha=0.1)).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(self, regressor: Any = None) -> None:
        self.regressor = regressor

    def fit(self, X: Any, y: Any) -> SignClassifier:
        """Fit the regressor to signs.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, of two classes or more.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        regressor = Ridge() if self.regressor is None else self.regressor
        if not hasattr(regressor, "fit") or isinstance(regressor, type):
            raise ValueError(f"regressor must be a regressor (not its class) or None; got {self.regressor!r}.")
        X, codes = labelled_rows(self, X, y)
        self.regressor_ = clone(regressor).fit(X, signs(codes, len(self.classes_)))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the predictions of the regressor.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes that of the second, which is predicted where it is above zero; of more one for each.
        """
        rows = rows_like_fitted(self, X)
        return self.regressor_.predict(rows)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of samples.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        regressor = Ridge() if self.regressor is None else self.regressor
        tags.input_tags.sparse = get_tags(regressor).input_tags.sparse
        return tags


def signs(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return -1 and +1 of two classes, (n,), or a column for each of more, (n, n_classes)."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
