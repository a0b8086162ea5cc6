"""MNIST: ten vectors for ten classes, two for each pair of classes, and what they look like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from spkm import SPKMClassifier, algorithm1
from spkm.inspection import BasisDisplay
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._data import loaded
from spkm_paper.experiments._figures import panels
from spkm_paper.experiments._ours import BASIS_STEPS, RESTARTS, ROUNDS, best_on
from spkm_paper.experiments._tables import Line, comparison
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "mnist"
VERSION = 2
SPLITS = 5
JOINT, PAIRS = "SPKM, default, joint, 10 vectors", "SPKM, default, one-vs-one, 2 vectors each"
METHODS: dict[str, dict[str, Any]] = {
    "SPKM, paper's algorithm, joint, 10 vectors": {"joint": True, "paper": True},
    JOINT: {"joint": True, "paper": False},
    "SPKM, paper's algorithm, one-vs-one, 2 vectors each": {"joint": False, "paper": True},
    PAIRS: {"joint": False, "paper": False},
    "SVM": {"svm": True},
}
PAPER = dict(zip(METHODS, ("around 80", "around 80", "around 90", "around 90", "about 95 (over 2,000)"), strict=True))
SHOWN_SEED = 0  # whose basis vectors are kept


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield all methods on all draws of training samples."""
    for seed in range(plan.n_seeds(SPLITS)):
        for method, settings in METHODS.items():
            size = {"rows": plan.size(6000, 500), "test rows": plan.size(10_000, 1000)}
            effort = {"restarts": plan.size(RESTARTS, 1), "steps": plan.size(BASIS_STEPS, 50)}
            yield Task(NAME, "mnist", seed, method, {**settings, **size, **effort}, VERSION)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit on samples drawn from the training part, and test on the test part."""
    data = loaded("mnist", folder)
    rows = np.random.default_rng(task.seed).permutation(data.parts["train"])[: task.settings["rows"]]
    X, y = data.X[rows].astype(np.float32) / np.float32(255), data.y[rows]
    test = data.parts["test"][: task.settings["test rows"]]
    model = _fitted(task, X, y)
    found: Numbers = {"accuracy": 100 * model.score(data.X[test].astype(np.float32) / np.float32(255), data.y[test])}
    if isinstance(model, SVC):
        return {**found, "vectors": len(model.support_vectors_)}
    found["vectors"] = len(model.basis_vectors_)
    if task.seed == SHOWN_SEED:
        found["basis"] = np.round(255 * model.basis_vectors_).astype(int)
    return found


def _fitted(task: Task, X: np.ndarray, y: np.ndarray) -> Any:
    if "svm" in task.settings:
        cut = 2 * len(y) // 3
        train, validation = np.arange(cut), np.arange(cut, len(y))
        models = [SVC(C=C, gamma=gamma) for C in (1.0, 5.0, 10.0) for gamma in (0.01, 0.02, 0.04)]
        chosen = best_on(models, X, y, train, validation)
        return SVC(C=chosen.C, gamma=chosen.gamma).fit(X, y)
    joint = task.settings["joint"]
    machine: dict[str, Any] = {"scale": "common", "n_jobs": 1, "random_state": task.seed}
    machine |= {"n_basis": 10, "multi_class": "joint"} if joint else {"n_basis": 2, "multi_class": "ovo"}
    if not task.settings["paper"]:
        return SPKMClassifier(**machine).fit(X, y)
    rounds = ROUNDS if joint else 1
    machine |= {"loss": "squared"} if joint else {}
    steps = task.settings["steps"] // rounds
    more = {"n_restarts": task.settings["restarts"], "n_rounds": rounds, "basis_steps": steps}
    return algorithm1(**machine, **more).fit(X, y)


def report(results: Results) -> list[Table | Figure]:
    """Return the table, and pictures of the basis vectors."""
    lines = [Line(name, PAPER[name], name == "SVM") for name in METHODS]
    more = {"vectors": "vectors"}
    blocks: list[Table | Figure] = [
        comparison(results, "mnist", "Accuracy on the test samples", lines, "accuracy", "accuracy %", more, "{:.2f}")
    ]
    for method in METHODS:
        basis = results.by_seed("mnist", method, "basis").get(SHOWN_SEED)
        if basis is None:
            continue
        joint = METHODS[method]["joint"]
        name = f"mnist_{'paper' if METHODS[method]['paper'] else 'default'}_{'joint' if joint else 'pairs'}"
        shows = "the ten basis vectors" if joint else "two basis vectors for each pair of digits"
        caption = f"{method}: {shows}. White is zero, orange above and blue below; each picture has a scale of its own."
        draw = draw_joint if joint else draw_pairs
        blocks.append(Figure(name, caption, partial(draw, np.reshape(basis, (-1, 28, 28)))))
    return blocks


def draw_joint(pictures: np.ndarray) -> Any:
    """Return ten pictures in a row."""
    return _images(pictures, [f"u{r}" for r in range(len(pictures))], (11.0, 1.7))


def draw_pairs(pictures: np.ndarray) -> Any:
    """Return the two pictures of every pair of digits, side by side, each on its own scale."""
    sizes = np.maximum(np.abs(pictures).max(axis=(1, 2), keepdims=True), 1e-9)
    both = np.concatenate([(pictures / sizes)[::2], (pictures / sizes)[1::2]], axis=2)
    return _images(both, [f"{first} against {second}" for first, second in combinations(range(10), 2)], (11.0, 4.6))


def _images(pictures: np.ndarray, titles: Sequence[str], size: tuple[float, float]) -> Any:
    figure, (axis,) = panels(1, width=size[0], height=size[1])
    vectors, shape = np.reshape(pictures, (len(pictures), -1)), pictures.shape[1:]
    nothing = np.zeros((len(vectors), 0))
    BasisDisplay(vectors, vectors, nothing, [], [], image_shape=shape, titles=titles, one_scale=False).plot(ax=axis)
    return figure


EXPERIMENT = Experiment(
    NAME,
    "MNIST: vectors to look at",
    "6,000 random training samples, the 10,000 test samples, pixels over 255 on one scale. Joint: one model of ten "
    "classes with ten vectors (paper's algorithm: squared loss). One-vs-one: 45 models of two vectors each (paper's "
    "algorithm: cosine loss). The SVM chooses C and gamma on a third of its samples and is fitted on all of them.",
    tasks,
    run,
    report,
    ("mnist",),
)
