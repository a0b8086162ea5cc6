"""Few features, real data: accuracy against the number of features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from spkm_paper.experiments import _sparsity
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._data import loaded, some_rows, thirds
from spkm_paper.experiments._tables import Line, comparison
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "sparsity"
VERSION = 1
SPLITS = 10
TITLES = {
    "basehock": "BASEHOCK",
    "leukemia": "Leukemia",
    "gisette": "Gisette",
    "pseudomonas": "Pseudomonas aeruginosa",
}
LIMITS = (5, 20, 100)


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield all methods on all splits."""
    methods = _sparsity.methods(plan.size(LIMITS, ()), plan.size(2, 4), plan.size(5, 1))
    for name in sets:
        for seed in range(plan.n_seeds(SPLITS)):
            for method, settings in methods.items():
                some = {"rows": plan.size(None, 200), "columns": plan.size(None, 300)}
                yield Task(NAME, name, seed, method, {**settings, **some}, VERSION)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit a method on a training third, choose on a validation third, and test on the last."""
    data = loaded(task.data, folder)
    X = data.X[some_rows(len(data.y), task.settings["rows"])]
    X = X[:, some_rows(X.shape[1], task.settings["columns"])].astype(float)
    y = data.y[some_rows(len(data.y), task.settings["rows"])]
    found = _sparsity.measured(task.settings, X, y, thirds(len(y), task.seed), task.seed)
    found.pop("selected", None)
    return found


def report(results: Results) -> list[Table | Figure]:
    """Return a table for every set, and accuracy against features."""
    blocks: list[Table | Figure] = []
    for data in results.data:
        lines = [Line(method, competitor=not method.startswith("SPKM")) for method in results.methods(data)]
        more = {"columns": "features"}
        blocks.append(
            comparison(results, data, TITLES[data], lines, "accuracy", "accuracy %", more, notes=_sparsity.NOTES)
        )
    caption = "Test accuracy against the number of features; means over the splits."
    return [*blocks, Figure("sparsity", caption, lambda: _sparsity.draw(results, TITLES, {}))]


EXPERIMENT = Experiment(
    NAME,
    "Primal sparsity, real data",
    "Thirds of the samples for training, validation and test. “Strict” is SPKMClassifierCV, which chooses kernel, "
    "features and vectors on the validation samples, without and with a limit on the features. The paper's algorithm "
    "has two vectors in an l1 ball, cosine loss and 2k - 1 of an RBF kernel. The paper shows curves and no numbers.",
    tasks,
    run,
    report,
    tuple(TITLES),
)
