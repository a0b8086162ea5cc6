"""From scores to decisions and probabilities, also of several binary problems."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from spkm._arrays import Array
from spkm._coupling import coupled_probabilities, normalized, weighted_votes
from spkm.core.fitted import Fitted
from spkm.core.targets import Classes, Target
from spkm.losses import Loss

STEEPNESS = 6.0  # of the logistic function that stands for probabilities; measured, 4 to 12 do as well


def decision(model: Fitted, F: Array) -> Array:
    """Return what a classifier decides by, from the scores of its model: one column for each class, or one for two."""
    if model.is_joint:
        return F
    if model.pairs is not None:
        return weighted_votes(binary_probabilities(model.loss, F), len(model.target.labels))
    return with_constants(model.target, F)


def with_constants(target: Target, F: Array) -> Array:
    """Return scores of all outputs, from those of the outputs that were learned."""
    if F.shape[1] == len(target.constant):
        return F
    scores = np.empty((len(F), len(target.constant)), dtype=F.dtype)
    scores[:] = target.constant
    scores[:, target.learned] = F
    return scores


def probabilities(model: Fitted, F: Array) -> Array:
    """Return the probability of each class or label, from the scores of a model."""
    if model.is_joint:
        return model.loss.probabilities(F)
    P = binary_probabilities(model.loss, with_constants(model.target, F) if model.pairs is None else F)
    if model.pairs is not None:
        return coupled_probabilities(P, len(model.target.labels))
    return normalized(P) if isinstance(model.target, Classes) else P


def log_probabilities(model: Fitted, F: Array) -> Array:
    """Return the logarithm of :func:`probabilities`, also where a probability rounds to 0 or 1."""
    P = probabilities(model, F)
    logs = np.log(np.maximum(P, np.finfo(P.dtype).tiny))
    if not model.is_joint:
        return logs
    # A probability that rounds to 1 stays 1: -1e-8 beside a probability of exactly 1 would contradict it.
    return np.where(P == 1, logs, model.loss.log_probabilities(F))


def binary_probabilities(loss: Loss, F: Array) -> Array:
    """Return the probability of the positive class in every column of scores of a binary problem, (n, n_problems).

    The scores of a loss without probabilities aim at -1 and 1; their logistic function 1 / (1 + exp(-6 f)) takes the
    place of probabilities.
    """
    if not loss.has_probabilities:
        return np.asarray(expit(STEEPNESS * F))
    return np.column_stack([loss.probabilities(F[:, [k]])[:, 1] for k in range(F.shape[1])])
