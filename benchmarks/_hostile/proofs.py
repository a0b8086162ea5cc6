"""Promises: bounds of theory, certified changes, coverage of conformal sets and intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.stats import binom
from sklearn.dummy import DummyRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor

from benchmarks._hostile.comparing import apart, sizes_of
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import NotPossible
from spkm import SPKMClassifier, SPKMRegressor, conformal, kernels, theory
from spkm.explain import counterfactual

ONE_IN_A_MILLION = 1e-6  # chance that a true promise looks broken


def bounds_trial(seed: int, folder: Path) -> Trial:
    """Fit a classifier whose kernel is fixed; bounds must follow from their definitions and fall with n."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(10, 60)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3)
    count = int(rng.integers(2, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n), np.quantile(X[:, 0], np.linspace(0, 1, count + 1)[1:-1]))
    y[:count] = range(count)
    radius = float(np.linalg.norm(X, axis=1).max() * rng.uniform(1.0, 3.0))
    kernel = [kernels.RBF(0.3), kernels.Matern(1.5, 0.2), kernels.Laplacian(0.2), kernels.Linear(0.5),
              kernels.Polynomial(2, 1.0, 0.3), kernels.NormalizedPolynomial(2, 1.0, 0.5),
              kernels.Affine(kernels.RBF(0.2), 2.0, -1.0)][rng.integers(7)]  # fmt: skip
    options: dict[str, Any] = {"n_basis": int(rng.integers(1, 5)), "fit_intercept": bool(rng.random() < 0.7)}
    fixed = {"learn_bandwidth": False, "scale": False, "weight_penalty": "rkhs", "linear_part": False}
    model = SPKMClassifier(kernel=kernel, random_state=0, max_iter=15, **fixed, **options).fit(X, y)
    case = _Bounds(model, X, y, radius, kernel, rng)
    return Trial(f"{n} x {d}, {count} classes, {kernel}, {options}", case.laws())


