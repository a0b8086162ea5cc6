"""Estimators of pairs: against the joined table that is never made, files, exports, new entities, weights, displays."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

from benchmarks._hostile.cases import samples_of, targets_of
from benchmarks._hostile.comparing import apart, differences_within, rounding_of
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import (
    Answers,
    by_c,
    by_compiled,
    by_duckdb,
    by_javascript,
    by_json,
    by_module,
    by_onnx,
    by_sqlite,
)
from spkm import PairwiseSPKMClassifier, PairwiseSPKMRegressor, kernels, load
from spkm.inspection import PairMatrixDisplay
from spkm.persistence import NumpyModel, save

KERNELS: tuple[Any, ...] = (
    *("rbf", "rbf", "matern", "laplacian", "linear", "polynomial"),
    ["rbf", "linear"],
    kernels.Sum(kernels.RBF(0.3), kernels.Linear(0.1)),
)
EXPORTS: dict[str, Callable[[Any, Any, Path], Answers]] = {
    "plain JSON": by_json,
    "compiled function": by_compiled,
    "exported Python": by_module,
    "JavaScript": by_javascript,
    "C": by_c,
    "SQLite": by_sqlite,
    "DuckDB": by_duckdb,
    "ONNX": by_onnx,
}


def answers_of(model: Any, pairs: Any, **tables: Any) -> Answers:
    """Return scores, predictions and probabilities of pairs."""
    entities = model._pairs.like(pairs, tables.get("left"), tables.get("right"))
    found: Answers = {"scores": model.model_.scores(entities), "predict": model.predict(pairs, **tables)}
    if hasattr(model, "predict_proba"):  # it depends on the loss
        found["probabilities"] = model.predict_proba(pairs, **tables)
    return found


def trial(seed: int, folder: Path) -> Trial:
    """Fit an estimator of pairs; its checks are every other way to its answers."""
    rng = np.random.default_rng(seed)
    tables, numbers, kinds = {}, {}, []
    for side in ("left", "right"):
        kinds.append(str(rng.choice(["array", "array", "frame", "sparse", "float32"])))
        n, d = int(rng.integers(2, 14)), int(rng.integers(1, 5))
        tables[side], numbers[side] = samples_of(rng, n, d, kinds[-1], kinds=int(rng.integers(100)))
    sizes = [tables[side].shape[0] for side in ("left", "right")]
    every = np.array([(i, j) for i in range(sizes[0]) for j in range(sizes[1])])
    pairs = every[rng.permutation(len(every))[: int(rng.integers(min(8, len(every)), len(every) + 1))]]
    joined = np.hstack([numbers["left"][pairs[:, 0]], numbers["right"][pairs[:, 1]]])
    task = str(rng.choice(["numbers", "several numbers", "counts", "two", "two", "three", "labels"]))
    y = targets_of(rng, task, joined)
    options: dict[str, Any] = {
        "n_basis": int(rng.integers(1, 5)),
        "left_kernel": KERNELS[rng.integers(len(KERNELS))],
        "right_kernel": KERNELS[rng.integers(len(KERNELS))],
        "scale": bool(rng.random() < 0.7),
        "fit_intercept": bool(rng.random() < 0.8),
        "learn_bandwidth": [False, True, "auto"][rng.integers(3)],
        "weight_penalty": str(rng.choice(["rkhs", "auto"])),
        "max_iter": int(rng.integers(1, 25)),
        "random_state": int(rng.integers(1000)),
    }
    numeric = task in ("numbers", "several numbers", "counts")
    options["loss"] = "poisson" if task == "counts" else str(rng.choice(["squared", "huber"] if numeric else ["log"]))
    model = (PairwiseSPKMRegressor if numeric else PairwiseSPKMClassifier)(**options)
    model.fit(pairs, y, **tables)
    case = _Case(model, pairs, y, tables, every, np.random.default_rng(seed), folder)
    exports = {f"export: {name}": partial(case.exported, way) for name, way in EXPORTS.items()}
    about = f"{kinds}, {sizes}, {len(pairs)} pairs, {task}, {options}"
    return Trial(about, {law.__name__.replace("_", " "): law for law in case.laws()} | exports)


class _Case:
    def __init__(
        self, model: Any, pairs: Any, y: Any, tables: Any, every: np.ndarray, rng: np.random.Generator, folder: Path
    ) -> None:
        self.model, self.pairs, self.y, self.tables, self.every = model, pairs, y, tables, every
        self.rng, self.folder = rng, folder
        self.want = answers_of(model, every)
        table = model._pairs.like(every, None, None)
        left, right = (np.asarray(t.toarray() if sparse.issparse(t) else t) for t in (table.left, table.right))
        self.joined = np.hstack([left[every[:, 0]], right[every[:, 1]]])
        self.error = rounding_of(model.model_, self.joined)

    def laws(self) -> tuple[Callable[[], str], ...]:
        return (
            *(self.joined_table, self.by_hand, self.pickles, self.files, self.numpy_runtime, self.new_entities),
            *(self.one_pair_at_a_time, self.refit, self.weights_are_repeats, self.unused_entities, self.matrix),
        )

    def joined_table(self) -> str:
        """Scores of the joined table by the same model."""
        return apart(self.model.model_.scores(self.joined), self.want["scores"], 2 * self.error, "scores")

    def by_hand(self) -> str:
        """Products of kernels, term by term, from the fitted attributes."""
        fitted, X = self.model.model_, self.joined.astype(np.float64)
        Z = X if fitted.scaling is None else fitted.scaling(X)
        scores = np.tile(np.asarray(fitted.intercept, dtype=float), (len(X), 1))
        for term in fitted.terms:
            parts = [view.kernel(Z[:, view.columns], view.basis) for view in term.views]
            scores += np.prod(parts, axis=0) @ term.weights
        return apart(scores, self.want["scores"], 2 * self.error, "scores")

    def pickles(self) -> str:
        again = pickle.loads(pickle.dumps(self.model))
        return differences_within(self.model.model_, self.want, answers_of(again, self.every), 0 * self.error)

    def files(self) -> str:
        save(self.model, self.folder / "model.spkm")
        again = load(self.folder / "model.spkm")
        return differences_within(self.model.model_, self.want, answers_of(again, self.every), 0 * self.error)

    def numpy_runtime(self) -> str:
        save(self.model, self.folder / "model.spkm")
        light = load(self.folder / "model.spkm", runtime="numpy")
        assert isinstance(light, NumpyModel)
        found: Answers = {"scores": light.scores(self.joined.astype(float)), "predict": light.predict(self.joined)}
        if light.plain["probabilities"] is not None:
            found["probabilities"] = light.predict_proba(self.joined)
        return differences_within(self.model.model_, self.want, found, 2 * self.error)

    def new_entities(self) -> str:
        """Tables in another order, with pairs that follow."""
        orders = {side: self.rng.permutation(table.shape[0]) for side, table in self.tables.items()}
        moved = {
            side: table.iloc[orders[side]] if isinstance(table, pd.DataFrame) else table[orders[side]]
            for side, table in self.tables.items()
        }
        places = [np.argsort(orders[side]) for side in ("left", "right")]
        pairs = np.column_stack([places[k][self.every[:, k]] for k in range(2)])
        return differences_within(self.model.model_, self.want, answers_of(self.model, pairs, **moved), self.error)

    def one_pair_at_a_time(self) -> str:
        parts = [answers_of(self.model, self.every[i : i + 1]) for i in range(len(self.every))]
        found = {name: np.concatenate([part[name] for part in parts]) for name in self.want}
        return differences_within(self.model.model_, self.want, found, self.error)

    def refit(self) -> str:
        again = clone(self.model).fit(self.pairs, self.y, **self.tables)
        return apart(answers_of(again, self.every)["scores"], self.want["scores"], 0.0, "scores")

    def weights_are_repeats(self) -> str:
        weight = self.rng.integers(1, 4, len(self.pairs))
        often = np.repeat(np.arange(len(self.pairs)), weight)
        a = clone(self.model).fit(self.pairs, self.y, sample_weight=weight.astype(float), **self.tables)
        b = clone(self.model).fit(self.pairs[often], self.y[often], **self.tables)
        left, right = (answers_of(one, self.every)["scores"] for one in (a, b))
        return apart(left, right, 1e-3 * np.abs(right).max(), "scores")

    def unused_entities(self) -> str:
        """Rows of a table that no pair points to: the same fit; products of larger tables are rounded otherwise."""
        if any(isinstance(table, pd.DataFrame) or sparse.issparse(table) for table in self.tables.values()):
            more = self.tables
        else:
            more = {side: np.vstack([table, 50 + 3 * table]) for side, table in self.tables.items()}
        again = clone(self.model).fit(self.pairs, self.y, **more)
        problem = apart(again.model_.theta, self.model.model_.theta, 0.0, "parameters")
        return problem or apart(answers_of(again, self.every)["scores"], self.want["scores"], self.error, "scores")

    def matrix(self) -> str:
        """The numbers of the display."""
        import matplotlib.pyplot as plt

        display = PairMatrixDisplay.from_estimator(self.model, self.pairs)
        plt.close("all")
        frame, marked = display.frame(), display.known
        want = {(str(i), str(j)): score for (i, j), score in zip(self.every, self.want["scores"][:, 0], strict=True)}
        known = {(str(i), str(j)) for i, j in self.pairs}
        for a, i in enumerate(frame.index):
            for b, j in enumerate(frame.columns):
                if frame.iloc[a, b] != want[i, j] or bool(marked[a, b]) != ((i, j) in known):
                    return f"pair {i}, {j}: {frame.iloc[a, b]!r} for {want[i, j]!r}, marked {marked[a, b]}"
        return ""

    def exported(self, way: Callable[[Any, Any, Path], Answers]) -> str:
        names = self.names()
        X: Any = self.joined.astype(float)
        if way in (by_sqlite, by_duckdb):
            X = pd.DataFrame(X, columns=names)
        return differences_within(self.model.model_, self.want, way(self.model, X, self.folder), 2 * self.error)

    def names(self) -> list[str]:
        found = []
        for side, table in self.tables.items():
            own = table.columns if isinstance(table, pd.DataFrame) else range(table.shape[1])
            found += [f"{side} {name}" for name in own]
        return found
