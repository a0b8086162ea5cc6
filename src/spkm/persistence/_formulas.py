"""The formulas of a plain model, written once for every language: of numbers, of arrays of NumPy, and of code.

A formula takes ``do``, the functions of a language (``exp``, ``sqrt``, ``minimum``, ``maximum`` and ``where``, as NumPy
has them, and ``logistic``), and values that operators work on. Models that are exported to Python hold a copy of this
text, for any Python 3 without a package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

EXP_FROM = 30.0  # beyond it the exponential of a count's or hazard's logarithm is not followed, as in losses
SMALLEST_SHARE = 1e-7  # of a pair of classes
TINY = 2.2250738585072014e-308  # the least probability of a class


def kernel_value(do: Any, kernel: dict[str, Any], sums: Callable[[str, Any], Any]) -> Any:
    """Return k(x, u) of a kernel as a tree of formulas.

    Parameters
    ----------
    do : functions of a language
        As above.
    kernel : dict
        The kernel of a plain model.
    sums : callable
        ``sums(kind, metric)`` is a sum over features, weighted by a metric w: of w (x - u)^2 for the kind "squares", of
        w |x - u| for "sizes", and of w x u, w x^2 and w u^2 for "xu", "xx" and "uu".
    """
    name = kernel["name"]
    if name == "affine":
        return kernel["scale"] * kernel_value(do, kernel["kernel"], sums) + kernel["shift"]
    if name in ("sum", "product"):
        left, right = (kernel_value(do, kernel[part], sums) for part in ("left", "right"))
        return left + right if name == "sum" else left * right
    metric = kernel["metric"]
    if name in ("rbf", "matern", "rational_quadratic", "laplacian"):
        return of_distance(do, kernel, sums("sizes" if name == "laplacian" else "squares", metric))
    dot = sums("xu", metric)
    if name in ("linear", "polynomial"):
        return of_product(kernel, dot)
    xx, uu = sums("xx", metric), sums("uu", metric)
    if name == "tanimoto":
        union = xx + uu - dot
        return dot / do.where(union <= 0, 1.0, union)
    q = kernel["coef0"]
    return ((dot + q) / do.sqrt((xx + q) * (uu + q))) ** kernel["degree"]


def of_distance(do: Any, kernel: dict[str, Any], s: Any) -> Any:
    """Return a kernel from its sum of squared differences, of "laplacian" of their sizes."""
    if kernel["name"] in ("rbf", "laplacian"):
        return do.exp(-s)
    if kernel["name"] == "rational_quadratic":
        return (1 + s / kernel["alpha"]) ** -kernel["alpha"]
    root = do.sqrt(4 * kernel["nu"] * s)
    return (1 + root if kernel["nu"] == 1.5 else 1 + root + root * root / 3) * do.exp(-root)


def of_product(kernel: dict[str, Any], dot: Any) -> Any:
    """Return a linear kernel or a polynomial from its sum of products."""
    return dot if kernel["name"] == "linear" else (dot + kernel["coef0"]) ** kernel["degree"]


def bounded_exp(do: Any, f: Any) -> Any:
    """Return the exponential of a score, a count or a hazard, which grows no more from ``EXP_FROM``."""
    return do.exp(do.minimum(f, EXP_FROM))


def ordered_probabilities(do: Any, plain: dict[str, Any], f: Any) -> list[Any]:
    """Return the probability of each of ordered classes, p_k = g_k s(f - t_(k-1)) s(t_k - f): exact if small, too."""
    t = plain["thresholds"]
    above, below = [do.logistic(f - one) for one in t], [do.logistic(one - f) for one in t]
    gaps = [-math.expm1(t[k] - t[k + 1]) for k in range(len(t) - 1)]
    return [below[0], *(gap * a * b for gap, a, b in zip(gaps, above, below[1:])), above[-1]]


def class_probabilities(do: Any, shares: list[Any], n: int) -> list[Any]:
    """Return the probability of each of n classes from ``shares``, that of the second class of each pair.

    One against one, in languages without linear algebra: p minimise p'Qp over p that sum to one (Wu, Lin and Weng 2004,
    second method), Q p + v lambda = 0 with v of ones. Q is positive semi-definite, so elimination needs no pivots but
    in its last step, where Q may be singular; the two unknowns that are left, the last p and lambda, are solved for
    together.
    """
    Q: dict[tuple[int, int], Any] = {}
    for (a, b), share in zip(combinations(range(n), 2), shares):
        p = do.minimum(do.maximum(share, SMALLEST_SHARE), 1 - SMALLEST_SHARE)
        q = 1.0 - p
        Q[a, b] = -(p * q)
        for k, size in ((a, p * p), (b, q * q)):
            Q[k, k] = Q[k, k] + size if (k, k) in Q else size
    v: list[Any] = [1.0] * n
    corner: Any = 0.0
    for i in range(n - 1):
        for j in range(i + 1, n):
            factor = Q[i, j] / Q[i, i]
            for k in range(j, n):
                Q[j, k] = Q[j, k] - factor * Q[i, k]
            v[j] = v[j] - factor * v[i]
        corner = corner - v[i] * v[i] / Q[i, i]
    last, rest = v[n - 1], Q[n - 1, n - 1]
    found: dict[int, Any] = {n - 1: last / (last * last - rest * corner)}
    minus = rest * found[n - 1] / last  # minus lambda
    for i in reversed(range(n - 1)):
        right = v[i] * minus
        for k in range(i + 1, n):
            right = right - Q[i, k] * found[k]
        found[i] = right / Q[i, i]
    kept = [do.maximum(found[k], TINY) for k in range(n)]
    total = sum(kept[1:], start=kept[0])
    return [value / total for value in kept]


def class_votes(shares: list[Any], p: list[Any]) -> list[Any]:
    """Return the votes for each class, what one against one decides by."""
    votes: dict[int, Any] = {}
    for (a, b), share in zip(combinations(range(len(p)), 2), shares):
        for k, part in ((b, share), (a, 1.0 - share)):
            vote = (p[a] + p[b]) * part
            votes[k] = votes[k] + vote if k in votes else vote
    return [votes[k] for k in range(len(p))]
