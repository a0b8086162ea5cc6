"""What the tables of two classes share: a split into thirds, our machines, the competitors, and the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spkm import SPKMClassifier
from spkm_paper.competitors import tuned
from spkm_paper.experiments._blocks import Table
from spkm_paper.experiments._data import loaded, some_rows, thirds
from spkm_paper.experiments._ours import best_on, candidate_classifiers, paper_classifiers
from spkm_paper.experiments._tables import Line, comparison
from spkm_paper.experiments._tasks import Numbers, Plan, Results, Task

TOGETHER = "early_diabetes, copies together"
TITLES = {
    "breast_cancer_wisconsin": "Breast Cancer Wisconsin (original)",
    "early_diabetes": "Early-stage diabetes",
    TOGETHER: "Early-stage diabetes, equal samples kept on one side of the split",
    "ionosphere": "Ionosphere",
    "qsar_biodeg": "QSAR biodegradation",
}
NOTES = {
    "early_diabetes": "Only 251 of the 520 samples are distinct: a random split has copies of training samples among "
    "the test samples, which favours machines that keep samples, KRR and SVM.",
    TOGETHER: "The paper's numbers are of a random split, with copies on both sides.",
}
SIZES = (1, 2, 5)
QUICK_ROWS = 240


def ours(kernel: str) -> dict[str, dict[str, Any]]:
    """Return our machines by name, with their settings."""
    by_paper = {f"SPKM, paper's algorithm, R = {R}": {"ours": "paper", "n_basis": R} for R in SIZES}
    default = {f"SPKM, default, R = {R}": {"ours": "default", "n_basis": R} for R in SIZES}
    chosen = {"SPKM, tuned, R ≤ 10": {"ours": "tuned"}}
    return {name: {**settings, "kernel": kernel} for name, settings in (by_paper | default | chosen).items()}


def tasks(
    experiment: str,
    version: int,
    methods: Mapping[str, Mapping[str, Any]],
    sets: Sequence[str],
    plan: Plan,
    splits: int,
) -> Iterator[Task]:
    """Yield the tasks of all methods on all splits of the sets, split by split."""
    for name in sets:
        for seed in range(plan.n_seeds(splits)):
            for method, settings in methods.items():
                # The paper's grids are short, and their best is often at an end.
                step = 1 if settings.get("competitor", "").endswith("_paper") else plan.size(1, 4)
                more = {"rows": plan.size(None, QUICK_ROWS), "step": step}
                yield Task(experiment, name, seed, method, {**settings, **more}, version)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit a method on a training third, choose on a validation third, and test on the last."""
    data = loaded(task.data.split(",")[0], folder)
    rows = some_rows(len(data.y), task.settings["rows"])
    X, y = data.X[rows].astype(float), data.y[rows]
    groups = np.unique(X, axis=0, return_inverse=True)[1].ravel() if task.data == TOGETHER else None
    train, validation, test = thirds(len(y), task.seed, groups)
    model = _fitted(task, X, y, train, validation)
    return {"accuracy": 100 * model.score(X[test], y[test]), **_size(model, len(train))}


def table(
    results: Results, data: str, methods: Mapping[str, Mapping[str, Any]], paper: Mapping[str, tuple[str, int | None]]
) -> Table:
    """Return the table of one data set, with the paper's accuracy and number of vectors."""

    def entry(method: str) -> str:
        if method not in paper:
            return ""
        accuracy, vectors = paper[method]
        return accuracy if vectors is None else f"{accuracy} ({vectors})"

    lines = [Line(name, entry(name), "competitor" in settings) for name, settings in methods.items()]
    more = {"vectors": "vectors", "columns": "features"}
    notes = [NOTES[data]] if data in NOTES else []
    table = comparison(results, data, TITLES[data], lines, "accuracy", "accuracy %", more, notes=notes)
    heads = ["paper (vectors)" if head == "paper" else head for head in table.columns]
    return Table(table.title, heads, table.rows, table.notes)


def _fitted(task: Task, X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray) -> Any:
    settings = task.settings
    if "competitor" in settings:
        rows = (X, y, train, validation)
        size, step = settings.get("n_vectors"), settings["step"]
        model, _ = tuned(settings["competitor"], *rows, task="classification", n_vectors=size, step=step)
        return model
    kernel = settings["kernel"]
    if settings["ours"] == "tuned":
        candidates = candidate_classifiers(kernel, len(train), task.seed, min(settings["step"], 2))
        return best_on(candidates, X, y, train, validation)
    if settings["ours"] == "paper":
        return best_on(paper_classifiers(settings["n_basis"], kernel, task.seed), X, y, train, validation)
    model = SPKMClassifier(settings["n_basis"], kernel=kernel, n_jobs=1, random_state=task.seed)
    return model.fit(X[train], y[train])


def _size(model: Any, n_train: int) -> Numbers:
    """Return how many vectors a machine compares new samples with; of a linear model, how many features it reads."""
    last = model if isinstance(model, SPKMClassifier) else model[-1]
    if hasattr(last, "basis_vectors_"):
        return {"vectors": len(last.basis_vectors_)}
    if hasattr(last, "prototypes_"):
        return {"vectors": len(last.prototypes_)}
    if hasattr(last, "support_vectors_"):
        return {"vectors": len(last.support_vectors_)}
    regressor = getattr(last, "regressor_", last)
    if hasattr(regressor, "coef_"):
        return {"columns": int(np.count_nonzero(regressor.coef_))}
    return {"vectors": n_train}
