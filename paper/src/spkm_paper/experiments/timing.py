"""Running time against the number of samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMRegressor
from spkm.datasets import make_inverse_dynamics
from spkm.inspection import Curve, CurveDisplay
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._data import loaded
from spkm_paper.experiments._figures import legend_below, panels
from spkm_paper.experiments._tables import mean_and_deviation
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "timing"
VERSION = 2
REPEATS = 3
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES = (300, 1_000, 3_000)
SHARES = (0.125, 0.25, 0.5, 1.0)  # of the samples of SARCOS, as many as there are
MOST_ROWS_OF_A_MATRIX = 10_000  # 0.8 GB
N_TEST = 2_000
SARCOS_TEST = 0.1  # of its samples
SLOPE_POINTS = 3  # the largest sizes: small ones are all overhead
LABEL_HEIGHT = 1.3  # times the seconds below it
MADE_UP, SARCOS = "made-up inverse dynamics", "sarcos"
TITLES = {MADE_UP: MADE_UP, SARCOS: "SARCOS"}
METHODS: dict[str, dict[str, Any]] = {
    "SPKM, R = 5": {"n_basis": 5},
    "SPKM, R = 20": {"n_basis": 20},
    "SPKM, R = 20, rbf": {"n_basis": 20, "kernel": "rbf"},
    "Nyström, 100 samples": {"landmarks": 100},
    "gradient boosting": {"boosting": True},
    "KRR": {"matrix": "KRR"},
    "kernel matrix alone": {"matrix": "alone"},
}


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield all methods on growing numbers of samples; those with a kernel matrix end where it gets too large."""
    for n in plan.size(SIZES, QUICK_SIZES):
        for seed in range(plan.n_seeds(REPEATS)):
            for method, settings in METHODS.items():
                if "matrix" not in settings or n <= MOST_ROWS_OF_A_MATRIX:
                    yield Task(NAME, f"{MADE_UP}, {n}", seed, method, {**settings, "rows": n}, VERSION)
    for share in SHARES[: plan.size(None, 2)] if sets else ():
        for seed in range(plan.n_seeds(REPEATS)):
            for method, settings in METHODS.items():
                yield Task(NAME, f"{SARCOS}, {share:g}", seed, method, {**settings, "share": share}, VERSION)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit once on one thread, with the clock running; nothing where the kernel matrix would be too large."""
    X, y, X_test, y_test = _rows(task, folder)
    gamma = 1 / (2 * X.shape[1])
    found: Numbers = {"rows": len(X)}
    if "matrix" in task.settings and len(X) > MOST_ROWS_OF_A_MATRIX:
        return found
    if task.settings.get("matrix") == "alone":
        start = perf_counter()
        rbf_kernel(X, gamma=gamma)
        return {**found, "fit seconds": perf_counter() - start}
    model = _machine(task, gamma)
    start = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - start
    error = np.mean(np.square(model.predict(X_test) - y_test)) / y_test.var()
    return {**found, "fit seconds": seconds, "error": float(error)}


def _rows(task: Task, folder: Path | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return samples to fit and to test, their features standardised."""
    if "share" in task.settings:
        data = loaded("sarcos", folder)
        order = np.random.default_rng(task.seed).permutation(len(data.y))
        test, others = np.split(order, [round(SARCOS_TEST * len(order))])
        train = others[: round(task.settings["share"] * len(others))]
        X, y = data.X.astype(float), data.y[:, 0].astype(float)
        X = StandardScaler().fit(X[train]).transform(X)
        return X[train], y[train] - y[train].mean(), X[test], y[test] - y[train].mean()
    n = task.settings["rows"]
    X, y = make_inverse_dynamics(n + N_TEST, random_state=task.seed)
    return X[:n], y[:n], X[n:], y[n:]


def _machine(task: Task, gamma: float) -> Any:
    settings = task.settings
    if settings.get("matrix") == "KRR":
        return KernelRidge(alpha=0.01, kernel="rbf", gamma=gamma)
    if settings.get("boosting"):
        return HistGradientBoostingRegressor(random_state=task.seed)
    if "landmarks" in settings:
        features = Nystroem(kernel="rbf", gamma=gamma, n_components=settings["landmarks"], random_state=task.seed)
        return make_pipeline(features, Ridge(alpha=0.01))
    kernel = settings.get("kernel", "matern")
    return SPKMRegressor(settings["n_basis"], kernel=kernel, n_jobs=1, random_state=task.seed)


