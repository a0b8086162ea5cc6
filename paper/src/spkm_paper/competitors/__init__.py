"""What the paper compares its machines with: methods that scikit-learn lacks, and all of them tuned alike."""

from spkm_paper.competitors._few_vectors import (
    KernelMatchingPursuit,
    RBFNetwork,
    ReducedSetClassifier,
    ReducedSetRegressor,
)
from spkm_paper.competitors._mmd_critic import MMDCriticClassifier
from spkm_paper.competitors._sca import SCAClassifier
from spkm_paper.competitors._signs import SignClassifier
from spkm_paper.competitors._tuned import METHODS, candidates, tuned

__all__ = [
    "METHODS",
    "KernelMatchingPursuit",
    "MMDCriticClassifier",
    "RBFNetwork",
    "ReducedSetClassifier",
    "ReducedSetRegressor",
    "SCAClassifier",
    "SignClassifier",
    "candidates",
    "tuned",
]
