"""Decisions of a model over two features, all others held fixed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, TargetLike, label_places
from spkm._checks import check_integer
from spkm.explain._table import columns_of_grid, frames
from spkm.inspection._display import (
    BLUE,
    COLOURS,
    INK,
    MARKERS,
    ORANGE,
    Axes,
    Display,
    colour_bar,
    diverging,
    plain,
    short,
)
from spkm.inspection._reading import Reading
from spkm.tables.read import target_array

POINTS = 400  # samples drawn at most
FEW = 10  # vectors whose marks may be large


@dataclass(eq=False, repr=False)
class DecisionMapDisplay(Display):
    """The scores over two features with samples and basis vectors on top.

    Two classes are shaded by the score, with the boundary as a line; more by the class that is predicted; in regression
    by the prediction.

    Parameters
    ----------
    grid : tuple of two ndarray
        Points of the two features, in the user's units.
    scores : ndarray of shape (points of the first, points of the second, m)
        The scores.
    decisions : ndarray of shape (points of the first, points of the second)
        Predictions at the points: the place of the class, or a number.
    samples : ndarray of shape (n, 2)
        Samples in these features.
    codes : ndarray of shape (n,) or None
        Places of their classes.
    vectors : ndarray of shape (R, 2)
        Basis vectors in these features.
    weights : ndarray of shape (R,), default=None
        Their weights, where there is one score: the sign is the colour, the size that of the mark.
    feature_names, labels : sequences of str
        The two features; the classes (empty in regression).
    score_name : str, default="score"
        Label of the shading.
    held : str, default=""
        Values of the other features.
    vector_name : str, default="basis vector"
        Names of the vectors in the legend.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import DecisionMapDisplay
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SPKMClassifier(n_basis=6, random_state=0).fit(X, y)
    >>> DecisionMapDisplay.from_estimator(model, X, y, features=(0, 1), n_points=20).frame().shape
    (400, 4)
    """

    grid: tuple[np.ndarray, np.ndarray]
    scores: np.ndarray
    decisions: np.ndarray
    samples: np.ndarray
    codes: np.ndarray | None
    vectors: np.ndarray
    feature_names: Any
    labels: Any
    weights: np.ndarray | None = field(default=None, kw_only=True)
    score_name: str = field(default="score", kw_only=True)
    held: str = field(default="", kw_only=True)
    vector_name: str = field(default="basis vector", kw_only=True)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        y: TargetLike | None = None,
        *,
        features: tuple[Any, Any],
        at: Any = None,
        n_points: int = 150,
        ax: Axes | None = None,
    ) -> DecisionMapDisplay:
        """Draw what a model decides over two features.

        Parameters
        ----------
        estimator : fitted estimator or FittedModel
            The fitted estimator.
        X, y : table and targets, default of y None
            Samples to draw, with their classes.
        features : pair of str or int
            The two features.
        at : array-like of shape (d,), default=None
            Values of the other features; if None, their medians.
        n_points : int, default=150
            Points of the grid along each feature.
        ax : Axes, default=None
            Axes to draw on.

        Returns
        -------
        DecisionMapDisplay
        """
        reading = Reading.of(estimator)
        table = reading.dense(X)
        if isinstance(features, str) or len(features) != 2:
            raise ValueError(f"features must be two features, by name or index; got {features!r}.")
        a, b = (reading.column(f, "features") for f in features)
        check_integer("n_points", n_points, 2)
        axes = [_range(table[:, c], n_points) for c in (a, b)]
        still = np.median(table, axis=0) if at is None else np.ravel(at).astype(float)
        rows = np.tile(still, (n_points**2, 1))
        mesh = np.meshgrid(*axes, indexing="ij")
        rows[:, a], rows[:, b] = mesh[0].ravel(), mesh[1].ravel()
        scores = reading.model.scores(rows)
        decided = reading.decide(scores)
        if decided.size != len(rows):
            raise ValueError(f"estimator must predict one value; this one has {len(reading.outputs)} outputs.")
        codes = None
        if reading.labels is not None:
            decided = label_places(reading.labels, decided)
            codes = None if y is None else label_places(reading.labels, target_array(y))
        others = len(np.setdiff1d(reading.read, [a, b]))
        where = "at their medians" if at is None else "at the given values"
        return cls(
            (axes[0], axes[1]),
            scores.reshape(n_points, n_points, -1),
            np.reshape(decided, (n_points, n_points)),
            table[:, [a, b]],
            codes,
            reading.model.basis_vectors[reading.model.vector_rows][:, [a, b]],
            [reading.names[c] for c in (a, b)],
            [] if reading.labels is None else [str(label) for label in reading.labels],
            weights=reading.model.weights[reading.model.vector_rows, 0] if scores.shape[1] == 1 else None,
            score_name=reading.score_name(),
            held=f"{others} other feature{'s' * (others != 1)} {where}" if others else "",
        ).plot(ax=ax)

    def frame(self) -> Any:
        """Return the map as a pandas frame: a row per point of the grid."""
        columns = columns_of_grid(self.feature_names, self.grid)
        decided = self.decisions.ravel()
        names = np.array(self.labels)[decided] if self.labels else decided
        scores = {f"score {o}": part.ravel() for o, part in enumerate(np.moveaxis(self.scores, 2, 0))}
        return frames().DataFrame(columns | scores | {"prediction": names})

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on.
        legend : bool, default=True
            Whether to add a legend and a bar of colours; panels of one figure may share them.
        """
        ax = self.drawn_on(ax, (6.6, 4.6))
        shading = self._many_classes if len(self.labels) > 2 else self._one_score
        filled = shading()
        if legend and filled is not None:
            colour_bar(self.figure_, filled, ax, self.score_name)
        self._samples()
        self._vectors()
        ax.set(xlabel=short(self.feature_names[0], 40), ylabel=short(self.feature_names[1], 40))
        ax.set_xlim(self.grid[0][[0, -1]])
        ax.set_ylim(self.grid[1][[0, -1]])
        if self.held:
            ax.set_title(self.held, loc="left", fontsize=9)
        if legend:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
            ax.legend(frameon=False, fontsize=9, ncols=2, markerscale=0.7, **place)
        plain(ax)
        return self

    def _vectors(self) -> None:
        inside = np.all(np.isfinite(self.vectors), axis=1)
        style = {"edgecolors": INK, "linewidths": 1.0, "zorder": 4}
        room = min(1.0, max(0.25, FEW / max(1, len(self.vectors))))  # many marks are small ones
        if self.weights is None:
            self.ax_.scatter(
                *self.vectors[inside].T, s=150 * room, c="white", marker="*", label=self.vector_name, **style
            )
            return
        sizes = room * (70 + 180 * np.abs(self.weights) / (np.abs(self.weights).max() or 1.0))
        for is_here, colour, sign in ((self.weights > 0, ORANGE, "+"), (self.weights <= 0, BLUE, "−")):
            rows = inside & is_here
            if rows.any():
                label = f"{self.vector_name}, weight {sign}"
                self.ax_.scatter(*self.vectors[rows].T, s=sizes[rows], c=colour, marker="D", label=label, **style)

    def _one_score(self) -> Any:
        surface = self.scores[:, :, 0].T if self.labels else self.decisions.T
        if self.labels:
            from matplotlib.ticker import MaxNLocator

            reach = float(np.abs(surface).max()) or 1.0
            levels = MaxNLocator(14, symmetric=True).tick_values(-reach, reach)
            filled = self.ax_.contourf(*self.grid, surface, levels=levels, cmap=diverging(pale=True))
            self.ax_.contour(*self.grid, surface, levels=[0.0], colors=INK, linewidths=1.8)
            self.ax_.plot([], [], color=INK, linewidth=1.8, label="boundary, score 0")
        else:
            filled = self.ax_.contourf(*self.grid, surface, levels=15, cmap="cividis")
        return filled

    def _many_classes(self) -> None:
        from matplotlib.colors import ListedColormap, to_rgb

        count = len(self.labels)
        pale = [0.35 * np.array(to_rgb(COLOURS[k % len(COLOURS)])) + 0.65 for k in range(count)]
        shade = {"cmap": ListedColormap(pale), "vmin": -0.5, "vmax": count - 0.5, "shading": "auto", "rasterized": True}
        self.ax_.pcolormesh(*self.grid, self.decisions.T, **shade)
        for k in range(count):
            margin = (self.decisions == k) - 0.5
            if self.scores.shape[2] == count:  # a score for each class has a smooth boundary
                margin = self.scores[:, :, k] - np.delete(self.scores, k, axis=2).max(axis=2)
            if margin.min() < 0 < margin.max():
                self.ax_.contour(*self.grid, margin.T, [0.0], colors=INK, linewidths=1.0)
            if np.any(self.decisions == k):
                i, j = np.unravel_index(np.argmax(_depth(self.decisions == k)), self.decisions.shape)
                name = short(self.labels[k], 14)
                self.ax_.text(self.grid[0][i], self.grid[1][j], name, ha="center", va="center", fontsize=9, color=INK)

    def _samples(self) -> None:
        step = max(1, -(-len(self.samples) // POINTS))
        rows = self.samples[::step]
        if self.codes is None:
            style = {"color": "white", "markeredgecolor": INK, "markeredgewidth": 0.4}
            self.ax_.plot(*rows.T, ".", markersize=4.5, label="samples", **style)
            return
        codes = self.codes[::step]
        two = (BLUE, ORANGE)
        for k, label in enumerate(self.labels):
            colour = two[k] if len(self.labels) == 2 else COLOURS[k % len(COLOURS)]
            style = {"color": colour, "markeredgecolor": "white", "markeredgewidth": 0.5, "markersize": 5.5}
            self.ax_.plot(*rows[codes == k].T, MARKERS[k % len(MARKERS)], label=short(label, 18), **style)


def _depth(inside: np.ndarray) -> np.ndarray:
    """Return how far the points of a grid are from the border of a region: a name fits where that is largest."""
    from scipy.ndimage import distance_transform_edt

    return np.asarray(distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1]


def _range(values: np.ndarray, count: int) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, count)
