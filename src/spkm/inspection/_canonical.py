"""A component of a canonical correlation analysis: its features in both tables, and the two scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import RandomState, TableLike, TargetLike
from spkm._checks import check_integer
from spkm._publish import feature_names
from spkm.explain._table import frames
from spkm.inspection._display import BLUE, GREY, INK, ORANGE, Axes, Display, named_rows, number, plain, short

MOST_POINTS = 2000  # of the scatter; more would hide one another
FEW = 6  # bars that a panel has room for at least


@dataclass(eq=False, repr=False)
class CanonicalDisplay(Display):
    """Weights of a component's features in two tables, and its scores against one another.

    Parameters
    ----------
    x_weights, y_weights : ndarray of shapes (d_x,) and (d_y,)
        Weights of the features; zero where a feature has no influence.
    x_scores, y_scores : ndarray of shape (n,)
        Scores of samples.
    correlation, p_value : float
        Their correlation, and the share of random orders of the samples with at least that.
    x_names, y_names : sequences of str
        The features.
    x_axis, y_axis : ndarray of shapes (d_x,) and (d_y,), default=None
        Positions of the features on an axis (wavelengths, positions): weights become curves.

    Attributes
    ----------
    axes_ : ndarray of Axes of shape (3,)
        Weights of X, weights of Y, scores.
    figure_ : Figure
        Axes of the drawing.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMCCA
    >>> from spkm.inspection import CanonicalDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((200, 6)), rng.standard_normal((200, 4))
    >>> Y[:, 0] += X[:, 1]
    >>> model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(X[:100], Y[:100])
    >>> CanonicalDisplay.from_estimator(model, X[100:], Y[100:]).frame()["table"].tolist()
    ['X', 'Y']
    """

    x_weights: np.ndarray
    y_weights: np.ndarray
    x_scores: np.ndarray
    y_scores: np.ndarray
    correlation: float
    p_value: float
    x_names: Any
    y_names: Any
    x_axis: np.ndarray | None = field(default=None, kw_only=True)
    y_axis: np.ndarray | None = field(default=None, kw_only=True)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        y: TargetLike,
        *,
        component: int = 0,
        max_features: int = 15,
        n_permutations: int = 999,
        x_axis: Any = None,
        y_axis: Any = None,
        random_state: RandomState = 0,
        ax: Axes | None = None,
    ) -> CanonicalDisplay:
        """Draw a component of a fitted :class:`spkm.SPKMCCA`.

        Parameters
        ----------
        estimator : fitted SPKMCCA
            The components.
        X, y : tables
            Samples, best those that the fit has not used: the correlation and its p-value are honest only then.
        component : int, default=0
            Number of the component.
        max_features : int, default=15
            Most features in the bars of a table: those with the largest weights.
        n_permutations : int, default=999
            Random orders for the p-value.
        x_axis, y_axis : array-like of shapes (d_x,) and (d_y,), default=None
            Positions of the features on an axis; weights are drawn as curves over it.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the random orders.
        ax : Axes, default=None
            Axes to draw on; if None, a new figure.

        Returns
        -------
        CanonicalDisplay
        """
        check_is_fitted(estimator)
        k, count = check_integer("component", component, 0), len(estimator.correlations_)
        if k >= count:
            raise ValueError(f"component must be below the number of components, {count}; got {k}.")
        names = feature_names(estimator), estimator.y_feature_names_
        weights = estimator.x_weights_[k], estimator.y_weights_[k]
        texts = [
            [f"{table}{j}" for j in range(len(w))] if given is None else [str(name) for name in given]
            for table, w, given in zip("xy", weights, names, strict=True)
        ]
        axes = [
            _checked_axis(name, given, len(w))
            for name, given, w in zip(("x_axis", "y_axis"), (x_axis, y_axis), weights, strict=True)
        ]
        return cls(
            *weights,
            estimator.transform(X)[:, k],
            estimator.transform_y(y)[:, k],
            float(estimator.correlations(X, y)[k]),
            float(estimator.permutation_test(X, y, n_permutations, random_state)[k]),
            *texts,
            x_axis=axes[0],
            y_axis=axes[1],
        ).plot(max_features=max_features, ax=ax)

    def frame(self) -> Any:
        """Return the features with an influence as a pandas frame: table, feature, weight."""
        entries = [
            (table, names[j], weights[j])
            for table, names, weights in (("X", self.x_names, self.x_weights), ("Y", self.y_names, self.y_weights))
            for j in np.flatnonzero(weights)
        ]
        return frames().DataFrame(entries, columns=["table", "feature", "weight"])

    def plot(self, ax: Any = None, *, max_features: int = 15) -> Self:
        """Draw the weights of both tables and the scores.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on.
        max_features : int, default=15
            Most features in the bars of a table.
        """
        most = check_integer("max_features", max_features, 1)
        self.axes_ = self.panels_on(ax, 1, 3, (11, 3.4), width_ratios=[1, 1, 1.2])[0]
        sides = (
            (self.axes_[0], "X", self.x_weights, self.x_names, self.x_axis, BLUE),
            (self.axes_[1], "Y", self.y_weights, self.y_names, self.y_axis, ORANGE),
        )
        for where, table, weights, names, axis, colour in sides:
            _draw_weights(where, weights, names, axis, colour, most)
            used = np.count_nonzero(weights)
            where.set_title(f"{table}: {used} of {len(weights)} features", loc="left", fontsize=10)
        scatter = self.axes_[2]
        step = max(1, len(self.x_scores) // MOST_POINTS)
        scatter.scatter(self.x_scores[::step], self.y_scores[::step], s=10, color=INK, alpha=0.4, linewidths=0)
        scatter.set(xlabel="score of X", ylabel="score of Y")
        p_value = f"p = {number(self.p_value, 2)}"
        scatter.set_title(f"correlation {number(self.correlation)}, {p_value}", loc="left", fontsize=10)
        plain(scatter, grid="both")
        return self


def _checked_axis(name: str, axis: object, length: int) -> np.ndarray | None:
    if axis is None:
        return None
    axis = np.asarray(axis, dtype=np.float64)
    if axis.shape != (length,):
        raise ValueError(f"{name} must hold a number for each of the {length} features; got shape {axis.shape}.")
    return axis


def _draw_weights(ax: Axes, weights: np.ndarray, names: list, axis: np.ndarray | None, colour: str, most: int) -> None:
    """Draw bars of the features with the largest weights, or the weights of all along an axis."""
    if axis is not None:
        order = np.argsort(axis)
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.plot(axis[order], weights[order], color=colour)
        ax.set(xlabel="place of the feature", ylabel="weight")
        plain(ax, grid="y")
        return
    used = np.flatnonzero(weights)
    shown = used[np.argsort(-np.abs(weights[used]), kind="stable")][:most]
    places = named_rows(ax, [short(names[j], 24) for j in shown])
    ax.barh(places, weights[shown], color=colour, height=0.7)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_ylim(len(shown) - max(len(shown), FEW) - 0.6, len(shown) - 0.4)  # one bar does not fill the panel
    ax.tick_params(axis="y", labelsize=8)
    ax.set_xlabel("weight")
    plain(ax, grid="x")
