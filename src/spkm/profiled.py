"""Squared loss with the weights eliminated: functions of the sums Phi'W Phi, Phi'W Y, Y'W Y and of k(U, U) alone.

With squared loss the best weights and intercept for a basis are those of a ridge regression. What is left is a
function of the basis (and of the metric), smoother and far quicker to minimise than the joint one. Both functions
here see the rows through the weighted moments

    S = A' W A,   A = [Phi, 1, Y],

so a pass adds up S, small algebra gives dS, and a second pass pulls 2 w A dS back through the kernels. While n R is
small the features of the first pass are kept and the second costs the pullback only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from spkm.losses import Squared
from spkm.model import PreimageModel
from spkm.objective import JITTER, Objective
from spkm.penalties import Evidence, RKHSNorm, SquaredL2
from spkm.sources import Block

KEPT = 2**21  # entries of Phi up to which features are kept between the two passes


class ProfiledObjective:
    """Base: minimised over ``phi``, the basis part of theta and what a subclass appends to it.

    Parameters
    ----------
    objective : Objective
        A joint objective of squared loss.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.model = objective.model
        self.source = objective.source

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
        theta = np.zeros(self.model.n_params)
        part = self.model.basis_part
        theta[part] = phi[: part.stop]
        S = self.source.reduce(block_moments, self.model, theta, width=self.model.n_basis)[0]
        if not np.all(np.isfinite(S)):
            raise FloatingPointError(
                "The kernel is not finite on these rows. Scale X (scale=True), or lower the kernel's gamma."
            )
        theta[self.model.weights_part] = self.weights(self._normalized(S), [K for K, _ in self._grams(theta)], phi)
        return theta

    def value_and_gradient(self, phi: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the profiled objective and its gradient; not finite where a factorisation fails."""
        model, source, width = self.model, self.source, self.model.n_basis
        theta = np.zeros(model.n_params)
        n_basis_params = model.basis_part.stop
        theta[:n_basis_params] = phi[:n_basis_params]
        kept: Any = None
        if source.n_rows * width <= KEPT:
            kept = list(source.map(_kept_features, model, theta, width=width))
            S = sum(source.each(lambda state: _moments(*state[:2]), kept))
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
            gradient: Any = sum(source.each(lambda state: _pull(state, dS, width), kept))
        else:
            gradient = source.reduce(_block_pull, model, theta, dS, width=width)[0]
        for (_, pullback), dK in zip(grams, dKs, strict=True):
            gradient = gradient + pullback(0.5 * (dK + dK.T))
        penalty, d_penalty = self._basis_penalty(theta)
        return value + penalty, np.concatenate([gradient + d_penalty[:n_basis_params], d_extra])

    def _normalized(self, S: np.ndarray) -> np.ndarray:
        """Return the moments of weights that sum to one."""
        # In single precision they do only nearly, and S without the products of its means would not be definite.
        return S / S[self.model.n_basis, self.model.n_basis]

    def _grams(self, theta: np.ndarray) -> list[tuple[np.ndarray, Callable]]:
        return [(K + JITTER * np.eye(len(K)), pull) for K, pull in self.model.gram(theta)]

    def _basis_penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        only_basis = Objective(
            self.model,
            self.objective.loss,
            self.source,
            self.objective.basis_penalties,
            None,
            self.objective.metric_prior,
        )
        return only_basis.smooth_penalty(theta)


class VariableProjection(ProfiledObjective):
    """The minimum over C and b of the squared loss with a quadratic penalty (RKHS norm, squared l2) on C."""

    def _ridge(self, S: np.ndarray, grams: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        R = self.model.n_basis
        Q = np.zeros((R, R))
        row = 0
        for K in grams:
            for penalty in self.objective.weight_penalties:
                if isinstance(penalty, RKHSNorm):
                    Q[row : row + len(K), row : row + len(K)] += 0.5 * penalty.strength * K
                elif isinstance(penalty, SquaredL2):
                    Q[range(row, row + len(K)), range(row, row + len(K))] += 0.5 * penalty.strength
            row += len(K)
        mean = S[:R, R] if self.model.fit_intercept else np.zeros(R)
        mean_y = S[R, R + 1 :] if self.model.fit_intercept else np.zeros(self.model.n_outputs)
        A = S[:R, :R] - np.outer(mean, mean) + Q
        A[range(R), range(R)] += 1e-12 * np.trace(A) / R  # rank-deficient features without a penalty stay solvable
        C = cho_solve(cho_factor(A), S[:R, R + 1 :] - np.outer(mean, mean_y))
        return C, mean_y - mean @ C

    def outer(
        self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray
    ) -> tuple[float, np.ndarray, list[np.ndarray], np.ndarray]:
        C, b = self._ridge(S, grams)
        # With A = [Phi, 1, Y] and D = [C; b; -I] the residuals are A D, so the loss is trace(D' S D): D D' is its
        # derivative in S.
        D = np.vstack([C, b[None, :], -np.eye(self.model.n_outputs)])
        value = float(np.vdot(D, S @ D))
        dKs = []
        row = 0
        for K in grams:
            dK = np.zeros_like(K)
            c = C[row : row + len(K)]
            for penalty in self.objective.weight_penalties:
                if isinstance(penalty, RKHSNorm):
                    part, _, dK_part = penalty.value_of_gram(c, K)
                    dK += dK_part
                else:
                    part = penalty.value(c)
                value += part
            dKs.append(dK)
            row += len(K)
        return value, D @ D.T, dKs, np.zeros(0)

    def weights(self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> np.ndarray:
        C, b = self._ridge(S, grams)
        return np.concatenate([C.ravel(), b])


class EvidenceObjective(ProfiledObjective):
    """Negative log evidence, per row and output, of the sparse Gaussian process whose mean is the model.

    With l the ratio of noise to signal variance (log l is the extra parameter), Phi_c the features with their means
    taken off and K = k(U, U):

        F = mean_k log(V_k) / 2 + (log|Phi_c'Phi_c + l K| - log|K| - R log l) / (2 n)
            + trace / (2 l) * mean_i (k(x_i, x_i) - k_i' K^-1 k_i) + prior / (2 n) * |log w - mean|^2
        V_k = min over c of |y_k - Phi_c c|^2 / (2 n) + l / (2 n) c'K c

    Parameters
    ----------
    objective : Objective
        Joint objective whose weight penalty is an :class:`Evidence`.
        A learned metric must leave k(x, x) as it is, as that of a stationary kernel does.
    """

    def __init__(self, objective: Objective) -> None:
        super().__init__(objective)
        self.evidence: Evidence = next(p for p in objective.weight_penalties if isinstance(p, Evidence))
        self.n = objective.source.total_weight
        self.mean_diagonal = float(self.source.reduce(block_diagonal, self.model, width=self.model.n_basis)[0])
        trace = self.evidence.trace
        automatic = min(0.5, 0.8 * np.sqrt(self.model.n_basis) * self.model.n_features / self.n)
        self.trace = automatic if isinstance(trace, str) else float(trace)

    def start(self, theta: np.ndarray) -> np.ndarray:
        return np.append(super().start(theta), np.log(self.evidence.noise))

    @staticmethod
    def noise(phi: np.ndarray) -> float:
        """Return the ratio of noise to signal variance."""
        return float(np.exp(np.clip(phi[-1], -30, 30)))

    def _parts(self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> tuple:
        R = self.model.n_basis
        K = np.zeros((R, R))
        row = 0
        for part in grams:
            K[row : row + len(part), row : row + len(part)] = part
            row += len(part)
        noise = self.noise(phi)
        mean, mean_y = S[:R, R], S[R, R + 1 :]
        if not self.model.fit_intercept:
            mean, mean_y = np.zeros(R), np.zeros(self.model.n_outputs)
        A = S[:R, :R] - np.outer(mean, mean) + noise / self.n * K
        A[range(R), range(R)] += 1e-12 * np.trace(A) / R  # features that depend on one another stay solvable
        A_factor, K_factor = cho_factor(A), cho_factor(K)
        B = S[:R, R + 1 :] - np.outer(mean, mean_y)
        return K, noise, mean, mean_y, A_factor, K_factor, B, cho_solve(A_factor, B)

    def weights(self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> np.ndarray:
        *_, mean, mean_y, _, _, _, C = self._parts(S, grams, phi)
        return np.concatenate([C.ravel(), mean_y - mean @ C])

    def outer(
        self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray
    ) -> tuple[float, np.ndarray, list[np.ndarray], np.ndarray]:
        R, m, n = self.model.n_basis, self.model.n_outputs, self.n
        K, noise, mean, mean_y, A_factor, K_factor, B, C = self._parts(S, grams, phi)
        yy = np.diag(S[R + 1 :, R + 1 :]) - mean_y**2
        V = np.maximum(0.5 * (yy - np.einsum("rk,rk->k", B, C)), 1e-12 * np.maximum(yy, 1e-300))
        K_inverse = cho_solve(K_factor, np.eye(R))
        A_inverse = cho_solve(A_factor, np.eye(R))
        unexplained = self.mean_diagonal - float(np.sum(K_inverse * S[:R, :R]))
        log_dets = R * np.log(n) + _log_det(A_factor) - _log_det(K_factor) - R * phi[-1]
        value = 0.5 * float(np.mean(np.log(V))) + log_dets / (2 * n) + self.trace / (2 * noise) * unexplained

        half = C / (2 * m * V)  # sum over outputs of dF/dV_k c_k, as columns
        dA = 0.5 * half @ C.T + A_inverse / (2 * n)
        dB = -half
        tempered = self.trace / (2 * noise)
        dS = np.zeros_like(S)
        dS[:R, :R] = dA - tempered * K_inverse
        dS[:R, R + 1 :] = dB
        if self.model.fit_intercept:
            dS[:R, R] = -2 * dA @ mean - dB @ mean_y
        dK = noise / n * dA - K_inverse / (2 * n) + tempered * K_inverse @ S[:R, :R] @ K_inverse
        # Off-diagonal blocks of S stand once in dS (upper right): _pull takes dS + dS', which halves none of them.
        d_noise = float(np.sum(dA * K)) / n * noise - R / (2 * n) - tempered * unexplained
        dKs = []
        row = 0
        for part in grams:
            dKs.append(dK[row : row + len(part), row : row + len(part)])
            row += len(part)
        return value, dS, dKs, np.array([d_noise])

    def _basis_penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = super()._basis_penalty(theta)
        strength = self.evidence.prior / self.n
        for p, dp in zip(self.model.unpack(theta).log_metric, self.model.unpack(gradient).log_metric, strict=True):
            if len(p) > 1:
                centred = p - p.mean()
                value += 0.5 * strength * float(centred @ centred)
                dp += strength * centred
        return value, gradient


def can_eliminate_weights(objective: Objective) -> bool:
    """Whether the best weights for a basis are those of a ridge regression."""
    quadratic = all(isinstance(p, RKHSNorm | SquaredL2) for p in objective.weight_penalties)
    return quadratic and isinstance(objective.loss, Squared)


def block_moments(block: Block, model: PreimageModel, theta: np.ndarray) -> tuple[np.ndarray]:
    """Return A'WA of a block, with A = [Phi, 1, Y]."""
    Phi, _ = model.features(block, theta)
    return (_moments(_joined(Phi, block), block.w),)


def block_diagonal(block: Block, model: PreimageModel) -> tuple[float]:
    """Return the weighted sum over a block of k(x, x), the kernel being the sum of the terms'."""
    total = np.zeros(len(block.w))
    for term in model.terms:
        product = np.ones(len(block.w))
        for view in term.views:
            X, index = view.rows(block.X)
            diagonal = view.kernel.diagonal(X)
            product *= diagonal if index is None else diagonal[index]
        total += product
    return (float(block.w[:, 0] @ total),)


def _moments(A: np.ndarray, w: np.ndarray) -> np.ndarray:
    # In float64 always: what is left of y'y after the elimination is a small difference of these sums.
    A = A.astype(np.float64, copy=False)
    return (A * w).T @ A


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


def _log_det(factor: tuple[np.ndarray, bool]) -> float:
    return 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
