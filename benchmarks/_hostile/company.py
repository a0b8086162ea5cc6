"""Company: metadata routing of scikit-learn, arrays of other libraries, chunks; each against the direct way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from benchmarks._hostile.cases import KERNELS, samples_of, targets_of
from benchmarks._hostile.comparing import apart, rounding_of
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import NotPossible
from spkm import SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor, SPKMSurvival


def _options(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "n_basis": int(rng.integers(1, 5)),
        "kernel": KERNELS[rng.integers(len(KERNELS))],
        "scale": bool(rng.random() < 0.8),
        "linear_part": [False, True, "auto"][rng.integers(3)],
        "learn_bandwidth": [False, True, "auto"][rng.integers(3)],
        "max_iter": int(rng.integers(2, 12)),
        "random_state": int(rng.integers(1000)),
    }


# Metadata routing


def routing_trial(seed: int, folder: Path) -> Trial:
    """Draw an estimator of any target, samples, weights and groups."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 80)), int(rng.integers(1, 5))
    X, numbers = samples_of(rng, n, d, "array", kinds=int(rng.integers(100)))
    task = str(rng.choice(["numbers", "several numbers", "counts", "two", "three", "ordered", "times"]))
    options = _options(rng) | {"weight_penalty": str(rng.choice(["rkhs", "auto"]))}
    y: Any = targets_of(rng, "numbers" if task in ("ordered", "times") else task, numbers)
    model: Any
    if task == "ordered":
        model, y = SPKMOrdinalClassifier(**options), np.digitize(y, np.quantile(y, [0.3, 0.7]))
    elif task == "times":
        model = SPKMSurvival(**options)
        y = np.rec.fromarrays([rng.random(n) < 0.8, rng.exponential(size=n)], names="event,time")
    elif task in ("two", "three"):
        model = SPKMClassifier(**options)
    else:
        model = SPKMRegressor(loss="poisson" if task == "counts" else "squared", **options)
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else rng.uniform(0.5, 2.0, n)
    case = _Routed(model, X, y, weight, rng.permutation(np.arange(n) % int(rng.integers(4, 9))))
    return Trial(f"{n} x {d}, {task}, {options}", case.laws())


