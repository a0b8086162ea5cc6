"""Cross-conformal prediction: a model for each fold, which judges the samples it has not learned from.

**What is proved**, for n exchangeable samples in K folds of m = n / K samples, at the level 1 - a, on average over
samples and new ones:

- CV+ ("plus", and sets of classes): 1 - 2a - min(2 (1 - 1/K) / (m + 1), (1 - K/n) / (K + 1)), by Barber, Candes,
  Ramdas and Tibshirani (2021, theorem 4) and Romano, Sesia and Candes (2020, theorem 2). The last term is below
  sqrt(2 / n).
- "minmax": ceil((1 - a)(n + 1)) / (n + m), which is at least (1 - a)(n + 1) / (n + n/K). For leave-one-out, m = 1, it
  is the level (Barber et al., theorem 3).

Proof of the second. Add the new sample and m - 1 more to make fold K + 1, and let R(i, k) be the score of sample i
under the model that has learned neither from the fold of i nor from fold k. A target above its interval is, for at
least r = ceil((1 - a)(n + 1)) samples i, above the end max_k of prediction + R(i, K + 1) units of all folds k, so
that R(new, k) > R(i, K + 1) for all k <= K; the same holds below. Let M(i) be the least of R(i, k) over k. Then
M(new) > R(i, K + 1) >= M(i) for r samples i. The n + m values M are exchangeable, so that the new one exceeds r
others with probability at most 1 - r / (n + m).

If K does not divide n the formulas are taken at the largest fold, and hold but for the difference of one sample between
folds. Stratified folds depend on the classes, and the theorem needs folds that do not.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable

from spkm._arrays import TableLike, TargetLike, label_places
from spkm._checks import check_choice
from spkm.conformal._scores import Levels, Residuals, levels_of, ranks_of
from spkm.conformal._split import Conformal, OfClasses, OfNumbers
from spkm.estimators.parameters import SplitsLike


class _CrossConformal(Conformal):
    """A model of all samples, one for each fold, and the scores of samples that theirs has not learned from."""

    cv: SplitsLike
    estimators_: list[Any]
    _fold_of: np.ndarray
    _scores: Any
    _scored_by = "fit_conformalize"

    def fit_conformalize(
        self, X: TableLike, y: TargetLike, groups: Any = None, fit_params: dict[str, Any] | None = None
    ) -> Self:
        """Fit the models of all folds, and score every sample by the one that has not learned from it.

        Parameters
        ----------
        X, y : what the estimator takes
            Samples and targets.
        groups : array-like of shape (n_samples,), default=None
            Groups for ``cv``.
        fit_params : dict, default=None
            Further arguments of the estimator's ``fit``; ``sample_weight``, also that of a step of a pipeline
            (``svc__sample_weight``), is split as the samples are.

        Returns
        -------
        self : object
            The object, ready to predict intervals or sets.
        """
        by, params = self._scores(y), dict(fit_params or {})
        targets = by.targets(y)
        ranks_of(self.confidence_level, len(targets))
        X, targets, groups = indexable(X, targets, groups)
        folds = check_cv(self.cv, targets, classifier=isinstance(self, ClassifierMixin))
        splits = list(folds.split(X, targets, groups))
        fold_of = self._folds([test for _, test in splits], len(targets))
        models, scores = [], np.empty(len(targets))
        for train, test in splits:
            own = dict(params)
            for name in own:
                if name.rpartition("__")[2] == "sample_weight" and own[name] is not None:
                    own[name] = _safe_indexing(own[name], train)
            models.append(clone(self._first()).fit(_safe_indexing(X, train), targets[train], **own))
            scores[test] = by.of(models[-1], _safe_indexing(X, test), targets[test])
        whole = clone(self._first()).fit(X, targets, **params)
        self.estimator_, self.estimators_, self._fold_of, self.conformity_scores_ = whole, models, fold_of, scores
        return self

    def _folds(self, tests: list[np.ndarray], n: int) -> np.ndarray:
        """Return the fold that holds each of n samples out."""
        fold_of = np.full(n, -1)
        for k, test in enumerate(tests):
            if (fold_of[test] >= 0).any():
                raise ValueError(f"cv must hold every sample out once; {self.cv!r} holds some out more than once.")
            fold_of[test] = k
        if (fold_of < 0).any():
            raise ValueError(
                f"cv must hold every sample out once; {self.cv!r} never holds out {int((fold_of < 0).sum())} of them."
            )
        return fold_of

    def _model(self) -> Any:
        self._check_scored()
        return self.estimator_

    @property
    def guaranteed_coverage_(self) -> np.ndarray:
        """The least coverage that is proved, for each level."""
        self._check_scored()
        return self._proved(levels_of(self.confidence_level), np.bincount(self._fold_of))

    def _proved(self, levels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return the least coverage that is proved for CV+ with folds of the given sizes, never below 0."""
        n, n_folds = int(sizes.sum()), len(sizes)
        lost = min(2 * (1 - 1 / n_folds) / (int(sizes.max()) + 1), (1 - n_folds / n) / (n_folds + 1))
        return np.maximum(2 * levels - 1 - lost, 0.0)


