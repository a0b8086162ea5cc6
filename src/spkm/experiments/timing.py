"""Running time against the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from spkm import SPKMRegressor
from spkm.datasets import make_inverse_dynamics
from spkm.experiments._blocks import Figure, Table
from spkm.experiments._figures import legend_below, panels, styles
from spkm.experiments._tables import mean_and_deviation
from spkm.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "timing"
VERSION = 1
REPEATS = 3
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES = (300, 1_000, 3_000)
MOST_ROWS_OF_A_MATRIX = 10_000  # 0.8 GB
N_TEST = 2_000
SLOPE_POINTS = 3  # the largest sizes: small ones are all overhead
METHODS: dict[str, dict[str, Any]] = {
    "SPKM, R = 5": {"n_basis": 5},
    "SPKM, R = 20": {"n_basis": 20},
    "SPKM, R = 20, rbf": {"n_basis": 20, "kernel": "rbf"},
    "KRR": {"matrix": "KRR"},
    "kernel matrix alone": {"matrix": "alone"},
}


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield all methods on growing numbers of rows; those with a kernel matrix end where it gets too large."""
    for n in plan.size(SIZES, QUICK_SIZES):
        for seed in range(plan.n_seeds(REPEATS)):
            for method, settings in METHODS.items():
                if "matrix" not in settings or n <= MOST_ROWS_OF_A_MATRIX:
                    yield Task(NAME, f"{n}", seed, method, {**settings, "rows": n}, VERSION)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit once on made-up rows, on one thread, with the clock running."""
    n = task.settings["rows"]
    X, y = make_inverse_dynamics(n + N_TEST, random_state=task.seed)
    gamma = 1 / (2 * X.shape[1])
    start = perf_counter()
    if task.settings.get("matrix") == "alone":
        rbf_kernel(X[:n], gamma=gamma)
        return {"fit seconds": perf_counter() - start}
    if task.settings.get("matrix") == "KRR":
        model: Any = KernelRidge(alpha=0.01, kernel="rbf", gamma=gamma)
    else:
        kernel = task.settings.get("kernel", "matern")
        model = SPKMRegressor(task.settings["n_basis"], kernel=kernel, n_jobs=1, random_state=task.seed)
    model.fit(X[:n], y[:n])
    seconds = perf_counter() - start
    error = np.mean(np.square(model.predict(X[n:]) - y[n:])) / y[n:].var()
    return {"fit seconds": seconds, "error": float(error)}


def report(results: Results) -> list[Table | Figure]:
    """Return times, errors and slopes, and the figure."""
    sizes = results.data
    heads = ["method", *(f"n = {int(n):,}" for n in sizes)]
    times = [
        [
            name,
            *(mean_and_deviation(results.values(n, name, "fit seconds"), "{:.2f}") for n in sizes),
            _slope(results, name),
        ]
        for name in METHODS
    ]
    errors = [
        [name, *(mean_and_deviation(results.values(n, name, "error"), "{:.3f}") for n in sizes)]
        for name in METHODS
        if name != "kernel matrix alone"
    ]
    change = (
        "Beyond 20,000 rows SPKMRegressor learns its basis from 20,000 of them and to a rougher tolerance, the weights "
        "from all rows: the time falls there, and the error need not."
    )
    note = f"The slope is that of log time over log n at the {SLOPE_POINTS} largest n: 1 is linear, 2 quadratic."
    caption = "Seconds of a fit on one thread against the number of training rows, with fitted slopes."
    return [
        Table("Seconds of a fit", [*heads, "slope"], times, [note, change]),
        Table("Squared test error over the variance", heads, errors),
        Figure("timing", caption, lambda: draw(results)),
    ]


def draw(results: Results) -> Any:
    """Return the figure."""
    figure, (axis,) = panels(1, width=6.0, height=4.2)
    for name, style in styles(tuple(METHODS)).items():
        n, seconds = _times(results, name)
        slope = _slope(results, name)
        axis.plot(n, seconds, ms=4, label=f"{name} (slope {slope})" if slope else name, **style)
    axis.set(xscale="log", yscale="log", xlabel="training rows", ylabel="time of a fit [s]")
    axis.minorticks_off()
    axis.set_xticks([int(n) for n in results.data], labels=[f"{int(n):,}" for n in results.data])
    axis.yaxis.set_major_formatter("{x:g}")
    legend_below(figure, [axis])
    return figure


def _times(results: Results, name: str) -> tuple[np.ndarray, np.ndarray]:
    of = [n for n in results.data if name in results.methods(n)]
    return np.array([int(n) for n in of]), np.array([results.mean(n, name, "fit seconds") for n in of])


def _slope(results: Results, name: str) -> str:
    n, seconds = (np.log(values[-SLOPE_POINTS:]) for values in _times(results, name))
    return f"{np.polyfit(n, seconds, 1)[0]:.2f}" if len(n) == SLOPE_POINTS else ""


EXPERIMENT = Experiment(
    NAME,
    "Running time against the number of rows",
    "Made-up inverse dynamics of seven joints (21 columns, as SARCOS has), fitted on one thread, one fit at a time. "
    "KRR has fixed parameters: no choice among several is timed. The matrix of KRR ends it at 10,000 rows. The paper "
    "times SARCOS, and shows a figure without numbers.",
    tasks,
    run,
    report,
    alone=True,
)
