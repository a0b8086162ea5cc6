"""Conformity scores, how far a target is from what a model expects, and the quantiles that calibrate them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import type_of_target

from spkm._checks import check_choice, check_real

REGRESSION_SCORES = ("absolute", "residual_normalized")
CLASS_SCORES = ("lac", "aps")
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


def check_scored(conformal: Any, call: str) -> None:
    """Raise NotFittedError where no samples have been scored yet."""
    if not hasattr(conformal, "conformity_scores_"):
        raise NotFittedError(f"Call {call}(X, y) of this {type(conformal).__name__} first.")


def rank_of(level: float, n: int) -> int:
    """Return the rank among n scores whose value a new score stays below with probability ``level``.

    A new score is equally likely to have any rank among itself and n others, so the ceil(level (n + 1))-th smallest of
    these n will do.
    """
    rank = int(np.ceil(level * (n + 1) - 1e-9))  # 0.9 * 20 is 18, also in floating point
    if rank > n:
        raise ValueError(
            f"confidence_level={level:g} needs at least {int(np.ceil(level / (1 - level) - 1e-9))} samples that the "
            f"model has not learned from; got {n}. Give more samples, or a lower confidence_level."
        )
    return rank


def targets_of(y: Any, task: str) -> np.ndarray:
    """Return the targets as one array; several outputs and labels have no interval or set of their own here."""
    y = np.asarray(y)
    kind = type_of_target(y, input_name="y")
    if y.ndim != 1 and not (y.ndim == 2 and y.shape[1] == 1):
        raise ValueError(
            f"y must have one target for each sample; got shape {y.shape}. Conformalize each output by itself."
        )
    if task == "classification" and kind not in ("binary", "multiclass"):
        raise ValueError(f"y must hold classes; got {kind} targets. Use a conformal regressor.")
    return y.ravel() if task == "classification" else y.ravel().astype(float)


def widths(estimator: Any, X: Any, score: str) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions and the unit of residuals for each sample: one, or the model's standard deviation."""
    check_choice("conformity_score", score, REGRESSION_SCORES)
    if score == "absolute":
        predictions = np.asarray(estimator.predict(X), dtype=float)
        return predictions, np.ones(len(predictions))
    try:
        predictions, deviations = estimator.predict(X, return_std=True)
    except TypeError:
        raise ValueError(
            "conformity_score='residual_normalized' needs an estimator whose predict takes return_std, such as "
            f"SPKMRegressor; {type(estimator).__name__} does not. Use conformity_score='absolute'."
        ) from None
    deviations = np.asarray(deviations, dtype=float)
    return np.asarray(predictions, dtype=float), np.maximum(deviations, LEAST_WIDTH * deviations.max(initial=1.0))


def class_scores(estimator: Any, X: Any, score: str, labels: np.ndarray) -> np.ndarray:
    """Return the score of every class for every sample, (n, K): the less likely a class, the higher.

    "lac" is one minus the probability of the class; "aps" the probability of all classes at least as likely. Classes
    that a model has not seen have probability 0.
    """
    check_choice("conformity_score", score, CLASS_SCORES)
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(f"A conformal classifier needs predict_proba; {type(estimator).__name__} has none.")
    known = np.asarray(estimator.predict_proba(X), dtype=float)
    P = np.zeros((len(known), len(labels)))
    P[:, np.searchsorted(labels, estimator.classes_)] = known
    if score == "lac":
        return 1.0 - P
    order = np.argsort(-P, axis=1, kind="stable")
    result = np.empty_like(P)
    np.put_along_axis(result, order, np.cumsum(np.take_along_axis(P, order, axis=1), axis=1), axis=1)
    return result


def place_of(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the place of every sample's class among the labels."""
    unknown = np.setdiff1d(y, labels)
    if len(unknown):
        raise ValueError(
            f"y has classes that the estimator has not learned: {unknown[:5].tolist()}; it knows {labels.tolist()}."
        )
    return np.searchsorted(labels, y)
