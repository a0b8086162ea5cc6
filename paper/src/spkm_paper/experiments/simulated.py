"""Few features, made-up data: accuracy, and whether the features that matter are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from spkm.datasets import make_sparse_relation
from spkm_paper.competitors import tuned
from spkm_paper.experiments import _sparsity
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._tables import Line, comparison
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "simulated"
VERSION = 1
SPLITS = 10
RELATIONS = {"linear": "linear", "quadratic": "polynomial of degree 2", "quintic": "polynomial of degree 5"}
ORACLE = "SVM on the relevant features"


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield all methods on all seeds of the three relations."""
    n, d = plan.size((500, 100), (120, 30))
    step = plan.size(1, 4)
    methods = _sparsity.methods(plan.size((2, 5, 20), ()), step, plan.size(5, 1))
    methods[ORACLE] = {"oracle": True, "step": step}
    for relation in plan.size(tuple(RELATIONS), ("linear", "quadratic")):
        for seed in range(plan.n_seeds(SPLITS)):
            for method, settings in methods.items():
                yield Task(NAME, relation, seed, method, {**settings, "rows": n, "columns": d}, VERSION)


def run(task: Task, folder: Path | None) -> Numbers:
    """Make samples, a third each to fit, choose and test, and compare the features found with those that matter."""
    n, d = task.settings["rows"], task.settings["columns"]
    X, y, relevant = make_sparse_relation(task.data, 3 * n, d, random_state=task.seed)
    split = np.split(np.arange(3 * n), 3)
    if "oracle" in task.settings:
        train, validation, test = split
        Z = X[:, relevant]
        model, _ = tuned("svm", Z, y, train, validation, task="classification", step=task.settings["step"])
        return {"accuracy": 100 * model.score(Z[test], y[test]), "relevant columns": len(relevant)}
    found = _sparsity.measured(task.settings, X, y, split, task.seed)
    selected = found.pop("selected", None)
    if selected is not None:
        hits = np.isin(selected, relevant).sum()
        found["recall"] = hits / len(relevant)
        if len(selected):
            found["precision"] = hits / len(selected)
    return found


def report(results: Results) -> list[Table | Figure]:
    """Return a table for every relation, and accuracy against features."""
    blocks: list[Table | Figure] = []
    for data in results.data:
        of = results.methods(data)
        lines = [Line(method, competitor=not method.startswith("SPKM") and method != ORACLE) for method in of]
        more = {"columns": "features", "precision": "precision", "recall": "recall"}
        blocks.append(
            comparison(
                results, data, RELATIONS[data], lines, "accuracy", "accuracy %", more, "{:.1f}", notes=_sparsity.NOTES
            )
        )
    known = {data: results.values(data, ORACLE, "relevant columns") for data in results.data}
    matter = {data: int(values[0]) for data, values in known.items() if len(values)}
    caption = "Test accuracy against the number of features; means over the seeds. The dotted line is what matters."
    return [*blocks, Figure("simulated", caption, lambda: _sparsity.draw(results, RELATIONS, matter))]


EXPERIMENT = Experiment(
    NAME,
    "Primal sparsity, simulated: a tenth of the features matter",
    "Two classes made of 10 of 100 standard normal features by a linear relation or a polynomial of degree 2 or 5; 500 "
    "samples each to fit, to choose and to test. “Strict” is SPKMClassifierCV, which chooses kernel, features and "
    "vectors on the validation samples, without and with a limit on the features. The paper's algorithm has two "
    "vectors in an l1 ball, cosine loss and 2k - 1 of an RBF kernel. The paper gives no recipe for its data, "
    "and no numbers.",
    tasks,
    run,
    report,
)
