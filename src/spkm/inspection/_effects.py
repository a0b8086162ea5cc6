"""Effects of features: the mean score as a function of one of them, or two, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm.explain import partial_dependence
from spkm.explain._table import columns_of_grid, frames
from spkm.inspection._display import (
    COLOURS,
    INK,
    MARKERS,
    Axes,
    Display,
    colour_bar,
    folded,
    legend_beside,
    line_style,
    named_rows,
    number,
    plain,
    short,
    text_on,
)
from spkm.inspection._reading import Reading

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
    one_scale : bool, default=True
        Whether curves of several outputs share an axis; else, as for outputs of different units, each has a panel.
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
    one_scale: bool = field(default=True, kw_only=True)
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
            chosen, name = list(range(len(reading.outputs))), "prediction" if reading.labels is None else "score"
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
            one_scale=reading.labels is not None,
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
        rows = self.samples[:: max(1, -(-len(self.samples) // RUG))]
        if len(self.grid) == 2:
            self._surface(self.drawn_on(ax, (5.8, 4.4)), rows.astype(float))
            return
        outputs = np.arange(min(len(self.output_names), SHOWN))
        category = self.grid[0].dtype.kind == "O"
        if self.one_scale or len(outputs) == 1:
            parts = [(self.drawn_on(ax, (6.4 if len(outputs) > 1 else 5.2, 3.6)), outputs)]
        else:
            self.ax_ = self.panels_on(ax, len(outputs), 1, (5.2, 2.4 * len(outputs)))[:, 0]
            parts = list(zip(self.ax_, outputs[:, None], strict=True))
        for where, shown in parts:
            (self._levels if category else self._curves)(where, shown, rows)
            if len(shown) > 1:
                legend_beside(where, f"{self.score_name} of")
            elif len(parts) > 1:
                where.set_title(short(self.output_names[shown[0]], 40), loc="left", fontsize=10)
            if self.bars is not None:
                what = "whiskers" if category else "band"
                where.set_title(f"{what}: 90 % error bars", loc="right", fontsize=8)

    def _levels(self, ax: Any, outputs: np.ndarray, _: np.ndarray) -> None:
        """Draw a dot, with its error bar, for each level of a category and each output."""
        counts = [int((self.samples[:, 0] == level).sum()) for level in self.grid[0]]
        names = [f"{short(level, 24)} ({n})" for level, n in zip(self.grid[0], counts, strict=True)]
        places = named_rows(ax, names)
        for k, o in enumerate(outputs):
            half = None if self.bars is None else self.bars[:, o]
            style = {"color": COLOURS[o % len(COLOURS)], "fmt": MARKERS[o % len(MARKERS)], "capsize": 2.5}
            shift = 0.5 * (0.5 * (len(outputs) - 1) - k) / len(outputs)
            ax.errorbar(self.values[:, o], places + shift, xerr=half, label=short(self.output_names[o], 18), **style)
        ax.set_ylabel(f"{short(self.feature_names[0], 40)}  (samples)")
        ax.set_xlabel(folded(f"mean {self.score_name}", 4))
        ax.margins(x=0.1, y=0.15)
        plain(ax, "x")

    def _curves(self, ax: Any, outputs: np.ndarray, rows: np.ndarray) -> None:
        """Draw a curve, with its band, for each output, and a rug of the samples."""
        for o in outputs:
            middle, style = self.values[:, o], line_style(o)
            ax.plot(self.grid[0], middle, linewidth=2, label=short(self.output_names[o], 18), **style)
            if self.bars is not None:
                ends = middle - self.bars[:, o], middle + self.bars[:, o]
                ax.fill_between(self.grid[0], *ends, color=style["color"], alpha=0.18, linewidth=0)
        # A rug in the lowest part of the axes: x in the units of the feature, y in parts of the axes.
        rug, ground = rows[:, 0].astype(float), np.full(len(rows), 0.012)
        ax.plot(rug, ground, "|", transform=ax.get_xaxis_transform(), color=INK, alpha=0.35)
        ax.set_xlabel(f"{short(self.feature_names[0], 40)}  (ticks: samples)")
        ax.set_ylabel(folded(f"mean {self.score_name}", 3))
        ax.margins(y=0.1)
        plain(ax, "y")

    def _surface(self, ax: Any, rows: np.ndarray) -> None:
        first, second = self.grid
        surface = self.values[:, :, 0].T
        filled = ax.contourf(first, second, surface, levels=12, cmap="cividis")
        levels = filled.levels[::2]
        inks = [text_on(filled.cmap(filled.norm(level))) for level in levels]
        lines = ax.contour(first, second, surface, levels=levels, colors=inks, linewidths=0.6)
        ax.clabel(lines, fontsize=7, fmt=number)
        ax.plot(*rows.T, ".", color="white", markersize=4.5, markeredgecolor=INK, markeredgewidth=0.4, label="samples")
        colour_bar(self.figure_, filled, ax, f"mean {self.score_name}")
        ax.set(xlabel=short(self.feature_names[0], 40), ylabel=short(self.feature_names[1], 40))
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9, borderaxespad=0.2)
