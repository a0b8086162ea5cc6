"""Samples that do not fit in memory: whatever can be read again and again, a chunk at a time.

A *reader* yields chunks of raw samples: ``chunks()`` all of them in order, ``chunks(rng)`` in a random one as far as it
can. One pass over it makes a summary (counts, moments, ranges, labels, and a random sample that is kept), from which
follow scaling, targets and weights; a *recipe* then turns every chunk into the block that kernels and losses look at.
All of this is made of functions of a chunk, so that they can run anywhere, and results are added in the order of
chunks, so that it does not matter where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from spkm._frames import labels_of, library_of
from spkm.sources._array import SMALL, ArraySource, Block, Source, add_up, rows_per_block
from spkm.sources._arrow import record_batch
from spkm.sources._scaling import Scaling
from spkm.sources._summary import Summary, merged, summary_of

KEPT_ROWS = 20_000  # samples that are kept: as many as learn bases, strengths and relevances
CHUNK_ENTRIES = 2**18  # entries of X in a chunk: 2 MB, as some of them exist at a time
SHUFFLED_ENTRIES = 2**18  # entries of X that are shuffled together for batches


#: Maps a function over items, in order, as ``map`` does.
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Chunk(NamedTuple):
    """Some raw samples: X (n, d), what y says of them, (n,) or (n, m) or None, and weights (n,) or None for ones."""

    X: Any
    y: Any
    weight: Any

    def cut(self, part: object) -> Chunk:
        """Return some of the samples."""
        return Chunk(
            self.X[part],
            None if self.y is None else self.y[part],
            None if self.weight is None else self.weight[part],
        )


class Reader:
    """Base of all readers: a source of chunks that can be read any number of times."""

    #: Names of the features, if they have any.
    names: list[str] | None = None
    #: Encoder of the columns of a frame as numbers; None if they are numbers.
    encoder: Any = None
    #: Whether tasks run in this process, so that their results may hold functions.
    keeps_features = True

    def chunks(self, rng: np.random.Generator | None = None) -> Iterator[Chunk]:
        """Yield all chunks, in order or, as far as possible, in the order that ``rng`` draws."""
        raise NotImplementedError

    def mapped(self, task: Callable[[Chunk], Any], each: Each = map) -> Iterable[Any]:
        """Return ``task(chunk)`` of every chunk, in order; ``each`` maps a function over the chunks."""
        return each(task, self.chunks())

    def summarized(self, seed: int, of_classes: bool, n_kept: int, each: Each = map) -> Summary:
        """Return the summary of all samples of positive weight: one pass."""
        total: Summary | None = None
        for part in each(lambda item: summary_of(item[1], item[0], seed, of_classes, n_kept), enumerate(self.chunks())):
            total = part if total is None else merged(total, part, n_kept)
        if total is None:
            raise ValueError("X must hold at least one sample; its chunks are all empty.")
        return total


class IterableReader(Reader):
    """Chunks of anything that can be iterated over more than once, or of a function that returns an iterator.

    Parameters
    ----------
    chunks : iterable or callable
        Chunks (X, y), (X, y, weight) or, for predictions, X alone. A sequence can be read in random order.
    encoder : BatchEncoder or None
        Encoder of the columns of X, a frame, as numbers; if None, X holds arrays or frames of numbers.

    Attributes
    ----------
    names : list of str or None
        The columns that frames must have, in any order; those of the first one, unless they are set.
    """

    def __init__(self, chunks: Iterable[Any] | Callable[[], Iterable[Any]], encoder: Any = None) -> None:
        self.given = chunks
        self.encoder = encoder

    def chunks(self, rng: np.random.Generator | None = None) -> Iterator[Chunk]:
        """Yield all chunks, in order or in the order that ``rng`` draws, cut where they are large."""
        given = self.given() if callable(self.given) else self.given
        if rng is not None and isinstance(given, Sized) and hasattr(given, "__getitem__"):  # as any sequence has
            given = map(given.__getitem__, rng.permutation(len(given)).tolist())
        for item in given:
            parts = item if isinstance(item, tuple) else (item,)
            X = np.asarray(self._ordered(parts[0])) if self.encoder is None else self._encoded(parts[0])
            X = in_floats(X)
            if X.ndim != 2:
                raise ValueError(f"Each chunk must hold X of two dimensions, (n, d); got {X.ndim}.")
            y, weight = (None if len(parts) <= k or parts[k] is None else np.asarray(parts[k]) for k in (1, 2))
            yield from in_pieces(Chunk(X, y, weight))

    def _ordered(self, X: Any) -> Any:
        """Return a frame with its columns in the order of all; anything else as it is."""
        columns = labels_of(X)
        found = [] if columns is None else list(columns)
        if not found or not all(isinstance(name, str) for name in found):
            return X
        self.names = self.names or found
        if sorted(found) != sorted(self.names):
            raise ValueError(f"All chunks must have the columns {self.names}; one has {found}.")
        if found == self.names:
            return X
        return X.select(self.names) if library_of(X) == "pyarrow" else X[self.names]

    def _encoded(self, frame: object) -> np.ndarray:
        return np.asarray(self.encoder.encoded(record_batch(frame, self.encoder.columns)))


def in_floats(X: np.ndarray) -> np.ndarray:
    """Return an array of one of the two types that samples have, float64 unless it is float32."""
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def in_pieces(chunk: Chunk) -> Iterator[Chunk]:
    """Yield a chunk in pieces of at most :data:`CHUNK_ENTRIES` entries; none if it is empty."""
    rows = max(1, CHUNK_ENTRIES // max(1, chunk.X.shape[1]))
    for i in range(0, len(chunk.X), rows):
        yield chunk.cut(slice(i, i + rows))


def summarized(reader: Reader, seed: int, of_classes: bool, source: Source | None = None) -> Summary:
    """Return the summary of all samples of a reader, on the threads of a source if there is one."""
    return reader.summarized(seed, of_classes, KEPT_ROWS, map if source is None else source.each)


@dataclass(frozen=True)
class Preparation:
    """How a chunk becomes a block.

    Parameters
    ----------
    encode : callable
        From y to the targets that a model learns, (n, m).
    scaling : Scaling or None
        Scaling of all features.
    dtype : dtype
        Precision of the blocks.
    factor : float
        On weights, so that those of all samples sum to one.
    total : float
        Number of samples that penalties are scaled by.
    class_weights : tuple of two ndarray or None
        Labels, in rising order, and a factor on the weights of each.
    columns : ndarray or None
        The features that are looked at; None is all.
    more : tuple of callable
        Applied to the targets, one after another.
    """

    encode: Callable[[np.ndarray], np.ndarray]
    scaling: Scaling | None
    dtype: Any
    factor: float
    total: float
    class_weights: tuple[np.ndarray, np.ndarray] | None = None
    columns: np.ndarray | None = None
    more: tuple[Callable[[np.ndarray], np.ndarray], ...] = ()

    def block(self, chunk: Chunk) -> Block:
        """Return the samples of positive weight as a block."""
        weight = self.weights(chunk)
        if not np.all(weight > 0):
            kept = np.flatnonzero(weight > 0)
            chunk, weight = chunk.cut(kept), weight[kept]
        X = chunk.X.astype(self.dtype, copy=False)
        scaling = self.scaling
        if self.columns is not None:
            X, scaling = X[:, self.columns], None if scaling is None else scaling.columns(self.columns)
        Y = np.zeros((len(X), 0)) if chunk.y is None or len(X) == 0 else self.targets(chunk.y)
        w = (weight * self.factor).astype(self.dtype)[:, None]
        return Block(X if scaling is None else scaling(X), Y.astype(self.dtype, copy=False), w, {})

    def targets(self, y: np.ndarray) -> np.ndarray:
        """Return the targets that a model learns."""
        Y = self.encode(y)
        for function in self.more:
            Y = function(Y)
        return Y

    def weights(self, chunk: Chunk) -> np.ndarray:
        """Return the weights, (n,), with those of the classes."""
        weight = np.ones(len(chunk.X)) if chunk.weight is None else np.asarray(chunk.weight, dtype=np.float64)
        if self.class_weights is None:
            return weight
        labels, factors = self.class_weights
        place = np.minimum(np.searchsorted(labels, chunk.y), len(labels) - 1)
        return np.where(labels[place] == chunk.y, weight * factors[place], 0.0)


def _blocks(chunk: Chunk, recipe: Preparation, width: int) -> Iterator[Block]:
    whole = recipe.block(chunk)
    rows = rows_per_block(whole.X.shape[1], width)
    for i in range(0, len(whole.w), rows):
        cut = slice(i, i + rows)
        yield Block(whole.X[cut], whole.Y[cut], whole.w[cut], {})


def sums_of_chunk(
    chunk: Chunk, recipe: Preparation, function: Callable[..., tuple[Any, ...]], args: tuple[Any, ...], width: int
) -> list[Any]:
    """Return the sums over a chunk's blocks of the arrays that ``function`` returns; an empty list if it is empty."""
    return add_up(function(block, *args) for block in _blocks(chunk, recipe, width))


