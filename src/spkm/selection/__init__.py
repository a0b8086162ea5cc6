"""Strict selection of columns: paths, elimination by loss, and the search that joins them."""

from spkm.problem import Problem
from spkm.selection._choice import Candidate, Choice, only_kernel
from spkm.selection._elimination import Submodel, fit_submodel, losses_without
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._search import Search
from spkm.selection._sparse_path import VECTORS_PER_OUTPUT, has_path
from spkm.selection._validation import Fold, Validation

__all__ = [
    "VECTORS_PER_OUTPUT",
    "Candidate",
    "Choice",
    "FeatureGroups",
    "Fold",
    "Problem",
    "Search",
    "Submodel",
    "Validation",
    "fit_submodel",
    "has_path",
    "losses_without",
    "only_kernel",
]
