"""From a statement to the quantities whose largest values decide it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from spkm.core.fitted import FittedModel
from spkm.core.monotone import certificate
from spkm.explain._extremes import Goal
from spkm.explain._regions import Table
from spkm.explain._relax import Axis, ListAxis, Sight, parts_of
from spkm.explain._statements import Statement
from spkm.explain._structure import structure_of

Row = tuple[int, np.ndarray, list[int]]  # a model, the weights of its scores, and the axes that set its columns
ROUNDING = 1e-9  # of the sum of the weights' sizes, added to every bound


class Question:
    """A statement about models: the quantities whose largest values decide it."""

    def __init__(self, asked: Statement, table: Table, models: list[FittedModel]) -> None:
        self.asked, self.table, self.models = asked, table, models
        self.region = table.region(asked.conditions)
        self.d = len(self.region.axes)
        self.every = list(range(self.d))
        self.copies = self.every
        feature = asked.feature
        if feature is not None:
            table.columns(feature)
        self.place = None if feature is None else self.region.axis(feature)
        if asked.kind == "change" and self.place is not None:
            self.region.axes.append(self.region.axes[self.place])
            self.copies = [k if k != self.place else self.d for k in self.every]
        self.sign = asked.sign

    def goals(self) -> list[Goal]:
        """Return the quantities, all of which must stay below the level."""
        if self.asked.kind == "class":
            return self._class()
        if self.asked.kind == "difference":
            return [self._apart(1, self.every, sign) for sign in (1.0, -1.0)]
        if self.asked.kind == "limit":
            return [self._limit()]
        self._output()  # of which the statement must be right, if the feature is not read as well
        if self.place is None:
            return [self._nothing()]
        return [self._direction() if self.asked.kind == "direction" else self._apart(0, self.copies, 1.0)]

    def level(self) -> float | None:
        """Return the number that the quantities must not exceed; None if it is sought."""
        number = self.asked.number
        if self.asked.kind == "direction":
            return 2.0 * self._slack([(0, self._output()[0], self.every)])  # a slope of zero is proved but for rounding
        if self.asked.kind == "class":
            return 0.0
        return number if number is None or self.asked.kind != "limit" else -self.sign * number

    @property
    def turned(self) -> bool:
        """Whether quantities are minus what the statement is about."""
        return self.asked.kind in ("limit", "direction", "class") and self.sign > 0

    def samples(self, place: np.ndarray) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the sample of a place, and the one that it is compared with, by names of features."""
        two = self.copies is not self.every
        return self.region.told(place, self.every), self.region.told(place, self.copies) if two else None

    def ranges(self) -> dict[str, str]:
        """Return the values of each feature in words."""
        return {axis.title: _range_text(axis) for axis in self.region.axes[: self.d]}

    # Quantities

    def _limit(self) -> Goal:
        """Return the quantity of a limit, turned so that it must stay below."""
        weigh, kind, k = self._output()
        turn = -float(self.sign)
        if kind != "probability":
            return self._score(turn * weigh)
        # The odds of all others over the class: they are the sum of exp(-(f_k - f_j)).
        rows: list[list[Row]] = [[(0, turn * other, self.every)] for other in self._rivals(k)]

        def probability(F: np.ndarray) -> np.ndarray:
            of_classes = softmax(F, axis=1)[:, k] if F.shape[1] > 1 else expit(F[:, 0] if k == 1 else -F[:, 0])
            return np.asarray(turn * of_classes)

        return self._goal(rows, lambda b: turn / (1 + np.exp(-turn * b).sum(axis=0)), probability)

    def _class(self) -> list[Goal]:
        """Return, for each rival of a class, how far it is ahead."""
        target = self.models[0].target
        labels = [str(label) for label in target.labels]
        if not target.of_classes or str(self.asked.output) not in labels:
            raise ValueError(f"statement names the class {self.asked.output!r}; the model has {labels or 'none'}.")
        return [self._score(-other) for other in self._rivals(labels.index(str(self.asked.output)))]

    def _direction(self) -> Goal:
        """Return minus the slope in a feature."""
        assert self.place is not None
        axis = self.region.axes[self.place]
        if isinstance(axis, ListAxis):
            raise ValueError(f"statement on a direction needs a number; {self.asked.feature!r} is a category.")
        weigh, kind, k = self._output()
        if kind == "probability":
            if len(self._rivals(k)) > 1:
                raise ValueError("statement on a direction of a probability needs two classes. Use the score.")
            weigh = self._rivals(k)[0]
        sight = self._sight(0, self.every)
        inside = sight.inside(self.place)
        one = self.models[0].n_outputs == 1
        certified = one and certificate(self.models[0], axis.column, self.sign if weigh[0] > 0 else -self.sign)
        if certified or inside is None:  # by construction; or beyond the clip, where all values are alike
            return self._nothing()
        self.region.axes[self.place] = inside
        weigh = -float(self.sign) * weigh / sight.scale[sight.places[self.place]]
        parts = parts_of(sight, self._terms(0), weigh, slope_in=self.place)
        # At single places bounds are exact.
        exact = Goal(self.region.axes, [(0.0, parts)], _alone, lambda places: np.zeros(len(places)), 0.0)
        slack = self._slack([(0, weigh, self.every)])
        return replace(exact, value=lambda places: exact.upper(places, places)[0], slack=slack)

    def _apart(self, m: int, axes: list[int], sign: float) -> Goal:
        """Return the difference of a quantity of the first model and of another model, or of another sample."""
        weigh, kind, k = self._output()
        if kind == "probability":
            (weigh, *more) = self._rivals(k)
            if more:
                raise ValueError("statement compares probabilities, which needs two classes. Use the score.")
        pair: list[Row] = [(0, sign * weigh, self.every), (m, -sign * weigh, axes)]
        at = [(0, self.every), (m, axes)]
        if kind != "probability":
            return self._goal([pair], _alone, lambda F, G: sign * ((F - G) @ weigh), at)

        def combine(bounds: np.ndarray) -> np.ndarray:
            apart, first, second = bounds
            return np.minimum(np.tanh(apart / 4), expit(first) - expit(-second))

        # It is limited by the difference of scores, and by each of them.
        rows = [pair, *([row] for row in pair)]
        return self._goal(rows, combine, lambda F, G: sign * (expit(F @ weigh) - expit(G @ weigh)), at)

    # Parts of quantities

    def _score(self, weigh: np.ndarray) -> Goal:
        return self._goal([[(0, weigh, self.every)]], _alone, lambda F: F @ weigh)

    def _nothing(self) -> Goal:
        """Return a quantity that is zero everywhere."""
        return self._goal([], _alone, lambda F: np.zeros(len(F)))

    def _goal(
        self,
        rows: list[list[Row]],
        combine: Callable[[np.ndarray], np.ndarray],
        value: Callable[..., np.ndarray],
        at: list[tuple[int, list[int]]] | None = None,
    ) -> Goal:
        """Return a goal of functionals, sums of rows each.

        Its value is a function of the scores of the models and axes in ``at``, by default of the first model.
        """
        at = at or [(0, self.every)]

        def values(places: np.ndarray) -> np.ndarray:
            return value(*(self.models[m].scores(self.region.rows(places, axes)) for m, axes in at))

        functionals = [self._functional(own) for own in rows] or [(0.0, [])]
        slack = max((self._slack(own) for own in rows), default=0.0)
        return Goal(self.region.axes, functionals, combine, values, slack)

    def _functional(self, rows: list[Row]) -> tuple[float, list[Any]]:
        constant, parts = 0.0, []
        for m, weigh, axes in rows:
            constant += float(self.models[m].intercept @ weigh)
            parts += parts_of(self._sight(m, axes), self._terms(m), weigh)
        return constant, parts

    def _sight(self, m: int, axes: list[int]) -> Sight:
        return Sight(self.models[m], self.region.axes, axes, self.region.row)

    def _terms(self, m: int) -> Any:
        return structure_of(self.models[m], self.table.names).terms

    def _slack(self, rows: list[Row]) -> float:
        size = 0.0
        for m, weigh, _ in rows:
            model = self.models[m]
            size += float(np.abs(model.weights @ weigh).sum() + abs(model.intercept @ weigh))
        return ROUNDING * size

    def _output(self) -> tuple[np.ndarray, str, int]:
        """Return the weights of the scores, the kind of quantity, and the place of the class."""
        model, asked = self.models[0], self.asked
        target = model.target
        m = model.n_outputs
        kind = asked.quantity
        if kind == "prediction":
            if target.of_classes:
                raise ValueError("statement compares a predicted class with a number. Ask for a score or probability.")
            if model.loss.link != "identity":
                raise ValueError("statement is about a prediction, which is a curve of the score. Use the score.")
        if kind == "probability" and not (target.task == "classes" and model.loss.link == "logistic"):
            raise ValueError("statement is about a probability; this model has none of single classes. Use the score.")
        labels = [str(label) for label in target.labels] if target.task == "classes" else []
        names = labels if kind == "probability" else list(target.names)
        if asked.output is None:
            if kind == "probability" and len(names) == 2:
                return np.ones(m), kind, 1
            if len(names) != 1:
                raise ValueError(f"statement must name one of the outputs: {kind} of {', '.join(names)}.")
            return np.ones(m), kind, 0
        if asked.output not in names:
            raise ValueError(f"statement names the output {asked.output!r}; the model has {', '.join(names)}.")
        k = names.index(asked.output)
        return (np.ones(1) if m == 1 else np.eye(m)[k]), kind, k

    def _rivals(self, k: int) -> list[np.ndarray]:
        """Return the weights of the differences between the score of class k and those of all others."""
        model = self.models[0]
        if model.n_outputs == 1:
            return [np.array([1.0 if k == 1 else -1.0])]
        eye = np.eye(model.n_outputs)
        return [eye[k] - eye[j] for j in range(model.n_outputs) if j != k]


def _alone(bounds: np.ndarray) -> np.ndarray:
    """Return the bounds of the only functional."""
    return np.asarray(bounds[0])


def _range_text(axis: Axis) -> str:
    if isinstance(axis, ListAxis):
        return f"in {{{', '.join(axis.labels[:8])}{', ...' if len(axis.labels) > 8 else ''}}}"
    low, high = number_text(axis.low), number_text(axis.high)
    return f"= {low}" if axis.low == axis.high else f"from {low} to {high}"


def number_text(value: float) -> str:
    """Return a number with six digits; the number next to 0, which ``x < 0`` ends at, is 0."""
    return f"{value if abs(value) >= sys.float_info.min else 0.0:.6g}"
