"""A baseline hazard with two numbers: Weibull's, a power of time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from spkm.losses._hazard import Times

SHAPES = (1e-3, 1e3)  # between which the shape is sought


class Weibull(NamedTuple):
    """The cumulative baseline hazard (t / scale) ** shape, which has no steps and no last time.

    Attributes
    ----------
    shape : float
        Hazards rise with time above 1, and fall below 1; at 1 they are constant.
    scale : float
        Time at which the hazard has added up to 1.
    """

    shape: float
    scale: float

    def at(self, time: np.ndarray) -> np.ndarray:
        """Return the hazard from the start to given times."""
        return np.asarray((np.maximum(time, 0.0) / self.scale) ** self.shape)

    def of_samples(self, given: Times) -> np.ndarray:
        """Return the hazard that every sample went through, from its entry to its time, (n,)."""
        hazard = self.at(given.time)
        return hazard if given.entry is None else hazard - self.at(given.entry)

    def time_of(self, hazard: np.ndarray) -> np.ndarray:
        """Return the times at which the hazard has added up to given numbers."""
        return np.asarray(self.scale * hazard ** (1.0 / self.shape))


def weibull_hazard(given: Times, risk: np.ndarray, weight: np.ndarray) -> Weibull:
    """Return the baseline hazard of the highest likelihood: the shape by a root of its slope, the scale in closed form.

    Parameters
    ----------
    given : Times
        Times of n samples.
    risk : ndarray of shape (n,)
        Scores f: the hazard is exp(f) times the baseline.
    weight : ndarray of shape (n,)
        Weights of the samples.
    """
    kept = weight > 0  # a time without weight could be the only one that is no zero as a high power
    given, risk, weight = given.part(kept), risk[kept], weight[kept]
    event = given.event
    if not np.all(given.time[event] > 0):
        raise ValueError("baseline='weibull' needs positive times of events; got 0. Use baseline='steps'.")
    exposure = weight * np.exp(np.minimum(risk, 30.0))
    unit = float(given.time.max())  # powers of times over the largest one do not overflow
    time = given.time / unit
    entry = np.zeros_like(time) if given.entry is None else given.entry / unit
    log_time, log_entry = (np.log(np.where(t > 0, t, 1.0)) for t in (time, entry))
    deaths, mean_log = float(weight[event].sum()), float(np.average(log_time[event], weights=weight[event]))

    def slope(log_shape: float) -> float:
        shape = np.exp(log_shape)
        until, since = time**shape, entry**shape
        total = float(exposure @ (until - since))
        return float(1.0 / shape + mean_log - exposure @ (until * log_time - since * log_entry) / total)

    low, high = np.log(SHAPES)
    if slope(high) > 0:  # all events at the last time
        shape = SHAPES[1]
    elif slope(low) < 0:  # all of them soon after an entry, beside samples that were there for long
        shape = SHAPES[0]
    else:
        shape = float(np.exp(brentq(slope, low, high)))
    total = float(exposure @ (time**shape - entry**shape))
    with np.errstate(over="ignore", under="ignore"):
        scale = float(unit * np.float64(total / deaths) ** (1.0 / shape))
    if not 0.0 < scale < np.inf:
        raise ValueError(
            f"baseline='weibull' has no finite scale for these times: the best shape is {shape:.2g}. Use "
            "baseline='steps'."
        )
    return Weibull(shape, scale)
