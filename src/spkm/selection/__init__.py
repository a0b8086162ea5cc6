"""Strict selection of columns: paths, elimination by loss, and the search that joins them."""

from spkm.selection._choice import Candidate, Choice, only_kernel
from spkm.selection._eliminate import Submodel, fit_submodel, losses_without
from spkm.selection._judge import Fold, Judge
from spkm.selection._machine import Machine
from spkm.selection._path import VECTORS_PER_OUTPUT, has_path
from spkm.selection._search import Search
from spkm.selection._units import Units

__all__ = [
    "VECTORS_PER_OUTPUT",
    "Candidate",
    "Choice",
    "Fold",
    "Judge",
    "Machine",
    "Search",
    "Submodel",
    "Units",
    "fit_submodel",
    "has_path",
    "losses_without",
    "only_kernel",
]
