"""Survival, ordered classes, canonical correlation: formulas by hand, files, pickles, clones, one sample at a time."""

from __future__ import annotations

import pickle
import runpy
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

from benchmarks._hostile.cases import KERNELS, LABELS, samples_of
from benchmarks._hostile.comparing import apart, rounding_of, sizes_of
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import EXPORTS, Answers, NotPossible, cells_of
from spkm import SPKMCCA, SPKMOrdinalClassifier, SPKMSurvival, load, save
from spkm.explain import explain
from spkm.inspection import OrderDisplay, SurvivalCalibrationDisplay, SurvivalDisplay

KINDS = ("array", "array", "frame", "sparse", "float32")


def _options(rng: np.random.Generator) -> dict[str, Any]:
    options: dict[str, Any] = {
        "n_basis": int(rng.integers(1, 5)),
        "kernel": KERNELS[rng.integers(len(KERNELS))],
        "scale": bool(rng.random() < 0.8),
        "max_iter": int(rng.integers(2, 20)),
        "random_state": int(rng.integers(1000)),
    }
    for name, values in (
        ("weight_penalty", ("rkhs", "rkhs", "auto")),
        ("learn_bandwidth", (False, True, "auto")),
        ("linear_part", (False, True, "auto")),
        ("basis_bounds", ("data", None)),
        ("selection", (None, None, None, None, "strict")),
    ):
        options[name] = values[rng.integers(len(values))]
    return options


