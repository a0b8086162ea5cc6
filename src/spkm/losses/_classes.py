"""Losses of classes and labels. Targets are signs: +1 in the column of the class, or in those of the labels, -1
elsewhere; one column for two classes.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import clone

from spkm._arrays import Array
from spkm._namespaces import namespace, on_host, precise
from spkm._parts import POSITIVE
from spkm.losses._base import Loss, SumLoss, weighted_total


class Log(SumLoss):
    """Logistic loss log(1 + exp(-y f)); of several classes log(sum_k exp f_k) - f_class. Gives probabilities.

    Parameters
    ----------
    columns : {"classes", "labels"}, default="classes"
        Meaning of the columns of Y: "classes", exactly one for each sample, or "labels", of which it may have any
        number; each label then has a logistic loss of its own. :class:`~spkm.SPKMClassifier` sets it by its targets.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [-1.0]]), np.array([[2.0], [0.5]])
    >>> Log().pointwise(Y, F).round(4).ravel()
    array([0.1269, 0.9741])
    """

    anywhere = True
    target = "signs"
    is_likelihood = True
    link = "logistic"
    choices = {**Loss.choices, "columns": ("classes", "labels")}
    rkhs_strength = (0.03, 0.03)

    def __init__(self, columns: str = "classes") -> None:
        self.columns = columns

    def for_labels(self, several: bool) -> Loss:
        changed: Loss = clone(self).set_params(columns="labels" if several else "classes")
        return changed

    def pointwise(self, Y: Array, F: Array) -> Array:
        return self._both(Y, F)[0]

    def slope(self, Y: Array, F: Array) -> Array:
        return self._both(Y, F)[1]

    def totals_and_directions(self, Y: Array, F: Array, w: Array) -> tuple[Array, tuple[Array, ...]]:
        losses, slopes = self._both(Y, F)
        losses *= w
        slopes *= w
        return weighted_total(losses), (slopes,)

    def _both(self, Y: Array, F: Array) -> tuple[Array, Array]:
        """Return the loss of every entry or sample and its slope, which have the exponentials in common."""
        return _logistic(Y, F) if self._apart(F) else _multinomial(Y, F)

    def probabilities(self, F: Array) -> Array:
        """Return the probability of each class, (n, n_classes), or that each label is there, (n, n_labels)."""
        if self.columns == "labels":
            return np.asarray(expit(F))
        if F.shape[1] == 1:
            return np.hstack([expit(-F), expit(F)])
        return _softmax(F)

    def log_probabilities(self, F: Array) -> Array:
        """Return the logarithm of :meth:`probabilities`, also where they round to 0 or 1."""
        if self.columns == "labels":
            return np.asarray(log_expit(F))
        if F.shape[1] == 1:
            return np.hstack([log_expit(-F), log_expit(F)])
        shifted = F - F.max(axis=1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))

    def _apart(self, F: Array) -> bool:
        """Whether every column is a question of its own."""
        return self.columns == "labels" or F.shape[1] == 1


class SquaredHinge(SumLoss):
    """Squared margin error, max(0, 1 - y f)^2.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [-1.0]]), np.array([[2.0], [0.5]])
    >>> SquaredHinge().pointwise(Y, F).ravel()
    array([0.  , 2.25])
    """

    anywhere = True
    target = "signs"
    rkhs_strength = (0.3, 0.03)

    def pointwise(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        return xp.square(xp.maximum(1 - Y * F, 0))

    def slope(self, Y: Array, F: Array) -> Array:
        return -2 * Y * namespace(F).maximum(1 - Y * F, 0)


class SmoothHinge(SumLoss):
    """Hinge max(0, 1 - y f) with a parabola of the given width in place of its corner.

    Parameters
    ----------
    width : float, default=0.5
        The parabola spans margins from 1 - width to 1.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [-1.0]]), np.array([[2.0], [0.5]])
    >>> SmoothHinge().pointwise(Y, F).ravel()
    array([0.  , 1.25])
    """

    anywhere = True
    target = "signs"
    rkhs_strength = (0.1, 0.03)
    numbers = {"width": POSITIVE}

    def __init__(self, width: float = 0.5) -> None:
        self.width = width

    def pointwise(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        short = xp.maximum(1 - Y * F, 0)
        curved = xp.minimum(short, self.width)
        return curved * (short - 0.5 * curved) / self.width

    def slope(self, Y: Array, F: Array) -> Array:
        return -Y * namespace(F).clip((1 - Y * F) / self.width, 0, 1)


class Exponential(SumLoss):
    """Boosting's loss, exp(-y f); beyond -y f = 30 it goes on as a straight line, so that it cannot overflow.

    Examples
    --------
    >>> import numpy as np
    >>> Y, F = np.array([[1.0], [-1.0]]), np.array([[2.0], [0.5]])
    >>> Exponential().pointwise(Y, F).round(4).ravel()
    array([0.1353, 1.6487])
    """

    anywhere = True
    target = "signs"
    rkhs_strength = (0.1, 0.03)
    _linear_from = 30.0

    def pointwise(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        t = -Y * F
        inside = xp.minimum(t, self._linear_from)
        return xp.exp(inside) * (1 + t - inside)

    def slope(self, Y: Array, F: Array) -> Array:
        xp = namespace(F)
        return -Y * xp.exp(xp.minimum(-Y * F, self._linear_from))


class Cosine(Loss):
    """Cosine proximity -(y.f) / (|y| |f|) of the whole columns, a mean over columns.

    Not a sum over samples but a function of three sums, y.f, f.f and y.y. Its gradient mixes two directions, y and f.
    """

    anywhere = True
    target = "signs"
    scale_free = True
    _smallest = 1e-150  # keeps the norm of an all-zero prediction from dividing by zero

    def totals(self, Y: Array, F: Array, w: Array) -> Array:
        xp = namespace(F)
        Y, F, w = map(precise, (Y, F, w))
        weighted = w * F
        sums = (xp.sum(product, axis=0) for product in (weighted * Y, weighted * F, w * (Y * Y)))
        return np.stack([on_host(part) for part in sums])

    def value(self, totals: Array) -> float:
        yf, ff, yy = totals
        return float(-np.mean(yf / np.sqrt(np.maximum(ff * yy, self._smallest))))

    def best_scale(self, totals: Array) -> Array:
        yf, ff, _ = totals
        return np.where((yf > 0) & (ff > self._smallest), yf / np.maximum(ff, self._smallest), 1.0)

    def directions(self, Y: Array, F: Array, w: Array) -> tuple[Array, ...]:
        return w * Y, w * F

    def mix(self, totals: Array) -> tuple[Array, ...]:
        yf, ff, yy = totals
        norm = len(yf) * np.sqrt(np.maximum(ff * yy, self._smallest))
        return -1 / norm, yf / (norm * np.maximum(ff, self._smallest))


def _logistic(Y: Array, F: Array) -> tuple[Array, Array]:
    """Return log(1 + exp(-m)) with m = y f and its slope in f, without overflow.

    Uses functions that NumPy has vector instructions for, and as few as possible: each costs a call.
    """
    xp = namespace(F)
    margin = Y * F
    small = xp.exp(-xp.abs(margin))  # at most 1
    losses = xp.log1p(small)
    losses -= xp.minimum(margin, 0)
    slopes = xp.where(margin > 0, small, 1.0)
    small += 1
    slopes /= small
    slopes *= -Y
    return losses, slopes


def _multinomial(Y: Array, F: Array) -> tuple[Array, Array]:
    """Return log(sum_k exp f_k) - f_class of every sample, (n, 1), and its slopes in F."""
    xp = namespace(F)
    top = xp.max(F, axis=1, keepdims=True)
    shares = xp.exp(F - top)
    norm = xp.sum(shares, axis=1, keepdims=True)
    chosen = Y > 0
    losses = top + xp.log(norm)
    losses -= xp.sum(xp.where(chosen, F, 0.0), axis=1, keepdims=True)
    shares /= norm
    return losses, xp.where(chosen, shares - 1, shares)


def _softmax(F: Array) -> Array:
    """Return exp(f) over its sum in every row; SciPy's, for any kind of array, takes longer than a mini-batch."""
    xp = namespace(F)
    shares = xp.exp(F - xp.max(F, axis=1, keepdims=True))
    shares /= xp.sum(shares, axis=1, keepdims=True)
    return shares
