"""How a fit went and what it made of its input: convergence, stability of features, shares of views."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, TargetLike
from spkm._checks import check_integer
from spkm.estimators import StabilitySelection, stability_selection
from spkm.explain._table import fitted_part, frames
from spkm.inspection._display import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    Axes,
    Display,
    folded,
    label_bars,
    legend_beside,
    line_style,
    named_rows,
    plain,
    short,
)
from spkm.inspection._reading import Reading


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """How often each feature is chosen on halves of the samples.

    Parameters
    ----------
    result : StabilitySelection
        Probabilities of all features.
    max_features : int, default=25
        Features shown.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier, stability_selection
    >>> from spkm.inspection import StabilityDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SPKMClassifier(kernel="linear", selection="strict", max_features=3, random_state=0)
    >>> result = stability_selection(clf, X[:100, :4], y[:100], n_pairs=1, random_state=0)
    >>> StabilityDisplay(result).plot().frame().columns.tolist()
    ['feature', 'probability', 'stable']
    """

    result: StabilitySelection
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
    ) -> StabilityDisplay:
        """Run stability selection and draw what it finds.

        Parameters
        ----------
        estimator : SPKM estimator
            With ``selection="strict"``.
        X, y : table and targets
            Samples.
        max_features : int, default=25
            Features shown.
        ax : Axes, default=None
            Axes to draw on.
        **options
            Options of :func:`spkm.stability_selection`.

        Returns
        -------
        StabilityDisplay
        """
        check_integer("max_features", max_features, 1)
        return cls(stability_selection(estimator, X, y, **options), max_features=max_features).plot(ax=ax)

    def frame(self) -> Any:
        """Return the probabilities as a pandas frame, the most probable feature first."""
        return self.result.frame()

    def _draw(self, ax: Any) -> None:
        result = self.result
        order = np.argsort(-result.probabilities, kind="stable")
        seen = order[result.probabilities[order] > 0][: self.max_features]
        seen = seen if len(seen) else order[:1]
        ax = self.drawn_on(ax, (7.2, 1.7 + 0.29 * len(seen)))
        places = named_rows(ax, [short(result.feature_names[j]) for j in seen])
        shown = result.probabilities[seen]
        stable = shown >= result.threshold
        for mask, fill, name in (
            (stable, {"color": BLUE}, "stable"),
            (~stable, {"color": "white", "edgecolor": GREY, "hatch": "////"}, "not stable"),
        ):
            if mask.any():
                ax.barh(places[mask], shown[mask], height=0.66, label=name, **fill)
        ax.axvline(
            result.threshold, color=ORANGE, linewidth=1.8, linestyle="--", label=f"threshold {result.threshold:g}"
        )
        ax.set(xlim=(0, 1.02), xlabel=f"share of {result.n_halves} half samples in which the feature is chosen")
        never = int((result.probabilities == 0).sum())
        more = int((result.probabilities > 0).sum()) - len(seen)
        notes = [f"{more} more were chosen less often"] * (more > 0) + [f"{never} never chosen"] * (never > 0)
        title = "; ".join([f"by chance alone at most {result.bound:.2g} would be stable", *notes])
        ax.set_title(folded(title, 6), loc="left", fontsize=9)
        legend_beside(ax)
        plain(ax, "x")


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The objective during the fit; the legend has its value at the end, and the length of the step that is left there.

    Parameters
    ----------
    paths : list of ndarray
        The objective after each iteration; several for several binary problems.
    names : list of str
        Names of the paths.
    stationarity : list of float, default=None
        The length of the gradient step that is left at the end of each path, ``stationarity_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import ConvergenceDisplay
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(*load_iris(return_X_y=True))
    >>> ConvergenceDisplay.from_estimator(model).frame().columns.tolist()
    ['path', 'iteration', 'objective']
    """

    paths: list[np.ndarray]
    names: list[str]
    stationarity: list[float] | None = None

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw the objective of a fitted estimator during its fit.

        Parameters
        ----------
        estimator : fitted SPKM estimator, or a pipeline that ends with one
            The fitted estimator; for a search the last fit, on all samples.
        ax : Axes, default=None
            Axes to draw on.

        Returns
        -------
        ConvergenceDisplay
        """
        reading = Reading.of(estimator)
        parts = fitted_part(reading.estimator, "estimators_", [reading.estimator])
        names = ["objective"] if reading.model.is_joint else list(reading.model.names)
        left = [part.stationarity_ for part in parts]
        return cls([np.asarray(part.objective_path_) for part in parts], names, left).plot(ax=ax)

    def frame(self) -> Any:
        """Return the objective as a pandas frame: a row per iteration."""
        pandas = frames()
        parts = [
            pandas.DataFrame({"path": name, "iteration": np.arange(len(path)), "objective": path})
            for name, path in zip(self.names, self.paths, strict=True)
        ]
        return pandas.concat(parts, ignore_index=True)

    def _draw(self, ax: Any) -> None:
        ax = self.drawn_on(ax, (7.6, 3.6))
        ends = [np.nan] * len(self.paths) if self.stationarity is None else self.stationarity
        for k, (name, path, left) in enumerate(zip(self.names, self.paths, ends, strict=True)):
            style = line_style(k)
            label = f"{short(name, 30)}: {path[-1]:.4g}" + (f"; step {left:.1g}" if np.isfinite(left) else "")
            ax.plot(np.arange(len(path)), path, linewidth=1.8, label=label, **style)
            ax.plot(len(path) - 1, path[-1], "o", color=style["color"], markersize=5)
        low, high = min(p.min() for p in self.paths), max(p.max() for p in self.paths)
        if low > 0 and high > 20 * low:
            ax.set_yscale("log")
        ax.set(xlabel="iteration", ylabel="objective")
        known = np.isfinite(ends).any()
        legend_beside(ax, "objective at the end" + "\nand length of a further step" * bool(known))
        plain(ax, "y")


@dataclass(eq=False, repr=False)
class ViewShareDisplay(Display):
    """Share of each view, or term of several views, in the variance of the predictions.

    Parameters
    ----------
    names : list of str
        The views.
    shares : ndarray of shape (n_views,)
        Their shares; they sum to one.
    used, available : ndarray of int of shape (n_views,)
        Basis vectors of the view whose weights are not all zero, and all of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import ViewShareDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=2, views={"sepal": [0, 1], "petal": [2, 3]}, random_state=0).fit(X, y)
    >>> ViewShareDisplay.from_estimator(model).frame()["view"].tolist()
    ['sepal', 'petal']
    """

    names: list[str]
    shares: np.ndarray
    used: np.ndarray
    available: np.ndarray

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Axes | None = None) -> ViewShareDisplay:
        """Draw the shares of the views of a fitted estimator.

        Parameters
        ----------
        estimator : fitted SPKM estimator
            With views, terms or pairs.
        ax : Axes, default=None
            Axes to draw on.

        Returns
        -------
        ViewShareDisplay
        """
        usage = fitted_part(estimator, "view_usage_")
        if not usage:
            raise ValueError("estimator must have views; this one has a single kernel on all features. Set views.")
        used = np.array([one.n_used for one in usage.values()])
        available = np.array([one.rows.stop - one.rows.start for one in usage.values()])
        return cls(list(usage), np.array([one.share for one in usage.values()]), used, available).plot(ax=ax)

    def frame(self) -> Any:
        """Return a pandas frame: a row per view."""
        columns = {"view": self.names, "share": self.shares, "n_used": self.used, "n_basis": self.available}
        return frames().DataFrame(columns)

    def _draw(self, ax: Any) -> None:
        ax = self.drawn_on(ax, (6.4, 1.4 + 0.42 * len(self.names)))
        places = named_rows(ax, [short(name) for name in self.names])
        ax.barh(places, self.shares, height=0.62, color=np.where(self.shares >= 0, BLUE, ORANGE))
        ax.axvline(0, color=INK, linewidth=0.8)
        texts = [
            f"{share:.0%}  ({used} of {all_} vectors in use)".replace("-", "−")
            for share, used, all_ in zip(self.shares, self.used, self.available, strict=True)
        ]
        label_bars(ax, places, np.maximum(self.shares, 0), texts, np.ones(len(places), dtype=bool))
        ax.set_xlim(min(0.0, 1.1 * self.shares.min()), max(0.1, self.shares.max()) * 1.75)
        ax.set_xticks([t for t in np.arange(-1, 1.01, 0.25) if min(0.0, self.shares.min()) - 0.01 <= t <= 1.0])
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}".replace("-", "−"))
        ax.set_xlabel("share of the variance of the predictions")
        plain(ax, "x")
