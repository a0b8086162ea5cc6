"""Squared loss with the weights eliminated: functions of the sums Phi'W Phi, Phi'W Y, Y'W Y and of k(U, U) alone.

With squared loss the best weights and intercept for a basis are those of a ridge regression. What is left is a
function of the basis (and of the metric), smoother and far quicker to minimise than the joint one. The functions built
on this see the samples through the weighted moments

    S = A' W A,   A = [Phi, 1, Y],

so a pass adds up S, small algebra gives dS, and a second pass pulls 2 w A dS back through the kernels. While n R is
small the features of the first pass are kept and the second costs the pullback only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from spkm.model import PreimageModel
from spkm.sources import Block, Source

KEPT = 2**21  # entries of Phi up to which features are kept between the two passes: 16 MB
JITTER = 1e-6  # on the diagonal of k(U, U), so that equal basis vectors leave it invertible
SOLVABLE = 1e-12  # times the mean diagonal, added to it: rank-deficient features without a penalty stay solvable
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

    def __init__(self, model: PreimageModel, source: Source, basis_penalty: SmoothPenalty) -> None:
        self.model = model
        self.source = source
        self.basis_penalty = basis_penalty
        #: Where each term's vectors are among all of them.
        self.term_rows = [slice(a, b) for a, b in pairwise(accumulate((t.n_basis for t in model.terms), initial=0))]

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
        return theta[self.model.basis_part].copy()

    def complete(self, phi: np.ndarray) -> np.ndarray:
        """Return the theta of ``phi`` with its best weights."""
        theta = self._theta(phi)
        S = self.source.reduce(block_moments, self.model, theta, width=self.model.n_basis)[0]
        if not np.all(np.isfinite(S)):
            raise FloatingPointError(
                "The kernel is not finite on these samples. Scale X (scale=True), or lower the kernel's gamma."
            )
        theta[self.model.weights_part] = self.weights(self._normalized(S), [K for K, _ in self._grams(theta)], phi)
        return theta

    def value_and_gradient(self, phi: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the profiled objective and its gradient; not finite where a factorisation fails."""
        model, source, width = self.model, self.source, self.model.n_basis
        theta = self._theta(phi)
        kept: Any = None
        if source.n_rows * width <= KEPT and source.keeps_features:
            kept = list(source.map(_kept_features, model, theta, width=width))
            S = sum(source.each(_moments_of, kept))
        else:
            S = source.reduce(block_moments, model, theta, width=width)[0]
        grams = self._grams(theta)
        try:
            value, dS, dKs, d_extra = self.outer(self._normalized(np.asarray(S)), [K for K, _ in grams], phi)
        except (LinAlgError, ValueError):
            return np.inf, np.zeros_like(phi)
        if not np.isfinite(value):
            return np.inf, np.zeros_like(phi)
        if kept is not None:
            gradient: Any = sum(source.each(partial(_pull, dS=dS, width=width), kept))
        else:
            gradient = source.reduce(_block_pull, model, theta, dS, width=width)[0]
        for (_, pullback), dK in zip(grams, dKs, strict=True):
            gradient = gradient + pullback(0.5 * (dK + dK.T))
        penalty, d_penalty = self.penalty(theta)
        return value + penalty, np.concatenate([gradient + d_penalty[model.basis_part], d_extra])

    def value(self, phi: np.ndarray) -> float:
        """Return the profiled objective; one pass."""
        theta = self._theta(phi)
        S = self.source.reduce(block_moments, self.model, theta, width=self.model.n_basis)[0]
        try:
            value = self.outer(self._normalized(S), [K for K, _ in self._grams(theta)], phi)[0]
        except (LinAlgError, ValueError):
            return np.inf
        return value + self.penalty(theta)[0]

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what is added to :meth:`outer` whatever the samples are, and its gradient in theta."""
        return self.basis_penalty(theta)

    def _theta(self, phi: np.ndarray) -> np.ndarray:
        theta = np.zeros(self.model.n_params)
        part = self.model.basis_part
        theta[part] = phi[: part.stop]
        return theta

    def _normalized(self, S: np.ndarray) -> np.ndarray:
        """Return the moments of weights that sum to one."""
        # In single precision they do only nearly, and S without the products of its means would not be definite.
        return S / S[self.model.n_basis, self.model.n_basis]

    def _grams(self, theta: np.ndarray) -> list[tuple[np.ndarray, Callable]]:
        return [(K + JITTER * np.eye(len(K)), pull) for K, pull in self.model.gram(theta)]

    def _means(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of features and targets, which a free intercept takes off; zeros without one."""
        R = self.model.n_basis
        factor = float(self.model.fit_intercept)
        return factor * S[:R, R], factor * S[R, R + 1 :]


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
        A[range(R), range(R)] += 0.5 * self.ridge
        A[range(R), range(R)] += SOLVABLE * np.trace(A) / R
        C = cho_solve(cho_factor(A), S[:R, R + 1 :] - np.outer(mean, mean_y))
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


def block_moments(block: Block, model: PreimageModel, theta: np.ndarray) -> tuple[np.ndarray]:
    """Return A'WA of a block, with A = [Phi, 1, Y]."""
    Phi, _ = model.features(block, theta)
    return (_moments(_joined(Phi, block), block.w),)


def _moments(A: np.ndarray, w: np.ndarray) -> np.ndarray:
    # In float64 always: what is left of y'y after the elimination is a small difference of these sums.
    A = A.astype(np.float64, copy=False)
    return (A * w).T @ A


def _moments_of(state: tuple[np.ndarray, np.ndarray, Callable]) -> np.ndarray:
    return _moments(*state[:2])


def _joined(Phi: np.ndarray, block: Block) -> np.ndarray:
    return np.hstack([Phi, np.ones((len(Phi), 1), Phi.dtype), block.Y])


def _kept_features(block: Block, model: PreimageModel, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, Callable]:
    Phi, pullback = model.features(block, theta)
    return _joined(Phi, block), block.w, pullback


def _block_pull(block: Block, model: PreimageModel, theta: np.ndarray, dS: np.ndarray) -> tuple[np.ndarray]:
    return (_pull(_kept_features(block, model, theta), dS, model.n_basis),)


def _pull(state: tuple[np.ndarray, np.ndarray, Callable], dS: np.ndarray, width: int) -> np.ndarray:
    """Return the gradient in the basis part: S = A'WA, so dL/dA = w A (dS + dS'), of which the columns of Phi count."""
    A, w, pullback = state
    columns_first = (dS + dS.T)[:width].astype(A.dtype) @ A.T
    columns_first *= w.T
    return pullback(columns_first.T)
