"""Ordered classes: scores and thresholds, fitted in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spkm._arrays import TableLike
from spkm.core.targets import Ordered
from spkm.fitting.data import StreamData, TableData
from spkm.fitting.outcome import Outcome
from spkm.fitting.progress import Progress
from spkm.fitting.reading import stream_summary, table_spec
from spkm.fitting.spec import Spec
from spkm.fitting.strategies import strategy_for
from spkm.losses import Ordinal, best_thresholds, first_thresholds
from spkm.sources import Reader, Summary
from spkm.tables.read import Table

# A score that explains half of what can be explained spreads thresholds about twice as far as a constant one.
FIRST_SPREAD = 2.0
ROUNDS = 12  # of scores and thresholds in turn, at the most
ENOUGH = 1e-3  # largest change of a threshold at which the turns end


def ordered_table(
    params: Mapping[str, Any], X: TableLike, table: Table, labels: np.ndarray, code: np.ndarray
) -> tuple[Spec, TableData]:
    """Return parameters and data of samples in memory with codes of ordered labels, (n,)."""
    share = np.bincount(code, table.weight, len(labels))
    loss = _first_loss(share)
    spec = table_spec({**params, "loss": loss, "fit_intercept": True}, X, table, of_classes=False)
    Y, target = code[:, None].astype(np.float64), Ordered.of(labels, loss)
    return spec, TableData.of(spec, table.X, Y, table.weight, target, place=table.place)


def summarized_stream(params: Mapping[str, Any], reader: Reader) -> tuple[Spec, Summary]:
    """Return parameters and the summary, labels among it, of samples that are read in chunks."""
    params = {**params, "loss": Ordinal(), "fit_intercept": True}
    return stream_summary(params, reader, of_classes=False, with_labels=True)


def ordered_stream(
    spec: Spec, reader: Reader, summary: Summary, labels: np.ndarray, share: np.ndarray
) -> tuple[Spec, StreamData]:
    """Return parameters and data of chunks with ordered labels, whose weights are ``share``."""
    loss = _first_loss(share)
    target = Ordered.of(labels, loss)
    return replace(spec, loss=loss), StreamData.of_encoded(spec, reader, summary, target, target.encode)


def _first_loss(share: np.ndarray) -> Ordinal:
    return Ordinal(tuple(first_thresholds(share / share.sum(), FIRST_SPREAD).tolist()))


def fitted_in_turns(
    spec: Spec, data: TableData | StreamData, labels: np.ndarray, progress: Progress
) -> tuple[Outcome, int]:
    """Return the fit at which scores and thresholds suit each other, and the number of turns.

    The second turn begins anew, as the first thresholds were a guess that bandwidths and strength were chosen with; the
    others go on from the one before. A search for features is made twice only.
    """
    Y, weight = data.targets(spec.threads)
    code = Y[:, 0].astype(int)
    previous, turn = None, 0
    while True:
        turn += 1
        outcome = strategy_for(spec, data)(spec, data, previous, progress)
        old = np.asarray(spec.loss.thresholds)
        new = best_thresholds(code, data.scores(outcome.model, spec.threads)[:, 0], weight, old)
        loss = Ordinal(tuple(new.tolist()))
        spec, data = replace(spec, loss=loss), replace(data, target=Ordered.of(labels, loss))
        outcome = replace(outcome, model=replace(outcome.model, loss=loss, target=data.target))
        near = np.max(np.abs(new - old)) <= ENOUGH * max(1.0, float(np.ptp(new)))
        if outcome.model.interrupted or turn == ROUNDS or (turn > 1 and (spec.is_searched or near)):
            return outcome, turn
        previous = outcome.model if turn > 1 else None
