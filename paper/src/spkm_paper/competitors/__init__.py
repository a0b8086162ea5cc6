"""What the paper compares its machines with: two methods that scikit-learn lacks, and all of them tuned alike."""

from spkm_paper.competitors._mmd_critic import MMDCriticClassifier
from spkm_paper.competitors._sca import SCAClassifier
from spkm_paper.competitors._signs import SignClassifier
from spkm_paper.competitors._tuned import METHODS, candidates, tuned

__all__ = ["METHODS", "MMDCriticClassifier", "SCAClassifier", "SignClassifier", "candidates", "tuned"]
