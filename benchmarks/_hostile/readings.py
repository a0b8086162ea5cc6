"""Explanations and displays: brute force over samples and features, and the numbers of frames computed directly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._hostile.cases import Case, draw_case
from benchmarks._hostile.comparing import apart, sizes_of
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import NotPossible
from spkm import inspection
from spkm.explain import (
    explain,
    familiarity,
    gradient,
    h_statistics,
    partial_dependence,
    sobol_indices,
    to_frame,
)
from spkm.tables.pipelines import before_last, last_of

FEW = 7  # samples of a brute force


def trial(seed: int, folder: Path) -> Trial:
    """Fit the model of a seed; its checks are explanations and displays by brute force."""
    case = draw_case(seed)
    reading = _Reading(case, case.model.fit(case.X, case.y))
    return Trial(case.about, {law.__name__.replace("_", " "): law for law in reading.laws()})


class _Reading:
    def __init__(self, case: Case, model: Any) -> None:
        self.case, self.model = case, model
        self.last = last_of(model)
        self.fitted = self.last.model_
        rows = self.last._rows(before_last(model, case.X))
        self.rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        self.some = self.rows[:FEW]
        # Kernels are approximated to an error over their largest value, not over what they are at a sample.
        self.size = sizes_of(self.fitted, self.rows).max() + np.abs(self.fitted.weights).sum()
        self.names = [f"x{j}" for j in range(self.rows.shape[1])]

    def laws(self) -> tuple[Callable[[], str], ...]:
        return (
            *(self.shapley_by_subsets, self.sobol, self.h, self.dependence, self.gradients, self.similarities),
            *(self.effect_display, self.map_display, self.shapley_display, self.contribution_display),
            *(self.basis_display, self.card_display, self.frames_of_models, self.course_display),
        )

    # Explanations

    def shapley_by_subsets(self) -> str:
        """Sums over all subsets of features, for one sample."""
        read = self.fitted.features_read()
        if len(read) > 5:
            raise NotPossible("many features")
        found = self._explained(self.rows[:1], self.some)
        values = {}
        for count in range(len(read) + 1):
            for chosen in itertools.combinations(read, count):
                rows = self.some.copy()
                rows[:, list(chosen)] = self.rows[0, list(chosen)]
                values[chosen] = self.fitted.scores(rows).mean(axis=0)
        want = np.zeros(found.values.shape[1:])
        for j in read:
            others = [k for k in read if k != j]
            for count in range(len(others) + 1):
                share = math.factorial(count) * math.factorial(len(others) - count) / math.factorial(len(read))
                for chosen in itertools.combinations(others, count):
                    with_j = tuple(sorted((*chosen, j)))
                    want[j] += share * (values[with_j] - values[chosen])
        return apart(found.values[0], want, 1e-7 * self.size, "Shapley values")

    def _explained(self, rows: np.ndarray, background: np.ndarray) -> Any:
        try:
            return explain(self.fitted, rows, background)
        except (ValueError, TypeError) as error:  # some kernels have no closed form
            raise NotPossible(str(error)) from error

    def sobol(self) -> str:
        """Variances over all combinations of the values of some samples."""
        read, d = self.fitted.features_read(), self.rows.shape[1]
        if not 1 <= len(read) <= 4:
            raise NotPossible("too many combinations")
        some = self.rows[:5]
        found = sobol_indices(self.fitted, some)
        n, s = len(some), len(read)
        every = np.tile(some[0], (n**s, 1))
        for k, mesh in enumerate(np.meshgrid(*[np.arange(n)] * s, indexing="ij")):
            every[:, read[k]] = some[mesh.ravel(), read[k]]
        F = self.fitted.scores(every).reshape(*[n] * s, -1)
        variance = F.var(axis=tuple(range(s)))
        if not found.exact or np.any(variance <= (1e-6 * self.size) ** 2):
            raise NotPossible("estimated, or next to no variance")
        first, total = np.zeros((d, len(variance))), np.zeros((d, len(variance)))
        for k, j in enumerate(read):
            others = tuple(axis for axis in range(s) if axis != k)
            first[j] = F.mean(axis=others).var(axis=0) / variance
            total[j] = F.var(axis=k).mean(axis=tuple(range(s - 1))) / variance
        bound = 1e-7 * self.size**2 / variance
        return (
            apart(found.variance, variance, 1e-7 * self.size**2, "variances")
            or apart(found.first, first, bound, "first indices")
            or apart(found.total, total, bound, "total indices")
        )

    def h(self) -> str:
        """Friedman's H by its definition."""
        read = self.fitted.features_read()[:3]
        if len(read) < 2:
            raise NotPossible("one feature")
        some, n = self.some, len(self.some)
        _, found = h_statistics(self.fitted, some, list(map(int, read)))

        def mean_with(columns: list[int]) -> np.ndarray:
            rows = np.repeat(some[None], n, axis=0)
            rows[:, :, columns] = some[:, None, columns]
            values = self.fitted.scores(rows.reshape(n * n, -1)).reshape(n, n, -1).mean(axis=1)
            return values - values.mean(axis=0)

        for a, b in itertools.combinations(range(len(read)), 2):
            joint = mean_with([read[a], read[b]])
            left = joint - mean_with([read[a]]) - mean_with([read[b]])
            total = (joint**2).sum(axis=0)
            clear = total > n * (1e-6 * self.size) ** 2
            want = np.sqrt((left**2).sum(axis=0) / np.maximum(total, 1e-300))
            bound = 1e-6 * self.size * np.sqrt(n / np.maximum(total, 1e-300))
            problem = apart(np.where(clear, found[a, b], 0), np.where(clear, want, 0), bound, "H statistics")
            if problem:
                return problem
        return "" if np.all((found >= 0) & np.isfinite(found)) else "H statistics below zero, or not finite"

    def dependence(self) -> str:
        """Means over samples with a feature held fixed, also of one that is not read."""
        for j in (0, self.rows.shape[1] - 1):
            (effect,) = partial_dependence(self.fitted, self.some, [j], n_points=4)
            for point, value in zip(effect.grid[0], effect.values, strict=True):
                rows = self.some.copy()
                rows[:, j] = point
                problem = apart(value, self.fitted.scores(rows).mean(axis=0), 1e-7 * self.size, "partial dependence")
                if problem:
                    return problem
        return ""

    def gradients(self) -> str:
        """Differences of the scores, where they are smooth: one-sided ones agree."""
        try:
            found = gradient(self.fitted, self.some)
        except (ValueError, TypeError) as error:
            raise NotPossible(str(error)) from error
        found = np.asarray(getattr(found, "values", found), dtype=float)
        found = found.reshape(len(self.some), self.rows.shape[1], -1)
        scale = self.rows.std(axis=0) + 1e-300
        for j in range(self.rows.shape[1]):
            step = np.zeros(self.rows.shape[1])
            step[j] = 1e-5 * scale[j]
            if step[j] < 1e-7 * np.abs(self.some[:, j]).max():
                continue  # a constant feature, or one whose digits do not hold a step
            up, down = (self.fitted.scores(self.some + sign * step) for sign in (1, -1))
            middle = self.fitted.scores(self.some)
            smooth = np.abs(up + down - 2 * middle) <= 1e-9 * self.size + 1e-4 * np.abs(up - down)
            want = (up - down) / (2 * step[j])
            bound = (1e-4 * self.size + 1e-3 * np.abs(want) * scale[j]) / scale[j]
            problem = apart(np.where(smooth, found[:, j], 0), np.where(smooth, want, 0), bound, f"gradients of {j}")
            if problem:
                return problem
        return ""

    def similarities(self) -> str:
        """Familiarity, and contributions as weights times similarities."""
        K, C = self.fitted.similarities(self.rows), self.fitted.contributions(self.rows)
        problem = apart(C.sum(axis=1) + self.fitted.intercept, self.fitted.scores(self.rows), 1e-9 * self.size, "sums")
        kernels = [view.kernel for one in self.fitted.members for term in one.terms for view in term.views]
        if problem or not all(kernel.stationary and kernel.largest_diagonal() == 1 for kernel in kernels):
            return problem  # a cosine, there
        if any(kernel.shifted for kernel in kernels):
            return problem  # similarities are those of the kernel without its shift
        want = K[:, self.fitted.vector_rows].max(axis=1)
        found, rank = familiarity(self.fitted, self.rows, self.some)
        few = want[: len(self.some)]
        ranks = np.array([(1 + np.sum(few <= value)) / (1 + len(few)) for value in want])
        clear = np.abs(few[None] - want[:, None]).min(axis=1) > 1e-8
        problem = apart(found, want, 1e-9 * np.abs(want).max(), "familiarity")
        return problem or apart(rank[clear], ranks[clear], 1e-12, "ranks")

    # Displays

    def _drawn(self, display: str, *arguments: Any, **options: Any) -> Any:
        import matplotlib.pyplot as plt

        try:
            return getattr(inspection, display).from_estimator(*arguments, **options)
        except (ValueError, TypeError) as error:
            if "must" in str(error) or "need" in str(error) or "no closed form" in str(error):
                raise NotPossible(str(error)) from error
            raise
        finally:
            plt.close("all")

    def effect_display(self) -> str:
        j = int(self.fitted.features_read()[0]) if len(self.fitted.features_read()) else 0
        display = self._drawn("EffectDisplay", self.model, self.case.X, j, n_points=5)
        frame = display.frame()
        values = frame.iloc[:, 1:].to_numpy(dtype=float)
        for point, value in zip(frame.iloc[:, 0], values, strict=True):
            rows = self.rows.copy()
            rows[:, j] = point
            want = self.fitted.scores(rows).mean(axis=0)
            problem = apart(value, want if len(value) == len(want) else want[:1], 1e-7 * self.size, "means")
            if problem:
                return problem
        return ""

    def map_display(self) -> str:
        d = self.rows.shape[1]
        if d < 2 or self.fitted.target.task == "labels":
            raise NotPossible("one feature, or several labels")
        display = self._drawn(
            "DecisionMapDisplay", self.model, self.case.X, self.case.y, features=(0, d - 1), n_points=4
        )
        frame = display.frame()
        rows = np.tile(np.median(self.rows, axis=0), (len(frame), 1))
        rows[:, 0], rows[:, d - 1] = frame.iloc[:, 0], frame.iloc[:, 1]
        scores = self.fitted.scores(rows)
        columns = [name for name in frame if str(name).startswith("score ")][-scores.shape[1] :]
        problem = apart(frame[columns].to_numpy(dtype=float), scores, 1e-9 * self.size, "scores")
        want = self.last.predict(rows)
        found = frame["prediction"].to_numpy()
        if problem or not self.fitted.target.of_classes:
            return problem or apart(found, want, 1e-9 * max(self.size, np.abs(want).max()), "predictions")
        return "" if [str(a) for a in found] == [str(a) for a in want] else "predictions differ"

    def shapley_display(self) -> str:
        display = self._drawn("ShapleyDisplay", self.model, self.case.X)
        explained = self._explained(self.rows, None)  # type: ignore[arg-type]
        found, want = display.frame().to_numpy(), explained.values[:, :, 0]
        if found.shape != want.shape and self.last is not self.model:  # the features of a category are one column
            found, want = found.sum(axis=1), want.sum(axis=1)
        return apart(found, want, 1e-7 * self.size, "values")

    def contribution_display(self) -> str:
        display = self._drawn("ContributionDisplay", self.model, self.case.X, row=1)
        frame = display.frame()
        score = self.fitted.scores(self.rows[1:2])[0, 0]
        total = frame.attrs["base_value"] + frame.to_numpy(dtype=float).sum()
        return apart(frame.attrs["score"], score, 1e-9 * self.size, "scores") or apart(
            total, score, 1e-7 * self.size, "sums of what features add"
        )

    def basis_display(self) -> str:
        frame = self._drawn("BasisDisplay", self.model, max_features=50).frame()
        want = np.array(self.fitted.basis_vectors)[self.fitted.vector_rows]
        if len(frame) != len(want):
            return f"{len(frame)} rows for {len(want)} vectors"
        names = list(map(str, self._feature_names()))
        places = [names.index(name) for name in frame.columns]
        return apart(frame.to_numpy(dtype=float), want[:, places], 0.0, "entries")

    def _feature_names(self) -> Any:
        if self.last is not self.model:
            return self.model[:-1].get_feature_names_out()
        return getattr(self.last, "feature_names_in_", self.names)

    def card_display(self) -> str:
        """Cards of all vectors, each with its own entries and similarities."""
        rows = np.flatnonzero(self.fitted.vector_rows)
        names = list(map(str, self._feature_names()))
        K = self.fitted.similarities(self.rows)
        for number, row in enumerate(rows):
            display = self._drawn("BasisCardDisplay", self.model, self.case.X, self.case.y, basis=number)
            frame = display.frame()
            places = [names.index(str(name)) for name in frame["feature"]]
            problem = apart(frame["value"], self.fitted.basis_vectors[row, places], 0.0, f"entries of vector {number}")
            problem = problem or apart(display.similarities, K[:, row], 1e-9, f"similarities to vector {number}")
            problem = problem or apart(display.weights, self.fitted.weights[row], 0.0, f"weights of vector {number}")
            if problem:
                return problem
        return ""

    def frames_of_models(self) -> str:
        """The table of basis vectors has one row for each."""
        frame = to_frame(self.last)
        count = int(self.fitted.vector_rows.sum())
        return "" if len(frame) in (count, self.fitted.n_basis) else f"{len(frame)} rows for {count} vectors"

    def course_display(self) -> str:
        frame = self._drawn("ConvergenceDisplay", self.model if self.last is self.model else self.last).frame()
        numbers = frame.select_dtypes("number").to_numpy()
        return "" if np.isfinite(numbers).all() else "numbers are not finite"
