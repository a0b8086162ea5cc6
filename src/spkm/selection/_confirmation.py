"""A last look at the columns, on all rows: which may be there by chance, and which are missing.

The search has some rows to fit and others to judge by. On either alone a column of little weight looks like noise, and
noise may bring something by chance. The likelihood of all rows tells them apart: with a column that means nothing,
twice its logarithm rises by a chi-squared number with as many degrees of freedom as the column has parameters.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from spkm.selection._elimination import Submodel, shrunk, uses, with_more
from spkm.selection._feature_groups import FeatureGroups
from spkm.sources import ArraySource

ENTERS = 0.05  # chance that any of the columns outside comes in, if all of them mean nothing
STAYS = 0.01  # chance that a column inside stays, if it means nothing
ROWS_FOR_PARAMETER = 10  # at least: with fewer a likelihood is no validation
WEAK = 0.1  # of the default strength of the penalty: shrunken scores hide what a column brings
ROUNDS = 3


def confirm(
    model: Submodel, source: ArraySource, units: FeatureGroups, allowed: np.ndarray, rng: np.random.Generator
) -> Submodel:
    """Return the model after columns came in and left by the likelihood of the rows of ``source``."""
    first = model.columns
    n_outside = len(units.of(allowed).size) - len(units.of(first).size)
    for _ in range(ROUNDS):
        before = model.columns
        # What came in must prove itself in every round: noise may look good while another column is missing.
        model = _proven(with_more(model, source, units, allowed, rng), source, units, first, n_outside, rng)
        if np.array_equal(before, model.columns):
            break
    return model


def _proven(
    model: Submodel,
    source: ArraySource,
    units: FeatureGroups,
    first: np.ndarray,
    n_outside: int,
    rng: np.random.Generator,
) -> Submodel:
    """Return the model without units that may be there by chance; those not there at ``first`` must prove more."""
    while True:
        inside = units.of(model.columns)
        members = inside.members()
        if len(members) == 1:
            return model
        least = members[int(np.argmin(uses(model, source, inside)))]
        smaller = shrunk(model, source, np.setdiff1d(np.arange(len(model.columns)), least), rng)
        rise = 2 * source.total_weight * (smaller.objective - model.objective)
        n_params = model.model.n_params - smaller.model.n_params
        level = STAYS if np.isin(model.columns[least], first).any() else ENTERS / n_outside
        if rise > chi2.isf(level, n_params):
            return model
        model = smaller
