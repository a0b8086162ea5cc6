"""Facts of a report on ordered classes and on censored times alone."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from spkm.explain._table import basis_labels
from spkm.inspection._censored import (
    brier_scores,
    concordance_among,
    entered_late,
    judged_times,
    kaplan_meier,
    survival_calibration,
)
from spkm.inspection._intervals import LEVEL_TEXT
from spkm.inspection._reading import Reading
from spkm.inspection._report._quality import Metric, metric_of_mean, note_of, resampled
from spkm.inspection._report._samples import Samples, rounded
from spkm.inspection._targets import vectors_as_samples
from spkm.losses import Times

POINTS = 60  # of a curve
MOST_VECTORS = 10  # whose curves are drawn
DECIMALS = 4  # of probabilities
MOST_SCORES = 100  # samples of a class on the score axis


def times_as_texts(times: Times, rows: np.ndarray) -> list[str]:
    """Return times as medicine writes them: with a plus if they are censored."""
    return [f"{times.time[i]:.6g}{'' if times.event[i] else '+'}" for i in rows]


def survival_quality(samples: Samples, seed: int) -> dict[str, Any]:
    """Return concordance, Brier score and calibration of survival curves; no Brier score if samples entered late."""
    times, model = samples.times, samples.reading.estimator
    assert times is not None
    n = len(times.time)
    risk = np.asarray(samples.scores[:, 0], dtype=np.float64)
    quartiles = judged_times(times, 3)
    survival = model.survival_of_scores(risk, quartiles)
    groups = [survival_calibration(times, survival[:, k], float(t)) for k, t in enumerate(quartiles)]
    index: Metric = partial(concordance_among, times, risk)
    found: dict[str, Any] = {"n": n, "metrics": [resampled("concordance", index, n, seed, "higher")]}
    if not entered_late(times):
        at = judged_times(times)
        own = brier_scores(times, model.survival_of_scores(risk, at), at).mean(axis=1)
        one = np.tile(kaplan_meier(times.time, times.event).at(at), (n, 1))
        baseline = float(brier_scores(times, one, at).mean())
        found["metrics"].append(metric_of_mean("Brier score", own, seed, "lower"))
        name = "Brier score of one curve for all samples (Kaplan-Meier)"
        found["baseline"] = {"name": name, "value": rounded(baseline)}
    return found | {
        "note": note_of(n),
        "survival_calibration": [
            {"time": rounded(t), "bins": [rounded(row) for row in np.column_stack(one)]}
            for t, one in zip(quartiles, groups, strict=True)
        ],
    }


def survival_sentence(quality: dict[str, Any]) -> str:
    """Return how good survival curves are, in a sentence."""
    index, *brier = quality["metrics"]
    ends = (
        ""
        if index["low"] is None
        else f" ({LEVEL_TEXT} interval {100 * index['low']:.0f} to {100 * index['high']:.0f}\u00a0%)"
    )
    text = (
        f"The sample whose event comes first has the higher hazard in {100 * index['value']:.0f}\u00a0% "
        f"of the pairs that can be compared{ends}; chance has 50\u00a0%"
    )
    if not brier:
        return f"{text}, on {quality['n']:,} samples."
    own, one = brier[0]["value"], quality["baseline"]["value"]
    return f"{text}. The Brier score is {own:.3f}, that of one curve for all {one:.3f}, on {quality['n']:,} samples."


def survival_facts(reading: Reading) -> dict[str, Any] | None:
    """Return the curve of every basis vector and the usual one; None for other models."""
    if not reading.is_survival:
        return None
    model, labels = reading.estimator, np.array(basis_labels(reading.model))
    times = curve_times(reading)
    rows = vectors_as_samples(reading)
    scores = np.asarray(reading.model.scores(rows)[:, 0], dtype=np.float64)
    order = np.argsort(-scores, kind="stable")[:MOST_VECTORS]
    curves = model.survival_of_scores(scores[order], times)
    names = labels[reading.model.vector_rows]
    return {
        "times": rounded(times, 6),
        "usual": np.round(model.survival_of_scores(np.zeros(1), times)[0], DECIMALS).tolist(),
        "vectors": [
            {"name": str(names[r]), "score": rounded(scores[r]), "survival": np.round(curve, DECIMALS).tolist()}
            for r, curve in zip(order, curves, strict=True)
        ],
    }


def curve_times(reading: Reading) -> np.ndarray:
    """Return times at which the curves of a page are drawn: quantiles of those of events."""
    return np.unique(np.quantile(reading.estimator.event_times_, np.linspace(0, 1, POINTS)))


def survival_of_page(reading: Reading) -> dict[str, Any]:
    """Return what the plain form of a model needs for survival curves; nothing for other models."""
    if not reading.is_survival:
        return {}
    found: dict[str, Any] = reading.estimator._beside_scores(curve_times(reading))
    return found


def order_facts(samples: Samples, privacy: str) -> dict[str, Any] | None:
    """Return the score axis of ordered classes: thresholds, probabilities and the scores of samples by class."""
    model, labels, y = samples.reading.model, samples.reading.labels, samples.y
    if model.target.task != "ordered" or labels is None:
        return None
    f, thresholds = samples.scores[:, 0], np.asarray(model.loss.thresholds, dtype=np.float64)
    ends = np.concatenate([f, thresholds])
    grid = np.linspace(ends.min() - 0.5, ends.max() + 0.5, POINTS)
    shown = None
    if y is not None:
        shown = [rounded(_some(np.sort(f[y == label]), privacy), 4) for label in labels]
    return {
        "thresholds": rounded(thresholds),
        "grid": rounded(grid),
        "probabilities": rounded(model.loss.probabilities(grid[:, None])),
        "samples": shown,
    }


def _some(scores: np.ndarray, privacy: str) -> np.ndarray:
    """Return some of sorted scores, or their deciles if no sample may be shown."""
    if len(scores) == 0:
        return scores
    if privacy == "aggregate":
        return np.quantile(scores, np.arange(1, 10) / 10)
    return scores[np.unique(np.linspace(0, len(scores) - 1, min(MOST_SCORES, len(scores))).round().astype(int))]
