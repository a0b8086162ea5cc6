"""When two numbers agree: bounds come from rounding and from the condition of a model at its samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._hostile.ways import Answers
from spkm.tables.pipelines import before_last, last_of

STEP = 1e-10  # for slopes in double precision: far below the width of a kernel, far above rounding


def apart(found: Any, want: Any, bound: Any, what: str) -> str:
    """Return by how much numbers differ, over a bound, if they differ by more."""
    found, want = np.asarray(found, dtype=float), np.asarray(want, dtype=float)
    if found.shape != want.shape:
        return f"{what}: shapes {found.shape} and {want.shape}"
    gap = np.abs(found - want)
    same = (found == want) | (np.isnan(found) & np.isnan(want)) | (gap <= bound)
    if np.all(same):
        return ""
    worst = np.argmax(np.where(same, -np.inf, np.nan_to_num(gap, nan=np.inf)))
    return f"{what} differ: {found.flat[worst]!r} and {want.flat[worst]!r}, {int((~same).sum())} of {same.size}"


def sizes_of(fitted: Any, rows: Any) -> np.ndarray:
    """Return the sum of the absolute values that each score is made of, (n, m)."""
    return np.abs(fitted.contributions(rows)).sum(axis=1) + np.abs(fitted.intercept) + 1e-300


def rounding_of(fitted: Any, rows: Any) -> np.ndarray:
    """Return a bound on the error of each score, (n, m), by the rounding of the numbers that it is computed with.

    In a precision eps a difference z_j - u_j is known to eps (|z_j| + |u_j|), which changes the contribution of a
    vector by its first derivative times that, and a squared distance that is computed as |z|^2 + |u|^2 - 2 zu has an
    error like that of a difference wrong by sqrt(eps) at its second derivative. Both are taken by differences of the
    contributions in double precision; sums of d products over r vectors, and the few numbers after them, have d + r + 8
    roundings.
    """
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
    kind = np.finfo(dense.dtype)
    eps = float(kind.eps)
    X = _within_clips(fitted, dense.astype(np.float64))
    d = X.shape[1]
    middle = fitted.contributions(X)
    spread = np.zeros_like(fitted.intercept + middle[:, 0])
    reach = _largest_entries(fitted, d)
    short = max(eps, STEP)
    for j in range(d):
        step = np.zeros_like(X)
        step[:, j] = np.abs(X[:, j]) + reach[j]
        first = np.maximum(*(np.abs(fitted.contributions(X + h * step) - middle) for h in (short, -short)))
        wide = np.sqrt(eps) * step
        second = (fitted.contributions(X + wide) + fitted.contributions(X - wide)) / 2 - middle
        spread += (eps / short * first + np.abs(second)).sum(axis=1)
    least = float(kind.tiny) * np.abs(fitted.weights).sum()
    return (d + middle.shape[1] + 8) * (eps * sizes_of(fitted, X) + spread + least)


def _within_clips(fitted: Any, X: np.ndarray) -> np.ndarray:
    """Return samples with the same scores, none beyond the clip of a scaling: there no derivative would show."""
    scalings = [(member.features, member.scaling) for member in fitted.members if member.scaling is not None]
    for features, scaling in scalings:
        X[:, features] = scaling.inverse(scaling(X[:, features]))
    return X


def _largest_entries(fitted: Any, d: int) -> np.ndarray:
    """Return the largest absolute value of a basis vector or a centre, for each feature."""
    vectors = np.nan_to_num(np.abs(np.vstack([np.zeros((1, d)), fitted.basis_vectors]))).max(axis=0)
    for member in fitted.members:
        if member.scaling is not None:
            vectors[member.features] += np.abs(member.scaling.center)
    return vectors


def differences(model: Any, X: Any, want: Answers, found: Answers, exact: bool) -> str:
    """Return where answers differ by more than rounding, or nothing."""
    last = last_of(model)
    rows = last._rows(before_last(model, X))
    error = np.zeros(want["scores"].shape) if exact else rounding_of(last.model_, rows)
    return differences_within(last.model_, want, found, error)


def differences_within(fitted: Any, want: Answers, found: Answers, error: np.ndarray) -> str:
    """Return where answers differ by more than errors of the scores, (n, m), allow."""
    if "scores" in found:
        problem = apart(np.reshape(found["scores"], want["scores"].shape), want["scores"], error, "scores")
        if problem:
            return problem
    worst = error.max(axis=1)  # of a logarithm of odds, or of a count
    if "probabilities" in want:
        if "probabilities" not in found:
            # A way may have scores alone, or predictions alone.
            return "there are no probabilities" if "scores" in found and "predict" in found else ""
        bound = (10 * worst + 10 * _eps(want["probabilities"]) * (error.max() > 0))[:, None]
        problem = apart(found["probabilities"], want["probabilities"], bound, "probabilities")
        if problem:
            return problem
    if "predict" not in found:
        return ""
    target = np.asarray(want["predict"])
    got = np.asarray(found["predict"]).reshape(target.shape)
    if not fitted.target.of_classes:
        relative = 10 * worst + 10 * _eps(target) * (error.max() > 0)  # exponentials of counts are rounded, too
        bound = np.reshape(relative, (-1,) + (1,) * (target.ndim - 1)) * np.maximum(1.0, np.abs(target))
        return apart(got, target, bound, "predictions")
    same = got.astype(target.dtype) == target
    same = same if same.ndim == 1 else same.all(axis=1)
    clear = _margins(want, fitted) > 100 * worst if error.max() > 0 else np.ones(len(same), dtype=bool)
    return "" if np.all(same[clear]) else f"{int((~same[clear]).sum())} predictions differ"


def _eps(values: np.ndarray) -> float:
    """Return the rounding of answers themselves: that of their own precision, however small scores are."""
    return float(np.finfo(values.dtype if values.dtype.kind == "f" else float).eps)


def _margins(want: Answers, fitted: Any) -> np.ndarray:
    """Return how far decisions are from the next one; pairs are judged by probabilities, or not at all."""
    F = want["scores"]
    if fitted.target.task == "labels" or F.shape[1] == 1:
        return np.abs(F).min(axis=1)
    if fitted.pairs is not None:
        votes = want.get("probabilities")
        return np.full(len(F), -1.0) if votes is None else np.diff(np.sort(votes, axis=1)[:, -2:], axis=1)[:, 0] - 1e-3
    return np.diff(np.sort(F, axis=1)[:, -2:], axis=1)[:, 0]
