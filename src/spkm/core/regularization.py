"""The penalties on the parameters of a model: which penalty acts on which part of theta."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TypeVar, cast

import numpy as np

from spkm._arrays import Factors
from spkm.core.bounds import Box
from spkm.core.model import PreimageModel
from spkm.core.profiled import JITTER, with_diagonal
from spkm.penalties import Penalty

T = TypeVar("T")


class Regularization:
    """The penalties on the parameters of one model.

    Parameters
    ----------
    model : PreimageModel
        The model.
    basis_penalty, weight_penalty : Penalty, sequence of Penalty or None
        Added to the loss; of several on the same parameters at most one may be without a gradient. A view that has a
        basis penalty of its own keeps to that.
    metric_prior : float, default=0.0
        Strength a of a / 2 * (log factor)^2, which holds a learned bandwidth near its start.
    relevance_prior : float, default=0.0
        Strength a of a / 2 * sum_j max(log w_j, 0)^2, which keeps relevances from growing. Nothing keeps them from
        falling: features that say nothing may leave.
    """

    def __init__(
        self,
        model: PreimageModel,
        basis_penalty: Penalty | Sequence[Penalty] | None,
        weight_penalty: Penalty | Sequence[Penalty] | None,
        metric_prior: float = 0.0,
        relevance_prior: float = 0.0,
    ) -> None:
        self.model = model
        #: The RKHS norm is that of the kernels' part; a linear part has a penalty of its own.
        self.kernels = model.kernel_part or model
        self.weight_penalties: list[Penalty] = as_list(weight_penalty)
        self.metric_prior = metric_prior
        self.relevance_prior = relevance_prior
        by_view = [view.basis_penalty for _, view in model.views]
        #: Penalties on the basis vectors of each view.
        self.view_penalties = [as_list(basis_penalty if own is None else own) for own in by_view]
        self.basis_rough = [_only_rough(penalties, "basis_penalty") for penalties in self.view_penalties]
        self.weight_rough = _only_rough(self.weight_penalties, "weight_penalty")

    def of_basis(self) -> Regularization:
        """Return the penalties on basis and metric alone."""
        other = Regularization(self.model, [], [], self.metric_prior, self.relevance_prior)
        other.view_penalties, other.basis_rough = self.view_penalties, self.basis_rough
        return other

    def quadratic(self) -> tuple[float, float] | None:
        """Return (a, b) if the penalties on the weights are tr C'(a I + b K) C / 2, else None."""
        forms = [penalty.quadratic for penalty in self.weight_penalties]
        if any(form is None for form in forms):
            return None
        return sum(a for a, _ in forms), sum(b for _, b in forms)

    def rough_value(self, theta: np.ndarray) -> float:
        """Return the value of the penalties without a gradient."""
        params = self.model.unpack(theta)
        pairs = zip(self.basis_rough, params.basis, strict=True)
        total = float(sum(penalty.value(U) for penalty, U in pairs if penalty is not None))
        return total if self.weight_rough is None else total + self.weight_rough.value(params.weights)

    def prox(self, theta: np.ndarray, step: Factors, box: Box | None = None) -> np.ndarray:
        """Return the prox of those penalties at ``theta``, among the points of the box if there is one.

        ``step`` is a number, or a theta of which entries of one part are equal. Without a box the intercept and the
        metric stay.
        """
        result = theta.copy() if box is None else np.clip(theta, *box).astype(theta.dtype, copy=False)
        penalties = [*self.basis_rough, self.weight_rough]
        given, moved, steps = map(self._penalized, (theta, result, np.broadcast_to(step, theta.shape)))
        bounds = repeat(()) if box is None else zip(*map(self._penalized, box), strict=True)
        for penalty, A, B, s, within in zip(penalties, given, moved, steps, bounds, strict=False):
            if penalty is not None and A.size:
                B[...] = (penalty.prox_within if within else penalty.prox)(A, float(s.flat[0]), *within)
        return result

    def _penalized(self, theta: np.ndarray) -> list[np.ndarray]:
        """Return the basis of each view and the weights, as views on ``theta``."""
        params = self.model.unpack(theta)
        return [*params.basis, params.weights]

    def smooth(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalties that have a gradient, and their gradient."""
        params = self.model.unpack(theta)
        gradient, parts = self.model.zeros()
        value = 0.0
        for penalties, U, dU in zip(self.view_penalties, params.basis, parts.basis, strict=True):
            for penalty in penalties:
                if penalty.is_smooth:
                    value += penalty.value(U)
                    dU += penalty.gradient(U)
        for penalty in self.weight_penalties:
            if penalty.uses_gram:
                value += self._of_gram(penalty, theta, params.weights, gradient, parts.weights)
            elif penalty.is_smooth:
                value += penalty.value(params.weights)
                parts.weights += penalty.gradient(params.weights)
        for (_, view), p, dp in zip(self.model.views, params.log_metric, parts.log_metric, strict=True):
            if not view.learns_metric:
                continue
            if view.metric == "relevances":
                strength, pulled = self.relevance_prior, np.maximum(p, 0.0)
            else:
                strength, pulled = self.metric_prior, p
            value += 0.5 * strength * float(pulled @ pulled)
            dp += strength * pulled
        return value, gradient

    def _of_gram(
        self, penalty: Penalty, theta: np.ndarray, weights: np.ndarray, gradient: np.ndarray, d_weights: np.ndarray
    ) -> float:
        value = 0.0
        row = 0
        for K, pullback in self.kernels.gram(theta):
            cut = slice(row, row + len(K))
            K = with_diagonal(K, JITTER)
            part, dC, dK = penalty.value_of_gram(weights[cut], K)
            value += part
            d_weights[cut] += dC
            gradient[self.kernels.basis_part] += pullback(dK)
            row += len(K)
        return value


def as_list(given: T | Sequence[T] | None) -> list[T]:
    """Return none, one or several objects as a list."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [cast(T, given)]


def _only_rough(penalties: list[Penalty], argument: str) -> Penalty | None:
    rough = [penalty for penalty in penalties if not penalty.is_smooth]
    if len(rough) > 1:
        raise ValueError(
            f"{argument} may hold one penalty without a gradient; got {rough!r}. "
            "Use ElasticNet or GroupL2(l1_ratio=...)."
        )
    return rough[0] if rough else None