def results_of_chunk(
    chunk: Chunk, recipe: Preparation, function: Callable[..., Any], args: tuple[Any, ...], width: int
) -> list[Any]:
    """Return what ``function`` returns for each of a chunk's blocks."""
    return [function(block, *args) for block in _blocks(chunk, recipe, width)]


class ChunkSource(Source):
    """Samples of a reader.

    Parameters
    ----------
    reader : Reader
        Yields them.
    summary : Summary
        Summary of all samples.
    recipe : Preparation
        Map from a chunk to blocks.
    """

    def __init__(self, reader: Reader, summary: Summary, recipe: Preparation) -> None:
        self.reader = reader
        self.keeps_features = reader.keeps_features
        self.summary = summary
        self.recipe = recipe
        self.n_rows = summary.n_rows
        self.n_features = len(summary.low)
        self.dtype = np.dtype(recipe.dtype)
        self.total_weight = recipe.total
        self.kept = kept_source(summary, recipe)
        self.n_outputs = self.kept.n_outputs

    def reduce(self, function: Callable[..., tuple[Any, ...]], *args: Any, width: int) -> tuple[Any, ...]:
        task = partial(sums_of_chunk, recipe=self.recipe, function=function, args=args, width=width)
        return tuple(add_up(part for part in self.on_chunks(task) if part))

    def map(self, function: Callable[..., Any], *args: Any, width: int) -> Iterator[Any]:
        task = partial(results_of_chunk, recipe=self.recipe, function=function, args=args, width=width)
        yield from chain.from_iterable(self.on_chunks(task))

    def on_chunks(self, task: Callable[[Chunk], Any]) -> Iterator[Any]:
        """Yield ``task(chunk)`` for every chunk, in order."""
        return iter(self.reader.mapped(task, self.each))

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = self.summary.low, self.summary.high
        columns = slice(None) if self.recipe.columns is None else self.recipe.columns
        if self.recipe.scaling is not None:
            low, high = self.recipe.scaling(np.array([low, high]))
        return low[columns], high[columns]

    def sample(self, n_rows: int, rng: np.random.Generator) -> ArraySource:
        if n_rows < self.n_rows:
            drawn: ArraySource = next(self.samples([n_rows], rng))
            return drawn
        return self.shared(kept_source(self.reader.summarized(0, False, self.n_rows, self.each), self.recipe))

    def samples(self, sizes: Sequence[int], rng: np.random.Generator) -> Iterator[Any]:
        held = self.kept
        largest = max((size for size in sizes if size < self.n_rows), default=0)
        if largest > held.n_rows:
            held = kept_source(self.reader.summarized(int(rng.integers(2**31)), False, largest, self.each), self.recipe)
        self.shared(held)
        order = rng.permutation(held.n_rows)
        for size in sizes:
            yield self if size >= self.n_rows else held.subset(np.sort(order[:size]))

    def batches(self, size: int, n_steps: int, rng: np.random.Generator, dtype: DTypeLike) -> Iterator[Block]:
        return islice(self._all_batches(size, rng, dtype), n_steps)

    def _all_batches(self, size: int, rng: np.random.Generator, dtype: DTypeLike) -> Iterator[Block]:
        shuffle = partial(_shuffled, recipe=self.recipe, dtype=dtype)
        rest: list[np.ndarray] = []
        for parts in self.each(shuffle, self._groups(rng)):
            if len(parts[2]) == 0:
                continue
            X, Y, w = (np.concatenate(pair) for pair in zip(rest, parts, strict=True)) if rest else parts
            whole = len(w) - len(w) % size
            for start in range(0, whole, size):
                cut = slice(start, start + size)
                yield Block(X[cut], Y[cut], w[cut] / w[cut].sum(), {})
            rest = [X[whole:], Y[whole:], w[whole:]]

    def _groups(self, rng: np.random.Generator) -> Iterator[tuple[list[Chunk], np.random.Generator]]:
        """Yield neighbouring chunks of a random order, pass after pass, each group with a generator of its own."""
        while True:
            group: list[Chunk] = []
            for chunk in self.reader.chunks(rng):
                group.append(chunk)
                if sum(part.X.size for part in group) >= SHUFFLED_ENTRIES:
                    yield group, rng.spawn(1)[0]
                    group = []
            if group:
                yield group, rng.spawn(1)[0]

    def columns(self, columns: np.ndarray) -> ChunkSource:
        before = self.recipe.columns
        return self._with(replace(self.recipe, columns=columns if before is None else before[columns]))

    def encoded(self, function: Callable[[np.ndarray], np.ndarray]) -> ChunkSource:
        return self._with(replace(self.recipe, more=(*self.recipe.more, function)))

    def _with(self, recipe: Preparation) -> ChunkSource:
        other = copy(self)
        other.recipe = recipe
        other.kept = kept_source(self.summary, recipe)
        other.n_features, other.n_outputs = other.kept.n_features, other.kept.n_outputs
        return other


