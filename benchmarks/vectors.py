"""Accuracy and R² against the number of vectors, 1 to 100, over the panel: ours and five methods of few vectors.

One split of every set: at most 300 samples for training, 200 for validation, 1,000 for the test. Ours learns from the
training part with its defaults, a linear part and a bandwidth for each feature among them; the others, which have
neither, choose a bandwidth and a strength on the validation part. Scores are means over the sets of both halves, or of
the one that ``--half`` names, R² not below zero; ``--families`` takes names of sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._panel import MORE_CLASSES, REAL_TARGETS, TWO_CLASSES, halves, load, split
from benchmarks._report import Row, progress
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
GROUPS = {"accuracy": TWO_CLASSES + MORE_CLASSES, "R²": REAL_TARGETS}
TASKS = {"accuracy": "classification", "R²": "regression"}
GRID_STEP = 4  # every so many strengths of a grid are tried; all bandwidths are


def run(settings: Settings) -> Iterator[Row]:
    counts = COUNTS[: settings.size(len(COUNTS), 2)]
    for measure, names in GROUPS.items():
        members = [name for half, some in halves(names) if settings.half in (None, half) for name in some]
        members = [name for name in members if settings.wants(name)][: settings.size(len(members), 1)]
        found: dict[tuple[str, int], list[float]] = {}
        for name in members:
            for method, count, score in scores(settings, name, TASKS[measure], counts):
                found.setdefault((method, count), []).append(score)
            progress(name)
        half = f", half {settings.half}" if settings.half else ""
        where = f"{measure} in %, mean of {len(members)} sets{half}"
        for method in ("ours", *METHODS.values()) if members else ():
            first, *others = (float(np.mean(found[method, count])) for count in counts)
            more = [f"{mean:.1f}" for mean in others] + [""] * (len(COUNTS) - len(counts))
            yield Row(f"{where}: {method}, 1 vector", first, form="{:.1f}", more=tuple(more))


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


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["vectors", *sys.argv[1:]])
