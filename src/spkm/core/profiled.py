"""Squared loss with the weights eliminated: functions of the sums Phi'W Phi, Phi'W Y, Y'W Y and of k(U, U) alone.

With squared loss the best weights and intercept for a basis are those of a ridge regression. The rest is a
function of the basis (and of the metric), smoother and far quicker to minimise than the joint one. The functions built
on this see the samples through the weighted moments

    S = A' W A,   A = [Phi, 1, Y] and, beside a linear part, [Phi, 1, Y, X],

so a pass adds up S, small algebra gives dS, and a second pass pulls 2 w A dS back through the kernels. While n R is
small the features of the first pass are kept and the second costs the pullback only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from spkm._namespaces import anywhere, namespace, on_host, precise
from spkm.core.bounds import Box
from spkm.core.cholesky import factor, solve
from spkm.core.model import PreimageModel
from spkm.sources import Block, Source

KEPT = 2**21  # entries of Phi up to which features are kept between the two passes: 16 MB
JITTER = 1e-6  # on the diagonal of k(U, U), so that equal basis vectors leave it invertible
SOLVABLE = 1e-12  # times the diagonal, added to it: rank-deficient features without a penalty stay solvable
ROUNDED = 8 * float(np.finfo(np.float64).eps)  # of second moments, over their size, for each row of a matrix of them
TINY = 1e-300  # added to a diagonal: kernel values may all be zero
SmoothPenalty = Callable[[np.ndarray], tuple[float, np.ndarray]]


class ProfiledObjective:
    """Base: minimised over ``phi``, the basis part of theta and what a subclass appends to it.

    Parameters
    ----------
    model : PreimageModel
        The model.
    source : Source
        The samples.
    basis_penalty : callable
        Returns the penalties on basis and metric of a theta, and their gradient.
    """

    #: Added to the diagonal of k(U, U) beside the jitter.
    diagonal = 0.0
    #: Stronger ones to come.
    ridges: tuple[float, ...] = ()

    def __init__(self, model: PreimageModel, source: Source, basis_penalty: SmoothPenalty) -> None:
        self.model = model
        self.source = source
        self.basis_penalty = basis_penalty
        #: The model without a linear part, whose coefficients are eliminated like the weights: its basis is learned.
        self.kernels = model.kernel_part or model
        #: Places of each term's vectors among all of them.
        sizes = accumulate((t.n_basis for t in self.kernels.terms), initial=0)
        self.term_rows = [slice(a, b) for a, b in pairwise(sizes)]
        self.has_linear_part = self.kernels is not model
        #: X'WX beside a linear part, which no parameter changes; a subclass that allows for one adds it up.
        self.of_columns = np.zeros((0, 0))

    def outer(
        self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray
    ) -> tuple[float, np.ndarray, list[np.ndarray], np.ndarray]:
        """Return the value and its derivatives in S, in the terms' kernel matrices and in the extra parameters."""
        raise NotImplementedError

    def weights(self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> np.ndarray:
        """Return the best weights and intercept, flat as in theta."""
        raise NotImplementedError

    def start(self, theta: np.ndarray) -> np.ndarray:
        """Return the first phi of a first theta."""
        return theta[self.kernels.basis_part].copy()

    def bounds(self, box: Box | None) -> Box | None:
        """Return the least and the largest phi, from those of theta."""
        stop = self.kernels.basis_part.stop
        return None if box is None else (box[0][:stop], box[1][:stop])

    def first_stage(self) -> ProfiledObjective | None:
        """Return an objective of the same phi to begin with, for a few iterations; None where none is needed."""
        return None

    def last_stages(self) -> Sequence[ProfiledObjective]:
        """Return objectives of the same phi to go on with, one after another while they say nearly the same."""
        return []

    def with_ridge_of(self, other: ProfiledObjective) -> ProfiledObjective:
        """Return the same objective with what the stages of another added to the diagonal of k(U, U)."""
        return self

    def noise(self, phi: np.ndarray) -> float | None:
        """Return the ratio of noise to signal variance; None if it is not learned."""
        return None

    def with_enough_noise(self, phi: np.ndarray) -> np.ndarray:
        """Return phi with so much noise, where that is learned, that the value is finite; as it is if none suffices."""
        return phi

    def linear_variance(self, phi: np.ndarray) -> float | None:
        """Return the variance of a linear part's coefficients over that of the kernels; None if it is not learned."""
        return None

    def complete(self, phi: np.ndarray) -> np.ndarray:
        """Return the theta of ``phi`` with its best weights."""
        theta = self._theta(phi)
        S = self._summed(theta)
        if not np.all(np.isfinite(S)):
            raise FloatingPointError(
                "The kernel is not finite on these samples. Scale X (scale=True), or lower the kernel's gamma."
            )
        return self._completed(theta, self._normalized(S), [K for K, _ in self._grams(theta)], phi)

    def _completed(self, theta: np.ndarray, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> np.ndarray:
        theta[self.model.weights_part] = self.weights(S, grams, phi)
        return theta

    def _summed(self, theta: np.ndarray) -> np.ndarray:
        parts = self.kernels, theta, self.has_linear_part
        return self._squared(self.source.reduce(block_moments, *parts, width=self.kernels.n_basis)[0])

    def _squared(self, S: np.ndarray) -> np.ndarray:
        """Return the moments of all columns from those of [Phi, 1, Y] with all: the rest does not change."""
        if not self.has_linear_part:
            return S
        return np.concatenate([S, np.concatenate([S[:, len(S) :].T, self.of_columns], axis=1)])

    def value_and_gradient(self, phi: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the profiled objective and its gradient; not finite where a factorisation fails."""
        model, source, width = self.kernels, self.source, self.kernels.n_basis
        theta = self._theta(phi)
        kept: Any = None
        if source.n_rows * width <= KEPT and source.keeps_features:
            kept = list(source.map(_kept_features, model, theta, self.has_linear_part, width=width))
            S = self._squared(np.asarray(sum(source.each(_moments_of, kept))))
        else:
            S = self._summed(theta)
        grams = self._grams(theta)
        try:
            value, dS, dKs, d_extra = self.outer(self._normalized(S), [K for K, _ in grams], phi)
        except (LinAlgError, ValueError):
            return np.inf, np.zeros_like(phi)
        if not np.isfinite(value):
            return np.inf, np.zeros_like(phi)
        if kept is not None:
            gradient: Any = sum(source.each(partial(_pull, dS=dS, width=width), kept))
        else:
            gradient = source.reduce(_block_pull, model, theta, dS, self.has_linear_part, width=width)[0]
        for (_, pullback), dK in zip(grams, dKs, strict=True):
            gradient = gradient + pullback(0.5 * (dK + dK.T))
        penalty, d_penalty = self.penalty(theta)
        return value + penalty, np.concatenate([gradient + d_penalty[model.basis_part], d_extra])

    def value(self, phi: np.ndarray) -> float:
        """Return the profiled objective; one pass."""
        theta = self._theta(phi)
        try:
            value = self.outer(self._normalized(self._summed(theta)), [K for K, _ in self._grams(theta)], phi)[0]
        except (LinAlgError, ValueError):
            return np.inf
        return value + self.penalty(theta)[0]

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what is added to :meth:`outer` whatever the samples are, and its gradient in theta."""
        return self.basis_penalty(theta)

    def _theta(self, phi: np.ndarray) -> np.ndarray:
        """Return a theta of the kernels alone, without weights."""
        theta = np.zeros(self.kernels.n_params)
        part = self.kernels.basis_part
        theta[part] = phi[: part.stop]
        return theta

    def _normalized(self, S: np.ndarray) -> np.ndarray:
        """Return the moments of weights that sum to one."""
        # In single precision they do only nearly, and S without the products of its means would not be definite.
        return np.asarray(S / S[self.kernels.n_basis, self.kernels.n_basis])

    def _grams(self, theta: np.ndarray) -> list[tuple[np.ndarray, Callable[..., Any]]]:
        grams = []
        for K, pullback in self.kernels.gram(theta):
            grams.append((with_diagonal(K, JITTER + self.diagonal), pullback))
        return grams

    def _means(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of features and targets, which a free intercept takes off; zeros without one."""
        R, m = self.kernels.n_basis, self.kernels.n_outputs
        factor = float(self.model.fit_intercept)
        return factor * S[:R, R], factor * S[R, R + 1 : R + 1 + m]


class VariableProjection(ProfiledObjective):
    """The minimum over C and b of the squared loss with a penalty tr C'(a I + b K) C / 2.

    Parameters
    ----------
    model, source, basis_penalty
        As in :class:`ProfiledObjective`.
    ridge, rkhs : float
        The numbers a and b.
    """

    def __init__(
        self, model: PreimageModel, source: Source, basis_penalty: SmoothPenalty, ridge: float, rkhs: float
    ) -> None:
        super().__init__(model, source, basis_penalty)
        self.ridge = ridge
        self.rkhs = rkhs

    def _solved(self, S: np.ndarray, grams: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        R = self.model.n_basis
        mean, mean_y = self._means(S)
        A = S[:R, :R] - np.outer(mean, mean)
        for rows, K in zip(self.term_rows, grams, strict=True):
            A[rows, rows] += 0.5 * self.rkhs * K
        A.flat[:: R + 1] += 0.5 * self.ridge
        # By rows, as a vector may have kernel values a million times those of another. A variance that is small beside
        # its second moment, of values far from 0, is no more exact than the moment.
        A.flat[:: R + 1] += SOLVABLE * A.diagonal() + ROUNDED * R * S[:R, :R].diagonal() + TINY
        C = solve(factor(A), S[:R, R + 1 :] - np.outer(mean, mean_y))
        return C, mean_y - mean @ C

    def outer(
        self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray
    ) -> tuple[float, np.ndarray, list[np.ndarray], np.ndarray]:
        C, b = self._solved(S, grams)
        # With A = [Phi, 1, Y] and D = [C; b; -I] the residuals are A D, so the loss is trace(D' S D): D D' is its
        # derivative in S.
        D = np.vstack([C, b[None, :], -np.eye(self.model.n_outputs)])
        value = float(np.vdot(D, S @ D)) + 0.5 * self.ridge * float(np.vdot(C, C))
        dKs = []
        for rows, K in zip(self.term_rows, grams, strict=True):
            c = C[rows]
            value += 0.5 * self.rkhs * float(np.vdot(c, K @ c))
            dKs.append(0.5 * self.rkhs * (c @ c.T))
        return value, D @ D.T, dKs, np.zeros(0)

    def weights(self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> np.ndarray:
        C, b = self._solved(S, grams)
        return np.concatenate([C.ravel(), b])


def with_diagonal(K: np.ndarray, number: float) -> np.ndarray:
    """Return a copy of a square matrix with a number added to its diagonal; a pullback may need K as it is."""
    copied = K.copy()
    copied.ravel()[:: len(copied) + 1] += number  # a view, and half the time of `flat`
    return copied


@anywhere
def block_moments(block: Block, model: PreimageModel, theta: np.ndarray, linear: bool = False) -> tuple[np.ndarray]:
    """Return A'WA of a block, with A = [Phi, 1, Y]; beside a linear part A'W[A, X]."""
    return (_moments_of(_kept_features(block, model, theta, linear)),)


class _Kept(NamedTuple):
    """Values of the first pass for the second: A = [Phi, 1, Y], the block, X beside a linear part, the pullback."""

    A: Any
    block: Block
    X: Any
    pullback: Callable[..., Any]


def _kept_features(block: Block, model: PreimageModel, theta: np.ndarray, linear: bool) -> _Kept:
    Phi, pullback = model.features(block, theta)
    xp = namespace(Phi)
    A = xp.concat([Phi, xp.ones_like(block.w), block.Y], axis=1)
    return _Kept(A, block, block.X if linear else None, pullback)


def _moments_of(kept: _Kept) -> np.ndarray:
    # In float64 always: what is left of y'y after the elimination is a small difference of these sums.
    A = precise(kept.A)
    weighted = A * kept.block.w
    S = on_host(weighted.T @ A)
    return S if kept.X is None else np.hstack([S, on_host((precise(kept.X).T @ weighted).T)])


@anywhere
def _block_pull(
    block: Block, model: PreimageModel, theta: np.ndarray, dS: np.ndarray, linear: bool
) -> tuple[np.ndarray]:
    return (_pull(_kept_features(block, model, theta, linear), dS, model.n_basis),)


def _pull(kept: _Kept, dS: np.ndarray, width: int) -> np.ndarray:
    """Return the gradient in the basis part: S = A'WA, so dL/dA = w A (dS + dS'), of which the columns of Phi count."""
    both: Any = (dS + dS.T)[:width].astype(kept.block.dtype)
    both = both if kept.block.place is None else kept.block.place.array(both)
    size = kept.A.shape[1]
    columns_first = both[:, :size] @ kept.A.T
    if kept.X is not None:
        columns_first += (kept.X @ both[:, size:].T).T
    columns_first *= kept.block.w.T
    return np.asarray(kept.pullback(columns_first.T))
