"""Figures of explanations, intervals, bounds, exports, model files and commands."""

from __future__ import annotations

import json
import runpy
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from itertools import combinations
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import spkm
from benchmarks.ratchet.made import apart, classes, halves, people, waves
from benchmarks.ratchet.record import ERROR, LOSS, PERCENT, Skipped, figure
from spkm import SPKMClassifier, SPKMRegressor, explain, theory
from spkm.cli import main as command
from spkm.conformal import (
    CrossConformalClassifier,
    CrossConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
)
from spkm.kernels import RBF


@cache
def classifier(seed: int) -> tuple[SPKMClassifier, np.ndarray, np.ndarray]:
    """Return a fitted classifier with its samples."""
    X, y = classes(400, 4, seed)
    return SPKMClassifier(6, random_state=seed).fit(X, y), X, y


@cache
def regressor(seed: int) -> tuple[SPKMRegressor, np.ndarray, np.ndarray]:
    """Return a fitted regressor with its samples."""
    X, y = waves(400, 4, seed)
    return SPKMRegressor(6, random_state=seed).fit(X, y), X, y


@figure("explain.shapley", "difference of Shapley values from all subsets of features, relative", ERROR)
def shapley(seed: int) -> float:
    model, X, _ = classifier(seed)
    background, x = X[100:150], X[0]

    def value(subset: tuple[int, ...]) -> float:
        rows = background.copy()
        rows[:, list(subset)] = x[list(subset)]
        return float(model.decision_function(rows).mean())

    values = np.zeros(4)
    for size in range(4):
        for subset in combinations(range(4), size):
            for j in set(range(4)) - set(subset):
                gain = value(tuple(sorted({*subset, j}))) - value(subset)
                values[j] += gain / (4 * comb(3, size))
    return apart(values, explain.explain(model, X[:1], background).values[0, :, 0])


@figure("explain.effects", "difference of partial dependence from means over samples, relative", ERROR)
def effects(seed: int) -> float:
    model, X, _ = regressor(seed)
    points = np.linspace(-1, 1, 7)
    effect = explain.partial_dependence(model, X, [1], grid={1: points})[0]
    by_hand = []
    for point in points:
        rows = X.copy()
        rows[:, 1] = point
        by_hand.append(model.predict(rows).mean())
    return apart(np.array(by_hand), effect.values[:, 0])


@figure("explain.gradient", "difference of gradients from central differences, relative", ERROR)
def gradient(seed: int) -> float:
    model, X, _ = regressor(seed)
    h, x = 1e-5, X[:20]
    by_hand = np.stack([(model.predict(x + h * e) - model.predict(x - h * e)) / (2 * h) for e in np.eye(4)], axis=1)
    return apart(by_hand, explain.gradient(model, x).reshape(20, 4))


@figure("explain.sobol", "difference of Sobol indices from sums over all combinations of values, relative", ERROR)
def sobol(seed: int) -> float:
    model, X, _ = regressor(seed)
    X = X[:10]
    every = np.stack([axis.reshape(-1) for axis in np.meshgrid(*X.T, indexing="ij")], axis=1)
    scores = model.predict(every).reshape((10,) * 4)
    first = [scores.mean(axis=tuple(k for k in range(4) if k != j)).var() for j in range(4)]
    total = [scores.var(axis=j).mean() for j in range(4)]
    indices = explain.sobol_indices(model, X)
    found = np.stack([indices.first[:, 0], indices.total[:, 0]])
    return apart(np.stack([first, total]) / scores.var(), found)


@figure("explain.counterfactual", "mean size of 12 counterfactuals, in standard deviations", LOSS)
def counterfactuals(seed: int) -> float:
    model, X, _ = classifier(seed)
    labels = model.predict(X[:12])
    found = [explain.counterfactual(model, x, 1 - label, ranges=X) for x, label in zip(X[:12], labels, strict=True)]
    if not all(f.found and model.predict(f.x[None])[0] == 1 - c for f, c in zip(found, labels, strict=True)):
        return float("nan")
    return float(np.mean([f.size for f in found]))


@figure("explain.importances", "share of the importance on the three features that count, %", PERCENT)
def importance(seed: int) -> float:
    model, X, y = regressor(seed)
    values = np.abs(np.asarray(explain.importances(model, X, y).dropped)).reshape(-1)
    return 100 * float(values[:3].sum() / values.sum())


