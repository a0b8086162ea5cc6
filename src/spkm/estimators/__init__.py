"""Estimators: they check, join and report."""

from spkm.estimators._classifier import SPKMClassifier
from spkm.estimators._regressor import SPKMRegressor

__all__ = ["SPKMClassifier", "SPKMRegressor"]
