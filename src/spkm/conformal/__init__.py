"""Intervals and sets of classes that hold the truth with a chosen frequency, around any scikit-learn estimator.

Conformal prediction turns scores of samples that a model has not learned from into intervals (regression) and sets of
classes (classification). Its coverage holds for any model and any distribution, as long as the samples are
exchangeable; names follow MAPIE.
"""

from spkm.conformal._conditional import ConditionalConformalClassifier, ConditionalConformalRegressor
from spkm.conformal._cross import CrossConformalClassifier, CrossConformalRegressor
from spkm.conformal._split import SplitConformalClassifier, SplitConformalRegressor

__all__ = [
    "ConditionalConformalClassifier",
    "ConditionalConformalRegressor",
    "CrossConformalClassifier",
    "CrossConformalRegressor",
    "SplitConformalClassifier",
    "SplitConformalRegressor",
]
