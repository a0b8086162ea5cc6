"""Classifiers and regressors: every way to the answers of a fitted model, and laws of fits and explanations."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from benchmarks._hostile.cases import Case, draw_case
from benchmarks._hostile.comparing import apart, differences, rounding_of
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import WAYS, NotPossible, answers_of
from spkm.explain import explain
from spkm.tables.pipelines import before_last, last_of


def shapley_values_add_up(case: Case, model: Any) -> str:
    """Return how far the Shapley values of a sample are from its score, if they are; all in double precision."""
    last, rows = last_of(model), last_of(model)._rows(before_last(model, case.X))
    rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
    try:
        found = explain(last.model_, rows[:4], rows[:20])
    except (ValueError, TypeError) as error:  # some kernels have no closed form
        raise NotPossible(str(error)) from error
    # Kernels are approximated to an error over their largest value, not over what they are at a sample.
    size = np.abs(last.model_.contributions(rows[:20])).sum(axis=1).max() + np.abs(last.model_.weights).sum()
    scores = last.model_.scores(rows[:4])
    return apart(found.values.sum(axis=1) + found.base_values, scores, 1e-7 * (size + np.abs(scores).max()), "sums")


def single_precision_is_near(case: Case, model: Any) -> str:
    """Return how far scores of samples in single precision are from those of the same numbers in double precision."""
    last, rows = last_of(model), last_of(model)._rows(before_last(model, case.new))
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
    single = dense.astype(np.float32)
    if not np.isfinite(single).all():
        raise NotPossible("numbers beyond single precision")
    last.model_.scores(single[:1])
    bound = rounding_of(last.model_, single)
    return apart(last.model_.scores(single), last.model_.scores(single.astype(np.float64)), bound, "scores")


def fits_are_repeatable(case: Case, model: Any) -> str:
    """Return by how much a second fit of the same samples differs, if it does."""
    again = answers_of(clone(model).fit(case.X, case.y), case.X)["scores"]
    return "" if np.array_equal(again, answers_of(model, case.X)["scores"]) else "a second fit has other scores"


def weights_are_repeats(case: Case, model: Any) -> str:
    """Return by how much a fit with whole weights differs from one of samples that are there as often, if it does."""
    last = clone(last_of(model))
    rows = last_of(model)._rows(before_last(model, case.X))
    if last.weight_penalty == "auto" or last.selection is not None:
        raise NotPossible("folds of repeated samples are others")
    weight = np.random.default_rng(case.seed).integers(1, 4, rows.shape[0])
    often = np.repeat(np.arange(rows.shape[0]), weight)
    a = clone(last).fit(rows, case.y, sample_weight=weight.astype(float)).model_.scores(rows)
    b = clone(last).fit(rows[often], case.y[often]).model_.scores(rows)
    return apart(a, b, 1e-3 * max(np.abs(b).max(), 1e-300), "scores")


LAWS: dict[str, Callable[[Case, Any], str]] = {
    "weights are repeats": weights_are_repeats,
    "Shapley values add up": shapley_values_add_up,
    "single precision": single_precision_is_near,
    "fits are repeatable": fits_are_repeatable,
}


def trial(seed: int, folder: Path) -> Trial:
    """Fit the model of a seed; its checks are all ways and all laws."""
    case = draw_case(seed)
    model = case.model.fit(case.X, case.y)
    want = answers_of(model, case.new)

    def compared(way: Any, exact: bool) -> str:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            return differences(model, case.new, want, way(model, case.new, Path(own)), exact)

    ways = {name: partial(compared, way, exact) for name, (way, exact) in WAYS.items()}
    return Trial(case.about, ways | {name: partial(law, case, model) for name, law in LAWS.items()})
