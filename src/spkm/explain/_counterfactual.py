"""The smallest change of one or two features that changes the answer, or a proof that there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._checks import check_integer, check_real
from spkm._frames import is_named_row, labels_of
from spkm.core.fitted import FittedModel
from spkm.explain._bounds import Axis, BoxBounds
from spkm.explain._changes import Changes, axes_of, changes_of
from spkm.explain._links import region_of
from spkm.explain._search import Found, nearest_feasible
from spkm.explain._sheet import Sheet
from spkm.explain._structure import Structure, scaled_rows
from spkm.explain._table import Pipeline, cell_text, check_columns, dense, joint_model, table_of


@dataclass(frozen=True)
class Counterfactual:
    """The nearest sample that reaches a target. Made by :func:`counterfactual`.

    If it was neither found nor proved not to exist, ``max_cells`` did not suffice.

    Attributes
    ----------
    found : bool
        Whether there is one.
    changes : dict from a name to (before, after)
        The features that change, in the user's units; for a category the names of the columns that are 1, for a
        column of truth values True or False.
    x : ndarray of shape (d,)
        The sample with the changes; after the steps of a pipeline, but before its scalers.
    scores : ndarray of shape (m,)
        Its scores.
    prediction : object
        Its prediction: a class, a number or, for several outputs, an array.
    size : float
        Size of the change: the root of the sum of squared changes, in standard deviations of the features.
    size_bound : float
        No smaller change than this reaches the target.
    none_exists : bool
        True if it is proved that no change of at most ``max_changes`` features within the ranges reaches the target.
    reach : float
        If none exists: an upper bound on how far the nearest constraint can be brought (it must be 0 or more to
        reach the target; below 0 is the proof).
    """

    found: bool
    changes: dict[str, tuple[Any, Any]]
    x: np.ndarray
    scores: np.ndarray
    prediction: Any
    size: float
    size_bound: float
    none_exists: bool
    reach: float

    def __str__(self) -> str:
        if self.none_exists:
            return "No change of these features within the ranges reaches the target: this is proved."
        if not self.found:
            return f"No change was found; one of a size below {self.size_bound:.3g} does not exist."
        if not self.changes:
            return "No change is needed."
        width = max(map(len, self.changes))
        rows = [f"  {name:{width}}  {cell_text(old)} → {cell_text(new)}" for name, (old, new) in self.changes.items()]
        head, tail = self._sentences()
        return "\n".join([head, *rows, tail])

    def _sentences(self) -> tuple[str, str]:
        return (
            f"Predicted is {cell_text(self.prediction)} with this change, of {self.size:.3g} standard deviations:",
            f"No change below {self.size_bound:.3g} standard deviations is enough.",
        )

    def _repr_html_(self) -> str:
        """Return the change as notebooks show it: a sentence and a small table."""
        if not self.found or not self.changes:
            return Sheet("", [str(self)])._repr_html_()
        head, tail = self._sentences()
        rows = [[name, cell_text(old), cell_text(new)] for name, (old, new) in self.changes.items()]
        return Sheet("", [head, [["", "from", "to"], *rows], tail])._repr_html_()


def counterfactual(
    estimator: BaseEstimator,
    x: Any,
    target: Any = None,
    *,
    frozen: Sequence[Any] = (),
    ranges: Any = None,
    integers: Sequence[Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    linked: Sequence[Any] | None = None,
    max_changes: int = 2,
    margin: float | None = None,
    tolerance: float = 1e-3,
    max_cells: int = 1_000_000,
) -> Counterfactual:
    """Find the smallest change of at most two features that reaches a target, or prove that there is none.

    Parameters
    ----------
    estimator : estimator or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``. After a :class:`~spkm.TableEncoder`
        categories change as a whole, whole numbers stay whole, columns that determine each other change together,
        and nothing becomes missing or ceases to be.
    x : array of shape (d,) or (1, d), or a table of one row
        The sample; for a pipeline a row of the table that its first step takes.
    target : class, number or pair of numbers, default=None
        The class to be predicted; None is the other one of two classes. In regression a value to reach, from whichever
        side the prediction is now, or an interval (low, high), either of which may be infinite. Numbers are in the
        units of y, whatever the loss.
    frozen : sequence, default=()
        Columns (by name or index) and groups (by name) that must stay; after an encoder columns of the table, too.
    ranges : dict from a column to (low, high), or a table, default=None
        Ranges of the features, in the user's units. For a table, best the training samples, the least and largest value
        of each column; for a pipeline one that its first step takes. A feature without a range may go as far as the
        model distinguishes values: to the clip of its scaling.
    integers : sequence, default=None
        Columns that take whole numbers only; None are those that are whole in the fit of a TableEncoder, or in the
        table of ``ranges``.
    groups : dict from a name to columns, default=None
        Columns of which exactly one is 1, the dummies of a category: they change together, as one feature.
    linked : sequence of lists of columns, default=None
        Columns that determine each other (a code and its name): they change together, to a combination that occurs, or
        not at all. None are those found in the fit of a TableEncoder and in the table of ``ranges``; () is none.
    max_changes : {1, 2}, default=2
        How many features may change; linked columns count as one.
    margin : float, default=None
        How far beyond the boundary the score must go, on its own scale; None is just enough to be safe from rounding.
    tolerance : float, default=1e-3
        Relative accuracy of the size of a change of two features; of one feature it is exact.
    max_cells : int, default=1_000_000
        Cells that are bounded for each choice of features. If they do not suffice, ``size_bound`` is lower, and
        ``none_exists`` stays False.

    Returns
    -------
    change : Counterfactual
        The nearest sample that reaches the target, or the proof that there is none; ``print(change)`` is a few lines.

    Notes
    -----
    Along one feature the score is a sum of bumps (or of polynomials) whose bounds over an interval are known.
    Intervals, or boxes of two features, are bisected, the nearest first, until a bound rules them out or a point
    in them will do: no solution within the ranges can be missed.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import counterfactual
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=2, random_state=0).fit(X, y)
    >>> change = counterfactual(model, X[0], target=1, ranges=X, max_changes=1)
    >>> change.found or change.none_exists
    True
    """
    pipeline = Pipeline.of(estimator)
    check_integer("max_changes", max_changes, 1)
    if max_changes > 2:
        raise ValueError(f"max_changes must be 1 or 2; got {max_changes!r}.")
    model, names = joint_model(pipeline, "estimator"), pipeline.names
    given = pipeline.table(x.to_frame().T if is_named_row(x) else x)
    check_columns(labels_of(given), pipeline.named, "x")
    row = table_of(np.reshape(dense(given), (1, -1)), pipeline.named, model.n_features, "x")
    changes = changes_of(
        *(pipeline, [model], row, ranges), frozen=frozen, integers=integers, groups=groups, linked=linked
    )
    structure, links = changes.structured(model, names)
    scores = model.scores(row)
    A, a = region_of(model, _other_class(model, scores) if target is None else target, scores[0])
    slack = _beyond_rounding(model, A, a) if margin is None else check_real("margin", margin)
    enough = 0.0 if margin is None else slack
    tolerance = check_real("tolerance", tolerance, strict=True)
    problem = _Problem(model, structure, row, A, a, enough, slack, tolerance, max_cells)
    best, changed = problem.solve(axes_of(changes, model, structure, links, row), max_changes)
    return _result(model, changes, names, row, best, changed)


def _beyond_rounding(model: FittedModel, A: np.ndarray, a: np.ndarray) -> float:
    """Return a margin that is safe from rounding, and that an interval has room for at both of its ends."""
    size = np.abs(model.weights @ A.T).sum(axis=0).max() + np.abs(a).max() + np.abs(A @ model.intercept).max()
    widths = np.add.outer(a, a)[A @ A.T < 0]  # of opposite half-spaces
    return float(min(1e-9 * size, np.min(widths, initial=np.inf) / 4))


def _other_class(model: FittedModel, scores: np.ndarray) -> Any:
    """Return the class of two that is not predicted."""
    labels = model.target.labels
    if len(labels) != 2 or model.target.two_dimensional:
        raise ValueError("target must be given unless there are two classes: a class, a number or (low, high).")
    return labels[labels != model.target.decode(scores)].item()


@dataclass(frozen=True)
class _Problem:
    model: FittedModel
    structure: Structure
    row: np.ndarray
    A: np.ndarray
    a: np.ndarray
    enough: float  # least value of each constraint for the sample to stay as it is
    margin: float  # and for a change
    tolerance: float
    max_cells: int

    def solve(self, axes: list[Axis], max_changes: int) -> tuple[Found, list[Axis]]:
        """Return the best change of one axis or two, and its axes."""
        z = scaled_rows(self.model, self.row)[0]
        now = float((self.model.scores(self.row) @ self.A.T + self.a).min())
        best = Found(reach=now - self.margin)
        where: list[Axis] = []
        if now >= self.enough:
            best.cost, best.point, best.cost_bound = 0.0, np.empty(0), 0.0
            return best, []
        gain = {}
        for axis in axes:
            bounds = self._bounds(z, [axis])
            gain[axis.player] = _grid_reach(bounds)
            best, where = self._better(bounds, best, where, 1e-9)
        pairs = sorted(combinations(axes, 2), key=lambda pair: -gain[pair[0].player] - gain[pair[1].player])
        for pair in pairs if max_changes == 2 else ():
            best, where = self._better(self._bounds(z, list(pair)), best, where, self.tolerance)
        best.cost_bound = min(best.cost_bound, best.cost)
        return best, where

    def _bounds(self, z: np.ndarray, axes: list[Axis]) -> BoxBounds:
        bounds = BoxBounds(self.structure.terms, z, axes, self.model.intercept, self.A)
        bounds.constant = bounds.constant + self.a
        return bounds

    def _better(self, bounds: BoxBounds, best: Found, where: list[Axis], tolerance: float) -> tuple[Found, list[Axis]]:
        components = sum(
            len(term.weights) * piece.n_products
            for term in self.structure.terms
            for factor in term.factors
            for piece in factor.pieces
        )
        found = nearest_feasible(bounds, self.margin, best.cost, tolerance, self.max_cells, components)
        found.cost_bound = min(found.cost_bound, best.cost_bound)
        found.reach = max(found.reach - self.margin, best.reach)
        found.finished = found.finished and best.finished
        if found.point is None:
            found.cost, found.point = best.cost, best.point
            return found, where
        return found, bounds.axes


def _grid_reach(bounds: BoxBounds) -> float:
    """Return how far the constraints can be brought at some points of one axis."""
    (axis,) = bounds.axes
    points = (
        np.arange(len(axis.options), dtype=float)
        if axis.options is not None
        else (np.linspace(axis.low, axis.high, 33))
    )
    return float(bounds(points[:, None], points[:, None])[1].min(axis=1).max())


def _result(
    model: FittedModel,
    changes: Changes,
    names: tuple[str, ...],
    row: np.ndarray,
    best: Found,
    axes: list[Axis],
) -> Counterfactual:
    new = row[0].copy()
    for axis, point in zip(axes, best.point if best.point is not None else (), strict=True):
        axis.moved(new, float(point))
    whole = [c for c in changes.whole if new[c] != row[0, c]]
    new[whole] = np.rint(new[whole])
    scores = model.scores(new[None])
    predicted = model.loss.predict(scores) if not model.target.of_classes else scores
    return Counterfactual(
        found=best.point is not None,
        changes=_told(changes, names, row[0], new),
        x=new,
        scores=scores[0],
        prediction=model.target.decode(predicted)[0],
        size=best.cost,
        size_bound=best.cost_bound,
        none_exists=best.point is None and best.finished,
        reach=best.reach,
    )


def _told(changes: Changes, names: tuple[str, ...], old: np.ndarray, new: np.ndarray) -> dict[str, tuple[Any, Any]]:
    """Return what differs between two samples, by part: numbers, truth values, or the names of dummies that are 1."""
    told: dict[str, tuple[Any, Any]] = {}
    for title, columns in changes.parts.items():
        if np.array_equal(old[columns], new[columns]):
            continue
        if title in changes.categories:
            before, after = ([names[c] for c in columns[part[columns] == 1]] for part in (old, new))
            told[title] = (before, after)
        elif columns[0] in changes.truths:
            told[title] = (bool(old[columns[0]]), bool(new[columns[0]]))
        else:
            told[title] = (float(old[columns[0]]), float(new[columns[0]]))
    return told
