"""Kernel machines on Nystroem features with few landmarks: learned with the targets, k-means centres, random samples.

Thirds of the samples for training, validation and test; features are standardised. All have one RBF kernel, its
bandwidth the mean distance of training samples, but for "and bandwidth", which learns that as well (in regression one
for every feature). On the features KRR is ridge regression and SVM a linear SVC; "exact" has the kernel itself. Alpha
and C are chosen on the validation third. Accuracies in percent, those of KRR by the sign of its predictions; squared
errors over the variance of the test targets; means over the splits. Parkinson's is cut to 3,000 samples, drawn at
random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._data import Settings, thirds
from benchmarks._report import Row, progress
from spkm import SPKMClassifier, SPKMNystroem, SPKMRegressor
from spkm.kernels import RBF
from spkm_paper.competitors._methods import C_GRID

COLUMNS = ("and bandwidth", "k-means", "random", "exact")
RULES = ("learned", *COLUMNS[:3])
SIZES = (1, 2, 5, 10, 20, 50)
CLASSES = ("breast_cancer_wisconsin", "early_diabetes", "ionosphere", "qsar_biodeg")
TARGETS = ("parkinsons_telemonitoring", "boston_housing", "sarcos_test")
MOST_ROWS = 3000  # of Parkinson's
ALPHAS = 10.0 ** np.arange(2, -7, -1)  # the smoothest first, as with C: of equals the first is taken

Found = dict[tuple[str, int, str], float]  # by problem, landmarks and rule; 0 landmarks is the exact problem


class Problem(NamedTuple):
    """A linear model, the same with a kernel, and what to choose from."""

    linear: Callable[[float], Any]
    exact: Callable[[float, float], Any]
    grid: np.ndarray


def kernel_ridge(alpha: float, gamma: float) -> Any:
    """Return a kernel ridge regression of the centred target: the intercept that it lacks."""
    centre = StandardScaler(with_std=False)
    return TransformedTargetRegressor(KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma), transformer=centre)


KRR = Problem(Ridge, kernel_ridge, ALPHAS)
SVM = Problem(lambda C: SVC(C=C, kernel="linear"), lambda C, gamma: SVC(C=C, gamma=gamma), C_GRID)


def run(settings: Settings) -> Iterator[Row]:
    loaded = dict(zip(CLASSES + TARGETS, settings.load(*CLASSES, *TARGETS), strict=True))
    sizes = SIZES[:: 3 if settings.quick else 1]
    by_set: list[Found] = []
    for name in CLASSES:
        signs = np.where(loaded[name]["y"] == 1, 1.0, -1.0)
        found = mean_of_splits(name, loaded[name]["X"], signs, {"KRR": KRR, "SVM": SVM}, sizes, settings)
        by_set.append(found)
        yield from rows(f"{name}, accuracy %,", found, sizes, "{:.1f}")
    mean = {case: float(np.mean([found[case] for found in by_set])) for case in by_set[0]}
    yield from rows("mean of the four,", mean, sizes, "{:.1f}")
    for name in TARGETS:
        X, y = loaded[name]["X"], loaded[name]["y"]
        y = y if y.ndim == 1 else y[:, 0]
        if name == TARGETS[0] or settings.quick:
            kept = np.random.default_rng(0).permutation(len(y))[: settings.size(MOST_ROWS, 300)]
            X, y = X[kept], y[kept]
        found = mean_of_splits(name, X, y, {"KRR": KRR}, sizes, settings)
        yield from rows(f"{name}, error,", found, sizes, "{:.3f}")


def rows(title: str, found: Found, sizes: tuple[int, ...], form: str) -> Iterator[Row]:
    """Yield a row for each problem and number of landmarks."""
    for problem in dict.fromkeys(case[0] for case in found):
        for R in sizes:
            values = [*(found[problem, R, rule] for rule in RULES), found[problem, 0, "exact"]]
            more = tuple(form.format(value) for value in values[1:])
            yield Row(f"{title} {problem}, {R} landmarks", values[0], form=form, more=more)


def mean_of_splits(
    name: str, X: np.ndarray, y: np.ndarray, machines: dict[str, Problem], sizes: tuple[int, ...], settings: Settings
) -> Found:
    """Return mean test scores."""
    splits = []
    for seed in range(settings.n_seeds(5)):
        splits.append(compare(X, y, machines, sizes, seed))
        progress(f"{name}, split {seed}: {splits[-1]}")
    return {case: float(np.mean([found[case] for found in splits])) for case in splits[0]}


def compare(X: np.ndarray, y: np.ndarray, machines: dict[str, Problem], sizes: tuple[int, ...], seed: int) -> Found:
    """Return test scores on one split: percent of right signs, or squared errors over the variance."""
    split = thirds(len(y), seed)
    train, _, test = split
    X = StandardScaler().fit(X[train]).transform(X)
    labels = bool(np.all(np.abs(y) == 1))
    y = y if labels else y / y[test].std()
    kernel = RBF().resolved(X[train], np.ones(len(train)))
    found: Found = {}
    for name, problem in machines.items():
        found[name, 0, "exact"] = tested((problem.exact(v, kernel.gamma) for v in problem.grid), X, y, split, labels)
    for R in sizes:
        for rule in RULES:
            features = landmarks(rule, R, kernel, labels, seed).fit(X[train], y[train]).transform(X)
            for name, problem in machines.items():
                found[name, R, rule] = tested((problem.linear(v) for v in problem.grid), features, y, split, labels)
    return found


def landmarks(rule: str, R: int, kernel: RBF, labels: bool, seed: int) -> SPKMNystroem:
    """Return the transformer of a rule."""
    if rule in ("k-means", "random"):
        return SPKMNystroem(R, kernel=kernel, landmarks=rule.replace("-", ""), scale=False, random_state=seed)
    bandwidth: Any = "auto" if "bandwidth" in rule else False
    # As landmarks="learned" has it: no linear part, which would leave the landmarks what is not linear, and no bounds.
    if labels:
        model = SPKMClassifier(weight_penalty="rkhs", basis_bounds=None, learn_bandwidth=bandwidth)
    else:
        model = SPKMRegressor(linear_part=False, basis_bounds=None, learn_bandwidth=bandwidth)
    return SPKMNystroem(R, kernel=kernel, landmarks=model, scale=False, random_state=seed)


def tested(models: Iterable[Any], X: np.ndarray, y: np.ndarray, split: list[np.ndarray], labels: bool) -> float:
    """Return the test score of the model that is best on the validation third."""
    train, validation, test = split
    fits = [model.fit(X[train], y[train]) for model in models]
    best = min(fits, key=lambda model: loss(model, X[validation], y[validation], labels))
    value = loss(best, X[test], y[test], labels)
    return 100 * (1 - value) if labels else value


def loss(model: Any, X: np.ndarray, y: np.ndarray, labels: bool) -> float:
    """Return the share of wrong signs, or the mean squared error."""
    predicted = model.predict(X)
    return float(np.mean((predicted > 0) != (y > 0) if labels else np.square(predicted - y)))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["landmarks", *sys.argv[1:]])
