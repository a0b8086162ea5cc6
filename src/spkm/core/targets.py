"""Meaning of targets: real numbers, classes or labels, and the map from scores to predictions.

A target turns the user's y into the columns that a model learns (``encode``), a model of these columns into one of all
outputs in the units of y (``expanded``), and scores into predictions (``decode``). Outputs that are the same in all
samples need no model: ``constant`` has them, NaN for those that are learned.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spkm.core.model import PreimageModel
from spkm.losses import Loss

LEAST = float(np.nextafter(0.0, 1.0))  # f - LEAST >= 0 where f > 0
SPREAD = 1e-13  # deviation of a target over its largest size below which it is constant, but for rounding


@dataclass(frozen=True)
class Target:
    """Base of all targets.

    Attributes
    ----------
    constant : ndarray of shape (n_outputs,)
        The score of outputs that are not learned; NaN for the others.
    mean, scale : ndarray of shape (n_learned,)
        Numbers subtracted from the learned targets, and numbers they were divided by.
    """

    constant: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    #: Whether predictions and weights have a dimension for the outputs, though there may be one.
    two_dimensional: bool = False
    #: Name of the kind of targets in files and exports: "regression", "classes" or "labels".
    task = "regression"
    #: Whether targets are classes or labels.
    of_classes = False
    #: Name of the loss that "auto" is.
    usual_loss = "squared"

    def __post_init__(self) -> None:
        for part in fields(self):
            if isinstance(getattr(self, part.name), np.ndarray):
                getattr(self, part.name).setflags(write=False)

    def __reduce__(self) -> Any:
        # Made anew from its fields: pickle would give arrays back that can be written to.
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    @property
    def learned(self) -> np.ndarray:
        """Mask of the outputs that are learned, a boolean array."""
        return np.asarray(np.isnan(self.constant))

    @property
    def names(self) -> list[str]:
        """Names of the outputs in reports."""
        return [str(k) for k in range(len(self.constant))]

    @property
    def labels(self) -> np.ndarray:
        """The classes, or the indices of the labels; none for real targets."""
        return np.zeros(0, dtype=int)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the targets that a model learns, (n, n_learned)."""
        raise NotImplementedError

    def expanded(self, model: PreimageModel, theta: np.ndarray) -> tuple[PreimageModel, np.ndarray]:
        """Return a model of all outputs in the units of y, from one of the learned columns."""
        learned = self.learned
        other = replace(model, n_outputs=len(learned))
        result, params = other.zeros()
        old = model.unpack(theta)
        result[other.basis_part] = theta[model.basis_part]
        params.weights[:, learned] = old.weights * self.scale
        params.intercept[...] = np.where(learned, 0.0, self.constant)
        params.intercept[learned] = old.intercept * self.scale + self.mean
        return other, result

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Return predictions from scores (n, m), or from what the loss makes of them."""
        raise NotImplementedError

    def region(self, wanted: ArrayLike, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return A (k, m) and a (k,) such that A f + a >= 0 are the scores f that mean ``wanted``.

        ``scores`` (m,) are those of the sample as it is. A half-space without its border, where ``decode`` gives a tie
        to another class, begins at the next floating-point number.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Real(Target):
    """Real numbers, one or more for each sample."""

    @staticmethod
    def of(y: np.ndarray, weight: np.ndarray, loss: Loss, centre: bool) -> Real:
        """Return the target of numbers y, (n,) or (n, m), in weighted samples, standardised if the loss lets it be.

        A robust loss takes median and median deviation in place of mean and standard deviation. ``centre`` is whether
        anything may be taken off; without an intercept a target of zero stays zero.
        """
        Y = y.reshape(len(y), -1)
        m, share = Y.shape[1], weight / weight.sum()
        if not loss.standardize_target:  # the scores of a loss with a link are not in the units of y
            return Real(np.full(m, np.nan), np.zeros(m), np.ones(m), y.ndim == 2)
        size = np.maximum(np.abs(Y).max(axis=0), 1e-300)
        Y = Y / size
        mean = np.clip(share @ Y, Y.min(axis=0), Y.max(axis=0))  # equal targets are their own mean, without rounding
        variance = share @ np.square(Y - mean)
        if not loss.robust:
            return Real.of_moments(mean, variance, size, centre, y.ndim == 2)
        middle = _weighted_median(Y, share)
        constant = np.where((np.sqrt(variance) < SPREAD) & centre, middle * size, np.nan)
        middle = middle if centre else np.zeros(m)
        # 1.4826 times the median deviation is the standard deviation of a normal distribution.
        typical = 1.4826 * _weighted_median(np.abs(Y - middle), share)
        deviation = np.where(typical < SPREAD, np.sqrt(share @ np.square(Y - middle)), typical)
        return Real._scaled(constant, middle, deviation, size, y.ndim == 2)

    @staticmethod
    def of_moments(
        mean: np.ndarray, variance: np.ndarray, size: np.ndarray, centre: bool, two_dimensional: bool
    ) -> Real:
        """Return the target of numbers whose mean and variance, over ``size`` and its square, are known."""
        constant = np.where((np.sqrt(variance) < SPREAD) & centre, mean * size, np.nan)
        middle = mean if centre else np.zeros_like(mean)
        return Real._scaled(constant, middle, np.sqrt(variance + (mean - middle) ** 2), size, two_dimensional)

    @staticmethod
    def _scaled(
        constant: np.ndarray, middle: np.ndarray, deviation: np.ndarray, size: np.ndarray, two_dimensional: bool
    ) -> Real:
        deviation = np.where(deviation < SPREAD, 1.0, deviation)
        learned = np.isnan(constant)
        return Real(constant, (middle * size)[learned], (deviation * size)[learned], two_dimensional)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the learned targets, standardised, (n, n_learned)."""
        return np.asarray((y.reshape(len(y), -1)[:, self.learned] - self.mean) / self.scale)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        return scores if self.two_dimensional else scores[:, 0]

    def region(self, wanted: ArrayLike, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the half-spaces of a value to reach (of an interval to be in, as a pair), or of one for each output.

        A value is reached from the side on which the score is now. NaN leaves an output free.
        """
        goals: Any = [wanted] if len(self.constant) == 1 else wanted
        if len(goals) != len(self.constant):
            raise ValueError(f"target must have an entry for each of the {len(self.constant)} outputs; got {goals!r}.")
        sides, bounds = [], []
        for output, (value, score) in enumerate(zip(goals, scores, strict=True)):
            interval = value if np.ndim(value) else (value, np.inf) if score < value else (-np.inf, value)
            low, high = (float(v) for v in interval)
            if np.ndim(value) and not low < high:
                raise ValueError(f"target must be a value, or an interval (low, high) with low < high; got {value!r}.")
            for sign, bound in ((1.0, -low), (-1.0, high)):
                if np.isfinite(bound):
                    sides.append(sign * (np.arange(len(scores)) == output))
                    bounds.append(bound)
        if not sides:
            raise ValueError(f"target must bound at least one output; got {goals!r}.")
        return np.array(sides), np.array(bounds)


@dataclass(frozen=True)
class Classes(Target):
    """One of two or more classes for each sample."""

    labels: np.ndarray = None  # type: ignore[assignment]
    task = "classes"
    of_classes = True
    usual_loss = "log"

    @staticmethod
    def of(labels: np.ndarray) -> Classes:
        """Return the target of the given classes, two or more in rising order."""
        if len(labels) < 2:
            raise ValueError(
                "y must hold at least two classes in samples of positive weight; got one class, "
                f"{labels.tolist()[0]!r}."
            )
        m = 1 if len(labels) == 2 else len(labels)
        return Classes(np.full(m, np.nan), np.zeros(m), np.ones(m), m > 1, labels)

    @property
    def names(self) -> list[str]:
        return [str(label) for label in (self.labels if self.two_dimensional else self.labels[1:])]

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return signs: +1 in the column of the class, -1 elsewhere; one column for two classes."""
        code = np.searchsorted(self.labels, y)
        if not self.two_dimensional:
            return np.where(code == 1, 1.0, -1.0)[:, None]
        return np.where(code[:, None] == np.arange(len(self.labels)), 1.0, -1.0)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        code = np.argmax(scores, axis=1) if self.two_dimensional else (scores[:, 0] > 0).astype(int)
        return np.asarray(self.labels[code])

    def region(self, wanted: ArrayLike, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the half-spaces of a class: its score is above those of all others, or has its sign."""
        code = _place_of(self.labels, wanted)
        if not self.two_dimensional:
            return np.array([[1.0 if code == 1 else -1.0]]), np.array([-LEAST if code == 1 else 0.0])
        others = np.delete(np.eye(len(self.labels)), code, axis=0)
        first = np.arange(len(others)) < code  # classes that win a tie
        return np.eye(len(self.labels))[code] - others, np.where(first, -LEAST, 0.0)


@dataclass(frozen=True)
class Ordered(Target):
    """One of two or more ordered classes for each sample: one score, cut by thresholds.

    Attributes
    ----------
    labels : ndarray of shape (K,)
        The classes, lowest first.
    cuts : ndarray of shape (K + 1,)
        A class is the most likely one where the score lies between two of them, from -inf to inf; equal ones mean that
        the class is nowhere the most likely.
    """

    labels: np.ndarray = None  # type: ignore[assignment]
    cuts: np.ndarray = None  # type: ignore[assignment]
    task = "ordered"
    of_classes = True

    @staticmethod
    def of(classes: np.ndarray, loss: Loss) -> Ordered:
        """Return the target of the given classes, lowest first, under a loss with ``log_probabilities``."""
        return Ordered(np.full(1, np.nan), np.zeros(1), np.ones(1), False, classes, _most_likely(loss, len(classes)))

    @property
    def names(self) -> list[str]:
        return [f"{self.labels[0]} to {self.labels[-1]}"]

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return codes, 0 for the lowest class, (n, 1)."""
        order = np.argsort(self.labels, kind="stable")
        return order[np.searchsorted(self.labels, y, sorter=order)].astype(np.float64)[:, None]

    def decode(self, scores: np.ndarray) -> np.ndarray:
        # If cuts are equal, the class after the last has the score: the others are nowhere the most likely.
        return self.labels[np.searchsorted(self.cuts[1:-1], scores[:, 0], side="right")]

    def region(self, wanted: ArrayLike, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the half-spaces of a class: its score lies between two cuts."""
        code = _place_of(self.labels, wanted)
        low, end = self.cuts[code : code + 2]
        high = np.nextafter(end, -np.inf) if np.isfinite(end) else end  # the score just below the next class
        if not low < high:
            raise ValueError(f"target {wanted!r} is nowhere the most likely class of this model.")
        bounds = [(sign, -sign * bound) for sign, bound in ((1.0, low), (-1.0, high)) if np.isfinite(bound)]
        return np.array([[sign] for sign, _ in bounds]), np.array([bound for _, bound in bounds])


def _most_likely(loss: Loss, n_classes: int) -> np.ndarray:
    """Return the scores at which the most likely of ordered classes changes, (n_classes + 1,), by bisection.

    The odds of a higher class over a lower one rise with the score, so that each pair changes once.
    """
    lower, higher = np.triu_indices(n_classes, k=1)
    low = np.full(len(lower), float(min(loss.thresholds)) - 50.0)
    high = np.full(len(lower), float(max(loss.thresholds)) + 50.0)
    pairs = np.arange(len(lower))
    for _ in range(80):
        middle = 0.5 * (low + high)
        logs = loss.log_probabilities(middle[:, None])
        leads = logs[pairs, lower] > logs[pairs, higher]
        low, high = np.where(leads, middle, low), np.where(leads, high, middle)
    starts = np.full(n_classes, -np.inf)
    np.maximum.at(starts, higher, high)
    # A class that is overtaken before it leads begins, and ends, where the next one does.
    for j in range(n_classes - 2, -1, -1):
        starts[j] = min(starts[j], starts[j + 1])
    return np.array([*starts, np.inf])


@dataclass(frozen=True)
class Labels(Target):
    """Any number of labels for each sample: an indicator matrix of 0 and 1."""

    task = "labels"
    of_classes = True

    @staticmethod
    def of(indicator: np.ndarray, weight: np.ndarray) -> Labels:
        """Return the target of an indicator matrix (n, n_labels).

        The score of a label that all samples have, or none, is the logarithm of its odds by Laplace's rule of
        succession, log(n + 1) for a label that is always there.
        """
        if not np.all((indicator == 0) | (indicator == 1)):
            raise ValueError(
                f"y of two dimensions must be an indicator matrix of 0 and 1; got {np.unique(indicator).tolist()}."
            )
        seen = indicator[weight > 0]
        learned = np.any(seen != seen[:1], axis=0)
        if not np.any(learned):
            raise ValueError("y must hold at least one label that is not the same in all samples of positive weight.")
        log_odds = np.where(seen[0] == 1, 1.0, -1.0) * np.log1p(weight.sum())
        m = int(learned.sum())
        return Labels(np.where(learned, np.nan, log_odds), np.zeros(m), np.ones(m), True)

    @property
    def labels(self) -> np.ndarray:
        """The indices of the labels."""
        return np.arange(len(self.constant))

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return signs (n, labels to learn)."""
        return np.where(y[:, self.learned] == 1, 1.0, -1.0)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        return (scores > 0).astype(int)

    def region(self, wanted: ArrayLike, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the half-spaces of a list of 0 and 1, one for each label; NaN leaves a label free."""
        wanted = np.asarray(wanted, dtype=float)
        if wanted.shape != self.constant.shape or not np.isin(wanted[~np.isnan(wanted)], (0, 1)).all():
            raise ValueError(f"target must be {len(self.constant)} entries of 0, 1 or NaN; got {wanted.tolist()!r}.")
        asked = np.flatnonzero(~np.isnan(wanted))
        if len(asked) == 0:
            raise ValueError("target must name at least one label; all entries are NaN.")
        sides, starts = np.where(wanted == 1, 1.0, -1.0), np.where(wanted == 1, -LEAST, 0.0)
        return sides[asked, None] * np.eye(len(wanted))[asked], starts[asked]


def same_meaning(a: Target, b: Target) -> bool:
    """Whether two targets have the same outputs, of which the same are learned."""
    return np.array_equal(a.labels, b.labels) and np.array_equal(a.learned, b.learned)


def _weighted_median(Y: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the weighted median of each output, (m,): the smallest value that reaches half of the weight."""
    order = np.argsort(Y, axis=0, kind="stable")
    below = np.cumsum(share[order], axis=0)
    first = np.argmax(below >= 0.5 * (1 - 1e-12), axis=0)
    found: np.ndarray = np.take_along_axis(Y, np.take_along_axis(order, first[None], axis=0), axis=0)[0]
    return found


def _place_of(labels: np.ndarray, wanted: object) -> int:
    """Return the place of a class among the labels; ValueError if it is none of them."""
    (places,) = np.nonzero(labels == wanted)
    if len(places) != 1:
        raise ValueError(f"target must be one of the classes {labels.tolist()}; got {wanted!r}.")
    return int(places[0])
