"""Strict selection of features: screens, sparse paths, backward elimination, and the search that joins them."""

from spkm.core.problem import Problem
from spkm.selection._additive_importances import additive_importances
from spkm.selection._choice import Candidate, Choice, only_kernel
from spkm.selection._elimination import Submodel, eliminate, fit_submodel, losses_without
from spkm.selection._entering import entering_scores, floating_elimination
from spkm.selection._feature_groups import FeatureGroups
from spkm.selection._knockoffs import knockoff_threshold, knockoffs, misfit_of_copies, normal_scores
from spkm.selection._screening import feature_scores, interchangeable
from spkm.selection._search import Search
from spkm.selection._settings import DEFAULTS, SearchSettings
from spkm.selection._sparse_path import has_path, sparse_support
from spkm.selection._validation import Fold, Validation, mean_and_error, record_of, row_losses, simplest_as_good

__all__ = [
    "DEFAULTS",
    "Candidate",
    "Choice",
    "FeatureGroups",
    "Fold",
    "Problem",
    "Search",
    "SearchSettings",
    "Submodel",
    "Validation",
    "additive_importances",
    "eliminate",
    "entering_scores",
    "feature_scores",
    "fit_submodel",
    "floating_elimination",
    "has_path",
    "interchangeable",
    "knockoff_threshold",
    "knockoffs",
    "losses_without",
    "mean_and_error",
    "misfit_of_copies",
    "normal_scores",
    "only_kernel",
    "record_of",
    "row_losses",
    "simplest_as_good",
    "sparse_support",
]
