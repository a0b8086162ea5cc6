"""Random estimators and samples: odd names, huge scales, constant columns, gaps, single precision, sparse tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMRegressor, TableEncoder, kernels

KERNELS: tuple[Any, ...] = (
    *("rbf", "matern", "laplacian", "linear", "polynomial", "rational_quadratic"),
    kernels.Matern(2.5),
    kernels.NormalizedPolynomial(2),
    kernels.Sum(kernels.RBF(0.3), kernels.Linear(0.1)),
    kernels.Product(kernels.RBF(0.1), kernels.Polynomial(2, 0.1)),
    kernels.Affine(kernels.Laplacian(0.2), 2.0, 0.5),
)
TASKS = ("numbers", "numbers", "several numbers", "counts", "two", "two", "three", "three", "rest", "pairs", "labels")
LABELS: tuple[Any, ...] = (
    ["no", "yes", "may be"],
    [3, -1, 7],
    [1.0, 2.0, -3.0],
    [False, True],
    ["a'b", 'c"\\', "\x1b[1m\r\né \U0001f600"],
)
NAMES = ["a", "b c", 'd"e', "f'g", "h;i", "label", "score", "é", "x1", "x0", "weight {kg}", "%s", "\\n"]


@dataclass(frozen=True)
class Case:
    """A model to be, and samples."""

    seed: int
    about: str
    model: Any
    X: Any
    y: np.ndarray
    new: Any


def draw_case(seed: int) -> Case:
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 20) if rng.random() < 0.15 else rng.integers(20, 90)), int(rng.integers(1, 8))
    kind = str(rng.choice(["array", "array", "frame", "sparse", "float32", "mixed", "mixed"]))
    kinds = int(rng.integers(100))
    X, numbers = samples_of(rng, n, d, kind, kinds=kinds)
    new, _ = samples_of(rng, 12, d, kind, far=True, kinds=kinds)
    task = str(rng.choice(TASKS))
    model, options = estimator_of(rng, task)
    whole = make_pipeline(TableEncoder(categorical=codes_of(X)), model) if kind == "mixed" else model
    return Case(seed, f"{kind}, {n} x {d}, {task}, {options}", whole, X, targets_of(rng, task, numbers), new)


def samples_of(
    rng: np.random.Generator, n: int, d: int, kind: str, far: bool = False, kinds: int = 0
) -> tuple[Any, np.ndarray]:
    """Return samples, and numbers that targets are made of."""
    own = np.random.default_rng([d, kinds])  # scales that training samples and new ones share
    huge = np.where(own.random(d) < 0.05, own.integers(-12, 13, d), 0)
    X = rng.standard_normal((n, d)) * 10.0 ** (own.integers(-3, 4, d) + huge) + own.integers(-2, 3, d)
    X[rng.random((n, d)) < 0.1] = 0.0
    X[:, own.random(d) < 0.07] = own.integers(-3, 4)  # constant
    if far:
        X[:2] *= 1e3
        X[2] = 0.0
    numbers = X / (np.abs(X).max(axis=0) + 1e-300)
    if kind == "sparse":
        return sparse.csr_matrix(X * (rng.random((n, d)) < 0.5)), numbers
    if kind == "float32":
        return X.astype(np.float32), numbers
    names = [str(name) for name in own.permutation(NAMES)[:d]]
    if kind == "frame":
        return pd.DataFrame(X, columns=names), numbers
    if kind == "mixed":
        return _mixed(rng, own, pd.DataFrame(X, columns=names), far), numbers
    return X, numbers


def _mixed(rng: np.random.Generator, own: np.random.Generator, frame: pd.DataFrame, far: bool) -> pd.DataFrame:
    """Return a frame some of whose columns became categories, truths or have gaps."""
    n = len(frame)
    for name in list(frame):
        kind = own.integers(6)
        if kind == 0:
            levels = np.array(["a", "b'\r", 'c"\n', "True", "1", "1.0", "é"], dtype=object)[: own.integers(2, 8)]
            column = rng.choice(levels, n).astype(object)
            if own.random() < 0.5:
                column[rng.random(n) < 0.2] = None
            if far:
                column[0] = "never seen"
            frame[name] = column
        elif kind == 1:
            frame[name] = rng.choice([0.1, 20.0, -3.0, 1e-5, 0.30000000000000004, 1e20], n)
        elif kind == 2:
            frame[name] = rng.choice([1, 2, 30, -4], n)
        elif kind == 3:
            frame[name] = rng.random(n) < 0.5
        elif kind == 4:
            frame.loc[rng.random(n) < 0.2, name] = np.nan
    return frame


def codes_of(X: Any) -> list[str] | None:
    """Return the columns of few numbers, which are categories."""
    if not isinstance(X, pd.DataFrame):
        return None
    return [name for name in X if X[name].dtype.kind in "if" and X[name].nunique() <= 6]


def estimator_of(rng: np.random.Generator, task: str) -> tuple[Any, dict[str, Any]]:
    options: dict[str, Any] = {
        "n_basis": int(rng.integers(1, 6)),
        "kernel": KERNELS[rng.integers(len(KERNELS))],
        "fit_intercept": bool(rng.random() < 0.8),
        "scale": bool(rng.random() < 0.7),
        "max_iter": int(rng.integers(1, 30)),
        "random_state": int(rng.integers(1000)),
    }
    for name, values in (
        ("weight_penalty", ("rkhs", "rkhs", "auto")),
        ("learn_bandwidth", (False, True, "auto")),
        ("linear_part", (False, True, "auto")),
        ("basis", ("free", "free", "samples")),
        ("basis_bounds", ("data", None)),
        ("selection", (None, None, None, "strict")),
    ):
        options[name] = values[rng.integers(len(values))]
    if task in ("numbers", "several numbers", "counts"):
        losses = ("poisson",) if task == "counts" else ("squared", "huber", "quantile", "epsilon_insensitive", "auto")
        options["loss"] = str(rng.choice(losses))
        return SPKMRegressor(**options), options
    options["loss"] = str(rng.choice(["log", "log", "squared_hinge", "smooth_hinge", "auto"]))
    options["multi_class"] = {"rest": "ovr", "pairs": "ovo"}.get(task, "joint")
    return SPKMClassifier(**options), options


def targets_of(rng: np.random.Generator, task: str, numbers: np.ndarray) -> np.ndarray:
    n, d = numbers.shape
    f = np.sin(3 * numbers @ rng.standard_normal(d)) + 0.3 * rng.standard_normal(n)
    if task == "numbers":
        return f * 10.0 ** rng.integers(-3, 4)
    if task == "several numbers":
        return np.column_stack([f, -2 * f + rng.standard_normal(n), rng.standard_normal(n)])
    if task == "counts":
        return rng.poisson(np.exp(f)).astype(float)
    if task == "labels":
        found = (np.column_stack([f, rng.standard_normal(n), f + 1]) > 0.3).astype(int)
        found[:2] = [[0, 1, 0], [1, 0, 1]]
        if rng.random() < 0.3:
            found[:, 1] = 1  # a label that all samples have
        return found
    labels = LABELS[rng.integers(len(LABELS))]
    count = 2 if task == "two" or len(labels) == 2 else 3
    code = np.digitize(f, np.quantile(f, [0.5] if count == 2 else [0.35, 0.7]))
    code[:count] = np.arange(count)[: len(code)]
    return np.array(labels[:count])[code]
