"""Largest relative error of the analytic gradient against fourth-order central differences, float64, R = 3.

For every kernel: all losses x smooth penalties x (1, 3 outputs) x (dense, CSR) x (one bandwidth, one per feature)
learned. The error is taken apart for basis, metric, weights and intercept, each relative to its own largest entry.
Penalties that are not smooth have no gradient. The last row checks the objective with the weights eliminated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._data import Settings
from benchmarks._report import Row, at_most
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.kernels import KERNELS, RBF, Affine, Kernel, Matern, Polynomial, Product, Rescaled, Sum
from spkm.losses import LOSSES, Loss
from spkm.penalties import RKHSNorm, SquaredL2
from spkm.sources import ArraySource

REACH = at_most(1e-6)
ROWS, COLUMNS_OF_X, R = 12, 4, 3
STEPS = (1e-4, 1e-6)  # the second for entries where the first has a kink of the loss between its points
PENALTIES: dict[str, tuple[Any, Any]] = {
    "none": (None, None),
    "l2 on the basis": (SquaredL2(0.1), None),
    "l2 on the weights": (None, SquaredL2(0.1)),
    "rkhs": (None, RKHSNorm(0.1)),
}


def run(settings: Settings) -> Iterator[Row]:
    worst = 0.0
    for name, kernel in kernels().items():
        error = max(gradient_error(objective) for objective in joint_objectives(kernel, settings.quick))
        worst = max(worst, error)
        yield Row(f"kernel {name}", error, REACH, "{:.0e}")
    cases = product((RBF(0.3), Matern(2.5, 0.3)), (1, 3), (False, True))
    error = max(profiled_error(*case) for case in cases)
    worst = max(worst, error)
    yield Row("variable projection", error, REACH, "{:.0e}")
    yield Row("all", worst, REACH, "{:.0e}")


def kernels() -> dict[str, Kernel]:
    """Return all kernels by name, with numbers for their parameters, and some made of others."""
    named = {name: make() for name, make in KERNELS.items()}
    for kernel in named.values():
        if "gamma" in kernel.get_params():
            kernel.set_params(gamma=0.3)
    return {
        **named,
        "matern 5/2": Matern(2.5, 0.3),
        "2 rbf - 1": Affine(RBF(0.3)),
        "rbf + polynomial": Sum(RBF(0.3), Polynomial(2, 1.0, 0.3)),
        "rbf x matern": Product(RBF(0.3), Matern(1.5, 0.2)),
        "rescaled rbf": Rescaled(RBF(0.3), np.linspace(0.5, 2, COLUMNS_OF_X)),
    }


def joint_objectives(kernel: Kernel, quick: bool) -> Iterator[Objective]:
    losses = {name: LOSSES[name]() for name in (("log", "squared", "cosine") if quick else LOSSES)}
    metrics = ("relevances",) if quick else ("scale", "relevances")
    for loss, penalties, outputs, csr, metric in product(
        losses.values(), PENALTIES.values(), (1, 3), (False, True), metrics
    ):
        yield make_objective(kernel, loss, penalties, outputs, csr, metric)


def make_objective(
    kernel: Kernel, loss: Loss, penalties: tuple[Any, Any], outputs: int, csr: bool, metric: str
) -> Objective:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS_OF_X))
    if kernel.nonnegative:
        X = np.abs(X)
    if csr:
        X[rng.random(X.shape) < 0.4] = 0.0
    if loss.target == "signs":
        code = np.arange(ROWS) % max(outputs, 2)
        Y = np.where(code[:, None] == np.arange(outputs), 1.0, -1.0)
    else:
        Y = (
            rng.standard_normal((ROWS, outputs))
            if loss.standardize_target
            else rng.poisson(2.0, (ROWS, outputs)).astype(float)
        )
    source = ArraySource(sparse.csr_array(X) if csr else X, Y, rng.random(ROWS) + 0.5)
    model = PreimageModel([Term(R, (View(kernel, None, metric),))], COLUMNS_OF_X, outputs)
    return Objective(model, loss, source, *penalties, metric_prior=0.1)


def some_theta(objective: Objective) -> np.ndarray:
    rng = np.random.default_rng(1)
    theta = 0.7 * rng.standard_normal(objective.model.n_params)
    params = objective.model.unpack(theta)
    if objective.model.views[0][1].kernel.nonnegative:
        params.basis[0][...] = np.abs(params.basis[0]) + 0.1
    params.log_metric[0][...] *= 0.3
    return theta


def gradient_error(objective: Objective) -> float:
    """Return the largest error in any part of theta, relative to the part's largest entry."""
    theta = some_theta(objective)
    gradient = objective.value_and_gradient(theta)[1]
    error = difference_error(objective.value, theta, gradient)
    pairs = zip(_parts(objective, error), _parts(objective, gradient), strict=True)
    smallest = 1e-6 * np.abs(gradient).max()  # a part without a slope has rounding only
    return max(float(e.max() / max(np.abs(g).max(), smallest)) for e, g in pairs)


def profiled_error(kernel: Kernel, outputs: int, csr: bool) -> float:
    """Return the same of an objective without weights, relative to the largest entry."""
    penalties = (SquaredL2(0.1), RKHSNorm(0.1))
    objective = make_objective(kernel, LOSSES["squared"](), penalties, outputs, csr, "relevances")
    profiled = objective.eliminated()
    phi = some_theta(objective)[objective.model.basis_part]
    gradient = profiled.value_and_gradient(phi)[1]
    error = difference_error(lambda p: profiled.value_and_gradient(p)[0], phi, gradient)
    return float(error.max() / np.abs(gradient).max())


def difference_error(function: Callable[[np.ndarray], float], x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return |gradient - differences|, entry by entry."""
    error = np.full(len(x), np.inf)
    good = 1e-8 * np.abs(gradient).max()
    for h in STEPS:
        for i in np.flatnonzero(error > good):
            values = []
            for k in (-2, -1, 1, 2):
                moved = x.copy()
                moved[i] += k * h
                values.append(function(moved))
            slope = (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * h)
            error[i] = min(error[i], abs(gradient[i] - slope))
    return error


def _parts(objective: Objective, theta: np.ndarray) -> list[np.ndarray]:
    params = objective.model.unpack(theta)
    return [params.basis[0], params.log_metric[0], params.weights, params.intercept]


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["gradient", *sys.argv[1:]])
