"""Censored times: scores and baseline hazard, fitted in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from spkm._namespaces import Place
from spkm.core.fitted import Fitted
from spkm.core.targets import Real
from spkm.fitting.data import StreamData, TableData
from spkm.fitting.outcome import Outcome
from spkm.fitting.progress import Progress
from spkm.fitting.reading import stream_summary
from spkm.fitting.spec import Spec
from spkm.fitting.strategies import strategy_for
from spkm.losses import Baseline, Times, Weibull
from spkm.sources import Chunk, Reader, distinct_rows, gathered_rows
from spkm.tables.read import Table

ROUNDS = 10  # of scores and baseline in turn, at the most
ENOUGH = 1e-3  # mean change of scores, over their deviation, at which the turns end

TimesOf = Callable[[Any], Times]
AnyBaseline = Baseline | Weibull
#: From times, scores and weights of samples to their baseline.
BaselineOf = Callable[[Times, np.ndarray, np.ndarray], AnyBaseline]


@dataclass(frozen=True)
class CensoredTable:
    """Samples in memory: distinct ones in an order of their own, as in every fit.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Samples.
    times : Times
        Their times.
    weight : ndarray of shape (n,)
        Sums of the weights of equal samples; ``times`` has their number.
    rows : ndarray of int of shape (n,)
        Places in the user's table.
    place : Place or None
        Array library and device of the passes over the samples; if None, NumPy.
    """

    X: Any
    times: Times
    weight: np.ndarray
    rows: np.ndarray
    place: Place | None

    @staticmethod
    def of(table: Table, times: Times) -> CensoredTable:
        """Return the samples of a table; a sample of weight two is the same as the sample twice."""
        Y = np.column_stack([part for part in times[:3] if part is not None]).astype(np.float64)
        rows, weight = distinct_rows(table.X, Y, table.weight)
        _, copies = distinct_rows(table.X, Y, (table.weight > 0).astype(np.float64))
        X, _ = gathered_rows(table.X, Y, rows)
        return CensoredTable(X, times.part(rows)._replace(copies=copies), weight, rows, table.place)

    def data(self, spec: Spec, baseline: AnyBaseline) -> TableData:
        """Return the data of a fit with a known baseline."""
        data = TableData.of(spec, self.X, _targets(baseline, self.times), self.weight, place=self.place)
        return replace(data, rows=self.rows[data.rows])

    def scores(self, model: Fitted) -> np.ndarray:
        """Return the scores of a model, (n,)."""
        return np.asarray(model.scores(self.X)[:, 0], dtype=np.float64)


@dataclass(frozen=True)
class CensoredStream:
    """Samples that are read in chunks: their times, weights and scores, three numbers a sample, are kept."""

    stream: StreamData
    times: Times
    weight: np.ndarray
    threads: int
    times_of: TimesOf

    @staticmethod
    def of(params: Mapping[str, Any], reader: Reader, times_of: TimesOf) -> tuple[Spec, CensoredStream]:
        """Return parameters and samples, after two passes; ``times_of`` checks what a chunk holds as y."""
        spec, summary = stream_summary(params, reader, of_classes=False)
        nobody = Baseline(np.zeros(1), np.zeros(1), np.zeros(1))
        target = Real(np.full(1, np.nan), np.zeros(1), np.ones(1))
        stream = StreamData.of_encoded(spec, reader, summary, target, partial(_encoded, nobody, times_of))
        parts = stream.each_chunk(partial(_held, times_of), spec.threads)
        times = Times(*(_joined(column) for column in zip(*(part[0] for part in parts), strict=True)))
        return spec, CensoredStream(stream, times, np.concatenate([part[1] for part in parts]), spec.threads, times_of)

    def data(self, spec: Spec, baseline: AnyBaseline) -> StreamData:
        """Return the data of a fit with a known baseline."""
        prepared = replace(self.stream.preparation, encode=partial(_encoded, baseline, self.times_of))
        return replace(self.stream, preparation=prepared)

    def scores(self, model: Fitted) -> np.ndarray:
        """Return the scores of a model, (n,)."""
        return self.stream.scores(model, self.threads)[:, 0]


#: Samples with censored times.
CensoredSamples = CensoredTable | CensoredStream


def _joined(parts: tuple[Any, ...]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


def _encoded(baseline: AnyBaseline, times_of: TimesOf, y: np.ndarray) -> np.ndarray:
    return _targets(baseline, times_of(y))


def _held(times_of: TimesOf, chunk: Chunk) -> tuple[Times, np.ndarray]:
    """Return times and weights of the samples of positive weight of a chunk."""
    if chunk.y is None:
        raise ValueError("y must hold events and times in every chunk; one has none.")
    times = times_of(chunk.y)
    weight = np.ones(len(chunk.X)) if chunk.weight is None else np.asarray(chunk.weight, dtype=np.float64)
    used = weight > 0
    return times.part(used), weight[used]


def _targets(baseline: AnyBaseline, times: Times) -> np.ndarray:
    """Return what the loss learns, (n, 1): hazards with 40 bits, as the order of samples must not show in them."""
    mantissa, exponent = np.frexp(baseline.of_samples(times))
    own = np.ldexp(np.round(mantissa * 2.0**40) / 2.0**40, exponent)
    return np.asarray(np.where(times.event, own, -own)[:, None])


class Turns(NamedTuple):
    """The end of the turns: the fit, its baseline, and how many there were."""

    outcome: Outcome
    baseline: AnyBaseline
    n_rounds: int


def fitted_in_turns(spec: Spec, samples: CensoredSamples, baseline_of: BaselineOf, progress: Progress) -> Turns:
    """Return the fit at which scores and baseline suit each other.

    The second turn begins anew, as the first had a baseline without scores; later ones go on from the one before. A
    search for features is made twice only.
    """
    weight = samples.weight
    if not np.any(samples.times.event & (weight > 0)):
        raise ValueError("y must hold at least one event in samples of positive weight; all times are censored.")
    risk, previous, turn = np.zeros(len(weight)), None, 0
    while True:
        turn += 1
        data = samples.data(spec, baseline_of(samples.times, risk, weight))
        outcome = strategy_for(spec, data)(spec, data, previous, progress)
        new = samples.scores(outcome.model)
        mean = float(new @ weight / weight.sum())
        outcome, new = _shifted(outcome, mean), new - mean
        change = float(np.abs(new - risk) @ weight / weight.sum())
        spread = float(np.sqrt(new**2 @ weight / weight.sum()))
        risk = new
        near = change <= ENOUGH * max(spread, 0.1) or spec.is_searched
        if outcome.model.interrupted or turn == ROUNDS or (turn > 1 and near):
            return Turns(outcome, baseline_of(samples.times, risk, weight), turn)
        previous = outcome.model if turn > 1 else None


def _shifted(outcome: Outcome, mean: float) -> Outcome:
    """Return the outcome with scores of mean zero: the baseline takes any constant."""
    model, theta = outcome.model.model, outcome.model.theta.copy()
    model.unpack(theta).intercept[...] -= mean
    return replace(outcome, model=replace(outcome.model, theta=theta))
