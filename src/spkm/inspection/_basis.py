"""Basis vectors in the user's units: as a heat map, as curves, as images."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_integer
from spkm.explain._summary import telling_features
from spkm.explain._table import frames
from spkm.inspection._display import (
    Axes,
    Display,
    best_columns,
    colour_bar,
    diverging,
    folded,
    legend_beside,
    line_style,
    number,
    plain,
    short,
    signed,
    text_on,
)
from spkm.inspection._reading import Reading

WRITTEN = 240  # cells of a heat map up to which every number is written in its cell


@dataclass(eq=False, repr=False)
class BasisDisplay(Display):
    """The basis vectors of a model in the user's units.

    Shading is the distance from the mean of the training samples in standard deviations, which makes features of
    different units comparable; the numbers in the cells are in the units of the features.

    Parameters
    ----------
    vectors : ndarray of shape (R, d)
        The vectors in the user's units.
    deviations : ndarray of shape (R, d)
        The same in standard deviations from the mean.
    weights : ndarray of shape (R, m)
        Their weights.
    feature_names, output_names : sequences of str
        Names along d and m.
    x : ndarray of shape (d,), default=None
        Positions of the features on an axis (wavelengths, times): vectors become curves.
    image_shape : tuple of int, default=None
        Height and width of vectors that are images.
    scaled : bool, default=True
        Whether ``deviations`` are in standard deviations; if False, they are the values themselves.
    titles : sequence of str, default=None
        Names of the vectors, in place of u0, u1 and so on with their weights.
    one_scale : bool, default=True
        Whether images share a scale; else each has its own, around zero.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import BasisDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = BasisDisplay.from_estimator(SPKMClassifier(n_basis=3, random_state=0).fit(X, y))
    >>> display.frame().shape
    (3, 4)
    """

    vectors: np.ndarray
    deviations: np.ndarray
    weights: np.ndarray
    feature_names: Any
    output_names: Any
    x: np.ndarray | None = field(default=None, kw_only=True)
    image_shape: tuple[int, ...] | None = field(default=None, kw_only=True)
    scaled: bool = field(default=True, kw_only=True)
    titles: Any = field(default=None, kw_only=True)
    one_scale: bool = field(default=True, kw_only=True)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike | None = None,
        *,
        features: Any = None,
        max_features: int = 20,
        x: Any = None,
        x_label: str = "x",
        image_shape: tuple[int, ...] | None = None,
        ax: Axes | None = None,
    ) -> BasisDisplay:
        """Draw the basis vectors of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator or FittedModel
            The fitted estimator.
        X : table, default=None
            Samples that give mean and standard deviation; if None, those of the fit.
        features : list of str or int, default=None
            Features of the heat map; if None, those that vary most, at most ``max_features``.
        max_features : int, default=20
            Most features of the heat map.
        x : array-like of shape (d,), default=None
            Positions of the features on an axis; vectors are drawn as curves over it.
        x_label : str, default="x"
            Label of that axis, with its unit.
        image_shape : tuple of int, default=None
            Height and width, and channels for colours; vectors are drawn as images.
        ax : Axes, default=None
            Axes to draw on; if None, a new figure.

        Returns
        -------
        BasisDisplay
        """
        reading = Reading.of(estimator)
        rows = reading.model.vector_rows
        vectors = np.array(reading.model.basis_vectors)[rows]
        deviations = reading.deviations(vectors, None if X is None else reading.dense(X))
        if x is not None or image_shape is not None:
            columns = np.arange(len(reading.names))
        elif features is not None:
            columns = np.array([reading.column(f, "features") for f in features])
        else:
            columns = _telling(reading, deviations, check_integer("max_features", max_features, 1))
        _check_shape(x, image_shape, len(reading.names))
        display = cls(
            vectors[:, columns],
            deviations[:, columns],
            np.array(reading.model.weights)[rows],
            [reading.names[c] for c in columns],
            reading.outputs,
            x=None if x is None else np.asarray(x, dtype=float),
            image_shape=image_shape,
            scaled=X is not None or reading.is_scaled,
        )
        return display.plot(ax=ax, x_label=x_label)

    def frame(self) -> Any:
        """Return the vectors as a pandas frame in the user's units: a row per vector, a column per feature."""
        index = [f"u{r}" for r in range(len(self.vectors))]
        return frames().DataFrame(self.vectors, index=index, columns=self.feature_names)

    def plot(self, ax: Any = None, *, x_label: str = "x") -> Self:
        """Draw the vectors.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on; if None, a new figure. Images divide it.
        x_label : str, default="x"
            The axis of curves, with its unit.
        """
        if self.image_shape is not None:
            self._images(ax)
        elif self.x is not None:
            self._curves(ax, x_label)
        else:
            self._heat_map(ax)
        return self

    def _titles(self) -> list[str]:
        """Return each vector's name with its weight, or the output it speaks for most."""
        if self.titles is not None:
            return self.titles
        titles = []
        for r, weight in enumerate(self.weights):
            if len(weight) == 1:
                titles.append(f"u{r}\n{signed(weight[0])}")
            else:
                most = int(np.argmax(np.abs(weight)))
                titles.append(f"u{r}\n{short(self.output_names[most], 12)}: {signed(weight[most])}")
        return titles

    def _heat_map(self, ax: Any) -> None:
        n_vectors, n_features = self.vectors.shape
        long = 0.08 * max(len(short(name)) for name in self.feature_names)
        ax = self.drawn_on(ax, (1.9 + long + 0.85 * n_vectors, 1.6 + 0.3 * n_features))
        shown = self.deviations.T
        reach = max(1e-300, float(np.nanmax(np.abs(shown), initial=0.0)))
        reach = min(reach, 3.0) if self.scaled else reach
        ax.set_facecolor("#DDDDDD")
        picture = ax.imshow(shown, cmap=diverging(), vmin=-reach, vmax=reach, aspect="auto")
        ax.set_xticks(range(n_vectors), self._titles(), fontsize=8)
        ax.xaxis.tick_top()
        ax.set_yticks(range(n_features), [short(name) for name in self.feature_names], fontsize=9)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xticks(np.arange(n_vectors + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_features + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)
        if shown.size <= WRITTEN:
            for (j, r), deviation in np.ndenumerate(shown):
                shade = picture.cmap(picture.norm(deviation)) if np.isfinite(deviation) else (0.87,) * 3
                text = number(float(self.vectors[r, j]))
                ax.text(r, j, text, ha="center", va="center", fontsize=8, color=text_on(shade))
        what, extend = ("standard deviations from the mean", "both") if self.scaled else ("value", "neither")
        colour_bar(self.figure_, picture, ax, what, extend=extend, pad=0.03)
        unseen = "; grey: not used" if np.isnan(shown).any() else ""
        width = 0.85 * n_vectors + 1
        ax.set_xlabel(
            folded(f"basis vector and its weight; cells in the units of the features{unseen}", width), fontsize=9
        )

    def _curves(self, ax: Any, x_label: str) -> None:
        assert self.x is not None
        ax = self.drawn_on(ax, (7.5, max(4.0, 1.0 + 0.19 * len(self.vectors))))
        for r, (vector, title) in enumerate(zip(self.vectors, self._titles(), strict=True)):
            ax.plot(self.x, vector, linewidth=1.6, label=title.replace("\n", "  "), **line_style(r))
        plain(ax, "y")
        ax.set(xlabel=x_label, ylabel="value of the basis vector", xlim=(self.x.min(), self.x.max()))
        legend_beside(ax, "vector, weight")

    def _images(self, ax: Any) -> None:
        assert self.image_shape is not None
        count = len(self.vectors)
        columns = best_columns(count)
        rows = -(-count // columns)
        self.ax_ = self.panels_on(ax, rows, columns, (1.15 * columns + 1.0, 1.5 * rows + 0.2))
        vectors = self.vectors
        if not self.one_scale:
            vectors = vectors / np.maximum(np.nanmax(np.abs(vectors), axis=1, keepdims=True), 1e-300)
        low, high = float(np.nanmin(vectors)), float(np.nanmax(vectors))
        has_sign = low < -0.25 * high or not self.one_scale
        reach = max(abs(low), abs(high))
        limits = {"vmin": -reach, "vmax": reach} if has_sign else {"vmin": low, "vmax": high}
        picture = None
        titles = self._titles()
        for r, cell in enumerate(self.ax_.ravel()):
            cell.set_axis_off()
            if r < count:
                image = vectors[r].reshape(self.image_shape)
                picture = cell.imshow(image, cmap=diverging() if has_sign else "Greys", **limits)
                cell.set_title(titles[r], fontsize=8, pad=3)
        what = "value, in the units of the features" if self.one_scale else "value over the largest of each image"
        colour_bar(self.figure_, picture, list(self.ax_.ravel()), what, fraction=0.03)


def _telling(reading: Reading, deviations: np.ndarray, most: int) -> np.ndarray:
    """Return the columns that set some vector apart, in the order of the table."""
    size = np.zeros(len(reading.names))
    telling = telling_features(reading.model)
    for r, row in enumerate(np.flatnonzero(reading.model.vector_rows)):
        columns = telling[row]
        size[columns] = np.maximum(size[columns], np.abs(np.nan_to_num(deviations[r, columns])))
    read = reading.read
    chosen = read[np.argsort(-size[read], kind="stable")[:most]]
    return np.sort(chosen) if len(chosen) else np.arange(min(most, len(reading.names)))


def _check_shape(x: Any, image_shape: Any, width: int) -> None:
    if x is not None and np.shape(x) != (width,):
        raise ValueError(f"x must have an entry for each of the {width} features; got shape {np.shape(x)}.")
    if image_shape is not None and int(np.prod(image_shape)) != width:
        raise ValueError(f"image_shape must have {width} pixels, one for each feature; got {image_shape!r}.")
