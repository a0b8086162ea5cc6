"""From scores to decisions and probabilities, also of several binary problems."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit

from spkm.core.targets import Classes, Target
from spkm.losses import Loss

SMALLEST_SHARE = 1e-7  # of a pair; with shares of 0 and 1 the equations of the coupling may have no one solution
STEEPNESS = 6.0  # of the logistic function that stands for probabilities; measured, 4 to 12 do as well
ENTRIES = 2**22  # of the matrices of a coupling that are solved at once: 32 MB


def decision(model: Any, F: np.ndarray) -> np.ndarray:
    """Return what a classifier decides by, from the scores of its model: one column for each class, or one for two."""
    if model.is_joint:
        return F
    if model.pairs is not None:
        return weighted_votes(binary_probabilities(model.loss, F), len(model.target.labels))
    return with_constants(model.target, F)


def with_constants(target: Target, F: np.ndarray) -> np.ndarray:
    """Return scores of all outputs, from those of the outputs that were learned."""
    if F.shape[1] == len(target.constant):
        return F
    scores = np.empty((len(F), len(target.constant)), dtype=F.dtype)
    scores[:] = target.constant
    scores[:, target.learned] = F
    return scores


def probabilities(model: Any, F: np.ndarray) -> np.ndarray:
    """Return the probability of each class or label, from the scores of a model."""
    if model.is_joint:
        return model.loss.probabilities(F)
    P = binary_probabilities(model.loss, with_constants(model.target, F) if model.pairs is None else F)
    if model.pairs is not None:
        return coupled_probabilities(P, len(model.target.labels))
    return normalized(P) if isinstance(model.target, Classes) else P


def log_probabilities(model: Any, F: np.ndarray) -> np.ndarray:
    """Return the logarithm of :func:`probabilities`, also where a probability rounds to 0 or 1."""
    P = probabilities(model, F)
    logs = np.log(np.maximum(P, np.finfo(P.dtype).tiny))
    if not hasattr(model.loss, "log_probabilities") or not model.is_joint:  # a loss of the user's may have none
        return logs
    # What rounds to certainty stays certain: -1e-8 beside a probability of exactly 1 would contradict it.
    return np.where(P == 1, logs, model.loss.log_probabilities(F))


def binary_probabilities(loss: Loss, F: np.ndarray) -> np.ndarray:
    """Return the probability of the positive class in every column of scores of a binary problem, (n, n_problems).

    The scores of a loss without probabilities aim at -1 and 1; their logistic function 1 / (1 + exp(-6 f)) takes the
    place of probabilities.
    """
    if not loss.has_probabilities:
        return expit(STEEPNESS * F)
    return np.column_stack([loss.probabilities(F[:, [k]])[:, 1] for k in range(F.shape[1])])


def weighted_votes(P: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes for every class, (n, n_classes): sum_j (p_i + p_j) r_ij.

    The vote of a pair is shared among its two classes by their probabilities r_ij in it, and counts as much as it is
    probable, p_i + p_j, that the sample belongs to one of them: other pairs know nothing of it. ``P`` (n, n_pairs) is r
    of the second class of every pair (0, 1), (0, 2), ..., (1, 2), ...; p are :func:`coupled_probabilities`.
    """
    first, second = class_pairs(n_classes)
    p = coupled_probabilities(P, n_classes)
    of_pair = p[:, first] + p[:, second]
    classes = np.eye(n_classes, dtype=P.dtype)
    return (of_pair * P) @ classes[second] + (of_pair * (1 - P)) @ classes[first]


def coupled_probabilities(P: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the probabilities of classes that agree best with those of their pairs, (n, n_classes).

    The second method of Wu, Lin and Weng (2004): with r_ij the probability of i in the pair of i and j, minimise
    sum_ij (r_ji p_i - r_ij p_j)^2 over p that sum to one. The minimum is the solution of a linear system.

    ``P`` is as for :func:`weighted_votes`.
    """
    block = max(1, ENTRIES // (n_classes + 1) ** 2)
    parts = [_coupled_block(P[i : i + block], n_classes) for i in range(0, len(P), block)]
    return np.concatenate(parts).astype(P.dtype)


def _coupled_block(P: np.ndarray, n_classes: int) -> np.ndarray:
    first, second = class_pairs(n_classes)
    P = np.clip(P.astype(np.float64), SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    R = np.zeros((len(P), n_classes, n_classes))
    R[:, second, first], R[:, first, second] = P, 1 - P
    system = np.zeros((len(P), n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -R * R.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = np.sum(R**2, axis=1)
    system[:, :-1, -1] = system[:, -1, :-1] = 1.0
    right = np.zeros((n_classes + 1, 1))
    right[-1] = 1.0
    p = np.linalg.solve(system, np.broadcast_to(right, (len(P), *right.shape)))[:, :-1, 0]
    return normalized(p)


def normalized(P: np.ndarray) -> np.ndarray:
    """Return rows that sum to one, with no entry of zero."""
    P = np.maximum(P, np.finfo(P.dtype).tiny)
    return P / P.sum(axis=1, keepdims=True)


def class_pairs(n_classes: int) -> np.ndarray:
    """Return the first and the second of every pair of classes, (2, n_pairs)."""
    return np.array(list(combinations(range(n_classes), 2))).T