class _Bounds:
    def __init__(self, model: Any, X: Any, y: Any, radius: float, kernel: Any, rng: np.random.Generator) -> None:
        self.model, self.X, self.y, self.radius, self.kernel, self.rng = model, X, y, radius, kernel, rng
        self.needs = not kernel.stationary

    def laws(self) -> dict[str, Callable[[], str]]:
        return {
            "complexity falls as 1 / sqrt(n)": self.falls,
            "tau by sampling": self.tau,
            "norms by hand": self.norms,
            "bound falls with n, rises with confidence": self.bound,
            "Occam bound": self.occam,
            "held-out bound": self.held_out,
        }

    def _complexity(self, n: int) -> Any:
        return theory.rademacher_complexity(self.model, n, radius=self.radius)

    def falls(self) -> str:
        few, many = self._complexity(50), self._complexity(5000)
        problem = apart(few.rkhs, 10 * many.rkhs, 1e-12 * few.rkhs, "rkhs")
        return problem or ("" if few.l1 is None else apart(few.l1, 10 * many.l1, 1e-12 * few.l1, "l1"))

    def tau(self) -> str:
        """No sample inside the radius has a larger k(x, x)."""
        directions = self.rng.standard_normal((2000, self.X.shape[1]))
        points = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        points *= self.radius * self.rng.random((2000, 1)) ** 0.2
        kernel = self.model.model_.terms[0].views[0].kernel.rkhs()
        largest = float(np.max(kernel.diagonal(points)))
        tau = self._complexity(10).tau
        return "" if largest <= tau * (1 + 1e-12) else f"k(x, x) = {largest} above tau = {tau}"

    def norms(self) -> str:
        """Lambda and Gamma of the weights, centred over classes."""
        found, fitted = self._complexity(10), self.model.model_
        C = np.asarray(fitted.weights, dtype=float)
        C = C - C.mean(axis=1, keepdims=True) if C.shape[1] > 1 else C
        term = fitted.terms[0]
        lam = np.linalg.norm(C, axis=1).sum()
        problem = apart(found.lambda_, lam, 1e-9 * lam, "Lambda")
        scale = getattr(self.kernel, "scale", 1.0) if isinstance(self.kernel, kernels.Affine) else 1.0
        kernel = term.views[0].kernel.rkhs()
        gram = kernel(term.views[0].basis, term.views[0].basis)
        gamma = abs(scale) * np.sqrt(max(np.einsum("ro,rs,so->", C, gram, C), 0.0))
        return problem or apart(found.gamma_, gamma, 1e-7 * (1 + lam) * (1 + abs(scale)) * np.sqrt(gram.max()), "Gamma")

    def _bound(self, X: Any, y: Any, **options: Any) -> Any:
        return theory.generalization_bound(self.model, X, y, radius=self.radius, **options)

    def bound(self) -> str:
        one = self._bound(self.X, self.y)
        total = one.empirical_margin_loss + one.complexity_term + one.confidence_term
        problem = apart(min(one.value, 1.0), min(total, 1.0), 1e-12, "sum of the terms")
        margin = one.margin
        more = self._bound(np.tile(self.X, (4, 1)), np.tile(self.y, 4), margin=margin)
        at = self._bound(self.X, self.y, margin=margin)
        problem = problem or ("" if more.value <= at.value + 1e-12 else "four times the samples have a larger bound")
        sure = self._bound(self.X, self.y, margin=margin, confidence=0.999)
        problem = problem or ("" if sure.value >= at.value - 1e-12 else "more confidence has a smaller bound")
        problem = problem or ("" if one.value <= at.value + 1e-12 else "the best margin is not the best")
        # The ramp by hand.
        F = self.model.model_.scores(self.X)
        code = np.searchsorted(self.model.classes_, self.y)
        own = F[:, 0] * (2 * code - 1) if F.shape[1] == 1 else _margin(F, code)
        ramp = np.clip(1 - own / margin, 0, 1).mean()
        return problem or apart(at.empirical_margin_loss, ramp, 1e-9, "mean ramps")

    def occam(self) -> str:
        """The quantised model's own error goes in; more samples and less confidence give smaller bounds."""
        found = theory.occam_bound(self.model, self.X, self.y)
        more = theory.occam_bound(self.model, np.tile(self.X, (4, 1)), np.tile(self.y, 4))
        sure = theory.occam_bound(self.model, self.X, self.y, confidence=0.999)
        if not (0 <= found.value <= 1 and more.value <= found.value + 1e-12 and sure.value >= found.value - 1e-12):
            return f"{found.value}, four times the samples {more.value}, more confidence {sure.value}"
        for bits in (4, 10):
            small = theory.quantized(self.model, bits)
            again = theory.quantized(small, bits) if bits == 10 else small
            if not np.array_equal(small.predict(self.X), again.predict(self.X)):
                return f"a model quantised twice to {bits} bits differs from one quantised once"
        return ""

    def held_out(self) -> str:
        """The binomial bound, by its definition."""
        value = theory.held_out_bound(self.model, self.X, self.y, confidence=0.9)
        wrong = int(np.sum(self.model.predict(self.X) != self.y))
        chance = binom.cdf(wrong, len(self.y), value) if value < 1 else 0.1
        return apart(chance, 0.1, 1e-6, "chance of as few errors") if wrong < len(self.y) else ""


def _margin(F: np.ndarray, code: np.ndarray) -> np.ndarray:
    rows = np.arange(len(F))
    others = F.copy()
    others[rows, code] = -np.inf
    return F[rows, code] - others.max(axis=1)


# Certified changes


