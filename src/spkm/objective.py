"""Where model, loss, penalties and rows meet: L(f(X), Y) + Theta(U) + Omega(C).

Solvers see an :class:`Objective` and a flat vector ``theta``. Its smooth part has a value and a gradient; what is not
smooth has a value and a prox.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spkm.losses import Loss
from spkm.model import PreimageModel
from spkm.penalties import Evidence, Penalty, RKHSNorm
from spkm.sources import Block, Source

JITTER = 1e-6  # on the diagonal of k(U, U), so that equal basis vectors leave it invertible


class Objective:
    """The function a fit minimises.

    Parameters
    ----------
    model : PreimageModel
        The model.
    loss : Loss
        The loss.
    source : Source
        The rows.
    basis_penalty, weight_penalty : Penalty, sequence of Penalty or None
        Added to the loss; of several on the same parameters at most one may have a prox. A view that has a basis
        penalty of its own keeps to that.
    metric_prior : float, default=0.0
        Strength a of a / 2 * |log metric|^2, which holds a learned bandwidth near its start.
    """

    def __init__(
        self,
        model: PreimageModel,
        loss: Loss,
        source: Source,
        basis_penalty: Penalty | Sequence[Penalty] | None = None,
        weight_penalty: Penalty | Sequence[Penalty] | None = None,
        metric_prior: float = 0.0,
    ) -> None:
        self.model = model
        self.loss = loss
        self.source = source
        self.basis_penalties = as_list(basis_penalty)
        self.weight_penalties = as_list(weight_penalty)
        self.metric_prior = metric_prior
        by_view = [view.basis_penalty for _, view in model.views]
        #: Penalties on the basis vectors of each view.
        self.view_penalties = [self.basis_penalties if own is None else as_list(own) for own in by_view]
        self._basis_prox = [_only_prox(penalties, "basis_penalty") for penalties in self.view_penalties]
        self._weight_prox = _only_prox(self.weight_penalties, "weight_penalty")

    @property
    def is_smooth(self) -> bool:
        """Whether all penalties have a gradient."""
        return self.is_profilable and self._weight_prox is None

    @property
    def has_weight_prox(self) -> bool:
        """Whether the weights carry a penalty without a gradient."""
        return self._weight_prox is not None

    @property
    def is_profilable(self) -> bool:
        """Whether the basis penalty is smooth, so that only the weights stand in the way of an elimination."""
        return all(prox is None for prox in self._basis_prox)

    def on(self, source: Source) -> Objective:
        """Return the same objective on other rows."""
        return Objective(self.model, self.loss, source, self.basis_penalties, self.weight_penalties, self.metric_prior)

    def value(self, theta: np.ndarray) -> float:
        """Return the whole objective; one pass, without the gradient."""
        loss = self.loss.value(self.totals(theta))
        return loss + self.smooth_penalty(theta)[0] + self.penalty(theta)

    def totals(self, theta: np.ndarray) -> np.ndarray:
        """Return the loss's totals; one pass."""
        return self.source.reduce(block_totals, self.model, self.loss, theta, width=self.model.n_basis)[0]

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the smooth part and its gradient: one pass (two for a coupled loss of several outputs)."""
        model, loss = self.model, self.loss
        coupled = model.n_outputs > 1 and len(loss.mix(np.ones((3, model.n_outputs)))) > 1
        totals = self.totals(theta) if coupled else None
        totals, *parts = self.source.reduce(block_gradient, model, loss, theta, totals, width=model.n_basis)
        value, gradient = self.smooth_penalty(theta)
        for factor, part in zip([1.0] if coupled else loss.mix(totals), parts, strict=True):
            gradient += factor * part
        return loss.value(totals) + value, gradient

    def block_loss(self, block: Block, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient with one block standing for all rows, as a stochastic solver wants."""
        F, pullback = self.model.vjp(block, theta)
        totals = self.loss.totals(block.Y, F, block.w)
        return self.loss.value(totals), pullback(cotangent(block, self.loss, F, totals))

    def penalty(self, theta: np.ndarray) -> float:
        """Return the value of the penalties that are not smooth."""
        params = self.model.unpack(theta)
        pairs = zip(self._basis_prox, params.basis, strict=True)
        total = float(sum(prox.value(U) for prox, U in pairs if prox is not None))
        if self._weight_prox is not None:
            total += self._weight_prox.value(params.weights)
        return total

    def prox(self, theta: np.ndarray, step: Any) -> np.ndarray:
        """Return the prox of those penalties at ``theta``; the intercept and the metric stay.

        ``step`` is a number, or a theta of which entries of one part are equal.
        """
        result = theta.copy()
        params = self.model.unpack(result)
        steps = self.model.unpack(np.broadcast_to(step, theta.shape))
        for prox, U, s in zip(self._basis_prox, params.basis, steps.basis, strict=True):
            if prox is not None and U.size:
                U[...] = prox.prox(U, float(s.flat[0]))
        if self._weight_prox is not None:
            params.weights[...] = self._weight_prox.prox(params.weights, float(steps.weights.flat[0]))
        return result

    def smooth_penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalties that have a gradient, and their gradient."""
        model = self.model
        params = model.unpack(theta)
        gradient, parts = model.zeros()
        value = 0.0
        for penalties, U, dU in zip(self.view_penalties, params.basis, parts.basis, strict=True):
            for penalty in penalties:
                if is_smooth(penalty):
                    value += penalty.value(U)
                    dU += penalty.gradient(U)
        for penalty in self.weight_penalties:
            if isinstance(penalty, RKHSNorm):
                value += self._rkhs(penalty, theta, params.weights, gradient, parts.weights)
            elif hasattr(penalty, "gradient"):
                value += penalty.value(params.weights)
                parts.weights += penalty.gradient(params.weights)
        if self.metric_prior:
            for p, dp in zip(params.log_metric, parts.log_metric, strict=True):
                value += 0.5 * self.metric_prior * float(p @ p)
                dp += self.metric_prior * p
        return value, gradient

    def _rkhs(
        self, penalty: RKHSNorm, theta: np.ndarray, weights: np.ndarray, gradient: np.ndarray, d_weights: np.ndarray
    ) -> float:
        value = 0.0
        row = 0
        for K, pullback in self.model.gram(theta):
            cut = slice(row, row + len(K))
            K = K.copy()
            K.flat[:: len(K) + 1] += JITTER
            part, dC, dK = penalty.value_of_gram(weights[cut], K)
            value += part
            d_weights[cut] += dC
            gradient[self.model.basis_part] += pullback(dK)
            row += len(K)
        return value


def block_totals(block: Block, model: PreimageModel, loss: Loss, theta: np.ndarray) -> tuple[np.ndarray]:
    """Return the loss's totals over a block."""
    return (loss.totals(block.Y, model.predict(block, theta), block.w),)


