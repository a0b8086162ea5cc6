"""The samples of a fit: tables in memory, pairs of entities and streams are the same to all that follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from spkm._arrays import Matrix
from spkm._namespaces import Place
from spkm.core.fitted import Fitted
from spkm.core.scaling import check_domain, clipped_at_range, scaling_by
from spkm.core.targets import Real, Target
from spkm.fitting.spec import Spec
from spkm.losses import Loss
from spkm.sources import (
    ArraySource,
    Chunk,
    ChunkSource,
    PairSource,
    PairTable,
    PlacedSource,
    Preparation,
    Reader,
    Scaling,
    Source,
    Summary,
    distinct_pairs,
    distinct_rows,
    gathered_rows,
    kept_source,
    kinds_of,
    pick_rows,
    scaling_of_moments,
)

SOME = 1000  # samples, about, by which cancellation is measured


@dataclass(frozen=True)
class TableData:
    """Samples in memory: distinct ones in an order of their own.

    Parameters
    ----------
    X : ndarray, CSR or PairTable of shape (n, d)
        Samples.
    Y : ndarray of shape (n, m)
        Targets as the model learns them.
    weight : ndarray of shape (n,)
        Weights of the samples.
    target : Target
        Meaning of the targets.
    rows : ndarray of int or None
        Places of the samples in the user's table.
    place : Place or None, default=None
        Array library and device of the passes over the samples; if None, NumPy.
    independent : bool, default=True
        Whether samples are independent of one another.
    kind : type of Source, default=ArraySource
        The source that holds them.
    groups : ndarray of int of shape (n,), default=None
        Groups of the samples that folds keep together.
    """

    X: Any
    Y: np.ndarray
    weight: np.ndarray
    target: Target
    rows: np.ndarray | None = None
    place: Place | None = None
    independent: bool = True
    kind: type[ArraySource] = ArraySource
    groups: np.ndarray | None = None
    in_memory = True
    n_rows: int = field(init=False)
    n_features: int = field(init=False)
    n_outputs: int = field(init=False)
    dtype: np.dtype = field(init=False)

    def __post_init__(self) -> None:
        (n, d), m = self.X.shape, self.Y.shape[1]
        for name, value in {"n_rows": n, "n_features": d, "n_outputs": m, "dtype": self.X.dtype}.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def of(
        spec: Spec,
        X: Matrix | PairTable,
        Y: np.ndarray,
        weight: np.ndarray,
        target: Target | None = None,
        *,
        two_dimensional: bool = False,
        place: Place | None = None,
        groups: np.ndarray | None = None,
    ) -> TableData:
        """Return the data of one table; equal samples of a group become one, so that order and repeats cannot matter.

        ``Y`` are encoded targets, or real ones (n, m) if ``target`` is None: these are standardised.
        """
        rows, weight = distinct_rows(X, Y if groups is None else np.column_stack([Y, groups]), weight)
        X, Y = gathered_rows(X, Y, rows)
        if target is None:
            target = Real.of(Y if two_dimensional else Y[:, 0], weight, spec.loss, spec.fit_intercept)
            Y = target.encode(Y)
        groups = None if groups is None else groups[rows]
        return TableData(X, Y, weight, target, rows, place, groups=groups)

    @staticmethod
    def of_pairs(
        spec: Spec,
        X: PairTable,
        Y: np.ndarray,
        weight: np.ndarray,
        target: Target | None = None,
        *,
        two_dimensional: bool = False,
    ) -> TableData:
        """Return pairs of positive weight, by left entity, so that a block has few entities; ``Y`` as in :meth:`of`."""
        kept, weight = distinct_pairs(X.pairs, Y, weight)
        X, Y = X[kept].named_alone(), Y[kept]
        if target is None:
            target = Real.of(Y if two_dimensional else Y[:, 0], weight, spec.loss, spec.fit_intercept)
            Y = target.encode(Y)
        return TableData(X, Y, weight, target, independent=False, kind=PairSource)

    def part(self, rows: np.ndarray) -> TableData:
        """Return some of the samples."""
        places = None if self.rows is None else self.rows[rows]
        groups = None if self.groups is None else self.groups[rows]
        X, Y, weight = pick_rows(self.X, rows), self.Y[rows], self.weight[rows]
        return replace(self, X=X, Y=Y, weight=weight, rows=places, groups=groups)

    def relabelled(self, spec: Spec, rows: np.ndarray | None, Y: np.ndarray, target: Target) -> TableData:
        """Return some of the samples, or all, with other encoded targets."""
        some = self if rows is None else self.part(rows)
        found = TableData.of(spec, some.X, Y, some.weight, target, place=self.place, groups=some.groups)
        return replace(found, rows=None if some.rows is None else some.rows[found.rows])

    def kinds(self, loss: Loss) -> np.ndarray | None:
        """Return an integer for each sample, by which folds are even: its class or set of labels; None without one."""
        return kinds_of(self.Y) if loss.target == "signs" else None

    def source(self, spec: Spec) -> tuple[ArraySource, Scaling | None]:
        """Return the samples as a source, and its scaling; monotone features are clipped at their range."""
        check_domain(spec.terms, self.X)
        fit = partial(self.kind.fit_scaling, self.X, self.weight)
        scaling = scaling_by(spec.terms, spec.scale, self.n_features, fit)
        if spec.monotone and scaling is not None:
            scaling = clipped_at_range(scaling, self.X, [column for _, column, _ in spec.monotone])
        if self.place is not None and works_anywhere(spec):
            source: ArraySource = PlacedSource(self.X, self.Y, self.weight, scaling, place=self.place)
        else:
            source = self.kind(self.X, self.Y, self.weight, scaling)
        source.groups = self.groups
        return source, scaling

    def targets(self, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the targets that a model learns, (n, m), and the weights of the samples, (n,)."""
        return self.Y, self.weight

    def scores(self, model: Fitted, threads: int) -> np.ndarray:
        """Return the scores of a fitted model for all samples, (n, m)."""
        return np.asarray(model.scores(self.X, threads), dtype=np.float64)

    def some(self) -> Any:
        """Return some of the samples, in the user's units."""
        return self.X[:: max(1, self.n_rows // SOME)]

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the samples of the given places, dense and in the user's units."""
        samples = self.X[rows]
        return np.asarray(samples.toarray() if sparse.issparse(samples) else samples).astype(np.float64)


@dataclass(frozen=True)
class StreamData:
    """Samples that are read in chunks.

    Parameters
    ----------
    reader : object
        Yields the chunks.
    summary : Summary
        Counts, moments and a random sample of them.
    target : Target
        Meaning of the targets.
    preparation : Preparation
        How a chunk becomes a block.
    """

    reader: Reader
    summary: Summary
    target: Target
    preparation: Preparation
    rows = None
    groups = None
    independent = True
    in_memory = False

    @staticmethod
    def of_numbers(spec: Spec, reader: Reader, summary: Summary) -> StreamData:
        """Return the data of real targets."""
        if len(summary.y_mean) == 0:
            raise ValueError("y must hold numbers. For labels use SPKMClassifier.")
        ends = np.stack([summary.y_low, summary.y_high])
        spec.loss.check_target(ends)
        spec.loss.check_whole_target(ends)
        target = _stream_target(spec, summary)
        return StreamData.of_encoded(spec, reader, summary, target, target.encode)

    @staticmethod
    def of_encoded(
        spec: Spec,
        reader: Reader,
        summary: Summary,
        target: Target,
        encode: Callable[[np.ndarray], np.ndarray],
        factors: np.ndarray | None = None,
    ) -> StreamData:
        """Return the data of targets that ``encode`` makes of what a chunk holds as y.

        ``factors`` are those on the weights of each class, if there are any.
        """
        total, by_class = summary.total, None
        n = total if summary.whole else float(summary.n_rows)
        if factors is not None:
            by_class, total = (summary.labels, factors), float(factors @ summary.label_weights)
            n = total if summary.whole and np.all(factors == np.rint(factors)) else n
        scaling = _stream_scaling(spec, summary)
        prepared = Preparation(encode, scaling, summary.dtype, 1.0 / total, n, by_class)
        return StreamData(reader, summary, target, prepared)

    @property
    def n_rows(self) -> int:
        return self.summary.n_rows

    @property
    def n_features(self) -> int:
        return len(self.summary.low)

    @property
    def n_outputs(self) -> int:
        return len(self.target.mean)

    @property
    def dtype(self) -> np.dtype:
        return self.summary.dtype

    def source(self, spec: Spec) -> tuple[Source, Scaling | None]:
        """Return the samples as a source, and its scaling."""
        scaling = self.preparation.scaling
        if self._all_kept:
            return kept_source(self.summary, self.preparation), scaling
        return self._chunk_source(), scaling

    @property
    def _all_kept(self) -> bool:
        """Whether all samples are in memory."""
        return self.n_rows == len(self.summary.kept_X)

    def _chunk_source(self) -> ChunkSource:
        return ChunkSource(self.reader, self.summary, self.preparation)

    def each_chunk(self, task: Callable[[Chunk], Any], threads: int) -> list[Any]:
        """Return ``task(chunk)`` for every chunk of raw samples, in order."""
        if self._all_kept:
            return [task(Chunk(self.summary.kept_X, self.summary.kept_y, self.summary.kept_weight))]
        source = self._chunk_source()
        with source.threads(threads):
            return list(source.on_chunks(task))

    def targets(self, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the targets that a model learns, (n, m), and the weights of the samples, (n,): a pass over them."""
        parts = self.each_chunk(partial(_targets_of_chunk, self.preparation), threads)
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def scores(self, model: Fitted, threads: int) -> np.ndarray:
        """Return the scores of a fitted model for all samples, (n, m): a pass over them."""
        return np.concatenate(self.each_chunk(partial(_scores_of_chunk, model), threads))

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the table: number and names of features, or the encoder that made them."""
        known: dict[str, Any] = {"n_features_in_": self.n_features, "_tables": None}
        names, encoder = self.reader.names, self.reader.encoder
        if encoder is not None:
            known["_encoding"] = encoder.encoding
        return known if names is None else {**known, "feature_names_in_": np.array(names, dtype=object)}

    def some(self) -> Any:
        """Return some of the samples, in the user's units."""
        return self.summary.kept_X[:SOME]

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Raise TypeError: samples are read in chunks and not kept."""
        raise TypeError("samples of a stream are not kept")


#: Samples, targets and weights of a fit.
Data = TableData | StreamData


def _used(chunk: Chunk) -> Chunk:
    """Return the samples of positive weight of a chunk, with their weights."""
    if chunk.weight is None:
        return chunk._replace(weight=np.ones(len(chunk.X)))
    weight = np.asarray(chunk.weight, dtype=np.float64)
    return chunk._replace(weight=weight).cut(weight > 0)


def _targets_of_chunk(preparation: Preparation, chunk: Chunk) -> tuple[np.ndarray, np.ndarray]:
    used = _used(chunk)
    return preparation.targets(used.y), used.weight


def _scores_of_chunk(model: Fitted, chunk: Chunk) -> np.ndarray:
    X = _used(chunk).X
    return np.asarray(model.scores(X), dtype=np.float64) if len(X) else np.zeros((0, model.n_outputs))


def works_anywhere(spec: Spec) -> bool:
    """Whether kernels and loss are formulas for arrays of any library."""
    return spec.loss.anywhere and all(view.kernel.anywhere for view in spec.views)


def _stream_target(spec: Spec, summary: Summary) -> Real:
    if not spec.loss.standardize_target or spec.loss.robust:  # medians are those of the samples that are kept
        y = np.asarray(summary.kept_y, dtype=np.float64)
        return Real.of(y, summary.kept_weight, spec.loss, spec.fit_intercept)
    size = np.maximum(np.maximum(np.abs(summary.y_low), np.abs(summary.y_high)), 1e-300)
    mean, variance = summary.y_mean / size, summary.y_second / size / summary.total / size
    target = Real.of_moments(mean, variance, size, bool(spec.fit_intercept), summary.several)
    if not target.learned.all():
        raise ValueError("y must not be the same in all samples where they are read in chunks.")
    return target


def _stream_scaling(spec: Spec, summary: Summary) -> Scaling | None:
    size = np.maximum(np.abs(summary.low), np.abs(summary.high))
    fit = partial(scaling_of_moments, summary.mean, summary.second / summary.total, size)
    return scaling_by(spec.terms, spec.scale, len(summary.low), fit)
