"""One instance of everything, small read-only data, and the gradient check: what the tests share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from spkm import kernels, losses, penalties, solvers
from spkm.core import starts
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.losses import Loss
from spkm.sources import ArraySource

N_FEATURES = 4
GROUPS = ("a", "b", "a", "c")
FACTORS = np.array([0.5, 1.5, 0.2, 0.9])
FACTORS.setflags(write=False)

KERNELS = {
    "rbf": kernels.RBF(0.3),
    "matern": kernels.Matern(1.5, 0.2),
    "matern, 5/2": kernels.Matern(2.5, 0.2),
    "rational_quadratic": kernels.RationalQuadratic(0.7, 0.4),
    "laplacian": kernels.Laplacian(0.3),
    "linear": kernels.Linear(0.5),
    "polynomial": kernels.Polynomial(3, 1.0, 0.4),
    "polynomial, homogeneous": kernels.Polynomial(2, 0.0, 0.5),
    "normalized_polynomial": kernels.NormalizedPolynomial(2, 1.0, 0.5),
    "normalized_polynomial, odd": kernels.NormalizedPolynomial(3, 0.5, 0.7),
    "tanimoto": kernels.Tanimoto(),
    "sum": kernels.Sum(kernels.RBF(0.3), kernels.Linear(0.2)),
    "product": kernels.Product(kernels.Matern(2.5, 0.1), kernels.Polynomial(2, 1.0, 0.3)),
    "affine": kernels.Affine(kernels.RBF(0.3)),
    "rescaled": kernels.Rescaled(kernels.NormalizedPolynomial(2, 1.0, 0.5), 0.6),
    "nest": kernels.Rescaled(
        kernels.Sum(
            kernels.Product(kernels.Rescaled(kernels.RBF(0.2), 1.5), kernels.Tanimoto()),
            kernels.Affine(kernels.Laplacian(0.3), 1.5, -0.5),
        ),
        FACTORS,
    ),
}

LOSSES = {
    "squared": losses.Squared(),
    "huber": losses.Huber(0.8),
    "epsilon_insensitive": losses.EpsilonInsensitive(0.2),
    "quantile": losses.Quantile(0.3, 0.1),
    "poisson": losses.Poisson(),
    "hazard": losses.Hazard(),
    "ordinal": losses.Ordinal((-1.0, 0.2, 1.5)),
    "log": losses.Log(),
    "log, labels": losses.Log("labels"),
    "squared_hinge": losses.SquaredHinge(),
    "smooth_hinge": losses.SmoothHinge(0.5),
    "exponential": losses.Exponential(),
    "cosine": losses.Cosine(),
}

# Of matrices with N_FEATURES columns. The value of the last ones needs k(U, U): the tests of the objective cover them.
PENALTIES = {
    "l2": penalties.SquaredL2(0.7),
    "l1": penalties.L1(0.4),
    "l1, nonnegative": penalties.L1(0.4, nonnegative=True),
    "features, nonnegative": penalties.GroupL2(0.4, nonnegative=True),
    "sparse groups, nonnegative": penalties.GroupL2(0.4, groups=GROUPS, l1_ratio=0.3, nonnegative=True),
    "elastic_net": penalties.ElasticNet(0.6, 0.3),
    "l1_ball": penalties.L1Ball(1.5),
    "features": penalties.GroupL2(0.5),
    "features, groups": penalties.GroupL2(0.3, GROUPS),
    "features, sparse groups": penalties.GroupL2(0.4, GROUPS, 0.4),
    "rows": penalties.RowL2(0.5),
}
GRAM_PENALTIES = {"rkhs": penalties.RKHSNorm(0.05), "evidence": penalties.Evidence()}

SOLVERS = {
    "lbfgs": solvers.LBFGS(),
    "varpro": solvers.VarPro(),
    "proximal": solvers.Proximal(),
    "adam": solvers.Adam(max_iter=20),
    "alternating": solvers.Alternating(),
}

STARTS = {"rows": starts.Rows(), "kmeans": starts.KMeans(), "greedy": starts.Greedy(), "random": starts.Random()}

REGISTRIES = {
    "kernel": (kernels.KERNELS, KERNELS),
    "loss": (losses.LOSSES, LOSSES),
    "basis penalty": (penalties.BASIS_PENALTIES, PENALTIES | GRAM_PENALTIES),
    "weight penalty": (penalties.WEIGHT_PENALTIES, PENALTIES | GRAM_PENALTIES),
    "solver": (solvers.SOLVERS, SOLVERS),
    "start": (starts.STARTS, STARTS),
}


def frozen(a: np.ndarray) -> np.ndarray:
    """Return ``a``, no longer writeable: code that changes its input fails at once."""
    a.setflags(write=False)
    return a


def rows(n: int, d: int = N_FEATURES, seed: int = 0) -> np.ndarray:
    """Return rows of multiples of 0.1, a third of them zeros, so that no entry comes near those of :func:`basis`."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)), 1)
    X[rng.random((n, d)) < 1 / 3] = 0.0
    return frozen(X)