class _Routed:
    def __init__(self, model: Any, X: Any, y: Any, weight: np.ndarray, groups: np.ndarray) -> None:
        self.X, self.y, self.weight, self.groups = X, y, weight, groups
        self.model = model

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "weights through a pipeline": self.pipeline,
            "weights through a search": self.search,
            "weights through cross_validate": self.cross_validated,
            "groups through a search": self.grouped,
            "weights that nobody asked for": self.unrequested,
        }

    def _scores(self, model: Any, X: Any = None) -> np.ndarray:
        last = model[-1] if hasattr(model, "steps") else model
        rows = self.X if X is None else X
        return last.model_.scores(model[:-1].transform(rows) if hasattr(model, "steps") else rows)

    def _asking(self) -> Any:
        """Return an estimator that asks for weights in its fit, and not in its score."""
        model = clone(self.model).set_fit_request(sample_weight=True)
        takes = "sample_weight" in signature(self.model.score).parameters
        return model.set_score_request(sample_weight=False) if takes else model

    def _same(self, found: np.ndarray, want: np.ndarray) -> str:
        return apart(found, want, 0.0, "scores")

    def pipeline(self) -> str:
        """A scaler before it: the estimator gets the weights, and the scaled samples."""
        with sklearn.config_context(enable_metadata_routing=True):
            whole = make_pipeline(MinMaxScaler(), clone(self.model).set_fit_request(sample_weight=True))
            whole.fit(self.X, self.y, sample_weight=self.weight)
        Z = MinMaxScaler().fit_transform(self.X)
        alone = clone(self.model).fit(Z, self.y, sample_weight=self.weight)
        return self._same(self._scores(whole), alone.model_.scores(Z))

    def search(self) -> str:
        """The refit of a search is a fit with all the weights, and its folds' scores are those of a loop."""
        sizes = [self.model.n_basis, self.model.n_basis + 1]
        with sklearn.config_context(enable_metadata_routing=True):
            model = self._asking()
            search = GridSearchCV(model, {"n_basis": sizes}, cv=KFold(2), error_score="raise")
            search.fit(self.X, self.y, sample_weight=self.weight)
        best = clone(self.model).set_params(**search.best_params_)
        problem = self._same(
            self._scores(search.best_estimator_),
            self._scores(best.fit(self.X, self.y, sample_weight=self.weight)),
        )
        if problem:
            return problem
        scores = [np.mean(self._by_loop(KFold(2), {"n_basis": size})) for size in sizes]
        return apart(search.cv_results_["mean_test_score"], scores, 1e-12 * (1 + np.abs(scores)), "mean scores")

    def _by_loop(self, splitter: Any, params: Any, groups: Any = None, own_groups: bool = False) -> list[float]:
        found = []
        for train, test in splitter.split(self.X, self.y, groups):
            more = {"groups": groups[train]} if own_groups else {}
            model = clone(self.model).set_params(**params)
            model.fit(self.X[train], self.y[train], sample_weight=self.weight[train], **more)
            found.append(model.score(self.X[test], self.y[test]))
        return found

    def cross_validated(self) -> str:
        with sklearn.config_context(enable_metadata_routing=True):
            model = self._asking()
            found = cross_validate(
                model, self.X, self.y, cv=KFold(2), params={"sample_weight": self.weight}, error_score="raise"
            )
        want = self._by_loop(KFold(2), {})
        return apart(found["test_score"], want, 1e-12 * (1 + np.abs(want)), "scores")

    def grouped(self) -> str:
        """Groups reach the splitter, and the fit where it takes them."""
        takes = "groups" in signature(self.model.fit).parameters
        with sklearn.config_context(enable_metadata_routing=True):
            model = self._asking()
            if takes:
                model.set_fit_request(groups=True)
            given = {"sample_weight": self.weight, "groups": self.groups}
            found = cross_validate(model, self.X, self.y, cv=GroupKFold(2), params=given, error_score="raise")
        want = self._by_loop(GroupKFold(2), {}, self.groups, takes)
        return apart(found["test_score"], want, 1e-12 * (1 + np.abs(want)), "scores")

    def unrequested(self) -> str:
        """Without a request scikit-learn refuses them; nothing is lost in silence."""
        with sklearn.config_context(enable_metadata_routing=True):
            try:
                make_pipeline(MinMaxScaler(), clone(self.model)).fit(self.X, self.y, sample_weight=self.weight)
            except sklearn.exceptions.UnsetMetadataPassedError:
                return ""
        return "weights that nobody asked for are accepted"


# Arrays of other libraries


@contextmanager
def _dispatch() -> Iterator[None]:
    before = os.environ.get("SCIPY_ARRAY_API")
    os.environ["SCIPY_ARRAY_API"] = "1"
    try:
        with sklearn.config_context(array_api_dispatch=True):
            yield
    finally:
        if before is None:
            del os.environ["SCIPY_ARRAY_API"]
        else:
            os.environ["SCIPY_ARRAY_API"] = before


def arrays_trial(seed: int, folder: Path) -> Trial:
    """Fit on NumPy's arrays and on those of another library."""
    rng = np.random.default_rng(seed)
    names = [name for name in ("array_api_strict", "torch") if find_spec(name) is not None]
    if not names:
        raise NotPossible("no other array library is installed")
    library = __import__(str(rng.choice(names)))
    n, d = int(rng.integers(20, 70)), int(rng.integers(1, 5))
    dtype = str(rng.choice(["float64", "float32"]))
    X, numbers = samples_of(rng, n, d, "array", kinds=int(rng.integers(100)))
    task = str(rng.choice(["numbers", "counts", "two", "three"]))
    y = targets_of(rng, task, numbers)
    options = _options(rng) | {"weight_penalty": str(rng.choice(["rkhs", "auto"]))}
    if task in ("two", "three"):
        model: Any = SPKMClassifier(**options)
    else:
        model = SPKMRegressor(loss="poisson" if task == "counts" else "squared", **options)
    X = X.astype(dtype)
    model.fit(X, y)
    case = _Arrays(model, X, y, library)
    return Trial(f"{library.__name__}, {dtype}, {n} x {d}, {task}, {options}", case.laws())


