"""Constraints that scores rise, or fall, with a feature: the directions that users give, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from spkm.core.monotone import formula_of, is_falling
from spkm.fitting.data import Data
from spkm.fitting.spec import Constraints, Spec
from spkm.tables.read import Table


def constraints(monotone: object, table: Table) -> Constraints:
    """Return the constraints that a user asked for, checked against the features of X."""
    if not isinstance(monotone, Mapping):
        raise TypeError(
            f"monotone must be a dict of features and directions, as {{'income': 1, 'age': -1}}; got {monotone!r}."
        )
    encoding = table.attributes.get("_encoding")
    names = table.attributes.get("feature_names_in_") if encoding is None else encoding.names
    known = {} if names is None else {str(name): j for j, name in enumerate(names)}
    n_features, found = table.X.shape[1], {}
    for feature, direction in monotone.items():
        if isinstance(direction, bool) or not isinstance(direction, int | np.integer) or direction not in (1, -1):
            raise ValueError(f"monotone[{feature!r}] must be 1 or -1; got {direction!r}.")
        column: Any = known.get(feature, feature) if isinstance(feature, str) else feature
        is_index = isinstance(column, int | np.integer) and not isinstance(column, bool)
        if not is_index or not 0 <= column < n_features:
            what = f"one of the {n_features} features, by number" + (f" or name ({', '.join(known)})" if known else "")
            nameless = " X came without names: give a frame, or use set_output(transform='pandas') of the step before."
            hint = nameless if isinstance(feature, str) and not known else ""
            raise ValueError(f"monotone must name {what[:300]}; got {feature!r}.{hint}")
        if int(column) in found:
            raise ValueError(f"monotone names feature {int(column)} twice: by name and by number.")
        found[int(column)] = (feature, int(column), int(direction))
    return tuple(found.values())


def check_monotone(spec: Spec) -> None:
    """Raise ValueError where a constraint could not be kept by construction."""
    if not isinstance(spec.monotone, tuple):
        raise ValueError("monotone needs all samples at once, as a table in memory: use fit.")
    views = spec.views
    if spec.is_searched or len(views) != 1 or views[0].columns is not None:
        raise ValueError(
            "monotone goes with one kernel on one table, and neither with views, terms, pairs, selection nor "
            "n_basis='auto'."
        )
    if not (is_falling(views[0].kernel) or formula_of(views[0].kernel) == "linear"):
        raise ValueError(
            f"monotone cannot be kept by {views[0].kernel!r}: it needs a kernel that falls with the distance (rbf, "
            "matern, rational_quadratic, laplacian), or 'linear'."
        )
    if spec.basis != "free":
        raise ValueError(f"monotone needs basis='free': vectors at edges are no samples; got {spec.basis!r}.")
    solver = spec.solver
    if not (solver in ("auto", "lbfgs") if isinstance(solver, str) else solver.needs == ("gradient",)):
        raise ValueError(f"monotone needs solver='auto' or 'lbfgs', which keep bounds; got solver={spec.solver!r}.")
    if not (isinstance(spec.scale, str) or spec.scale):
        raise ValueError("monotone needs scale=True: features are clipped at the range of the fit, where it holds.")
    if spec.multi_class != "joint":
        raise ValueError(f"monotone needs multi_class='joint'; got {spec.multi_class!r}.")


def check_targets(data: Data) -> None:
    """Raise ValueError for targets or samples that have no monotone model."""
    if sparse.issparse(data.some()):
        raise ValueError("monotone needs dense samples; got a sparse matrix. Use X.toarray().")
    if data.target.of_classes and data.n_outputs != 1:
        raise ValueError("monotone needs two classes: with more, a probability may fall where its own score rises.")
