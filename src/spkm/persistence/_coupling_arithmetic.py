"""One against one in languages without linear algebra: the arithmetic of its probabilities, written out.

Probabilities p of classes from those of their pairs minimise p'Qp over p that sum to one (Wu, Lin and Weng 2004, second
method): Q p + v lambda = 0 with v of ones. Q is positive semi-definite, so elimination needs no pivots but in its last
step, where Q may be singular; there the two unknowns that are left, the last p and lambda, are solved for together.
"""

from __future__ import annotations

from typing import Any, Protocol

from spkm._coupling import SMALLEST_SHARE, class_pairs
from spkm.persistence._decisions import TINY


class Arithmetic(Protocol):
    """Operations on values of all samples, for which each language has its own names."""

    def number(self, value: float) -> Any:
        """Return a constant."""

    def apply(self, operation: str, a: Any, b: Any) -> Any:
        """Return "add", "sub", "mul", "div", "min" or "max" of two values."""


def class_probabilities(shares: list[Any], n: int, do: Arithmetic) -> list[Any]:
    """Return the probability of each of n classes from ``shares``, that of the second class of each pair."""
    one = do.number(1.0)
    low, high = do.number(SMALLEST_SHARE), do.number(1 - SMALLEST_SHARE)
    Q: dict[tuple[int, int], Any] = {}

    def plus(place: tuple[int, int], value: object) -> None:
        Q[place] = do.apply("add", Q[place], value) if place in Q else value

    for (a, b), share in zip(class_pairs(n).T.tolist(), shares, strict=True):
        p = do.apply("min", do.apply("max", share, low), high)
        q = do.apply("sub", one, p)
        Q[a, b] = do.apply("sub", do.number(0.0), do.apply("mul", p, q))
        plus((a, a), do.apply("mul", p, p))
        plus((b, b), do.apply("mul", q, q))
    v: list[Any] = [one] * n
    corner = do.number(0.0)
    for i in range(n - 1):
        for j in range(i + 1, n):
            factor = do.apply("div", Q[i, j], Q[i, i])
            for k in range(j, n):
                Q[j, k] = do.apply("sub", Q[j, k], do.apply("mul", factor, Q[i, k]))
            v[j] = do.apply("sub", v[j], do.apply("mul", factor, v[i]))
        corner = do.apply("sub", corner, do.apply("div", do.apply("mul", v[i], v[i]), Q[i, i]))
    last, rest = v[n - 1], Q[n - 1, n - 1]
    found: dict[int, Any] = {}
    denominator = do.apply("sub", do.apply("mul", last, last), do.apply("mul", rest, corner))
    found[n - 1] = do.apply("div", last, denominator)
    minus = do.apply("div", do.apply("mul", rest, found[n - 1]), last)  # minus lambda
    for i in reversed(range(n - 1)):
        right = do.apply("mul", v[i], minus)
        for k in range(i + 1, n):
            right = do.apply("sub", right, do.apply("mul", Q[i, k], found[k]))
        found[i] = do.apply("div", right, Q[i, i])
    kept = [do.apply("max", found[k], do.number(TINY)) for k in range(n)]
    total = kept[0]
    for value in kept[1:]:
        total = do.apply("add", total, value)
    return [do.apply("div", value, total) for value in kept]


def votes_of(shares: list[Any], p: list[Any], do: Arithmetic) -> list[Any]:
    """Return the votes for each class, what one against one decides by."""
    found: dict[int, Any] = {}
    for (a, b), share in zip(class_pairs(len(p)).T.tolist(), shares, strict=True):
        of_pair = do.apply("add", p[a], p[b])
        for k, part in ((b, share), (a, do.apply("sub", do.number(1.0), share))):
            vote = do.apply("mul", of_pair, part)
            found[k] = do.apply("add", found[k], vote) if k in found else vote
    return [found[k] for k in range(len(p))]
