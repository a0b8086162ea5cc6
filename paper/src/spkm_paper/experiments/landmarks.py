"""Landmarks of a Nystroem approximation: learned against k-means and random samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from spkm import SPKMClassifier, SPKMNystroem
from spkm.inspection import Curve, CurveDisplay
from spkm_paper.competitors import SignClassifier
from spkm_paper.experiments._binary import QUICK_ROWS, TITLES
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._data import loaded, some_rows, thirds
from spkm_paper.experiments._figures import legend_below, panels
from spkm_paper.experiments._ours import WIDE_C
from spkm_paper.experiments._ridge import ALPHAS, best_linear
from spkm_paper.experiments._tables import mean_and_deviation
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "landmarks"
VERSION = 1
SPLITS = 10
SIZES = (1, 2, 5, 10, 20, 50)
RULES = {
    "learned": "learned",
    "learned, with bandwidth": "bandwidth",
    "k-means": "kmeans",
    "random samples": "random",
}
MACHINES = ("KRR", "SVM")


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield all rules and numbers of landmarks on all splits."""
    for name in sets:
        for seed in range(plan.n_seeds(SPLITS)):
            for method, rule in RULES.items():
                for R in plan.size(SIZES, (2, 10)):
                    settings = {"rule": rule, "n_basis": R, "rows": plan.size(None, QUICK_ROWS)}
                    yield Task(NAME, name, seed, f"{method}, R = {R}", settings, VERSION)


def run(task: Task, folder: Path | None) -> Numbers:
    """Find landmarks with the training third, fit KRR and SVM on their features, choose and test on the others."""
    data = loaded(task.data, folder)
    rows = some_rows(len(data.y), task.settings["rows"])
    X, y = data.X[rows].astype(float), data.y[rows]
    train, validation, test = thirds(len(y), task.seed)
    machines = {
        "KRR": [SignClassifier(Ridge(alpha=alpha)) for alpha in ALPHAS],
        "SVM": [SVC(C=C, kernel="linear") for C in WIDE_C],
    }
    found = {}
    for name, models in machines.items():
        model = best_linear(_features(task), models, X, y, train, validation)
        found[name] = 100 * model.score(X[test], y[test])
    return found


def _features(task: Task) -> SPKMNystroem:
    rule, R = task.settings["rule"], task.settings["n_basis"]
    landmarks: Any = rule
    if rule in ("learned", "bandwidth"):
        landmarks = SPKMClassifier(learn_bandwidth=rule == "bandwidth")
    return SPKMNystroem(R, kernel="rbf", landmarks=landmarks, n_jobs=1, random_state=task.seed)


def report(results: Results) -> list[Table | Figure]:
    """Return a table for every set and machine, and the differences between learned and k-means."""
    blocks: list[Table | Figure] = []
    sizes = _sizes(results)
    for data in results.data:
        for machine in MACHINES:
            rows = [
                [rule, *(mean_and_deviation(results.values(data, f"{rule}, R = {R}", machine)) for R in sizes)]
                for rule in RULES
            ]
            heads = ["landmarks", *(f"R = {R}" for R in sizes)]
            blocks.append(Table(f"{machine}, {TITLES[data]}: accuracy % with R landmarks", heads, rows))
    caption = (
        "Accuracy with learned landmarks minus accuracy with as many centres of k-means, in points, mean of the "
        "splits; above zero, learned ones are better. All with the same kernel, its bandwidth the mean distance."
    )
    return [*blocks, Figure("landmarks", caption, lambda: draw(results))]


def draw(results: Results) -> Any:
    """Return the figure: one panel for each machine, one line for each set."""
    sizes = _sizes(results)
    figure, axes = panels(len(MACHINES), width=4.0, height=3.2, sharey=True)
    for axis, machine in zip(axes, MACHINES, strict=True):
        curves = {}
        for data in results.data:
            learned, centres = (
                np.array([results.mean(data, f"{rule}, R = {R}", machine) for R in sizes])
                for rule in ("learned", "k-means")
            )
            curves[TITLES[data]] = Curve(sizes, learned - centres)
        label = "learned - k-means [points]" if axis is axes[0] else ""
        CurveDisplay(curves, x_label="landmarks", y_label=label).plot(ax=axis, legend=False)
        axis.axhline(0, color="black", lw=0.8)
        axis.set_title(machine, fontsize=9)
    legend_below(figure, axes)
    return figure


def _sizes(results: Results) -> list[int]:
    return sorted({int(result.task.settings["n_basis"]) for result in results.all})


EXPERIMENT = Experiment(
    NAME,
    "Nyström landmarks: learned against k-means",
    "Thirds of the samples for training, validation and test. Landmarks are basis vectors of SPKMClassifier, centres "
    "of k-means or random samples, with an RBF kernel whose bandwidth is the mean distance (“with bandwidth”: learned "
    "as well). KRR is a ridge regression of signs on the features, SVM a linear SVC; their parameters are chosen on "
    "the validation third. The paper shows curves and no numbers.",
    tasks,
    run,
    report,
    ("breast_cancer_wisconsin", "early_diabetes", "ionosphere", "qsar_biodeg"),
)
