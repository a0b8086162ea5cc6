"""From scores to decisions and probabilities, of a model in its plain form."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from spkm._coupling import coupled_probabilities, normalized, weighted_votes
from spkm.persistence._formulas import bounded_exp, ordered_probabilities


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
    if kind == "ordered":
        return np.stack(ordered_probabilities(SimpleNamespace(logistic=logistic), plain, F[:, 0]), axis=1)
    if kind == "coupled":
        return coupled_probabilities(logistic(plain["steepness"] * F), len(plain["classes"]))
    shares = logistic(_with_constants(plain, F))
    return shares if kind == "each" else normalized(shares)


def spread_weights(plain: dict[str, Any], own: list[np.ndarray]) -> np.ndarray:
    """Return the weights of the basis vectors of all members, (R, m): of binary models each in a column of its own."""
    if plain["combine"] == "joint":
        return own[0]
    spread = np.zeros((sum(map(len, own)), len(own)))
    row = 0
    for k, weights in enumerate(own):
        spread[row : row + len(weights), k] = weights[:, 0]
        row += len(weights)
    return spread


def ordered_codes(plain: dict[str, Any], f: np.ndarray) -> np.ndarray:
    """Return the places of the most likely of ordered classes from scores (n,)."""
    return np.searchsorted(np.asarray(plain["cuts"], dtype=np.float64), f, side="right")


def survival(plain: dict[str, Any], f: np.ndarray) -> np.ndarray:
    """Return the probability of no event until each time of the baseline hazard, (n, n_times), from scores (n,)."""
    return np.exp(-bounded_exp(np, f)[:, None] * np.asarray(plain["survival"]["hazard"], dtype=np.float64))


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
