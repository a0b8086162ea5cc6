"""From scores to decisions and probabilities, of a model in its plain form."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm._coupling import coupled_probabilities, normalized, weighted_votes

TINY = float(np.finfo(np.float64).tiny)


def decisions(plain: dict[str, Any], F: np.ndarray) -> np.ndarray:
    """Return what a classifier decides by, from scores: a column for each class or label, or one for two classes."""
    if plain["combine"] == "pairs":
        return weighted_votes(logistic(plain["steepness"] * F), len(plain["classes"]))
    return _with_constants(plain, F)


def probabilities(plain: dict[str, Any], F: np.ndarray) -> np.ndarray:
    """Return probabilities from scores."""
    kind = plain["probabilities"]
    if kind == "logistic":
        return logistic(np.concatenate([-F, F], axis=1))
    if kind == "softmax":
        shares = np.exp(F - F.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)
    if kind == "coupled":
        return coupled_probabilities(logistic(plain["steepness"] * F), len(plain["classes"]))
    shares = logistic(_with_constants(plain, F))
    return shares if kind == "each" else normalized(shares)


def logistic(F: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-f)), without overflow."""
    small = np.exp(-np.abs(F))
    return np.where(F >= 0, 1.0, small) / (1 + small)


def _with_constants(plain: dict[str, Any], F: np.ndarray) -> np.ndarray:
    constants = plain["constants"]
    if constants is None:
        return F
    found = np.empty((len(F), len(constants)))
    learned = iter(F.T)
    for k, constant in enumerate(constants):
        found[:, k] = next(learned) if constant is None else constant
    return found
