"""Random estimators, data and outputs through all the ways that must agree; each disagreement has a seed to repeat it.

python -m benchmarks hostile --minutes 30
python -m benchmarks hostile --families 4711      # the case of this seed again, with all that it says
"""

from __future__ import annotations

import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from benchmarks._data import Settings
from benchmarks._report import Row, at_most
from benchmarks._ways import WAYS, Answers, NotPossible, answers_of
from spkm import SPKMClassifier, SPKMRegressor, TableEncoder, kernels
from spkm.explain import explain
from spkm.tables.pipelines import before_last, last_of

TOLERANCE = 1e-9  # of a score, over the sum of the absolute values that it is made of
SINGLE = 1e-4  # the same for samples of single precision
CASES = 25  # of a quick run
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
    [0.5, 1.5, -2.5],
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
    n, d = int(rng.integers(20, 90)), int(rng.integers(1, 8))
    kind = str(rng.choice(["array", "array", "frame", "sparse", "float32", "mixed", "mixed"]))
    X, numbers = _samples(rng, n, d, kind)
    new, _ = _samples(rng, 12, d, kind, far=True)
    task = str(rng.choice(TASKS))
    model, options = _estimator(rng, task)
    whole = make_pipeline(TableEncoder(categorical=_codes(X)), model) if kind == "mixed" else model
    return Case(seed, f"{kind}, {n} x {d}, {task}, {options}", whole, X, _targets(rng, task, numbers), new)


def _samples(rng: np.random.Generator, n: int, d: int, kind: str, far: bool = False) -> tuple[Any, np.ndarray]:
    """Return samples, and numbers that targets are made of."""
    own = np.random.default_rng(d)  # scales that training samples and new ones share
    X = rng.standard_normal((n, d)) * 10.0 ** own.integers(-3, 4, d) + own.integers(-2, 3, d)
    X[rng.random((n, d)) < 0.1] = 0.0
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


def _codes(X: Any) -> list[str] | None:
    """Return the columns of few numbers, which are categories."""
    if not isinstance(X, pd.DataFrame):
        return None
    return [name for name in X if X[name].dtype.kind in "if" and X[name].nunique() <= 6]


def _estimator(rng: np.random.Generator, task: str) -> tuple[Any, dict[str, Any]]:
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


def _targets(rng: np.random.Generator, task: str, numbers: np.ndarray) -> np.ndarray:
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
    code[:count] = range(count)
    return np.array(labels[:count])[code]


# Comparing


def differences(model: Any, X: Any, want: Answers, found: Answers, exact: bool) -> str:
    """Return where answers differ by more than rounding, or nothing."""
    fitted = last_of(model).model_
    rows = last_of(model)._rows(before_last(model, X))
    size = np.abs(fitted.contributions(rows)).sum(axis=1) + np.abs(fitted.intercept)
    rounding = 0.0 if exact else TOLERANCE if rows.dtype == np.float64 else SINGLE
    error = rounding * np.maximum(size, 1e-300)
    if "scores" in found:
        gap = np.abs(np.asarray(found["scores"], dtype=float).reshape(want["scores"].shape) - want["scores"])
        if not np.all(gap <= error):
            return f"scores differ by {np.max(gap / np.maximum(size, 1e-300)):.3g} of their size"
    largest = float(np.max(error, initial=0.0))  # of a logarithm of odds, or of a count
    if "probabilities" in want:
        if "probabilities" not in found:
            return "" if "scores" not in found and "predict" in found else "there are no probabilities"
        gap = np.abs(np.asarray(found["probabilities"], dtype=float) - want["probabilities"])
        if not np.all(gap <= max(10 * largest, rounding)):
            return f"probabilities differ by {np.max(gap):.3g}"
    target = np.asarray(want["predict"])
    got = np.asarray(found["predict"]).reshape(target.shape)
    if target.dtype.kind == "f" and last_of(model).model_.target.task == "regression":
        gap = np.abs(got - target) / np.maximum(1.0, np.abs(target))
        return "" if np.all(gap <= 10 * largest) else f"predictions differ by {np.max(gap):.3g}"
    same = got.astype(target.dtype) == target
    same = same if same.ndim == 1 else same.all(axis=1)
    clear = _margins(want, fitted) > 100 * largest
    return "" if np.all(same[clear]) else f"{int((~same[clear]).sum())} predictions differ"


def _margins(want: Answers, fitted: Any) -> np.ndarray:
    """Return how far decisions are from the next one; pairs are judged by probabilities, or not at all."""
    F = want["scores"]
    if fitted.target.task == "labels" or F.shape[1] == 1:
        return np.abs(F).min(axis=1)
    if fitted.pairs is not None:
        votes = want.get("probabilities")
        return np.full(len(F), -1.0) if votes is None else np.diff(np.sort(votes, axis=1)[:, -2:], axis=1)[:, 0] - 1e-3
    return np.diff(np.sort(F, axis=1)[:, -2:], axis=1)[:, 0]


