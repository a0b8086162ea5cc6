"""Fits in parts: partial_fit, warm starts, checkpoints, streams; resumed equals unbroken, other samples are refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from benchmarks._hostile.cases import samples_of, targets_of
from benchmarks._hostile.comparing import apart
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import NotPossible
from spkm import SPKMClassifier, SPKMRegressor, load, save
from spkm.fitting.checkpoint import Checkpoint
from spkm.solvers import LBFGS, Adam

KERNELS = ("rbf", "matern", "laplacian", "linear", "polynomial")


class Killed(BaseException):
    """Stands for the end of the process."""


def _drawn(seed: int) -> tuple[np.random.Generator, str, Any, np.ndarray, dict[str, Any], str]:
    rng = np.random.default_rng(seed)
    kind, kinds = str(rng.choice(["array", "array", "sparse", "float32"])), int(rng.integers(100))
    X, numbers = samples_of(rng, int(rng.integers(40, 120)), int(rng.integers(1, 6)), kind, kinds=kinds)
    task = str(rng.choice(["numbers", "several numbers", "counts", "two", "three", "labels"]))
    options: dict[str, Any] = {
        "n_basis": int(rng.integers(1, 6)),
        "kernel": str(rng.choice(KERNELS)),
        "scale": bool(rng.random() < 0.8),
        "fit_intercept": bool(rng.random() < 0.8),
        "linear_part": [False, True, "auto"][rng.integers(3)],
        "learn_bandwidth": [False, True, "auto"][rng.integers(3)],
        "random_state": int(rng.integers(1000)),
    }
    if task in ("numbers", "several numbers", "counts"):
        options["loss"] = "poisson" if task == "counts" else "squared"
    return rng, kind, X, targets_of(rng, task, numbers), options, task


def _made(task: str, **options: Any) -> Any:
    return (SPKMRegressor if task in ("numbers", "several numbers", "counts") else SPKMClassifier)(**options)


def _scores(model: Any, X: Any) -> np.ndarray:
    return model.model_.scores(model._rows(X))


# partial_fit


def batches_trial(seed: int, folder: Path) -> Trial:
    """Fit in batches, resume from pickles and files, and change what must not matter."""
    rng, kind, X, y, options, task = _drawn(seed)
    cuts = np.sort(rng.choice(np.arange(5, X.shape[0] - 5), 2, replace=False))
    parts = [slice(0, cuts[0]), slice(cuts[0], cuts[1]), slice(cuts[1], X.shape[0])]
    case = _Batches(_made(task, **options), X, y, parts, rng, folder)
    case.whole = case.fed(case.parts)
    return Trial(f"{kind}, {X.shape}, {task}, {options}, cuts {cuts}", case.laws())


class _Batches:
    whole: Any

    def __init__(self, model: Any, X: Any, y: Any, parts: list[slice], rng: np.random.Generator, folder: Path) -> None:
        self.model, self.X, self.y, self.parts, self.rng, self.folder = model, X, y, parts, rng, folder

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "repeatable": self.repeatable,
            "resumed from a pickle": self.pickled,
            "resumed from a copy": self.copied,
            "resumed from a file": self.filed,
            "weights of zero": self.zero_weights,
            "order of the last batch's copies": self.fresh_fit_forgets,
            "finite": self.finite,
        }

    def fed(self, parts: list[slice], model: Any = None, between: Any = None) -> Any:
        model = clone(self.model) if model is None else model
        for part in parts:
            own = {}
            if isinstance(model, SPKMClassifier) and self.y.ndim == 1:
                own = {"classes": np.unique(self.y)}
            model.partial_fit(self.X[part], self.y[part], **own)
            if between is not None:
                model = between(model)
        return model

    def _same(self, other: Any) -> str:
        return apart(_scores(other, self.X), _scores(self.whole, self.X), 0.0, "scores")

    def repeatable(self) -> str:
        return self._same(self.fed(self.parts))

    def pickled(self) -> str:
        return self._same(self.fed(self.parts, between=lambda model: pickle.loads(pickle.dumps(model))))

    def copied(self) -> str:
        from copy import deepcopy

        return self._same(self.fed(self.parts, between=deepcopy))

    def filed(self) -> str:
        """A file holds the model, not the course: what it predicts is the same, and a further batch goes on."""

        def filed(model: Any) -> Any:
            try:
                save(model, self.folder / "model.spkm")
            except ValueError as error:  # bandwidths out of range: an error that names them
                raise NotPossible(str(error)) from error
            again = load(self.folder / "model.spkm")
            if not np.array_equal(_scores(again, self.X), _scores(model, self.X)):
                raise AssertionError("a file of a model in the making has other scores")
            return again

        model = self.fed(self.parts, between=filed)
        return "" if np.isfinite(_scores(model, self.X)).all() else "scores are not finite"

    def zero_weights(self) -> str:
        """Samples of no weight are not there."""
        part = self.parts[-1]
        model = self.fed(self.parts[:-1])
        count = part.stop - part.start
        weight = np.r_[np.ones(count), np.zeros(count)]
        twice = np.r_[np.arange(part.start, part.stop), np.arange(count)]
        if self.y.ndim == 2 and isinstance(model, SPKMClassifier):
            raise NotPossible("labels of all samples at once")
        model.partial_fit(self.X[twice], self.y[twice], sample_weight=weight)
        return self._same(model)

    def fresh_fit_forgets(self) -> str:
        """``fit`` begins anew, whatever came before."""
        model, other = self.fed(self.parts[:1]), clone(self.model)
        return apart(
            _scores(model.fit(self.X, self.y), self.X), _scores(other.fit(self.X, self.y), self.X), 0.0, "scores"
        )

    def finite(self) -> str:
        """Single samples, then a batch of samples that are all the same."""
        model = self.fed(self.parts)
        for i in range(2):
            model.partial_fit(self.X[[i]], self.y[[i]])
        model.partial_fit(self.X[[3] * 6], self.y[[3] * 6])
        return "" if np.isfinite(_scores(model, self.X)).all() else "scores are not finite"


# Warm starts


def warm_trial(seed: int, folder: Path) -> Trial:
    """Go on from a fit: the objective begins where the last one ended, on the same samples and with more vectors."""
    rng, kind, X, y, options, task = _drawn(seed)
    options |= {"weight_penalty": "rkhs", "warm_start": True, "max_iter": int(rng.integers(3, 15))}
    options["solver"] = str(rng.choice(["auto", "lbfgs"]))
    model = _made(task, **options).fit(X, y)
    case = _Warm(model, X, y, rng)
    return Trial(f"{kind}, {X.shape}, {task}, {options}", case.laws())


class _Warm:
    def __init__(self, model: Any, X: Any, y: Any, rng: np.random.Generator) -> None:
        self.model, self.X, self.y, self.rng = model, X, y, rng

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "never worse": self.never_worse,
            "more vectors": self.more_vectors,
            "refused": self.refused,
            "other samples": self.other_samples,
            "repeatable": self.repeatable,
        }

    def _again(self, **params: Any) -> Any:
        return pickle.loads(pickle.dumps(self.model)).set_params(**params)

    def _slack(self) -> float:
        """Return by how much two computations of the same objective may differ.

        A loss changes with a score by its slope: the residual for numbers, whose losses are over the variance of y, the
        residual of a count, at most 1 for the score of a class. An error e of a score is measured: it is what the
        samples in double precision make of it, and another solution of about the same weights has another one of its
        size. Doubles leave only what solvers do not resolve.
        """
        f, exact = (_scores(self.model, X) for X in (self.X, self.X.astype(np.float64)))
        error = np.abs(f.astype(float) - exact)
        if isinstance(self.model, SPKMClassifier):
            change = error.sum(axis=1)
        else:
            y = self.y.reshape(len(exact), -1).astype(float)
            counts = self.model.loss == "poisson"
            residual = np.abs((np.exp(np.minimum(exact, 30)) if counts else exact) - y)
            curve = np.exp(np.minimum(exact, 30) + error) if counts else 1.0
            change = (residual * error + curve * error**2 / 2) / (1.0 if counts else y.var(axis=0) + 1e-300)
            change = change.sum(axis=1)
        return 1e-6 * (1 + abs(self.model.objective_)) + 4 * float(np.mean(change))

    def never_worse(self) -> str:
        again = self._again().fit(self.X, self.y)
        slack = self._slack()
        return "" if again.objective_ <= self.model.objective_ + slack else (
            f"objective {again.objective_} after {self.model.objective_}"
        )  # fmt: skip

    def more_vectors(self) -> str:
        again = self._again(n_basis=self.model.n_basis + 2).fit(self.X, self.y)
        if np.any(np.asarray(again.n_basis) < self.model.n_basis):
            return "vectors were lost"
        slack = self._slack()
        return "" if again.objective_ <= self.model.objective_ + slack else (
            f"objective {again.objective_} after {self.model.objective_}"
        )  # fmt: skip

    def refused(self) -> str:
        """Fewer vectors or columns: an error, and the model as it was."""
        again = self._again()
        before = _scores(again, self.X)
        for change in ("n_basis", "columns"):
            if change == "n_basis" and self.model.n_basis == 1:
                continue
            again.set_params(n_basis=self.model.n_basis - (change == "n_basis"))
            X = self.X if change == "n_basis" else _wider(self.X)
            try:
                again.fit(X, self.y)
            except ValueError:
                pass
            else:
                if len(self.model.basis_vectors_) == self.model.n_basis or change == "columns":
                    return f"a warm start with other {change} is accepted"
        return "" if np.array_equal(_scores(again, self.X), before) else "a refused fit changed the model"

    def other_samples(self) -> str:
        """Units and origin of new samples are others: finite, and no worse than what it began with."""
        if sparse.issparse(self.X):
            raise NotPossible("dense only")
        moved = (3 * self.X + 1).astype(self.X.dtype)
        again = self._again().fit(moved, self.y)
        return "" if np.isfinite(_scores(again, moved)).all() else "scores are not finite"

    def repeatable(self) -> str:
        a, b = (self._again().fit(self.X, self.y) for _ in range(2))
        return apart(_scores(a, self.X), _scores(b, self.X), 0.0, "scores")


def _wider(X: Any) -> Any:
    return sparse.hstack([X, X[:, :1]], format="csr") if sparse.issparse(X) else np.hstack([X, X[:, :1]])


# Checkpoints


def checkpoints_trial(seed: int, folder: Path) -> Trial:
    """End a fit after some iterations, and go on from its file."""
    rng, kind, X, y, options, task = _drawn(seed)
    which = str(rng.choice(["adam", "lbfgs", "auto"]))
    options["solver"] = {"adam": Adam(max_iter=6), "lbfgs": LBFGS(max_iter=12), "auto": "auto"}[which]
    options |= {"weight_penalty": "rkhs", "n_restarts": int(rng.integers(1, 3))}
    case = _Checkpoints(_made(task, **options), X, y, which == "adam", rng, folder)
    return Trial(f"{kind}, {X.shape}, {task}, {options}", case.laws())


@contextmanager
def _killed_after(writes: int) -> Iterator[None]:
    """End fits, as a killed process does, once they have written so many states."""
    kept, count = Checkpoint.keep, 0

    def keep(self: Checkpoint, state: Any) -> None:
        nonlocal count
        kept(self, state)
        count += 1
        if count == writes:
            raise Killed

    Checkpoint.keep = keep  # type: ignore[method-assign]
    try:
        yield
    finally:
        Checkpoint.keep = kept  # type: ignore[method-assign]


class _Checkpoints:
    def __init__(self, model: Any, X: Any, y: Any, exact: bool, rng: np.random.Generator, folder: Path) -> None:
        self.model, self.X, self.y, self.exact, self.rng, self.folder = model, X, y, exact, rng, folder
        self.path = folder / "state.npz"
        self.whole = clone(model).fit(X, y)

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "written or not, the fit is the same": self.same_fit,
            "resumed": self.resumed,
            "other samples are refused": self.other_samples,
            "other parameters are refused": self.other_parameters,
        }

    def _fit(self, X: Any, y: Any, model: Any = None) -> Any:
        model = clone(self.model) if model is None else model
        return model.fit(X, y, checkpoint=self.path, checkpoint_every=0)

    def _killed(self) -> None:
        """Leave a file as a killed process would."""
        self.path.unlink(missing_ok=True)
        with _killed_after(int(self.rng.integers(1, 6))):
            try:
                self._fit(self.X, self.y)
            except Killed:
                pass
        if not self.path.exists():
            raise NotPossible("the fit was over before")

    def same_fit(self) -> str:
        self.path.unlink(missing_ok=True)
        again = self._fit(self.X, self.y)
        problem = apart(_scores(again, self.X), _scores(self.whole, self.X), 0.0, "scores")
        return problem or ("a finished fit leaves its file" if self.path.exists() else "")

    def resumed(self) -> str:
        self._killed()
        again, whole = self._fit(self.X, self.y), self.whole
        if self.path.exists():
            return "a finished fit leaves its file"
        if self.exact:
            return apart(_scores(again, self.X), _scores(whole, self.X), 0.0, "scores")
        # A quasi-Newton method loses its memory: another way down, maybe to another minimum, from where the first was.
        begun, ended = again.objective_path_[0], again.objective_
        rounding = 1e-9 * (1 + abs(begun))
        one = self.model.n_restarts == 1  # of several descents the path is that of the best
        if one and np.min(np.abs(np.asarray(whole.objective_path_) - begun)) > rounding:
            return f"resumed at the objective {begun}, which the unbroken fit never had"
        return "" if ended <= begun + rounding else f"objective {ended} resumed from {begun}"

    def other_samples(self) -> str:
        self._killed()
        before = self.path.read_bytes()
        others: list[tuple[Any, Any]] = [(self.X[:-1], self.y[:-1])]
        if not sparse.issparse(self.X):
            X = self.X.copy()
            X[0, 0] = 2 * abs(X[0, 0]) + 1.0  # never what it was
            others.append((X, self.y))
        y = self.y.copy()
        y[[0, 1]] = y[[1, 0]]
        if not np.array_equal(y, self.y) and not _equal_rows(self.X, 0, 1):
            others.append((self.X, y))
        for X, y in others:
            try:
                self._fit(X, y)
            except ValueError as error:
                if "checkpoint" not in str(error):
                    return f"another error: {error}"
            else:
                return "a fit of other samples goes on from the file"
            if self.path.read_bytes() != before:
                return "a refused fit changed the file"
        return ""

    def other_parameters(self) -> str:
        self._killed()
        for change in ({"n_basis": self.model.n_basis + 1}, {"scale": not self.model.scale}, {"random_state": -1}):
            change = {name: value if value != -1 else self.model.random_state + 1 for name, value in change.items()}
            try:
                self._fit(self.X, self.y, clone(self.model).set_params(**change))
            except ValueError as error:
                if next(iter(change)) not in str(error):
                    return f"{change}: {error}"
            else:
                return f"a fit with other {change} goes on from the file"
        return ""


def _equal_rows(X: Any, a: int, b: int) -> bool:
    rows = np.asarray(X[[a, b]].toarray() if sparse.issparse(X) else X[[a, b]])
    return bool(np.array_equal(rows[0], rows[1]))
