"""Regression: squared error against the number of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spkm import SPKMNystroem, SPKMRegressor
from spkm.inspection import Curve, CurveDisplay
from spkm_paper.competitors import tuned
from spkm_paper.experiments._blocks import Figure, Table
from spkm_paper.experiments._data import loaded, some_rows, thirds
from spkm_paper.experiments._figures import legend_below, panels
from spkm_paper.experiments._ours import best_on, candidate_regressors, paper_regressors
from spkm_paper.experiments._ridge import ridge_on
from spkm_paper.experiments._tables import Line, comparison
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "regression"
VERSION = 3
SPLITS = 10
SIZES = (1, 2, 5, 10, 20, 50, 100)
PAPER_SIZES = SIZES
WIDE_RANGE = 3  # of errors, from which on they are drawn on a logarithmic scale
TUNED = "SPKM, tuned, R ≤ 100"
BY_SUBJECT = "parkinsons_telemonitoring, by subject"
TITLES = {
    "parkinsons_telemonitoring": "Parkinson's, motor UPDRS, random split",
    BY_SUBJECT: "Parkinson's, motor UPDRS, split by subject",
    "boston_housing": "Boston housing",
    "sarcos": "SARCOS, first torque",
}
NOTES = {
    "parkinsons_telemonitoring": "A random split has samples of the same 42 subjects on both sides: a machine that "
    "weighs features, as our default does, can tell subjects apart by features such as age and sex, and remember their "
    "scores. The split by subject tells what can be said of new ones.",
    BY_SUBJECT: "No subject is in two of the thirds. An error of 1 is that of the mean: what is above it has learned "
    "about the subjects it saw, and nothing about others.",
}
#: Curves of the figure: colour and mark of each kind of method that has a number of vectors.
CURVES = ("SPKM, default", "SPKM, paper's algorithm", "ridge on SPKM landmarks", "ridge on k-means landmarks")
LEVELS = ("KRR", "KRR, mean distance", "SVR", "Lasso")
COMPETITORS = dict(zip(LEVELS, ("krr", "krr_paper", "svr", "lasso"), strict=True))


def methods(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the methods by name, with their settings."""
    found: dict[str, dict[str, Any]] = {}
    for R in plan.size(SIZES, (2, 10)):
        found[f"SPKM, default, R = {R}"] = {"n_basis": R}
    for R in plan.size(PAPER_SIZES, (2,)):
        found[f"SPKM, paper's algorithm, R = {R}"] = {
            "paper": "targets standardised, 200 steps in each round",
            "n_basis": R,
            "step": plan.size(2, 3),
            "restarts": plan.size(5, 1),
        }
    for R in plan.size(SIZES, (2, 10)):
        found[f"ridge on SPKM landmarks, R = {R}"] = {"landmarks": "learned", "n_basis": R}
        found[f"ridge on k-means landmarks, R = {R}"] = {"landmarks": "kmeans", "n_basis": R}
    found[TUNED] = {"sizes": plan.size(SIZES, (2, 10))}
    step = plan.size(1, 4)
    return found | {name: {"competitor": key, "step": step} for name, key in COMPETITORS.items()}


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield all methods on all splits; Parkinson's also split by subject."""
    more = [BY_SUBJECT] if "parkinsons_telemonitoring" in sets else []
    for name in [title for title in TITLES if title in [*sets, *more]]:
        for seed in range(plan.n_seeds(SPLITS)):
            for method, settings in methods(plan).items():
                yield Task(NAME, name, seed, method, {**settings, "rows": plan.size(None, 300)}, VERSION)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit a method on a training third, choose on a validation third, and test on the last."""
    data = loaded(task.data.split(",")[0], folder)
    rows = some_rows(len(data.y), task.settings["rows"])
    X, y = data.X[rows].astype(float), data.y[rows].astype(float)
    y = y if y.ndim == 1 else y[:, 0]
    groups = data.groups[rows] if task.data == BY_SUBJECT and data.groups is not None else None
    train, validation, test = thirds(len(y), task.seed, groups)
    model = _fitted(task, X, y, train, validation)
    error = float(np.mean(np.square(model.predict(X[test]) - y[test])))
    found = {"error": error / float(y[test].var()), "squared error": error, "rows": len(y)}
    return found | ({"vectors": len(model.basis_vectors_)} if task.method == TUNED else {})


def _fitted(task: Task, X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray) -> Any:
    settings = task.settings
    if "competitor" in settings:
        step = settings["step"]
        return tuned(settings["competitor"], X, y, train, validation, task="regression", step=step)[0]
    if "sizes" in settings:
        return best_on(candidate_regressors(settings["sizes"], task.seed), X, y, train, validation)
    R = settings["n_basis"]
    if "landmarks" in settings:
        # Both with the RBF kernel of the mean distance, as in the paper: only the landmarks differ.
        rule = SPKMRegressor(learn_bandwidth=False) if settings["landmarks"] == "learned" else "kmeans"
        features = SPKMNystroem(R, kernel="rbf", landmarks=rule, n_jobs=1, random_state=task.seed)
        return ridge_on(features, X, y, train, validation)
    if settings.get("paper"):
        return best_on(paper_regressors(R, task.seed, settings["step"], settings["restarts"]), X, y, train, validation)
    return SPKMRegressor(R, n_jobs=1, random_state=task.seed).fit(X[train], y[train])


def report(results: Results) -> list[Table | Figure]:
    """Return a table for every set, and the curves."""
    blocks: list[Table | Figure] = []
    for data in results.data:
        lines = [Line(method, competitor=method in LEVELS) for method in results.methods(data)]
        notes = [NOTES[data]] if data in NOTES else []
        more = {"squared error": "mean squared error", "vectors": "vectors chosen", "rows": "samples in all"}
        blocks.append(
            comparison(results, data, TITLES[data], lines, "error", "error / variance", more, "{:.3f}", False, notes)
        )
    caption = (
        "Mean squared test error over the variance of the test targets (1 is the error of the mean) against the number "
        "of vectors; means over the splits, bands of one standard deviation around ours."
    )
    return [*blocks, Figure("regression", caption, lambda: draw(results))]


def draw(results: Results) -> Any:
    """Return the figure."""
    figure, axes = panels(len(results.data), columns=2, width=4.4, height=3.0)
    for axis, data in zip(axes, results.data, strict=True):
        curves = {}
        for name in CURVES:
            found = {
                int(method.rsplit(" ", 1)[1]): results.values(data, method, "error")
                for method in results.methods(data)
                if method.startswith(name)
            }
            mean, spread = ([float(part(values)) for values in found.values()] for part in (np.mean, np.std))
            curves[name] = Curve(list(found), mean, spread if name == "SPKM, default" else None)
        levels = {name: results.mean(data, name, "error") for name in LEVELS if name in results.methods(data)}
        values = np.concatenate([list(levels.values()), *(curve.y for curve in curves.values())])
        CurveDisplay(
            curves,
            levels={**levels, "error of the mean": 1.0},
            names=[*CURVES, *LEVELS, "error of the mean"],
            x_label="vectors",
            y_label="squared error / variance",
            y_scale="log" if values.max() > WIDE_RANGE * values.min() else "linear",
            band=True,
        ).plot(ax=axis, legend=False)
        axis.set_title(TITLES[data], fontsize=9)
    legend_below(figure, axes)
    return figure


EXPERIMENT = Experiment(
    NAME,
    "Regression: squared error against the number of vectors",
    "Thirds of the samples for training, validation and test. “Default” is SPKMRegressor(R), without a look at the "
    "validation samples; “tuned” chooses R and a Matérn or RBF kernel on them; “paper's algorithm” is Algorithm 1 with "
    "squared loss, five rounds and five random starts, its penalty on c chosen on the validation third, its targets "
    "standardised. Landmarks, learned or centres of k-means, have an RBF kernel with the mean distance as bandwidth; "
    "their ridge, KRR, SVR and Lasso choose their parameters on the validation third, KRR and SVR their bandwidths as "
    "well; “KRR, mean distance” has the paper's bandwidth and range, as the paper's algorithm has. The paper shows "
    "curves and no numbers. Of SARCOS often only the published test file is at hand (4,449 samples), which is then "
    "split into thirds.",
    tasks,
    run,
    report,
    ("parkinsons_telemonitoring", "boston_housing", "sarcos"),
)
