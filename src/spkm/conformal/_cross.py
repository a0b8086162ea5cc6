"""Cross-conformal prediction: a model for each fold, which judges the samples it has not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable

from spkm._checks import check_choice
from spkm.conformal._scores import (
    CLASS_SCORES,
    REGRESSION_SCORES,
    check_scored,
    class_scores,
    levels_of,
    place_of,
    rank_of,
    targets_of,
    widths,
)
from spkm.estimators import SPKMClassifier, SPKMRegressor

METHODS = ("base", "plus", "minmax")


def fitted_folds(
    estimator: Any, cv: Any, X: Any, y: np.ndarray, groups: Any, fit_params: dict[str, Any] | None, classifier: bool
) -> tuple[list[Any], list[np.ndarray], np.ndarray]:
    """Return a model for each fold, the samples it has not learned from, and the fold of every sample.

    Of the arguments of ``fit``, ``sample_weight`` is split as the samples are; all others are passed on as they are.
    """
    X, y, groups = indexable(X, y, groups)
    models, held_out = [], []
    fold_of = np.full(len(y), -1)
    for k, (train, test) in enumerate(check_cv(cv, y, classifier=classifier).split(X, y, groups)):
        if (fold_of[test] >= 0).any():
            raise ValueError(f"cv must hold every sample out once; {cv!r} holds some out more than once.")
        fold_of[test] = k
        params = dict(fit_params or {})
        if params.get("sample_weight") is not None:
            params["sample_weight"] = _safe_indexing(params["sample_weight"], train)
        models.append(clone(estimator).fit(_safe_indexing(X, train), y[train], **params))
        held_out.append(test)
    if (fold_of < 0).any():
        raise ValueError(
            f"cv must hold every sample out once; {cv!r} never holds out {int((fold_of < 0).sum())} of them."
        )
    return models, held_out, fold_of


class _CrossConformal(BaseEstimator):
    """A model of all samples, one for each fold, and the scores of samples that theirs has not learned from."""

    estimator_: Any
    estimators_: list[Any]
    conformity_scores_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions of the model of all samples.

        Parameters
        ----------
        X : what the estimator takes
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        check_scored(self, "fit_conformalize")
        return self.estimator_.predict(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "conformity_scores_")


class CrossConformalRegressor(RegressorMixin, _CrossConformal):
    """Prediction intervals by cross-validation, from all samples: CV+ and its relatives.

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor, which is copied for each fold; None is :class:`spkm.SPKMRegressor`.
    confidence_level : float or list of float, default=0.9
        How often intervals should hold the target.
    conformity_score : {"absolute", "residual_normalized"}, default="absolute"
        As in :class:`SplitConformalRegressor`.
    method : {"plus", "base", "minmax"}, default="plus"
        "plus" adds the residual of every sample to the prediction of the model that has not learned from that sample.
        It covers about the level in practice; what is proved is 2 level - 1, less a term that vanishes with the number
        of samples. "minmax" takes the outermost predictions of all folds and covers at least the level. "base" puts
        the quantile of residuals around the prediction of the model of all samples, without a guarantee.
    cv : int, splitter or iterable, default=5
        Folds that hold every sample out once. Use a splitter of groups if samples of one group must not be apart.

    Attributes
    ----------
    estimator_ : regressor
        The model of all samples, which predicts.
    estimators_ : list of regressor
        The model of each fold.
    conformity_scores_ : ndarray of shape (n_samples,)
        The score of every sample under the model that has not learned from it.

    References
    ----------
    Barber, Candès, Ramdas, Tibshirani: Predictive inference with the jackknife+, Annals of Statistics 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMRegressor
    >>> from spkm.conformal import CrossConformalRegressor
    >>> X = np.linspace(-2, 2, 80)[:, None]
    >>> conformal = CrossConformalRegressor(SPKMRegressor(3, random_state=0), cv=4).fit_conformalize(X, np.sin(X[:, 0]))
    >>> conformal.predict_interval(X[:5])[1].shape
    (5, 2, 1)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Any = 0.9,
        conformity_score: str = "absolute",
        method: str = "plus",
        cv: Any = 5,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.method = method
        self.cv = cv

    def fit_conformalize(
        self, X: Any, y: Any, groups: Any = None, fit_params: dict[str, Any] | None = None
    ) -> CrossConformalRegressor:
        """Fit the models of all folds, and score every sample by the one that has not learned from it.

        Parameters
        ----------
        X, y : what the estimator takes
            Samples and targets.
        groups : array-like of shape (n_samples,), default=None
            Groups for ``cv``.
        fit_params : dict, default=None
            Further arguments of the estimator's ``fit``; ``sample_weight`` is split as the samples are.

        Returns
        -------
        self : object
            The object, ready for :meth:`predict_interval`.
        """
        check_choice("method", self.method, METHODS)
        check_choice("conformity_score", self.conformity_score, REGRESSION_SCORES)
        y = targets_of(y, "regression")
        for level in levels_of(self.confidence_level):
            rank_of(level, len(y))
        first = SPKMRegressor() if self.estimator is None else self.estimator
        models, held_out, fold_of = fitted_folds(first, self.cv, X, y, groups, fit_params, classifier=False)
        scores = np.empty(len(y))
        for model, test in zip(models, held_out, strict=True):
            predictions, units = widths(model, _safe_indexing(X, test), self.conformity_score)
            scores[test] = np.abs(y[test] - predictions) / units
        whole = clone(first).fit(X, y, **(fit_params or {}))
        self.estimator_, self.estimators_, self._fold_of, self.conformity_scores_ = whole, models, fold_of, scores
        return self

    def predict_interval(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions and their intervals.

        Parameters
        ----------
        X : what the estimator takes
            Samples.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
            The predictions of the model of all samples.
        intervals : ndarray of shape (n_samples, 2, n_levels)
            Lower and upper ends, for each confidence level.
        """
        check_scored(self, "fit_conformalize")
        check_choice("method", self.method, METHODS)
        levels = levels_of(self.confidence_level)
        n = len(self.conformity_scores_)
        ranks = [rank_of(level, n) for level in levels]
        predictions, units = widths(self.estimator_, X, self.conformity_score)
        if self.method == "base":
            half = units[:, None] * np.sort(self.conformity_scores_)[np.array(ranks) - 1]
            return predictions, np.stack([predictions[:, None] - half, predictions[:, None] + half], axis=1)
        lower = np.empty((len(predictions), len(ranks)))
        upper = np.empty_like(lower)
        by_fold = [widths(model, X, self.conformity_score) for model in self.estimators_]
        centre, unit = (np.stack(part) for part in zip(*by_fold, strict=True))  # (folds, n_samples)
        low, high = (centre.min(axis=0), centre.max(axis=0)) if self.method == "minmax" else (None, None)
        for i in range(len(predictions)):  # a sample at a time: nothing of (n_samples, n) is held
            spread = self.conformity_scores_ * unit[self._fold_of, i]
            below = (centre[self._fold_of, i] if low is None else low[i]) - spread
            above = (centre[self._fold_of, i] if high is None else high[i]) + spread
            below.sort()
            above.sort()
            lower[i] = [below[n - rank] for rank in ranks]
            upper[i] = [above[rank - 1] for rank in ranks]
        return predictions, np.stack([lower, upper], axis=1)


class CrossConformalClassifier(ClassifierMixin, _CrossConformal):
    """Sets of classes by cross-validation, from all samples.

    A class is in the set of a new sample unless its score is above those of a share ``confidence_level`` of the
    samples, each compared under the model that has not learned from it. Sets hold the class about as often as the
    level says; what is proved is 2 level - 1, less a term that vanishes with the number of samples.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier with ``predict_proba``, which is copied for each fold; None is :class:`spkm.SPKMClassifier`.
    confidence_level : float or list of float, default=0.9
        How often sets should hold the class.
    conformity_score : {"lac", "aps"}, default="lac"
        As in :class:`SplitConformalClassifier`.
    cv : int, splitter or iterable, default=5
        Folds that hold every sample out once; a number means stratified folds.

    Attributes
    ----------
    estimator_ : classifier
        The model of all samples, which predicts.
    estimators_ : list of classifier
        The model of each fold.
    classes_ : ndarray
        The classes, in the order of the sets' second axis.
    conformity_scores_ : ndarray of shape (n_samples,)
        The score of every sample under the model that has not learned from it.

    References
    ----------
    Romano, Sesia, Candès: Classification with valid and adaptive coverage, NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.conformal import CrossConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> conformal = CrossConformalClassifier(SPKMClassifier(4, random_state=0), cv=3).fit_conformalize(X, y)
    >>> conformal.predict_set(X[:4])[1].shape
    (4, 3, 1)
    """

    def __init__(
        self, estimator: Any = None, *, confidence_level: Any = 0.9, conformity_score: str = "lac", cv: Any = 5
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.cv = cv

    def fit_conformalize(
        self, X: Any, y: Any, groups: Any = None, fit_params: dict[str, Any] | None = None
    ) -> CrossConformalClassifier:
        """Fit the models of all folds, and score every sample by the one that has not learned from it.

        Parameters
        ----------
        X, y : what the estimator takes
            Samples and classes.
        groups : array-like of shape (n_samples,), default=None
            Groups for ``cv``.
        fit_params : dict, default=None
            Further arguments of the estimator's ``fit``; ``sample_weight`` is split as the samples are.

        Returns
        -------
        self : object
            The object, ready for :meth:`predict_set`.
        """
        check_choice("conformity_score", self.conformity_score, CLASS_SCORES)
        y = targets_of(y, "classification")
        for level in levels_of(self.confidence_level):
            rank_of(level, len(y))
        first = SPKMClassifier() if self.estimator is None else self.estimator
        labels = np.unique(y)
        models, held_out, fold_of = fitted_folds(first, self.cv, X, y, groups, fit_params, classifier=True)
        scores = np.empty(len(y))
        place = place_of(y, labels)
        for model, test in zip(models, held_out, strict=True):
            scores[test] = class_scores(model, _safe_indexing(X, test), self.conformity_score, labels)[
                np.arange(len(test)), place[test]
            ]
        whole = clone(first).fit(X, y, **(fit_params or {}))
        self.estimator_, self.estimators_, self._fold_of, self.conformity_scores_ = whole, models, fold_of, scores
        self.classes_ = labels
        return self

    def predict_set(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted classes and sets of classes.

        Parameters
        ----------
        X : what the estimator takes
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The classes that the model of all samples predicts.
        sets : ndarray of bool of shape (n_samples, n_classes, n_levels)
            Which classes are in the set, for each confidence level.
        """
        check_scored(self, "fit_conformalize")
        ranks = np.array([rank_of(level, len(self.conformity_scores_)) for level in levels_of(self.confidence_level)])
        smaller: Any = 0
        for k, model in enumerate(self.estimators_):
            known = np.sort(self.conformity_scores_[self._fold_of == k])
            smaller = smaller + np.searchsorted(known, class_scores(model, X, self.conformity_score, self.classes_))
        labels = self.estimator_.predict(X)
        sets = smaller[:, :, None] < ranks
        if self.conformity_score == "aps":
            sets[np.arange(len(sets)), np.searchsorted(self.classes_, labels)] = True
        return labels, sets
