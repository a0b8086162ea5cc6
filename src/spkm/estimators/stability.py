"""How often each feature is chosen on halves of the samples, and how many of the stable ones may be false."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _get_feature_names

from spkm._arrays import RandomState, TableLike, TargetLike, WeightLike, with_shape
from spkm._checks import check_integer, check_real, generator
from spkm.estimators.base import ReadsModel
from spkm.estimators.false_discoveries import dense_samples
from spkm.estimators.paths import can_search, pandas, searched
from spkm.fitting.binary import check_joint
from spkm.fitting.search import fold_of
from spkm.selection import additive_importances
from spkm.sources import one_blas_thread


class Halves(NamedTuple):
    """The numbers of samples, of features and of those that a half chooses, and what chooses them."""

    n_samples: int
    n_features: int
    n_chosen: int
    choose: Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(repr=False)
class StabilitySelection:
    """How often each feature is chosen on halves of the samples.

    Attributes
    ----------
    probabilities : ndarray of shape (d,)
        Share of the halves in which the feature was chosen.
    threshold : float
        Share from which on a feature counts as stable.
    selected : ndarray of int
        The stable features, the most probable first.
    feature_names : ndarray of str
        Names of all features.
    n_features : int
        The number q of features that is chosen on each half, set before any half is used. A half may choose fewer.
    bound : float
        The expected number of false features among the stable ones is at most q^2 / ((2 threshold - 1) d). False are
        those that are chosen on a half of the samples with a probability of at most q / d, that of picking q features
        blindly; nothing is assumed (Shah and Samworth 2013, theorem 1). If all features without a part in the targets
        have the same distribution, and the choice is better than a blind one, then all of them are such features
        (Meinshausen and Buhlmann 2010).
    unimodal_bound : float
        The same under the assumption that the share of pairs in which both halves choose a false feature has a
        unimodal distribution (Shah and Samworth 2013, theorem 2): about half of it. NaN where that theorem does not
        apply, q / d above 1 / sqrt(3) or a threshold too close to one half.
    exact : bool
        Whether halves were judged by themselves, as the theorems need. With an estimator, kernel and number of features
        come from all samples, and the bounds hold approximately.
    n_halves : int
        The number of halves.
    """

    probabilities: np.ndarray
    threshold: float
    selected: np.ndarray
    feature_names: np.ndarray
    n_features: int
    bound: float
    unimodal_bound: float
    exact: bool
    n_halves: int

    def __repr__(self) -> str:
        names = [str(name) for name in self.feature_names[self.selected]]
        stable = f"{', '.join(names[:10]) or 'none'}{f' and {len(names) - 10} more' if len(names) > 10 else ''}"
        return (
            f"Stable features, chosen on at least {self.threshold:.0%} of {self.n_halves} halves of the samples: "
            f"{stable}. At most {'' if self.exact else 'about '}{self.bound:.2g} false ones are expected. Each half "
            f"chooses {self.n_features}; frame() lists all features."
        )

    def frame(self) -> Any:
        """Return a pandas DataFrame, the most probable feature first."""
        order = np.argsort(-self.probabilities, kind="stable")
        return pandas().DataFrame(
            {
                "feature": self.feature_names[order],
                "probability": self.probabilities[order],
                "stable": self.probabilities[order] >= self.threshold,
            }
        )


def stability_selection(
    estimator: ReadsModel | None,
    X: TableLike,
    y: TargetLike | None,
    *,
    sample_weight: WeightLike = None,
    n_pairs: int = 25,
    threshold: float = 0.75,
    max_false: float | None = None,
    random_state: RandomState = None,
) -> StabilitySelection:
    """Return how often each feature is chosen on halves of the samples, and how many of the stable ones may be false.

    The samples are cut into two halves, again and again, and features are chosen on each half.

    Parameters
    ----------
    estimator : SPKMClassifier, SPKMRegressor, one of their CV kin, or None
        With ``selection="strict"``: its kernel and number of features are chosen once, on all samples, then as many
        features on each half. None takes, on each half by itself, the most important features of an l1-penalised
        additive model with products of pairs: 50 halves take seconds, and the bounds are exact.
    X, y, sample_weight
        As for fit.
    n_pairs : int, default=25
        Pairs of halves.
    threshold : float, default=0.75
        Share of the halves, above one half, from which on a feature counts as stable.
    max_false : float, default=None
        Expected number of false features that ``bound`` may reach. It sets how many features are chosen on a half:
        sqrt(max_false (2 threshold - 1) d), rounded down. None is 1 without an estimator; with one, the number of
        features is its own.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the halves.

    Returns
    -------
    result : StabilitySelection
        A probability for every feature, and the bounds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SPKMClassifier(kernel="linear", selection="strict", max_features=3, random_state=0)
    >>> result = stability_selection(clf, X[:100, :4], y[:100], n_pairs=1, random_state=0)
    >>> result.probabilities.shape, result.n_features <= 3
    ((4,), True)
    >>> result = stability_selection(None, X, y, n_pairs=10, max_false=1, random_state=0)
    >>> result.exact, bool(result.bound <= 1), bool(len(result.selected) >= 1)
    (True, True, True)
    """
    check_integer("n_pairs", n_pairs, 1)
    if not check_real("threshold", threshold, most=1.0) > 0.5:
        raise ValueError(f"threshold must be above 0.5, or the bound does not hold; got {threshold!r}.")
    rng = generator(random_state)
    if estimator is None:
        halves = _choice_by_importance(X, y, sample_weight, 1.0 if max_false is None else max_false, threshold)
    else:
        halves = _choice_by_search(estimator, X, y, sample_weight, max_false, threshold)
    n, d, q, choose = halves
    counts = np.zeros(d)
    with np.errstate(all="ignore"), one_blas_thread():
        for _ in range(n_pairs):
            order = rng.permutation(n)
            for half in (order[: n // 2], order[n // 2 :]):
                counts[choose(half, rng)] += 1
    probabilities = counts / (2 * n_pairs)
    order = np.argsort(-probabilities, kind="stable")
    names = _get_feature_names(X)
    return StabilitySelection(
        probabilities,
        float(threshold),
        order[probabilities[order] >= threshold],
        np.array([f"x{j}" for j in range(d)]) if names is None else names,
        q,
        q**2 / ((2 * threshold - 1) * d),
        unimodal_constant(threshold, n_pairs, q / d) * q**2 / d,
        estimator is None,
        2 * n_pairs,
    )


def unimodal_constant(threshold: float, n_pairs: int, theta: float) -> float:
    """Return C of theorem 2 of Shah and Samworth (2013): at most C theta q false features; NaN where it has none."""
    step = 1 / (2 * n_pairs)
    if theta > 1 / np.sqrt(3) or threshold <= min(0.5 + theta**2, 0.5 + step + 0.75 * theta**2):
        return np.nan
    if threshold <= 0.75:
        return 1 / (2 * (2 * threshold - 1 - step)) if 2 * threshold - 1 > step else np.nan
    return 4 * (1 - threshold + step) / (1 + 2 * step)


def _number_of_features(max_false: float, threshold: float, d: int) -> int:
    """Return how many features may be chosen on each half."""
    number = int(np.sqrt(check_real("max_false", max_false, strict=True) * (2 * threshold - 1) * d))
    if number < 1:
        least = 1 / ((2 * threshold - 1) * d)
        raise ValueError(
            f"max_false must be at least {least:.3g} with {d} features and threshold={threshold:g}, or no feature may "
            f"be chosen; got {max_false!r}."
        )
    return min(number, d)


def _choice_by_importance(
    X: TableLike, y: TargetLike | None, sample_weight: WeightLike, max_false: float, threshold: float
) -> Halves:
    """Return what chooses the most important features of an additive model."""
    rows, Y, weight = dense_samples("estimator=None", None, X, y, sample_weight)[:3]
    n, d = rows.shape
    number = _number_of_features(max_false, threshold, d)

    def choose(half: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        importances = additive_importances(rows[half], Y[half], weight[half], rng)
        best = np.argsort(-importances, kind="stable")[:number]
        return best[importances[best] > 0]

    return Halves(n, d, number, choose)


def _choice_by_search(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike | None,
    sample_weight: WeightLike,
    max_false: float | None,
    threshold: float,
) -> Halves:
    """Return what eliminates features with the kernel of all samples."""
    if not can_search(estimator) or estimator.selection is None:
        raise ValueError(
            "estimator must be an SPKMClassifier, an SPKMRegressor or one of their CV kin with selection='strict', or "
            f"None; got {type(estimator).__name__}."
        )
    check_joint("estimator", estimator)
    fitted: Any = clone(estimator)
    if max_false is not None:
        d = with_shape(X).shape[1]
        fitted.set_params(max_features=_number_of_features(max_false, threshold, d))
    spec, search, data, choice = searched(fitted, X, y, sample_weight)

    def choose(half: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return search.columns_by_themselves(choice, fold_of(spec, data.part(half), choice, rng))

    largest = np.sort(search.units.size)[::-1]  # a feature group counts by its features
    return Halves(data.n_rows, data.n_features, 0 if choice.is_empty else int(largest[: choice.n_units].sum()), choose)
