"""Bounds on what rounding may make of scores: a page and Python compute the same sums in different ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spkm.inspection._report._samples import rounded
from spkm.persistence._runtime import (
    kernel_values,
    member_weights,
    of_sum,
    parts_of_sum,
    ready_member,
    scaled,
)

EPS = float(np.finfo(float).eps)


def rounding_of_scores(plain: dict[str, Any], X: np.ndarray) -> np.ndarray:
    """Return by how much two ways to compute scores may differ, (n, m).

    One way sums differences, the other takes squared distances from three products, ``|z|^2 + |u|^2 - 2 zu``, each of
    which has an error of its own size; features that are not scaled make it far larger than that of the distance.
    """
    found = [_of_member(ready_member(member), X) for member in plain["members"]]
    return np.hstack(found)


def _of_member(member: Any, X: np.ndarray) -> np.ndarray:
    Z, parts = scaled(member, X), []
    for term in member["terms"]:
        parts.append(
            product_with_rounding([with_rounding(v["kernel"], Z[:, v["columns"]], v["basis"]) for v in term["views"]])
        )
    values, errors = (np.hstack(part) for part in zip(*parts, strict=True))
    return rounding_of_sums(values, errors, member_weights(member), member["intercept"])


def rounding_of_sums(values: np.ndarray, errors: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Return by how much two sums of weighted similarities may differ, (n, m), from errors of the similarities."""
    sizes = np.abs(values) @ np.abs(weights) + np.abs(intercept)
    return 2 * (errors @ np.abs(weights) + (values.shape[1] + 2) * EPS * sizes)


def bounds_of(bounds: np.ndarray, is_class: bool) -> list[Any]:
    """Return bounds on the scores of samples as a page has them: for each output, as units differ, of classes one."""
    found: list[Any] = rounded(bounds.max(axis=1) if is_class or bounds.shape[1] == 1 else bounds, 3)
    return found


def product_with_rounding(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return a product of arrays and a bound on its errors, from arrays and bounds on theirs."""
    values, errors = parts[0]
    for other, own in parts[1:]:
        errors = np.abs(values) * own + np.abs(other) * errors + errors * own + EPS * np.abs(values * other)
        values = values * other
    return values, errors


def with_rounding(kernel: dict[str, Any], X: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values of a kernel in plain form and bounds on their errors, both (n, R)."""
    if kernel["name"] == "affine":
        values, errors = with_rounding(kernel["kernel"], X, U)
        values = kernel["scale"] * values
        return values + kernel["shift"], abs(kernel["scale"]) * errors + EPS * (np.abs(values) + abs(kernel["shift"]))
    if kernel["name"] in ("sum", "product"):
        left, right = (with_rounding(kernel[part], X, U) for part in ("left", "right"))
        if kernel["name"] == "product":
            return product_with_rounding([left, right])
        return left[0] + right[0], left[1] + right[1] + EPS * (np.abs(left[0]) + np.abs(right[0]))
    with np.errstate(over="ignore"):
        values = kernel_values(kernel, X, U)
    share = (X.shape[1] + 8) * EPS  # roundings of a sum of products, of scaled features and of their weights
    last = (4 + kernel.get("degree", 0) + kernel.get("alpha", 0)) * EPS * np.abs(values)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        of = _of_norms if kernel["name"] in ("normalized_polynomial", "tanimoto") else _of_sum
        return values, of(kernel, X, U, share) + last


def _of_sum(kernel: dict[str, Any], X: np.ndarray, U: np.ndarray, share: float) -> np.ndarray:
    """Return how far a function of a sum, a product or a distance, moves where the sum has its error."""
    s, w = parts_of_sum(kernel, X, U).sum(axis=2), np.broadcast_to(kernel["metric"], X.shape[1:])
    if kernel["name"] in ("linear", "polynomial"):
        error, least = share * (np.abs(X) @ (np.abs(U) * w).T), -np.inf
    else:
        power, times, least = (np.abs, 1, 0.0) if kernel["name"] == "laplacian" else (np.square, 2, 0.0)
        error = times * share * ((power(X) @ w)[:, None] + power(U) @ w)
    middle = of_sum(kernel, s)
    ends = [np.abs(of_sum(kernel, np.maximum(s + step, least)) - middle) for step in (-error, error)]
    return np.maximum(*ends)


def _of_norms(kernel: dict[str, Any], X: np.ndarray, U: np.ndarray, share: float) -> np.ndarray:
    """Return how far a function of a product and two squared norms moves where all three have errors."""
    w = np.broadcast_to(kernel["metric"], X.shape[1:])
    product, size = X @ (U * w).T, np.abs(X) @ (np.abs(U) * w).T
    norms = (np.square(X) @ w)[:, None], np.square(U) @ w
    if kernel["name"] == "tanimoto":
        union = norms[0] + norms[1] - product
        union = np.where(union > 0, union, 1.0)
        return np.asarray(share * (size + np.abs(product) / union * (norms[0] + norms[1] + size)) / union)
    q, p = kernel["coef0"], kernel["degree"]
    length = np.sqrt((norms[0] + q) * (norms[1] + q))
    base = np.abs(product + q) / length
    return np.asarray((base + share * (size + q + base * length) / length) ** p - base**p)
