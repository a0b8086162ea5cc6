"""Accuracy and R² against the number of vectors, 1 to 100, over the panel: ours and five methods of few vectors.

One split of every set: at most 300 samples for training, 200 for validation, 1,000 for the test. Ours learns from the
training part with its defaults, a linear part and a bandwidth for each feature among them; the others, which have
neither, choose a bandwidth and a strength on the validation part. Scores are means over the sets, R² not below zero;
``--families`` takes names of sets. ``vectors.csv`` and ``vectors.png`` in the folder ``benchmark_results`` have all.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._panel import MORE_CLASSES, REAL_TARGETS, TWO_CLASSES, halves, load, split
from benchmarks._report import Row, progress
from benchmarks._results import FOLDER
from spkm import SPKMClassifier, SPKMRegressor

COUNTS = (1, 2, 5, 10, 20, 50, 100)
COLUMNS = tuple(map(str, COUNTS[1:]))
MOST = (300, 200, 1000)  # samples for training, validation and test
METHODS = {
    "nystroem_kmeans": "k-means Nyström",
    "random_fourier": "random Fourier features",
    "matching_pursuit": "kernel matching pursuit",
    "reduced_set": "reduced-set SVM",
    "rbf_network": "RBF network",
}
GROUPS = {"classification": TWO_CLASSES + MORE_CLASSES, "regression": REAL_TARGETS}
AXES = {"classification": "accuracy, %", "regression": "R², %"}
GRID_STEP = 4  # every so many strengths of a grid are tried; all bandwidths are
FIELDS = ("task", "half", "data", "method", "vectors", "score")


def run(settings: Settings) -> Iterator[Row]:
    records: list[dict[str, Any]] = []
    counts = COUNTS[: settings.size(len(COUNTS), 2)]
    for task, names in GROUPS.items():
        for half, members in halves(names):
            for name in filter(settings.wants, members[: settings.size(len(members), 1)]):
                records += [
                    {"task": task, "half": half, "data": name, "method": method, "vectors": count, "score": score}
                    for method, count, score in scores(settings, name, task, counts)
                ]
                progress(name)
                if not settings.quick:
                    _written(records)
    for task in GROUPS:
        for method in ("ours", *METHODS.values()):
            means = [_mean(records, task, method, count) for count in counts]
            yield Row(f"{task}: {method}, 1 vector", means[0], form="{:.1f}", more=tuple(f"{m:.1f}" for m in means[1:]))
    if not settings.quick:
        drawn(records, FOLDER / "vectors.png")


def scores(settings: Settings, name: str, task: str, counts: tuple[int, ...]) -> Iterator[tuple[str, int, float]]:
    """Yield method, number of vectors and test score in percent of one set."""
    X, y = load(settings, name)
    classes = task == "classification"
    parts = split(X, y if classes else y.astype(np.float64), 0, classes)
    train, validation, test = ((A[:most], b[:most]) for (A, b), most in zip(parts, MOST, strict=True))
    for count in counts:
        make = SPKMClassifier if classes else SPKMRegressor
        yield "ours", count, _score(make(count, random_state=0, n_jobs=1).fit(*train), test)
        for method, label in METHODS.items():
            yield label, count, _score(chosen(method, task, count, train, validation), test)


def chosen(method: str, task: str, count: int, train: Any, validation: Any) -> Any:
    """Return a competitor with the bandwidth and the strength that are best on validation samples."""
    from spkm_paper.competitors import candidates

    grid = list(candidates(method, *train, task=task, n_vectors=count, random_state=0))
    strength = "C" if "C" in grid[0][0] else "alpha"
    kept = sorted({params[strength] for params, _ in grid})[::GRID_STEP]
    models = [model.fit(*train) for params, model in grid if params[strength] in kept]
    return max(models, key=lambda model: model.score(*validation))


def _score(model: Any, test: Any) -> float:
    return 100 * max(float(model.score(*test)), 0.0)


def _mean(records: list[dict[str, Any]], task: str, method: str, count: int) -> float:
    return float(
        np.mean([r["score"] for r in records if (r["task"], r["method"], r["vectors"]) == (task, method, count)])
    )


def _written(records: list[dict[str, Any]]) -> None:
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "vectors.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(records)


def drawn(records: list[dict[str, Any]], path: Path) -> None:
    """Draw the mean scores against the number of vectors, a panel for each task."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(GROUPS), figsize=(10, 4), layout="constrained")
    for ax, task in zip(axes, GROUPS, strict=True):
        n_sets = len({r["data"] for r in records if r["task"] == task})
        for method in ("ours", *METHODS.values()):
            counts = sorted({r["vectors"] for r in records})
            style = {"color": "black", "lw": 2.5, "zorder": 3} if method == "ours" else {"lw": 1.3, "marker": "."}
            ax.plot(counts, [_mean(records, task, method, count) for count in counts], label=method, **style)
        ax.set_xscale("log")
        ax.set_xticks(COUNTS, [str(count) for count in COUNTS])
        ax.minorticks_off()
        ax.set(xlabel="number of vectors", ylabel=f"test {AXES[task]}", title=f"{task}: mean of {n_sets} sets")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.3)
    axes[-1].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["vectors", *sys.argv[1:]])
