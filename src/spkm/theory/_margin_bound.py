"""The formulas of the margin bound, for all sizes and all margins at once. It uses two numbers of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

STEPS_PER_DOUBLING = 4  # of the sizes in the union: a size is rounded up by 19 % at most, for a log of a few steps more
LOWEST_LEVEL = -64  # 2^-16; below it nothing is gained


@dataclass(frozen=True)
class Union:
    """The two terms of the bound that do not depend on the margins of the samples.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    lipschitz : float
        The factor L: 1 for two classes, 2 for more.
    kernel_part, constant_part : float
        Sizes of the model: sqrt(n) times its complexity, without and from its constant.
    log_choices : float
        log(N / delta), with N the number of kernels in the union.
    """

    n_samples: int
    lipschitz: float
    kernel_part: float
    constant_part: float
    log_choices: float

    def terms(self, margin: float) -> tuple[float, float]:
        """Return the complexity and the confidence term of the best levels that cover the sizes at this margin."""
        levels = levels_above(self.kernel_part / margin)
        size, cost = size_of(levels), log_cost(levels) + np.log(2.0)  # half of the confidence is for constants of zero
        if self.constant_part > 0:
            more = levels_above(self.constant_part / margin)
            size, cost = np.add.outer(size, size_of(more)).ravel(), np.add.outer(cost, log_cost(more)).ravel()
        complexity = 2 * self.lipschitz * size / np.sqrt(self.n_samples)
        chance = np.sqrt((self.log_choices + cost) / (2 * self.n_samples))
        best = int(np.argmin(complexity + chance))
        return float(complexity[best]), float(chance[best])

    def margins_to_try(self, margin: Any) -> list[float]:
        """Return the given margin, or those among which the best one is.

        Below a margin that makes one of the sizes equal to a level, the terms stay the same while the ramp falls, until
        the next such margin. Levels beyond sqrt(n) cost more than a ramp of 1 everywhere.
        """
        if not isinstance(margin, str):
            return [margin]
        highest = int(np.ceil(STEPS_PER_DOUBLING * np.log2(4 * np.sqrt(self.n_samples))))
        sizes = size_of(np.arange(LOWEST_LEVEL, highest + 1))
        parts = [part for part in (self.kernel_part, self.constant_part) if part > 0]
        # A hair above, lest rounding lift a size over its level.
        return [float(part / size * (1 + 1e-12)) for part in parts for size in sizes] or [1.0]

    def best(self, margins: np.ndarray, margin: Any) -> tuple[float, tuple[float, float, float]]:
        """Return the margin of the smallest bound, and its terms: ramp, complexity and confidence.

        Parameters
        ----------
        margins : ndarray of shape (n,)
            By how much the score of the right class of each sample exceeds that of the best other one.
        margin : float or "best"
            The margin asked for.
        """
        terms = {rho: (mean_ramp(margins, rho), *self.terms(rho)) for rho in self.margins_to_try(margin)}
        best = min(terms, key=lambda rho: sum(terms[rho]))
        return best, terms[best]


def size_of(levels: np.ndarray) -> np.ndarray:
    """Return the sizes of levels, 2^(j/4)."""
    return 2.0 ** (levels / STEPS_PER_DOUBLING)


def log_cost(levels: np.ndarray) -> np.ndarray:
    """Return log(1/p_j) of the levels' shares of the confidence, which sum to one over all integers."""
    steps = np.abs(levels)
    return np.log(1.5 * (steps + 1) * (steps + 2))


def levels_above(size: float) -> np.ndarray:
    """Return levels whose size is at least ``size``; from 0 on, the first of them is the best."""
    first = LOWEST_LEVEL
    if size > size_of(np.array(LOWEST_LEVEL)):
        first = int(np.ceil(STEPS_PER_DOUBLING * np.log2(size)))
    return np.arange(first, max(first, 0) + 1)


def mean_ramp(margins: np.ndarray, rho: float) -> float:
    """Return the mean of min(1, max(0, 1 - margin/rho))."""
    return float(np.mean(np.clip(1 - margins / rho, 0, 1)))