def changes_trial(seed: int, folder: Path) -> Trial:
    """Fit a small model and look, by many random changes, for one that is smaller than the certified one."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 70)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d)
    f = np.sin(2 * X[:, 0] / X[:, 0].std()) + X[:, -1] / X[:, -1].std()
    task = str(rng.choice(["numbers", "counts", "two", "three"]))
    kernel = str(rng.choice(["rbf", "matern", "laplacian", "polynomial", "linear"]))
    options: dict[str, Any] = {"kernel": kernel, "n_basis": int(rng.integers(1, 5)), "random_state": 0, "max_iter": 30}
    options |= {"weight_penalty": "rkhs", "linear_part": [True, False, "auto"][rng.integers(3)]}
    if task in ("numbers", "counts"):
        y: Any = f if task == "numbers" else rng.poisson(np.exp(f / 2)).astype(float)
        model: Any = SPKMRegressor(loss="squared" if task == "numbers" else "poisson", **options).fit(X, y)
        target: Any = float(np.quantile(y, rng.uniform(0.05, 0.95))) + 0.1 * (task == "counts")  # a mean, not zero
    else:
        y = np.digitize(f, [0.0] if task == "two" else np.quantile(f, [0.3, 0.7]))
        y[:3] = [0, 1, y.max()]
        model = SPKMClassifier(**options).fit(X, y)
        target = int(rng.integers(y.max() + 1))
    row, changed = X[rng.integers(n)], int(rng.integers(1, 3))
    return Trial(
        f"{n} x {d}, {task}, {options}, target {target}, {changed} changes",
        {"no smaller change by sampling": partial(_no_smaller, model, X, row, target, changed, rng)},
    )


def _reaches(model: Any, rows: np.ndarray, now: float | None, target: Any) -> np.ndarray:
    found = model.predict(rows)
    if now is None:
        return found == target
    return found >= target if now < target else found <= target


def _no_smaller(model: Any, X: Any, row: np.ndarray, target: Any, changed: int, rng: np.random.Generator) -> str:
    found = counterfactual(model, row, target, ranges=X, max_changes=changed, max_cells=20_000)
    now = None if hasattr(model, "classes_") else float(model.predict(row[None])[0])
    low, high = X.min(axis=0), X.max(axis=0)
    sd = model.model_.scaling.scale if model.model_.scaling is not None else np.ones(len(row))
    if found.found:
        new = np.asarray(found.x, dtype=float).ravel()
        if not _reaches(model, new[None], now, target)[0]:
            return f"the change reaches {model.predict(new[None])[0]!r}, not {target!r}"
        if int(np.sum(new != row)) > changed or np.any((new < low - 1e-9 * np.abs(low)) & (new != row)):
            return "more features than allowed, or outside the ranges"
        if abs(np.linalg.norm((new - row) / sd) - found.size) > 1e-6 * (1 + found.size):
            return f"size {found.size} for {np.linalg.norm((new - row) / sd)}"
    if not (found.found or found.none_exists):
        raise NotPossible("effort did not suffice")
    rows = np.repeat(row[None], 4000, axis=0)
    for _ in range(changed):
        columns = rng.integers(len(row), size=len(rows))
        rows[np.arange(len(rows)), columns] = rng.uniform(low[columns], high[columns])
    size = np.linalg.norm((rows - row) / sd, axis=1)
    bound = found.size_bound if found.found else np.inf
    smaller = rows[size < bound * (1 - 1e-6)]
    hits = smaller[_reaches(model, smaller, now, target)] if len(smaller) else smaller
    if len(hits) and now is None:  # a change must be clear of rounding: a tie reaches nothing
        F = model.model_.scores(hits)
        clear = np.abs(F[:, 0]) if F.shape[1] == 1 else np.diff(np.sort(F, axis=1)[:, -2:], axis=1)[:, 0]
        hits = hits[clear > 1e-8 * sizes_of(model.model_, X).max()]
    return "" if len(hits) == 0 else f"{hits[0]} reaches the target, within {bound}"


# Coverage


def coverage_trial(seed: int, folder: Path) -> Trial:
    """Draw exchangeable samples and count how often sets and intervals hold the truth, against the binomial law."""
    rng = np.random.default_rng(seed)
    level = float(rng.choice([0.5, 0.8, 0.9]))
    score = str(rng.choice(["lac", "aps"]))
    return Trial(
        f"level {level}, {score}",
        {
            "split sets": partial(_split_sets, level, score, rng),
            "split intervals": partial(_split_intervals, level, rng),
            "cross sets": partial(_cross_sets, level, score, rng),
            "sets by hand": partial(_sets_by_hand, level, rng),
            "sets within classes": partial(_sets_within_classes, level, rng),
            "intervals within groups": partial(_intervals_within_groups, level, rng),
            "cut-offs by a linear programme": partial(_cutoffs_by_hand, level, rng),
        },
    )


def _classes(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(3, size=n)
    return rng.standard_normal((n, 2)) + 1.2 * np.column_stack([y == 1, y == 2]), y


def _broken(hits: np.ndarray, least: float, what: str) -> str:
    """Return a sentence if independent hits are too few for a probability of at least ``least``."""
    chance = binom.cdf(hits.sum(), len(hits), least)
    return (
        "" if chance > ONE_IN_A_MILLION else f"{what}: {hits.mean():.3f} for at least {least:.3f}, chance {chance:.1e}"
    )


def _split_sets(level: float, score: str, rng: np.random.Generator) -> str:
    hits = []
    X, y = _classes(80, rng)
    model = GaussianNB().fit(X, y)
    for _ in range(60):
        C, c = _classes(25, rng)
        sets = conformal.SplitConformalClassifier(model, confidence_level=level, conformity_score=score, prefit=True)
        new, truth = _classes(1, rng)
        _, members = sets.conformalize(C, c).predict_set(new)
        hits.append(bool(np.asarray(members)[0, int(truth[0])].all()))
    return _broken(np.array(hits), level, "sets hold the class")


def _split_intervals(level: float, rng: np.random.Generator) -> str:
    hits = []
    X = rng.standard_normal((60, 1))
    model = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0] ** 2)
    for _ in range(60):
        C = rng.standard_normal((20, 1))
        band = conformal.SplitConformalRegressor(model, confidence_level=level, prefit=True)
        new = rng.standard_normal((1, 1))
        truth = new[0, 0] ** 2 + rng.standard_normal()
        _, ends = band.conformalize(C, C[:, 0] ** 2 + rng.standard_normal(20)).predict_interval(new)
        low, high = np.ravel(ends)
        hits.append(low <= truth <= high)
    return _broken(np.array(hits), level, "intervals hold the truth")


def _cross_sets(level: float, score: str, rng: np.random.Generator) -> str:
    hits, promised = [], 0.0
    for _ in range(25):
        X, y = _classes(24, rng)
        y[:6] = [0, 1, 2, 0, 1, 2]
        sets = conformal.CrossConformalClassifier(GaussianNB(), confidence_level=level, conformity_score=score, cv=3)
        sets.fit_conformalize(X, y)
        promised = float(np.ravel(sets.guaranteed_coverage_)[0])
        new, truth = _classes(1, rng)
        hits.append(bool(np.asarray(sets.predict_set(new)[1])[0, int(truth[0])].all()))
    return _broken(np.array(hits), promised, "sets hold the class")


def _sets_by_hand(level: float, rng: np.random.Generator) -> str:
    """Sets of "lac": all classes whose probability is at least the quantile of those of the true classes."""
    X, y = _classes(60, rng)
    C, c = _classes(int(rng.integers(10, 40)), rng)
    new, _ = _classes(30, rng)
    model = GaussianNB().fit(X, y)
    sets = conformal.SplitConformalClassifier(model, confidence_level=level, conformity_score="lac", prefit=True)
    _, members = sets.conformalize(C, c).predict_set(new)
    scores = np.sort(1 - model.predict_proba(C)[np.arange(len(c)), c])
    rank = int(np.ceil(level * (len(c) + 1)))
    limit = scores[rank - 1] if rank <= len(c) else np.inf
    want = 1 - model.predict_proba(new) <= limit
    found = np.asarray(members)[..., 0] if np.ndim(members) == 3 else np.asarray(members)
    return "" if np.array_equal(found, want) else f"{int(np.sum(found != want))} of {want.size} members differ"


def _first_column(X: np.ndarray) -> np.ndarray:
    """Return indicators of the second and third value of the first column."""
    return (np.asarray(X)[:, [0]] == [1.0, 2.0]).astype(float)


def _sets_within_classes(level: float, rng: np.random.Generator) -> str:
    """Sets hold the class as often as promised within each class, if a column tells the classes apart.

    The model does not read this column; the promise is one of the weighting alone.
    """
    X, y = _classes(60, rng)
    model = make_pipeline(FunctionTransformer(_without_first), GaussianNB()).fit(np.column_stack([y, X]), y)
    hits: dict[int, list[bool]] = {0: [], 1: [], 2: []}
    for _ in range(40):
        C, c = _classes(60, rng)
        sets = conformal.ConditionalConformalClassifier(model, confidence_level=level, features=_first_column)
        try:
            sets.conformalize(np.column_stack([c, C]), c)
        except ValueError as error:
            if "need at least" in str(error):
                raise NotPossible(str(error)) from error
            raise
        new, truth = _classes(1, rng)  # a draw each, so that hits are independent
        _, members = sets.predict_set(np.column_stack([truth, new]))
        hits[int(truth[0])].append(bool(np.asarray(members).ravel()[int(truth[0])]))
    return _all_held(hits, level, "class")


def _without_first(X: np.ndarray) -> np.ndarray:
    return np.asarray(X)[:, 1:]


def _all_held(hits: dict[int, list[bool]], level: float, what: str) -> str:
    """Return a sentence if the hits of one of some groups are too few."""
    for group, found in hits.items():
        problem = _broken(np.array(found), level, f"sets or intervals of {what} {group} hold the truth")
        if problem:
            return problem
    return ""


def _intervals_within_groups(level: float, rng: np.random.Generator) -> str:
    """Groups whose noise differs by a factor of thirty: within each, intervals hold the truth as often as promised."""
    model = DecisionTreeRegressor(max_depth=2).fit(rng.standard_normal((40, 2)), rng.standard_normal(40))
    hits: dict[int, list[bool]] = {0: [], 1: [], 2: []}

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        group = rng.integers(3, size=n)
        noise = np.array([0.1, 1.0, 3.0])[group] * rng.standard_normal(n)
        return np.column_stack([group, rng.standard_normal(n)]), noise

    for _ in range(40):
        C, c = drawn(60)
        band = conformal.ConditionalConformalRegressor(model, confidence_level=level, features=_first_column)
        band.conformalize(C, c)
        new, truth = drawn(1)
        low, high = np.ravel(band.predict_interval(new)[1])
        hits[int(new[0, 0])].append(bool(low <= truth[0] <= high))
    return _all_held(hits, level, "group")


def _cutoffs_by_hand(level: float, rng: np.random.Generator) -> str:
    """The dual of the quantile regression, by linear programming: its marginals are the regression at a new sample."""
    n, p = int(rng.integers(40, 90)), int(rng.integers(1, 3))
    Z, new = rng.standard_normal((n, p)), 1.2 * rng.standard_normal((4, p))
    scores = rng.exponential(size=n) * (1 + np.abs(Z[:, 0]))
    zero = DummyRegressor(strategy="constant", constant=0.0).fit(Z, scores)
    found = conformal.ConditionalConformalRegressor(zero, confidence_level=level, features=lambda X: X)
    cutoffs = found.conformalize(Z, scores).predict_cutoff(new)[:, 0]
    P, before = np.column_stack([np.ones(n), Z]), level - 1e-7  # the left side of a kink, if the level is one
    for feature, cutoff in zip(np.column_stack([np.ones(4), new]), cutoffs, strict=True):
        solved = linprog(-scores, A_eq=P.T, b_eq=-before * feature, bounds=(level - 1, level), method="highs-ds")
        if (solved.status == 0) != np.isfinite(cutoff):
            return f"cut-off {cutoff}, status {solved.status}"
        if solved.status == 0:
            want = max(float(-solved.eqlin.marginals @ feature), 0.0)
            problem = apart(cutoff, want, 1e-6 * (1 + scores.max()), "cut-offs")
            if problem:
                return problem
    return ""