def interval_figure(conformal: Any, cross: bool) -> Callable[[int], float]:
    """Return the mean width of 90 % intervals on new samples, or NaN where they cover less than 85 %."""

    def measure(seed: int) -> float:
        Xa, ya, Xb, yb = halves(*waves(1200, 3))
        model = SPKMRegressor(10, random_state=seed)
        if cross:
            fitted = conformal(model, confidence_level=0.9).fit_conformalize(Xa, ya)
        else:
            fitted = conformal(model.fit(Xa[:300], ya[:300]), confidence_level=0.9).conformalize(Xa[300:], ya[300:])
        ends = fitted.predict_interval(Xb)[1][:, :, 0]
        covered = np.mean((ends[:, 0] <= yb) & (yb <= ends[:, 1]))
        return float((ends[:, 1] - ends[:, 0]).mean()) if covered >= 0.85 else float("nan")

    return measure


def set_figure(conformal: Any, cross: bool) -> Callable[[int], float]:
    """Return the mean size of 95 % sets of classes on new samples, or NaN where they cover less than 91 %."""

    def measure(seed: int) -> float:
        X, y = waves(1200, 3)
        Xa, ya, Xb, yb = halves(X, np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y))
        model = SPKMClassifier(10, random_state=seed)
        if cross:
            fitted = conformal(model, confidence_level=0.95).fit_conformalize(Xa, ya)
        else:
            fitted = conformal(model.fit(Xa[:300], ya[:300]), confidence_level=0.95).conformalize(Xa[300:], ya[300:])
        sets = fitted.predict_set(Xb)[1][:, :, 0]
        return float(sets.sum(axis=1).mean()) if sets[np.arange(len(yb)), yb].mean() >= 0.91 else float("nan")

    return measure


for _name, _kind, _cross, _measure in (
    ("split_intervals", SplitConformalRegressor, False, interval_figure),
    ("cross_intervals", CrossConformalRegressor, True, interval_figure),
    ("split_sets", SplitConformalClassifier, False, set_figure),
    ("cross_sets", CrossConformalClassifier, True, set_figure),
):
    figure(f"conformal.{_name}", f"mean size of {_name.replace('_', ' ')} that cover", LOSS)(_measure(_kind, _cross))