class CrossConformalRegressor(OfNumbers, _CrossConformal):
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
        "plus" (CV+) adds the residual of every sample to the prediction of the model that has not learned from that
        sample. It covers about the level in practice; :attr:`guaranteed_coverage_` has what is proved, about
        2 level - 1. "minmax" takes the outermost ends of all folds, so that its intervals are wider; proved is
        level (n + 1) / (n + n / K) for n samples in K folds, which is the level itself for leave-one-out alone. "base"
        puts the quantile of residuals around the prediction of the model of all samples, without a guarantee.
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
    guaranteed_coverage_ : ndarray of shape (n_levels,)
        The least probability that a new target is held, as far as it is proved, for each level.

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
        confidence_level: Levels = 0.9,
        conformity_score: Literal["absolute", "residual_normalized"] = "absolute",
        method: Literal["plus", "base", "minmax"] = "plus",
        cv: SplitsLike = 5,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.method = method
        self.cv = cv

    def _intervals(self, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        if self.method == "base":
            return super()._intervals(X)
        by, n = self._scores(), len(self.conformity_scores_)
        ranks = ranks_of(self.confidence_level, n)
        predictions = by.expected(self.estimator_, X)[0]
        by_fold = [by.expected(model, X) for model in self.estimators_]
        centre, unit = (np.stack(part) for part in zip(*by_fold, strict=True))  # (folds, n_samples)
        ends = np.empty((len(predictions), 2, len(ranks)))
        for i in range(len(predictions)):  # a sample at a time: nothing of (n_samples, n) is held
            below, above = self._ends(centre[:, i], unit[:, i])
            ends[i] = np.sort(below)[n - ranks], np.sort(above)[ranks - 1]
        return predictions, ends

    def _ends(self, centre: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends that every score, (n,), gives the interval of one sample, from the folds' predictions."""
        if self.method == "plus":
            centre, spread = centre[self._fold_of], self.conformity_scores_ * unit[self._fold_of]
            return centre - spread, centre + spread
        spread = unit[:, None] * self.conformity_scores_
        return (centre[:, None] - spread).min(axis=0), (centre[:, None] + spread).max(axis=0)

    def _scores(self, y: object = None) -> Residuals:
        check_choice("method", self.method, ("base", "plus", "minmax"))
        return super()._scores(y)

    def _proved(self, levels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        if self.method == "plus":
            return super()._proved(levels, sizes)
        n = int(sizes.sum())
        return ranks_of(levels, n) / (n + int(sizes.max())) if self.method == "minmax" else np.zeros(len(levels))


class CrossConformalClassifier(OfClasses, _CrossConformal):
    """Sets of classes by cross-validation, from all samples.

    A class is in the set of a new sample unless its score is above those of a share ``confidence_level`` of the
    samples, each compared under the model that has not learned from it. Sets hold the class about as often as the
    level says; what is proved is about 2 level - 1: :attr:`guaranteed_coverage_`.

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
    guaranteed_coverage_ : ndarray of shape (n_levels,)
        The least probability that the class of a new sample is in its set, as far as it is proved, for each level.

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
        self,
        estimator: Any = None,
        *,
        confidence_level: Levels = 0.9,
        conformity_score: Literal["lac", "aps"] = "lac",
        cv: SplitsLike = 5,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.cv = cv

    def _sets(self, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        by = self._scores()
        smaller: Any = 0
        for k, model in enumerate(self.estimators_):
            known = np.sort(self.conformity_scores_[self._fold_of == k])
            smaller = smaller + np.searchsorted(known, by.of_all(model, X))
        labels = self.estimator_.predict(X)
        sets = smaller[:, :, None] < ranks_of(self.confidence_level, len(self.conformity_scores_))
        return labels, by.with_members(sets, label_places(self.classes_, labels))
