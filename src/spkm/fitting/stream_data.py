"""Samples that are read in chunks as the data of a fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spkm._checks import generator, n_threads
from spkm.core.scaling import check_domain, columns_of_counts
from spkm.core.targets import SPREAD, Classes, Real, Target
from spkm.fitting.outcome import Outcome
from spkm.fitting.progress import Progress
from spkm.fitting.spec import Request
from spkm.fitting.strategies import fit_once
from spkm.sources import ArraySource, ChunkSource, Recipe, Scaling, Summary, kept_source, summarized

SOME = 1000  # samples by which cancellation is measured, and columns of views are found
CONSTANT = 1e-13  # deviation of a feature over its size below which it is constant, but for rounding


class KeptRows:
    """What stands for X of a stream: it knows the shape of all samples, and any slice of it is some that are kept."""

    def __init__(self, summary: Summary) -> None:
        self.rows = summary.kept_X[:SOME]
        self.shape = (summary.n_rows, len(summary.low))
        self.dtype = summary.dtype

    def __getitem__(self, key: Any) -> np.ndarray:
        return self.rows


class StreamSamples(NamedTuple):
    """Samples of a stream, with the interface of those in memory that a plain fit uses."""

    X: KeptRows
    target: Any
    reader: Any
    summary: Summary
    recipe: Recipe
    rows: None = None  # samples of a stream have no places to tell

    def source(self, request: Request) -> tuple[Any, Scaling | None]:
        """Return them as a source, and the scaling that it applies."""
        scaling = self.recipe.scaling
        if self.summary.n_rows == len(self.summary.kept_X):  # all of them are in memory
            return kept_source(self.summary, self.recipe), scaling
        kind = getattr(self.reader, "source_kind", ChunkSource)
        return kind(self.reader, self.summary, self.recipe), scaling


class StreamFit(NamedTuple):
    """The outcome of a fit of a stream, its dtype, what the estimator remembers of the stream, and its target."""

    outcome: Outcome
    dtype: np.dtype
    attributes: dict[str, Any]
    target: Target


def fit_stream(estimator: Any, reader: Any, task: str, progress: Progress) -> StreamFit:
    """Return a model of what a reader yields, joint for all classes and of all features."""
    params = estimator.get_params(deep=False) if progress.store is None else progress.store.params
    of_classes = task == "classification"
    if params["monotone"] is not None:
        raise ValueError(f"monotone needs samples in memory; got {params['monotone']!r}. Fit a sample of them.")
    seed = int(generator(params["random_state"]).integers(2**31))
    scout = ArraySource(np.zeros((1, 1)))
    with scout.threads(n_threads(params["n_jobs"])):
        summary = summarized(reader, seed, of_classes, scout)
    if summary.n_rows == 0:
        raise ValueError("sample_weight must be positive for some samples; all are zero.")
    request = Request.of(params, summary.kept_X[:SOME], task, n_classes=len(summary.labels))
    _check_plain(request, len(summary.labels) > 2)
    if request.of_counts:
        check_domain(request.terms, summary.low[None])
    progress.begin()
    samples = _class_samples(request, reader, summary) if of_classes else _real_samples(request, reader, summary)
    outcome = fit_once(request, samples, None, progress)  # type: ignore[arg-type]
    progress.end()
    progress.done()
    attributes: dict[str, Any] = {"n_features_in_": len(summary.low), "_tables": None, "_seen": summary.total}
    if reader.names is not None:
        attributes["feature_names_in_"] = np.array(reader.names, dtype=object)
    return StreamFit(outcome, summary.dtype, attributes, samples.target)


def _class_samples(request: Request, reader: Any, summary: Summary) -> StreamSamples:
    if len(summary.labels) < 2:
        raise ValueError(
            "y must hold at least two classes in samples of positive weight; got one class, "
            f"{summary.labels.tolist()[0]!r}."
        )
    target = Classes.of(summary.labels)
    factors = _class_weights(request.class_weight, summary)
    by_class = None if factors is None else (summary.labels, factors)
    total, whole = summary.total, summary.whole
    if factors is not None:
        total, whole = float(factors @ summary.label_weights), whole and bool(np.all(factors == np.rint(factors)))
    n = total if whole else summary.total if summary.whole else float(summary.n_rows)
    recipe = Recipe(target.encode, _scaling(request, summary), summary.dtype, 1.0 / total, n, by_class)
    return StreamSamples(KeptRows(summary), target, reader, summary, recipe)


def _real_samples(request: Request, reader: Any, summary: Summary) -> StreamSamples:
    if len(summary.y_mean) == 0:
        raise ValueError("y must hold numbers. For labels use SPKMClassifier.")
    request.loss.check_target(np.stack([summary.y_low, summary.y_high]))
    target = _real(request, summary)
    n = summary.total if summary.whole else float(summary.n_rows)
    recipe = Recipe(target.encode, _scaling(request, summary), summary.dtype, 1.0 / summary.total, n)
    return StreamSamples(KeptRows(summary), target, reader, summary, recipe)


def _check_plain(request: Request, many: bool) -> None:
    for asked, name in (
        (request.selects, "selection='strict'"),
        (request.is_automatic, "n_basis='auto'"),
        (request.warm_start, "warm_start=True"),
        (request.basis == "samples", "basis='samples'"),
        (many and request.multi_class != "joint", f"multi_class={request.multi_class!r}"),
    ):
        if asked:
            raise ValueError(
                f"{name} needs samples in memory. Find features or numbers of vectors on a sample of them, then fit "
                "all samples without it."
            )


def _class_weights(class_weight: Any, summary: Summary) -> np.ndarray | None:
    """Return a factor on the weights of each class, or None."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return summary.label_weights.sum() / (len(summary.labels) * summary.label_weights)
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}.")
    factors = np.array([float(class_weight.get(label, 1.0)) for label in summary.labels.tolist()])
    if not np.all(factors > 0):
        raise ValueError(f"class_weight must hold positive numbers; got {class_weight!r}.")
    return factors


def _real(request: Request, summary: Summary) -> Real:
    m, loss = len(summary.y_mean), request.loss
    y = summary.kept_y
    if not loss.standardize_target or loss.robust:  # medians are those of the samples that are kept
        return Real.of(
            np.asarray(y, dtype=np.float64),
            summary.kept_weight,
            loss.standardize_target,
            loss.robust,
            bool(request.fit_intercept),
        )
    size = np.maximum(np.maximum(np.abs(summary.y_low), np.abs(summary.y_high)), 1e-300)
    centre = summary.y_mean if request.fit_intercept else np.zeros(m)
    deviation = np.sqrt(summary.y_second / summary.total + (summary.y_mean - centre) ** 2)
    if np.any(deviation < SPREAD * size):
        raise ValueError("y must not be the same in all samples where they are read in chunks.")
    return Real(np.full(m, np.nan), centre, deviation, summary.several)


def _scaling(request: Request, summary: Summary) -> Scaling | None:
    d = len(summary.low)
    counts = columns_of_counts(request.terms, d)
    scale = request.scale
    if len(counts) == d or not (isinstance(scale, str) or scale):
        return None
    variance = summary.second / summary.total
    size = np.maximum(np.abs(summary.low), np.abs(summary.high))
    if isinstance(scale, str):
        variance, size = np.full(d, variance.mean()), np.full(d, size.max())
    deviation = np.sqrt(variance)
    deviation[deviation <= CONSTANT * size] = 1.0
    scaling = Scaling(summary.mean.astype(np.float64), deviation.astype(np.float64))
    return scaling.leaving(counts) if len(counts) else scaling