@figure("theory.bound", "bound on the error of a fitted classifier", LOSS)
def bound(seed: int) -> float:
    rng = np.random.default_rng(8000)
    X = rng.standard_normal((5000, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y, 1.0, -1.0)
    settings: dict[str, Any] = {"kernel": RBF(0.1), "learn_bandwidth": False, "scale": False, "linear_part": False}
    model = SPKMClassifier(2, random_state=seed, weight_penalty="rkhs", **settings).fit(X, y)
    return float(theory.generalization_bound(model, X, y).value)


def _exported(model: SPKMClassifier, folder: str, name: str) -> Path:
    path = Path(folder) / name
    model.export(path)
    return path


@figure("export.python", "difference of scores, exported Python and the model, relative", ERROR)
def to_python(seed: int) -> float:
    model, X, _ = classifier(seed)
    with TemporaryDirectory() as folder:
        scores = runpy.run_path(str(_exported(model, folder, "model.py")))["scores"]
        return apart(model.decision_function(X[:50]), np.reshape([scores(row) for row in X[:50].tolist()], -1))


MAIN = """
#include <stdio.h>
#include "model.c"
int main(void) {
    double x[SPKM_N_FEATURES], f[SPKM_N_SCORES];
    for (;;) {
        for (int j = 0; j < SPKM_N_FEATURES; j++) if (scanf("%lf", x + j) != 1) return 0;
        spkm_scores(x, f);
        printf("%.17g\\n", f[0]);
    }
}
"""


@figure("export.c", "difference of scores, exported C and the model, relative", ERROR)
def to_c(seed: int) -> float:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise Skipped("no C compiler is installed")
    model, X, _ = classifier(seed)
    with TemporaryDirectory() as folder:
        _exported(model, folder, "model.c")
        (Path(folder) / "main.c").write_text(MAIN, encoding="utf-8")
        subprocess.run([compiler, "-std=c99", "-O2", "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
        text = "\n".join(" ".join(map(repr, row)) for row in X[:50].tolist())
        done = subprocess.run([Path(folder) / "main"], input=text, capture_output=True, text=True, check=True)
    return apart(model.decision_function(X[:50]), [float(line) for line in done.stdout.split()])


@figure("export.sql", "samples that the exported SQL predicts as the model does, %", PERCENT)
def to_sql(seed: int) -> float:
    import pandas as pd

    X, y = classes(400, 4, seed)
    names = [f"x{j}" for j in range(X.shape[1])]
    model = SPKMClassifier(6, random_state=seed).fit(pd.DataFrame(X, columns=names), y)
    with TemporaryDirectory() as folder, closing(sqlite3.connect(":memory:")) as database:
        path = Path(folder) / "model.sql"
        model.export(path)
        database.execute(f"create table samples ({', '.join(f'{name} real' for name in names)})")
        database.executemany(f"insert into samples values ({', '.join('?' * len(names))})", X.tolist())
        for name, function in (("exp", np.exp), ("sqrt", np.sqrt)):
            database.create_function(name, 1, lambda value, function=function: float(function(value)))
        cursor = database.execute(path.read_text(encoding="utf-8"))
        at = [column[0] for column in cursor.description].index("spkm_prediction")
        return 100 * float(
            np.mean(np.array([row[at] for row in cursor]) == model.predict(pd.DataFrame(X, columns=names)))
        )


@figure("export.javascript", "difference of scores, exported JavaScript and the model, relative", ERROR)
def to_javascript(seed: int) -> float:
    node = shutil.which("node")
    if node is None:
        raise Skipped("no node is installed")
    model, X, _ = classifier(seed)
    with TemporaryDirectory() as folder:
        code = f"const m = require({json.dumps(str(_exported(model, folder, 'model.js')))});"
        code += f"console.log(JSON.stringify({json.dumps(X[:50].tolist())}.map((row) => m.scores(row))))"
        done = subprocess.run([node, "-e", code], capture_output=True, text=True, check=True)
    return apart(model.decision_function(X[:50]), np.reshape(json.loads(done.stdout), -1))


@figure("export.onnx", "difference of probabilities, ONNX and the model, relative", ERROR)
def to_onnx(seed: int) -> float:
    import onnxruntime

    model, X, _ = classifier(seed)
    with TemporaryDirectory() as folder:
        session = onnxruntime.InferenceSession(str(_exported(model, folder, "model.onnx")))
        outputs = session.run(None, {session.get_inputs()[0].name: X[:50].astype(np.float64)})
    found = next(output for output in outputs if np.shape(output) == (50, 2))
    return apart(model.predict_proba(X[:50]), found)


@figure("files.model", "difference of probabilities, saved and loaded by NumPy alone, relative", ERROR)
def model_file(seed: int) -> float:
    model, X, _ = classifier(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.spkm"
        model.save(path)
        whole, light = spkm.load(path).predict_proba(X), spkm.load(path, runtime="numpy").predict_proba(X)
    return max(apart(model.predict_proba(X), whole), apart(model.predict_proba(X), light))


@figure("files.compiled", "difference of probabilities, compiled() and the model, relative", ERROR)
def compiled(seed: int) -> float:
    model, X, _ = classifier(seed)
    one = model.compiled("predict_proba")
    return apart(model.predict_proba(X[:50]), np.array([np.reshape(one(row), -1) for row in X[:50]]))


def _run(*arguments: str) -> str:
    """Return what a command prints; fails unless it ends well."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        code = command(list(arguments))
    if code:
        raise RuntimeError(f"spkm {arguments[0]} ended with {code}")
    return out.getvalue()


@figure("command.fit", "held-out accuracy that `spkm fit` reports, %", PERCENT)
def fit_command(seed: int) -> float:
    with TemporaryDirectory() as folder:
        table = Path(folder) / "people.csv"
        people().to_csv(table, index=False)
        quality = json.loads(_run("fit", str(table), "--target", "good", "--seed", str(seed), "--json", "-"))["quality"]
    return 100 * float(quality["spkm"]["accuracy"]["value"])


@figure("command.predict", "share of samples that `spkm predict` predicts as the model does, %", PERCENT)
def predict_command(seed: int) -> float:
    import pandas as pd

    with TemporaryDirectory() as folder:
        table, model, out = (str(Path(folder) / name) for name in ("people.csv", "model.spkm", "out.csv"))
        frame = people()
        frame.to_csv(table, index=False)
        _run("fit", table, "--target", "good", "--seed", str(seed), "-o", model)
        _run("predict", model, table, "-o", out)
        _run("inspect", model)
        _run("check", model, table)
        expected = spkm.load(model).predict(frame.drop(columns="good"))
        return 100 * float(np.mean(pd.read_csv(out)["prediction"].astype(str).to_numpy() == expected.astype(str)))
