"""Penalties on the basis vectors U (R, d) and on the weights C (R, m).

A penalty has a ``value``; a smooth one has a ``gradient`` too, another a ``prox``: prox(A, step) is the minimiser
over B of |B - A|^2 / 2 + step * value(B), and prox_within(A, step, low, high) the one among all B between bounds. None
of them changes its argument. A penalty that needs the kernel matrix K of the basis has ``value_of_gram(C, K)`` instead.
One that is a quadratic form, tr C'(a I + b K) C / 2, says so by ``quadratic``: with squared loss the weights can then
be eliminated. :class:`Evidence` is no penalty but takes the place of one: it needs another objective.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from spkm._arrays import Array, Factors, Integers
from spkm._parts import Number, Part, Registry
from spkm._proxes import dykstra, onto_l1_ball, shrink_factors, shrink_groups, soft_threshold

#: A number that waits for the data.
Auto = Literal["auto"]


def by_dykstra(penalty: Penalty, A: Array, step: float, low: Factors, high: Factors) -> Array:
    """Return the prox of A between bounds, for any convex penalty that has a prox without them."""
    return dykstra(lambda B: penalty.prox(B, step), A, low, high)


class Penalty(Part):
    """Base of all penalties. ``on`` names the parameters that it may be used for."""

    numbers = {"strength": Number()}
    claims = {
        "quadratic": (("value", "gradient", "value_of_gram"), None),
        "prox_within": (("value", "prox"), by_dykstra),
    }
    on: tuple[str, ...] = ("basis", "weights")
    #: Whether it needs the kernel matrix of the basis, and has ``value_of_gram(C, K)``.
    uses_gram = False
    #: Whether its strength is one that a search may multiply by a factor.
    is_tunable = False
    #: Whether it needs the evidence in place of a penalised loss.
    is_evidence = False
    #: (a, b) if the penalty is tr C'(a I + b K) C / 2 with K the kernel matrix of the basis, else None.
    quadratic: Any = None

    #: Whether the penalty has a gradient.
    is_smooth = False
    #: The prox among the points between two bounds: a formula where there is one, else Dykstra's algorithm.
    prox_within: Any = by_dykstra

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "is_smooth" not in vars(cls):
            cls.is_smooth = cls.uses_gram or cls.gradient is not Penalty.gradient

    def with_factor(self, factor: float) -> Penalty:
        """Return the penalty with its strength multiplied by ``factor`` if it :attr:`is_tunable`, else itself."""
        return self

    def with_default(self, strength: float) -> Penalty:
        """Return the penalty with ``strength`` where its own is "auto", else itself."""
        return self

    def value(self, A: Array) -> float:
        """Return the penalty of A."""
        raise NotImplementedError(f"{type(self).__name__} must define value(A).")

    def gradient(self, A: Array) -> Array:
        """Return the gradient of the penalty at A; for a penalty that is smooth."""
        raise NotImplementedError(f"{type(self).__name__} must define gradient(A), or prox(A, step).")

    def prox(self, A: Array, step: float) -> Array:
        """Return the minimiser of |B - A|^2 / 2 + step * value(B); for a penalty that is not smooth."""
        raise NotImplementedError(f"{type(self).__name__} must define prox(A, step).")

    def support(self, A: Array) -> NDArray[np.bool_]:
        """Return which entries of A are in use, a boolean array like A."""
        used: NDArray[np.bool_] = A != 0
        return used


class SquaredL2(Penalty):
    """strength / 2 * sum of squares.

    Parameters
    ----------
    strength : float, default=1e-3
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[3.0, -1.0], [0.0, 0.5]])
    >>> SquaredL2(2.0).value(A)
    10.25
    """

    def __init__(self, strength: float = 1e-3) -> None:
        self.strength = strength

    def value(self, A: Array) -> float:
        return 0.5 * self.strength * float(np.vdot(A, A))

    @property
    def quadratic(self) -> tuple[float, float]:
        return self.strength, 0.0

    def gradient(self, A: Array) -> Array:
        """Return the derivative of the value in A."""
        return self.strength * A


class L1(Penalty):
    """strength * sum of absolute values: entries become exactly zero.

    Parameters
    ----------
    strength : float, default=1e-3
        The factor.
    nonnegative : bool, default=False
        Whether entries must not be negative.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[3.0, -1.0], [0.0, 0.5]])
    >>> L1(1.0).value(A)
    4.5
    >>> L1(1.0).prox(A, 1.0)      # entries shrink by one, small ones to zero
    array([[ 2., -0.],
           [ 0.,  0.]])
    """

    def __init__(self, strength: float = 1e-3, nonnegative: bool = False) -> None:
        self.strength = strength
        self.nonnegative = nonnegative

    def value(self, A: Array) -> float:
        if self.nonnegative and np.min(A, initial=0.0) < 0:
            return np.inf
        return self.strength * float(np.abs(A).sum())

    def prox(self, A: Array, step: float) -> Array:
        """Return the soft threshold of A."""
        if self.nonnegative:
            return np.maximum(A - step * self.strength, 0)
        return soft_threshold(A, step * self.strength)

    def prox_within(self, A: Array, step: float, low: Factors, high: Factors) -> Array:
        """Return the prox of A between bounds: entry by entry, the nearest number between them."""
        return np.clip(self.prox(A, step), low, high)


class ElasticNet(Penalty):
    """strength * (l1_ratio * |A|_1 + (1 - l1_ratio) / 2 * |A|^2).

    Parameters
    ----------
    strength : float, default=1e-3
        The factor.
    l1_ratio : float, default=0.5
        The share of the first term.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[3.0, -1.0], [0.0, 0.5]])
    >>> ElasticNet(1.0, l1_ratio=0.5).value(A)
    4.8125
    """

    numbers = {"strength": Number(), "l1_ratio": Number(most=1.0)}

    def __init__(self, strength: float = 1e-3, l1_ratio: float = 0.5) -> None:
        self.strength = strength
        self.l1_ratio = l1_ratio

    def value(self, A: Array) -> float:
        squares = 0.5 * (1 - self.l1_ratio) * float(np.vdot(A, A))
        return self.strength * (self.l1_ratio * float(np.abs(A).sum()) + squares)

    def prox(self, A: Array, step: float) -> Array:
        """Return the soft threshold of A, shrunk."""
        shrunk = soft_threshold(A, step * self.strength * self.l1_ratio)
        return shrunk / (1 + step * self.strength * (1 - self.l1_ratio))

    def prox_within(self, A: Array, step: float, low: Factors, high: Factors) -> Array:
        """Return the prox of A between bounds: entry by entry, the nearest number between them."""
        return np.clip(self.prox(A, step), low, high)


class L1Ball(Penalty):
    """Each row of A has an l1 norm of at most ``radius``: zero inside, infinite outside.

    Parameters
    ----------
    radius : float, default=1.0
        The radius P of the ball.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[3.0, -1.0], [0.0, 0.5]])
    >>> L1Ball(2.0).prox(A, 1.0)
    array([[ 2. , -0. ],
           [ 0. ,  0.5]])
    """

    numbers = {"radius": Number()}

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = radius

    def value(self, A: Array) -> float:
        norms = np.abs(A).sum(axis=1)
        return 0.0 if np.all(norms <= self.radius * (1 + 1e-6)) else np.inf

    def prox(self, A: Array, step: float) -> Array:
        """Return the Euclidean projection of each row onto the ball (any step)."""
        return onto_l1_ball(A, self.radius, -np.inf, np.inf)

    def prox_within(self, A: Array, step: float, low: Factors, high: Factors) -> Array:
        """Return the point of the ball, between bounds, that is nearest to each row (any step)."""
        return onto_l1_ball(A, self.radius, low, high)


class GroupL2(Penalty):
    """strength * sum over groups of features of sqrt(size of the group) * |A[:, group]|.

    A group leaves all basis vectors at once.
    Without ``groups`` each feature is a group: the l2,1 norm over features. With ``l1_ratio`` above 0 entries inside a
    group become zero too (sparse group).

    Parameters
    ----------
    strength : float, default=1e-3
        The factor.
    groups : array-like of shape (d,), default=None
        A label for every feature; features of one label are one group.
    l1_ratio : float, default=0.0
        Share of an additional entrywise l1 norm.
    nonnegative : bool, default=False
        Whether entries must not be negative.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[3.0, -1.0], [0.0, 0.5]])
    >>> round(GroupL2(1.0).value(A), 4)
    4.118
    """

    on = ("basis",)
    numbers = {"strength": Number(), "l1_ratio": Number(most=1.0)}

    def __init__(
        self, strength: float = 1e-3, groups: ArrayLike | None = None, l1_ratio: float = 0.0, nonnegative: bool = False
    ) -> None:
        self.strength = strength
        self.groups = groups
        self.l1_ratio = l1_ratio
        self.nonnegative = nonnegative

    def _labels(self, d: int) -> Integers:
        labels = np.unique(np.asarray(self.groups), return_inverse=True)[1]
        if labels.shape != (d,):
            raise ValueError(
                f"groups must hold one label for each of the {d} features; got {np.asarray(self.groups).shape}."
            )
        return labels

    def _norms(self, A: Array) -> tuple[Any, Array, Any]:
        if self.groups is None:
            return slice(None), np.sqrt(np.einsum("rj,rj->j", A, A)), np.ones(A.shape[1])
        labels = self._labels(A.shape[1])
        squares = np.bincount(labels, weights=np.einsum("rj,rj->j", A, A))
        return labels, np.sqrt(squares), np.sqrt(np.bincount(labels))

    def value(self, A: Array) -> float:
        if self.nonnegative and np.min(A, initial=0.0) < 0:
            return np.inf
        _, norms, size = self._norms(A)
        groups = (1 - self.l1_ratio) * float(size @ norms)
        return self.strength * (groups + self.l1_ratio * float(np.abs(A).sum()))

    def prox(self, A: Array, step: float) -> Array:
        """Return the entrywise soft threshold, then that of the groups' norms: exact for the sum of the two."""
        A = L1(self.strength * self.l1_ratio, self.nonnegative).prox(A, step)
        labels, norms, size = self._norms(A)
        factors: Array = shrink_factors(norms, step * self.strength * (1 - self.l1_ratio) * size)[labels]
        return A * factors

    def prox_within(self, A: Array, step: float, low: Factors, high: Factors) -> Array:
        """Return the prox of A between bounds: exact, by a search for the norm of each group."""
        A = soft_threshold(A, step * self.strength * self.l1_ratio)
        labels, _, size = self._norms(A)
        groups = np.broadcast_to(np.arange(A.shape[1])[labels], A.shape)
        thresholds = step * self.strength * (1 - self.l1_ratio) * size
        return shrink_groups(A, groups, thresholds, np.maximum(low, 0.0) if self.nonnegative else low, high)


