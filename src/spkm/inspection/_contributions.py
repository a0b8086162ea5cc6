"""One prediction taken apart: into basis vectors and features, and Shapley values of one sample or of many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_choice, check_integer
from spkm.explain import explain
from spkm.explain._table import basis_labels, frames
from spkm.inspection._display import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    Axes,
    Display,
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
from spkm.inspection._reading import Reading, half_widths

LEVELS = ("both", "basis", "features")
BINS = 60  # columns of dots that a row of a beeswarm is stacked in


@dataclass(eq=False, repr=False)
class ContributionDisplay(Display):
    """Waterfalls from the mean score of a background to the score of one sample.

    Parameters
    ----------
    base_value, score : float
        The mean score over the background; the sample's score.
    contributions : ndarray of shape (R,)
        Contribution of each basis vector, added to the base value.
    within : ndarray of shape (R, d)
        Contribution of each feature within each basis vector (Shapley values); rows add up to ``contributions``.
    feature_names : sequence of str
        Names along d.
    data : ndarray of shape (d,)
        The sample in the user's units, with the name of a level where a feature is a category.
    score_name : str, default="score"
        Label of the axis.
    level : {"both", "basis", "features"}, default="both"
        Waterfall over basis vectors and one over the features of one vector; the first alone; or one over the
        features of all vectors.
    basis : int, default=None
        The vector whose features are shown at level "both"; None is the one that adds most.
    basis_names : sequence of str, default=None
        Names along R; None is u0, u1 and so on.
    bars, feature_bars : ndarray of shapes (R,) and (d,), default=None
        Half-widths of 90 % error bars of ``contributions``, and of what features add in all.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import ContributionDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> frame = ContributionDisplay.from_estimator(model, X, row=0, output="0").frame()
    >>> bool(abs(frame.to_numpy().sum() - frame.attrs["score"] + frame.attrs["base_value"]) < 1e-9)
    True
    """

    base_value: float
    score: float
    contributions: np.ndarray
    within: np.ndarray
    feature_names: Any
    data: np.ndarray
    score_name: str = field(default="score", kw_only=True)
    level: str = field(default="both", kw_only=True)
    basis: int | None = field(default=None, kw_only=True)
    max_features: int = field(default=10, kw_only=True)
    basis_names: Any = field(default=None, kw_only=True)
    bars: np.ndarray | None = field(default=None, kw_only=True)
    feature_bars: np.ndarray | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.basis_names is None:
            self.basis_names = [f"u{r}" for r in range(len(self.contributions))]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        *,
        row: int = 0,
        background: TableLike | None = None,
        output: Any = 0,
        level: str = "both",
        basis: int | None = None,
        max_features: int = 10,
        ax: Axes | None = None,
    ) -> ContributionDisplay:
        """Draw how a prediction comes about.

        Parameters
        ----------
        estimator : fitted estimator or FittedModel
            The fitted estimator.
        X : table
            Samples.
        row : int, default=0
            Number of the sample.
        background : table, default=None
            Samples that the prediction is compared with; if None, all of X.
        output : int or str, default=0
            Number of the score.
        level, basis
            As in the class.
        max_features : int, default=10
            Features shown by themselves; what is left is one bar.
        ax : Axes, default=None
            Axes to draw on; at level "both" they are divided.

        Returns
        -------
        ContributionDisplay
        """
        check_choice("level", level, LEVELS)
        check_integer("max_features", max_features, 1)
        reading = Reading.of(estimator)
        table = reading.dense(X)
        if not 0 <= check_integer("row", row, 0) < len(table):
            raise ValueError(f"row must be below {len(table)}, the number of samples; got {row}.")
        o = reading.output(output)
        explanation = explain(
            reading.model,
            table[row : row + 1],
            table if background is None else reading.dense(background),
            groups=reading.groups,
        )
        within = explanation.basis_values()[0] * reading.model.weights[:, [o]]
        return cls(
            float(explanation.base_values[o]),
            float(explanation.scores[0, o]),
            explanation.contributions[0, :, o],
            within,
            reading.columns,
            reading.cells(table[row : row + 1])[0],
            score_name=reading.score_name(o),
            level=level,
            basis=basis,
            max_features=max_features,
            basis_names=basis_labels(reading.model),
            bars=half_widths(explanation, "contributions", o, sample=0),
            feature_bars=half_widths(explanation, "values", o, sample=0),
        ).plot(ax=ax)

    def frame(self) -> Any:
        """Return what features add within every basis vector as a pandas frame: a row per vector."""
        frame = frames().DataFrame(self.within, index=self.basis_names, columns=self.feature_names)
        frame.attrs.update(base_value=self.base_value, score=self.score)
        return frame

    def _draw(self, ax: Axes) -> None:
        vectors = [short(name, 26) for name in self.basis_names]
        if self.level == "features":
            self.drawn_on(ax, (7.0, 1.3 + 0.32 * min(self.max_features, len(self.feature_names))))
            self._features(self.ax_, self.within.sum(axis=0), self.base_value, ("mean", "score"), self.feature_bars)
            self.ax_.set_title("by feature", loc="left", fontsize=10)
            return
        if self.level == "basis":
            self.drawn_on(ax, (6.0, 1.3 + 0.32 * min(len(vectors), self.max_features + 1)))
            self._waterfall(self.ax_, vectors, self.contributions, self.base_value, ("mean", "score"), self.bars)
            return
        r = int(np.argmax(np.abs(self.contributions))) if self.basis is None else self.basis
        rows = max(min(len(vectors), self.max_features + 1), min(len(self.feature_names), self.max_features + 1))
        left, right = self.ax_ = self.panels_on(ax, 1, 2, (11.5, 1.5 + 0.3 * (rows + 1)), width_ratios=[1, 1.35])[0]
        self._waterfall(left, vectors, self.contributions, self.base_value, ("mean", "score"), self.bars)
        left.set_title("basis vectors add up to the score", loc="left", fontsize=10)
        one = "the linear part" if vectors[r].startswith("linear") else vectors[r]
        self._features(right, self.within[r], 0.0, ("0", f"{one} adds"))
        right.set_title(f"features add up to what {one} adds", loc="left", fontsize=10)

    def _features(
        self, ax: Axes, values: np.ndarray, start: float, ends: tuple[str, str], bars: np.ndarray | None = None
    ) -> None:
        names = [f"{short(name, 26)} = {cell(x)}" for name, x in zip(self.feature_names, self.data, strict=True)]
        self._waterfall(ax, names, values, start, ends, bars)

    def _waterfall(
        self,
        ax: Axes,
        names: list[str],
        values: np.ndarray,
        start: float,
        ends: tuple[str, str],
        bars: np.ndarray | None = None,
    ) -> None:
        bars = np.zeros(len(values)) if bars is None else bars
        names, values, bars = _largest(names, values, bars, self.max_features)
        edges = start + np.concatenate([[0.0], np.cumsum(values)])
        places = named_rows(ax, names)
        ax.barh(places, values, left=edges[:-1], height=0.62, color=np.where(values >= 0, ORANGE, BLUE))
        for place, x in zip(places[:-1], edges[1:-1], strict=True):
            ax.plot([x, x], [place - 0.69, place + 0.31], color=GREY, linewidth=0.8)
        outer = np.where(values >= 0, np.maximum(edges[1:], edges[:-1]), np.minimum(edges[1:], edges[:-1]))
        if np.any(bars > 0):
            ax.errorbar(edges[1:], places, xerr=bars, fmt="none", ecolor=INK, elinewidth=1.1, capsize=2.5)
            outer = outer + np.where(values >= 0, bars, -bars)
        label_bars(ax, places, outer, [signed(v) for v in values], values >= 0)
        reach = np.concatenate([edges, outer, edges[1:] - bars, edges[1:] + bars])
        margin = 0.23 * (float(np.ptp(reach)) or 1.0)  # room for a label of six letters
        ax.set_xlim(reach.min() - margin, reach.max() + margin)
        ax.set_ylim(-1.25, len(values) + 0.25)
        for x, y, text in (
            (edges[0], len(values) - 0.42, f"{ends[0]} {number(edges[0])}"),
            (edges[-1], -1.05, f"{ends[1]} {number(edges[-1])}"),
        ):
            text = ends[0] if text == "0 0" else text
            ax.text(x, y, text, ha="center", va="center", fontsize=9, color=INK)
        ax.plot([edges[0]] * 2, [places[0] - 0.31, places[0] + 0.4], color=INK, linewidth=1.2)
        ax.plot([edges[-1]] * 2, [-0.8, 0.31], color=INK, linewidth=1.2)
        label = f"{self.score_name}  (whiskers: 90 % error bars)" if np.any(bars > 0) else self.score_name
        ax.set_xlabel(folded(label, 4))
        plain(ax, "x")


def _largest(
    names: list[str], values: np.ndarray, bars: np.ndarray, most: int
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the largest values in order of size with their error bars, those left over as one, without a bar."""
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0]
    if len(order) == 0:
        return names[:1], values[:1], bars[:1]
    if len(order) <= most + 1:
        return [names[k] for k in order], values[order], bars[order]
    order, rest = order[:most], order[most:]
    others = f"{len(rest)} others"
    return [*(names[k] for k in order), others], np.append(values[order], values[rest].sum()), np.append(bars[order], 0)


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
