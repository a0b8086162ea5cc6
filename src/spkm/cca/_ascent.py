"""Projected gradient steps with spectral lengths, for both sides at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spkm.cca._objective import Correlation, Evaluation
from spkm.cca._sides import Side

MEMORY = 5  # steps may lower the correlation, but not below the lowest of so many before
ENOUGH = 1e-4  # share of the first-order gain that a step must bring
HALVINGS = 20
LONGEST = 1e4
FIRST = 0.1  # length of the first step of every block of parameters


class Found(NamedTuple):
    """Parameters of both sides, what is maximised and the correlation there, if ``sign`` multiplies the right score."""

    left: np.ndarray
    right: np.ndarray
    value: float
    correlation: float
    sign: float
    n_iter: int
    converged: bool


class _Point(NamedTuple):
    """Parameters of both sides, what is maximised there, the correlation, and the gradients."""

    theta: tuple[np.ndarray, np.ndarray]
    value: float
    correlation: float
    gradient: tuple[np.ndarray, np.ndarray]


def ascend(
    objective: Correlation,
    start: tuple[np.ndarray, np.ndarray],
    radii: tuple[float, float],
    max_iter: int,
    tol: float,
) -> Found:
    """Return parameters at which the size of the correlation does not rise any more, from a start.

    Each block of parameters (direction, vector, bandwidth, of two sides) has a step of its own, by the rule of Barzilai
    and Borwein; all are halved together until the value is at least the lowest of the last few, plus a little. The end
    is reached if several steps gain less than ``tol`` of the variance that one score leaves of the other.
    """
    sides = objective.left.side, objective.right.side
    blocks = [(k, block) for k in (0, 1) for block in sides[k].blocks]
    first = _projected(sides, start, radii)
    evaluation = objective(*first)
    sign = -1.0 if evaluation.value < 0 else 1.0
    now = best = _point(objective, first, evaluation, sign)
    steps = [FIRST / max(float(np.linalg.norm(now.gradient[k][block])), 1e-12) for k, block in blocks]
    recent, quiet, n_iter, converged = [now.value], 0, 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        new = _step(objective, now, blocks, steps, radii, min(recent), sign)
        if new is None:
            converged = True
            break
        for i, (k, block) in enumerate(blocks):
            moved = new.theta[k][block] - now.theta[k][block]
            curvature = float(moved @ (now.gradient[k][block] - new.gradient[k][block]))
            longer = float(moved @ moved) / curvature if curvature > 0 else 2 * steps[i]
            steps[i] = min(longer, LONGEST)
        quiet = quiet + 1 if new.value - best.value <= tol * (1.0 - new.value**2) else 0
        recent = [*recent[1 - MEMORY :], new.value]
        best = new if new.value > best.value else best
        now, converged = new, quiet >= MEMORY
    return Found(*best.theta, best.value, best.correlation, sign, n_iter, converged)


def _step(
    objective: Correlation,
    now: _Point,
    blocks: list[tuple[int, slice]],
    steps: list[float],
    radii: tuple[float, float],
    least: float,
    sign: float,
) -> _Point | None:
    """Return the next point; None if no step along the gradient is accepted."""
    sides = objective.left.side, objective.right.side
    factor = 1.0
    for _ in range(HALVINGS):
        trial = now.theta[0].copy(), now.theta[1].copy()
        for (k, block), step in zip(blocks, steps, strict=True):
            trial[k][block] += factor * step * now.gradient[k][block]
        theta = _projected(sides, trial, radii)
        gain = sum(float((theta[k] - now.theta[k]) @ now.gradient[k]) for k in (0, 1))
        evaluation = objective(*theta)
        if sign * evaluation.value >= least + ENOUGH * max(gain, 0.0) and sign * evaluation.value > 0:
            return _point(objective, theta, evaluation, sign)
        factor *= 0.5
    return None


def _projected(
    sides: tuple[Side, Side], theta: tuple[np.ndarray, np.ndarray], radii: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    return sides[0].projected(theta[0], radii[0]), sides[1].projected(theta[1], radii[1])


def _point(objective: Correlation, theta: tuple[np.ndarray, np.ndarray], evaluation: Evaluation, sign: float) -> _Point:
    """Return a point with gradients that do not lengthen a direction, as the projection would undo that."""
    gradient = []
    for side, t, g in zip((objective.left.side, objective.right.side), theta, evaluation.gradients(), strict=True):
        p, tangent = t[: side.n_features], sign * g
        tangent[: side.n_features] -= (tangent[: side.n_features] @ p) * p
        gradient.append(tangent)
    return _Point(theta, sign * evaluation.value, sign * evaluation.correlation, (gradient[0], gradient[1]))
