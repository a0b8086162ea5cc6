"""Refits of a model in a report, from which a page takes error bars: what they have in place of the model's numbers."""

from __future__ import annotations

import json
from typing import Any

from spkm.explain._bars import LEVEL, half_width
from spkm.inspection._report._shapes import product_shapes
from spkm.persistence._plain import jsonable, plain_model

BYTES = 250_000  # of all refits; larger models have no error bars of single samples in the page
DIGITS = 13


def refit_facts(model: Any, names: tuple[str, ...], page: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the refits of a model, each as what differs from the page's model; None without refits, or if too large.

    Parameters
    ----------
    model : FittedModel or ModelEnsemble
        The model of the features that it reads.
    names : tuple of str
        Their names.
    page : dict or None
        Numbers of the page: ``plain`` and ``shapes`` of the model.
    """
    if page is None or not model.refits:
        return None
    models = []
    for refit in model.refits:
        plain, shapes = jsonable(plain_model(refit, names)), product_shapes(refit, names)
        own = [_changed(plain, page["plain"]), None if page["shapes"] is None else _changed(shapes, page["shapes"])]
        models.append(_rounded(own))
    if len(json.dumps(models)) > BYTES:
        return None
    return {
        "models": models,
        "spread": float(model.refit_spread),
        "half_width": half_width(len(models), LEVEL),
        "level": LEVEL,
    }


def _changed(now: Any, before: Any) -> Any:
    """Return the parts of nested data that differ: of a dict the keys, of a list with dicts in it all entries."""
    if isinstance(now, dict):
        return {key: _changed(part, before[key]) for key, part in now.items() if part != before[key]}
    if isinstance(now, list) and _holds_dicts(now):
        return [_changed(part, old) for part, old in zip(now, before, strict=True)]
    return now


def _holds_dicts(values: list[Any]) -> bool:
    first = values[0] if values else None
    return _holds_dicts(first) if isinstance(first, list) else isinstance(first, dict)


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
