"""Samples whose passes are done by another library than NumPy, and on its device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from spkm._arrays import Matrix
from spkm._namespaces import Place, on_host, works_anywhere
from spkm.sources._array import FETCHED, ArraySource, Source
from spkm.sources._pairs import PairSource, PairTable
from spkm.sources._scaling import Scaling

ENTRIES = 2**22  # of a sample and what is computed from it, in a block: 32 MB, of which several exist at a time


class PlacedBlock(NamedTuple):
    """A block as :class:`spkm.sources.Block`, of arrays of another library."""

    X: Any
    Y: Any
    w: Any
    cache: dict[Any, Any]
    place: Place
    dtype: np.dtype

    def columns(self, columns: np.ndarray | None) -> tuple[Any, None]:
        """Return some features, or all (None), and None: samples are in order."""
        if columns is None:
            return self.X, None
        return self.place.xp.take(self.X, self.place.array(np.asarray(columns, dtype=np.int64)), axis=1), None


class _Placed(Source):
    """The same samples in another place."""

    def __init__(self, samples: ArraySource, place: Place) -> None:
        self.place = place
        self.n_rows, self.n_features, self.dtype = samples.n_rows, samples.n_features, samples.dtype
        self.X, self.Y, self.w = (place.array(np.ascontiguousarray(part)) for part in (samples.X, samples.Y, samples.w))
        self.scaling = samples.scaling and _PlacedScaling(samples.scaling, place, self.dtype)

    def pieces(self, width: int) -> Sequence[slice]:
        size = max(ENTRIES // (self.n_features + 3 * width), 64)
        return [slice(i, min(i + size, self.n_rows)) for i in range(0, self.n_rows, size)]

    def load(self, piece: slice) -> Any:
        X = self.X[piece, :]
        X = X if self.scaling is None else self.scaling(X)
        return PlacedBlock(X, self.Y[piece, :], self.w[piece, :], {}, self.place, self.dtype)

    def taken(self, rows: np.ndarray, dtype: DTypeLike) -> tuple[Any, Any, Any]:
        """Return X, Y and w of the given samples, in the given precision."""
        xp = self.place.xp
        index, kind = self.place.array(rows.astype(np.int64)), getattr(xp, np.dtype(dtype).name)
        X, Y, w = (xp.take(part, index, axis=0) for part in (self.X, self.Y, self.w))
        X = X if self.scaling is None else self.scaling(X)
        return xp.astype(X, kind), xp.astype(Y, kind), xp.astype(w / xp.sum(w), kind)


class _PlacedScaling:
    """A scaling whose numbers are in another place."""

    def __init__(self, scaling: Scaling, place: Place, dtype: np.dtype) -> None:
        parts = scaling.center, scaling.scale, scaling.middle - scaling.clip, scaling.middle + scaling.clip
        self.center, self.scale, self.low, self.high = (place.array(part.astype(dtype)) for part in parts)
        self.xp = place.xp

    def __call__(self, X: Matrix) -> Any:
        return self.xp.minimum(self.xp.maximum((X - self.center) / self.scale, self.low), self.high)


def source_of(X: Any, scaling: Scaling | None, place: Place | None) -> ArraySource:
    """Return samples without targets as a source, for predictions."""
    if place is not None:
        return PlacedSource(X, scaling=scaling, place=place)
    return (PairSource if isinstance(X, PairTable) else ArraySource)(X, scaling=scaling)


class PlacedSource(ArraySource):
    """Samples of an array whose passes are done elsewhere.

    Functions that are marked by :func:`anywhere` see blocks of the other library, and so do steps on
    mini-batches. All others have NumPy's.

    Parameters
    ----------
    X, Y, weight, scaling
        As in :class:`ArraySource`.
    place : Place
        Library and device of the passes.
    """

    keeps_features = False

    def __init__(
        self,
        X: Any,
        Y: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        scaling: Scaling | None = None,
        *,
        place: Place,
    ) -> None:
        super().__init__(X, Y, weight, scaling)
        self.place = place
        self._placed: _Placed | None = None

    @property
    def placed(self) -> _Placed:
        """The samples in the other place, made when first asked for."""
        if self._placed is None:
            self._placed = _Placed(self, self.place)
        return self._placed

    def reduce(self, function: Callable[..., tuple[Any, ...]], *args: Any, width: int) -> tuple[Any, ...]:
        reduce = self.placed.reduce if works_anywhere(function) else super().reduce
        return reduce(function, *args, width=width)

    def map(self, function: Callable[..., Any], *args: Any, width: int) -> Iterator[Any]:
        if not works_anywhere(function):
            return super().map(function, *args, width=width)
        return map(on_host, self.placed.map(function, *args, width=width))

    def batches(self, size: int, n_steps: int, rng: np.random.Generator, dtype: DTypeLike) -> Iterator[Any]:
        # Several are taken at once, as in memory: the same ones, from the same seed.
        batches = self._batch_rows(size, n_steps, rng)
        together = max(1, FETCHED // (size * self.n_features))
        for group in iter(lambda: list(islice(batches, together)), []):
            X, Y, w = self.placed.taken(np.concatenate(group), dtype)
            for start in range(0, size * len(group), size):
                cut = slice(start, start + size)
                weight = w[cut, :]
                weight = weight / self.place.xp.sum(weight)
                yield PlacedBlock(X[cut, :], Y[cut, :], weight, {}, self.place, np.dtype(dtype))

    @contextmanager
    def threads(self, n_threads: int) -> Iterator[None]:
        """Do nothing: threads are the other library's own."""
        yield

    def encoded(self, function: Callable[[np.ndarray], np.ndarray]) -> ArraySource:
        other = super().encoded(function)
        other._placed = None  # type: ignore[attr-defined]
        return other

    def _like(self, X: Matrix, Y: np.ndarray, weight: np.ndarray, scaling: Scaling | None) -> ArraySource:
        return PlacedSource(X, Y, weight, scaling, place=self.place)
