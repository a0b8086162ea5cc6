"""The evidence of the sparse Gaussian process whose mean is the model: an objective of its own for squared loss.

It is the marginal likelihood of DTC, the deterministic training conditional of Seeger, Williams and Lawrence (2003),
with a tempered trace term. DTC, also known as projected process, has the likelihood of SoR, the subset of regressors:
weights c with the prior N(0, s / l K^-1) and independent noise of variance s. The trace term is that of the variational
bound of Titsias (2009), VFE, times a weight between 0 and 1. At weight 0 the objective is the marginal likelihood of
DTC, at weight 1 VFE; in between it is neither of the two, no bound on the marginal likelihood of the full process, and
not that of FITC, which has a noise of its own for each sample.
"""

from __future__ import annotations

from copy import copy
from math import exp
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from spkm.core.bounds import Box
from spkm.core.cholesky import factor, inverse, log_det, solve
from spkm.core.model import PreimageModel
from spkm.core.objective import Objective, block_totals
from spkm.core.posterior import Posterior, Surroundings
from spkm.core.profiled import SOLVABLE, ProfiledObjective
from spkm.core.regularization import Regularization
from spkm.losses import Loss
from spkm.penalties import Evidence, Penalty
from spkm.sources import Block, Source

# Noise, relative to the variance of a target: a deviation of a thousandth counts as a perfect fit. Without a bound,
# one target that a linear part fits exactly has all the evidence, and others are not fitted at all.
LOWEST_VARIANCE = 1e-6
# Automatic weight of the trace term. Weight 0 overfits (1.6 to 2.1 times the error of kernel ridge regression),
# 1 is the variational bound (1.2 to 1.3 times). With some hundred samples a heavy trace costs more than the kernels can
# gain, and their part vanishes. At most 0.2 in place of 0.5: docs/numbers/constants.md has both halves of the panel.
MOST_TRACE = 0.2
FARTHEST_LOG = 30.0  # bound on |log l|, so that exp cannot overflow
LOG_TAU = (-14.0, 5.0)  # bounds of the logarithm of the variance of a linear part's coefficients
# Added to the diagonal of k(U, U) one after another. From the strong end fits may end in a bad minimum, measured.
RIDGES = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)


class _Solved(NamedTuple):
    """The regression on Phi and X: prior, means, upper Cholesky factors, moments with Y and coefficients C.

    Beside them stand the variance of each output and the ratios of noise and of a linear part's variance.
    """

    prior: np.ndarray
    mean: np.ndarray
    mean_y: np.ndarray
    A_factor: np.ndarray
    K_factor: np.ndarray
    B: np.ndarray
    C: np.ndarray
    spread: np.ndarray
    noise: float
    tau: float


