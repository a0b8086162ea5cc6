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
from itertools import repeat
from typing import TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from spkm._arrays import Factors
from spkm._namespaces import anywhere, place_like
from spkm.core.bounds import Box
from spkm.core.model import PreimageModel
from spkm.core.profiled import JITTER, VariableProjection, with_diagonal
from spkm.losses import Loss
from spkm.penalties import Penalty
from spkm.sources import Block, Source

T = TypeVar("T")


class Regularization:
    """The penalties on the parameters of one model.

    Parameters
    ----------
    model : PreimageModel
        The model.
    basis_penalties, weight_penalties : list of Penalty
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
        basis_penalties: list[Penalty],
        weight_penalties: list[Penalty],
        metric_prior: float = 0.0,
        relevance_prior: float = 0.0,
    ) -> None:
        self.model = model
        #: The RKHS norm is that of the kernels' part; a linear part has a penalty of its own.
        self.kernels = model.kernel_part or model
        self.weight_penalties = weight_penalties
        self.metric_prior = metric_prior
        self.relevance_prior = relevance_prior
        by_view = [view.basis_penalty for _, view in model.views]
        #: Penalties on the basis vectors of each view.
        self.view_penalties = [basis_penalties if own is None else as_list(own) for own in by_view]
        self.basis_rough = [_only_rough(penalties, "basis_penalty") for penalties in self.view_penalties]
        self.weight_rough = _only_rough(weight_penalties, "weight_penalty")

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
        As in :class:`Regularization`.
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
        of_basis: list[Penalty] = as_list(basis_penalty)
        of_weights: list[Penalty] = as_list(weight_penalty)
        self.regularization = Regularization(model, of_basis, of_weights, metric_prior, relevance_prior)
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
    place = place_like(directions[0])
    parts = zip(factors, directions, strict=True)
    total: np.ndarray = sum(place.array(np.asarray(c, dtype=dtype)) * S for c, S in parts)
    return total
