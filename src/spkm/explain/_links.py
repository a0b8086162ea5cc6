"""Targets in the units of y as half-spaces of scores, whatever lies between scores and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel, ModelEnsemble

FARTHEST = 700.0  # size of scores that are searched: exp of more overflows
STEPS = 200  # of a bisection: more than the digits of a double


def region_of(model: FittedModel | ModelEnsemble, target: Any, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A (k, m) and a (k,) such that A f + a >= 0 are the scores f whose prediction is ``target``.

    Parameters
    ----------
    model : FittedModel
        The model.
    target : class, number or pair of numbers
        As in :func:`spkm.explain.counterfactual`, in the units of y.
    scores : ndarray of shape (m,)
        The scores of the sample as it is.
    """
    if model.target.of_classes or model.loss.link == "identity":
        return model.target.region(target, scores)
    several = len(scores) > 1
    wanted = list(target) if several and np.ndim(target) else [target]
    found: list[Any] = []
    for value in wanted:
        if np.ndim(value):
            low, high = (float(v) for v in value)
            if not low < high:
                raise ValueError(f"target must be a value, or an interval (low, high) with low < high; got {value!r}.")
            found.append((_score(model, low, -np.inf), _score(model, high, np.inf)))
        else:
            found.append(value if np.isnan(value) else _score(model, float(value), np.nan))
    return model.target.region(found if several else found[0], scores)


def _score(model: FittedModel | ModelEnsemble, value: float, beyond: float) -> float:
    """Return the score at which a value is predicted.

    A value that no score predicts is ``beyond``, the open end of an interval, if it lies on that side of all
    predictions; else an error.
    """
    if np.isinf(value):
        return value

    def predicted(score: float) -> float:
        return float(model.loss.predict(np.array([[score]]))[0, 0])

    with np.errstate(over="ignore", under="ignore"):
        low, high = -FARTHEST, FARTHEST
        least, most = predicted(low), predicted(high)
        grid = model.loss.predict(np.linspace(low, high, 1401)[:, None])[:, 0]
        if not (np.diff(grid) >= 0).all():
            raise ValueError(f"The predictions of {type(model.loss).__name__} must rise with the score for a target.")
        outside = -1 if value <= least and value < most else 1 if value > most else 0
        if outside:
            if outside * beyond == np.inf:
                return beyond
            raise ValueError(
                f"target must be a value that {type(model.loss).__name__} can predict, between {least:.3g} and "
                f"{most:.3g}; got {value!r}."
            )
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if predicted(middle) < value else (low, middle)
    return high