class EvidenceObjective(ProfiledObjective):
    """Negative log evidence, per sample and output: the DTC marginal likelihood with a tempered trace term.

    With l the ratio of noise to signal variance (log l is the extra parameter), Phi_c the features with their means
    taken off and K = k(U, U) + ridge I:

        F = mean_k log(V_k) / 2 + (log|Phi_c'Phi_c + l K| - log|K| - R log l) / (2 n)
            + trace / (2 l) * mean_i (k(x_i, x_i) - k_i' K^-1 k_i) + prior / (2 n) * |log w - mean|^2
        V_k = min over c of |y_k - Phi_c c|^2 / (2 n) + l / (2 n) c'K c

    The first line is, but for a constant, -log N(y_k | 0, s (I + Phi_c K^-1 Phi_c' / l)) / n at the variance of the
    noise s = 2 V_k that maximises it. The intercept takes the means off, and has no prior.

    With a linear part Phi_c has the d columns of X as well, K the block I / tau, and log tau, the logarithm of the
    coefficients' variance over that of the kernels, is the last extra parameter. The trace term is of kernels alone.

    Parameters
    ----------
    model, loss, source
        As in :class:`spkm.core.objective.Objective`; the loss is quadratic. A learned metric must leave k(x, x) as it
        is, as that of a stationary kernel does.
    basis_penalties : list of Penalty
        Smooth penalties on the basis vectors.
    settings : Evidence
        Trace term, prior of the relevances, first noise and ridge.
    box : tuple of two ndarray, default=None
        As in :class:`spkm.core.objective.Objective`.
    """

    #: The services that a solver may use.
    offers = ("elimination",)
    is_smooth = True
    #: Whether the ratio of noise stays as it is: then the value is that of log(V) and of the priors alone.
    keeps_noise = False

    def __init__(
        self,
        model: PreimageModel,
        loss: Loss,
        source: Source,
        basis_penalties: list[Penalty],
        settings: Evidence,
        box: Box | None = None,
    ) -> None:
        if any(view.metric in ("scale", "relevances") and not view.kernel.stationary for _, view in model.views):
            raise ValueError(
                "weight_penalty='evidence' learns bandwidths of stationary kernels only. Use learn_bandwidth=False."
            )
        super().__init__(model, source, Regularization(model.kernel_part or model, basis_penalties, []).smooth)
        self.loss = loss
        self.box = box
        self.basis_penalties = basis_penalties
        self.settings = settings
        self.n = source.total_weight
        #: Number of columns beside the features: those of X under a linear part.
        self.n_columns = model.n_features if self.has_linear_part else 0
        R, d = self.kernels.n_basis, self.n_columns
        #: Places of Phi and X among the columns of the moments.
        places = np.append(np.arange(R), R + 1 + model.n_outputs + np.arange(d))
        self.regressors: Any = places if d else slice(0, R)
        self.squares: Any = np.ix_(places, places) if d else (slice(0, R), slice(0, R))
        diagonal, *squares = source.reduce(block_constants, self.kernels, self.has_linear_part, width=R)
        self.mean_diagonal = float(diagonal)
        self.of_columns = squares[0] if squares else self.of_columns
        automatic = min(MOST_TRACE, 0.8 * np.sqrt(self.kernels.n_basis) * model.n_features / self.n)
        self.trace = automatic if isinstance(settings.trace, str) else float(settings.trace)
        views = self.kernels.views
        raises = isinstance(settings.ridge, str) and len(views) == 1 and views[0][1].kernel.stationary
        #: Ridges to come, each of which is kept if the value hardly rises.
        self.ridges = RIDGES[1:] if raises else ()
        self.diagonal = RIDGES[0] if raises else 0.0 if isinstance(settings.ridge, str) else float(settings.ridge)

    def on(self, source: Source) -> EvidenceObjective:
        """Return the same objective on other samples."""
        other = EvidenceObjective(self.model, self.loss, source, self.basis_penalties, self.settings, self.box)
        other.diagonal, other.ridges, other.keeps_noise = self.diagonal, self.ridges, self.keeps_noise
        return other

    def with_ridge_of(self, other: ProfiledObjective) -> EvidenceObjective:
        """Return the same objective with the ridge of another."""
        return self._with(diagonal=other.diagonal, ridges=other.ridges)

    def _with(self, **attributes: float | tuple[float, ...]) -> EvidenceObjective:
        other = copy(self)
        other.__dict__.update(attributes)
        return other

    def first_stage(self) -> EvidenceObjective | None:
        """Return the objective at a fixed noise; None if the first noise is given: it was learned, or is known."""
        return self._with(keeps_noise=True) if isinstance(self.settings.noise, str) else None

    def last_stages(self) -> list[EvidenceObjective]:
        """Return the objectives of stronger and stronger ridges."""
        return [self._with(diagonal=ridge, ridges=self.ridges[k + 1 :]) for k, ridge in enumerate(self.ridges)]

    def why_not(self, need: str) -> str:
        """Return why a solver's ``need`` is not offered, and what to do."""
        beside = ", a smooth basis_penalty" if need == "prox" else ""
        return f"weight_penalty='evidence' needs squared loss{beside} and solver='varpro' (or 'auto')."

    def eliminated(self) -> EvidenceObjective:
        """Return the objective with its weights eliminated, which it is by itself."""
        return self

    def inside(self, theta: np.ndarray) -> np.ndarray:
        """Return the point of the box that is nearest to ``theta``."""
        return theta if self.box is None else np.clip(theta, *self.box)

    def totals(self, theta: np.ndarray) -> np.ndarray:
        """Return the loss's totals; one pass."""
        totals: np.ndarray
        (totals,) = self.source.reduce(block_totals, self.model, self.loss, theta, width=self.model.n_basis)
        return totals

    def start(self, theta: np.ndarray) -> np.ndarray:
        more = [np.log(self.settings.first_noise)]
        if self.has_linear_part:
            variance = self.settings.linear_variance
            more.append(-np.log(self.n_columns) if isinstance(variance, str) else np.log(variance))
        return np.append(super().start(theta), more)

    def bounds(self, box: Box | None) -> Box | None:
        if box is None:
            return None
        more = [(-FARTHEST_LOG, FARTHEST_LOG), *([LOG_TAU] if self.has_linear_part else [])]
        low, high = super().bounds(box)  # type: ignore[misc]
        return np.append(low, [a for a, _ in more]), np.append(high, [b for _, b in more])

    def noise(self, phi: np.ndarray) -> float:
        """Return the ratio of noise to signal variance."""
        return exp(min(max(float(phi[self.kernels.basis_part.stop]), -FARTHEST_LOG), FARTHEST_LOG))

    def with_enough_noise(self, phi: np.ndarray) -> np.ndarray:
        eased, place = phi.copy(), self.kernels.basis_part.stop
        while not np.isfinite(self.value(eased)):
            if eased[place] >= 0:  # more noise than signal
                return phi
            eased[place] += np.log(10.0)
        return eased

    def linear_variance(self, phi: np.ndarray) -> float | None:
        """Return the variance of the linear part's coefficients over that of the kernels; None without one."""
        return float(np.exp(min(max(float(phi[-1]), LOG_TAU[0]), LOG_TAU[1]))) if self.has_linear_part else None

    def _parts(self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> _Solved:
        R, m, d = self.kernels.n_basis, self.kernels.n_outputs, self.n_columns
        among = float(self.model.fit_intercept)
        mean, mean_y = among * S[self.regressors, R], among * S[R, R + 1 : R + 1 + m]
        noise, tau = self.noise(phi), self.linear_variance(phi) or 1.0
        prior = self._prior(grams, tau)
        A = S[self.squares] + noise / self.n * prior
        A -= mean[:, None] * mean
        A.flat[:: len(A) + 1] += SOLVABLE * A.trace() / len(A)
        A_factor, K_factor = factor(A), factor(prior[:R, :R] if d else prior)
        B = S[self.regressors, R + 1 : R + 1 + m] - mean[:, None] * mean_y
        C, spread = solve(A_factor, B), S[R + 1 : R + 1 + m, R + 1 : R + 1 + m].diagonal() - mean_y**2
        return _Solved(prior, mean, mean_y, A_factor, K_factor, B, C, spread, noise, tau)

    def _prior(self, grams: list[np.ndarray], tau: float) -> np.ndarray:
        """Return K, in blocks: the terms' kernel matrices, and I / tau of a linear part."""
        R, d = self.kernels.n_basis, self.n_columns
        if len(grams) == 1 and d == 0:
            return grams[0]
        prior = np.zeros((R + d, R + d))
        for rows, part in zip(self.term_rows, grams, strict=True):
            prior[rows, rows] = part
        prior.flat[R * (R + d + 1) :: R + d + 1] = 1.0 / tau
        return prior

    def _completed(self, theta: np.ndarray, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray) -> np.ndarray:
        R, solved = self.kernels.n_basis, self._parts(S, grams, phi)
        whole, params = self.model.zeros()
        whole[self.kernels.basis_part] = theta[self.kernels.basis_part]
        params.weights[:R] = solved.C[:R]
        if self.has_linear_part:
            params.basis[-1][...] = solved.C[R:].T
            params.weights[R:] = np.eye(self.model.n_outputs)
        params.intercept[...] = solved.mean_y - solved.mean @ solved.C
        return whole

    def posterior(self, phi: np.ndarray, around: Surroundings) -> Posterior:
        """Return what the variance of predictions needs."""
        m = self.kernels.n_outputs
        theta = self._theta(phi)
        S = self._normalized(self._summed(theta))
        solved = self._parts(S, [K for K, _ in self._grams(theta)], phi)
        V = self._residual(solved)
        A_inverse = inverse(solved.A_factor) / self.n
        of_intercept = 1.0 / self.n if self.model.fit_intercept else 0.0
        return Posterior(2 * V[:m], solved.spread, A_inverse, solved.mean, *around, of_intercept)

    def _residual(self, solved: _Solved) -> np.ndarray:
        """Return V of each output."""
        left = 0.5 * (solved.spread - np.einsum("rk,rk->k", solved.B, solved.C))
        return np.asarray(np.maximum(left, LOWEST_VARIANCE * np.maximum(solved.spread, 1e-300)))

    def outer(
        self, S: np.ndarray, grams: list[np.ndarray], phi: np.ndarray
    ) -> tuple[float, np.ndarray, list[np.ndarray], np.ndarray]:
        R, m, n, d = self.kernels.n_basis, self.kernels.n_outputs, self.n, self.n_columns
        solved = self._parts(S, grams, phi)
        prior, mean, mean_y, A_factor, K_factor, _, C, spread, noise, tau = solved
        V = self._residual(solved)
        value = 0.5 * float(np.log(V).sum() / m)
        perfect = V <= LOWEST_VARIANCE * spread  # the value of such an output is a constant
        half = C * np.where(perfect, 0.0, 1 / (2 * m * V))  # sum over outputs of dF/dV_k c_k, as columns
        dA = 0.5 * half @ C.T
        dB = -half
        dS, dK = np.zeros_like(S), np.zeros((R, R))
        d_extra = np.zeros(len(phi) - self.kernels.basis_part.stop)
        if not self.keeps_noise:
            K_inverse = inverse(K_factor)
            # Never below zero but by rounding, which a small noise would blow up without limit.
            unexplained = self.mean_diagonal - float(np.vdot(K_inverse, S[:R, :R]))
            tempered = self.trace / (2 * noise) if unexplained > 0 else 0.0
            log_dets = log_det(A_factor) - log_det(K_factor) + (R + d) * (np.log(n) - np.log(noise))
            log_dets += d * np.log(tau)
            value += log_dets / (2 * n) + tempered * unexplained
            dA += inverse(A_factor) / (2 * n)
            dK += tempered * K_inverse @ S[:R, :R] @ K_inverse - K_inverse / (2 * n)
            dS[:R, :R] = -tempered * K_inverse
            d_extra[0] = float(np.vdot(dA, prior)) / n * noise - (R + d) / (2 * n) - tempered * unexplained
            if d:
                d_extra[1] = d / (2 * n) - noise / n * float((dA.diagonal() * prior.diagonal())[R:].sum())
        dK += noise / n * dA[:R, :R]
        dS[self.squares] += dA
        # Other blocks of S stand once in dS (upper right): the pullback takes dS + dS', which halves none.
        dS[self.regressors, R + 1 : R + 1 + m] = dB
        if self.model.fit_intercept:
            dS[self.regressors, R] = -2 * dA @ mean - dB @ mean_y
        return value, dS, [dK[rows, rows] for rows in self.term_rows], d_extra

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = super().penalty(theta)
        strength = self.settings.prior / self.n
        parts = map(self.kernels.unpack_basis, (theta, gradient))
        for (_, p), (_, dp) in zip(*parts, strict=True):
            if len(p) > 1:
                centred = p - p.mean()
                value += 0.5 * strength * float(centred @ centred)
                dp += strength * centred
        return value, gradient


#: The function that a fit minimises: a penalised loss, or an evidence. A solver reads in ``offers`` what it may use.
AnyObjective = Objective | EvidenceObjective


def block_constants(block: Block, model: PreimageModel, linear: bool) -> tuple[Any, ...]:
    """Return the weighted sum over a block of k(x, x), the kernel being the sum of the terms'; beside it X'WX."""
    total = np.zeros(len(block.w))
    for term in model.terms:
        product = np.ones(len(block.w))
        for view in term.views:
            X, index = block.columns(view.columns)
            diagonal = view.kernel.diagonal(X)
            product *= diagonal if index is None else diagonal[index]
        total += product
    diagonal = float(block.w[:, 0] @ total)
    if not linear:
        return (diagonal,)
    X = block.X.astype(np.float64, copy=False)
    return diagonal, (X.T @ X.multiply(block.w)).toarray() if sparse.issparse(X) else X.T @ (X * block.w)
