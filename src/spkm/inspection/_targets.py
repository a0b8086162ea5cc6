"""Displays of ordered classes and of censored times: the score with its thresholds, survival curves, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, TargetLike
from spkm._checks import check_integer
from spkm._frames import library_of
from spkm.explain._table import dense, frames
from spkm.inspection._censored import Calibration, judged_times, survival_calibration
from spkm.inspection._display import BLUE, GREY, INK, Axes, Display, legend_beside, line_style, number, plain, short
from spkm.inspection._reading import Reading
from spkm.losses import Times
from spkm.tables.read import target_array

MOST_POINTS = 2000  # of the samples; more would hide one another
MOST_CURVES = 10  # more are hard to follow


@dataclass(eq=False, repr=False)
class OrderDisplay(Display):
    """The score axis of ordered classes: probabilities along it, thresholds, and samples by class.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Scores of samples.
    codes, predicted : ndarray of shape (n,)
        Their classes and the most likely ones, as places in ``class_names``.
    thresholds : ndarray of shape (n_classes - 1,)
        Thresholds between neighbouring classes.
    class_names : sequence of str
        The classes, lowest first.
    grid, probabilities : ndarray of shapes (n_points,) and (n_points, n_classes)
        Scores, and the probability of every class at each.

    Attributes
    ----------
    axes_ : ndarray of Axes of shape (2,)
        Probabilities, and samples.
    figure_ : Figure
        Figure of the drawing.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMOrdinalClassifier
    >>> from spkm.inspection import OrderDisplay
    >>> X = np.random.default_rng(0).standard_normal((90, 2))
    >>> y = np.digitize(X[:, 0], [-0.5, 0.5])
    >>> model = SPKMOrdinalClassifier(2, weight_penalty="rkhs", random_state=0).fit(X, y)
    >>> OrderDisplay.from_estimator(model, X, y).frame().columns.tolist()
    ['class', 'score', 'predicted']
    """

    scores: np.ndarray
    codes: np.ndarray
    predicted: np.ndarray
    thresholds: np.ndarray
    class_names: Any
    grid: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: TableLike, y: TargetLike, *, ax: Axes | None = None
    ) -> OrderDisplay:
        """Draw the score of a fitted :class:`spkm.SPKMOrdinalClassifier`.

        Parameters
        ----------
        estimator : fitted SPKMOrdinalClassifier, or a pipeline that ends with one
            The model.
        X, y : table and labels
            Samples, best those that the fit has not used.
        ax : Axes, default=None
            Axes to draw on; if None, a new figure.

        Returns
        -------
        OrderDisplay
        """
        reading = Reading.of(estimator)
        model = reading.model
        if model.target.task != "ordered":
            raise TypeError(f"OrderDisplay is for ordered classes; got {type(reading.estimator).__name__}.")
        scores = np.asarray(model.scores(np.asarray(dense(reading.table(X))))[:, 0], dtype=np.float64)
        labels = model.target.labels.tolist()
        place = {label: k for k, label in enumerate(labels)}
        given = target_array(y).tolist()
        unknown = [label for label in given if label not in place]
        if unknown or len(given) != len(scores):
            what = f"{unknown[0]!r}" if unknown else f"{len(given)} labels for {len(scores)} samples"
            raise ValueError(f"y must have one of the classes {labels} for every sample of X; got {what}.")
        thresholds = np.asarray(model.loss.thresholds, dtype=np.float64)
        ends = np.concatenate([scores, thresholds])
        grid = np.linspace(ends.min() - 1.0, ends.max() + 1.0, 200)
        codes = np.array([place[label] for label in given], dtype=int)
        shares = model.loss.probabilities(grid[:, None])
        predicted = np.array([place[label] for label in model.target.decode(scores[:, None]).tolist()], dtype=int)
        return cls(scores, codes, predicted, thresholds, [str(label) for label in labels], grid, shares).plot(ax=ax)

    def frame(self) -> Any:
        """Return the samples as a pandas frame: class, score and predicted class."""
        names = np.array(self.class_names, dtype=object)
        known = {"class": names[self.codes], "score": self.scores, "predicted": names[self.predicted]}
        return frames().DataFrame(known)

    def _draw(self, ax: Axes) -> None:
        count = len(self.class_names)
        size = (7.2, 2.6 + 0.45 * count)
        above, below = self.axes_ = self.panels_on(ax, 2, 1, size, height_ratios=[1.2, 0.35 * count])[:, 0]
        jitter = np.random.default_rng(0).uniform(-0.28, 0.28, len(self.scores))
        step = max(1, len(self.scores) // MOST_POINTS)
        for k, name in enumerate(self.class_names):
            style = line_style(k)
            above.plot(self.grid, self.probabilities[:, k], label=short(name, 20), **style)
            own = np.flatnonzero(self.codes == k)[::step]
            below.scatter(self.scores[own], k + jitter[own], s=9, color=style["color"], alpha=0.5, linewidths=0)
        for where in (above, below):
            for threshold in self.thresholds:
                where.axvline(threshold, color=INK, linewidth=0.8, linestyle="--")
            where.set_xlim(self.grid[0], self.grid[-1])
            plain(where)
        above.set(ylabel="probability", ylim=(0, 1.02))
        above.tick_params(labelbottom=False)
        legend_beside(above)
        below.set_yticks(range(count), [short(name, 20) for name in self.class_names])
        below.set(xlabel="score (dashed: thresholds)", ylim=(-0.6, count - 0.4))
        below.tick_params(axis="y", length=0)
        below.grid(axis="y", color=GREY, alpha=0.15)


@dataclass(eq=False, repr=False)
class SurvivalDisplay(Display):
    """Survival curves: the probability of no event until a time.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
        Times.
    survival : ndarray of shape (n_curves, n_times)
        A curve for each basis vector or sample.
    curve_names : sequence of str
        Names of the curves.
    usual : ndarray of shape (n_times,)
        The curve of a sample with the mean log hazard of the training samples.

    Attributes
    ----------
    ax_ : Axes
        Axes of the curves.
    figure_ : Figure
        Figure of the drawing.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMSurvival
    >>> from spkm.inspection import SurvivalDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> y = np.rec.fromarrays([np.ones(100, bool), rng.exponential(np.exp(-X[:, 0]))], names="event,time")
    >>> model = SPKMSurvival(2, weight_penalty="rkhs", random_state=0).fit(X, y)
    >>> SurvivalDisplay.from_estimator(model, X[:3]).frame()["curve"].unique().tolist()
    ['sample 0', 'sample 1', 'sample 2']
    """

    times: np.ndarray
    survival: np.ndarray
    curve_names: Any
    usual: np.ndarray

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any = None,
        *,
        feature: Any = None,
        values: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        times: Any = None,
        ax: Axes | None = None,
    ) -> SurvivalDisplay:
        """Draw curves of a fitted :class:`spkm.SPKMSurvival`.

        Parameters
        ----------
        estimator : fitted SPKMSurvival, or a pipeline that ends with one
            The model.
        X : table, default=None
            Samples, at most ten. None draws a curve for every basis vector: that of a sample at its place.
        feature, values : column and sequence, default=None
            "What if": the curves of one sample X with other values of a column, by name or index.
        names : sequence of str, default=None
            Names of the curves.
        times : array-like of shape (n_times,), default=None
            Times; None takes ``event_times_``.
        ax : Axes, default=None
            Axes to draw on; if None, a new figure.

        Returns
        -------
        SurvivalDisplay
        """
        reading = Reading.of(estimator)
        model = _survival_model(reading)
        times = model.event_times_ if times is None else np.asarray(times, dtype=np.float64)
        if feature is not None or values is not None:
            if X is None or feature is None or values is None or np.shape(X)[0] != 1:
                raise ValueError("feature and values go together, with one sample as X.")
            tables = [dense(reading.table(_changed(X, feature, value))) for value in values]
            rows, known = np.concatenate(tables), [f"{feature} = {_text(value)}" for value in values]
        elif X is None:
            rows = vectors_as_samples(reading)
            known = [f"u{r}" for r in range(len(rows))]
        else:
            rows = np.asarray(dense(reading.table(X)))
            known = [f"sample {i}" for i in range(len(rows))]
        if len(rows) > MOST_CURVES and X is not None:
            raise ValueError(f"X must have at most {MOST_CURVES} samples, as more curves are hard to follow.")
        known = known if names is None else [str(name) for name in names]
        if len(known) != len(rows):
            raise ValueError(f"names must have an entry for each of the {len(rows)} curves; got {len(known)}.")
        hazard = -np.log(np.maximum(model.survival_of_scores(np.zeros(1), times), 1e-300))[0]
        curves = model.survival_of_scores(reading.model.scores(rows)[:, 0], times)
        return cls(times, curves, known, np.exp(-hazard)).plot(ax=ax)

    def frame(self) -> Any:
        """Return the curves as a pandas frame: curve, time, survival."""
        n_curves, n_times = self.survival.shape
        return frames().DataFrame(
            {
                "curve": np.repeat(self.curve_names, n_times),
                "time": np.tile(self.times, n_curves),
                "survival": self.survival.ravel(),
            }
        )

    def _draw(self, ax: Axes) -> None:
        where = self.drawn_on(ax, (7.2, 4))
        start = np.concatenate([[0.0], self.times])
        usual = np.concatenate([[1.0], self.usual])
        where.step(start, usual, where="post", color=GREY, linewidth=3, alpha=0.4, label="usual")
        for k, (name, curve) in enumerate(zip(self.curve_names, self.survival, strict=True)):
            steps = np.concatenate([[1.0], curve])
            where.step(start, steps, where="post", label=short(name, 24), **line_style(k))
        where.set(xlabel="time", ylabel="probability of no event", ylim=(0, 1.02))
        where.set_xlim(left=0)
        legend_beside(where)
        plain(where, grid="y")


@dataclass(eq=False, repr=False)
class SurvivalCalibrationDisplay(Display):
    """Predicted beside observed survival at some times, for groups of samples with similar predictions.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
        Times.
    groups : list of Calibration
        Predicted and observed survival until each time.

    Attributes
    ----------
    axes_ : ndarray of Axes of shape (n_times,)
        A panel for each time.
    figure_ : Figure
        Figure of the drawing.
    """

    times: np.ndarray
    groups: list[Calibration]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        y: TargetLike,
        *,
        times: Any = None,
        n_groups: int = 5,
        ax: Axes | None = None,
    ) -> SurvivalCalibrationDisplay:
        """Draw the calibration of a fitted :class:`spkm.SPKMSurvival` on samples that the fit has not seen.

        Parameters
        ----------
        estimator : fitted SPKMSurvival, or a pipeline that ends with one
            The model.
        X, y : table and targets
            Samples, with events and times as in the fit.
        times : array-like of shape (n_times,), default=None
            Times; None takes the quartiles of the times of events in y.
        n_groups : int, default=5
            Number of groups, of equal size, by predicted survival.
        ax : Axes, default=None
            Axes to draw on; if None, a new figure.

        Returns
        -------
        SurvivalCalibrationDisplay
        """
        reading = Reading.of(estimator)
        model = _survival_model(reading)
        known: Times = model.times_of(y)
        at = judged_times(known, 3) if times is None else np.atleast_1d(np.asarray(times, dtype=np.float64))
        curves = model.survival_of_scores(reading.model.scores(np.asarray(dense(reading.table(X))))[:, 0], at)
        count = check_integer("n_groups", n_groups, 1)
        groups = [survival_calibration(known, curves[:, k], float(t), count) for k, t in enumerate(at)]
        return cls(at, groups).plot(ax=ax)

    def frame(self) -> Any:
        """Return the groups as a pandas frame: time, predicted, observed, low, high, n_samples."""
        pd = frames()
        parts = [pd.DataFrame(one._asdict()).assign(time=t) for t, one in zip(self.times, self.groups, strict=True)]
        return pd.concat(parts, ignore_index=True)[["time", "predicted", "observed", "low", "high", "n_samples"]]

    def _draw(self, ax: Axes) -> None:
        self.axes_ = self.panels_on(ax, 1, len(self.times), (3.1 * len(self.times), 3.2))[0]
        for where, time, one in zip(self.axes_, self.times, self.groups, strict=True):
            where.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
            ends = np.clip([one.observed - one.low, one.high - one.observed], 0, None)
            where.errorbar(one.predicted, one.observed, ends, fmt="o", color=BLUE, markersize=4, linewidth=1)
            where.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted survival", aspect="equal")
            where.set_title(f"until time {number(float(time))}", loc="left", fontsize=10)
            plain(where, grid="both")
        self.axes_[0].set_ylabel("observed survival\n(bars: 95 % intervals)")


def vectors_as_samples(reading: Reading) -> np.ndarray:
    """Return samples at the places of the basis vectors; features that a vector does not have are at their centre."""
    model = reading.model
    rows = np.array(model.basis_vectors[model.vector_rows], dtype=np.float64)
    centre = np.zeros(model.n_features)
    if model.scaling is not None:
        centre[model.features] = model.scaling.center
    return np.where(np.isnan(rows), centre, rows)


def _survival_model(reading: Reading) -> Any:
    if "baseline_hazard_" not in vars(reading.estimator):
        raise TypeError(f"Survival curves are those of an SPKMSurvival; got {type(reading.estimator).__name__}.")
    return reading.estimator


def _changed(X: Any, feature: Any, value: Any) -> Any:
    """Return a sample with another value of a column."""
    named = library_of(X) in ("pandas", "polars")
    known = list(X.columns) if named else range(-np.shape(X)[1], np.shape(X)[1])
    if named and isinstance(feature, int | np.integer) and -len(known) <= feature < len(known):
        feature = known[feature]
    if feature not in known:
        raise ValueError(f"feature must be a column of X; got {feature!r}.")
    if named:
        column = {feature: [value]}
        return X.assign(**column) if library_of(X) == "pandas" else X.with_columns(type(X)(column))
    rows = np.array(dense(X), dtype=np.float64)
    rows[:, feature] = value
    return rows


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):.6g}"
