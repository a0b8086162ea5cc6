"""One against one: probabilities and votes of classes from those of their pairs. Needs NumPy alone, as files do."""

from __future__ import annotations

from itertools import combinations

import numpy as np

SMALLEST_SHARE = 1e-7  # of a pair; with shares of 0 and 1 the equations of the coupling may have no one solution
ENTRIES = 2**22  # of the matrices of a coupling that are solved at once: 32 MB


def weighted_votes(P: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes for every class, (n, n_classes): sum_j (p_i + p_j) r_ij.

    The vote of a pair is shared among its two classes by their probabilities r_ij in it, and counts as much as it is
    probable, p_i + p_j, that the sample belongs to one of them: other pairs have no part in it. ``P`` (n, n_pairs) is r
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
