"""One prediction taken apart: first into basis vectors, then one of them, or all, into features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_choice, check_integer
from spkm.explain import explain
from spkm.explain._table import basis_labels, frames
from spkm.inspection._display import Axes, Display
from spkm.inspection._reading import Reading, half_widths
from spkm.inspection._style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    cell,
    folded,
    label_bars,
    named_rows,
    number,
    plain,
    short,
    signed,
)

LEVELS = ("both", "basis", "features")


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
