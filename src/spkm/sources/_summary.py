"""Summary of one pass over samples: counts, moments, ranges, labels, and a random sample that is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_LABELS = 10_000  # more are no classes


@dataclass(frozen=True)
class Summary:
    """Summary of the samples of positive weight.

    Attributes
    ----------
    n_rows : int
        Their number.
    total : float
        Sum of their weights.
    whole : bool
        Whether all weights are integers.
    mean, second, low, high : ndarray of shape (d,)
        Weighted mean of each feature, sum of squared deviations from it, and range.
    y_mean, y_second, y_low, y_high : ndarray of shape (m,)
        The same of real targets; empty for classes.
    labels, label_weights : ndarray
        Classes, in rising order, and the sum of their weights; empty for real targets.
    several : bool
        Whether targets have two dimensions.
    kept_key, kept_X, kept_y, kept_weight : ndarray
        Samples with the least of random keys, in the order of samples, and their keys.
    dtype : dtype
        float32 if all X are.
    """

    n_rows: int
    total: float
    whole: bool
    mean: np.ndarray
    second: np.ndarray
    low: np.ndarray
    high: np.ndarray
    y_mean: np.ndarray
    y_second: np.ndarray
    y_low: np.ndarray
    y_high: np.ndarray
    labels: np.ndarray
    label_weights: np.ndarray
    several: bool
    kept_key: np.ndarray
    kept_X: np.ndarray
    kept_y: Any
    kept_weight: np.ndarray
    dtype: np.dtype


def summary_of(chunk: Any, number: int, seed: int, of_classes: bool, n_kept: int) -> Summary:
    """Return the summary of the chunk of the given number; ``seed`` and number decide which samples are kept."""
    X, y, weight = chunk
    n = len(X)
    weight = np.ones(n) if weight is None else _checked_weight(weight, n, number)
    if y is not None and len(y) != n:
        raise ValueError(f"y must have an entry for each sample; chunk {number} has {n} samples and {len(y)} targets.")
    key = np.random.default_rng([seed, number]).random(n)
    used = weight > 0
    if not used.all():
        X, y, weight, key = X[used], None if y is None else y[used], weight[used], key[used]
    _check_finite(X, number)
    dtype = X.dtype
    total, mean, second = _moments(X, weight)
    low, high = _range(X)
    empty = np.zeros(0)
    y_mean = y_second = y_low = y_high = empty
    labels, label_weights = np.zeros(0, dtype=np.int64 if y is None else np.asarray(y).dtype), empty
    several = y is not None and np.ndim(y) == 2
    if of_classes and y is not None:
        labels, label_weights = _labels(y, weight, number)
    elif y is not None and np.asarray(y).dtype.kind in "biuf":
        Y = np.asarray(y, dtype=np.float64)
        Y = Y if several else Y[:, None]
        _check_finite(Y, number, "y")
        _, y_mean, y_second = _moments(Y, weight)
        y_low, y_high = _range(Y)
    least = _least(key, n_kept)
    return Summary(
        len(X),
        total,
        bool(np.all(weight == np.rint(weight))),
        mean,
        second,
        low,
        high,
        y_mean,
        y_second,
        y_low,
        y_high,
        labels,
        label_weights,
        several,
        key[least],
        np.array(X[least], order="C"),
        None if y is None else np.array(y[least]),
        weight[least],
        dtype,
    )


def merged(a: Summary, b: Summary, n_kept: int) -> Summary:
    """Return the summary of the samples of both; those of ``a`` come first."""
    if len(a.mean) != len(b.mean):
        raise ValueError(f"All chunks must have the same features; one has {len(a.mean)}, another {len(b.mean)}.")
    if a.n_rows == 0 or b.n_rows == 0:
        return b if a.n_rows == 0 else a
    if a.several != b.several or len(a.y_mean) != len(b.y_mean):
        raise ValueError("y must have the same number of dimensions and outputs in all chunks.")
    mean, second = _merged_moments(a.total, a.mean, a.second, b.total, b.mean, b.second)
    y_mean, y_second = _merged_moments(a.total, a.y_mean, a.y_second, b.total, b.y_mean, b.y_second)
    try:
        labels, place = np.unique(np.concatenate([a.labels, b.labels]), return_inverse=True)
    except TypeError as error:
        raise TypeError("y must hold labels of one type, without None.") from error
    if len(labels) > MOST_LABELS:
        raise ValueError(f"y must hold classes; it has more than {MOST_LABELS} different values.")
    key = np.concatenate([a.kept_key, b.kept_key])
    least = _least(key, n_kept)
    from_a = least[least < len(a.kept_key)]
    from_b = least[len(from_a) :] - len(a.kept_key)
    return Summary(
        a.n_rows + b.n_rows,
        a.total + b.total,
        a.whole and b.whole,
        mean,
        second,
        np.minimum(a.low, b.low),
        np.maximum(a.high, b.high),
        y_mean,
        y_second,
        np.minimum(a.y_low, b.y_low),
        np.maximum(a.y_high, b.y_high),
        labels,
        np.bincount(place, np.concatenate([a.label_weights, b.label_weights]), len(labels)),
        a.several,
        key[least],
        np.concatenate([a.kept_X[from_a], b.kept_X[from_b]]),
        None if a.kept_y is None else np.concatenate([a.kept_y[from_a], b.kept_y[from_b]]),
        np.concatenate([a.kept_weight[from_a], b.kept_weight[from_b]]),
        np.result_type(a.dtype, b.dtype),
    )


def _least(key: np.ndarray, count: int) -> np.ndarray:
    """Return where the least keys are, in rising order."""
    return np.arange(len(key)) if len(key) <= count else np.sort(np.argpartition(key, count)[:count])


def _range(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(A) == 0:
        return np.full(A.shape[1], np.inf), np.full(A.shape[1], -np.inf)
    return A.min(axis=0).astype(np.float64), A.max(axis=0).astype(np.float64)


def _moments(A: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    total = float(weight.sum())
    if total == 0:
        return 0.0, np.zeros(A.shape[1]), np.zeros(A.shape[1])
    mean = weight @ A / total
    return total, mean, weight @ np.square(A - mean)


def _merged_moments(
    n: float, mean: np.ndarray, second: np.ndarray, other_n: float, other_mean: np.ndarray, other_second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    # Chan, Golub and LeVeque 1983: no difference of large sums of squares.
    share, apart = other_n / (n + other_n), other_mean - mean
    return mean + share * apart, second + other_second + n * share * apart**2


def _labels(y: np.ndarray, weight: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    if np.ndim(y) != 1:
        raise ValueError(
            "y must be one label for each sample where samples are read in chunks; an indicator matrix must fit in "
            "memory."
        )
    if y.dtype.kind == "f" and not np.all(y == np.rint(y)):
        raise ValueError("y must hold labels; it holds numbers that are no integers. For those use SPKMRegressor.")
    try:
        labels, place = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y must hold labels of one type, without None; chunk {number} holds several.") from error
    return labels, np.bincount(place, weight, len(labels))


def _checked_weight(given: object, n: int, number: int) -> np.ndarray:
    weight: np.ndarray = np.asarray(given, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have an entry for each sample; chunk {number} has {n} samples and weights of shape "
            f"{weight.shape}."
        )
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError(
            f"sample_weight must hold finite numbers of at least zero; chunk {number} holds {weight.min():g}."
        )
    return weight


def _check_finite(A: np.ndarray, number: int, argument: str = "X") -> None:
    if np.isfinite(A).all():
        return
    j = int(np.flatnonzero(~np.isfinite(A).all(axis=0))[0])
    raise ValueError(
        f"{argument} must hold finite numbers; feature {j} holds NaN or infinity in chunk {number}. Fill in what is "
        "missing, or leave such samples out."
    )
