"""The evidence of the sparse Gaussian process whose mean is the model: an objective of its own for squared loss."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from spkm.losses import Loss
from spkm.model import PreimageModel
from spkm.objective import Regularization, block_totals
from spkm.penalties import Evidence, Penalty
from spkm.profiled import SOLVABLE, ProfiledObjective
from spkm.sources import Block, Source

LOWEST_VARIANCE = 1e-12  # of the noise, relative to the targets' variance: a perfect fit has a finite logarithm
FARTHEST_LOG = 30.0  # bound on |log l|, so that exp cannot overflow


class EvidenceObjective(ProfiledObjective):
    """Negative log evidence, per sample and output, of the sparse Gaussian process whose mean is the model.

    With l the ratio of noise to signal variance (log l is the extra parameter), Phi_c the features with their means
    taken off and K = k(U, U):

        F = mean_k log(V_k) / 2 + (log|Phi_c'Phi_c + l K| - log|K| - R log l) / (2 n)
            + trace / (2 l) * mean_i (k(x_i, x_i) - k_i' K^-1 k_i) + prior / (2 n) * |log w - mean|^2
        V_k = min over c of |y_k - Phi_c c|^2 / (2 n) + l / (2 n) c'K c

    Parameters
    ----------
    model, loss, source
        As in :class:`spkm.objective.Objective`; the loss is quadratic. A learned metric must leave k(x, x) as it is,
        as that of a stationary kernel does.
    basis_penalties : list of Penalty
        Smooth penalties on the basis vectors.
    settings : Evidence
        Trace term, prior of the relevances and first noise.
    box : tuple of two ndarray, default=None
        As in :class:`spkm.objective.Objective`.
    """

    #: What a solver may ask of it.
    offers = ("elimination",)
    is_smooth = True

    def __init__(
        self,
        model: PreimageModel,
        loss: Loss,
        source: Source,
        basis_penalties: list[Penalty],
        settings: Evidence,
        box: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        if any(view.learns_metric and not view.kernel.stationary for _, view in model.views):
            raise ValueError(
                "weight_penalty='evidence' learns bandwidths of stationary kernels only. Use learn_bandwidth=False."
            )
        self.regularization = Regularization(model, basis_penalties, [])
        super().__init__(model, source, self.regularization.smooth)
        self.loss = loss
        self.box = box
        self.basis_penalties = basis_penalties
        self.settings = settings
        self.n = source.total_weight
        self.mean_diagonal = float(self.source.reduce(block_diagonal, model, width=model.n_basis)[0])
        # The weight of the trace term was chosen on exploration sets and confirmed on others: 0 overfits (1.6 to 2.1
        # times the error of kernel ridge regression), 1 is the variational bound (1.2 to 1.3 times); flat in between.
        automatic = min(0.5, 0.8 * np.sqrt(model.n_basis) * model.n_features / self.n)
        self.trace = automatic if isinstance(settings.trace, str) else float(settings.trace)

    def on(self, source: Source) -> EvidenceObjective:
        """Return the same objective on other samples."""
        return EvidenceObjective(self.model, self.loss, source, self.basis_penalties, self.settings, self.box)

    def inside(self, theta: np.ndarray) -> np.ndarray:
        """Return the point of the box that is nearest to ``theta``."""
        return theta if self.box is None else np.clip(theta, *self.box)

    def why_not(self, need: str) -> str:
        """Return why a solver's ``need`` is not offered, and what to do."""
        beside = ", a smooth basis_penalty" if need == "prox" else ""
        return f"weight_penalty='evidence' needs squared loss{beside} and solver='varpro' (or 'auto')."

    def eliminated(self) -> EvidenceObjective:
        """Return the objective with its weights eliminated, which it is by itself."""
        return self

    def totals(self, theta: np.ndarray) -> np.ndarray:
        """Return the loss's totals; one pass."""
        return self.source.reduce(block_totals, self.model, self.loss, theta, width=self.model.n_basis)[0]

    def start(self, theta: np.ndarray) -> np.ndarray:
        return np.append(super().start(theta), np.log(self.settings.noise))

    def noise(self, phi: np.ndarray) -> float:
        """Return the ratio of noise to signal variance."""
        return float(np.exp(np.clip(phi[-1], -FARTHEST_LOG, FARTHEST_LOG)))

    def _parts(self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> tuple:
        R = self.model.n_basis
        K = np.zeros((R, R))
        for rows, part in zip(self.term_rows, grams, strict=True):
            K[rows, rows] = part
        noise = self.noise(phi)
        mean, mean_y = self._means(S)
        A = S[:R, :R] - np.outer(mean, mean) + noise / self.n * K
        A[range(R), range(R)] += SOLVABLE * np.trace(A) / R
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
        V = np.maximum(0.5 * (yy - np.einsum("rk,rk->k", B, C)), LOWEST_VARIANCE * np.maximum(yy, 1e-300))
        K_inverse = cho_solve(K_factor, np.eye(R))
        A_inverse = cho_solve(A_factor, np.eye(R))
        # Never below zero but by rounding, which a small noise would blow up without limit.
        unexplained = self.mean_diagonal - float(np.sum(K_inverse * S[:R, :R]))
        trace = self.trace if unexplained > 0 else 0.0
        log_dets = R * np.log(n) + _log_det(A_factor) - _log_det(K_factor) - R * phi[-1]
        value = 0.5 * float(np.mean(np.log(V))) + log_dets / (2 * n) + trace / (2 * noise) * unexplained

        half = C / (2 * m * V)  # sum over outputs of dF/dV_k c_k, as columns
        dA = 0.5 * half @ C.T + A_inverse / (2 * n)
        dB = -half
        tempered = trace / (2 * noise)
        dS = np.zeros_like(S)
        dS[:R, :R] = dA - tempered * K_inverse
        dS[:R, R + 1 :] = dB
        if self.model.fit_intercept:
            dS[:R, R] = -2 * dA @ mean - dB @ mean_y
        dK = noise / n * dA - K_inverse / (2 * n) + tempered * K_inverse @ S[:R, :R] @ K_inverse
        # Off-diagonal blocks of S stand once in dS (upper right): the pullback takes dS + dS', which halves none.
        d_noise = float(np.sum(dA * K)) / n * noise - R / (2 * n) - tempered * unexplained
        return value, dS, [dK[rows, rows] for rows in self.term_rows], np.array([d_noise])

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = super().penalty(theta)
        strength = self.settings.prior / self.n
        for p, dp in zip(self.model.unpack(theta).log_metric, self.model.unpack(gradient).log_metric, strict=True):
            if len(p) > 1:
                centred = p - p.mean()
                value += 0.5 * strength * float(centred @ centred)
                dp += strength * centred
        return value, gradient


def block_diagonal(block: Block, model: PreimageModel) -> tuple[float]:
    """Return the weighted sum over a block of k(x, x), the kernel being the sum of the terms'."""
    total = np.zeros(len(block.w))
    for term in model.terms:
        product = np.ones(len(block.w))
        for view in term.views:
            X, index = block.columns(view.columns)
            diagonal = view.kernel.diagonal(X)
            product *= diagonal if index is None else diagonal[index]
        total += product
    return (float(block.w[:, 0] @ total),)


def _log_det(factor: tuple[np.ndarray, bool]) -> float:
    return 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
