"""Sparse pre-image kernel machines: small, readable kernel models with learned basis vectors."""

from spkm.estimators import (
    PairKFold,
    PairwiseSPKMClassifier,
    PairwiseSPKMRegressor,
    SPKMClassifier,
    SPKMClassifierCV,
    SPKMNystroem,
    SPKMRegressor,
    SPKMRegressorCV,
    SPKMSelector,
    sparsity_path,
    stability_selection,
)
from spkm.model import Term, View

__all__ = [
    "PairKFold",
    "PairwiseSPKMClassifier",
    "PairwiseSPKMRegressor",
    "SPKMClassifier",
    "SPKMClassifierCV",
    "SPKMNystroem",
    "SPKMRegressor",
    "SPKMRegressorCV",
    "SPKMSelector",
    "Term",
    "View",
    "sparsity_path",
    "stability_selection",
]
__version__ = "0.1.0"
