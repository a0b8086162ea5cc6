"""The first lines of a report: what is predicted and from what, how well, and what matters most."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.explain._table import listed
from spkm.inspection._display import number
from spkm.inspection._intervals import LEVEL_TEXT
from spkm.inspection._reading import Reading
from spkm.inspection._report._axis import NAMELESS
from spkm.inspection._report._features import Told
from spkm.inspection._report._findings import Evidence
from spkm.inspection._report._pair_facts import pair_sentence
from spkm.inspection._report._quality import Comparison
from spkm.inspection._report._target_facts import survival_sentence

NAMED = 3  # columns named in a sentence
MOST_OUTPUTS = 5  # outputs named in a sentence
MOST_VIEWS = 8  # views named in a sentence


def answer_facts(
    seen: Evidence, told: Told, target: str, outputs: list[str], paired: dict[str, Any] | None
) -> list[str]:
    """Return sentences that answer the question before anything else is shown."""
    reading = seen.samples.reading
    what = f"{_what(reading, target, outputs)}, {_from_what(reading, told, paired)}."
    if seen.quality is not None and seen.beside is not None:
        how_good = _how_good(reading, seen.quality, seen.beside)
    elif seen.quality is not None and reading.is_survival:
        how_good = survival_sentence(seen.quality)
    else:
        how_good = "No targets were given, so its quality is not measured."
    matters = _what_matters(told.columns, told.axis) if paired is None else pair_sentence(paired)
    return [what, how_good, *([matters] if matters else []), *_proved(reading)]


def _what(reading: Reading, target: str, outputs: list[str]) -> str:
    labels, wanted = reading.labels, target or "the target"
    if reading.is_survival:
        return f"Predicts when {target or 'an event'} happens, as a hazard and a survival curve"
    if labels is None:
        count = len(reading.outputs)
        named = f": {listed(outputs)}" if count <= MOST_OUTPUTS and outputs != list(reading.outputs) else ""
        return f"Predicts {wanted}, a number" if count == 1 else f"Predicts {count} numbers{named}"
    if reading.model.target.task == "labels":
        return f"Predicts {len(labels)} labels, each there or not"
    if len(labels) == 2:
        return f"Predicts whether {wanted} is {labels[1]} or {labels[0]}"
    if reading.model.target.task == "ordered":
        return f"Predicts {wanted}, one of {len(labels)} ordered classes, {labels[0]} to {labels[-1]}"
    return f"Predicts {wanted}, one of {len(labels)} classes"


def _from_what(reading: Reading, told: Told, paired: dict[str, Any] | None) -> str:
    if reading.is_pairs:
        return "of pairs" if paired is None else f"of a {' and a '.join(paired['sides'])}"
    axis = told.axis
    if axis is not None:
        values = axis["values"]
        low, high = sorted((values[0], values[-1]))
        reads = "" if len(reading.read) == len(values) else f"; it reads {len(reading.read):,} of the points"
        return f"from curves of {len(values):,} points, from {low:g} to {high:g}{_unit(axis)}{reads}"
    total, count = len(reading.columns), len(told.columns)
    read = f"{count:,}" if count == total else f"{count:,} of {total:,}"
    word = "column" if reading.pipeline.encoding is not None else "feature"
    return f"from {read} {word}{'s' * (total != 1)}{_views(reading)}"


def _views(reading: Reading) -> str:
    """Return the names of the views of a model, for a sentence; nothing if there are none."""
    found = [view.name for member in reading.model.members for term in member.terms for view in term.views]
    names = [name for name in dict.fromkeys(found) if name]
    return f" in {len(names)} views: {listed(names)}" if 1 < len(names) <= MOST_VIEWS else ""


def _how_good(reading: Reading, quality: dict[str, Any], beside: Comparison) -> str:
    value, low, high = beside.own
    n, linear, few = quality["n"], beside.others.get("linear"), beside.others.get("as few")
    if reading.labels is not None:
        interval = f" ({LEVEL_TEXT} interval {_percent(low)} to {_percent(high)})" if np.isfinite(low) else ""
        text = f"Right for {_percent(value)} of {n:,} samples{interval}"
        text += f"; the most common class alone: {_percent(beside.constant.value)}"
        text += f", a linear model of the same training samples: {_percent(linear.value)}" if linear else ""
        text += f", {few.name}: {_percent(few.value)}" if few else ""
        return f"{text}."
    interval = f", {LEVEL_TEXT} interval {_r2(low)} to {_r2(high)}" if np.isfinite(low) else ""
    figure = f"R² is {_r2(value)} (1 is perfect, 0 no better than the mean{interval})"
    if len(reading.outputs) == 1:
        error, usual = (number(one["value"]) for one in (quality["outputs"][0]["metrics"][1], quality["baseline"]))
        text = f"Its predictions of {n:,} samples are typically off by {error}, the mean alone by {usual}. {figure}"
    else:
        text = f"{figure} on {n:,} samples, on average over {len(reading.outputs)} outputs"
    text += f"; a linear model of the same training samples has R² {_r2(linear.value)}" if linear else ""
    text += f", {few.name}, {_r2(few.value)}" if few else ""
    return f"{text}."


def _r2(value: float) -> str:
    """Return a share of variance; near 1 with a further digit, by which models differ."""
    return f"{value:.3f}" if value >= 0.985 else f"{value:.2f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def _what_matters(columns: list[dict[str, Any]], axis: dict[str, Any] | None) -> str:
    if axis is not None:
        slopes = np.abs(np.array(axis["slopes"])).max(axis=0)
        if not slopes.any():
            return ""
        place = f"{axis['values'][int(np.argmax(slopes))]:g}"
        return f"It depends most on the part of the curve around {place}{_unit(axis)}."
    order = sorted((c for c in columns if c["variance"]), key=lambda c: -c["variance"])
    if not order:
        return "It predicts the same for every sample."
    names = [column["name"] for column in order[:NAMED]]
    if len(order) == 1:
        return f"It depends on {names[0]} alone."
    return f"{'It depends on' if len(order) <= NAMED else 'It depends most on'} {listed(names)}."


def _unit(axis: dict[str, Any]) -> str:
    return f" {axis['label']}" if axis["label"] != NAMELESS else ""


def _proved(reading: Reading) -> list[str]:
    """Return a sentence on the directions that hold by construction."""
    signs = reading.monotone
    words = [f"{'rises' if sign > 0 else 'falls'} with {name}" for name, sign in signs.items()]
    if not words:
        return []
    return [f"Proved, for every sample there can be: the {reading.score_name()} {listed(words)}, all else equal."]
