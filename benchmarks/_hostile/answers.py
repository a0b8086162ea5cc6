"""Answers about models: proofs, samples with gaps, edits by hand; each against sampling or algebra."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._hostile.comparing import apart, sizes_of
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import NotPossible
from spkm import SPKMClassifier, SPKMRegressor, load, save
from spkm.explain import Normal, edited, expected_scores, prove, with_gaps

KERNELS = ("rbf", "matern", "laplacian", "polynomial", "linear")


def trial(seed: int, folder: Path) -> Trial:
    """Fit a small model of numbers or classes."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 90)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    X = X * 10.0 ** rng.integers(-2, 3, d) + rng.integers(-2, 3, d)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    f = np.sin(1.5 * Z[:, 0]) + 0.5 * Z[:, -1] + 0.2 * rng.standard_normal(n)
    task = str(rng.choice(["numbers", "two", "three"]))
    options: dict[str, Any] = {
        "kernel": str(rng.choice(KERNELS)),
        "n_basis": int(rng.integers(1, 5)),
        "linear_part": [True, False, "auto"][rng.integers(3)],
        "weight_penalty": "rkhs",
        "random_state": 0,
        "max_iter": 30,
    }
    if task == "numbers":
        model: Any = SPKMRegressor(loss="squared", **options).fit(X, f)
    else:
        y = np.digitize(f, [0.0] if task == "two" else np.quantile(f, [0.3, 0.7]))
        y[:3] = [0, 1, y.max()]
        model = SPKMClassifier(**options).fit(X, y)
    case = _Answers(model, X, rng, folder)
    return Trial(f"{n} x {d}, {task}, {options}", case.laws())


