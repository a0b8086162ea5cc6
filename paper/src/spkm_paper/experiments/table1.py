"""Table 1: accuracy and number of vectors on four data sets of two classes, RBF kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from spkm.inspection import Curve, CurveDisplay
from spkm_paper.experiments import _binary
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._figures import legend_below, panels
from spkm_paper.experiments._ours import PAPER_ALGORITHM
from spkm_paper.experiments._tasks import Experiment, Plan, Results, Task

NAME = "table1"
VERSION = 3
SPLITS = 20
METHODS: dict[str, dict[str, Any]] = {
    **_binary.ours("rbf"),
    "KRR, paper's grid": {"competitor": "krr_paper"},
    "KRR, full grid": {"competitor": "krr"},
    "SVM, paper's grid": {"competitor": "svm_paper"},
    "SVM, full grid": {"competitor": "svm"},
    "SCA, paper's grid": {"competitor": "sca_paper"},
    "SCA, full grid": {"competitor": "sca"},
    "MMD-critic, 5": {"competitor": "mmd_critic_paper", "n_vectors": 5},
    "MMD-critic, 10": {"competitor": "mmd_critic_paper", "n_vectors": 10},
    "MMD-critic, 10, full grid": {"competitor": "mmd_critic", "n_vectors": 10},
    "Lasso, paper's grid": {"competitor": "lasso_paper"},
    "l1-logistic, full grid": {"competitor": "l1_logistic"},
}
PAPER_METHODS = ("KRR, paper's grid", "SVM, paper's grid", "SCA, paper's grid", "MMD-critic, 5", "MMD-critic, 10")
#: Of every set: SPKM with 1, 2 and 5 vectors; then accuracies and numbers of vectors of PAPER_METHODS; then Lasso.
PAPER: dict[str, tuple[tuple[str, ...], tuple[tuple[str, int], ...], str]] = {
    "breast_cancer_wisconsin": (
        ("97.8 ± 0.7", "97.8 ± 0.7", "98.1 ± 0.4"),
        (("98.0 ± 0.5", 227), ("98.1 ± 0.4", 67), ("98.0 ± 0.5", 58), ("93.9 ± 7.5", 5), ("error", 10)),
        "96.9 ± 1.1",
    ),
    "early_diabetes": (
        ("89.1 ± 0.9", "87.4 ± 2.6", "87.5 ± 1.2"),
        (("94.1 ± 0.5", 173), ("91.2 ± 0.7", 98), ("89.7 ± 1.2", 68), ("77.2 ± 6.3", 5), ("78.7 ± 5.8", 10)),
        "89.5 ± 1.1",
    ),
    "ionosphere": (
        ("86.6 ± 5.0", "88.6 ± 1.6", "88.9 ± 6.1"),
        (("89.5 ± 1.8", 117), ("90.6 ± 0.7", 65), ("89.7 ± 0.7", 60), ("78.6 ± 2.5", 5), ("76.9 ± 5.5", 10)),
        "83.8 ± 2.5",
    ),
    "qsar_biodeg": (
        ("65.6 ± 2.1", "65.6 ± 2.1", "83.0 ± 0.7"),
        (("85.0 ± 2.6", 351), ("83.9 ± 1.7", 187), ("79.6 ± 2.2", 123), ("61.2 ± 10.7", 5), ("64.6 ± 6.6", 10)),
        "83.8 ± 1.5",
    ),
}
PAPER[_binary.TOGETHER] = PAPER["early_diabetes"]


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Return all methods on all splits; the diabetes set also with its copies on one side of the split."""
    more = [_binary.TOGETHER] if "early_diabetes" in sets and not plan.quick else []
    order = [name for name in _binary.TITLES if name in [*sets, *more]]
    return _binary.tasks(NAME, VERSION, METHODS, order, plan, SPLITS)


def paper_numbers(data: str) -> dict[str, tuple[str, int | None]]:
    """Return the paper's accuracy and number of vectors by our names of the methods."""
    spkm, others, lasso = PAPER[data]
    found: dict[str, tuple[str, int | None]] = {"Lasso, paper's grid": (lasso, None)}
    for R, accuracy in zip(_binary.SIZES, spkm, strict=True):
        found |= {f"SPKM, {way}, R = {R}": (accuracy, R) for way in ("paper's algorithm", "default")}
    return found | dict(zip(PAPER_METHODS, others, strict=True))


def report(results: Results) -> list[Table | Figure]:
    """Return a table for every set, and accuracy against the number of vectors as a figure."""
    tables = [_binary.table(results, data, METHODS, paper_numbers(data)) for data in results.data]
    caption = (
        "Accuracy against the number of vectors that a new sample is compared with; means over the splits, bars of one "
        "standard deviation. Open marks are the paper's numbers."
    )
    return [*tables, Figure("table1", caption, lambda: draw(results))]


#: Methods of the figure by the beginning of their names; colour, mark, and whose numbers in the paper go with them.
#: The groups of methods, and what the paper calls them.
GROUPS = {
    "SPKM, default": None,
    "SPKM, paper's algorithm": "SPKM, paper's algorithm",
    "SPKM, tuned": None,
    "KRR, full grid": "KRR",
    "SVM, full grid": "SVM",
    "SCA, full grid": "SCA",
    "MMD-critic": "MMD-critic",
}


def draw(results: Results) -> Any:
    """Return the figure."""
    figure, axes = panels(len(results.data), columns=3, width=3.6)
    for axis, data in zip(axes, results.data, strict=True):
        paper, curves = paper_numbers(data), {}
        for group, in_paper in GROUPS.items():
            entries = [entry for method, entry in paper.items() if in_paper and method.startswith(in_paper)]
            known = [(n, float(text.split()[0])) for text, n in entries if n is not None and text != "error"]
            curves[group] = Curve(*_points(group, results, data), joined=group.startswith("SPKM"), others=known)
        CurveDisplay(curves, x_label="vectors", y_label="test accuracy [%]").plot(ax=axis, legend=False)
        axis.set_title(_binary.TITLES[data].replace(", ", ",\n", 1), fontsize=9)
    axes[0].plot([], [], ls="", marker="o", mfc="none", color="grey", label="open: the paper's number")
    legend_below(figure, axes)
    return figure


def _points(group: str, results: Results, data: str) -> tuple[list[float], list[float], list[float]]:
    """Return vectors, accuracies and their deviations of a group's methods."""
    found = []
    for method in results.methods(data):
        vectors, accuracy = (results.values(data, method, measure) for measure in ("vectors", "accuracy"))
        if method.startswith(group) and len(vectors):
            found.append((vectors.mean(), accuracy.mean(), accuracy.std(ddof=1) if len(accuracy) > 1 else 0.0))
    x, mean, deviation = zip(*found, strict=True) if found else ((), (), ())
    return list(x), list(mean), list(deviation)


EXPERIMENT = Experiment(
    NAME,
    "Table 1: accuracy and number of vectors, RBF kernel",
    "Thirds of the samples for training, validation and test; features are standardised with the training samples. "
    "Competitors choose their parameters on the validation third, in the paper's range (1e-5 to 1, bandwidth the mean "
    "distance) and in a wide one with bandwidths. "
    + PAPER_ALGORITHM
    + " “Default” is SPKMClassifier(R), which looks at no validation "
    "samples; “tuned” chooses 1, 2, 5 or 10 vectors and one of three strengths on them.",
    tasks,
    _binary.run,
    report,
    ("breast_cancer_wisconsin", "early_diabetes", "ionosphere", "qsar_biodeg"),
)
