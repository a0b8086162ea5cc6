"""Effects of features: the mean score as a function of one of them, or two, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm.explain import partial_dependence
from spkm.explain._table import columns_of_grid, frames
from spkm.inspection._display import Axes, Display
from spkm.inspection._reading import Reading
from spkm.inspection._style import COLOURS, INK, LINES, MARKERS, colour_bar, number, plain, short

RUG = 400  # samples drawn in a rug at most
SHOWN = 8  # outputs drawn as curves at most


@dataclass(eq=False, repr=False)
class EffectDisplay(Display):
    """The partial dependence of one feature, or two: the mean score when they are held fixed.

    Parameters
    ----------
    grid : tuple of ndarray
        Points of the one or two features, in the user's units; of a category its levels.
    values : ndarray of shape (points, m) or (points of the first, points of the second, m)
        Mean scores.
    samples : ndarray of shape (n, 1) or (n, 2)
        Values of the samples: the rug.
    feature_names, output_names : sequences of str
        The one or two features; the outputs.
    score_name : str, default="score"
        Name of the score.
    bars : ndarray of the shape of ``values`` or None, default=None
        Half-widths of 90 % error bars, drawn as a band around the curve of one feature.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spkm import SPKMRegressor
    >>> from spkm.inspection import EffectDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SPKMRegressor(n_basis=3, random_state=0).fit(X, y)
    >>> EffectDisplay.from_estimator(model, X, "bmi").frame().columns.tolist()
    ['bmi', '0']
    >>> EffectDisplay.from_estimator(model, X, ("bmi", "s5")).frame().shape
    (625, 3)
    """

    grid: tuple[np.ndarray, ...]
    values: np.ndarray
    samples: np.ndarray
    feature_names: Any
    output_names: Any
    score_name: str = field(default="score", kw_only=True)
    bars: np.ndarray | None = field(default=None, kw_only=True)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        features: Any,
        *,
        output: Any = None,
        n_points: int = 100,
        ax: Axes | None = None,
    ) -> EffectDisplay:
        """Draw the effect of one feature, or two.

        Parameters
        ----------
        estimator : fitted estimator or FittedModel
            The fitted estimator.
        X : table
            Samples to average over.
        features : str, int, or a pair of them
            The feature, or two.
        output : int or str, default=None
            Number of the score; if None, all for one feature, and the first for two.
        n_points : int, default=100
            Points of the grid; at most 25 a side for two features.
        ax : Axes, default=None
            Axes to draw on.

        Returns
        -------
        EffectDisplay
        """
        reading = Reading.of(estimator)
        table = reading.dense(X)
        given = [features] if isinstance(features, str | int | np.integer) else list(features)
        if len(given) not in (1, 2):
            raise ValueError(f"features must be one feature or two; got {features!r}.")
        named: list[str] = [
            str(f) if f in reading.columns else reading.names[reading.column(f, "features")] for f in given
        ]
        (effect,) = partial_dependence(estimator, X, [tuple(named)], n_points=n_points)
        if len(named) == 2 and any(points.dtype.kind == "O" for points in effect.grid):
            raise ValueError(f"features must be two numbers, or one feature that may be a category; got {features!r}.")
        cells, listed = reading.cells(table), list(reading.columns)
        seen = [cells[:, listed.index(f)] if f in listed else table[:, reading.names.index(f)] for f in named]
        if output is None and len(named) == 1 and len(reading.outputs) > 1:
            chosen, name = list(range(len(reading.outputs))), "score"
        else:
            chosen = [reading.output(0 if output is None else output)]
            name = reading.score_name(chosen[0])
        return cls(
            effect.grid,
            effect.values[..., chosen],
            np.stack(seen, axis=1),
            named,
            [reading.outputs[o] for o in chosen],
            score_name=name,
            bars=None if effect.std is None else (effect.interval()[1] - effect.values)[..., chosen],
        ).plot(ax=ax)

    def frame(self) -> Any:
        """Return the effect as a pandas frame: a row per point, columns for features, outputs and error bars."""
        columns = columns_of_grid(self.feature_names, self.grid)
        flat = self.values.reshape(-1, len(self.output_names))
        columns |= {str(name): flat[:, o] for o, name in enumerate(self.output_names)}
        if self.bars is not None:
            bars = self.bars.reshape(-1, len(self.output_names))
            for o, name in enumerate(self.output_names):
                columns |= {f"{name} lower": flat[:, o] - bars[:, o], f"{name} upper": flat[:, o] + bars[:, o]}
        return frames().DataFrame(columns)

    def _draw(self, ax: Axes) -> None:
        several = len(self.output_names) > 1
        self.drawn_on(ax, (6.4 if several else 5.2, 3.6) if len(self.grid) == 1 else (5.8, 4.4))
        rows = self.samples[:: max(1, -(-len(self.samples) // RUG))]
        if self.grid[0].dtype.kind == "O":
            self._levels()
        elif len(self.grid) == 1:
            self._curve(rows.astype(float))
        else:
            self._surface(rows.astype(float))

    def _levels(self) -> None:
        """Draw a dot, with its error bar, for each level of a category and each output."""
        ax, count = self.ax_, min(len(self.output_names), SHOWN)
        places = np.arange(len(self.grid[0]))[::-1].astype(float)
        for o, name in enumerate(self.output_names[:SHOWN]):
            half = None if self.bars is None else self.bars[:, o]
            style = {"color": COLOURS[o % len(COLOURS)], "fmt": MARKERS[o % len(MARKERS)], "capsize": 2.5}
            shift = 0.5 * (0.5 * (count - 1) - o) / count
            ax.errorbar(self.values[:, o], places + shift, xerr=half, label=short(name, 18), **style)
        counts = [int((self.samples[:, 0] == level).sum()) for level in self.grid[0]]
        names = [f"{short(level, 24)} ({n})" for level, n in zip(self.grid[0], counts, strict=True)]
        ax.set_yticks(places, names)
        ax.set(ylabel=f"{short(self.feature_names[0], 40)}  (samples)", xlabel=f"mean {self.score_name}")
        self._legend()
        if self.bars is not None:
            ax.set_title("whiskers: 90 % error bars", loc="right", fontsize=8)
        ax.margins(x=0.1, y=0.15)
        plain(ax, "x")

    def _legend(self) -> None:
        if len(self.output_names) > 1:
            self.ax_.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), title="score of", fontsize=9)

    def _curve(self, rows: np.ndarray) -> None:
        ax = self.ax_
        for o, name in enumerate(self.output_names[:SHOWN]):
            style = {"color": COLOURS[o % len(COLOURS)], "linestyle": LINES[o % len(LINES)]}
            ax.plot(self.grid[0], self.values[:, o], linewidth=2, label=short(name, 18), **style)
            if self.bars is not None:
                lower, upper = self.values[:, o] - self.bars[:, o], self.values[:, o] + self.bars[:, o]
                ax.fill_between(self.grid[0], lower, upper, color=style["color"], alpha=0.18, linewidth=0)
        # A rug in the lowest part of the axes: x in the units of the feature, y in parts of the axes.
        ax.plot(rows[:, 0], np.full(len(rows), 0.012), "|", transform=ax.get_xaxis_transform(), color=INK, alpha=0.35)
        ax.set(xlabel=f"{short(self.feature_names[0], 40)}  (ticks: samples)", ylabel=f"mean {self.score_name}")
        self._legend()
        if self.bars is not None:
            ax.set_title("band: 90 % error bars", loc="right", fontsize=8)
        ax.margins(y=0.1)
        plain(ax, "y")

    def _surface(self, rows: np.ndarray) -> None:
        ax = self.ax_
        first, second = self.grid
        surface = self.values[:, :, 0].T
        filled = ax.contourf(first, second, surface, levels=12, cmap="cividis")
        lines = ax.contour(first, second, surface, levels=filled.levels[::2], colors="white", linewidths=0.6)
        ax.clabel(lines, fontsize=7, fmt=number)
        ax.plot(*rows.T, ".", color="white", markersize=4.5, markeredgecolor=INK, markeredgewidth=0.4, label="samples")
        colour_bar(self.figure_, filled, ax, f"mean {self.score_name}", fraction=0.05, pad=0.02)
        ax.set(xlabel=short(self.feature_names[0], 40), ylabel=short(self.feature_names[1], 40))
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9, borderaxespad=0.2)
