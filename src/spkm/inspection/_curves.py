"""Scores of several models against what is varied: the number of basis vectors, of features, of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, TargetLike
from spkm.explain._table import frames
from spkm.inspection._display import COLOURS, GREY, LINES, MARKERS, Axes, Display, legend_beside, plain, short

SHADES = (*COLOURS, GREY, "#B58900")  # as many as there are shapes of markers that differ at a glance


class Curve(NamedTuple):
    """One curve of a :class:`CurveDisplay`.

    Attributes
    ----------
    x, y : sequence of float
        Its points.
    spread : sequence of float or None
        Standard deviations of y.
    joined : bool
        Whether the points are joined by a line.
    others : sequence of (x, y)
        Points from elsewhere, such as those of a publication: they are drawn open.
    """

    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    spread: Sequence[float] | np.ndarray | None = None
    joined: bool = True
    others: Sequence[tuple[float, float]] = ()


@dataclass(eq=False, repr=False)
class CurveDisplay(Display):
    """Curves of scores against a size, levels of what has none, and places that matter.

    Parameters
    ----------
    curves : dict from a name to Curve
        The curves.
    levels : dict from a name to float, default=None
        Scores of what does not depend on the size, as horizontal lines.
    places : dict from a name to float, default=None
        Sizes that matter, as vertical lines.
    names : sequence of str, default=None
        Names in the order of their colours and markers: panels that share it agree; None is that of curves and levels.
    x_label, y_label : str, default="basis vectors" and "held-out score"
        Labels of the axes, with units.
    x_scale, y_scale : {"linear", "log", "symlog"}, default="log" and "linear"
        Scales of the axes.
    band : bool, default=False
        Whether spreads are drawn as bands; else as bars.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import CurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(max_iter=20, weight_penalty="rkhs", random_state=0)
    >>> display = CurveDisplay.from_estimator(model, X, y, sizes=[3, 6], cv=2)
    >>> display.frame().columns.tolist()
    ['curve', 'n_basis', 'score', 'spread']
    """

    curves: Any
    levels: Any = field(default=None, kw_only=True)
    places: Any = field(default=None, kw_only=True)
    names: Any = field(default=None, kw_only=True)
    x_label: str = field(default="basis vectors", kw_only=True)
    y_label: str = field(default="held-out score", kw_only=True)
    x_scale: str = field(default="log", kw_only=True)
    y_scale: str = field(default="linear", kw_only=True)
    band: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        self.curves, self.levels, self.places = (dict(part or {}) for part in (self.curves, self.levels, self.places))
        self.names = list(self.names) if self.names is not None else [*self.curves, *self.levels]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        y: TargetLike,
        *,
        sizes: Sequence[Any],
        parameter: str = "n_basis",
        cv: Any = 5,
        scoring: Any = None,
        ax: Axes | None = None,
    ) -> CurveDisplay:
        """Draw held-out scores of an estimator against a parameter.

        Parameters
        ----------
        estimator : estimator or dict from a name to estimators
            One curve each.
        X, y : table and targets
            Samples.
        sizes : sequence
            Values of the parameter.
        parameter : str, default="n_basis"
            The parameter that is varied.
        cv, scoring
            As in :func:`sklearn.model_selection.validation_curve`.
        ax : Axes, default=None
            Axes to draw on.

        Returns
        -------
        CurveDisplay
        """
        from sklearn.model_selection import validation_curve

        several = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        curves = {}
        for name, one in several.items():
            _, scores = validation_curve(
                one, X, y, param_name=parameter, param_range=list(sizes), cv=cv, scoring=scoring
            )
            curves[name] = Curve(list(sizes), scores.mean(axis=1), scores.std(axis=1))
        label = "basis vectors" if parameter == "n_basis" else parameter
        display = cls(curves, x_label=label, y_label="held-out score", band=True)
        display._size_name = parameter
        return display.plot(ax=ax)

    _size_name = "x"

    def frame(self) -> Any:
        """Return the points as a pandas frame, a row for each, with the name of its curve."""
        rows = []
        for name, curve in self.curves.items():
            spread = np.full(len(curve.x), np.nan) if curve.spread is None else curve.spread
            rows += [[name, *point] for point in zip(curve.x, curve.y, spread, strict=True)]
        return frames().DataFrame(rows, columns=["curve", self._size_name, "score", "spread"])

    def style_of(self, name: str) -> dict[str, Any]:
        """Return colour and marker of a curve."""
        k = self.names.index(name)
        return {"color": SHADES[k % len(SHADES)], "marker": MARKERS[k % len(MARKERS)], "markersize": 5}

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on.
        legend : bool, default=True
            Whether to write what is what; panels of one figure share a legend of their own.
        """
        ax = self.drawn_on(ax, (6.4, 4.2))
        for name, curve in self.curves.items():
            self._draw_curve(ax, name, curve)
        for name, level in self.levels.items():
            k = self.names.index(name)
            line = LINES[(k + 1) % len(LINES)]
            ax.axhline(level, color=SHADES[k % len(SHADES)], linestyle=line, linewidth=1.3, label=short(name, 48))
        for name, place in self.places.items():
            ax.axvline(place, color=GREY, linestyle=":", linewidth=1.2, label=short(name, 48))
        ax.set(xlabel=self.x_label, ylabel=self.y_label, xscale=self.x_scale, yscale=self.y_scale)
        self._ticks(ax)
        plain(ax, "both")
        if legend:
            legend_beside(ax)
        return self

    def _draw_curve(self, ax: Any, name: str, curve: Curve) -> None:
        style, x, y = self.style_of(name), np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
        line = "-" if curve.joined else ""
        if curve.spread is None or self.band:
            ax.plot(x, y, linestyle=line, linewidth=1.4, label=short(name, 48), **style)
        else:
            bars = {"elinewidth": 0.8, "capsize": 2, "linewidth": 1.2}
            ax.errorbar(x, y, np.asarray(curve.spread), linestyle=line, label=short(name, 48), **bars, **style)
        if curve.spread is not None and self.band:
            spread = np.asarray(curve.spread)
            ax.fill_between(x, y - spread, y + spread, color=style["color"], alpha=0.15, linewidth=0)
        if len(curve.others):
            ax.plot(*zip(*curve.others, strict=True), linestyle="", markerfacecolor="none", **style)

    def _ticks(self, ax: Axes) -> None:
        """Write the sizes themselves below the axis where there are few."""
        sizes = np.unique(np.concatenate([np.asarray(c.x, dtype=float) for c in self.curves.values()] or [np.empty(0)]))
        whole = bool(np.all(sizes == np.rint(sizes)))
        if self.x_scale == "log" and 1 < len(sizes) <= 8 and whole and np.all(sizes > 0):
            ax.set_xticks(sizes, labels=[_compact(size) for size in sizes])
            ax.set_xticks([], minor=True)
        elif self.x_scale != "linear":
            ax.xaxis.set_major_formatter(lambda value, _: _compact(value))
        if self.y_scale == "log":
            low, high = ax.get_ylim()
            decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
            ticks = np.multiply.outer(decades, (1.0, 2.0, 5.0) if len(decades) <= 4 else (1.0,)).ravel()
            ticks = ticks[(ticks >= low) & (ticks <= high)]
            ax.set_yticks(ticks, labels=[f"{tick:g}" for tick in ticks])
            ax.set_yticks([], minor=True)


def _compact(size: float) -> str:
    """Return a number in few letters: 200, 20k, 2M."""
    if size >= 1e6 and size % 1e5 == 0:
        return f"{size / 1e6:g}M"
    return f"{size / 1e3:g}k" if size >= 1e4 and size % 100 == 0 else f"{size:g}"
