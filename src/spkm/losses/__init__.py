"""Losses and their names. A new one is a class with two formulas: see ``docs/extend.md``."""

from spkm._parts import Registry
from spkm.losses._base import Loss, SumLoss
from spkm.losses._classes import Cosine, Exponential, Log, SmoothHinge, SquaredHinge
from spkm.losses._hazard import Baseline, Hazard, Times, baseline_hazard, concordance
from spkm.losses._ordinal import Ordinal, best_thresholds, first_thresholds
from spkm.losses._real import EpsilonInsensitive, Huber, Poisson, Quantile, Squared
from spkm.losses._weibull import Weibull, weibull_hazard

LOSSES = Registry("loss", Loss)
LOSSES.update(
    log=Log,
    squared=Squared,
    squared_hinge=SquaredHinge,
    smooth_hinge=SmoothHinge,
    exponential=Exponential,
    cosine=Cosine,
    huber=Huber,
    epsilon_insensitive=EpsilonInsensitive,
    quantile=Quantile,
    poisson=Poisson,
)

__all__ = [
    "LOSSES",
    "Baseline",
    "Cosine",
    "EpsilonInsensitive",
    "Exponential",
    "Hazard",
    "Huber",
    "Log",
    "Loss",
    "Ordinal",
    "Poisson",
    "Quantile",
    "SmoothHinge",
    "Squared",
    "SquaredHinge",
    "SumLoss",
    "Times",
    "Weibull",
    "baseline_hazard",
    "best_thresholds",
    "concordance",
    "first_thresholds",
    "weibull_hazard",
]
