"""A bound on the error of a model with rounded numbers by the length of its description; and by held-out samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_consistent_length, column_or_1d

from spkm._arrays import TableLike, TargetLike
from spkm.core.targets import Labels
from spkm.theory._conditions import checked_confidence
from spkm.theory._quantized import check_bits, deployed, model_of, quantized_model

WIDTHS = tuple(range(1, 13))  # bits of a number that are compared


@dataclass(frozen=True)
class OccamBound:
    """A bound on the share of wrong labels among new samples, for a model with rounded numbers.

    Parameters
    ----------
    value : float
        The bound.
    training_error : float
        Share of the given samples that the model with rounded numbers labels wrongly.
    bits : int
        Bits of a number.
    lengths : dict from str to float
        How many bits each part of the model takes.
    estimator : SPKMClassifier
        The model that the bound is for, with rounded numbers: deploy this one.
    confidence : float
        Probability, over the draw of the samples, with which the bound holds.
    n_samples : int
        Number of samples.
    assumptions : tuple of str
        Conditions, each with whether it was checked or is taken on trust.
    """

    value: float
    training_error: float
    bits: int
    lengths: dict[str, float]
    estimator: Any
    confidence: float
    n_samples: int
    assumptions: tuple[str, ...]

    @property
    def length(self) -> float:
        """Bits of the whole model."""
        return sum(self.lengths.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {length:.0f}" for name, length in self.lengths.items() if length >= 1)
        first = (
            f"With probability {self.confidence:g} the error on new samples is at most {self.value:.4f} (on the "
            f"{self.n_samples:,} given ones it is {self.training_error:.4f}), for the model of {self.length:.0f} bits:"
        )
        return "\n".join([first, f"  {self.bits} bits for a number; {parts}", *(f"- {s}" for s in self.assumptions)])


def occam_bound(
    estimator: BaseEstimator, X: TableLike, y: TargetLike, *, bits: Any = "best", confidence: float = 0.95
) -> OccamBound:
    """Return a bound on the error of a classifier with rounded numbers, from its training samples.

    It is for the model that the defaults give: learned bandwidths, a linear part, scaled and selected features may all
    depend on the samples, because every bit of them is counted. ``docs/bound.md`` has the proof.

    Parameters
    ----------
    estimator : SPKMClassifier
        A fitted classifier.
    X : array-like, DataFrame or CSR of shape (n_samples, n_features)
        The training samples, each of them once.
    y : array-like of shape (n_samples,)
        Their labels.
    bits : int, sequence of int or "best", default="best"
        Bits of a number. If there are several, stated beforehand, the one with the smallest bound is taken, and the
        bound pays for the choice; "best" is 1 to 12.
    confidence : float, default=0.95
        Probability with which the bound is to hold.

    Returns
    -------
    bound : OccamBound
        The bound, and in ``estimator`` the model that it is for.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMClassifier, theory
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> bound = theory.occam_bound(SPKMClassifier(2, random_state=0).fit(X, y), X, y)
    >>> bool(bound.value < 0.2), bool((bound.estimator.predict(X) != y).mean() == bound.training_error)
    (True, True)
    """
    model = _classifier_model(estimator)
    confidence = checked_confidence(confidence)
    widths = WIDTHS if isinstance(bits, str) and bits == "best" else _checked_widths(bits)
    found = []
    for width in widths:
        small = quantized_model(model, width)
        candidate = deployed(estimator, small)
        wrong, n = _count_wrong(candidate, X, y)
        log_share = -sum(small.lengths.values()) * log(2) + log((1 - confidence) / len(widths))
        found.append((largest_error(wrong, n, log_share), width, wrong / n, small.lengths, candidate, n))
    value, width, error, lengths, candidate, n = min(found, key=lambda entry: entry[:2])
    return OccamBound(value, error, width, lengths, candidate, confidence, n, _assumptions(len(widths)))


def held_out_bound(estimator: BaseEstimator, X: TableLike, y: TargetLike, *, confidence: float = 0.95) -> float:
    """Return a bound on the error of a classifier from samples that had no part in its fit: the binomial one.

    Parameters
    ----------
    estimator : classifier
        Any fitted classifier.
    X, y : what the classifier takes
        Samples that had no part in the fit, nor in the choice of the model, and their labels.
    confidence : float, default=0.95
        Probability with which the bound is to hold.

    Returns
    -------
    bound : float
        The largest error rate under which as few wrong labels have a probability of at least 1 - confidence.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from spkm import theory
    >>> constant = DummyClassifier().fit([[0], [0]], [1, 1])
    >>> round(theory.held_out_bound(constant, [[0]] * 59, [1] * 59), 3)  # none of 59 wrong
    0.05
    """
    wrong, n = _count_wrong(estimator, X, y)
    return largest_error(wrong, n, log(1 - checked_confidence(confidence)))


def largest_error(wrong: int, n: int, log_probability: float) -> float:
    """Return the largest p at which at most ``wrong`` errors of n have probability exp(log_probability) or more."""
    if wrong >= n:
        return 1.0
    k = np.arange(wrong + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

    def excess(odds: float) -> float:
        # With p = 1 / (1 + exp(-odds)): log p = -log(1 + exp(-odds)), log (1 - p) = -log(1 + exp(odds)).
        terms = ways - k * np.logaddexp(0, -odds) - (n - k) * np.logaddexp(0, odds)
        return float(logsumexp(terms)) - log_probability

    low, high = -50.0, 50.0 + max(0.0, -log_probability)
    return float(1 / (1 + np.exp(-brentq(excess, low, high, xtol=1e-10))))


def _classifier_model(estimator: BaseEstimator) -> Any:
    model = model_of(estimator)
    if not is_classifier(estimator) or isinstance(model.target, Labels):
        raise ValueError(
            f"estimator must be a classifier with one label for each sample; got {type(estimator).__name__}. The bound "
            "is for the share of wrong labels."
        )
    return model


def _checked_widths(bits: Any) -> list[int]:
    several = isinstance(bits, Sequence | np.ndarray) and not isinstance(bits, str)
    widths = [check_bits(one) for one in (bits if several else [bits])]
    if not widths:
        raise ValueError(f"bits must be an integer, several or 'best'; got {bits!r}.")
    return widths


def _count_wrong(estimator: BaseEstimator, X: Any, y: Any) -> tuple[int, int]:
    predicted, y = np.asarray(estimator.predict(X)), column_or_1d(y)
    check_consistent_length(predicted, y)
    if len(y) == 0:
        raise ValueError("X must have at least one sample; got none.")
    return int(np.count_nonzero(predicted != y)), len(y)


def _assumptions(n_widths: int) -> tuple[str, ...]:
    choice = f" among {n_widths} numbers of bits, stated beforehand" if n_widths > 1 else ""
    return (
        "On trust: the samples are drawn independently from one distribution, as those to be predicted are, and each "
        "is given once.",
        "On trust: classes, number of features, columns of views and kernels of your own were fixed before the samples "
        "were seen, and steps before the classifier have learned nothing from them.",
        f"Counted: all that the model has learned, kernel and features included{choice}.",
        "It is for the model in .estimator, whose numbers are rounded, and not for the one that was given.",
    )
