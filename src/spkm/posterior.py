"""How far a prediction may be off: the variance of the sparse Gaussian process whose mean a model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Posterior:
    """What the variance of a prediction needs beside the model.

    With s the variance of the noise, l its ratio to that of the kernels, K = k(U, U), and a = [k_x, x] with means taken
    off (x beside a linear part), the variance of a new target is

        s (1 + max(q(x) - q, 0) / l + a' A^-1 a),   q(x) = k(x, x) - k_x' K^-1 k_x,   A = Phi_c'Phi_c + l (K + ridge I).

    q is the mean of q(x) over the samples of the fit: what the vectors do not explain there is in s already. Far from
    the data k_x fades, and the kernels' part grows to its prior, s / l.

    Attributes
    ----------
    noise_variance : ndarray of shape (n_outputs,)
        The variance s of each learned output, as it was standardised.
    noise : float
        The ratio l.
    K_inverse, A_inverse : ndarray
        Inverses of K and A.
    mean : ndarray
        The means that were taken off.
    unexplained : float
        The mean q.
    """

    noise_variance: np.ndarray
    noise: float
    K_inverse: np.ndarray
    A_inverse: np.ndarray
    mean: np.ndarray
    unexplained: float

    def __post_init__(self) -> None:
        for array in (self.noise_variance, self.K_inverse, self.A_inverse, self.mean):
            array.setflags(write=False)

    def variance(self, Phi: np.ndarray, X: Any, diagonal: np.ndarray) -> np.ndarray:
        """Return the variance of new targets, (n, n_outputs), from k(x, u), x and k(x, x)."""
        Phi = Phi.astype(np.float64, copy=False)
        unexplained = diagonal - np.einsum("ir,ir->i", Phi @ self.K_inverse, Phi) - self.unexplained
        if len(self.mean) > Phi.shape[1]:
            Phi = np.hstack([Phi, X.toarray() if hasattr(X, "toarray") else X])
        centred = Phi - self.mean
        learned = np.einsum("ir,ir->i", centred @ self.A_inverse, centred)
        return np.outer(1.0 + np.maximum(unexplained, 0.0) / self.noise + np.maximum(learned, 0.0), self.noise_variance)
