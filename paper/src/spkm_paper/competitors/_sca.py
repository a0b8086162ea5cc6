"""An SVM with fewer support vectors: the separable case approximation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC

from spkm._checks import check_choice, check_real
from spkm_paper.competitors._bandwidth import resolved_gamma
from spkm_paper.competitors._rows import labelled_rows, rows_like_fitted


class SCAClassifier(ClassifierMixin, BaseEstimator):
    """RBF SVM of samples made separable: the separable case approximation.

    An SVM is fitted, samples that it gets wrong are relabelled or removed, and a second one is fitted to what is then
    separable, with a C so large that its margin is hard. Samples inside the margin of the first, and those on the wrong
    side, are no longer support vectors; the boundary stays close to where it was.

    Parameters
    ----------
    C : float, default=1.0
        Of the first SVM.
    gamma : float, {"mean", "median", "scale"}, default="mean"
        Of the kernel exp(-gamma |x - u|^2). "mean" and "median" are 1 / (2 t^2) for that distance t of samples, "scale"
        is as in :class:`sklearn.svm.SVC`. Features are taken as they are: standardise them first.
    misclassified : {"relabel", "remove"}, default="relabel"
        What is done with samples that the first SVM gets wrong: they get the label that it gives them, or are left out.
    separating_C : float, default=1e6
        Of the second SVM.

    Attributes
    ----------
    support_ : ndarray of int of shape (n_vectors,)
        Which of the training samples are support vectors.
    support_vectors_ : ndarray or CSR of shape (n_vectors, n_features_in_)
        The support vectors.
    n_support_ : ndarray of int of shape (n_classes,)
        Their numbers, by class.
    dual_coef_ : ndarray or CSR of shape (n_classes - 1, n_vectors)
        Their weights; of more than two classes in the layout of :class:`sklearn.svm.SVC`, one against one.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Constants of the scores.
    svm_ : SVC
        The first SVM.
    reduced_ : bool
        Whether the second one is used. It is not where the first gives some class to no sample (or, with "remove", gets
        none of its samples right), as happens at small C: the first one then stays.
    gamma_ : float
        The kernel's gamma, as a number.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    With more than two classes samples are cleaned once, by the votes of all pairs of classes, and every pair is
    separated anew. There are no sample weights, and nothing is random.

    References
    ----------
    Geebelen, Suykens, Vandewalle: Reducing the number of support vectors of SVM classifiers using the smoothed
    separable case approximation. IEEE Transactions on Neural Networks and Learning Systems 23, 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.3, random_state=0)
    >>> model = SCAClassifier(gamma=2.0).fit(X, y)
    >>> bool(model.n_support_.sum() < model.svm_.n_support_.sum() / 2), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        gamma: Any = "mean",
        misclassified: str = "relabel",
        separating_C: float = 1e6,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.misclassified = misclassified
        self.separating_C = separating_C

    def fit(self, X: Any, y: Any) -> SCAClassifier:
        """Fit an SVM, make the samples separable and fit another.

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
        check_real("C", self.C, strict=True)
        check_choice("misclassified", self.misclassified, ("relabel", "remove"))
        check_real("separating_C", self.separating_C, strict=True)
        X, codes = labelled_rows(self, X, y)
        self.gamma_ = resolved_gamma(self.gamma, X)
        self.svm_ = SVC(C=self.C, gamma=self.gamma_).fit(X, codes)
        found = self.svm_.predict(X)
        kept = np.arange(len(codes)) if self.misclassified == "relabel" else np.flatnonzero(found == codes)
        self.reduced_ = len(np.unique(found[kept])) == len(self.classes_)
        if self.reduced_:
            self._machine = SVC(C=self.separating_C, gamma=self.gamma_).fit(X[kept], found[kept])
        else:
            self._machine, kept = self.svm_, np.arange(len(codes))
        self.support_ = kept[self._machine.support_]
        self.support_vectors_ = self._machine.support_vectors_
        self.n_support_ = self._machine.n_support_
        self.dual_coef_ = self._machine.dual_coef_
        self.intercept_ = self._machine.intercept_
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of samples.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes that of the second, which is predicted where it is above zero; of more one for each, made of
            votes as in :class:`sklearn.svm.SVC`.
        """
        rows = rows_like_fitted(self, X)
        return self._machine.decision_function(rows)

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
        rows = rows_like_fitted(self, X)
        return self.classes_[self._machine.predict(rows)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
