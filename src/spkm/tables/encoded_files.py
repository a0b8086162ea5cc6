"""Mixed columns of tables that are read in chunks: what an encoder learns of them in one pass, and how it turns batches
into numbers.

Memory does not grow with the number of samples: a median is that of values kept at random, and levels are counted by
the summary of Misra and Gries (1982), which is exact while a column has no more levels than it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spkm._cells import cell_list, is_missing, level_text
from spkm._frames import holds_frames, is_dask_frame, is_lazy_frame
from spkm.sources._arrow import column_names, frames_in, record_batch
from spkm.sources._chunks import CHUNK_ENTRIES
from spkm.sources._parquet import NUMERIC, Batches, chosen_columns, frames_of_lazy, opened
from spkm.tables.columns import LevelPlan, Plan, date_message, level_plan, number_plan, to_numbers
from spkm.tables.encoded import Encoding
from spkm.tables.links import whole_columns
from spkm.tables.read import DATES

KEPT_VALUES = 10_000  # of a column of numbers, for its median: a quantile between 0.48 and 0.52 but for 1 in 10,000
KEPT_LEVELS = 10_000  # counts of a column of categories; levels of a share above 1 in 10,000 cannot be lost
TEXTS = ("string", "large_string", "string_view", "dictionary")  # beginnings of the names of Arrow's types


class NumberFacts:
    """Facts from one pass about a column of numbers or booleans."""

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
        self._keep(numbers[there], keys[there], float(numbers[there].min()), float(numbers[there].max()))

    def merge(self, other: NumberFacts) -> None:
        """Add the counts of another pass over other samples."""
        self.absent += other.absent
        self._keep(other.values, other.keys, other.low, other.high)

    def _keep(self, values: np.ndarray, keys: np.ndarray, low: float, high: float) -> None:
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.values, self.keys = np.concatenate([self.values, values]), np.concatenate([self.keys, keys])
        if len(self.keys) > KEPT_VALUES:
            least = np.argpartition(self.keys, KEPT_VALUES)[:KEPT_VALUES]
            self.values, self.keys = self.values[least], self.keys[least]

    def plan(self, least: int, most: int) -> tuple[Plan | None, str]:
        """Return how the column is encoded, and the note on it."""
        median = float(np.median(self.values)) if len(self.values) else np.nan
        return number_plan(self.column, self.kind, self.absent, self.low, self.high, median)


class LevelFacts:
    """Facts from one pass about a column of categories: counts of levels, which are never too high."""

    def __init__(self, column: str, kind: str = "category") -> None:
        self.column, self.kind = column, kind
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
        self._trim(0)

    def merge(self, other: LevelFacts) -> None:
        """Add the counts of another pass over other samples."""
        self.absent += other.absent
        for text, count in other.counts.items():
            self.counts[text] = self.counts.get(text, 0) + count
        self._trim(other.n_levels)

    def _trim(self, n_levels: int) -> None:
        self.n_levels = max(self.n_levels, n_levels, len(self.counts))
        if len(self.counts) > KEPT_LEVELS:
            # Agarwal et al. 2012: all lose the largest count that has no place; it sums to at most n / KEPT_LEVELS.
            lost = sorted(self.counts.values(), reverse=True)[KEPT_LEVELS]
            self.counts = {level: count - lost for level, count in self.counts.items() if count > lost}

    def plan(self, least: int, most: int) -> tuple[Plan | None, str]:
        """Return how the column is encoded, and the note on it."""
        return level_plan(self.column, self.counts, self.absent, least, most, self.n_levels)


def coded(array: Any) -> tuple[list[Any], np.ndarray]:
    """Return the different values of an Arrow array, and for each entry its place among them; missing ones are last."""
    if not str(array.type).startswith("dictionary"):
        array = array.dictionary_encode()
    values = array.dictionary
    single = str(values.type) == "float"  # of single precision, as Arrow names it
    levels = cell_list(values.to_numpy(zero_copy_only=False)) if single else values.to_pylist()
    return levels, array.indices.cast("int64").fill_null(len(levels)).to_numpy(zero_copy_only=False)


class TableFacts:
    """Facts from one pass about all columns.

    Parameters
    ----------
    names : list of str
        The columns.
    categories : container of int
        Places of columns of numbers or booleans that are categories.
    """

    def __init__(self, names: list[str], categories: Any) -> None:
        self.names, self.categories = names, categories
        self.n = 0
        self.facts: list[NumberFacts | LevelFacts | None] = [None] * len(names)
        self.untold = [0] * len(names)  # missing cells of batches without a type of their column

    def add(self, batch: Any, rng: np.random.Generator) -> None:
        """Take a record batch."""
        keys = rng.random(batch.num_rows)
        self.n += batch.num_rows
        for j, name in enumerate(self.names):
            array = batch.column(name)
            if str(array.type) == "null":
                self.untold[j] += len(array)
                continue
            kind = kind_of_field(name, array.type)
            made = LevelFacts(name, kind) if kind == "category" or j in self.categories else NumberFacts(name, kind)
            self._known(j, made).add(array, keys)

    def merge(self, other: TableFacts) -> None:
        """Add the counts of another pass over other samples."""
        self.n += other.n
        self.untold = [a + b for a, b in zip(self.untold, other.untold, strict=True)]
        for j, fact in enumerate(other.facts):
            if fact is not None:
                known = self._known(j, fact)
                if known is not fact:
                    known.merge(fact)  # type: ignore[arg-type]

    def _known(self, j: int, made: NumberFacts | LevelFacts) -> NumberFacts | LevelFacts:
        """Return what is known of a column; ``made``, from now on, if that is nothing."""
        known = self.facts[j]
        if known is None:
            self.facts[j] = known = made
        elif known.kind != made.kind:
            raise ValueError(
                f"Column {made.column!r} must hold the same in all chunks; it holds {known.kind} in one and "
                f"{made.kind} in another."
            )
        return known

    def whole(self) -> list[str]:
        """Return the columns of numbers whose kept values are all whole."""
        numbers = [fact for fact in self.facts if isinstance(fact, NumberFacts) and fact.kind == "number"]
        return whole_columns({fact.column: fact.values for fact in numbers})

    def plans(self, least: int, most: int) -> list[tuple[Plan | None, str]]:
        """Return, for each column, how it is encoded, and the note on it."""
        found = []
        for name, fact, untold in zip(self.names, self.facts, self.untold, strict=True):
            fact = NumberFacts(name, "number") if fact is None else fact
            fact.absent += untold
            found.append(fact.plan(least, most))
        return found


def learned_of(table: Any, features: Any, others: list[str], categorical: Any) -> TableFacts:
    """Return the facts that one pass finds in a table that is read in chunks.

    Parameters
    ----------
    table : files, LazyFrame, Dask data frame, or chunks of frames
        As :class:`~spkm.FileTable` takes it.
    features : sequence of str or None
        The columns; None is all but the others.
    others : list of str
        Columns that are no features.
    categorical : callable
        From the names to the places of columns of numbers or booleans that are categories.
    """
    if is_dask_frame(table):
        return _learned_of_shards(table, features, others, categorical)
    facts: TableFacts | None = None
    rng = np.random.default_rng(0)
    for names, batch in _named_batches(table, features, others):
        facts = TableFacts(names, categorical(names)) if facts is None else facts
        facts.add(batch, rng)
    if facts is None:
        raise ValueError("X must have at least 2 samples; got 0.")
    return facts


def _named_batches(table: Any, features: Any, others: list[str]) -> Iterator[tuple[list[str], Any]]:
    """Yield the names of the features, always the same, with each record batch of a table."""
    if is_lazy_frame(table):
        names = chosen_columns(table.collect_schema().names(), others, features)
        for frame in frames_of_lazy(table.select(names), max(1024, CHUNK_ENTRIES // len(names))):
            yield names, record_batch(frame, names)
    elif holds_frames(table):
        names = []
        for frame in frames_in(table):
            names = names or chosen_columns(column_names(frame), others, features)
            yield names, record_batch(frame, names)
    else:
        dataset = opened(table)
        names = chosen_columns(dataset.schema.names, others, features)
        batches = Batches(dataset, names)
        for part in batches.parts():
            for batch in batches.of_part(part, max(1024, CHUNK_ENTRIES // len(names))):
                yield names, batch


def _learned_of_shards(frame: Any, features: Any, others: list[str], categorical: Any) -> TableFacts:
    """Return the same of a data frame of Dask: a task for each shard, wherever it is."""
    import dask

    names = chosen_columns([str(name) for name in frame.columns], others, features)
    learn = dask.delayed(_facts_of_shard, pure=False)
    shards = frame[names].to_delayed()
    facts, *more = dask.compute(*(learn(shard, names, categorical(names), k) for k, shard in enumerate(shards)))
    for other in more:
        facts.merge(other)
    return facts


def _facts_of_shard(frame: object, names: list[str], categories: object, number: int) -> TableFacts:
    facts = TableFacts(names, categories)
    facts.add(record_batch(frame, names), np.random.default_rng([0, number]))
    return facts


def kind_of_field(name: str, kind: object) -> str:
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
    """A fitted encoder as a reader of chunks wants it; what comes out is dense.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.
    """

    def __init__(self, encoder: Any) -> None:
        from spkm.tables.encoder import TableEncoder  # which reads files by this module

        if not isinstance(encoder, TableEncoder):
            raise TypeError(f"encoder must be a fitted TableEncoder; got {type(encoder).__name__}.")
        check_is_fitted(encoder)
        if encoder.sparse is True:
            raise ValueError(
                "Tables are encoded as dense chunks: the encoder's sparse must be 'auto' or False; got True."
            )
        self.columns: list[str] = list(encoder.columns_)
        self.names: list[str] = [str(name) for name in encoder.get_feature_names_out()]
        self.plans: list[Plan | None] = list(encoder.plans_)
        self.encoding = Encoding(encoder, np.arange(len(self.names)))

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
