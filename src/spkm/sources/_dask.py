"""Dask arrays and frames: a pass is one graph of a task for each shard, wherever its worker is.

Shards are results of tasks, which Dask makes again where a worker is lost; nothing is tied to a worker. Parameters are
one node of the graph. Results are added in the order of shards, so that the number of workers does not show in a bit.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from spkm._frames import has_types, library_of
from spkm.sources._arrow import record_batch
from spkm.sources._chunks import Chunk, Each, Reader, in_floats, in_pieces
from spkm.sources._summary import Summary, merged, summary_of
from spkm.sources._threads import one_blas_thread

ADVICE = "Put a TableEncoder before the model, make_pipeline(TableEncoder(), model), or leave the column out."
GATHERED = 4  # shards that are brought here at a time, for batches and predictions


class DaskReader(Reader):
    """Shards of a Dask array or data frame.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        Samples. Sizes of chunks may be unknown.
    y, weight : Dask collection, ndarray, str or None
        Targets and weights, cut as X is; of a frame they may be names of columns.
    encoder : BatchEncoder or None
        Encoder of the columns of a frame as X; if None, columns are numbers.
    """

    keeps_features = False

    def __init__(self, X: Any, y: Any = None, weight: Any = None, encoder: Any = None) -> None:
        try:
            import dask
        except ImportError as error:
            raise ImportError("Dask collections need dask: pip install 'spkm[dask]'.") from error
        self.names: list[str] | None = None
        others: dict[str, Any] = {}
        if has_types(X):
            others = {
                part: name for part, name in (("y", y), ("weight", weight)) if isinstance(name, str | list) and name
            }
            taken = [name for value in others.values() for name in ([value] if isinstance(value, str) else value)]
            for name in taken:
                if name not in X.columns:
                    raise ValueError(f"X has no column {name!r}; it has {', '.join(map(repr, list(X.columns)[:20]))}.")
            self.names = [str(name) for name in X.columns if name not in taken] if encoder is None else None
        elif isinstance(y, str) or isinstance(weight, str):
            raise TypeError("y and sample_weight may be names of columns where X is a Dask data frame, not an array.")
        shards = _delayed(X)
        parts = [
            [None] * len(shards) if part is None or name in others else _cut_like(part, X, len(shards), argument)
            for part, name, argument in ((y, "y", "y"), (weight, "weight", "sample_weight"))
        ]
        make = dask.delayed(_shard, pure=False)
        self.encoder = encoder
        made = [make(*row, self.names, others, encoder) for row in zip(shards, *parts, strict=True)]
        # With workers of their own shards stay in memory there. Without, every pass makes them anew.
        self.client = _client()
        self.shards = made if self.client is None else list(dask.persist(*made))

    def _computed(self, *tasks: Any) -> list[Any]:
        """Return the results of tasks; an error that says what to do where the workers cannot give them."""
        import dask

        try:
            if self.client is None or self.client.status == "running":
                return list(dask.compute(*tasks))
            cause: BaseException | None = None
        except (Exception, CancelledError) as error:
            if type(error).__name__ == "KilledWorker":
                raise MemoryError(
                    "Workers of Dask died over and over while they worked on one shard, most likely for want of "
                    "memory. Make the chunks of X smaller, or give workers more memory."
                ) from error
            if self.client is None or self.client.status == "running":
                raise
            cause = error
        raise ConnectionError(
            "The Dask scheduler is gone, and shards with it. Connect a new client and make X anew; a fit with "
            "checkpoint= goes on from the last state that was written."
        ) from cause

    def mapped(self, task: Callable[[Chunk], Any], each: Each = map) -> Iterable[Any]:
        """Return ``task(shard)`` of every shard, in order: one round trip."""
        import dask

        shared = dask.delayed(task, pure=False, traverse=False)
        apply = dask.delayed(_applied, pure=False)
        return self._computed(*(apply(shared, shard) for shard in self.shards))

    def summarized(self, seed: int, of_classes: bool, n_kept: int, each: Each = map) -> Summary:
        """Return the summary of all samples, merged in pairs of neighbours."""
        import dask

        one, both = dask.delayed(summary_of, pure=False), dask.delayed(merged, pure=False)
        level = [one(shard, number, seed, of_classes, n_kept) for number, shard in enumerate(self.shards)]
        while len(level) > 1:
            pairs = [both(*level[i : i + 2], n_kept) for i in range(0, len(level) - 1, 2)]
            level = pairs + level[len(pairs) * 2 :]
        summary: Summary = self._computed(level[0])[0]
        return summary

    def chunks(self, rng: np.random.Generator | None = None) -> Iterator[Chunk]:
        """Yield all shards here, a few at a time."""
        order = np.arange(len(self.shards)) if rng is None else rng.permutation(len(self.shards))
        for start in range(0, len(order), GATHERED):
            for shard in self._computed(*(self.shards[i] for i in order[start : start + GATHERED])):
                yield from in_pieces(shard)


def _client() -> Any:
    """Return the client of the workers, or None."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _delayed(X: Any) -> list[Any]:
    """Return the parts of a collection, each of whole samples."""
    if has_types(X):
        return list(X.to_delayed())
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed().ravel())


def _cut_like(part: Any, X: Any, n_shards: int, argument: str) -> list[Any]:
    """Return the parts of targets or weights that go with those of X."""
    sizes = None if has_types(X) else X.chunks[0]
    known = sizes is not None and not np.isnan(sizes).any()
    of_dask = library_of(part) == "dask"
    if of_dask and known and not has_types(part) and part.chunks[0] != sizes and not np.isnan(part.chunks[0]).any():
        part = part.rechunk({0: sizes})
    if of_dask:
        cut = _delayed(part)
    elif known:
        cut = list(np.split(np.asarray(part), np.cumsum(np.asarray(sizes))[:-1]))
    else:
        raise TypeError(
            f"{argument} must be a Dask collection cut as X is, as the sizes of X's parts are not known; got "
            f"{type(part).__name__}."
        )
    if len(cut) != n_shards:
        raise ValueError(f"{argument} must be cut as X is, into {n_shards} parts; it has {len(cut)}.")
    return cut


def _shard(X: Any, y: Any, weight: Any, names: list[str] | None, others: dict[str, Any], encoder: Any = None) -> Chunk:
    y = X[others["y"]] if "y" in others else y
    weight = X[others["weight"]] if "weight" in others else weight
    if encoder is not None:
        X = encoder.encoded(record_batch(X, encoder.columns))
    elif names is not None:
        text = [name for name in names if not _is_number(X[name].dtype)]
        if text:
            raise ValueError(f"X must hold numbers; column {text[0]!r} holds {X[text[0]].dtype}. {ADVICE}")
        X = X[names]
    return Chunk(
        in_floats(np.asarray(X)), None if y is None else np.asarray(y), None if weight is None else np.asarray(weight)
    )


def _is_number(dtype: Any) -> bool:
    return dtype.kind in "biuf"


def _applied(task: Callable[[Chunk], Any], shard: Chunk) -> Any:
    # Values far from every basis vector underflow, and a solver's wild step may overflow: it checks for that itself.
    with np.errstate(all="ignore"), one_blas_thread():
        return task(shard)