class _Answers:
    def __init__(self, model: Any, X: np.ndarray, rng: np.random.Generator, folder: Path) -> None:
        self.model, self.X, self.rng, self.folder = model, X, rng, folder
        self.fitted = model.model_
        self.size = float(sizes_of(self.fitted, X).max())
        self.low, self.high = X.min(axis=0), X.max(axis=0)
        self.ranges = {j: (float(a), float(b)) for j, (a, b) in enumerate(zip(self.low, self.high, strict=True))}

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "no sample beyond a proved limit": self.limits,
            "no sample against a proved statement": self.statements,
            "no step against a proved direction": self.directions,
            "expected scores by draws": self.gaps,
            "gaps that are not there": self.no_gaps,
            "an edit has the nearest scores": self.edits,
            "an edit that changes nothing": self.no_edit,
            "an edit in a file": self.filed_edit,
        }

    def _drawn(self, count: int = 4000) -> np.ndarray:
        rows = self.rng.uniform(self.low, self.high, (count, len(self.low)))
        corners = self.rng.random(rows.shape) < 0.1
        return np.where(corners, np.where(self.rng.random(rows.shape) < 0.5, self.low, self.high), rows)

    def limits(self) -> str:
        output = int(self.rng.integers(self.fitted.n_outputs))
        what = f"score of {output}" if self.fitted.n_outputs > 1 else "score"
        slack = max(0.02 * self.size, 1e-9)
        found = prove(self.model, f"{what} <= ?", ranges=self.ranges, tolerance=slack, max_boxes=4000)
        most = float(self.fitted.scores(self._drawn())[:, output].max())
        if most > found.bound + 1e-9 * self.size:
            return f"a sample has {most}, above the limit {found.bound}"
        if len(self.fitted.features_read()) < self.X.shape[1]:
            raise NotPossible("the sample has the features that are read alone")
        row = np.array([[found.sample[name] for name in found.sample]], dtype=float)
        here = float(self.fitted.scores(row)[0, output])
        problem = apart(here, found.found, 1e-9 * self.size, "score of the sample that was found")
        return problem or ("" if found.found <= found.bound + 1e-9 * self.size else "what was found is above the limit")

    def statements(self) -> str:
        """Limits around what samples have: some statements are true, some are not."""
        output, what = 0, "score of 0" if self.fitted.n_outputs > 1 else "score"
        drawn = self._drawn()
        values = self.fitted.scores(drawn)[:, output]
        limit = float(np.quantile(values, self.rng.choice([0.5, 0.99, 1.0]))) + float(
            self.rng.choice([0.0, 0.05]) * np.ptp(values)
        )
        found = prove(self.model, f"{what} <= {limit!r}", ranges=self.ranges, max_boxes=4000)
        if found.status == "proved" and values.max() > limit + 1e-9 * self.size:
            return f"a sample has {values.max()}, the proved limit is {limit}"
        if found.status == "refuted":
            row = np.array([[found.sample[name] for name in found.sample]], dtype=float)
            if not self.fitted.scores(row)[0, output] > limit - 1e-9 * self.size:
                return f"the sample against it has {self.fitted.scores(row)[0, output]}, the limit is {limit}"
        return ""

    def directions(self) -> str:
        """A score that is proved to rise rises between any two samples that differ in this feature alone."""
        if self.model.kernel == "laplacian":
            raise NotPossible("a kernel of absolute distances has no slope at its vectors")
        j, what = int(self.rng.integers(self.X.shape[1])), "score of 0" if self.fitted.n_outputs > 1 else "score"
        for word, sign in (("rises", 1.0), ("falls", -1.0)):
            found = prove(self.model, f"{what} {word} with x{j}", ranges=self.ranges, max_boxes=2000)
            if found.status != "proved":
                continue
            rows = self._drawn(1000)
            up = rows.copy()
            up[:, j] = self.rng.uniform(rows[:, j], self.high[j])
            change = sign * (self.fitted.scores(up) - self.fitted.scores(rows))[:, 0]
            if change.min() < -1e-9 * self.size:
                return f"a score that {word} with x{j} changes by {sign * change.min()}"
        return ""

    def gaps(self) -> str:
        """Means over draws of what is missing, given what is known, within six standard errors."""
        row = self.X[:1].copy()
        missing = self.rng.random(row.shape[1]) < 0.5
        missing[self.rng.integers(row.shape[1])] = True
        row[0, missing] = np.nan
        normal = Normal.of(self.X)
        try:
            found = expected_scores(self.fitted, row, normal)[0]
        except (ValueError, TypeError) as error:
            raise NotPossible(str(error)) from error
        draws = _given(self.X, row[0], missing, 20_000, self.rng)
        scaling = self.fitted.scaling
        inside = np.ones(len(draws), dtype=bool)
        if scaling is not None:  # the closed form leaves out the clip of far values
            inside = np.isclose(scaling.inverse(scaling(draws)), draws, rtol=1e-9, atol=1e-12).all(axis=1)
        if inside.mean() < 0.999:
            raise NotPossible("draws beyond the clip")
        values = self.fitted.scores(draws)
        error = 6 * values.std(axis=0) / np.sqrt(len(values)) + 1e-6 * self.size
        # What is clipped is beyond five deviations: its share of a mean is bounded by its share of the draws.
        return apart(found, values.mean(axis=0), error + (1 - inside.mean()) * np.abs(values).max(), "expected scores")

    def no_gaps(self) -> str:
        """Whole samples are predicted as the model does."""
        model = with_gaps(self.model, self.X)
        found, want = model.predict(self.X[:8]), self.model.predict(self.X[:8])
        if hasattr(self.model, "classes_"):
            return "" if np.array_equal(found, want) else "classes of whole samples differ"
        return apart(found, want, 1e-9 * max(self.size, float(np.abs(want).max())), "predictions of whole samples")

    # Edits

    def _vectors(self) -> int:
        count = int(self.fitted.vector_rows.sum())
        if count < 2 or not self.fitted.is_joint:
            raise NotPossible("one vector")
        return count

    def edits(self) -> str:
        """No other weights of the vectors that stay have scores nearer to those before: least squares by NumPy."""
        count = self._vectors()
        drop = int(self.rng.integers(count))
        small = edited(self.model, self.X, drop=[drop])
        rows = np.flatnonzero(self.fitted.vector_rows)
        kept = np.delete(rows, drop)
        Phi = self.fitted.similarities(self.X)
        before = self.fitted.scores(self.X)
        fixed = np.flatnonzero(~self.fitted.vector_rows)
        rest = before - Phi[:, fixed] @ self.fitted.weights[fixed]
        free = self.model.fit_intercept
        A = np.hstack([Phi[:, kept], np.ones((len(Phi), int(free)))])
        rest = rest if free else rest - self.fitted.intercept
        best = np.linalg.lstsq(A, rest, rcond=None)[0]
        least = float(np.square(A @ best - rest).mean())
        found = float(np.square(small.model_.scores(self.X) - before).mean())
        # A ridge of a millionth of each row keeps weights near what they were: its cost is that of the best change.
        old = np.vstack([self.fitted.weights[kept], np.atleast_2d(self.fitted.intercept)[: int(free)]])
        ridge = 1e-6 * np.square(A).mean(axis=0)
        bound = float((ridge[:, None] * np.square(best - old)).sum()) + 1e-9 * self.size**2
        return "" if found <= least + bound else f"squared change {found}, the least is {least}, the bound {bound}"

    def no_edit(self) -> str:
        """A weight that is pinned to itself."""
        self._vectors()
        row = np.flatnonzero(self.fitted.vector_rows)[0]
        own = self.fitted.weights[row]
        same = edited(self.model, self.X, pin={0: float(own[0]) if len(own) == 1 else own})
        return apart(same.model_.scores(self.X), self.fitted.scores(self.X), 1e-9 * self.size, "scores")

    def filed_edit(self) -> str:
        self._vectors()
        small = edited(self.model, self.X, drop=[0])
        save(small, self.folder / "edited.spkm")
        again: Any = load(self.folder / "edited.spkm")
        return apart(again.model_.scores(self.X), small.model_.scores(self.X), 0.0, "scores")


def _given(X: np.ndarray, row: np.ndarray, missing: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return draws of the normal distribution of samples, given the entries of a row that are not missing."""
    mean, covariance = X.mean(axis=0), np.cov(X, rowvar=False, bias=True).reshape(X.shape[1], -1)
    known = ~missing
    draws = np.tile(row, (count, 1))
    centre, spread = mean[missing], covariance[np.ix_(missing, missing)]
    if known.any():
        solved = np.linalg.lstsq(covariance[np.ix_(known, known)], covariance[np.ix_(known, missing)], rcond=None)[0]
        centre = centre + (row[known] - mean[known]) @ solved
        spread = spread - covariance[np.ix_(missing, known)] @ solved
    size, axes = np.linalg.eigh(spread)
    draws[:, missing] = (
        centre + rng.standard_normal((count, int(missing.sum()))) * np.sqrt(np.maximum(size, 0)) @ axes.T
    )
    return draws
