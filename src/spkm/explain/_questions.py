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
from spkm.explain._relax import Axis, ListAxis, NumberAxis, Sight, parts_of
from spkm.explain._statements import Statement
from spkm.explain._structure import structure_of

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
            return [self._difference(sign) for sign in (1.0, -1.0)]
        return [{"limit": self._limit, "direction": self._direction, "change": self._change}[self.asked.kind]()]

    def level(self) -> float | None:
        """Return the number that the quantities must not exceed; None if it is asked for."""
        number = self.asked.number
        if self.asked.kind == "direction":
            return 2.0 * self._slack([(0, self._output()[0])])  # a slope of zero is proved but for rounding
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
            return self._goal([(0, turn * weigh, self.every)], lambda bounds: bounds[0], lambda F: turn * (F @ weigh))
        others = self._rivals(k)
        # The odds of all others over the class: they are the sum of exp(-(f_k - f_j)).
        rows = [(0, turn * other, self.every) for other in others]
        probability = self._probability(k)
        if turn > 0:
            return self._goal(rows, lambda b: 1 / (1 + np.exp(-b).sum(axis=0)), probability)
        return self._goal(rows, lambda b: -1 / (1 + np.exp(b).sum(axis=0)), lambda F: -probability(F))

    def _class(self) -> list[Goal]:
        """Return, for each rival of a class, how far it is ahead."""
        target = self.models[0].target
        labels = [str(label) for label in target.labels]
        if not target.of_classes or str(self.asked.output) not in labels:
            raise ValueError(f"statement names the class {self.asked.output!r}; the model has {labels or 'none'}.")
        others = self._rivals(labels.index(str(self.asked.output)))
        return [self._ahead(other) for other in others]

    def _ahead(self, other: np.ndarray) -> Goal:
        return self._goal([(0, -other, self.every)], lambda b: b[0], lambda F: -(F @ other))

    def _direction(self) -> Goal:
        """Return minus the slope in a feature."""
        if self.place is None or isinstance(self.region.axes[self.place], ListAxis):
            if self.place is not None:
                raise ValueError(f"statement on a direction needs a number; {self.asked.feature!r} is a category.")
            return self._goal([], lambda b: b[0], lambda F: np.zeros(len(F)))  # it is not read
        weigh, kind, k = self._output()
        if kind == "probability":
            if len(self._rivals(k)) > 1:
                raise ValueError("statement on a direction of a probability needs two classes. Use the score.")
            weigh = self._rivals(k)[0]
        sight = self._sight(0, self.every)
        inside = sight.inside(self.place)
        axis = self.region.axes[self.place]
        assert isinstance(axis, NumberAxis)
        one = self.models[0].n_outputs == 1
        certified = one and certificate(self.models[0], axis.column, self.sign if weigh[0] > 0 else -self.sign)
        if certified or inside is None:  # by construction; or beyond the clip, where all values are alike
            return self._goal([], lambda b: b[0], lambda F: np.zeros(len(F)))
        self.region.axes[self.place] = inside
        weigh = -float(self.sign) * weigh / sight.scale[sight.places[self.place]]
        parts = parts_of(sight, self._terms(0), weigh, slope_in=self.place)
        slack = self._slack([(0, weigh)])
        axes = self.region.axes
        # At single places bounds are exact.
        exact = Goal(axes, [(0.0, parts)], lambda b: b[0], lambda places: np.zeros(len(places)), 0.0)
        return replace(exact, value=lambda places: exact.upper(places, places)[0], slack=slack)

    def _change(self) -> Goal:
        """Return by how much a quantity differs between two samples that differ in one feature."""
        weigh, kind, k = self._output()
        if self.place is None:
            return self._goal([], lambda b: b[0], lambda F: np.zeros(len(F)))  # it is not read
        pair = [(0, weigh, self.every), (0, -weigh, self.copies)]
        if kind != "probability":
            return self._sum(pair, lambda b: b[0], lambda F, G: (F - G) @ weigh)
        (other,) = self._two_classes(k)
        pair = [(0, other, self.every), (0, -other, self.copies)]
        return self._probabilities(pair, lambda F, G: expit(F @ other) - expit(G @ other))

    def _difference(self, sign: float) -> Goal:
        """Return the quantity of this model minus that of the other, or the reverse."""
        weigh, kind, k = self._output()
        if kind == "probability":
            (weigh,) = self._two_classes(k)
        pair = [(0, sign * weigh, self.every), (1, -sign * weigh, self.every)]
        if kind != "probability":
            return self._sum(pair, lambda b: b[0], lambda F, G: sign * ((F - G) @ weigh))
        return self._probabilities(pair, lambda F, G: sign * (expit(F @ weigh) - expit(G @ weigh)))

    # Parts of quantities

    def _goal(
        self,
        rows: list[tuple[int, np.ndarray, list[int]]],
        combine: Callable[[np.ndarray], np.ndarray],
        value: Callable[[np.ndarray], np.ndarray],
    ) -> Goal:
        """Return a goal of several functionals of one model's scores."""
        functionals = [self._functional([row]) for row in rows]
        slack = self._slack([(m, weigh) for m, weigh, _ in rows])
        return Goal(
            self.region.axes,
            functionals or [(0.0, [])],
            combine,
            lambda places: value(self.models[0].scores(self.region.rows(places, self.every))),
            slack,
        )

    def _sum(
        self,
        rows: list[tuple[int, np.ndarray, list[int]]],
        combine: Callable[[np.ndarray], np.ndarray],
        value: Callable[[np.ndarray, np.ndarray], np.ndarray],
        more: list[tuple[float, list[Any]]] | None = None,
    ) -> Goal:
        """Return a goal of one functional that is a sum of two models' scores, or of one model's at two samples."""

        def values(places: np.ndarray) -> np.ndarray:
            return value(*(self.models[m].scores(self.region.rows(places, axes)) for m, _, axes in rows))

        slack = self._slack([(m, weigh) for m, weigh, _ in rows])
        return Goal(self.region.axes, [self._functional(rows), *(more or [])], combine, values, slack)

    def _probabilities(
        self, pair: list[tuple[int, np.ndarray, list[int]]], value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> Goal:
        """Return the difference of two probabilities: limited by the difference of scores, and by each of them."""

        def combine(bounds: np.ndarray) -> np.ndarray:
            apart, first, second = bounds
            return np.minimum(np.tanh(apart / 4), expit(first) - expit(-second))

        return self._sum(pair, combine, value, [self._functional([row]) for row in pair])

    def _functional(self, rows: list[tuple[int, np.ndarray, list[int]]]) -> tuple[float, list[Any]]:
        constant, parts = 0.0, []
        for m, weigh, axes in rows:
            constant += float(self.models[m].intercept @ weigh)
            parts += parts_of(self._sight(m, axes), self._terms(m), weigh)
        return constant, parts

    def _sight(self, m: int, axes: list[int]) -> Sight:
        return Sight(self.models[m], self.region.axes, axes, self.region.row)

    def _terms(self, m: int) -> Any:
        return structure_of(self.models[m], self.table.names).terms

    def _slack(self, rows: list[tuple[int, np.ndarray]]) -> float:
        size = 0.0
        for m, weigh in rows:
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

    def _two_classes(self, k: int) -> list[np.ndarray]:
        found = self._rivals(k)
        if len(found) != 1:
            raise ValueError("statement compares probabilities, which needs two classes. Use the score.")
        return found

    def _probability(self, k: int) -> Callable[[np.ndarray], np.ndarray]:
        if self.models[0].n_outputs == 1:
            return lambda F: expit(F[:, 0] if k == 1 else -F[:, 0])
        return lambda F: softmax(F, axis=1)[:, k]


def _range_text(axis: Axis) -> str:
    if isinstance(axis, ListAxis):
        return f"in {{{', '.join(axis.labels[:8])}{', ...' if len(axis.labels) > 8 else ''}}}"
    low, high = number_text(axis.low), number_text(axis.high)
    return f"= {low}" if axis.low == axis.high else f"from {low} to {high}"


def number_text(value: float) -> str:
    """Return a number with six digits; the number next to 0, which ``x < 0`` ends at, is 0."""
    return f"{value if abs(value) >= sys.float_info.min else 0.0:.6g}"