def basis(n_basis: int, d: int = N_FEATURES, seed: int = 1) -> np.ndarray:
    """Return vectors that have no entry in common with one another or with :func:`rows`: |x - u| has its kink there."""
    U = np.round(0.9 * np.random.default_rng(seed).standard_normal((n_basis, d)), 1)
    return frozen(U + 0.03 + 0.04 * np.arange(n_basis)[:, None] / n_basis)


def targets(loss: Loss, n: int, m: int, seed: int = 2) -> np.ndarray:
    """Return targets (n, m) that the loss can be used for."""
    rng = np.random.default_rng(seed)
    if loss.target == "signs" and (m == 1 or getattr(loss, "columns", None) == "labels"):
        return frozen(rng.choice([-1.0, 1.0], size=(n, m)))
    if loss.target == "signs":
        return frozen(2.0 * np.eye(m)[rng.integers(m, size=n)] - 1.0)
    if isinstance(loss, losses.Ordinal):
        return frozen(rng.integers(len(loss.thresholds) + 1, size=(n, m)).astype(float))
    if isinstance(loss, losses.Hazard):
        return frozen(rng.standard_normal((n, m)))
    if not loss.standardize_target:
        return frozen(rng.poisson(2.0, size=(n, m)).astype(float))
    return frozen(rng.standard_normal((n, m)))


def csr(X: np.ndarray) -> sparse.csr_array:
    """Return ``X`` as a CSR array whose parts cannot be changed."""
    S = sparse.csr_array(X)
    for part in (S.data, S.indices, S.indptr):
        part.setflags(write=False)
    return S


def make_objective(
    kernel: kernels.Kernel,
    loss: Loss,
    *,
    n: int = 12,
    m: int = 1,
    n_basis: int = 3,
    metric: str = "fixed",
    storage: Callable = np.asarray,
    fit_intercept: bool = True,
    weight: np.ndarray | None = None,
    **settings,
) -> Objective:
    """Return an objective of one term on small rows; ``settings`` are the penalties and the prior."""
    model = PreimageModel([Term(n_basis, (View(kernel, None, metric),))], N_FEATURES, m, fit_intercept)
    return Objective(model, loss, ArraySource(storage(rows(n)), targets(loss, n, m), weight), **settings)


def random_theta(model: PreimageModel, seed: int = 3) -> np.ndarray:
    """Return parameters with the basis vectors of :func:`basis`."""
    rng = np.random.default_rng(seed)
    theta = 0.4 * rng.standard_normal(model.n_params)
    for k, U in enumerate(model.unpack(theta).basis):
        U[...] = basis(*U.shape, seed=seed + k)
    if not model.fit_intercept:
        model.unpack(theta).intercept[...] = 0.0
    return frozen(theta)


def directional(
    function: Callable[[np.ndarray], float], x: np.ndarray, direction: np.ndarray, h: float = 1e-5
) -> float:
    """Return the derivative of ``function`` at ``x`` along ``direction`` by central differences of fourth order.

    The short step keeps the error small beside the corners of a loss's slope, and rounding is still at 1e-10.
    """
    near = function(x + h * direction) - function(x - h * direction)
    far = function(x + 2 * h * direction) - function(x - 2 * h * direction)
    return (8 * near - far) / (12 * h)


def slope_error(
    function: Callable[[np.ndarray], float], gradient: np.ndarray, x: np.ndarray, n_directions: int = 12
) -> float:
    """Return max|gradient - differences| / max|gradient|, along all coordinates, or some and random directions."""
    size = x.size
    directions = np.eye(size)
    if size > n_directions:
        rng = np.random.default_rng(size)
        random = rng.standard_normal((n_directions // 2, size))
        random /= np.linalg.norm(random, axis=1, keepdims=True)
        directions = np.vstack([random, rng.permutation(directions)[: n_directions - len(random)]])
    measured = [directional(lambda v: function(v.reshape(x.shape)), x.ravel(), direction) for direction in directions]
    # A gradient that is zero by nature, such as that of a scale-free kernel in its bandwidth, has no relative error.
    return float(np.max(np.abs(directions @ gradient.ravel() - measured)) / max(np.max(np.abs(gradient)), 1e-3))


def gradient_error(objective: Objective, theta: np.ndarray) -> float:
    """Return the relative error of the gradient of the smooth part of an objective."""
    model = objective.model

    def smooth_part(point: np.ndarray) -> float:
        if not model.fit_intercept:  # then the objective is one of the other parameters alone
            point = np.append(point[: -model.n_outputs], model.unpack(theta).intercept)
        return objective.loss.value(objective.totals(point)) + objective.smooth_penalty(point)[0]

    return slope_error(smooth_part, objective.value_and_gradient(theta)[1], theta)


def one_view(kernel, n_basis, metric="fixed"):
    """Return the terms of a model of one kernel on all columns."""
    return (Term(n_basis, (View(kernel, None, metric),)),)
