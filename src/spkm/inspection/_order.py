"""The score of ordered classes: its thresholds, and samples of each class along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, TargetLike
from spkm.explain._table import dense, frames
from spkm.inspection._display import Axes, Display
from spkm.inspection._reading import Reading
from spkm.inspection._style import GREY, INK, legend_beside, line_style, plain, short

MOST_POINTS = 2000  # of the samples; more would hide one another


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
        given = np.asarray(y).tolist()
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
