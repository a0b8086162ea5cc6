"""Losses: totals over samples that add up, a value from totals, and directions for the gradient.

Shapes, once for all losses: targets ``Y`` and predictions ``F`` are (n, m), sample weights ``w`` (n, 1) and sum to one
over all samples of a fit. A gradient dL/dF is sum_q mix_q * directions_q with numbers mix_q that may need the totals of
*all* samples: that is what lets a loss that is no sum over samples, the cosine proximity, do with one pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm._arrays import Array
from spkm._namespaces import namespace
from spkm._parts import Part

FAR = 3.0  # deviations beyond which a robust loss clips targets for its first guess: the usual three-sigma rule
FORMULAS = ("totals", "value", "directions", "mix", "pointwise", "slope")


def _one_by_one(loss: Loss, Y: Array, F: Array, w: Array) -> tuple[Array, tuple[Array, ...]]:
    """Return totals and directions; a loss whose two have work in common does it once here.

    A class that writes a formula of a known loss anew gets this.
    """
    return loss.totals(Y, F, w), loss.directions(Y, F, w)


class Loss(Part):
    """Base of all losses.

    ``is_quadratic``, ``is_likelihood`` and ``coupled`` are claims about the formulas: a subclass that writes a formula
    anew must make them anew.
    """

    claims = {
        "is_quadratic": (FORMULAS, False),
        "is_likelihood": (FORMULAS, False),
        "anywhere": (FORMULAS, False),
        "totals_and_directions": (FORMULAS, _one_by_one),
        "coupled": (("totals", "value", "directions", "mix"), True),
        "link": (("predict", "probabilities"), None),
    }
    choices = {"target": ("real", "signs")}
    #: Whether its formulas are those of arrays of any library.
    anywhere = False
    #: Whether the loss is the squared error (f - y)^2, so that the best weights for a basis have a closed form.
    is_quadratic = False
    #: Whether the loss of a sample is minus the logarithm of its probability.
    is_likelihood = False
    #: Whether the gradient of one sample depends on the totals of all samples.
    coupled = True
    #: Name, in files and exports, of the way from scores to predictions: "identity"; "exp", of min(f, 30); or
    #: "logistic", for probabilities of classes. None if they have no name for it.
    link: str | None = "identity"
    #: A prediction in words, for real targets.
    prediction = "a number"
    #: Whether scores are log hazards of censored times.
    censored = False
    #: Values that cut the score into ordered classes; only a loss of such classes has them.
    thresholds: Any = ()
    #: Whether the loss may be used for classes, that is on targets of -1 and +1.
    for_classes = True
    #: Kind of the targets: "real" numbers, or "signs" (+1 in the column of the class, -1 elsewhere).
    target = "real"
    #: Whether an affine change of real targets only rescales the loss, so that they may be standardised before a fit.
    standardize_target = True
    #: Whether far targets count little. Then they must not set the scale of all targets either, nor the first guess.
    robust = False
    #: Whether the loss ignores the length of F; then a penalty on the weights has nothing to balance.
    scale_free = False
    #: Default strength of the RKHS norm times the total weight, for (one, several) outputs. Chosen empirically: 0.2 for
    #: losses of real targets, and as in docs/numbers/constants.md for those of classes.
    rkhs_strength = (0.2, 0.2)

    @property
    def has_probabilities(self) -> bool:
        """Whether the class defines ``probabilities(F)``; only some losses do."""
        return type(self).probabilities is not Loss.probabilities

    @property
    def has_pointwise(self) -> bool:
        """Whether the loss is a sum over samples whose parts ``pointwise(Y, F)`` returns."""
        return not self.coupled and type(self).pointwise is not Loss.pointwise

    def totals(self, Y: Array, F: Array, w: Array) -> Array:
        """Return sums over the samples of a block, in float64; those of several blocks add up."""
        raise NotImplementedError(f"{type(self).__name__} must define totals(Y, F, w).")

    def value(self, totals: Array) -> float:
        """Return the loss from the totals of all samples."""
        raise NotImplementedError(f"{type(self).__name__} must define value(totals).")

    def directions(self, Y: Array, F: Array, w: Array) -> tuple[Array, ...]:
        """Return the arrays (n, m) that the gradient is made of."""
        raise NotImplementedError(f"{type(self).__name__} must define directions(Y, F, w).")

    totals_and_directions = _one_by_one

    def mix(self, totals: Array) -> tuple[Any, ...]:
        """Return the factor of each direction, a number or (m,)."""
        return (1.0,)

    def predict(self, F: Array) -> Array:
        """Return predictions of real targets from scores: the inverse of the loss's link."""
        return F

    def probabilities(self, F: Array) -> Array:
        """Return the probability of each class from scores, (n, n_classes)."""
        raise NotImplementedError(f"{type(self).__name__} has no probabilities.")

    def log_probabilities(self, F: Array) -> Array:
        """Return the logarithms of :meth:`probabilities`; a loss that has them exactly defines this anew."""
        P = self.probabilities(F)
        return np.log(np.maximum(P, np.finfo(P.dtype).tiny))

    def pointwise(self, Y: Array, F: Array) -> Array:
        """Return the loss of every entry, (n, m), or of every sample, (n, 1)."""
        raise NotImplementedError(f"{type(self).__name__} must define pointwise(Y, F).")

    def best_scale(self, totals: Array) -> Any:
        """Return the factor on F, (m,), that brings it nearest to Y; of use where the loss is ``scale_free``."""
        raise NotImplementedError(f"{type(self).__name__} must define best_scale(totals) if it is scale_free.")

    def working_target(self, Y: Array) -> Array:
        """Return targets on the scale of F, for a first guess by least squares."""
        return np.clip(Y, -FAR, FAR) if self.robust else Y

    def check_target(self, y: Array) -> None:
        """Raise ValueError if the targets have no meaning under this loss."""

    def check_whole_target(self, y: Array) -> None:
        """Raise ValueError if no fit can begin with these targets alone; a later batch may hold them."""

    def for_labels(self, several: bool) -> Loss:
        """Return the loss for targets where a sample has one class (False) or any number of labels (True)."""
        return self


class SumLoss(Loss):
    """A weighted sum over samples: a subclass defines ``pointwise(Y, F)`` and ``slope(Y, F)``, its derivative in F."""

    coupled = False

    def slope(self, Y: Array, F: Array) -> Array:
        """Return the derivative of the sample's loss in F, (n, m)."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(Y, F).")

    def totals(self, Y: Array, F: Array, w: Array) -> Array:
        return weighted_total(w * self.pointwise(Y, F))

    def value(self, totals: Array) -> float:
        return float(totals[0])

    def directions(self, Y: Array, F: Array, w: Array) -> tuple[Array, ...]:
        return (w * self.slope(Y, F),)


def weighted_total(losses: Any) -> Array:
    """Return the sum of losses that their weights are in already, (1,), in float64."""
    xp = namespace(losses)
    return np.asarray([float(xp.sum(losses, dtype=xp.float64))])