def block_gradient(
    block: Block, model: PreimageModel, loss: Loss, theta: np.ndarray, totals: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """Return a block's totals and its gradients along the directions, or along their mix if ``totals`` is given."""
    F, pullback = model.vjp(block, theta)
    if totals is None:
        directions = loss.directions(block.Y, F, block.w)
    else:
        directions = (cotangent(block, loss, F, totals),)
    return loss.totals(block.Y, F, block.w), *(pullback(S) for S in directions)


def cotangent(block: Block, loss: Loss, F: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return dL/dF, (n, m), in the dtype of F."""
    parts = zip(loss.mix(totals), loss.directions(block.Y, F, block.w), strict=True)
    return np.asarray(sum(np.asarray(c, dtype=F.dtype) * S for c, S in parts))


def as_list(penalty: Penalty | Sequence[Penalty] | None) -> list[Any]:
    """Return the penalties as a list."""
    if penalty is None:
        return []
    return list(penalty) if isinstance(penalty, list | tuple) else [penalty]


def is_smooth(penalty: Penalty) -> bool:
    """Whether a penalty has a gradient."""
    return isinstance(penalty, RKHSNorm | Evidence) or hasattr(penalty, "gradient")


def _only_prox(penalties: list[Any], argument: str) -> Any:
    rough = [p for p in penalties if not is_smooth(p)]
    if len(rough) > 1:
        raise ValueError(
            f"{argument} may hold one penalty without a gradient; got {rough!r}. "
            "Use ElasticNet or GroupL2(l1_ratio=...)."
        )
    return rough[0] if rough else None
