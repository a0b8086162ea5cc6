"""Conformity scores, how far a target is from what a model expects, and the ranks that calibrate them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.multiclass import type_of_target

from spkm._arrays import TableLike, TargetLike, label_places
from spkm._checks import check_choice, check_real
from spkm.tables.read import known_targets

#: Confidence levels, one or several.
Levels = float | Sequence[float] | np.ndarray
LEAST_WIDTH = 1e-12  # of the largest deviation: residuals are never divided by zero


def levels_of(confidence_level: Any) -> np.ndarray:
    """Return the levels as an array, checked: each above 0 and below 1."""
    several = isinstance(confidence_level, Sequence | np.ndarray) and not isinstance(confidence_level, str)
    levels = [
        check_real("confidence_level", level, strict=True)
        for level in (confidence_level if several else [confidence_level])
    ]
    if not levels or max(levels) >= 1:
        raise ValueError(
            f"confidence_level must be a number above 0 and below 1, or several; got {confidence_level!r}."
        )
    return np.array(levels)


def ranks_of(confidence_level: Any, n: int) -> np.ndarray:
    """Return for each level the rank among n scores whose value a new score stays below with that probability.

    A new score is equally likely to have any rank among itself and n others, so the ceil(level (n + 1))-th smallest of
    these n will do.
    """
    levels = levels_of(confidence_level)
    ranks = np.ceil(levels * (n + 1) - 1e-9).astype(int)  # 0.9 * 20 is 18, also in floating point
    for level in levels[ranks > n]:
        raise ValueError(
            f"confidence_level={level:g} needs at least {int(np.ceil(level / (1 - level) - 1e-9))} samples that the "
            f"model has not learned from; got {n}. Give more samples, or a lower confidence_level."
        )
    return ranks


def single_targets(y: TargetLike) -> np.ndarray:
    """Return the targets as one array; several outputs have no interval or set of their own here."""
    y = np.asarray(known_targets(y))
    if y.ndim != 1 and not (y.ndim == 2 and y.shape[1] == 1):
        raise ValueError(
            f"y must have one target for each sample; got shape {y.shape}. Conformalize each output by itself."
        )
    return y.ravel()


def around(predictions: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return lower and upper ends, (n_samples, 2, n_levels), from half widths, (n_samples, n_levels)."""
    return np.stack([predictions[:, None] - half, predictions[:, None] + half], axis=1)


class Residuals:
    """Distances of numbers from their predictions, in units of one or of the model's standard deviation.

    Parameters
    ----------
    kind : {"absolute", "residual_normalized"}
        The ``conformity_score`` that was asked for.
    """

    def __init__(self, kind: str) -> None:
        self.kind = check_choice("conformity_score", kind, ("absolute", "residual_normalized"))

    def targets(self, y: TargetLike) -> np.ndarray:
        """Return the targets as one array, checked."""
        type_of_target(y, input_name="y")
        y = single_targets(y).astype(float)
        if not np.isfinite(y).all():
            raise ValueError(f"y must hold finite numbers; got {y[~np.isfinite(y)][0]}.")
        return y

    def of(self, model: BaseEstimator, X: TableLike, y: np.ndarray) -> np.ndarray:
        """Return the score of every sample under a model, (n,)."""
        if is_classifier(model) or hasattr(model, "predict_survival_function"):  # of any library
            what = "classes" if is_classifier(model) else "log hazards"
            raise TypeError(
                f"A conformal regressor needs an estimator that predicts numbers such as y; {type(model).__name__} "
                f"predicts {what}."
            )
        predictions, units = self.expected(model, X)
        _check_lengths(predictions, y)
        return np.abs(y - predictions) / units

    def expected(self, model: BaseEstimator, X: TableLike) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions and the unit of residuals for each sample."""
        if self.kind == "absolute":
            predictions = _of_one_target(model.predict(X), model)
            return predictions, np.ones(len(predictions))
        try:
            predictions, deviations = model.predict(X, return_std=True)
        except TypeError:
            raise ValueError(
                "conformity_score='residual_normalized' needs an estimator whose predict takes return_std, such as "
                f"SPKMRegressor; {type(model).__name__} does not. Use conformity_score='absolute'."
            ) from None
        predictions, deviations = (_of_one_target(values, model) for values in (predictions, deviations))
        return predictions, np.maximum(deviations, LEAST_WIDTH * deviations.max(initial=1.0))


def _check_lengths(found: np.ndarray, y: np.ndarray) -> None:
    if len(found) != len(y):
        raise ValueError(f"X and y must have the same number of samples; got {len(found)} and {len(y)}.")


def _of_one_target(values: np.ndarray, model: BaseEstimator) -> np.ndarray:
    """Return predictions of one number for each sample, (n,); a model of a target in a column has a column of them."""
    values = np.asarray(values, dtype=float)
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"A conformal regressor needs an estimator of one target; {type(model).__name__} predicts "
            f"{values.shape[1]}. Conformalize each output by itself."
        )
    return values


class Probabilities:
    """How unlikely a model takes a class to be.

    Parameters
    ----------
    kind : {"lac", "aps"}
        "lac" is one minus the probability of the class; "aps" the probability of all classes at least as likely.
    labels : ndarray
        The classes, in the order of the sets.
    """

    def __init__(self, kind: str, labels: np.ndarray) -> None:
        self.kind = check_choice("conformity_score", kind, ("lac", "aps"))
        self.labels = labels

    def targets(self, y: TargetLike) -> np.ndarray:
        """Return the targets as one array, checked."""
        found = type_of_target(y, input_name="y")
        y = single_targets(y)
        if found not in ("binary", "multiclass"):
            raise ValueError(f"y must hold classes; got {found} targets. Use a conformal regressor.")
        return y

    def of(self, model: BaseEstimator, X: TableLike, y: np.ndarray) -> np.ndarray:
        """Return the score of every sample under a model, (n,)."""
        unknown = np.setdiff1d(y, self.labels)
        if len(unknown):
            raise ValueError(
                f"y must hold classes that the estimator has learned, {self.labels.tolist()}; got "
                f"{unknown[:5].tolist()}. It has not learned these."
            )
        scores = self.of_all(model, X)
        _check_lengths(scores, y)
        return scores[np.arange(len(y)), label_places(self.labels, y)]

    def of_all(self, model: BaseEstimator, X: TableLike) -> np.ndarray:
        """Return the score of every class for every sample, (n, K); a class that the model has not seen is unlikely."""
        try:
            known = np.asarray(model.predict_proba(X), dtype=float)
        except AttributeError:
            raise ValueError(f"A conformal classifier needs predict_proba; {type(model).__name__} has none.") from None
        P = np.zeros((len(known), len(self.labels)))
        P[:, label_places(self.labels, model.classes_)] = known
        if self.kind == "lac":
            return 1.0 - P
        order = np.argsort(-P, axis=1, kind="stable")
        result = np.empty_like(P)
        np.put_along_axis(result, order, np.cumsum(np.take_along_axis(P, order, axis=1), axis=1), axis=1)
        return result

    def with_members(self, sets: np.ndarray, members: np.ndarray) -> np.ndarray:
        """Return sets, (n, K, n_levels), to which "aps" adds one member each: the likeliest class is never left out."""
        if self.kind == "aps":
            sets[np.arange(len(sets)), members] = True
        return sets
