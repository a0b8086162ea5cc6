"""A search of few folds, steps and iterations: for tests of what a selection promises, not of how well it chooses."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from spkm.estimators import _search_setup
from spkm.selection import _elimination, _initial_supports, _resize_basis, _search, _sparse_path

FEWER = {
    _search_setup: {"FOLDS": 2},
    _sparse_path: {"N_STEPS": 4, "SKIPPED": 1, "RATIO": 3.0, "ITERATIONS": 6, "VECTORS_PER_OUTPUT": 2},
    _elimination: {
        "FIRST_ITERATIONS": 4,
        "NEXT_ITERATIONS": 2,
        "SINGLE_ITERATIONS": 2,
        "LEAST_ITERATIONS": 1,
        "next_count": _elimination.next_count,
    },
    _resize_basis: {"ITERATIONS": 10, "FIRST_ITERATIONS": 5},
    _initial_supports: {"PROPOSERS": _initial_supports.PROPOSERS[:1], "FIRST_ITERATIONS": 4, "PATH_STARTS": 1},
    _search: {
        "FIRST_ITERATIONS": 4,
        "POLISHES": 1,
        "BEYOND": 0,
        "PRUNING": (1e-3,),
    },
}
FEWEST = {
    _sparse_path: {"N_STEPS": 1, "SKIPPED": 0, "ITERATIONS": 3},
    _elimination: {
        "FIRST_ITERATIONS": 3,
        "NEXT_ITERATIONS": 1,
        "SINGLE_ITERATIONS": 1,
        "next_count": lambda count, ratio: count // 2,
    },
    _resize_basis: {"ITERATIONS": 2, "FIRST_ITERATIONS": 1},
    _initial_supports: {"FIRST_ITERATIONS": 3},
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
