"""A transformer that keeps the features a kernel problem needs, for a pipeline before another model."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import RandomState, TableLike, TargetLike, WeightLike
from spkm._methods import Saves
from spkm._publish import feature_names, publish
from spkm.estimators.base import ReadsModel
from spkm.estimators.cv import SPKMClassifierCV, SPKMRegressorCV
from spkm.estimators.false_discoveries import controlled_selection
from spkm.tables.read import holds_labels, is_tables, read_like


class SPKMSelector(SelectorMixin, MetaEstimatorMixin, Saves, BaseEstimator):
    """Keep the features of a strict selection.

    Parameters
    ----------
    estimator : SPKM estimator, default=None
        With ``selection="strict"``; of several binary problems, the features that any of them needs are kept. None is
        :class:`SPKMClassifierCV` for labels and :class:`SPKMRegressorCV` for real targets.
    max_features : int, default=None
        Most features that are kept; None leaves it to the estimator.
    fdr : float, default=None
        The false discovery rate, **if the features have a Gaussian copula**: the expected share of kept features that
        carry no information about the targets beyond the other features is then at most this. Each feature is compared
        with a knockoff, a copy that depends on the other features as the original does, but not on the targets. The
        copies are those of a Gaussian copula with estimated correlations, and a warning says if features depend on
        each other otherwise. Fewer than 1 / fdr features are never selected, so the result may be empty. An estimator,
        if one is given, compares by its ``feature_importances_``; None takes an additive model with products of pairs,
        fitted in less than a second.
    knockoff_offset : {1, 0}, default=1
        With ``fdr``: 0 can select a single feature. Its promise is weaker: with V false features among R selected ones,
        the expectation of V / (R + 1 / fdr), and not that of V / R, is at most ``fdr``.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the copies; of an estimator that is made here, too.

    Attributes
    ----------
    estimator_ : object
        The fitted estimator; not with ``fdr``.
    support_ : ndarray of bool of shape (n_features_in_,)
        With ``fdr``: the features that are kept.
    knockoff_statistics_ : ndarray of shape (n_features_in_,)
        With ``fdr``: how much more important each feature is than its copy. Features without a part in the targets
        are as often below zero as above.
    knockoff_threshold_ : float
        With ``fdr``: from where on features are kept; infinite if none is.
    knockoff_misfit_ : float
        With ``fdr``: how far the copies are from what the promise assumes. Copies of features with a Gaussian copula
        stay below 1 with probability 0.99.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = SPKMSelector(SPKMClassifier(kernel="linear", selection="strict", random_state=0), max_features=2)
    >>> selector.fit_transform(X[:100, :4], y[:100]).shape[1] <= 2
    True
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((300, 40))
    >>> selector = SPKMSelector(fdr=0.1, random_state=0).fit(X, X[:, :12].sum(axis=1))
    >>> bool(selector.get_support()[:12].all())  # at most about a tenth of all selected are false
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        max_features: int | None = None,
        fdr: float | None = None,
        knockoff_offset: Literal[0, 1] = 1,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.max_features = max_features
        self.fdr = fdr
        self.knockoff_offset = knockoff_offset
        self.random_state = random_state

    def fit(self, X: TableLike, y: TargetLike, sample_weight: WeightLike = None) -> Self:
        """Find the features.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        estimator = self.estimator
        if estimator is not None and (not isinstance(estimator, ReadsModel) or estimator.selection != "strict"):
            raise ValueError(
                f"estimator must be an SPKM estimator with selection='strict', or None; got {estimator!r}."
            )
        if self.fdr is not None:
            if self.max_features is not None:
                raise ValueError("max_features and fdr exclude one another: either a number of features or a rate.")
            return publish(self, controlled_selection(self, X, y, sample_weight))
        if estimator is None:
            estimator = (SPKMClassifierCV if holds_labels(y) else SPKMRegressorCV)(random_state=self.random_state)
        fitted = clone(estimator)
        if self.max_features is not None:
            if estimator.multi_class != "joint":
                raise ValueError(
                    f"max_features is a limit for each binary problem with multi_class={estimator.multi_class!r}, not "
                    "for all features that are kept. Use multi_class='joint', or set max_features of the estimator."
                )
            fitted.set_params(max_features=self.max_features)
        fitted.fit(X, y, sample_weight=sample_weight)
        attributes = {"estimator_": fitted, "n_features_in_": fitted.n_features_in_, "_tables": fitted._tables}
        if feature_names(fitted) is not None:
            attributes["feature_names_in_"] = fitted.feature_names_in_
        return publish(self, attributes)

    def transform(self, X: TableLike) -> Any:
        """Return the kept features of X.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of tables
            Samples; a dict of tables, as in the fit, becomes one array.

        Returns
        -------
        X : array or frame
            The features that were kept.
        """
        return super().transform(read_like(self, X) if is_tables(X) else X)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_ if "support_" in vars(self) else self.estimator_.get_support()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
