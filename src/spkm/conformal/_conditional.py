"""Conformal prediction that holds near every basis vector, and not on average alone.

Coverage weighted by any function of a chosen family is that which was asked for: with the family 1, k(x, u_1), ...,
k(x, u_R) of a kernel machine it holds for all samples, and for those that resemble each basis vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from spkm._arrays import RandomState, TableLike
from spkm._checks import check_choice, generator
from spkm.conformal._path import Regression
from spkm.conformal._scores import Levels, levels_of
from spkm.conformal._split import OfClasses, OfNumbers, SplitConformal
from spkm.tables.pipelines import before_last, last_of

RANK = 1e-6  # of the largest singular value, below which a direction of the features is none
TIES = 1e-9  # of the spread of the scores, by which ties are broken


class _ConditionalConformal(SplitConformal):
    """Thresholds of scores that depend on the sample, by quantile regression on features."""

    features: Any
    randomize: bool
    random_state: Any

    def _keep(self, X: Any, scores: np.ndarray) -> None:
        check_choice("randomize", self.randomize, (True, False))
        levels = levels_of(self.confidence_level)
        Phi = self._features(X)
        if len(Phi) != len(scores):
            raise ValueError(f"features must return a row for each of the {len(scores)} samples; got {len(Phi)}.")
        _, size, axes = np.linalg.svd(Phi, full_matrices=False)
        kept = size > RANK * size[0]
        rotation = axes[kept].T * (np.sqrt(len(Phi)) / size[kept])
        least = int(np.ceil(kept.sum() / min(1 - levels.max(), levels.min())))
        if len(scores) < least:
            raise ValueError(
                f"{kept.sum()} features at a level of {levels.max():g} need at least {least} samples that the model "
                f"has not learned from; got {len(scores)}. Give more samples, or a model of fewer basis vectors."
            )
        spread = float(np.ptp(scores)) or 1.0
        apart = scores + TIES * spread * np.random.default_rng(0).uniform(-0.5, 0.5, len(scores))
        P = Phi @ rotation
        self.regressions_ = [Regression.of(P, apart, level) for level in levels]
        self.rotation_ = rotation
        self.conformity_scores_ = scores
        self._slack = TIES * spread

    def predict_cutoff(self, X: TableLike) -> np.ndarray:
        """Return the largest score that is accepted for each sample.

        Parameters
        ----------
        X : what the estimator takes
            Samples.

        Returns
        -------
        cutoffs : ndarray of shape (n_samples, n_levels)
            Thresholds; infinite if there are too few samples like this one to say anything. Scores are never negative,
            so neither are thresholds, unless random numbers decide: then a negative one accepts nothing.
        """
        self._check_scored()
        P = self._features(X) @ self.rotation_
        rng = generator(self.random_state)
        found = np.empty((len(P), len(self.regressions_)))
        for k, regression in enumerate(self.regressions_):
            level = regression.level  # the end of the range of t; a random one makes coverage exact
            at = rng.uniform(level - 1.0, level, len(P)) if self.randomize else np.full(len(P), level)
            found[:, k] = [regression.cutoff(row, t) for row, t in zip(P, at, strict=True)]
        # A regression on features may fall below all scores. Zero accepts more than that, so the guarantee stays.
        return found + self._slack if self.randomize else np.maximum(found, 0.0) + self._slack

    _cutoffs = predict_cutoff

    def _features(self, X: Any) -> np.ndarray:
        """Return a one and the features of every sample, (n, p)."""
        model = self._model()
        if self.features is not None:
            found = np.asarray(self.features(X), dtype=float)
            found = found.reshape(len(found), -1)
        else:
            held = vars(last_of(model)).get("model_")  # users may wrap any estimator
            if held is None:
                raise ValueError("features must be a function of X where the estimator is none of this library.")
            rows = last_of(model)._rows(before_last(model, X))
            found = np.asarray(held.similarities(rows)[:, held.vector_rows], dtype=float)
        if not np.isfinite(found).all():
            raise ValueError("features must be finite.")
        return np.hstack([np.ones((len(found), 1)), found])


class ConditionalConformalRegressor(OfNumbers, _ConditionalConformal):
    """Prediction intervals that hold the target as often as asked for near every basis vector.

    For every weighting w(x) = a_0 + sum_r a_r k(x, u_r) with w >= 0, the target of a new sample that is drawn in
    proportion to w lies in its interval with probability ``confidence_level`` or more: on average (a_0 alone), and
    among samples like u_r, for each r. It holds for finitely many samples and any distribution, if samples are
    exchangeable and the basis vectors come from other samples than those of :meth:`conformalize`.

    Parameters
    ----------
    estimator : regressor, default=None
        A fitted regressor of this library, or a pipeline that ends with one; with ``features`` any regressor. None is
        :class:`spkm.SPKMRegressor`, which needs ``prefit=False``.
    confidence_level : float or list of float, default=0.9
        How often intervals should hold the target.
    conformity_score : {"absolute", "residual_normalized"}, default="absolute"
        As in :class:`SplitConformalRegressor`; either way widths follow the samples.
    features : callable, default=None
        Function from samples to an array (n_samples, p) whose linear combinations are the weightings, such as
        indicators of groups. None are the similarities k(x, u_r) to the basis vectors.
    randomize : bool, default=False
        Whether a random number of each new sample decides about scores at the edge: coverage is then the level
        exactly. Without it intervals hold the target at least as often, by up to (p + 1) / (n + 1) more.
    random_state : int, Generator or None, default=None
        Source of these random numbers.
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
    Gibbs, Cherian, Candès: Conformal prediction with conditional guarantees, JRSS B 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMRegressor
    >>> from spkm.conformal import ConditionalConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(600, 1))
    >>> y = np.sin(X[:, 0]) + (0.05 + 0.3 * (X[:, 0] > 0)) * rng.normal(size=600)
    >>> model = SPKMRegressor(4, random_state=0).fit(X[:200], y[:200])
    >>> conformal = ConditionalConformalRegressor(model).conformalize(X[200:], y[200:])
    >>> _, intervals = conformal.predict_interval([[-1.0], [1.0]])
    >>> widths = np.diff(intervals[:, :, 0], axis=1)[:, 0]
    >>> bool(widths[1] > 2 * widths[0])                       # noise is larger on the right
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Levels = 0.9,
        conformity_score: Literal["absolute", "residual_normalized"] = "absolute",
        features: Callable[[Any], Any] | None = None,
        randomize: bool = False,
        random_state: RandomState = None,
        prefit: bool = True,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.features = features
        self.randomize = randomize
        self.random_state = random_state
        self.prefit = prefit


