"""What the paper compares its machines with, and scikit-learn lacks."""

from spkm.competitors._mmd_critic import MMDCriticClassifier
from spkm.competitors._sca import SCAClassifier
from spkm.competitors._signs import SignClassifier

__all__ = ["MMDCriticClassifier", "SCAClassifier", "SignClassifier"]
