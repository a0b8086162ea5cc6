"""One basis vector on one page: its values, its weights, and the samples that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._checks import check_integer
from spkm.explain._cautions import contrary_vectors
from spkm.explain._summary import telling_features
from spkm.explain._table import frames
from spkm.inspection._display import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PALE,
    Axes,
    Display,
    label_bars,
    legend_beside,
    line_style,
    named_rows,
    number,
    plain,
    short,
    signed,
)
from spkm.inspection._reading import Reading
from spkm.tables.read import target_array

BINS = 24  # of the histogram of similarities
MOST_HISTOGRAMS = 3  # classes with a histogram each; of more each has a line


@dataclass(eq=False, repr=False)
class BasisCardDisplay(Display):
    """A basis vector: its telling features, its weights, and how similar samples are to it.

    Parameters
    ----------
    basis : int
        Number of the vector.
    feature_names : sequence of str
        Its telling features, the most telling first.
    values, deviations : ndarray of shape (k,)
        Their values in the user's units, and in standard deviations from the mean.
    ranges : ndarray of shape (k, 2)
        Range of the middle 90 % of samples, in standard deviations from the mean.
    weights : ndarray of shape (m,)
        The vector's weights.
    output_names : sequence of str
        Names along m.
    similarities : ndarray of shape (n,)
        k(x, u) of the samples.
    groups : ndarray of shape (n,) or None
        The class of each sample.
    caution : str, default=""
        Why the vector should not be read by itself, if there is a reason.

    Attributes
    ----------
    ax_, figure_
        The three axes of the drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import BasisCardDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> BasisCardDisplay.from_estimator(model, X, y, basis=1).frame().columns.tolist()
    ['feature', 'value', 'deviation']
    """

    basis: int
    feature_names: Any
    values: np.ndarray
    deviations: np.ndarray
    ranges: np.ndarray
    weights: np.ndarray
    output_names: Any
    similarities: np.ndarray
    groups: np.ndarray | None = None
    caution: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any = None,
        *,
        basis: int = 0,
        max_features: int = 10,
        ax: Axes | None = None,
    ) -> BasisCardDisplay:
        """Draw the card of a basis vector.

        Parameters
        ----------
        estimator : fitted estimator or FittedModel
            The fitted estimator.
        X : table
            Samples.
        y : array-like of shape (n,), default=None
            Their targets. Similarities are then shown by class, and a weight that contradicts them is named first.
        basis : int, default=0
            Number of the vector.
        max_features : int, default=10
            Most features shown.
        ax : Axes, default=None
            Axes to draw on, which are divided.

        Returns
        -------
        BasisCardDisplay
        """
        reading = Reading.of(estimator)
        count = int(reading.model.vector_rows.sum())
        if check_integer("basis", basis, 0) >= count:
            raise ValueError(f"basis must be below {count}, the number of vectors; got {basis}.")
        row = int(np.flatnonzero(reading.model.vector_rows)[basis])
        table = reading.dense(X)
        columns = telling_features(reading.model)[row][: check_integer("max_features", max_features, 1)]
        deviations = reading.deviations(reading.model.basis_vectors[row], table)
        spread = np.percentile(reading.deviations(table, table)[:, columns], [5, 95], axis=0).T
        similarities = reading.model.similarities(table)
        y = None if y is None else target_array(y)
        cautions = {} if y is None else dict(contrary_vectors(reading.model, similarities, y))
        groups = None
        if y is not None and reading.labels is not None and y.ndim == 1:
            groups = y
        return cls(
            basis,
            [reading.names[c] for c in columns],
            reading.model.basis_vectors[row, columns],
            deviations[columns],
            spread,
            reading.model.weights[row],
            reading.outputs,
            similarities[:, row],
            groups,
            cautions.get(row, ""),
        ).plot(ax=ax)

    def frame(self) -> Any:
        """Return the telling features as a pandas frame."""
        columns = {"feature": self.feature_names, "value": self.values, "deviation": self.deviations}
        return frames().DataFrame(columns)

    def _draw(self, ax: Any) -> None:
        count = max(len(self.feature_names), 6)
        several = len(self.weights) > 1
        ratios = [2.4, 1.0, 1.8] if several else [2.4, 1.9]
        size = (4.6 * sum(ratios) / 2.1, 1.5 + 0.32 * count)
        self.ax_ = self.panels_on(ax, 1, len(ratios), size, width_ratios=ratios)[0]
        self._features(self.ax_[0])
        if several:
            self._weights(self.ax_[1])
        self._samples(self.ax_[-1])
        weight = "" if several else f", weight {signed(self.weights[0])}"
        warning = "".join(f"\n{line}" for line in wrap(self.caution, 70))
        self.ax_[0].set_title(f"basis vector u{self.basis}{weight}{warning}", loc="left", fontsize=9 if warning else 11)

    def _features(self, ax: Axes) -> None:
        places = named_rows(ax, [short(name) for name in self.feature_names])
        ax.barh(places, np.diff(self.ranges, axis=1)[:, 0], left=self.ranges[:, 0], color=PALE, height=0.75)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.plot(self.deviations, places, "o", color=BLUE, markersize=7)
        texts = [number(value) for value in self.values]
        label_bars(ax, places, self.deviations + 0.08, texts, np.ones(len(places), dtype=bool))
        reach = float(np.nanmax(np.abs([*self.deviations, *self.ranges.ravel()]), initial=1.0))
        ax.set_xlim(-1.1 * reach, 1.35 * reach)
        ax.set_xlabel(
            "standard deviations from the mean\n● the vector (its value beside it)   grey: middle 90 % of samples"
        )
        plain(ax)

    def _weights(self, ax: Axes) -> None:
        places = named_rows(ax, [short(name, 14) for name in self.output_names])
        ax.barh(places, self.weights, color=np.where(self.weights > 0, ORANGE, BLUE), height=0.7)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.locator_params(axis="x", nbins=3)
        ax.xaxis.set_major_formatter(lambda x, _: number(x).replace("-", "−"))
        ax.set_xlabel("weight for the score of")
        plain(ax, "x")

    def _samples(self, ax: Axes) -> None:
        edges, classes = _edges(self.similarities), [] if self.groups is None else np.unique(self.groups).tolist()
        ax.set_xlabel(f"similarity k(x, u{self.basis})")
        if len(classes) > MOST_HISTOGRAMS:
            parts = [self.similarities[self.groups == label] for label in classes]
            shares = np.array([np.percentile(part, [5, 25, 50, 75, 95]) for part in parts])
            places = named_rows(ax, [short(label, 16) for label in classes])
            ax.hlines(places, shares[:, 0], shares[:, 4], color=BLUE, linewidth=1)
            ax.hlines(places, shares[:, 1], shares[:, 3], color=BLUE, linewidth=5)
            ax.plot(shares[:, 2], places, "o", color="white", markeredgecolor=INK, markersize=5)
            ax.set_title("samples of each class: median, middle 50 and 90 %", loc="right", fontsize=8)
            plain(ax, "x")
            return
        ax.set_ylabel("samples")
        plain(ax, "y")
        if not classes:
            ax.hist(self.similarities, edges, color=BLUE)
            return
        for k, label in enumerate(classes):
            style: dict[str, Any] = {"color": BLUE, "alpha": 0.55}
            if k > 0:
                style = {"histtype": "step", "linewidth": 1.8} | line_style(k)
            ax.hist(self.similarities[self.groups == label], edges, label=short(label, 16), **style)
        legend_beside(ax, "class")


def _edges(values: np.ndarray) -> list[float]:
    """Return edges of a histogram; values that differ in their last digits only are one bar."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return [low - 0.5, high + 0.5]
    return np.histogram_bin_edges(values, BINS).tolist()
