"""Shapley values: bars for one sample or for the mean of many, a beeswarm for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_choice, check_integer
from spkm.explain import explain
from spkm.explain._table import frames
from spkm.inspection._display import Axes, Display
from spkm.inspection._reading import Reading, half_widths
from spkm.inspection._style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    cell,
    colour_bar,
    folded,
    label_bars,
    named_rows,
    number,
    plain,
    short,
    signed,
)

BINS = 60  # columns of dots that a row of a beeswarm is stacked in


@dataclass(eq=False, repr=False)
class ShapleyDisplay(Display):
    """Exact Shapley values of features.

    Parameters
    ----------
    values, data : ndarray of shape (n, d)
        Shapley values; the samples in the user's units, with names of levels where a feature is a category.
    feature_names : sequence of str
        Names along d.
    kind : {"auto", "bar", "beeswarm"}, default="auto"
        "bar" is the mean size over samples, or the values of the only one; "auto" is a beeswarm for several samples.
    score_name : str, default="score"
        Name of the quantity that the values add up to.
    max_features : int, default=12
        Features shown.
    bars : ndarray of shape (n, d) or None, default=None
        Half-widths of 90 % error bars, drawn where there is one sample.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spkm import SPKMRegressor
    >>> from spkm.inspection import ShapleyDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SPKMRegressor(n_basis=3, random_state=0).fit(X, y)
    >>> ShapleyDisplay.from_estimator(model, X[:30], background=X[::9]).frame().shape
    (30, 10)
    """

    values: np.ndarray
    data: np.ndarray
    feature_names: Any
    kind: str = field(default="auto", kw_only=True)
    score_name: str = field(default="score", kw_only=True)
    max_features: int = field(default=12, kw_only=True)
    bars: np.ndarray | None = field(default=None, kw_only=True)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        *,
        background: TableLike | None = None,
        output: Any = 0,
        kind: str = "auto",
        max_features: int = 12,
        ax: Axes | None = None,
    ) -> ShapleyDisplay:
        """Draw the Shapley values of samples.

        Parameters
        ----------
        estimator : fitted estimator or FittedModel
            The fitted estimator.
        X : table
            Samples to explain.
        background : table, default=None
            Values of absent features; if None, the samples themselves.
        output : int or str, default=0
            Number of the score.
        kind, max_features
            As in the class.
        ax : Axes, default=None
            Axes to draw on.

        Returns
        -------
        ShapleyDisplay
        """
        check_choice("kind", kind, ("auto", "bar", "beeswarm"))
        check_integer("max_features", max_features, 1)
        reading = Reading.of(estimator)
        table = reading.dense(X)
        o = reading.output(output)
        absent = None if background is None else reading.dense(background)
        explanation = explain(reading.model, table, absent, groups=reading.groups)
        display = cls(
            explanation.values[:, :, o],
            reading.cells(table),
            reading.columns,
            kind=kind,
            score_name=reading.score_name(o),
            max_features=max_features,
            bars=half_widths(explanation, "values", o),
        )
        return display.plot(ax=ax)

    def frame(self) -> Any:
        """Return the values as a pandas frame: a row per sample, a column per feature, and the ends of error bars."""
        columns = dict(zip(self.feature_names, self.values.T, strict=True))
        if self.bars is not None:
            for name, value, half in zip(self.feature_names, self.values.T, self.bars.T, strict=True):
                columns |= {f"{name} lower": value - half, f"{name} upper": value + half}
        return frames().DataFrame(columns)

    def _draw(self, ax: Axes) -> None:
        one = len(self.values) == 1
        kind = ("bar" if one else "beeswarm") if self.kind == "auto" else self.kind
        size = np.abs(self.values).mean(axis=0)
        order = np.argsort(-size, kind="stable")
        order = order[size[order] > 0][: self.max_features]
        order = order if len(order) else np.array([0])
        names = [short(self.feature_names[j]) for j in order]
        if one:
            names = [f"{name} = {cell(self.data[0, j])}" for name, j in zip(names, order, strict=True)]
        width = (5.6 if kind == "bar" else 6.6) + 0.07 * max(map(len, names))
        places = named_rows(self.drawn_on(ax, (width, 1.3 + 0.34 * len(order))), names)
        if kind == "bar":
            self._bars(order, places, one)
        else:
            self._swarm(order, places)
        left = int((size > 0).sum()) - len(order)
        if left > 0:
            self.ax_.set_title(f"the {len(order)} largest; {left} more features are not shown", loc="right", fontsize=8)

    def _bars(self, order: np.ndarray, places: np.ndarray, one: bool) -> None:
        ax = self.ax_
        shown = self.values[0, order] if one else np.abs(self.values[:, order]).mean(axis=0)
        ax.barh(places, shown, height=0.66, color=np.where(shown >= 0, ORANGE, BLUE) if one else BLUE)
        ax.axvline(0, color=INK, linewidth=0.8)
        texts = [signed(v) if one else number(v) for v in shown]
        outer = shown
        if one and self.bars is not None:
            half = self.bars[0, order]
            ax.errorbar(shown, places, xerr=half, fmt="none", ecolor=INK, elinewidth=1.1, capsize=2.5)
            outer = shown + np.where(shown >= 0, half, -half)
            ax.set_title("whiskers: 90 % error bars", loc="left", fontsize=8)
        label_bars(ax, places, outer, texts, shown >= 0)
        ax.margins(x=0.17)
        what = "Shapley value" if one else "mean size of the Shapley value"
        ax.set_xlabel(folded(f"{what}, part of the {self.score_name}", 4))
        plain(ax, "x")

    def _swarm(self, order: np.ndarray, places: np.ndarray) -> None:
        ax, points = self.ax_, None
        low, high = float(self.values[:, order].min()), float(self.values[:, order].max())
        for j, place in zip(order, places, strict=True):
            own = self.values[:, j]
            style: dict[str, Any] = {"s": 13, "linewidths": 0.25, "edgecolors": "white"}
            heights = place + _stacked(own, low, high)
            if isinstance(self.data[0, j], str):
                ax.scatter(own, heights, color=GREY, **style)  # levels have no order
                continue
            rank = np.argsort(np.argsort(self.data[:, j], kind="stable"), kind="stable") / max(len(own) - 1, 1)
            points = ax.scatter(own, heights, c=rank, cmap="cividis", vmin=0, vmax=1, **style)
        ax.axvline(0, color=INK, linewidth=0.8, zorder=0)
        ax.set_ylim(-0.6, len(order) - 0.4)
        if points is not None:
            several = any(isinstance(self.data[0, j], str) for j in order)
            label = f"value of the feature, by rank among the samples{'; categories are grey' * several}"
            place = {"ticks": [0, 0.5, 1], "fraction": 0.035, "pad": 0.02, "aspect": 30}
            colour_bar(self.figure_, points, ax, label, **place).ax.set_yticklabels(["lowest", "median", "highest"])
        ax.set_xlabel(folded(f"Shapley value, part of the {self.score_name}", 4))
        plain(ax, "y")


def _stacked(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return heights that stack dots of nearly the same value around a line, at most 0.4 away from it."""
    width = max((high - low) / BINS, 1e-300)
    bins = np.floor((values - low) / width)
    heights = np.zeros(len(values))
    most = 1
    for one in np.unique(bins):
        members = np.flatnonzero(bins == one)
        steps = np.arange(len(members))
        heights[members[np.argsort(values[members], kind="stable")]] = np.where(steps % 2, 1, -1) * ((steps + 1) // 2)
        most = max(most, len(members))
    return heights * min(0.09, 0.8 / most)