def kept_source(summary: Summary, recipe: Preparation) -> ArraySource:
    """Return the samples that a summary keeps, in memory."""
    chunk = Chunk(summary.kept_X, summary.kept_y, summary.kept_weight)
    weight = recipe.weights(chunk)
    kept = np.flatnonzero(weight > 0)
    chunk, weight = chunk.cut(kept), weight[kept] * (recipe.factor * recipe.total)
    X, scaling = np.ascontiguousarray(chunk.X, dtype=recipe.dtype), recipe.scaling
    if recipe.columns is not None:
        X, scaling = X[:, recipe.columns], None if scaling is None else scaling.columns(recipe.columns)
    if scaling is not None and X.size > SMALL:  # they are read over and over again
        X, scaling = scaling(X), None
    return ArraySource(X, None if chunk.y is None else recipe.targets(chunk.y), weight, scaling)


def _shuffled(
    item: tuple[list[Chunk], np.random.Generator], recipe: Preparation, dtype: DTypeLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    chunks, rng = item
    blocks = [block for block in map(recipe.block, chunks) if len(block.w)] or [recipe.block(chunks[0])]
    order = rng.permutation(sum(len(block.w) for block in blocks))
    X = np.concatenate([np.ascontiguousarray(block.X, dtype=dtype) for block in blocks])
    Y, w = (np.concatenate([block[k] for block in blocks]).astype(dtype) for k in (1, 2))
    return X[order], Y[order], w[order]