class RowL2(Penalty):
    """strength * sum over rows of their l2 norm: a basis vector leaves for all outputs at once.

    Parameters
    ----------
    strength : float, default=1e-3
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[3.0, -1.0], [0.0, 0.5]])
    >>> round(RowL2(1.0).value(A), 4)
    3.6623
    """

    on = ("weights",)

    def __init__(self, strength: float = 1e-3) -> None:
        self.strength = strength

    def value(self, A: Array) -> float:
        return self.strength * float(np.linalg.norm(A, axis=1).sum())

    def prox(self, A: Array, step: float) -> Array:
        """Return A with the norm of every row reduced."""
        return A * shrink_factors(np.linalg.norm(A, axis=1), step * self.strength)[:, None]

    def prox_within(self, A: Array, step: float, low: Factors, high: Factors) -> Array:
        """Return the prox of A between bounds: exact, by a search for the norm of each row."""
        groups = np.broadcast_to(np.arange(len(A))[:, None], A.shape)
        return shrink_groups(A, groups, np.full(len(A), step * self.strength), low, high)


class RKHSNorm(Penalty):
    """strength / 2 * trace(C' k(U, U) C), the squared norm of f in the kernel's Hilbert space.

    Smooth in the weights, the basis and the bandwidth.

    Parameters
    ----------
    strength : float or "auto", default="auto"
        The factor; "auto" is the loss's default over the total weight of the samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SPKMClassifier(3, weight_penalty=RKHSNorm(0.01), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    on = ("weights",)
    numbers = {"strength": Number(others=("auto",))}
    uses_gram = True
    is_tunable = True

    def __init__(self, strength: float | Auto = "auto") -> None:
        self.strength: Any = strength

    @property
    def quadratic(self) -> tuple[float, float]:
        return 0.0, self.strength

    def with_factor(self, factor: float) -> Penalty:
        other: Penalty = clone(self).set_params(strength=self.strength * factor)
        return other

    def with_default(self, strength: float) -> Penalty:
        return clone(self).set_params(strength=strength) if isinstance(self.strength, str) else self

    def value_of_gram(self, C: Array, K: Array) -> tuple[float, Array, Array]:
        """Return the value and its derivatives in C and in the kernel matrix K of the basis."""
        KC = K @ C
        return 0.5 * self.strength * float(np.vdot(C, KC)), self.strength * KC, 0.5 * self.strength * (C @ C.T)


# The ridge over the RKHS norm. Cancellation is 4.0 in the median without it, 2.4 with 0.1 and 2.2 with 0.3, at equal
# accuracy. A ridge alone loses 0.3 ± 0.15 points: several vectors of a small weight at one place cost less than one of
# their sum, where the norm pushes vectors of one sign apart (sets of half A of the panel and of Table 1).
RIDGE_SHARE = 0.3


def norm_with_ridge(strength: float) -> list[Penalty]:
    """Return an RKHS norm of the given strength, and a ridge of a share of it."""
    return [RKHSNorm(strength), SquaredL2(RIDGE_SHARE * strength)]


FIRST_NOISE = 0.01  # ratio that the first stage of an evidence keeps; 0.1 and 1 find worse optima more often
ORDINARY_NOISE = 0.1  # ratio where nothing is known


class Evidence(Penalty):
    """Marginal likelihood (DTC with a tempered trace term) of the sparse Gaussian process whose mean the model is.

    It needs squared loss. DTC, the deterministic training conditional, is also known as projected process; its marginal
    likelihood is that of SoR, the subset of regressors. It is neither FITC nor a variational bound (VFE):
    :class:`spkm.core.evidence.EvidenceObjective` has the formula.

    Strength of the RKHS norm, relevances of the features and basis are learned together, without a grid or a hold-out.
    It is not added to the loss but takes its place: the objective is :class:`spkm.core.evidence.EvidenceObjective`.

    Parameters
    ----------
    trace : float or "auto", default="auto"
        Weight of the trace term that keeps the basis near the data; "auto" is min(0.2, 0.8 sqrt(R) d / n). 0 is the
        marginal likelihood of DTC, which overfits, measured; 1 is the variational bound.
    prior : float, default=2.0
        Strength of the pull of log relevances towards their mean, over the total weight of the samples.
    noise : float or "auto", default="auto"
        First ratio of noise to signal variance. "auto" is 0.01, which a first stage of few iterations keeps: the
        evidence by itself may end at the constant model from a rough start.
    ridge : float or "auto", default="auto"
        Added to the diagonal of k(U, U) in the penalty, which keeps weights of near vectors from cancelling. "auto"
        raises it from 0.001 to 1 at most, while the objective stays within 0.1 of its lowest value: 10 % of the
        deviation of the noise. It is for a single stationary kernel, and 0 for others.
    linear_variance : float or "auto", default="auto"
        First variance of the coefficients of a linear part over that of the kernels; "auto" is one over the number of
        features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spkm import SPKMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SPKMRegressor(5, weight_penalty=Evidence(ridge=0.0), random_state=0).fit(X, y).score(X, y) > 0.4
    True
    """

    on = ("weights",)
    numbers = {
        "trace": Number(others=("auto",)),
        "prior": Number(),
        "noise": Number(strict=True, others=("auto",)),
        "ridge": Number(others=("auto",)),
        "linear_variance": Number(strict=True, others=("auto",)),
    }
    is_evidence = True
    is_smooth = True

    def __init__(
        self,
        trace: float | Auto = "auto",
        prior: float = 2.0,
        noise: float | Auto = "auto",
        ridge: float | Auto = "auto",
        linear_variance: float | Auto = "auto",
    ) -> None:
        self.trace = trace
        self.prior = prior
        self.noise = noise
        self.ridge = ridge
        self.linear_variance = linear_variance

    @property
    def first_noise(self) -> float:
        """The first ratio of noise to signal variance."""
        return FIRST_NOISE if isinstance(self.noise, str) else float(self.noise)

    def as_penalty(self, n: float) -> Penalty:
        """Return the RKHS norm that the evidence amounts to at its first noise, for a total weight of ``n``."""
        return RKHSNorm(2.0 * (ORDINARY_NOISE if isinstance(self.noise, str) else self.noise) / n)


BASIS_PENALTIES = Registry("basis_penalty", Penalty)
BASIS_PENALTIES.update(l1=L1, l1_ball=L1Ball, l2=SquaredL2, elastic_net=ElasticNet, features=GroupL2)
WEIGHT_PENALTIES = Registry("weight_penalty", Penalty)
WEIGHT_PENALTIES.update(rkhs=RKHSNorm, l1=L1, rows=RowL2, l2=SquaredL2, elastic_net=ElasticNet, evidence=Evidence)
