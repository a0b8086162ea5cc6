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

from spkm import algorithm1
from spkm.datasets import make_waves
from spkm.inspection import DecisionMapDisplay
from spkm.kernels import RBF, Affine
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._figures import legend_below, panels
from spkm_paper.experiments._tables import mean_and_deviation
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "illustrations"
VERSION = 3
SEEDS = 10
N_TRAIN, N_TEST, GRID = 50, 200, 60
#: What each set is for, and the numbers of vectors.
TASKS = {"two groups": "classification", "two moons": "classification", "waves": "regression"}
SIZES = {"classification": (1, 2, 5), "regression": (2, 5, 10)}
APART = 1.3  # deviations from the middle of two groups: nine in ten samples are on their side
MEASURES = {"classification": ("accuracy %", "{:.1f}"), "regression": ("error / variance", "{:.3f}")}
PANEL_TITLES = {"classification": "{}: {:.0f} % right", "regression": "{}: error {:.2f} of the variance"}
SHOWN_SEED = 0  # which is drawn


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield ours with few vectors and the machine of all samples, for classes and for numbers."""
    for data, kind in TASKS.items():
        for seed in range(plan.n_seeds(SEEDS)):
            yield Task(NAME, data, seed, "SVM" if kind == "classification" else "KRR", {}, VERSION)
            for R in SIZES[kind]:
                yield Task(NAME, data, seed, f"SPKM, R = {R}", {"n_basis": R}, VERSION)


def rows(data: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training samples, then test samples: two normal groups, two moons, or a wavy surface."""
    if data == "two groups":
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=N_TRAIN + N_TEST)
        X = rng.normal(size=(N_TRAIN + N_TEST, 2))
        X[:, 0] += APART * (2 * y - 1)
        return X, y
    if data == "two moons":
        return make_moons(N_TRAIN + N_TEST, noise=0.25, random_state=seed)
    return make_waves(N_TRAIN + N_TEST, 2, noise=0.1, random_state=seed)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit, test, and keep vectors, weights and the surface of the seed that is drawn."""
    X, y = rows(task.data, task.seed)
    train, test = slice(N_TRAIN), slice(N_TRAIN, None)
    kernel = RBF().resolved(X[train], np.ones(N_TRAIN))
    R = task.settings.get("n_basis")
    kind = TASKS[task.data]
    classes = kind == "classification"
    if R is not None:
        model = algorithm1(R, task=kind, kernel=Affine(kernel), scale=False, n_jobs=1, random_state=task.seed)
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
    for data in results.data:
        kind = TASKS[data]
        head, form = MEASURES[kind]
        lines = [
            [
                method,
                mean_and_deviation(results.values(data, method, "score"), form),
                f"{results.mean(data, method, 'vectors'):.4g}",
            ]
            for method in results.methods(data)
        ]
        blocks.append(Table(f"{kind.capitalize()}, {data}, mean over seeds", ["method", head, "vectors"], lines))
        caption = (
            f"{kind.capitalize()}, {data}, with one RBF kernel for all: training samples, and diamonds for the "
            "vectors, orange where their weight is positive and blue where it is negative, larger for larger weights "
            "(not comparable between panels); some may lie outside."
        )
        shown = {
            r.task.method: r.numbers or {} for r in results.all if r.task.data == data and r.task.seed == SHOWN_SEED
        }
        if shown:
            blocks.append(Figure(f"illustration_{data.replace(' ', '_')}", caption, partial(draw, data, shown)))
    return blocks


def draw(data: str, shown: Mapping[str, Numbers]) -> Any:
    """Return the maps of all methods, by their names."""
    X, y = rows(data, SHOWN_SEED)
    kind = TASKS[data]
    low, high = _limits(X)
    grid = (np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID))
    classes = kind == "classification"
    figure, axes = panels(len(shown), columns=4, width=3.0, height=2.9, sharex=True, sharey=True)
    for axis, (method, numbers) in zip(axes, shown.items(), strict=True):
        surface = np.reshape(numbers["surface"], (GRID, GRID)).T
        DecisionMapDisplay(
            grid,
            surface[:, :, None],
            (surface > 0).astype(int) if classes else surface,
            X[:N_TRAIN],
            (y[:N_TRAIN] == 1).astype(int) if classes else None,
            np.array(numbers["basis"]),
            ["x1", "x2"],
            ["class -1", "class 1"] if classes else [],
            weights=np.array(numbers["weights"]),
            vector_name="vector",
        ).plot(ax=axis, legend=False)
        axis.set_title(PANEL_TITLES[kind].format(method, numbers["score"]), fontsize=8)
        axis.label_outer()
    legend_below(figure, axes)
    return figure


EXPERIMENT = Experiment(
    NAME,
    "Illustrations in two dimensions",
    "50 training and 200 test samples, made in the run: two normal groups and two moons for classification, a wavy "
    "surface for regression. "
    "One RBF kernel for all, its bandwidth the mean distance of training samples. SPKM is the paper's Algorithm 1: "
    "cosine loss and one pass for classification, squared loss and five rounds for regression, values 2k - 1. In the "
    "paper's picture, of other data, an SVM of 28 support vectors has 88 % and SPKM with one vector 90 %.",
    tasks,
    run,
    report,
)
