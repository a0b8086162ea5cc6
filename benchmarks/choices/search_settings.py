"""The numbers of a search for features, one changed at a time: score, precision and recall against those as they are.

Families of half A of ``selection_panel``, on draws that no other benchmark reports. The score is the accuracy, or the
share of the absolute error that is explained, in percent, of 2,000 new samples; differences are means over families
with their standard error. A number whose changes gain nothing beyond that error stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks._data import Settings
from benchmarks._families import CLASSES, NUMBERS, Family, halves, precision, recall
from benchmarks._report import Row, progress, standard_error
from benchmarks.selection_panel import TEST, machine, score_of, timed_fit
from spkm.fitting import search as search_module
from spkm.selection import DEFAULTS, _screening, _validation

COLUMNS = ("±", "precision", "recall", "CPU s")
FIRST_SEED = 400
CHANGES: dict[str, tuple[Any, ...]] = {
    "n_screened": (50, 200),
    "share": (0.0, 0.05),
    "clearly": (2.0, 5.0),
    "strengths": ((100.0, 10.0),),
    "WAVES": (4, 16),
    "FAR": (1.5, 3.0),
    "FACTORS": ((1.0,),),
}


def run(settings: Settings) -> Iterator[Row]:
    families = [*halves(CLASSES)["A"], *halves(NUMBERS)["A"]]
    members = [f for f in families if settings.wants(f.name)][: settings.size(len(families), 1)]
    variants: list[dict[str, Any]] = [{}, *({name: value} for name, values in CHANGES.items() for value in values)]
    usual: np.ndarray | None = None
    for variant in variants[: settings.size(len(variants), 2)]:
        with changed(variant):
            found = np.array([of_family(family, settings.n_seeds(1)) for family in members])
        usual = found if usual is None else usual
        gained, means = found[:, 0] - usual[:, 0], np.nanmean(found, axis=0)
        what = ", ".join(f"{name} = {np.round(value, 2)}" for name, value in variant.items()) or "as it is"
        more = (f"{standard_error(gained):.2f}", *(f"{mean:.2f}" for mean in means[1:3]), f"{means[3]:.1f}")
        progress(f"{what}: {gained.mean():+.2f} ± {more[0]}")
        yield Row(f"{what}: score minus that of the numbers as they are", float(gained.mean()), None, "{:+.2f}", more)


def changed(variant: dict[str, Any]) -> Any:
    """Return a context in which one number of the search is another."""
    ((name, value),) = variant.items() or (("share", DEFAULTS.share),)
    for module in (_screening, _validation):
        if hasattr(module, name):
            return patch.object(module, name, np.array(value) if isinstance(value, tuple) else value)
    return patch.object(search_module, "DEFAULTS", replace(DEFAULTS, **{name: value}))


def of_family(family: Family, n_draws: int) -> np.ndarray:
    """Return score, precision, recall and processor time, as means over draws."""
    found = []
    for seed in range(FIRST_SEED, FIRST_SEED + n_draws):
        X, y, relevant = family.draw(seed, TEST)
        train, test = slice(0, family.n), slice(-TEST, None)
        model = machine(family.task, seed)
        seconds = timed_fit(model, X[train], y[train])
        chosen = model.selected_features_
        score = score_of(family.task, y[test], model.predict(X[test]))
        found.append([score, precision(chosen, relevant), recall(chosen, relevant), seconds])
    return np.asarray(np.nanmean(found, axis=0))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["search_settings", *sys.argv[1:]])
