"""From scores to decisions and probabilities, of a model in its plain form."""

from __future__ import annotations

from typing import Any

import numpy as np

SMALLEST_SHARE = 1e-7  # of a pair, as in estimators
TINY = float(np.finfo(np.float64).tiny)


def decisions(plain: dict[str, Any], F: np.ndarray) -> np.ndarray:
    """Return what a classifier decides by, from scores: a column for each class or label, or one for two classes."""
    return _votes(plain, F) if plain["combine"] == "pairs" else _with_constants(plain, F)


def probabilities(plain: dict[str, Any], F: np.ndarray) -> np.ndarray:
    """Return probabilities from scores."""
    kind = plain["probabilities"]
    if kind == "logistic":
        return logistic(np.concatenate([-F, F], axis=1))
    if kind == "softmax":
        shares = np.exp(F - F.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)
    if kind == "coupled":
        return _coupled(logistic(plain["steepness"] * F), len(plain["classes"]))
    shares = logistic(_with_constants(plain, F))
    return shares if kind == "each" else _normalized(shares)


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


def _normalized(P: np.ndarray) -> np.ndarray:
    P = np.maximum(P, TINY)
    return P / P.sum(axis=1, keepdims=True)


def _votes(plain: dict[str, Any], F: np.ndarray) -> np.ndarray:
    n_classes = len(plain["classes"])
    P = logistic(plain["steepness"] * F)
    p = _coupled(P, n_classes)
    found = np.zeros((len(F), n_classes))
    for k, (a, b) in enumerate(_pairs(n_classes)):
        of_pair = p[:, a] + p[:, b]
        found[:, b] += of_pair * P[:, k]
        found[:, a] += of_pair * (1 - P[:, k])
    return found


def _pairs(n_classes: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


def _coupled(P: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities of classes from those of their pairs (Wu, Lin and Weng 2004, second method)."""
    P = np.clip(P, SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    system = np.zeros((len(P), n_classes + 1, n_classes + 1))
    for k, (a, b) in enumerate(_pairs(n_classes)):
        p = P[:, k]
        system[:, a, b] = system[:, b, a] = -p * (1 - p)
        system[:, a, a] += p * p
        system[:, b, b] += (1 - p) * (1 - p)
    system[:, :-1, -1] = system[:, -1, :-1] = 1.0
    right = np.zeros((len(P), n_classes + 1, 1))
    right[:, -1] = 1.0
    return _normalized(np.linalg.solve(system, right)[:, :-1, 0])
