"""Censored times: the Poisson form of Cox's partial likelihood, and the baseline hazard."""

from __future__ import annotations

from typing import NamedTuple

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
    censored = True
    link = "identity"
    prediction = "the log hazard of censored times"
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


class Times(NamedTuple):
    """Censored times of samples: when each was seen last, whether that was its event, and since when it was seen.

    Attributes
    ----------
    time, event : ndarray of shape (n,)
        Times, and whether they are those of events.
    entry : ndarray of shape (n,) or None
        Times of entry (left truncation): a sample is at risk after its entry only. If None, all are from the start.
    copies : ndarray of shape (n,) or None
        Number of equal samples that each stands for, whose weights are summed; if None, one.
    """

    time: np.ndarray
    event: np.ndarray
    entry: np.ndarray | None = None
    copies: np.ndarray | None = None

    def part(self, rows: np.ndarray) -> Times:
        """Return the times of some samples."""
        entry, copies = (None if optional is None else optional[rows] for optional in (self.entry, self.copies))
        return Times(self.time[rows], self.event[rows], entry, copies)


class Baseline(NamedTuple):
    """A cumulative baseline hazard: a step function that rises at the times of events.

    Attributes
    ----------
    times, cumulative : ndarray of shape (n_times,)
        Times of events, and the hazard from the start to each, its own step included.
    own : ndarray of shape (n_times,)
        Share of the step at each time that an event of this time counts for itself: all of it, or less with Efron.
    """

    times: np.ndarray
    cumulative: np.ndarray
    own: np.ndarray

    def at(self, time: np.ndarray) -> np.ndarray:
        """Return the hazard from the start to given times."""
        steps = np.concatenate([[0.0], self.cumulative])
        return np.asarray(steps[np.searchsorted(self.times, time, side="right")])

    def of_samples(self, given: Times) -> np.ndarray:
        """Return the hazard that every sample went through, from its entry to its time, (n,)."""
        hazard = self.at(given.time)
        place = np.minimum(np.searchsorted(self.times, given.time), len(self.times) - 1)
        at_event = given.event & (self.times[place] == given.time)
        steps = np.diff(self.cumulative, prepend=0.0)
        hazard = np.where(at_event, hazard + (self.own - steps)[place], hazard)
        return hazard if given.entry is None else hazard - self.at(given.entry)

    def time_of(self, hazard: np.ndarray) -> np.ndarray:
        """Return the first times at which the hazard has added up to given numbers; infinite if it never does."""
        later = np.append(self.times, np.inf)
        return np.asarray(later[np.searchsorted(self.cumulative, hazard, side="left")])


def baseline_hazard(given: Times, risk: np.ndarray, weight: np.ndarray, ties: str) -> Baseline:
    """Return the cumulative baseline hazard by Breslow or Efron.

    Parameters
    ----------
    given : Times
        Times of n samples.
    risk : ndarray of shape (n,)
        Scores f: the hazard is exp(f) times the baseline.
    weight : ndarray of shape (n,)
        Weights of the samples.
    ties : {"breslow", "efron"}
        Events at one time: all of them are at risk at once, or (Efron) one after another in a random order, of which
        the mean is taken.
    """
    exposure = weight * np.exp(np.minimum(risk, 30.0))
    event = given.event & (weight > 0)
    times, place = np.unique(given.time[event], return_inverse=True)
    deaths = np.bincount(place, None if given.copies is None else given.copies[event], len(times)).astype(np.int64)
    dead_weight = np.bincount(place, weight[event], len(times))
    at_risk = _from(given.time, exposure, times)
    if given.entry is not None:
        at_risk -= _from(given.entry, exposure, times)
    if ties == "breslow":
        steps = own = dead_weight / at_risk
    else:
        dead_exposure = np.bincount(place, exposure[event], len(times))
        steps, own = np.zeros(len(times)), np.zeros(len(times))
        for turn in range(int(deaths.max())):
            here = deaths > turn
            share = turn / deaths[here]
            each = dead_weight[here] / deaths[here] / (at_risk[here] - share * dead_exposure[here])
            steps[here] += each
            own[here] += (1 - share) * each
    return Baseline(times, np.cumsum(steps), own)


def _from(time: np.ndarray, exposure: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the exposure of all samples whose time is at least each of given times."""
    order = np.argsort(time, kind="stable")
    later = np.append(np.cumsum(exposure[order][::-1])[::-1], 0.0)
    return np.asarray(later[np.searchsorted(time[order], times, side="left")])


def concordance(time: np.ndarray, event: np.ndarray, risk: np.ndarray, entry: np.ndarray | None = None) -> float:
    """Return Harrell's index: the share of comparable pairs in which the earlier event has the higher risk.

    A pair is comparable if the earlier of its times is that of an event, and the other sample had entered by then; of
    two equal times one must be censored. Equal risks count half.
    """
    order = np.lexsort((~event, time))  # of equal times events come first
    time, event = time[order], event[order]
    rank = np.unique(risk, return_inverse=True)[1][order].astype(np.int64)
    place = np.flatnonzero(event)
    # The samples after an event: those of later times, and the censored ones of its own.
    last = np.searchsorted(time, time[place], side="right")
    tied = np.concatenate([[0], np.cumsum(~event)])
    after = last - (tied[last] - tied[np.searchsorted(time, time[place], side="left")])
    agreeing, comparable = _counted_pairs(rank, after, rank[place])
    if entry is not None:  # those that had not entered by then are among them
        by_entry = np.argsort(entry[order], kind="stable")
        absent = np.searchsorted(entry[order][by_entry], time[place], side="left")
        absent_agreeing, absent_comparable = _counted_pairs(rank[by_entry], absent, rank[place])
        agreeing, comparable = agreeing - absent_agreeing, comparable - absent_comparable
    if comparable == 0:
        raise ValueError("y must have at least one event before another time: no pair of samples can be compared.")
    return agreeing / comparable


def _counted_pairs(rank: np.ndarray, start: np.ndarray, own: np.ndarray) -> tuple[float, int]:
    """Return how many of ``rank[start:]`` are below ranks of events, equal ones as halves, and how many there are."""
    lower, equal = _lower(rank, start, own), _lower(rank, start, own + 1)
    return float(0.5 * (lower + equal).sum()), int((len(rank) - start).sum())


def _lower(values: np.ndarray, start: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return how many of ``values[start:]`` are below a bound, for many starts and bounds: a wavelet matrix.

    Values are sorted stably by one bit after another. In each step the part of a query whose bit is zero, if that of
    the bound is one, is below it; the rest of the part goes on.
    """
    low, high = start, np.full(len(start), len(values))
    found = np.zeros(len(start), dtype=np.int64)
    for bit in reversed(range(int(max(values.max(), bound.max(initial=0))).bit_length())):
        is_one = (values >> bit) & 1 == 1
        zeros = np.concatenate([[0], np.cumsum(~is_one)])
        bound_is_one = (bound >> bit) & 1 == 1
        found += np.where(bound_is_one, zeros[high] - zeros[low], 0)
        low = np.where(bound_is_one, zeros[-1] + low - zeros[low], zeros[low])
        high = np.where(bound_is_one, zeros[-1] + high - zeros[high], zeros[high])
        values = np.concatenate([values[~is_one], values[is_one]])
    return found