def report(results: Results) -> list[Table | Figure]:
    """Return times, errors and slopes of both kinds of samples, and the figure."""
    blocks: list[Table | Figure] = []
    for kind, sizes in _kinds(results).items():
        heads = ["method", *(f"n = {_n_rows(results, of):,}" for of in sizes)]
        times = [
            [
                name,
                *(mean_and_deviation(results.values(of, name, "fit seconds"), "{:.2f}") for of in sizes),
                _slope(results, sizes, name),
            ]
            for name in METHODS
        ]
        errors = [
            [name, *(mean_and_deviation(results.values(of, name, "error"), "{:.3f}") for of in sizes)]
            for name in METHODS
            if name != "kernel matrix alone"
        ]
        blocks.append(Table(f"Seconds of a fit, {TITLES[kind]}", [*heads, "slope"], times, NOTES[kind]))
        blocks.append(Table(f"Squared test error over the variance, {TITLES[kind]}", heads, errors))
    caption = "Seconds of a fit on one thread against the number of training samples, with fitted slopes."
    return [*blocks, Figure("timing", caption, lambda: draw(results))]


def draw(results: Results) -> Any:
    """Return the figure: a panel for each kind of samples."""
    kinds = _kinds(results)
    figure, axes = panels(len(kinds), width=5.0, height=4.2, sharey=True)
    for axis, (kind, sizes) in zip(axes, kinds.items(), strict=True):
        curves = {name: Curve(*_times(results, sizes, name)) for name in METHODS}
        label = "time of a fit [s]" if axis is axes[0] else ""
        display = CurveDisplay(curves, x_label="training samples", y_label=label, y_scale="log")
        display.plot(ax=axis, legend=False)
        slopes = {name: _slope(results, sizes, name) for name in METHODS}
        _label(
            axis,
            [
                (curves[name].x[-1], curves[name].y[-1], slope, display.style_of(name)["color"])
                for name, slope in slopes.items()
                if slope
            ],
        )
        axis.set_title(f"{TITLES[kind]}; slopes at the ends", fontsize=9)
        axis.margins(x=0.12)
    legend_below(figure, axes)
    return figure


def _label(axis: Any, ends: list[tuple[float, float, str, str]]) -> None:
    """Write slopes beside the ends of curves, one above the other where ends meet."""
    points, last = 0.0, (0.0, 0.0)
    for x, y, text, colour in sorted(ends):
        near = x == last[0] and y < LABEL_HEIGHT * last[1]
        points, last = points + 8 if near else 0.0, (x, y)
        axis.annotate(text, (x, y), (5, points - 3), textcoords="offset points", color=colour, fontsize=8)


def _kinds(results: Results) -> dict[str, list[str]]:
    """Return the sizes of made-up samples and of SARCOS, as far as there are any."""
    found = {kind: [of for of in results.data if of.startswith(kind)] for kind in (MADE_UP, SARCOS)}
    return {kind: sizes for kind, sizes in found.items() if sizes}


def _n_rows(results: Results, of: str) -> int:
    return int(results.mean(of, results.methods(of)[0], "rows"))


def _short(n: int) -> str:
    return f"{n // 1_000_000}M" if n >= 1_000_000 else f"{n // 1000}k" if n >= 10_000 else f"{n:,}"


def _times(results: Results, sizes: Sequence[str], name: str) -> tuple[np.ndarray, np.ndarray]:
    of = [size for size in sizes if len(results.values(size, name, "fit seconds"))]
    return np.array([_n_rows(results, size) for size in of]), np.array(
        [results.mean(size, name, "fit seconds") for size in of]
    )


def _slope(results: Results, sizes: Sequence[str], name: str) -> str:
    n, seconds = (np.log(values[-SLOPE_POINTS:]) for values in _times(results, sizes, name))
    return f"{np.polyfit(n, seconds, 1)[0]:.2f}" if len(n) == SLOPE_POINTS else ""


SLOPES = f"The slope is that of log time over log n at the {SLOPE_POINTS} largest n: 1 is linear, 2 quadratic."
NOTES = {
    MADE_UP: [
        SLOPES,
        "Beyond 20,000 samples SPKMRegressor learns its basis from 20,000 of them and to a rougher tolerance, the "
        "weights from all samples: the time falls there, and the error need not.",
    ],
    SARCOS: [
        SLOPES,
        "Parts of as many samples as there are, less a tenth to test: 4,449 if only the test file is there.",
    ],
}

EXPERIMENT = Experiment(
    NAME,
    "Running time against the number of samples",
    "Made-up inverse dynamics of seven joints (21 features, as SARCOS has), and SARCOS itself, its first torque; "
    "fitted on one thread, one fit at a time. KRR and the ridge on 100 random landmarks (Nyström) have fixed "
    "parameters, gradient boosting is scikit-learn's histogram version with its defaults: no choice among several is "
    "timed. The matrix of KRR ends it at 10,000 samples. The paper times SARCOS, and shows a figure without numbers.",
    tasks,
    run,
    report,
    ("sarcos",),
    alone=True,
    makes_data=True,
)
