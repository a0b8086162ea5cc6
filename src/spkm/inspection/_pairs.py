"""Predictions of all pairs of some entities, as a matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spkm._checks import check_integer
from spkm.explain._table import entities_of, frames
from spkm.inspection._display import INK, Axes, Display, colour_bar, diverging, folded, short
from spkm.inspection._reading import Reading, order_along

NAMED = 45  # entities of a side up to which each has its name


@dataclass(eq=False, repr=False)
class PairMatrixDisplay(Display):
    """The scores of every left entity with every right one.

    Rows and columns are ordered so that entities with similar scores are neighbours.

    Parameters
    ----------
    scores : ndarray of shape (n_left, n_right)
        The scores.
    known : ndarray of bool of shape (n_left, n_right)
        Pairs that were marked.
    left_names, right_names : sequences of str
        The entities.
    score_name : str, default="score"
        Label of the shading.
    signed : bool, default=False
        Whether zero is a boundary.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import PairwiseSPKMRegressor
    >>> from spkm.inspection import PairMatrixDisplay
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.standard_normal((12, 3)), rng.standard_normal((9, 4))
    >>> pairs = np.array([(i, j) for i in range(12) for j in range(9)])
    >>> y = drugs[pairs[:, 0], 0] * targets[pairs[:, 1], 1]
    >>> model = PairwiseSPKMRegressor(n_basis=4, random_state=0).fit(pairs, y, left=drugs, right=targets)
    >>> PairMatrixDisplay.from_estimator(model).frame().shape
    (12, 9)
    """

    scores: np.ndarray
    known: np.ndarray
    left_names: Any
    right_names: Any
    score_name: str = field(default="score", kw_only=True)
    signed: bool = field(default=False, kw_only=True)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        pairs: Any = None,
        *,
        left: Any = None,
        right: Any = None,
        left_names: Any = None,
        right_names: Any = None,
        output: Any = 0,
        max_entities: int = 60,
        ax: Axes | None = None,
    ) -> PairMatrixDisplay:
        """Draw the scores of all pairs of entities.

        Parameters
        ----------
        estimator : fitted estimator of pairs
            The fitted estimator.
        pairs : array-like of int of shape (n, 2), default=None
            Pairs to mark with a dot, such as those of the training samples.
        left, right : tables, default=None
            Entities; if None, those of the fit.
        left_names, right_names : sequences of str, default=None
            Names of the entities; if None, their numbers.
        output : int or str, default=0
            Number of the score.
        max_entities : int, default=60
            Most entities of a side; if there are more, some at equal distances are shown.
        ax : Axes, default=None
            Axes to draw on.

        Returns
        -------
        PairMatrixDisplay
        """
        reading = Reading.of(estimator)
        if entities_of(estimator) is None:
            raise ValueError(f"estimator must be one of pairs; got {type(estimator).__name__}.")
        tables = [
            own if given is None else given for own, given in zip(estimator._pairs.tables, (left, right), strict=True)
        ]
        most = check_integer("max_entities", max_entities, 1)
        rows, columns = (np.arange(0, table.shape[0], max(1, -(-table.shape[0] // most))) for table in tables)
        every = np.array([(i, j) for i in rows for j in columns])
        table = estimator._pairs.like(every, left, right)
        scores = reading.model.scores(table)[:, reading.output(output)].reshape(len(rows), len(columns))
        known = np.zeros((tables[0].shape[0], tables[1].shape[0]), dtype=bool)
        if pairs is not None:
            known[tuple(np.asarray(pairs).T)] = True
        names = [
            [str(k) for k in kept] if given is None else [str(given[k]) for k in kept]
            for given, kept in ((left_names, rows), (right_names, columns))
        ]
        by_row, by_column = (order_along(part - part.mean(axis=0)) for part in (scores, scores.T))
        return cls(
            scores[by_row][:, by_column],
            known[rows][:, columns][by_row][:, by_column],
            [names[0][k] for k in by_row],
            [names[1][k] for k in by_column],
            score_name=reading.score_name(reading.output(output)),
            signed=reading.labels is not None,
        ).plot(ax=ax)

    def frame(self) -> Any:
        """Return the scores as a pandas frame: a row per left entity, a column per right one."""
        return frames().DataFrame(self.scores, index=self.left_names, columns=self.right_names)

    def _draw(self, ax: Axes) -> None:
        n, m = self.scores.shape
        ax = self.drawn_on(ax, (2.6 + min(0.17 * m, 8), 1.8 + min(0.15 * n, 7)))
        reach = float(np.abs(self.scores).max())
        shade = {"cmap": diverging(), "vmin": -reach, "vmax": reach} if self.signed else {"cmap": "cividis"}
        picture = ax.imshow(self.scores, aspect="auto", interpolation="nearest", **shade)
        if self.known.any():
            rows, columns = np.nonzero(self.known)
            ax.plot(columns, rows, ".", color="white", markeredgecolor=INK, markeredgewidth=0.5, markersize=4.5)
            ax.set_title("dots: marked pairs", loc="left", fontsize=9)
        for axis, names, side in ((ax.yaxis, self.left_names, "left"), (ax.xaxis, self.right_names, "right")):
            if len(names) <= NAMED:
                axis.set_ticks(range(len(names)), [short(name, 16) for name in names], fontsize=7)
            else:
                axis.set_ticks([])
            axis.set_label_text(folded(f"{side} entities, similar ones together", 3))
        ax.tick_params(axis="x", rotation=90)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        colour_bar(self.figure_, picture, ax, self.score_name)
