"""Paths of models from many features to few: held-out scores, sizes, and the features of each model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from spkm._arrays import TableLike, TargetLike
from spkm._checks import check_integer
from spkm.estimators import SparsityPath, sparsity_path
from spkm.explain._table import frames
from spkm.inspection._display import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    Axes,
    Display,
    folded,
    legend_beside,
    named_rows,
    plain,
    short,
)
from spkm.inspection._reading import Reading


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """The held-out score along a path of models, with the numbers of features and basis vectors below.

    The horizontal axis is the strength or, where several models share one, the number of features.

    Parameters
    ----------
    path : SparsityPath
        The models.
    chosen : int, default=None
        The place of the model that was taken; None is the simplest within one standard error of the best.
    score_name : str, default="held-out score"
        Label of the upper axis.

    Attributes
    ----------
    ax_, figure_
        The two axes of the drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier, sparsity_path
    >>> from spkm.inspection import PathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = sparsity_path(SPKMClassifier(kernel="linear", selection="strict", random_state=0), X[:100, :4], y[:100])
    >>> display = PathDisplay(path).plot()
    >>> display.frame().columns.tolist()[:3]
    ['strengths', 'n_features', 'n_basis']
    """

    path: SparsityPath
    chosen: int | None = field(default=None, kw_only=True)
    score_name: str = field(default="held-out score", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chosen is None:
            self.chosen = _simplest(self.path)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: TableLike, y: TargetLike, *, ax: Axes | None = None, **options: Any
    ) -> PathDisplay:
        """Compute the path of an estimator and draw it.

        Parameters
        ----------
        estimator : SPKM estimator
            With ``selection="strict"`` or a ``basis_penalty``. If it is fitted, the size of its model is the choice.
        X, y : table and targets
            Samples.
        ax : Axes, default=None
            Axes to draw on, which are divided.
        **options
            Options of :func:`spkm.sparsity_path`.

        Returns
        -------
        PathDisplay
        """
        path = sparsity_path(estimator, X, y, **options)
        chosen = None
        if "selected_features_" in vars(estimator) and estimator.selection is not None:
            chosen = int(np.argmin(np.abs(path.n_features - len(estimator.selected_features_))))
        name = "held-out accuracy" if is_classifier(estimator) else "held-out R²"
        return cls(path, chosen=chosen, score_name=name).plot(ax=ax)

    def frame(self) -> Any:
        """Return the path as a pandas frame: a row per model."""
        return self.path.frame()

    def _draw(self, ax: Axes) -> None:
        path = self.path
        # The price of a feature may fall on the way of an elimination: its steps differ by what is left.
        x = _drawable(path.strengths)
        by_strength = bool(np.all(np.diff(x) > 0))
        x = x if by_strength else path.n_features
        if by_strength:
            self.ax_ = self.panels_on(ax, 2, 1, (6.8, 5.2), height_ratios=[1.5, 1])[:, 0]
            self._draw_sizes(self.ax_[1], x)
        else:  # numbers of features are on the axis
            self.ax_ = self.panels_on(ax, 1, 1, (6.8, 3.9))[:, 0]
        above, last = self.ax_[[0, -1]]
        best = int(np.argmax(path.scores))
        error = path.score_errors[best]
        if np.isfinite(error):
            above.axhspan(
                path.scores[best] - error, path.scores[best], color=PALE, label="within one standard error of the best"
            )
        above.plot(x, path.scores, "-o", color=BLUE, markersize=5, label="mean over the splits")
        above.plot(x[best], path.scores[best], "s", color=INK, markersize=8, fillstyle="none", label="best")
        for cell in self.ax_:
            mark = f"chosen: {path.n_features[self.chosen]} features" if cell is above else None
            cell.axvline(x[self.chosen], color=ORANGE, linewidth=1.8, zorder=0, label=mark)
            cell.set_xscale("log")
            legend_beside(cell)
        above.tick_params(labelbottom=above is last)
        above.set_ylabel(self.score_name)
        if not by_strength:
            _whole_ticks(last.xaxis, path.n_features.max())
        last.set_xlabel(
            "strength: the price of a feature, or of the penalty" if by_strength else "features that the model reads"
        )
        plain(above, "y")

    def _draw_sizes(self, ax: Axes, x: np.ndarray) -> None:
        """Draw how many features and basis vectors the models have."""
        path = self.path
        ax.plot(x, path.n_features, "-o", color=BLUE, markersize=5, label="features")
        ax.plot(x, path.n_basis, "--^", color=GREEN, markersize=5, label="basis vectors")
        ax.set_yscale("log")
        _whole_ticks(ax.yaxis, max(path.n_features.max(), path.n_basis.max()))
        ax.set_ylabel("number")
        plain(ax, "y")


@dataclass(eq=False, repr=False)
class FeaturePathDisplay(Display):
    """Features of the models of a path, the last to leave on top.

    Parameters
    ----------
    path : SparsityPath
        The models.
    feature_names : sequence of str
        Names of all features.
    max_features : int, default=25
        Features shown.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import FeaturePathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SPKMClassifier(kernel="linear", selection="strict", random_state=0).fit(X[:100, :4], y[:100])
    >>> FeaturePathDisplay.from_estimator(clf, X[:100, :4], y[:100]).frame().shape[0]
    4
    """

    path: SparsityPath
    feature_names: Any
    max_features: int = field(default=25, kw_only=True)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        y: TargetLike,
        *,
        max_features: int = 25,
        ax: Axes | None = None,
        **options: Any,
    ) -> FeaturePathDisplay:
        """Compute the path of an estimator and draw its features.

        Parameters
        ----------
        estimator : fitted SPKM estimator
            With ``selection="strict"`` or a ``basis_penalty``.
        X, y : table and targets
            Samples.
        max_features : int, default=25
            Features shown.
        ax : Axes, default=None
            Axes to draw on.
        **options
            Options of :func:`spkm.sparsity_path`.

        Returns
        -------
        FeaturePathDisplay
        """
        check_integer("max_features", max_features, 1)
        path = sparsity_path(estimator, X, y, **options)
        return cls(path, Reading.of(estimator).names, max_features=max_features).plot(ax=ax)

    def frame(self) -> Any:
        """Return a pandas frame of True and False: a row per feature, a column per model, named by its size."""
        held, order = self._held()
        sizes = self.path.n_features.tolist()
        index = [self.feature_names[j] for j in order]
        return frames().DataFrame(held[order], index=index, columns=sizes)

    def _draw(self, ax: Axes) -> None:
        held, order = self._held()
        order = order[: self.max_features]
        order = order[held[order].any(axis=1)]
        shown = held[order]
        ax = self.drawn_on(ax, (3.2 + 0.42 * held.shape[1], 1.3 + 0.27 * len(order)))
        places = named_rows(ax, [short(self.feature_names[j]) for j in order])
        for place, own in zip(places, shown, strict=True):
            ax.axhline(place, color="#EEEEEE", zorder=0)
            steps = np.flatnonzero(own)
            ax.plot(steps, np.full(len(steps), place), "s", color=BLUE, markersize=7)
            ax.plot(steps[[0, -1]], [place, place], color=BLUE, linewidth=2)
        ax.set_xticks(range(held.shape[1]), self.path.n_features.tolist())
        ax.set_xlim(-0.6, held.shape[1] - 0.4)
        label = "features in the model, from many to few  (■ read by the model)"
        ax.set_xlabel(folded(label, 0.42 * held.shape[1] + 1))
        left = len(self.feature_names) - len(order)
        if left > 0:
            ax.set_title(f"{left} features that left earlier are not shown", loc="left", fontsize=8, color=GREY)
        plain(ax)

    def _held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which features each model has, and the order of the features, the last to leave first."""
        held = np.zeros((len(self.feature_names), len(self.path.supports)), dtype=bool)
        for k, support in enumerate(self.path.supports):
            held[support, k] = True
        return held, np.argsort(-held.sum(axis=1), kind="stable")


def _simplest(path: SparsityPath) -> int:
    """Return the place of the model with fewest features within one standard error of the best."""
    best = int(np.argmax(path.scores))
    error = np.nan_to_num(path.score_errors[best])
    good = np.flatnonzero(path.scores >= path.scores[best] - error)
    return int(good[np.lexsort((path.n_basis[good], path.n_features[good]))[0]])


def _drawable(strengths: np.ndarray) -> np.ndarray:
    """Return strengths that rise and that a logarithmic axis can show: none is zero or infinite.

    The price of a feature may fall on the way where two leave better than one; a path is drawn in its order.
    """
    finite = strengths[np.isfinite(strengths) & (strengths > 0)]
    if len(finite) == 0:
        return np.arange(1.0, len(strengths) + 1)
    floor = finite.min() / 10
    shown = np.where(strengths > floor, strengths, floor)
    shown[~np.isfinite(shown)] = finite.max() * 10
    return np.maximum.accumulate(shown)


def _whole_ticks(axis: Any, most: int) -> None:
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000) if t <= 1.3 * most]
    axis.set_ticks(ticks, [str(t) for t in ticks])
    axis.set_ticks([], minor=True)
