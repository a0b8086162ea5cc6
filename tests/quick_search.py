"""A search of few folds, steps and iterations: for tests of what a selection promises, not of how well it chooses."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from spkm.fitting import search as search_module
from spkm.fitting.recipes import search as recipe_module
from spkm.selection import DEFAULTS, SearchSettings, _first_models

#: Fewer iterations; and the empty model is chosen by no chance at all, so that there are features to test with.
FEWER = replace(
    DEFAULTS,
    chance=1 - 1e-9,
    empty_chance=1 - 1e-9,
    path_iterations=6,
    vectors_per_output=2,
    first_iterations=4,
    n_starts=1,
    refit_iterations=2,
    strengths=(10.0,),
    n_halves=2,
)
FEWEST = replace(FEWER, path_iterations=3, first_iterations=3, refit_iterations=1, one_by_one=3)


@contextmanager
def quick_search(hasty: bool = False, settings: SearchSettings | None = None) -> Iterator[None]:
    """Make every search a short one, or a very short one, or one of given settings on two folds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spkm.sources._array.FOLDS", 2)
        for module in (search_module, recipe_module):
            patch.setattr(module, "DEFAULTS", settings or (FEWEST if hasty else FEWER))
        patch.setattr(_first_models, "PROPOSERS", _first_models.PROPOSERS[:1])
        yield
