"""Constraints that a score rises, or falls, with a feature whatever the others are: asked for, and proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from spkm.sources import Scaling

#: Formulas of kernels that are positive and fall with the difference of every feature.
FALLING = ("rbf", "matern", "rational_quadratic", "laplacian")

#: What a request holds: for each constraint what the user called the feature, its index, and +1 or -1.
Constraints = tuple[tuple[Any, int, int], ...]


def constraints(monotone: Any, table: Any) -> Constraints:
    """Return the constraints that a user asked for, checked against the features of X."""
    if not isinstance(monotone, Mapping):
        raise TypeError(
            f"monotone must be a dict of features and directions, as {{'income': 1, 'age': -1}}; got {monotone!r}."
        )
    names = table.attributes.get("feature_names_in_")
    known = {} if names is None else {str(name): j for j, name in enumerate(names)}
    n_features, found = table.X.shape[1], {}
    for feature, direction in monotone.items():
        if isinstance(direction, bool) or not isinstance(direction, int | np.integer) or direction not in (1, -1):
            raise ValueError(f"monotone[{feature!r}] must be 1 or -1; got {direction!r}.")
        column: Any = known.get(feature, feature) if isinstance(feature, str) else feature
        is_index = isinstance(column, int | np.integer) and not isinstance(column, bool)
        if not is_index or not 0 <= column < n_features:
            what = f"one of the {n_features} features, by number" + (f" or name ({', '.join(known)})" if known else "")
            raise ValueError(f"monotone must name {what[:300]}; got {feature!r}.")
        if int(column) in found:
            raise ValueError(f"monotone names feature {int(column)} twice: by name and by number.")
        found[int(column)] = (feature, int(column), int(direction))
    return tuple(found.values())


def check_monotone(request: Any) -> None:
    """Raise ValueError where a constraint could not be kept by construction."""
    if not isinstance(request.monotone, tuple):
        raise ValueError("monotone needs all samples at once, as a table in memory: use fit.")
    views = [view for term in request.terms for view in term.views]
    if request.of_pairs or request.is_searched or len(views) != 1 or views[0].columns is not None:
        raise ValueError(
            "monotone goes with one kernel on one table, and neither with views, terms, pairs, selection nor "
            "n_basis='auto'."
        )
    if not (is_falling(views[0].kernel) or _formula(views[0].kernel) == "linear"):
        raise ValueError(
            f"monotone cannot be kept by {views[0].kernel!r}: it needs a kernel that falls with the distance (rbf, "
            "matern, rational_quadratic, laplacian), or 'linear'."
        )
    if request.basis != "free":
        raise ValueError(f"monotone needs basis='free': vectors at edges are no samples; got {request.basis!r}.")
    if not (request.solver == "lbfgs" if isinstance(request.solver, str) else _is_lbfgs(request.solver)):
        raise ValueError(f"monotone needs solver='auto' or 'lbfgs', which keep bounds; got solver={request.solver!r}.")
    if not (isinstance(request.scale, str) or request.scale):
        raise ValueError("monotone needs scale=True: features are clipped at the range of the fit, where it holds.")
    if request.task == "classification" and request.multi_class != "joint":
        raise ValueError(f"monotone needs multi_class='joint'; got {request.multi_class!r}.")


def check_targets(request: Any, samples: Any) -> None:
    """Raise ValueError where targets or samples are of a kind that has no monotone model."""
    if sparse.issparse(samples.X):
        raise ValueError("monotone needs dense samples; got a sparse matrix. Use X.toarray().")
    if request.task == "classification" and samples.Y.shape[1] != 1:
        raise ValueError("monotone needs two classes: with more, a probability may fall where its own score rises.")


def _is_lbfgs(solver: Any) -> bool:
    return getattr(solver, "needs", None) == ("gradient",)


def _formula(kernel: Any) -> str | None:
    try:
        tree = kernel.plain()
    except TypeError:
        return None
    while tree["name"] == "rescaled":
        tree = tree["kernel"]
    return tree["name"]


def is_falling(kernel: Any) -> bool:
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


def clipped_at_range(scaling: Scaling, X: np.ndarray, columns: list[int]) -> Scaling:
    """Return a scaling that clips some features at the range of the samples: the model is constant beyond it."""
    Z = replace(scaling, clip=np.full_like(scaling.clip, np.inf)).columns(np.array(columns))(X[:, columns])
    clip, middle = scaling.clip.copy(), scaling.middle.copy()
    low, high = Z.min(axis=0).astype(float), Z.max(axis=0).astype(float)
    clip[columns], middle[columns] = (high - low) / 2, (high + low) / 2
    return replace(scaling, clip=clip, middle=middle)


def prove(request: Any, model: Any) -> None:
    """Raise RuntimeError unless the fitted numbers prove the constraints: a fault of ours must not go unseen."""
    for feature, column, direction in request.monotone:
        if not certificate(model, column, direction):
            raise RuntimeError(f"The fit ended without a proof that it is monotone in {feature!r}: a bug of spkm.")


def certificate(model: Any, column: int, direction: int) -> bool:
    """Whether the numbers of a fitted model prove that its scores rise (1) or fall (-1) with a feature, for all x.

    Nothing is sampled: each vector must lie beyond the edge of the feature's range that the sign of its weights asks
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


def _term_is_monotone(term: Any, j: int, direction: int, low: float, high: float) -> bool:
    if len(term.views) != 1:
        return False
    view, weights = term.views[0], direction * term.weights
    where = np.flatnonzero(view.columns == j)
    if len(where) == 0:
        return True
    u = view.basis[:, where[0]][:, None]
    if _formula(view.kernel) == "linear":
        return bool(np.all((weights * u).sum(axis=0) >= 0))
    beyond = np.where(weights > 0, u >= high, np.where(weights < 0, u <= low, True))
    return is_falling(view.kernel) and bool(np.all(beyond))
