"""The sum of loss and penalties over samples: L(f(X), Y) + Theta(U) + Omega(C).

Solvers see an :class:`Objective` and a flat vector ``theta``. Its smooth part has a value and a gradient; what is not
smooth has a value and a prox. An objective lists in ``offers`` what a solver may use:

- "gradient": ``value_and_gradient`` is that of the whole objective;
- "prox": beside it there is ``prox``, of penalties without a gradient;
- "batches": ``block_loss`` lets a block stand for all samples;
- "elimination": ``eliminated`` returns the objective without its weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from spkm._arrays import Factors
from spkm._namespaces import anywhere, moved_beside
from spkm.core.bounds import Box
from spkm.core.model import PreimageModel
from spkm.core.profiled import VariableProjection
from spkm.core.regularization import Regularization
from spkm.losses import Loss
from spkm.penalties import Penalty
from spkm.sources import Block, Source


class Objective:
    """The function a fit minimises.

    Parameters
    ----------
    model : PreimageModel
        The model.
    loss : Loss
        The loss.
    source : Source
        The samples.
    basis_penalty, weight_penalty : Penalty, sequence of Penalty or None
    metric_prior, relevance_prior : float, default=0.0
        As in :class:`spkm.core.regularization.Regularization`.
    box : tuple of two ndarray, default=None
        The least and the largest theta; None is no bound.
    """

    def __init__(
        self,
        model: PreimageModel,
        loss: Loss,
        source: Source,
        basis_penalty: Penalty | Sequence[Penalty] | None = None,
        weight_penalty: Penalty | Sequence[Penalty] | None = None,
        metric_prior: float = 0.0,
        relevance_prior: float = 0.0,
        box: Box | None = None,
    ) -> None:
        self.model = model
        self.loss = loss
        self.source = source
        self.box = box
        self.regularization = Regularization(model, basis_penalty, weight_penalty, metric_prior, relevance_prior)
        basis_smooth = all(rough is None for rough in self.regularization.basis_rough)
        self.has_weight_prox = self.regularization.weight_rough is not None
        self.is_smooth = basis_smooth and not self.has_weight_prox
        #: Whether the best weights for a basis are those of a ridge regression.
        fixed = any(term.is_linear_part for term in model.terms) or any(view.monotone for _, view in model.views)
        self.can_eliminate = loss.is_quadratic and self.regularization.quadratic() is not None and not fixed
        self.offers = (
            "prox",
            "batches",
            *(("gradient",) if self.is_smooth else ()),
            *(("elimination",) if self.can_eliminate and basis_smooth else ()),
        )

    def why_not(self, need: str) -> str:
        """Return why a solver's ``need`` is not offered, and what to do."""
        if need == "gradient":
            return "it needs penalties with a gradient. Use solver='proximal'."
        if not self.loss.is_quadratic:
            return "it eliminates the weights of a squared loss only. Use solver='lbfgs', or loss='squared'."
        return (
            "it needs weight_penalty 'rkhs', 'l2', 'evidence' or None and a smooth basis_penalty. "
            "Use solver='proximal'."
        )

    def on(self, source: Source) -> Objective:
        """Return the same objective on other samples."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, source=source)
        return other

    def eliminated(self) -> VariableProjection:
        """Return the objective without its weights, which are always the best for the basis."""
        form = self.regularization.quadratic()
        assert form is not None
        return VariableProjection(self.model, self.source, self.regularization.of_basis().smooth, *form)

    def value(self, theta: np.ndarray) -> float:
        """Return the whole objective; one pass, without the gradient."""
        loss = self.loss.value(self.totals(theta))
        return loss + self.regularization.smooth(theta)[0] + self.penalty(theta)

    def totals(self, theta: np.ndarray) -> np.ndarray:
        """Return the loss's totals; one pass."""
        totals: np.ndarray
        (totals,) = self.source.reduce(block_totals, self.model, self.loss, theta, width=self.model.n_basis)
        return totals

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the smooth part and its gradient: one pass (two for a coupled loss of several outputs)."""
        model, loss = self.model, self.loss
        twice = loss.coupled and model.n_outputs > 1
        totals = self.totals(theta) if twice else None
        totals, *parts = self.source.reduce(block_gradient, model, loss, theta, totals, width=model.n_basis)
        value, gradient = self.regularization.smooth(theta)
        for factor, part in zip([1.0] if twice else loss.mix(totals), parts, strict=True):
            gradient += factor * part
        return loss.value(totals) + value, gradient

    def block_loss(self, block: Block, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient with one block standing for all samples, as a stochastic solver wants."""
        F, pullback = self.model.vjp(block, theta)
        totals, directions = self.loss.totals_and_directions(block.Y, F, block.w)
        return self.loss.value(totals), pullback(mixed(self.loss, totals, directions, block.dtype), last=True)

    def smooth_penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalties that have a gradient, and their gradient."""
        return self.regularization.smooth(theta)

    def penalty(self, theta: np.ndarray) -> float:
        """Return the value of the penalties that are not smooth."""
        return self.regularization.rough_value(theta)

    def prox(self, theta: np.ndarray, step: Factors) -> np.ndarray:
        """Return the prox of those penalties at ``theta``, among the points of the box."""
        return self.regularization.prox(theta, step, self.box)

    def inside(self, theta: np.ndarray) -> np.ndarray:
        """Return the point of the box that is nearest to ``theta``."""
        return theta if self.box is None else np.clip(theta, *self.box).astype(theta.dtype, copy=False)


@anywhere
def block_totals(block: Block, model: PreimageModel, loss: Loss, theta: np.ndarray) -> tuple[np.ndarray]:
    """Return the loss's totals over a block."""
    return (loss.totals(block.Y, model.predict(block, theta), block.w),)


@anywhere
def block_gradient(
    block: Block, model: PreimageModel, loss: Loss, theta: np.ndarray, totals: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """Return a block's totals and its gradients along the directions, or along their mix if ``totals`` is given."""
    F, pullback = model.vjp(block, theta)
    found, directions = loss.totals_and_directions(block.Y, F, block.w)
    if totals is not None:
        directions = (mixed(loss, totals, directions, block.dtype),)
    only = len(directions) == 1
    return found, *(pullback(S, last=only) for S in directions)


def cotangent(block: Block, loss: Loss, F: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return dL/dF, (n, m), in the dtype of F."""
    return mixed(loss, totals, loss.directions(block.Y, F, block.w), F.dtype)


def mixed(loss: Loss, totals: np.ndarray, directions: tuple[np.ndarray, ...], dtype: DTypeLike) -> np.ndarray:
    """Return the sum of the directions times their factors."""
    factors = loss.mix(totals)
    if len(factors) == 1 and np.ndim(factors[0]) == 0 and factors[0] == 1:
        return directions[0]
    parts = zip(factors, directions, strict=True)
    total: np.ndarray = sum(moved_beside(S, np.asarray(c, dtype=dtype)) * S for c, S in parts)
    return total
