"""Algorithm 1 by plain gradient descent, apart from the library's solvers: to vary what the paper leaves open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

RIDGE = 1e-6  # of the weights, over the samples


@dataclass(frozen=True)
class Descent:
    """The paper's classifier for labels -1 and 1: cosine loss, 2k - 1 of an RBF kernel with the mean distance.

    Parameters
    ----------
    n_basis : int
        Number of basis vectors, R.
    step : float
        Length of a gradient step in U, over that of the gradient.
    n_steps : int
        How many.
    start : {"rows", "normal"}
        The first U: samples, or standard normal numbers.
    gradient : {"exact", "summed"}
        "summed" adds up the gradients of all kernel values before it multiplies by c, as the authors' code does; that
        is the gradient for R = 1 alone.
    intercept : bool
        Whether there is one.
    restarts : int
        How many first U are tried; the lowest loss counts.
    """

    n_basis: int
    step: float = 1.0
    n_steps: int = 200
    start: str = "rows"
    gradient: str = "exact"
    intercept: bool = False
    restarts: int = 5

    def fit(self, X: np.ndarray, y: np.ndarray, seed: int) -> PlainModel:
        """Return the best of the restarts."""
        rng = np.random.default_rng(seed)
        bandwidth = float(pdist(X).mean())
        models = [self._descended(X, y, bandwidth, rng) for _ in range(self.restarts)]
        return min(models, key=lambda model: cosine_loss(model.decision(X), y)[0])

    def _descended(self, X: np.ndarray, y: np.ndarray, bandwidth: float, rng: np.random.Generator) -> PlainModel:
        shape = (self.n_basis, X.shape[1])
        U = X[rng.choice(len(X), self.n_basis)].copy() if self.start == "rows" else rng.standard_normal(shape)
        model = PlainModel(U, rng.standard_normal(self.n_basis), 0.0, bandwidth)
        for _ in range(self.n_steps):
            U -= self.step * self.gradient_of_basis(model, X, y)
        return self._with_weights(model, X, y)

    def gradient_of_basis(self, model: PlainModel, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the loss in U, or what stands for it."""
        K, U, c = model.kernel(X), model.U, model.c
        slope = cosine_loss((2 * K - 1) @ c + model.b, y)[1]
        pull = 2 * slope[:, None] * K / model.bandwidth**2  # of sample i on u_r, towards x_i, for c_r = 1
        if self.gradient == "summed":
            pull = np.repeat(pull.sum(axis=1, keepdims=True), self.n_basis, axis=1)
        pull = pull * c
        return pull.T @ X - pull.sum(axis=0)[:, None] * U

    def _with_weights(self, model: PlainModel, X: np.ndarray, y: np.ndarray) -> PlainModel:
        """Return the model with the weights of the least cosine loss: least squares, whose length does not matter."""
        F = 2 * model.kernel(X) - 1
        centre, target = (F.mean(axis=0), y.mean()) if self.intercept else (np.zeros(self.n_basis), 0.0)
        G = F - centre
        c = np.linalg.solve(G.T @ G + RIDGE * len(X) * np.eye(self.n_basis), G.T @ (y - target))
        return PlainModel(model.U, c, float(target - centre @ c), model.bandwidth)


@dataclass(frozen=True)
class PlainModel:
    """f(x) = b + sum of c_r (2 k(x, u_r) - 1)."""

    U: np.ndarray
    c: np.ndarray
    b: float
    bandwidth: float

    def kernel(self, X: np.ndarray) -> np.ndarray:
        """Return k(x_i, u_r)."""
        squared = np.square(X).sum(axis=1)[:, None] - 2 * X @ self.U.T + np.square(self.U).sum(axis=1)
        return np.asarray(np.exp(-squared / (2 * self.bandwidth**2)))

    def decision(self, X: np.ndarray) -> np.ndarray:
        """Return f of every sample."""
        return (2 * self.kernel(X) - 1) @ self.c + self.b

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        """Return the accuracy."""
        return float(np.mean(np.where(self.decision(X) > 0, 1.0, -1.0) == y))


def cosine_loss(f: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Return minus the cosine of f and y, and its gradient in f."""
    length_f, length_y = max(float(np.linalg.norm(f)), 1e-12), float(np.linalg.norm(y))
    cosine = float(y @ f) / (length_f * length_y)
    return -cosine, -(y / length_y - cosine * f / length_f) / length_f
