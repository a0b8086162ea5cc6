"""Figures of kernels, losses, penalties and solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.ratchet.made import classes, counts, held_out, stored, waves
from benchmarks.ratchet.record import LOSS, PERCENT, figure
from spkm import SPKMClassifier, SPKMRegressor
from spkm.kernels import KERNELS, RBF, Linear
from spkm.losses import LOSSES
from spkm.penalties import L1, ElasticNet, GroupL2, L1Ball, RKHSNorm, RowL2, SquaredL2
from spkm.solvers import SOLVERS

Measure = Callable[[int], float]


def kernel_figure(name: str) -> Measure:
    """Return the accuracy with a kernel: counts for a kernel of counts, else a problem with products of features."""

    def measure(seed: int) -> float:
        kernel = KERNELS.resolve(name)
        X, y = counts(1200) if kernel.nonnegative else classes(1200, 4)
        if name == "linear":
            y = (X[:, 0] + X[:, 1] > X[:, 2]).astype(int)
        return held_out(SPKMClassifier(10, kernel=name, random_state=seed), X, y)

    return measure


def loss_figure(name: str) -> Measure:
    """Return the accuracy or R2 of a model fitted with a loss; counts as targets for Poisson."""

    def measure(seed: int) -> float:
        loss = LOSSES.resolve(name)
        X, y = waves(1200, 4)
        if loss.target == "real":
            y = np.random.default_rng(7000).poisson(np.exp(0.7 * y)).astype(float) if name == "poisson" else y
            model: Any = SPKMRegressor(15, loss=name, random_state=seed)
        else:
            y = (y > 0).astype(int)
            model = SPKMClassifier(15, loss=name, random_state=seed)
        return held_out(model, X, y)

    return measure


def _fixed(**settings: Any) -> dict[str, Any]:
    """Return settings under which the objective is one function of basis and weights, alike in all versions."""
    return {
        "kernel": RBF(0.3),
        "weight_penalty": RKHSNorm(0.003),
        "learn_bandwidth": False,
        "linear_part": False,
        "basis_bounds": None,
        **settings,
    }


def solver_figure(name: str) -> Measure:
    """Return the objective at the end of a solver, from one start."""

    def measure(seed: int) -> float:
        X, y = waves(500, 3)
        start = X[:10] + 0.01 * seed
        penalty = L1(0.001) if name == "proximal" else None
        settings = _fixed(loss="squared", solver=name, start=start, basis_penalty=penalty, random_state=seed)
        return 100 * float(SPKMRegressor(10, **settings).fit(X, y).objective_)

    return measure


def penalty_figure(settings: dict[str, Any], kernel: Any) -> Measure:
    """Return the objective at the end of a default fit with a penalty, on pixels of odd and even digits."""

    def measure(seed: int) -> float:
        X, y = load_digits(return_X_y=True)
        fitted = SPKMClassifier(5, **{**_fixed(kernel=kernel, random_state=seed), **settings}).fit(X[:600], y[:600] % 2)
        return 100 * float(fitted.objective_)

    return measure


PENALTIES: dict[str, dict[str, Any]] = {
    "l1": {"basis_penalty": L1(0.002)},
    "l1_ball": {"basis_penalty": L1Ball(5.0)},
    "elastic_net": {"basis_penalty": ElasticNet(0.002)},
    "features": {"basis_penalty": GroupL2(0.002)},
    "l2": {"basis_penalty": SquaredL2(0.001), "weight_penalty": SquaredL2(0.001)},
    "rows": {"weight_penalty": RowL2(0.002)},
    "l1_ball_in_bounds": {"basis_penalty": L1Ball(5.0), "basis_bounds": "data"},
    "features_in_bounds": {"basis_penalty": GroupL2(0.002), "basis_bounds": "data"},
}

for _name in KERNELS:
    figure(f"kernel.{_name}", f"accuracy, kernel '{_name}', 10 vectors, %", PERCENT)(kernel_figure(_name))
for _name in LOSSES:
    figure(f"loss.{_name}", f"accuracy or R2, loss '{_name}', 15 vectors, %", PERCENT)(loss_figure(_name))
for _name in SOLVERS:
    figure(f"solver.{_name}", f"objective from one start, solver '{_name}', x 100", LOSS)(solver_figure(_name))
for _name, _settings in PENALTIES.items():
    figure(f"penalty.{_name}", f"worst objective of three seeds, {_name}, x 100", LOSS, seeds=3, worst=True)(
        penalty_figure(_settings, RBF())
    )
figure("penalty.sparse_linear", "worst objective of three seeds, l1 on a linear kernel, x 100", LOSS, 3, True)(
    penalty_figure({"basis_penalty": L1(0.01)}, Linear())
)


@figure("data.ball", "worst objective of three seeds, l1 ball in bounds, Ionosphere, x 100", LOSS, seeds=3, worst=True)
def ball(seed: int) -> float:
    D = stored("ionosphere")
    plain: dict[str, Any] = {"kernel": RBF(), "weight_penalty": "rkhs", "learn_bandwidth": False, "linear_part": False}
    model = SPKMClassifier(5, basis_penalty=L1Ball(5.0), random_state=seed, **plain)
    return 100 * float(model.fit(D["X"].astype(float), D["y"]).objective_)
