"""Censored times: the Poisson form of Cox's partial likelihood, and the baseline hazard."""

from __future__ import annotations

import numpy as np

from spkm._arrays import Array
from spkm._namespaces import namespace
from spkm.losses._base import SumLoss


class Hazard(SumLoss):
    """Proportional hazards for a known baseline, H exp(f) - d f with H the cumulative hazard and d = 1 for an event.

    A target is H of the sample's time, with a minus sign if the time is censored. The loss is minus the logarithm of
    the likelihood, but for what does not depend on f. With H by Breslow or Efron its gradient is that of Cox's partial
    likelihood, so that the two in turn end at its minimum; but it is a sum over samples. Beyond f = 30 the exponential
    goes on as a straight line.
    """

    anywhere = True
    standardize_target = False
    for_classes = False
    is_likelihood = True
    link = "identity"
    _linear_from = 30.0

    def pointwise(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        inside = xp.minimum(F, self._linear_from)
        return xp.abs(Y) * xp.exp(inside) * (1 + F - inside) - xp.where(Y > 0, F, 0 * xp.ones_like(F))

    def slope(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        events = xp.where(Y > 0, xp.ones_like(F), 0 * xp.ones_like(F))
        return xp.abs(Y) * xp.exp(xp.minimum(F, self._linear_from)) - events

    def working_target(self, Y: Array) -> Array:
        residual = (Y > 0).astype(Y.dtype) - np.abs(Y)
        return np.asarray(np.clip(residual, -1.0, 1.0))  # the residual of a constant score


def baseline_hazard(
    time: np.ndarray, event: np.ndarray, risk: np.ndarray, weight: np.ndarray, ties: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the times of events, the cumulative baseline hazard at each, and that of every sample, (n,).

    Parameters
    ----------
    time, event : ndarray of shape (n,)
        Times, and whether they are those of events.
    risk : ndarray of shape (n,)
        Scores f: the hazard is exp(f) times the baseline.
    weight : ndarray of shape (n,)
        Weights of the samples.
    ties : {"breslow", "efron"}
        Events at one time: all of them are at risk at once, or (Efron) one after another in a random order, of which
        the mean is taken.
    """
    exposure = weight * np.exp(np.minimum(risk, 30.0))
    event = event & (weight > 0)
    times, place = np.unique(time[event], return_inverse=True)
    deaths = np.bincount(place, minlength=len(times))
    dead_weight = np.bincount(place, weight[event], len(times))
    dead_exposure = np.bincount(place, exposure[event], len(times))
    order = np.argsort(time, kind="stable")
    later = np.cumsum(exposure[order][::-1])[::-1]
    at_risk = later[np.searchsorted(time[order], times, side="left")]
    if ties == "breslow":
        steps = own = dead_weight / at_risk
    else:
        steps, own = np.zeros(len(times)), np.zeros(len(times))
        for turn in range(int(deaths.max())):
            here = deaths > turn
            share = turn / deaths[here]
            each = dead_weight[here] / deaths[here] / (at_risk[here] - share * dead_exposure[here])
            steps[here] += each
            own[here] += (1 - share) * each
    cumulative = np.cumsum(steps)
    padded = np.concatenate([[0.0], cumulative])
    of_samples = padded[np.searchsorted(times, time, side="right")]
    of_samples[event] += (own - steps)[place]
    return times, cumulative, of_samples


def concordance(time: np.ndarray, event: np.ndarray, risk: np.ndarray) -> float:
    """Return Harrell's index: the share of comparable pairs in which the earlier event has the higher risk.

    A pair is comparable if the earlier of its times is that of an event; of two equal times one must be censored. Equal
    risks count half.
    """
    agreeing, comparable = 0.0, 0
    for i in np.flatnonzero(event):
        others = (time > time[i]) | ((time == time[i]) & ~event)
        comparable += int(others.sum())
        agreeing += float((risk[i] > risk[others]).sum()) + 0.5 * float((risk[i] == risk[others]).sum())
    if comparable == 0:
        raise ValueError("y must have at least one event before another time: no pair of samples can be compared.")
    return agreeing / comparable
