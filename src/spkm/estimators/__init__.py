"""Estimators: they check, join and report."""

from spkm.estimators.cca import SPKMCCA
from spkm.estimators.classifier import SPKMClassifier
from spkm.estimators.cv import SPKMClassifierCV, SPKMRegressorCV
from spkm.estimators.nystroem import SPKMNystroem
from spkm.estimators.ordinal import SPKMOrdinalClassifier
from spkm.estimators.pairwise import PairwiseSPKMClassifier, PairwiseSPKMRegressor
from spkm.estimators.paper_setting import algorithm1
from spkm.estimators.paths import SparsityPath, sparsity_path
from spkm.estimators.regressor import SPKMRegressor
from spkm.estimators.selector import SPKMSelector
from spkm.estimators.stability import StabilitySelection, stability_selection
from spkm.estimators.survival import SPKMSurvival

__all__ = [
    "SPKMCCA",
    "PairwiseSPKMClassifier",
    "PairwiseSPKMRegressor",
    "SPKMClassifier",
    "SPKMClassifierCV",
    "SPKMNystroem",
    "SPKMOrdinalClassifier",
    "SPKMRegressor",
    "SPKMRegressorCV",
    "SPKMSelector",
    "SPKMSurvival",
    "SparsityPath",
    "StabilitySelection",
    "algorithm1",
    "sparsity_path",
    "stability_selection",
]
