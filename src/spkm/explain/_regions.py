"""Regions of a table: which values its features may take, from conditions, an encoder and the range of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.explain._changes import changes_of
from spkm.explain._relax import Axis, ListAxis, NumberAxis
from spkm.explain._statements import Condition
from spkm.explain._table import Pipeline, units_of

TRUTHS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True)
class Region:
    """The values that features may take."""

    axes: list[Axis]  # one for each feature that a model reads
    row: np.ndarray  # values of all other columns, (d,)

    def axis(self, title: str) -> int | None:
        """Return the place of a feature's axis; None if no model reads it."""
        return next((k for k, axis in enumerate(self.axes) if axis.title == title), None)

    def rows(self, places: np.ndarray, axes: Sequence[int]) -> np.ndarray:
        """Return samples, (g, d), whose columns stand where the given axes are."""
        X = np.tile(self.row, (len(places), 1))
        for k in axes:
            axis = self.axes[k]
            if isinstance(axis, ListAxis):
                X[:, axis.columns] = axis.values[places[:, k].astype(int)]
            else:
                X[:, axis.column] = places[:, k]
        return X

    def told(self, place: np.ndarray, axes: Sequence[int]) -> dict[str, Any]:
        """Return the features of one place by name: numbers, or the names of levels."""
        return {
            axis.title: axis.labels[int(place[k])] if isinstance(axis, ListAxis) else float(place[k])
            for k, axis in ((k, self.axes[k]) for k in axes)
        }


class Table:
    """The columns of a fitted estimator's table, and the models that read it.

    Parameters
    ----------
    pipeline : Pipeline
        The estimator taken apart.
    models : list of FittedModel
        The models; all read the same columns.
    ranges : dict, table or None
        As in :func:`prove`.
    """

    def __init__(self, pipeline: Pipeline, models: list[FittedModel], ranges: Any) -> None:
        self.models, self.names, self.encoding = models, pipeline.names, pipeline.encoding
        self.changes = changes_of(pipeline, models, np.zeros((1, models[0].n_features)), ranges, linked=())

    def region(self, conditions: Sequence[Condition]) -> Region:
        """Return the region in which all conditions hold."""
        for condition in conditions:
            self.columns(condition.name)
        read = set(np.concatenate([model.features_read() for model in self.models]).tolist())
        axes: list[Axis] = []
        for title, columns in self.changes.parts.items():
            own = [condition for condition in conditions if condition.name == title]
            if read & set(columns.tolist()):
                make = self._list if title in self.changes.categories else self._number
                axes.append(make(title, columns, own))
        return Region(axes, np.zeros(self.models[0].n_features))

    def columns(self, title: str) -> np.ndarray:
        """Return the model's columns of a feature; ValueError if there is none of that name."""
        if title not in self.changes.parts:
            known = ", ".join(list(self.changes.parts)[:12])
            raise ValueError(f"statement names a feature that the model does not have: {title!r}. It has {known}.")
        return self.changes.parts[title]

    def _list(self, title: str, columns: np.ndarray, conditions: list[Condition]) -> ListAxis:
        kept = np.eye(len(columns))
        labels = [self.names[c] for c in columns]
        if self.encoding is not None:
            plan = self.encoding.plan(title)
            origins = [origin for origin in plan.origins() if origin.kind != "missing"]
            labels = ["(other)" if origin.kind == "other" else str(origin.level) for origin in origins]
            places = np.array(self.encoding.places(title))
            kept = np.eye(len(plan.origins()))[: len(origins)][:, places >= 0]
        wanted = list(range(len(labels)))
        for condition in conditions:
            if condition.levels is None:
                raise ValueError(f"statement compares {title!r} with a number, but it is a category. Use = or in {{}}.")
            unknown = [level for level in condition.levels if level not in labels]
            if unknown:
                raise ValueError(f"statement has levels that {title!r} does not have: {unknown}. It has {labels[:20]}.")
            wanted = [k for k in wanted if labels[k] in condition.levels]
        if not wanted:
            raise ValueError(f"statement leaves no level of {title!r}.")
        return ListAxis(title, columns, kept[wanted], tuple(labels[k] for k in wanted))

    def _number(self, title: str, columns: np.ndarray, conditions: list[Condition]) -> NumberAxis:
        column = int(columns[0])
        least, most = self._limits(title, column)
        low, high = -np.inf, np.inf
        for condition in conditions:
            if condition.levels is not None:
                if len(condition.levels) > 1:
                    raise ValueError(f"statement lists values of the number {title!r}. Give limits: 1 <= {title} <= 2.")
                value = _number(title, condition.levels[0])
                condition = Condition(title, value, value)
            low, high = max(low, condition.low), min(high, condition.high)
        whole = column in self.changes.whole
        if low > high or (whole and np.ceil(low) > np.floor(high)):
            raise ValueError(f"statement leaves no value of {title!r}: at least {low:g} and at most {high:g}.")
        if low > most or high < least:
            if column in self.changes.limits:
                raise ValueError(f"statement leaves no value of {title!r}: ranges limit it to {least:g} to {most:g}.")
            # Beyond what the model distinguishes one value is like another.
            low = high = (np.ceil(low) if whole else low) if low > most else (np.floor(high) if whole else high)
        else:
            low, high = max(low, least), min(high, most)
        if whole and np.ceil(low) > np.floor(high):
            low = high = np.rint(0.5 * (low + high))
        elif whole:
            low, high = np.ceil(low), np.floor(high)
        return NumberAxis(title, column, float(low), float(high), whole)

    def _limits(self, title: str, column: int) -> tuple[float, float]:
        """Return the range of a number: the given one, or as far as the models distinguish values."""
        if column in self.changes.limits:
            return self.changes.limits[column]
        ends = []
        for model in self.models:
            if column in model.features:
                center, scale, least, most = units_of(model, np.searchsorted(model.features, column))
                ends += [center + least * scale, center + most * scale]
        low, high = min(ends), max(ends)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"ranges must hold limits for {title!r}, which the model does not clip.")
        return low, high


def _number(title: str, value: str) -> float:
    if value.lower() in TRUTHS:
        return TRUTHS[value.lower()]
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"statement compares the number {title!r} with {value!r}.") from None