class _Arrays:
    def __init__(self, model: Any, X: Any, y: Any, library: Any) -> None:
        self.model, self.X, self.y, self.library = model, X, y, library
        self.error = rounding_of(model.model_, X)

    def laws(self) -> dict[str, Callable[[], str]]:
        return {"predictions": self.predictions, "a fit by another library": self.fitted}

    def predictions(self) -> str:
        """Scores of samples of the other library, by the model that NumPy fitted, and in which library they are."""
        with _dispatch():
            rows = self.library.asarray(self.X)
            found = self.model.predict(rows)
            if type(found) is not type(rows) and not self.model.model_.target.of_classes:
                return f"predictions are of {type(found)}"
            scores = np.asarray(self.model.model_.scores(self.model._rows(rows)))
        return apart(scores, self.model.model_.scores(self.X), 2 * self.error, "scores")

    def fitted(self) -> str:
        """A fit of the other library's samples has the same recipe, and both libraries have the same scores of it.

        Where it ends is not compared: start points and folds depend on the last digits of sums.
        """
        with _dispatch():
            rows = self.library.asarray(self.X)
            again = clone(self.model).fit(rows, self.y)
            found = np.asarray(again.model_.scores(again._rows(rows)))
        if again.model_.recipe != self.model.model_.recipe:
            return f"recipe {again.model_.recipe} for {self.model.model_.recipe}"
        other = again.model_.scores(self.X)
        if not np.isfinite(other).all():
            return "scores are not finite"
        return apart(found, other, 2 * rounding_of(again.model_, self.X), "scores")


# Chunks


def chunks_trial(seed: int, folder: Path) -> Trial:
    """Fit chunks that are read one after another, and the same samples in memory."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 200)), int(rng.integers(1, 5))
    X, numbers = samples_of(rng, n, d, "array", kinds=int(rng.integers(100)))
    task = str(rng.choice(["numbers", "counts", "two", "three"]))
    y = targets_of(rng, task, numbers)
    options = _options(rng) | {"weight_penalty": "rkhs", "start": X[: 1 + int(rng.integers(3))].copy()}
    options["n_basis"] = len(options["start"])
    options["solver"] = "lbfgs"
    if task in ("two", "three"):
        model: Any = SPKMClassifier(**options)
    else:
        model = SPKMRegressor(loss="poisson" if task == "counts" else "huber", **options)
    case = _Chunks(model, X, y, np.sort(rng.choice(np.arange(1, n), 3, replace=False)))
    return Trial(f"{n} x {d}, {task}, {options}", case.laws())


class _Chunks:
    def __init__(self, model: Any, X: Any, y: Any, cuts: np.ndarray) -> None:
        self.X, self.y, self.cuts = X, y, cuts
        self.whole = clone(model).fit(X, y)
        self.stream = clone(model).fit(self.pieces)
        self.error = rounding_of(self.whole.model_, X)

    def pieces(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield from zip(np.split(self.X, self.cuts), np.split(self.y, self.cuts), strict=True)

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "first objective": self.first,
            "objective of the end": self.last,
            "predictions in chunks": self.predictions,
        }

    def first(self) -> str:
        """Start points and strengths are given, so that the first objectives agree but for the order of sums.

        First weights solve a linear system, whose condition is measured: samples that differ in their last digits move
        the objective by as much as one rounding does, and sums over the samples have one for each. First weights of
        counts go by their mean over samples, which in memory are distinct ones.
        """
        distinct = np.unique(np.column_stack([self.X, self.y]), axis=0)
        if self.whole.model_.loss.link == "exp" and len(distinct) < len(self.X):
            raise NotPossible("counts of repeated samples")
        a, b = self.whole.objective_path_[0], self.stream.objective_path_[0]
        rng, brief = np.random.default_rng(0), clone(self.whole).set_params(max_iter=1)
        ulps = [1 + np.finfo(float).eps * rng.choice([-1, 1], self.X.shape) for _ in range(4)]
        moved = max(abs(brief.fit(self.X * ulp, self.y).objective_path_[0] - a) for ulp in ulps)
        return apart(b, a, 1e-9 * (1 + abs(a)) + len(self.X) * moved, "first objectives")

    def last(self) -> str:
        """Another order of sums may end elsewhere, but neither above where it began."""
        path = self.stream.objective_path_
        return "" if path[-1] <= path[0] + 1e-9 * (1 + abs(path[0])) else f"objective {path[-1]} after {path[0]}"

    def predictions(self) -> str:
        parts = np.split(self.X, self.cuts)
        found = np.concatenate(list(self.stream.predict_chunks(parts, "predict")))
        want = np.concatenate([self.stream.predict(part) for part in parts])
        return "" if np.array_equal(found, want) else "predictions of chunks differ"
