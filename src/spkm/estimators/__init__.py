"""Estimators: they check, join and report."""

from spkm.estimators._classifier import SPKMClassifier
from spkm.estimators._cv import SPKMClassifierCV, SPKMRegressorCV
from spkm.estimators._landmarks import SPKMNystroem
from spkm.estimators._pair_splits import PairKFold
from spkm.estimators._pairwise import PairwiseSPKMClassifier, PairwiseSPKMRegressor
from spkm.estimators._prediction_files import write_predictions
from spkm.estimators._regressor import SPKMRegressor
from spkm.estimators._selector import SPKMSelector
from spkm.estimators._sparsity_path import SparsityPath, sparsity_path
from spkm.estimators._stability import StabilitySelection, stability_selection
from spkm.estimators._streams import FileTable
from spkm.estimators._table_encoder import TableEncoder

__all__ = [
    "FileTable",
    "PairKFold",
    "PairwiseSPKMClassifier",
    "PairwiseSPKMRegressor",
    "SPKMClassifier",
    "SPKMClassifierCV",
    "SPKMNystroem",
    "SPKMRegressor",
    "SPKMRegressorCV",
    "SPKMSelector",
    "SparsityPath",
    "StabilitySelection",
    "TableEncoder",
    "sparsity_path",
    "stability_selection",
    "write_predictions",
]
