"""A search of few folds, steps and iterations: for tests of what a selection promises, not of how well it chooses."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from spkm.estimators import _selecting
from spkm.selection import _eliminate, _machine, _path, _race, _search, _vectors

FEWER = {
    _selecting: {"FOLDS": 2},
    _path: {"N_STEPS": 4, "SKIPPED": 1, "RATIO": 3.0, "ITERATIONS": 6, "VECTORS_PER_OUTPUT": 2},
    _eliminate: {
        "FIRST_ITERATIONS": 4,
        "NEXT_ITERATIONS": 2,
        "SINGLE_ITERATIONS": 2,
        "next_count": _eliminate.next_count,
    },
    _machine: {"LEAST_ITERATIONS": 1},
    _vectors: {"ITERATIONS": 10, "FIRST_ITERATIONS": 5},
    _race: {"PROPOSERS": _race.PROPOSERS[:1], "FIRST_ITERATIONS": 4, "PATH_STARTS": 1},
    _search: {
        "FIRST_ITERATIONS": 4,
        "POLISHES": 1,
        "BEYOND": 0,
        "PRUNING": (1e-3,),
    },
}
FEWEST = {
    _path: {"N_STEPS": 1, "SKIPPED": 0, "ITERATIONS": 3},
    _eliminate: {
        "FIRST_ITERATIONS": 3,
        "NEXT_ITERATIONS": 1,
        "SINGLE_ITERATIONS": 1,
        "next_count": lambda count, ratio: count // 2,
    },
    _vectors: {"ITERATIONS": 2, "FIRST_ITERATIONS": 1},
    _race: {"FIRST_ITERATIONS": 3},
    _search: {"FIRST_ITERATIONS": 3, "POLISHES": 0, "PRUNING": ()},
}


@contextmanager
def quick_search(hasty: bool = False) -> Iterator[None]:
    """Make every search a short one, or a very short one."""
    with pytest.MonkeyPatch.context() as patch:
        for settings in (FEWER, FEWEST) if hasty else (FEWER,):
            for module, constants in settings.items():
                for name, value in constants.items():
                    patch.setattr(module, name, value)
        yield
