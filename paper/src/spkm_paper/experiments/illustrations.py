"""Two dimensions: decision surfaces and regression surfaces, with the vectors they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from spkm import SPKMClassifier, SPKMRegressor
from spkm.datasets import make_waves
from spkm.kernels import RBF
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._figures import BLACK, BLUE, ORANGE, panels
from spkm_paper.experiments._tables import mean_and_deviation
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "illustrations"
VERSION = 1
SEEDS = 10
N_TRAIN, N_TEST, GRID = 50, 200, 60
SIZES = {"classification": (1, 2, 5), "regression": (2, 5, 10)}
MEASURES = {"classification": ("accuracy %", "{:.1f}"), "regression": ("error / variance", "{:.3f}")}
PANEL_TITLES = {"classification": "{}: {:.0f} % right", "regression": "{}: error {:.2f} of the variance"}
SHOWN_SEED = 0  # which is drawn


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield ours with few vectors and the machine of all rows, for classes and for numbers."""
    for kind, sizes in SIZES.items():
        for seed in range(plan.n_seeds(SEEDS)):
            yield Task(NAME, kind, seed, "SVM" if kind == "classification" else "KRR", {}, VERSION)
            for R in sizes:
                yield Task(NAME, kind, seed, f"SPKM, R = {R}", {"n_basis": R}, VERSION)


def rows(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training rows, then test rows: two moons, or a wavy surface."""
    if kind == "classification":
        return make_moons(N_TRAIN + N_TEST, noise=0.25, random_state=seed)
    return make_waves(N_TRAIN + N_TEST, 2, noise=0.1, random_state=seed)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit, test, and keep vectors, weights and the surface of the seed that is drawn."""
    X, y = rows(task.data, task.seed)
    train, test = slice(N_TRAIN), slice(N_TRAIN, None)
    kernel = RBF().resolved(X[train], np.ones(N_TRAIN))
    R = task.settings.get("n_basis")
    classes = task.data == "classification"
    if R is not None:
        machine: Any = SPKMClassifier if classes else SPKMRegressor
        model = machine(R, kernel=kernel, learn_bandwidth=False, scale=False, n_jobs=1, random_state=task.seed)
    else:
        model = SVC(gamma=kernel.gamma) if classes else KernelRidge(alpha=0.1, kernel="rbf", gamma=kernel.gamma)
    model.fit(X[train], y[train])
    score = model.score(X[test], y[test])
    found: Numbers = {"score": 100 * score if classes else 1 - score}
    if R is not None:
        vectors, weights = model.basis_vectors_, model.dual_coef_
    elif classes:
        vectors, weights = model.support_vectors_, model.dual_coef_[0]
    else:
        vectors, weights = X[train], model.dual_coef_
    found["vectors"] = len(vectors)
    if task.seed == SHOWN_SEED:
        surface = model.decision_function(_mesh(X)) if classes else model.predict(_mesh(X))
        found |= {"basis": vectors, "weights": weights, "surface": np.round(surface, 4)}
    return found


def _limits(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return X.min(axis=0) - 0.3, X.max(axis=0) + 0.3


def _mesh(X: np.ndarray) -> np.ndarray:
    axes = [np.linspace(low, high, GRID) for low, high in zip(*_limits(X), strict=True)]
    return np.column_stack([part.ravel() for part in np.meshgrid(*axes)])


def report(results: Results) -> list[Table | Figure]:
    """Return a table and a figure for classes and for numbers."""
    blocks: list[Table | Figure] = []
    for kind in results.data:
        head, form = MEASURES[kind]
        lines = [
            [
                method,
                mean_and_deviation(results.values(kind, method, "score"), form),
                f"{results.mean(kind, method, 'vectors'):.4g}",
            ]
            for method in results.methods(kind)
        ]
        blocks.append(Table(f"{kind.capitalize()}, mean over seeds", ["method", head, "vectors"], lines))
        caption = (
            f"{kind.capitalize()} with one RBF kernel for all. Diamonds are training rows; + and x are vectors of "
            "positive and negative weight, larger for larger weights (not comparable between panels); some may lie "
            "outside."
        )
        shown = {
            r.task.method: r.numbers or {} for r in results.all if r.task.data == kind and r.task.seed == SHOWN_SEED
        }
        if shown:
            blocks.append(Figure(f"illustration_{kind}", caption, partial(draw, kind, shown)))
    return blocks


def draw(kind: str, shown: Mapping[str, Numbers]) -> Any:
    """Return the surfaces of all methods, by their names."""
    X, y = rows(kind, SHOWN_SEED)
    (left, bottom), (right, top) = _limits(X)
    figure, axes = panels(len(shown), columns=4, width=3.0, height=2.7, sharex=True, sharey=True)
    for axis, (method, numbers) in zip(axes, shown.items(), strict=True):
        surface = np.reshape(numbers["surface"], (GRID, GRID))
        most = np.abs(surface).max() if kind == "classification" else np.abs(y).max()
        box = {"extent": (left, right, bottom, top), "origin": "lower", "aspect": "auto"}
        image = axis.imshow(surface, cmap="PuOr", vmin=-most, vmax=most, alpha=0.7, **box)
        if kind == "classification":
            axis.contour(surface, levels=[0.0], colors=BLACK, linewidths=1, extent=(left, right, bottom, top))
            colours: Any = np.where(y[:N_TRAIN] == 1, BLUE, ORANGE)
            axis.scatter(*X[:N_TRAIN].T, c=colours, s=12, marker="D", edgecolors="white", linewidths=0.4)
        else:
            style = {"cmap": "PuOr", "vmin": -most, "vmax": most, "edgecolors": "white", "linewidths": 0.4}
            axis.scatter(*X[:N_TRAIN].T, c=y[:N_TRAIN], s=14, marker="D", **style)
        basis, weights = np.array(numbers["basis"]), np.array(numbers["weights"])
        sizes = 25 + 120 * np.abs(weights) / np.abs(weights).max()
        for sign, mark in ((weights > 0, "+"), (weights <= 0, "x")):
            axis.scatter(*basis[sign].T, s=sizes[sign], c=BLACK, marker=mark, linewidths=1.3)
        axis.set_title(PANEL_TITLES[kind].format(method, numbers["score"]), fontsize=8)
        axis.set(xlim=(left, right), ylim=(bottom, top), xlabel="$x_1$")
        axis.grid(False)
    axes[0].set_ylabel("$x_2$")
    if kind == "regression":
        figure.colorbar(image, ax=axes, label="$y$")
    return figure


EXPERIMENT = Experiment(
    NAME,
    "Illustrations in two dimensions",
    "50 training and 200 test rows, made in the run: two moons for classification, a wavy surface for regression. One "
    "RBF kernel for all, its bandwidth the mean distance of training rows. In the paper's picture, of other data, an "
    "SVM of 28 support vectors has 88 % and SPKM with one vector 90 %.",
    tasks,
    run,
    report,
)
