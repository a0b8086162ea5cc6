"""Which features the eliminations of several folds agree on."""

from __future__ import annotations

import numpy as np

from spkm.selection._choice import Choice
from spkm.selection._elimination import Submodel
from spkm.selection._feature_groups import FeatureGroups


def n_groups(model: Submodel, units: FeatureGroups) -> int:
    """Return the number of feature groups of a model."""
    return len(np.unique(units.label[model.columns]))


def left_at(sequence: list[Submodel], units: FeatureGroups) -> np.ndarray:
    """Return the size of the smallest model of an elimination that each group is in; the number of groups if none."""
    sizes = np.full(len(units.size), len(units.size))
    for model in sequence:
        sizes[units.label[model.columns]] = n_groups(model, units)
    return sizes


def agreed_columns(choice: Choice, sequence: list[Submodel], units: FeatureGroups, max_features: int) -> np.ndarray:
    """Return the columns that most of the eliminations, of all folds and of all samples together, chose.

    One elimination on few samples is a matter of chance among features that are nearly as good; together they are less
    so. Among features of as many votes those are taken that stayed longest.
    """
    sizes = np.array([*choice.left_at, left_at(sequence, units)])
    votes = np.count_nonzero(sizes <= choice.n_units, axis=0)
    # Not by how long alone: noise that leaves late everywhere would win over what never came in in one fold.
    chosen = np.lexsort((np.log(sizes).mean(axis=0), -votes))[: choice.n_units]
    while units.size[chosen].sum() > max_features:
        chosen = chosen[:-1]
    return units.columns(chosen)
