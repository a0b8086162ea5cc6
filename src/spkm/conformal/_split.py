"""Split conformal prediction: one model, and samples that it has not learned from."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import TableLike
from spkm._checks import check_choice
from spkm.conformal._scores import Levels, Probabilities, Residuals, around, levels_of, ranks_of
from spkm.estimators import SPKMClassifier, SPKMRegressor


class Conformal(BaseEstimator):
    """Base of all that is conformal: a model that predicts, and scores of samples that it has not learned from."""

    estimator: Any
    confidence_level: Levels
    conformity_score: Any
    estimator_: Any
    conformity_scores_: np.ndarray
    #: Class of the estimator where none is given.
    _default: Any
    #: Name of the method that scores samples.
    _scored_by = "conformalize"

    @abstractmethod
    def _model(self) -> Any:
        """Return the fitted model that predicts."""

    def _first(self) -> Any:
        """Return the estimator that is copied and fitted."""
        return self._default() if self.estimator is None else self.estimator

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the predictions of the model itself.

        Parameters
        ----------
        X : what the estimator takes
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        return self._model().predict(X)

    def _cutoffs(self, X: TableLike) -> np.ndarray:
        """Return the largest score that is accepted, (n_samples or 1, n_levels)."""
        scores = np.sort(self.conformity_scores_)
        return scores[None, ranks_of(self.confidence_level, len(scores)) - 1]

    def _check_scored(self) -> None:
        """Raise NotFittedError before samples were scored."""
        if "conformity_scores_" not in vars(self):
            raise NotFittedError(f"Call {self._scored_by}(X, y) of this {type(self).__name__} first.")

    def __sklearn_is_fitted__(self) -> bool:
        return "conformity_scores_" in vars(self) or "estimator_" in vars(self)


class OfNumbers(RegressorMixin, Conformal):
    """Base of intervals: residuals up to a cutoff."""

    _default = SPKMRegressor

    def predict_interval(self, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions and their intervals.

        Parameters
        ----------
        X : what the estimator takes
            Samples.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
            The predictions of the model, of all samples where there is one for each fold.
        intervals : ndarray of shape (n_samples, 2, n_levels)
            Lower and upper ends, for each confidence level. They are infinite if there are too few samples like this
            one, and NaN if the interval is empty; both happen with conditional intervals alone, and the second with
            ``randomize=True`` alone.
        """
        self._check_scored()
        return self._intervals(X)

    def _intervals(self, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        cutoffs = self._cutoffs(X)
        predictions, units = self._scores().expected(self._model(), X)
        return predictions, around(predictions, units[:, None] * np.where(cutoffs >= 0, cutoffs, np.nan))

    def _scores(self, y: object = None) -> Residuals:
        """Return how samples are scored."""
        return Residuals(self.conformity_score)


class OfClasses(ClassifierMixin, Conformal):
    """Base of sets: classes with scores up to a cutoff."""

    _default = SPKMClassifier

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the sets' second axis."""
        return self._model().classes_

    def predict_set(self, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted classes and sets of classes.

        Parameters
        ----------
        X : what the estimator takes
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The classes that the model predicts, that of all samples where there is one for each fold.
        sets : ndarray of bool of shape (n_samples, n_classes, n_levels)
            Mask of the classes in the set, for each confidence level.
        """
        self._check_scored()
        return self._sets(X)

    def _sets(self, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        cutoffs = self._cutoffs(X)
        model, by = self._model(), self._scores()
        scores = by.of_all(model, X)
        sets = by.with_members(scores[:, :, None] <= cutoffs[:, None, :], np.argmin(scores, axis=1))
        return model.predict(X), sets

    def _scores(self, y: Any = None) -> Probabilities:
        """Return how samples are scored, by the classes of y; by those of the model without y."""
        if y is None and not is_classifier(self._model()):
            raise TypeError(
                f"A conformal classifier needs an estimator of classes; got {type(self._model()).__name__}."
            )
        return Probabilities(self.conformity_score, self.classes_ if y is None else np.unique(y))


class SplitConformal(Conformal):
    """A model and the scores of samples that it has not learned from."""

    prefit: Any
    _scores: Any

    def fit(self, X_train: Any, y_train: Any, fit_params: dict[str, Any] | None = None) -> Self:
        """Fit a copy of the estimator, with ``prefit=False``.

        Parameters
        ----------
        X_train, y_train : what the estimator takes
            Samples and targets to learn from.
        fit_params : dict, default=None
            Further arguments of the estimator's ``fit``, such as ``sample_weight``.

        Returns
        -------
        self : object
            The object; :meth:`conformalize` comes next.
        """
        if check_choice("prefit", self.prefit, (True, False)):
            raise ValueError(
                "With prefit=True the estimator is already fitted; call conformalize, or set prefit=False."
            )
        model = clone(self._first()).fit(X_train, y_train, **(fit_params or {}))
        self.__dict__.pop("conformity_scores_", None)  # they are those of another model
        self.estimator_ = model
        return self

    def conformalize(self, X_conformalize: Any, y_conformalize: Any) -> Self:
        """Score samples that the estimator has not learned from.

        Parameters
        ----------
        X_conformalize, y_conformalize : what the estimator takes
            Samples and targets that were not used to fit the estimator, nor to choose it.

        Returns
        -------
        self : object
            The object, ready to predict intervals or sets.
        """
        levels_of(self.confidence_level)
        model = self._model()
        by = self._scores()
        y = by.targets(y_conformalize)
        self._keep(X_conformalize, by.of(model, X_conformalize, y))
        return self

    def _keep(self, X: Any, scores: np.ndarray) -> None:
        """Keep the scores of samples that the model has not learned from, with all that a prediction needs of them."""
        ranks_of(self.confidence_level, len(scores))
        self.conformity_scores_ = scores

    def _model(self) -> Any:
        if not check_choice("prefit", self.prefit, (True, False)):
            check_is_fitted(self, "estimator_")
            return self.estimator_
        if self.estimator is None:
            raise ValueError(
                "prefit=True needs a fitted estimator; got None. Give one, or set prefit=False and call fit."
            )
        check_is_fitted(self.estimator)
        return self.estimator


class SplitConformalRegressor(OfNumbers, SplitConformal):
    """Prediction intervals from samples that a regressor has not learned from.

    A new target lies in its interval with probability at least ``confidence_level`` (and at most 1 / (n + 1) more, if
    no scores are tied), on average over new samples and over the n samples of :meth:`conformalize`, if all are
    exchangeable.

    Parameters
    ----------
    estimator : regressor, default=None
        Any regressor; None is :class:`spkm.SPKMRegressor`, which needs ``prefit=False``.
    confidence_level : float or list of float, default=0.9
        How often intervals should hold the target.
    conformity_score : {"absolute", "residual_normalized"}, default="absolute"
        "absolute" makes all intervals equally wide. "residual_normalized" divides residuals by the model's standard
        deviation, ``predict(X, return_std=True)``: intervals are wide where the model is unsure.
    prefit : bool, default=True
        Whether ``estimator`` is fitted already; otherwise :meth:`fit` fits a copy of it.

    Attributes
    ----------
    estimator_ : regressor
        With ``prefit=False``: the fitted copy.
    conformity_scores_ : ndarray of shape (n_samples,)
        Scores of the samples given to :meth:`conformalize`.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani, Wasserman: Distribution-free predictive inference for regression, JASA 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMRegressor
    >>> from spkm.conformal import SplitConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(300, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> model = SPKMRegressor(4, random_state=0).fit(X[:150], y[:150])
    >>> conformal = SplitConformalRegressor(model, confidence_level=0.9).conformalize(X[150:], y[150:])
    >>> predictions, intervals = conformal.predict_interval(X[:5])
    >>> intervals.shape
    (5, 2, 1)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Levels = 0.9,
        conformity_score: Literal["absolute", "residual_normalized"] = "absolute",
        prefit: bool = True,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.prefit = prefit


class SplitConformalClassifier(OfClasses, SplitConformal):
    """Sets of classes from samples that a classifier has not learned from.

    The class of a new sample is in its set with probability at least ``confidence_level``, on average over new samples
    and over those of :meth:`conformalize`, if all are exchangeable.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier with ``predict_proba``; None is :class:`spkm.SPKMClassifier`, which needs ``prefit=False``.
    confidence_level : float or list of float, default=0.9
        How often sets should hold the class.
    conformity_score : {"lac", "aps"}, default="lac"
        "lac" takes every class above one threshold of probability: the smallest sets on average, and some may be empty.
        "aps" adds classes up, the likeliest first, to a threshold: larger sets that are never empty, with a coverage
        that is more even between easy and hard samples.
    prefit : bool, default=True
        Whether ``estimator`` is fitted already; otherwise :meth:`fit` fits a copy of it.

    Attributes
    ----------
    estimator_ : classifier
        With ``prefit=False``: the fitted copy.
    classes_ : ndarray
        The classes, in the order of the sets' second axis.
    conformity_scores_ : ndarray of shape (n_samples,)
        Scores of the samples given to :meth:`conformalize`.

    References
    ----------
    Sadinle, Lei, Wasserman: Least ambiguous set-valued classifiers with bounded error levels, JASA 2019. Romano, Sesia,
    Candès: Classification with valid and adaptive coverage, NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.conformal import SplitConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(random_state=0).fit(X[::2], y[::2])
    >>> conformal = SplitConformalClassifier(model, confidence_level=[0.8, 0.95]).conformalize(X[1::2], y[1::2])
    >>> labels, sets = conformal.predict_set(X[:4])
    >>> sets.shape
    (4, 3, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Levels = 0.9,
        conformity_score: Literal["lac", "aps"] = "lac",
        prefit: bool = True,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.prefit = prefit
