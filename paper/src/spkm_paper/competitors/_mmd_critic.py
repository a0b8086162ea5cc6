"""Nearest prototype, with prototypes that are as a whole like the samples: MMD-critic."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import pairwise_distances_argmin

from spkm._checks import check_choice, check_integer
from spkm_paper.competitors._bandwidth import resolved_gamma
from spkm_paper.competitors._mmd import RowsKernel, greedy_criticisms, greedy_prototypes
from spkm_paper.competitors._rows import labelled_rows, rows_like_fitted


class MMDCriticClassifier(ClassifierMixin, BaseEstimator):
    """Label of the nearest prototype, where prototypes are samples that greedily minimise the mean discrepancy to all.

    Parameters
    ----------
    n_prototypes : int, default=10
        Number of prototypes; all samples where there are fewer, with a warning.
    gamma : float, {"mean", "median", "scale"}, default="mean"
        Of the kernel exp(-gamma |x - u|^2). "mean" and "median" are 1 / (2 t^2) for that distance t of samples, "scale"
        is as in :class:`sklearn.svm.SVC`. Features are taken as they are: standardise them first.
    kernel_scope : {"local", "global"}, default="local"
        - "local": the kernel of samples of different classes is zero, so that every class is represented by its own
          prototypes, in numbers that follow from the objective;
        - "global": the kernel as it is; labels are looked at only when a new sample gets that of its nearest prototype.
    n_criticisms : int, default=0
        Number of criticisms: samples that the prototypes represent badly, and that differ from one another. They are to
        look at, and take no part in predictions. No more than there are samples beside the prototypes.

    Attributes
    ----------
    prototypes_ : ndarray or CSR of shape (n_prototypes, n_features_in_)
        The prototypes, in the order of their choice: the first m are those of a fit of m.
    prototype_indices_ : ndarray of int of shape (n_prototypes,)
        Which samples they are.
    prototype_labels_ : ndarray of shape (n_prototypes,)
        Their labels. With few prototypes some class may have none; it is then never predicted.
    objective_path_ : ndarray of shape (n_prototypes,)
        After each prototype, mean_ij k(x_i, x_j) - MMD^2, which is maximised.
    mmd_path_ : ndarray of shape (n_prototypes,)
        After each prototype, the maximum mean discrepancy between the prototypes and all samples.
    criticisms_, criticism_indices_
        As for prototypes.
    gamma_ : float
        The kernel's gamma, as a number.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    The time is that of all entries of the kernel, O(n^2 d); the memory is O(n) beside X, and O(n n_criticisms) where
    criticisms are asked for. There are no sample weights and nothing is random.

    The objective rises with every prototype where the kernel is narrow. A wide one, such as that of the mean distance,
    is met by few prototypes so well that one more, which must be another sample, can make it a little worse. The
    authors' bound on what the greedy choice loses, 1/e of a submodular objective, is for very narrow kernels.

    References
    ----------
    Kim, Khanna, Koyejo: Examples are not enough, learn to criticize! Criticism for interpretability. Advances in Neural
    Information Processing Systems 29, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = MMDCriticClassifier(n_prototypes=8, gamma=2.0).fit(X, y)
    >>> model.prototypes_.shape, bool(model.score(X, y) > 0.9)
    ((8, 2), True)
    """

    def __init__(
        self,
        n_prototypes: int = 10,
        *,
        gamma: Any = "mean",
        kernel_scope: str = "local",
        n_criticisms: int = 0,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.gamma = gamma
        self.kernel_scope = kernel_scope
        self.n_criticisms = n_criticisms

    def fit(self, X: Any, y: Any) -> MMDCriticClassifier:
        """Choose prototypes, and criticisms if asked for.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        check_integer("n_prototypes", self.n_prototypes, 1)
        check_choice("kernel_scope", self.kernel_scope, ("local", "global"))
        check_integer("n_criticisms", self.n_criticisms, 0)
        X, codes = labelled_rows(self, X, y, fewest_classes=1)
        self.gamma_ = resolved_gamma(self.gamma, X)
        kernel = RowsKernel(X, self.gamma_, codes if self.kernel_scope == "local" else np.zeros_like(codes))
        n_prototypes = self._at_most("n_prototypes", len(codes), "rows of X")
        found = greedy_prototypes(kernel, n_prototypes)
        n_criticisms = self._at_most("n_criticisms", len(codes) - n_prototypes, "rows of X beside the prototypes")
        self.prototype_indices_ = found.rows
        self.prototypes_ = X[found.rows]
        self.prototype_labels_ = self.classes_[codes[found.rows]]
        self.objective_path_ = found.objective
        self.mmd_path_ = found.mmd
        self.criticism_indices_ = greedy_criticisms(kernel, found, n_criticisms)
        self.criticisms_ = X[self.criticism_indices_]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the nearest prototype, of equally near ones the first that was chosen.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels.
        """
        X = rows_like_fitted(self, X)
        # Prototypes are few: dense samples are compared with dense ones, sparse with sparse.
        U = self.prototypes_
        if sparse.issparse(U) and not sparse.issparse(X):
            U = U.toarray()
        elif sparse.issparse(X) and not sparse.issparse(U):
            U = sparse.csr_array(U)
        return self.prototype_labels_[pairwise_distances_argmin(X, U)]

    def _at_most(self, name: str, there_are: int, what: str) -> int:
        wanted = int(getattr(self, name))
        if wanted > there_are:
            warnings.warn(
                f"{name}={wanted} is more than the {there_are} {what}: {there_are} are taken.",
                UserWarning,
                stacklevel=3,
            )
        return min(wanted, there_are)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
