"""The proof that scores rise, or fall, with a feature: read off the numbers of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel, FittedTerm
from spkm.kernels import Kernel

#: Formulas of kernels that are positive and fall with the difference of every feature.
FALLING = ("rbf", "matern", "rational_quadratic", "laplacian")


def formula_of(kernel: Kernel) -> str | None:
    """Return the name of a kernel's formula without its bandwidths; None for a formula of the user's own."""
    try:
        tree = kernel.plain()
    except TypeError:
        return None
    while tree["name"] == "rescaled":
        tree = tree["kernel"]
    return str(tree["name"])


def is_falling(kernel: Kernel) -> bool:
    """Whether k(x, u) falls with every |x_j - u_j|, by the formulas it is made of.

    Examples
    --------
    >>> from spkm.kernels import RBF, Affine, Linear, Matern, Product, Sum
    >>> is_falling(Affine(Sum(RBF(), Matern()))), is_falling(Product(RBF(), Linear())), is_falling(Linear())
    (True, False, False)
    """
    try:
        return _falls(kernel.plain())[0]
    except TypeError:  # a formula of the user's own
        return False


def _falls(tree: dict[str, Any]) -> tuple[bool, bool]:
    """Return whether a kernel falls with the differences, and whether it is never negative."""
    name = tree["name"]
    if name in FALLING:
        return True, True
    if name == "rescaled":
        return _falls(tree["kernel"])
    if name == "affine":
        falls, positive = _falls(tree["kernel"])
        return falls and tree["scale"] >= 0, positive and tree["scale"] >= 0 and tree["shift"] >= 0
    if name in ("sum", "product"):
        (a, positive), (b, also) = _falls(tree["left"]), _falls(tree["right"])
        both = positive and also
        return a and b and (both or name == "sum"), both
    return False, False


def certificate(model: FittedModel, column: int, direction: int) -> bool:
    """Whether the numbers of a fitted model prove that its scores rise (1) or fall (-1) with a feature, for all x.

    Nothing is sampled: each vector must lie beyond the edge of the feature's range that the sign of its weights needs
    for, and each linear coefficient must have the sign of the direction.

    Parameters
    ----------
    model : FittedModel
        The model.
    column : int
        Index of the feature in X.
    direction : {1, -1}
        The direction.
    """
    at = np.flatnonzero(model.features == column)
    if len(at) == 0:
        return True  # it is not read at all
    j, s = int(at[0]), model.scaling
    if s is None:
        return False
    low, high = s.middle[j] - s.clip[j], s.middle[j] + s.clip[j]
    return all(_term_is_monotone(term, j, direction, low, high) for term in model.terms)


def _term_is_monotone(term: FittedTerm, j: int, direction: int, low: float, high: float) -> bool:
    if len(term.views) != 1:
        return False
    view, weights = term.views[0], direction * term.weights
    where = np.flatnonzero(view.columns == j)
    if len(where) == 0:
        return True
    u = view.basis[:, where[0]][:, None]
    if formula_of(view.kernel) == "linear":
        return bool(np.all((weights * u).sum(axis=0) >= 0))
    beyond = np.where(weights > 0, u >= high, np.where(weights < 0, u <= low, True))
    return is_falling(view.kernel) and bool(np.all(beyond))
