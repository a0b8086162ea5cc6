"""Statements about a whole model: proved, refuted by a sample, or left open with the gap that is left."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import joblib
from sklearn.base import BaseEstimator

from spkm._checks import check_integer, check_real
from spkm.explain._extremes import Extreme, largest
from spkm.explain._questions import Question, number_text
from spkm.explain._regions import Table
from spkm.explain._statements import Statement, parse
from spkm.explain._table import Pipeline, check_columns, fitted_part, joint_model

#: The side on which a quantity stays, and the end of its range that was found, by the sign of a statement.
_ENDS = {-1: ("at most", "largest"), 1: ("at least", "smallest")}


@dataclass(frozen=True)
class Proof:
    """The answer to a statement. Made by :func:`prove`.

    Attributes
    ----------
    statement : str
        The statement.
    status : {"proved", "refuted", "unknown"}
        "proved" holds for every sample of the region, "refuted" has a sample for which it does not hold, and
        "unknown" is open after ``n_boxes`` boxes.
    bound : float
        The quantity goes nowhere beyond this, above or below as the statement has it.
    found : float
        The farthest value that was found.
    sample : dict from a name to a value
        Its sample, by features that the model reads; for two samples the one that the quantity is larger for.
    other_sample : dict or None
        The second sample of a statement on a change.
    n_boxes : int
        Number of boxes that were bounded.
    region : dict from a name to text
        Values of each feature that the answer is about.
    """

    statement: str
    status: str
    bound: float
    found: float
    sample: dict[str, Any]
    other_sample: dict[str, Any] | None
    n_boxes: int
    region: dict[str, str]

    @property
    def gap(self) -> float:
        """Distance between the bound and the farthest value that was found."""
        return abs(self.bound - self.found)

    def __str__(self) -> str:
        asked = parse(self.statement)
        what, side, end = self._quantity(asked), *_ENDS[asked.sign]
        bound, found = f"{self.bound + 0:.6g}", f"{self.found + 0:.6g}"
        answer = {
            "proved": f"Proved: {what} is {side} {bound} in the whole region; the {end} found is {found}.",
            "refuted": f"Refuted: {what} is {found} in the sample below.",
            "unknown": f"Unknown after {self.n_boxes:,} boxes: {what} is {found} in the sample below, {bound} is not "
            f"ruled out; a gap of {self.gap:.3g}.",
        }[self.status]
        lines = [f"{self.statement!r}", answer]
        if self.sample and self.status != "proved":
            lines += [f"  {name} = {_text(value)}{self._changed(name)}" for name, value in self.sample.items()]
        within = "; ".join(f"{name} {text}" for name, text in self.region.items())
        return "\n".join([*lines, f"Region: {within}."])

    @staticmethod
    def _quantity(asked: Statement) -> str:
        """Return the quantity that the numbers are about."""
        if asked.kind == "direction":
            return f"the slope of the score per unit of {asked.feature}"
        if asked.kind == "class":
            return "the margin over the other classes"
        of = f" of {asked.output}" if asked.output else ""
        return f"the {asked.quantity}{of}" if asked.kind == "limit" else f"the difference of the {asked.quantity}{of}"

    def _changed(self, name: str) -> str:
        if self.other_sample is None or self.other_sample[name] == self.sample[name]:
            return ""
        return f" (the other sample: {_text(self.other_sample[name])})"


def _text(value: Any) -> str:
    return number_text(value) if isinstance(value, float) else str(value)


def prove(
    estimator: BaseEstimator,
    statement: str,
    *,
    other: BaseEstimator | None = None,
    ranges: Any = None,
    tolerance: float = 1e-3,
    max_boxes: int = 200_000,
) -> Proof:
    """Prove or refute a statement about every sample of a region.

    Parameters
    ----------
    estimator : estimator, Pipeline or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``. After a :class:`~spkm.TableEncoder` the
        features are the columns of its table, and values are not missing; behind scalers they are in the user's units.
    statement : str
        One of

        - ``"score <= 0.8 where age < 25"``: a limit of a score, a probability (``probability of yes``) or a prediction;
        - ``"prediction is yes where 20 <= age <= 30 and job in {nurse, baker}"``: the same class everywhere;
        - ``"score rises with income"`` or ``"falls with"``: a direction;
        - ``"changing sex moves probability by <= 0.05"``: two samples that differ in one feature alone;
        - ``"difference of scores <= 0.1"``: this model and ``other``.

        With ``?`` in place of the number the limit itself is sought, to ``tolerance``. Names with spaces stand in
        quotes.
    other : estimator, default=None
        Another model of the same columns, for differences.
    ranges : dict from a column to (low, high), or a table, default=None
        Ranges of the features; for a table, best the training samples, the least and largest value of each column.
        None is as far as the model distinguishes values, so that the answer holds for all of them.
    tolerance : float, default=1e-3
        Accuracy of a limit that is sought.
    max_boxes : int, default=200000
        Boxes that are bounded before the answer is "unknown".

    Returns
    -------
    proof : Proof
        The answer; ``print(proof)`` is a few lines of text.

    Notes
    -----
    Branch and bound over boxes. Similarities are convex in the squared distance, so that over a box a score lies below
    a sum of functions of single features, whose largest value is known. Bounds are widened by 1e-9 of the sum of the
    weights' sizes, far more than the rounding of floating-point numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMRegressor
    >>> from spkm.explain import prove
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(200, 2))
    >>> model = SPKMRegressor(6, random_state=0).fit(X, np.sin(X[:, 0]) + 0.1 * X[:, 1])
    >>> prove(model, "score <= 1.5 where -2 <= x0 <= 2 and -2 <= x1 <= 2").status
    'proved'
    >>> prove(model, "score <= 0.5", ranges=X).status
    'refuted'
    """
    asked = parse(statement)
    check_integer("max_boxes", max_boxes, 1)
    check_real("tolerance", tolerance, strict=True)
    pipeline = Pipeline.of(estimator)
    models = [joint_model(pipeline, "estimator")]
    if (other is not None) != (asked.kind == "difference"):
        raise ValueError("other must be given for a statement on the difference of two models, and for no other.")
    if other is not None:
        second = Pipeline.of(other)
        models.append(joint_model(second, "other"))
        _check_same_features(pipeline, second)
        if models[1].n_features != models[0].n_features or models[1].n_outputs != models[0].n_outputs:
            raise ValueError("other must be a model of the same features and outputs.")
    question = Question(asked, Table(pipeline, models, ranges), models)
    level = question.level()
    found: list[Extreme] = []
    for goal in question.goals():
        found.append(largest(goal, level, tolerance, max_boxes))
        if level is not None and found[-1].found > level:
            break
    return _answer(question, found, level, tolerance)


def _check_same_features(pipeline: Pipeline, other: Pipeline) -> None:
    """Raise ValueError if two models read other features, or what other steps make of them."""
    check_columns(fitted_part(other.named, "feature_names_in_"), pipeline.named, "other")
    encodings = pipeline.encoding, other.encoding
    parts = [
        steps.before if encoding is None else encoding.before
        for steps, encoding in zip((pipeline, other), encodings, strict=True)
    ]
    if pipeline.before is not None and other.before is not None and not _are_equal(*parts):
        raise ValueError(
            "other must have the same steps before its model as estimator, fitted on the same samples: the features of "
            "the two models are others. Fit both behind steps that are fitted once."
        )


def _are_equal(steps: object, others: object) -> bool:
    """Whether fitted steps of pipelines do the same; what cannot be compared does not."""
    try:
        return bool(steps is others or joblib.hash(steps) == joblib.hash(others))
    except (pickle.PicklingError, TypeError, AttributeError):
        return False


def _answer(question: Question, found: list[Extreme], level: float | None, tolerance: float) -> Proof:
    """Return the answer that follows from the largest values."""
    best = max(found, key=lambda state: state.found)
    bound = max(state.bound for state in found)
    strict = question.asked.strict
    if level is None:
        status = "proved" if bound - best.found <= 1.01 * tolerance else "unknown"
    elif best.found >= level if strict else best.found > level:
        status = "refuted"
    else:
        status = "proved" if (bound < level if strict else bound <= level) else "unknown"
    assert best.place is not None
    turn = -1.0 if question.turned else 1.0
    boxes = sum(state.n_boxes for state in found)
    samples = question.samples(best.place)
    return Proof(question.asked.text, status, turn * bound, turn * best.found, *samples, boxes, question.ranges())
