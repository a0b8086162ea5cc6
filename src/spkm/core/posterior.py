"""How far a prediction may be off: the variance of a sparse Gaussian process near samples, a heuristic elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spkm._arrays import Array, Matrix, dense
from spkm.kernels import Kernel

ROWS = 10_000  # samples whose similarities to all centres are held at once: 8 MB


class Surroundings(NamedTuple):
    """Centres of the training samples, and the variance that a Gaussian process seen there leaves open.

    Attributes
    ----------
    centres : ndarray of shape (n_centres, n_features)
        Centres of groups of samples, on the scale of the model.
    inverse : ndarray of shape (n_centres, n_centres)
        The inverse of their kernel matrix with the noise of a group's mean on its diagonal.
    usual : float
        High quantile of the posterior variance over the training samples.
    """

    centres: Array
    inverse: Array
    usual: float


@dataclass(frozen=True)
class Posterior:
    """Numbers for the variance of a prediction, beside the model.

    With s the variance of the noise, t that of the targets, and a = [k_x, x] with means taken off (x beside a linear
    part), the expected square of a new target's distance from the prediction is

        s (1 + 1/n + a' A^-1 a) + rho (t - s) + (rho g)^2,   A = Phi_c'Phi_c + l (K + ridge I).

    The first part is the variance of the subset of regressors (SoR); 1/n is that of the intercept. As SoR is sure of
    itself where all similarities vanish, the other two parts are added. They are a heuristic and no posterior of any
    process: rho(x), between 0 and 1, is the share of the kernels' part that is unknown at x:

        rho = max(q(x) - q, 0) / (k(x, x) - q),   q(x) = k(x, x) - k(x, Z) (k(Z, Z) + noise I)^-1 k(Z, x).

    Z are centres of the samples of the fit and not the basis vectors, which may lie where no sample was, and q is a
    high quantile of q(x) over the samples: what they leave open is in s already. Away from the data rho is 1. The
    variance of a new target is then that of all targets, and the kernels' part g of the prediction, its mean taken
    off, is off by itself.

    Attributes
    ----------
    noise_variance, total_variance : ndarray of shape (n_outputs,)
        The variances s and t of each learned output, as it was standardised.
    A_inverse : ndarray
        The inverse of A.
    mean : ndarray
        The means that were taken off.
    centres, centres_inverse, usual
        Numbers of :class:`Surroundings`.
    of_intercept : float
        The variance of the intercept over that of the noise: 1/n, or 0 without an intercept.
    """

    noise_variance: Array
    total_variance: Array
    A_inverse: Array
    mean: Array
    centres: Array
    centres_inverse: Array
    usual: float
    of_intercept: float = 0.0

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def unknown(self, kernel: Kernel, X: Matrix) -> Array:
        """Return rho of samples on the scale of the model, (n,)."""
        diagonal = np.asarray(kernel.diagonal(X), dtype=np.float64)
        k = np.asarray(kernel(X, self.centres.astype(X.dtype, copy=False)), dtype=np.float64)
        left = diagonal - np.einsum("ir,ir->i", k @ self.centres_inverse, k)
        rho: Array = np.clip((left - self.usual) / np.maximum(diagonal - self.usual, np.finfo(float).tiny), 0.0, 1.0)
        return rho

    def variance(self, kernel: Kernel, Phi: Array, X: Matrix, weights: Array) -> Array:
        """Return the variance of new targets, (n, n_outputs), from the kernel, k(x, u), x and the weights of the u."""
        parts = (slice(first, first + ROWS) for first in range(0, max(len(Phi), 1), ROWS))
        return np.concatenate([self._of_block(kernel, Phi[rows], X[rows], weights) for rows in parts])

    def _of_block(self, kernel: Kernel, Phi: Array, X: Matrix, weights: Array) -> Array:
        rho = self.unknown(kernel, X)[:, None]
        Phi, R = Phi.astype(np.float64, copy=False), Phi.shape[1]
        if len(self.mean) > R:
            Phi = np.hstack([Phi, dense(X)])
        centred = Phi - self.mean
        learned = np.maximum(np.einsum("ir,ir->i", centred @ self.A_inverse, centred), 0.0)
        far = rho * np.maximum(self.total_variance - self.noise_variance, 0.0)
        return (
            np.outer(1.0 + self.of_intercept + learned, self.noise_variance)
            + far
            + (rho * (centred[:, :R] @ weights)) ** 2
        )