class ConditionalConformalClassifier(OfClasses, _ConditionalConformal):
    """Sets of classes that hold the class as often as asked for near every basis vector.

    The guarantee is that of :class:`ConditionalConformalRegressor`.

    Parameters
    ----------
    estimator : classifier, default=None
        A fitted classifier of this library with probabilities, or a pipeline that ends with one; with ``features`` any
        classifier with ``predict_proba``. None is :class:`spkm.SPKMClassifier`, which needs ``prefit=False``.
    confidence_level, features, randomize, random_state, prefit
        As in :class:`ConditionalConformalRegressor`.
    conformity_score : {"lac", "aps"}, default="lac"
        As in :class:`SplitConformalClassifier`.

    Attributes
    ----------
    estimator_ : classifier
        With ``prefit=False``: the fitted copy.
    classes_ : ndarray
        The classes, in the order of the sets' second axis.
    conformity_scores_ : ndarray of shape (n_samples,)
        Scores of the samples given to :meth:`conformalize`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.conformal import ConditionalConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(3, random_state=0).fit(X[::3], y[::3])
    >>> conformal = ConditionalConformalClassifier(model).conformalize(X[1::3], y[1::3])
    >>> labels, sets = conformal.predict_set(X[2::3])
    >>> sets.shape
    (50, 3, 1)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Levels = 0.9,
        conformity_score: Literal["lac", "aps"] = "lac",
        features: Callable[[Any], Any] | None = None,
        randomize: bool = False,
        random_state: RandomState = None,
        prefit: bool = True,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.features = features
        self.randomize = randomize
        self.random_state = random_state
        self.prefit = prefit
