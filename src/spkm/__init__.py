"""Sparse pre-image kernel machines: small, readable kernel models with learned basis vectors."""

from spkm.estimators import SPKMClassifier, SPKMRegressor

__all__ = ["SPKMClassifier", "SPKMRegressor"]
__version__ = "0.1.0"