# Laws


def shapley_values_add_up(case: Case, model: Any) -> str:
    """Return how far the Shapley values of a sample are from its score, if they are."""
    last, rows = last_of(model), last_of(model)._rows(before_last(model, case.X))
    rows = rows.toarray() if sparse.issparse(rows) else rows
    try:
        found = explain(last.model_, rows[:4], rows[:20])
    except (ValueError, TypeError) as error:  # some kernels have no closed form
        raise NotPossible(str(error)) from error
    total = found.values.sum(axis=1) + found.base_values
    scores = last.model_.scores(rows[:4])
    # Kernels are approximated to an error over their largest value, not over what they are at a sample.
    parts = np.abs(last.model_.contributions(rows[:20])).sum(axis=1).max() + np.abs(last.model_.weights).sum()
    size = parts + np.abs(scores).max() + 1e-300
    gap = float(np.abs(total - scores).max() / size)
    return (
        ""
        if gap <= (1e-7 if rows.dtype == np.float64 else SINGLE)
        else f"Shapley values and the base differ from the score by {gap:.3g} of its size"
    )


def fits_are_repeatable(case: Case, model: Any) -> str:
    """Return by how much a second fit of the same samples differs, if it does."""
    again = answers_of(clone(model).fit(case.X, case.y), case.X)["scores"]
    return "" if np.array_equal(again, answers_of(model, case.X)["scores"]) else "a second fit has other scores"


def weights_are_repeats(case: Case, model: Any) -> str:
    """Return by how much a fit with whole weights differs from one of samples that are there as often, if it does."""
    last = clone(last_of(model))
    rows = last_of(model)._rows(before_last(model, case.X))
    if last.weight_penalty == "auto" or last.selection is not None:
        raise NotPossible("folds of repeated samples are others")
    weight = np.random.default_rng(case.seed).integers(1, 4, rows.shape[0])
    often = np.repeat(np.arange(rows.shape[0]), weight)
    a = clone(last).fit(rows, case.y, sample_weight=weight.astype(float)).model_.scores(rows)
    b = clone(last).fit(rows[often], case.y[often]).model_.scores(rows)
    gap = float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))
    return "" if gap <= 1e-3 else f"scores differ by {gap:.3g} of their size"


LAWS: dict[str, Callable[[Case, Any], str]] = {
    "weights are repeats": weights_are_repeats,
    "Shapley values add up": shapley_values_add_up,
    "fits are repeatable": fits_are_repeatable,
}


# The run


@dataclass
class Tally:
    """What came of the cases."""

    cases: int = 0
    refused: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


def try_case(seed: int, tally: Tally, loud: bool = False) -> None:
    """Fit the model of a seed and compare all ways; note what differs."""
    case = draw_case(seed)
    tally.cases += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = case.model.fit(case.X, case.y)
        except (ValueError, TypeError) as error:  # settings that do not go together
            tally.refused += 1
            if loud:
                print(f"refused: {error}")
            return
        except Exception as error:
            _note(tally, case, "fit", f"{type(error).__name__}: {error}", loud)
            return
        want = answers_of(model, case.new)
        for name, (way, exact) in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                compare = partial(_compared, case, model, want, way, exact, Path(folder))
                _try(tally, case, name, compare, loud)
        for name, law in LAWS.items():
            _try(tally, case, name, partial(law, case, model), loud)


def _compared(case: Case, model: Any, want: Answers, way: Any, exact: bool, folder: Path) -> str:
    return differences(model, case.new, want, way(model, case.new, folder), exact)


def _try(tally: Tally, case: Case, name: str, compare: Callable[[], str], loud: bool) -> None:
    try:
        problem = compare()
    except NotPossible:
        return
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        if loud:
            traceback.print_exc()
    tally.compared[name] += 1
    if problem:
        _note(tally, case, name, problem, loud)


def _note(tally: Tally, case: Case, name: str, problem: str, loud: bool) -> None:
    tally.findings.append(f"seed {case.seed}, {name}: {problem[:300]}")
    print(tally.findings[-1], flush=True)


def run(settings: Settings) -> Iterator[Row]:
    tally = Tally()
    seeds = [int(text) for text in settings.families]
    for seed in seeds:
        print(draw_case(seed).about)
        try_case(seed, tally, loud=True)
    if not seeds:
        first = int(time.time()) % 10**6 * 1000 if not settings.quick else 0
        ends = time.monotonic() + 60 * (settings.minutes or 30)
        print(f"seeds from {first} on", flush=True)
        while tally.cases < CASES if settings.quick else time.monotonic() < ends:
            try_case(first + tally.cases, tally)
    yield Row("random cases", tally.cases, form="{:d}")
    yield Row("refused by fit, with a reason", tally.refused, form="{:d}")
    for name, count in tally.compared.items():
        yield Row(f"compared: {name}", count, form="{:d}")
    yield Row("disagreements", len(tally.findings), at_most(0), form="{:d}")