def _part(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


class _OneScore:
    """Laws that survival and ordered classes share."""

    methods: tuple[str, ...] = ()

    def __init__(self, model: Any, X: Any, y: Any, new: Any, rng: np.random.Generator, folder: Path) -> None:
        self.model, self.X, self.y, self.new, self.rng, self.folder = model, X, y, new, rng, folder
        rows = model._rows(new)
        self.scores = model.model_.scores(rows)[:, 0]
        self.error = rounding_of(model.model_, rows)[:, 0]

    def laws(self) -> tuple[Callable[[], str], ...]:
        return (
            *(self.pickles, self.files, self.clones, self.one_at_a_time, self.chunks, self.shapley),
            *(self.weights_are_repeats, self.formulas, self.displays),
        )

    def _same(self, other: Any, X: Any) -> str:
        for name in self.methods:
            found, want = getattr(other, name)(X), getattr(self.model, name)(X)
            if not np.array_equal(found, want):
                return f"{name} differs"
        return ""

    def pickles(self) -> str:
        return self._same(pickle.loads(pickle.dumps(self.model)), self.new)

    def files(self) -> str:
        save(self.model, self.folder / "model.spkm")
        return self._same(load(self.folder / "model.spkm"), self.new)

    def clones(self) -> str:
        return self._same(clone(self.model).fit(self.X, self.y), self.new)

    def one_at_a_time(self) -> str:
        return self._parts([_part(self.new, [i]) for i in range(self.new.shape[0])])

    def chunks(self) -> str:
        if not isinstance(self.new, np.ndarray):
            raise NotPossible("chunks are of arrays here")
        parts = [self.new[:5], self.new[5:]]
        found = np.concatenate(list(self.model.predict_chunks(parts, "predict")))
        want = np.concatenate([self.model.predict(part) for part in parts])
        return "" if np.array_equal(found, want) else "predictions of chunks differ"

    def _parts(self, parts: list[Any]) -> str:
        found = np.concatenate([self.model.model_.scores(self.model._rows(part))[:, 0] for part in parts])
        return apart(found, self.scores, self.error, "scores")

    def shapley(self) -> str:
        rows = _dense(self.model._rows(self.X)).astype(np.float64)
        try:
            found = explain(self.model.model_, rows[:3], rows[:10])
        except (ValueError, TypeError) as error:
            raise NotPossible(str(error)) from error
        fitted = self.model.model_
        size = sizes_of(fitted, rows[:10]).max() + np.abs(fitted.weights).sum()
        return apart(found.values.sum(axis=1) + found.base_values, fitted.scores(rows[:3]), 1e-7 * size, "sums")

    def weights_are_repeats(self) -> str:
        if self.model.weight_penalty == "auto" or self.model.selection is not None:
            raise NotPossible("folds of repeated samples are others")
        if getattr(self.model, "ties", "") == "efron":
            raise NotPossible("events that are there twice are ties; a weight is none")
        weight = self.rng.integers(1, 4, self.X.shape[0])
        often = np.repeat(np.arange(self.X.shape[0]), weight)
        a = clone(self.model).fit(self.X, self.y, sample_weight=weight.astype(float))
        b = clone(self.model).fit(_part(self.X, often), self.y[often])
        left, right = (one.model_.scores(one._rows(self.X)) for one in (a, b))
        return apart(left, right, 1e-3 * max(np.abs(right).max(), 1e-300), "scores")

    def formulas(self) -> str:
        raise NotImplementedError

    def displays(self) -> str:
        raise NotImplementedError

    def exports(self) -> dict[str, Callable[[], str]]:
        """Every export, run on the new samples."""
        return {f"export: {name}": partial(self.exported, way) for name, way in EXPORTS.items()}

    def exported(self, way: Callable[[Any, Any, Path], Answers]) -> str:
        with tempfile.TemporaryDirectory(dir=self.folder) as own:
            found = way(self.model, self.new, Path(own))
        if "scores" in found:
            problem = apart(np.ravel(found["scores"]), self.scores, self.error, "scores")
            if problem:
                return problem
        return self.same_answers(found)

    def same_answers(self, found: Answers) -> str:
        raise NotImplementedError


class _Ordinal(_OneScore):
    methods = ("predict", "predict_proba", "predict_log_proba", "latent_score")

    def same_answers(self, found: Answers) -> str:
        """Probabilities, whose slope in the score is at most 1/4, and classes that are clearly the most likely."""
        want = np.asarray(self.model.predict_proba(self.new), dtype=float)
        error = self.error + 8 * float(np.finfo(self.model.predict_proba(self.new).dtype).eps)
        problem = ""
        if "probabilities" in found:
            problem = apart(found["probabilities"], want, error[:, None], "probabilities")
        if problem or "predict" not in found:
            return problem
        two = np.sort(want, axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > 4 * error
        target = self.model.predict(self.new)
        same = np.asarray(found["predict"]).reshape(target.shape).astype(target.dtype) == target
        return "" if same[clear].all() else f"{int((~same[clear]).sum())} predictions differ"

    def formulas(self) -> str:
        """Differences of logistic functions at the thresholds; the most likely class; labels as they were given."""
        model = self.model
        t, f = model.thresholds_.astype(float), self.scores.astype(float)
        if np.any(np.diff(t) < 0):
            return f"thresholds fall: {t}"
        with np.errstate(over="ignore"):
            above = 1 / (1 + np.exp(t[None, :] - f[:, None]))
        want = -np.diff(np.hstack([np.ones((len(f), 1)), above, np.zeros((len(f), 1))]), axis=1)
        found = np.asarray(model.predict_proba(self.new), dtype=float)
        eps = np.finfo(model.predict_proba(self.new).dtype).eps
        problem = apart(found, want, 8 * eps + self.error[:, None], "probabilities")
        problem = problem or apart(found.sum(axis=1), np.ones(len(f)), 8 * len(t) * eps, "sums of probabilities")
        log = np.exp(np.asarray(model.predict_log_proba(self.new), dtype=float))
        problem = problem or apart(log, found, 64 * eps * (1 + np.abs(f[:, None])), "exponentials of logarithms")
        two = np.sort(found, axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > 64 * eps
        decided = model.classes_[found.argmax(axis=1)] == model.predict(self.new)
        problem = problem or ("" if decided[clear].all() else "predictions are not the most likely classes")
        present = set(np.asarray(self.y).tolist())
        return problem or ("" if set(model.classes_.tolist()) == present else f"classes {model.classes_} of {present}")

    def displays(self) -> str:
        """Scores, classes and probabilities of the picture."""
        import matplotlib.pyplot as plt

        display = OrderDisplay.from_estimator(self.model, self.X, self.y)
        plt.close("all")
        frame, rows = display.frame(), self.model._rows(self.X)
        error = rounding_of(self.model.model_, rows)[:, 0]
        problem = apart(display.scores, self.model.model_.scores(rows)[:, 0], error, "scores")
        if problem or frame["class"].tolist() != [str(label) for label in self.y]:
            return problem or "classes of the samples differ"
        P = np.asarray(self.model.predict_proba(self.X), dtype=float)
        two = np.sort(P, axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > 4 * error + 1e-12
        same = frame["predicted"].to_numpy() == np.array([str(label) for label in self.model.predict(self.X)])
        along = np.array([np.interp(display.scores, display.grid, p) for p in display.probabilities.T]).T
        step = np.diff(display.grid).max()  # a straight line is off by at most step^2 / 8 times the second derivative
        bound = 0.1 * step**2 / 8 * len(P[0]) + error[:, None] + 1e-6
        problem = apart(along, P, bound, "probabilities along the score")
        return problem or ("" if same[clear].all() else f"{int((~same[clear]).sum())} predictions differ")


class _Survival(_OneScore):
    methods = ("predict", "predict_survival_function", "predict_cumulative_hazard_function")

    def same_answers(self, found: Answers) -> str:
        """Log hazards are the scores."""
        return apart(np.ravel(found["predict"]), self.scores, self.error, "predictions") if "predict" in found else ""

    def exports(self) -> dict[str, Callable[[], str]]:
        return super().exports() | {"export: survival at times": self.survival_at_times}

    def survival_at_times(self) -> str:
        """Curves of exported Python and of the NumPy runtime; a hazard has the relative error of exp(score)."""
        times = self.model.event_times_
        self.model.export(self.folder / "curves.py", times=times)
        module = runpy.run_path(str(self.folder / "curves.py"))
        found = np.array([module["survival"](row) for row in cells_of(self.new)])
        hazard = self.model.predict_cumulative_hazard_function(self.new)
        want = np.exp(-hazard)
        save(self.model, self.folder / "curves.spkm")
        light: Any = load(self.folder / "curves.spkm", runtime="numpy")
        # The slope of exp(-h exp(f)) in f is at most 1/e; at an error above one nothing is known.
        bound = 1e-12 + self.error[:, None]
        curves = np.asarray(light.predict_survival_function(cells_of(self.new)))
        return apart(found, want, bound, "survival") or apart(curves, want, bound, "survival, NumPy alone")

    def formulas(self) -> str:
        """Breslow's or Efron's cumulative hazard of the fitted scores, by its definition; concordance by all pairs."""
        model = self.model
        event, time = self.y["event"], self.y["time"].astype(float)
        risk = model.model_.scores(model._rows(self.X))[:, 0].astype(float)
        if np.abs(risk).max() > 30:
            raise NotPossible("hazards overflow")
        hazard, want = 0.0, []
        for t in np.unique(time[event]):
            at_risk, dead = np.exp(risk[time >= t]).sum(), np.exp(risk[event & (time == t)])
            count = len(dead)
            shares = np.arange(count) / count if model.ties == "efron" else np.zeros(count)
            hazard += (1.0 / (at_risk - shares * dead.sum())).sum()
            want.append(hazard)
        # A hazard has the relative error of the exponentials of its scores.
        precise = 1e-9 + 2 * rounding_of(model.model_, model._rows(self.X)).max()
        problem = apart(model.event_times_, np.unique(time[event]), 0.0, "times of events")
        problem = problem or apart(model.baseline_hazard_, want, precise * np.abs(want), "baseline hazards")
        survival = model.predict_survival_function(self.new)
        cumulated = np.exp(np.minimum(self.scores.astype(float), 30))[:, None] * model.baseline_hazard_
        problem = problem or apart(survival, np.exp(-cumulated), 1e-12, "survival")
        return problem or self._concordance(event, time, risk)

    def displays(self) -> str:
        """Curves of the picture; predicted and observed survival of all samples as one group, the latter by hand."""
        import matplotlib.pyplot as plt

        some = _part(self.new, list(range(6)))
        curves = SurvivalDisplay.from_estimator(self.model, some).frame()["survival"].to_numpy()
        want = np.asarray(self.model.predict_survival_function(some), dtype=float)
        problem = apart(curves.reshape(want.shape), want, 1e-12 + 2 * self.error[:6, None], "curves")
        display = SurvivalCalibrationDisplay.from_estimator(self.model, self.X, self.y, n_groups=1)
        plt.close("all")
        event, time = self.y["event"], self.y["time"].astype(float)
        rows = self.model._rows(self.X)
        error = rounding_of(self.model.model_, rows).max()
        survival = self.model.survival_of_scores(self.model.model_.scores(rows)[:, 0], display.times)
        for k, (at, group) in enumerate(zip(display.times, display.groups, strict=True)):
            observed = 1.0
            for t in np.unique(time[event & (time <= at)]):
                observed *= 1 - (event & (time == t)).sum() / (time >= t).sum()
            problem = problem or apart(group.observed, [observed], 1e-9, f"observed survival until {at}")
            problem = problem or apart(group.predicted, [survival[:, k].mean()], 1e-9 + error, f"predicted until {at}")
        return problem

    def _concordance(self, event: np.ndarray, time: np.ndarray, risk: np.ndarray) -> str:
        right = total = 0.0
        for i in np.flatnonzero(event):
            later = (time > time[i]) | ((time == time[i]) & ~event)
            total += later.sum()
            right += (risk[i] > risk[later]).sum() + 0.5 * (risk[i] == risk[later]).sum()
        if total == 0:
            raise NotPossible("no pair can be compared")
        return apart(self.model.score(self.X, self.y), right / total, 1e-12, "concordance")


def ordinal_trial(seed: int, folder: Path) -> Trial:
    """Fit ordered classes."""
    rng, (kind, X, new, f) = _drawn(seed)
    count = int(rng.integers(2, 6))
    code = np.digitize(f, np.quantile(f, np.linspace(0, 1, count + 1)[1:-1]))
    code[:count] = np.arange(count)[: len(code)]
    order = None
    labels: Any = [3.5, -1.0, 7.0, 100.0, 8.25] if rng.random() < 0.3 else [5, -2, 9, 11, 40]
    labels = np.sort(labels)
    if rng.random() < 0.6:
        labels = np.array([["mid", "low", "high", "best", "none"], LABELS[4] + ["z", "y"]][rng.integers(2)])
        order = labels[:count].tolist()
    options = _options(rng)
    model = SPKMOrdinalClassifier(order=order, **options).fit(X, labels[code])
    case = _Ordinal(model, X, labels[code], new, np.random.default_rng(seed), folder)
    about = f"{kind}, {X.shape}, {count} classes, order {order}, {options}"
    return Trial(about, {law.__name__.replace("_", " "): law for law in case.laws()} | case.exports())


def survival_trial(seed: int, folder: Path) -> Trial:
    """Fit censored times."""
    rng, (kind, X, new, f) = _drawn(seed)
    time = rng.exponential(np.exp(-f)) * 10.0 ** rng.integers(-3, 4)
    limit = np.quantile(time, rng.uniform(0.2, 1.0))
    event = time <= limit
    time = np.minimum(time, limit)
    if rng.random() < 0.4:
        time = np.ceil(8 * time / time.max())  # ties
    if rng.random() < 0.1:
        time[0] = 0.0
    y = np.rec.fromarrays([event, time], names="event,time")
    options = _options(rng) | {"ties": str(rng.choice(["efron", "breslow"]))}
    model = SPKMSurvival(**options).fit(X, y)
    case = _Survival(model, X, y, new, np.random.default_rng(seed), folder)
    laws = {law.__name__.replace("_", " "): law for law in case.laws()}
    return Trial(f"{kind}, {X.shape}, {options}", laws | case.exports())


def _drawn(seed: int) -> tuple[np.random.Generator, tuple[str, Any, Any, np.ndarray]]:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 20) if rng.random() < 0.15 else rng.integers(20, 70)), int(rng.integers(1, 6))
    kind, kinds = str(rng.choice(KINDS)), int(rng.integers(100))
    X, numbers = samples_of(rng, n, d, kind, kinds=kinds)
    new, _ = samples_of(rng, 12, d, kind, far=True, kinds=kinds)
    f = np.sin(3 * numbers @ rng.standard_normal(d)) + 0.3 * rng.standard_normal(n)
    return rng, (kind, X, new, f)


# Canonical correlation


def cca_trial(seed: int, folder: Path) -> Trial:
    """Fit a canonical correlation of two tables."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 20) if rng.random() < 0.15 else rng.integers(20, 70))
    kind = str(rng.choice(["array", "array", "frame", "sparse", "float32"]))
    dims, kinds = rng.integers(1, 6, 2), rng.integers(100, size=2)
    tables = [samples_of(rng, n, int(d), kind, kinds=int(k)) for d, k in zip(dims, kinds, strict=True)]
    X, Y = tables[0][0], tables[1][0]
    if kind in ("array", "float32"):
        Y[:, 0] = (np.sin(3 * tables[0][1][:, 0]) + 0.1 * rng.standard_normal(n)).astype(Y.dtype)
    options: dict[str, Any] = {
        "n_components": int(rng.integers(1, 3)),
        "kernel_x": str(rng.choice(["rbf", "linear", "matern", "polynomial"])),
        "kernel_y": str(rng.choice(["rbf", "linear", "laplacian"])),
        "radius": ["auto", 1.4, (1.0, 2.0)][rng.integers(3)],
        "scale": bool(rng.random() < 0.8),
        "learn_bandwidth": bool(rng.random() < 0.5),
        "n_starts": int(rng.integers(1, 4)),
        "max_iter": int(rng.integers(3, 30)),
        "random_state": int(rng.integers(1000)),
    }
    model = SPKMCCA(**options).fit(X, Y)
    case = _Canonical(model, X, Y, folder)
    return Trial(f"{kind}, {n} x {dims}, {options}", {law.__name__.replace("_", " "): law for law in case.laws()})


class _Canonical:
    def __init__(self, model: Any, X: Any, Y: Any, folder: Path) -> None:
        self.model, self.X, self.Y, self.folder = model, X, Y, folder
        self.left, self.right = np.asarray(model.transform(X), float), np.asarray(model.transform_y(Y), float)
        eps = float(np.finfo(model.transform(X).dtype).eps)
        # Kernel values have errors of some eps, and the map to scores multiplies them.
        self.eps = eps
        self.near = 64 * eps * max(1.0, *(np.abs(side.mixing).max() for side in (model.x_side_, model.y_side_)))

    def laws(self) -> tuple[Callable[[], str], ...]:
        return (
            *(self.pickles, self.files, self.clones, self.one_at_a_time, self.correlations, self.zero_weights),
            *(self.weights, self.display),
        )

    def _same(self, other: Any) -> str:
        same = np.array_equal(other.transform(self.X), self.model.transform(self.X))
        same &= np.array_equal(other.transform_y(self.Y), self.model.transform_y(self.Y))
        return "" if same and np.array_equal(other.correlations_, self.model.correlations_) else "scores differ"

    def pickles(self) -> str:
        return self._same(pickle.loads(pickle.dumps(self.model)))

    def files(self) -> str:
        try:
            save(self.model, self.folder / "model.spkm")
        except TypeError as error:  # such files have no place for it
            raise NotPossible(str(error)) from error
        return self._same(load(self.folder / "model.spkm"))

    def clones(self) -> str:
        return self._same(clone(self.model).fit(self.X, self.Y))

    def one_at_a_time(self) -> str:
        found = np.vstack([self.model.transform(_part(self.X, [i])) for i in range(self.X.shape[0])])
        side, own = self.model.side("x"), self.model.x_side_
        # Means are subtracted before components are mixed: an intercept may be the small difference of large products.
        means = (len(own.mean) + 8) * self.eps * (np.abs(own.mean) @ np.abs(own.mixing))
        return apart(found, self.left, rounding_of(side.model_, side._rows(self.X)) + means, "scores")

    def correlations(self) -> str:
        """NumPy's correlations of the scores; later components are uncorrelated with earlier ones."""
        K = self.left.shape[1]
        with np.errstate(all="ignore"):
            whole = np.corrcoef(self.left.T, self.right.T)
        want = np.array([whole[k, K + k] for k in range(K)])
        problem = apart(self.model.correlations(self.X, self.Y), np.nan_to_num(want), 1e3 * self.near, "correlations")
        problem = problem or apart(self.model.correlations_, np.nan_to_num(want), 1e3 * self.near, "of the fit")
        return problem or apart(self.model.score(self.X, self.Y), np.nan_to_num(want).mean(), 1e3 * self.near, "score")

    def zero_weights(self) -> str:
        """A feature without weight has no influence."""
        if not isinstance(self.X, np.ndarray):
            raise NotPossible("arrays only")
        unread = np.all(self.model.x_weights_ == 0, axis=0)
        moved = self.X.copy()
        moved[:, unread] = moved[::-1, unread] * 3 + 1
        return apart(self.model.transform(moved), self.left, 0.0, "scores")

    def weights(self) -> str:
        for name, part in (("x", self.model.x_weights_), ("y", self.model.y_weights_)):
            norms = np.linalg.norm(np.asarray(part, float), axis=1)
            problem = apart(norms, np.ones(len(norms)), 1e-5, f"lengths of {name}_weights_")
            if problem:
                return problem
        return ""

    def display(self) -> str:
        import matplotlib.pyplot as plt

        from spkm.inspection import CanonicalDisplay

        display = CanonicalDisplay.from_estimator(self.model, self.X, self.Y)
        plt.close("all")
        frame = display.frame()
        return "" if np.isfinite(frame.select_dtypes("number").to_numpy()).all() else "numbers are not finite"
