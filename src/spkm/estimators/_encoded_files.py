"""Mixed columns of tables in files: what an encoder learns of them in one pass, and how it turns batches into numbers.

Memory does not grow with the number of samples: a median is that of values kept at random, and levels are counted by
the summary of Misra and Gries (1982), which is exact while a column has no more levels than it holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spkm._cells import is_missing, level_text
from spkm.estimators._column_plans import (
    LevelPlan,
    Plan,
    date_message,
    level_plan,
    number_plan,
    to_numbers,
)
from spkm.estimators._tables import DATES
from spkm.sources._chunks import CHUNK_ENTRIES
from spkm.sources._parquet import NUMERIC, Batches, chosen_columns, opened

KEPT_VALUES = 10_000  # of a column of numbers, for its median: a quantile between 0.48 and 0.52 but for 1 in 10,000
KEPT_LEVELS = 10_000  # counts of a column of categories; levels of a share above 1 in 10,000 cannot be lost
TEXTS = ("string", "large_string", "string_view", "dictionary")  # beginnings of the names of Arrow's types


class NumberFacts:
    """What a pass tells of a column of numbers or booleans."""

    def __init__(self, column: str, kind: str) -> None:
        self.column, self.kind = column, kind
        self.absent = 0
        self.low, self.high = np.inf, -np.inf
        self.values, self.keys = np.zeros(0), np.zeros(0)

    def add(self, array: Any, keys: np.ndarray) -> None:
        """Take the values of a batch; those of the least keys are kept."""
        numbers = to_numbers(array.to_numpy(zero_copy_only=False), self.column, self.kind == "boolean")
        there = ~np.isnan(numbers)
        self.absent += int(len(there) - there.sum())
        if not there.any():
            return
        numbers, keys = numbers[there], keys[there]
        self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))
        self.values, self.keys = np.concatenate([self.values, numbers]), np.concatenate([self.keys, keys])
        if len(self.keys) > KEPT_VALUES:
            least = np.argpartition(self.keys, KEPT_VALUES)[:KEPT_VALUES]
            self.values, self.keys = self.values[least], self.keys[least]

    def plan(self, least: int, most: int) -> tuple[Plan | None, str]:
        """Return how the column is encoded, and what is to be said about that."""
        median = float(np.median(self.values)) if len(self.values) else np.nan
        return number_plan(self.column, self.kind, self.absent, self.low, self.high, median)


class LevelFacts:
    """What a pass tells of a column of categories: counts of levels, which are never too high."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.absent = 0
        self.counts: dict[str, int] = {}
        self.n_levels = 0  # at least so many levels are there

    def add(self, array: Any, keys: np.ndarray) -> None:
        """Count the levels of a batch."""
        levels, index = coded(array)
        for level, count in zip([*levels, None], np.bincount(index, minlength=len(levels) + 1).tolist(), strict=True):
            if is_missing(level):
                self.absent += count
            elif count:
                text = level_text(level)
                self.counts[text] = self.counts.get(text, 0) + count
        self.n_levels = max(self.n_levels, len(self.counts))
        if len(self.counts) > KEPT_LEVELS:
            # Agarwal et al. 2012: all lose the largest count that has no place; it sums to at most n / KEPT_LEVELS.
            lost = sorted(self.counts.values(), reverse=True)[KEPT_LEVELS]
            self.counts = {level: count - lost for level, count in self.counts.items() if count > lost}

    def plan(self, least: int, most: int) -> tuple[Plan | None, str]:
        """Return how the column is encoded, and what is to be said about that."""
        return level_plan(self.column, self.counts, self.absent, least, most, self.n_levels)


def coded(array: Any) -> tuple[list[Any], np.ndarray]:
    """Return the different values of an Arrow array, and for each entry its place among them; missing ones are last."""
    if not str(array.type).startswith("dictionary"):
        array = array.dictionary_encode()
    levels = array.dictionary.to_pylist()
    return levels, array.indices.cast("int64").fill_null(len(levels)).to_numpy(zero_copy_only=False)


def learned_of_files(
    table: Any, features: Any, others: list[str], categorical: Any
) -> tuple[list[str], list[NumberFacts | LevelFacts], int]:
    """Return names, facts and number of samples of the columns of a table in files: one pass.

    Parameters
    ----------
    table : str, Path, sequence of them or pyarrow.dataset.Dataset
        The files.
    features : sequence of str or None
        The columns; None is all but the others.
    others : list of str
        Columns that are no features.
    categorical : callable
        From the names to the places of columns of numbers or booleans that are categories.
    """
    dataset = opened(table)
    names = chosen_columns(dataset.schema.names, others, features)
    places = categorical(names)
    facts: list[NumberFacts | LevelFacts] = []
    for j, name in enumerate(names):
        kind = kind_of_field(name, dataset.schema.field(name).type)
        as_category = kind == "category" or j in places
        facts.append(LevelFacts(name) if as_category else NumberFacts(name, kind))
    batches, rng, n = Batches(dataset, names), np.random.default_rng(0), 0
    for part in batches.parts():
        for batch in batches.of_part(part, max(1024, CHUNK_ENTRIES // len(names))):
            keys = rng.random(batch.num_rows)
            n += batch.num_rows
            for fact in facts:
                fact.add(batch.column(fact.column), keys)
    return names, facts, n


def kind_of_field(name: str, kind: Any) -> str:
    """Return "number", "boolean" or "category" for a type of Arrow; refuse what is none of them."""
    text = str(kind)
    if text.startswith(DATES):
        raise ValueError(date_message(name))
    if text.startswith(TEXTS):
        return "category"
    if text == "bool":
        return "boolean"
    if text == "null" or text.startswith(NUMERIC):
        return "number"
    raise TypeError(
        f"Column {name!r} must hold numbers, texts, categories or booleans; it holds {text}. Take such cells apart "
        "first, or leave the column out by features."
    )


class FileEncoder:
    """A fitted encoder as a reader of files wants it; chunks are dense.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.
    """

    def __init__(self, encoder: Any) -> None:
        if not hasattr(encoder, "to_plain"):
            raise TypeError(f"encoder must be a fitted TableEncoder; got {type(encoder).__name__}.")
        check_is_fitted(encoder)
        if encoder.sparse is True:
            raise ValueError(
                "Files are encoded as dense chunks: the encoder's sparse must be 'auto' or False; got True."
            )
        self.columns: list[str] = list(encoder.columns_)
        self.names: list[str] = [str(name) for name in encoder.get_feature_names_out()]
        self.plans: list[Plan | None] = list(encoder.plans_)

    def encoded(self, batch: Any) -> np.ndarray:
        """Return the features of a batch, (n, number of names)."""
        X = np.zeros((len(self.names), batch.num_rows))  # columns as rows of memory, as those of numbers alone
        first = 0
        for name, plan in zip(self.columns, self.plans, strict=True):
            if plan is None:
                continue
            last = first + len(plan.origins())
            _write(plan, batch.column(name), X[first:last].T)
            first = last
        return X.T


def _write(plan: Plan, array: Any, out: np.ndarray) -> None:
    if str(array.type).startswith(DATES):
        raise ValueError(date_message(plan.column))
    if not isinstance(plan, LevelPlan):
        plan.write(array.to_numpy(zero_copy_only=False), out)
        return
    levels, index = coded(array)
    values = np.empty(len(levels) + 1, dtype=object)  # the last one is None
    values[:-1] = levels
    plan.write_codes(plan.codes(values)[index], out)
