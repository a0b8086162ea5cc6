"""CPU time and error of exact explanations on one thread, beside shap, shapiq and scikit-learn's brute force.

Shapley values are those of a classifier with 8 basis vectors on breast cancer (30 features) against 100 background
samples. The error is the largest difference from the exact values, over the largest exact value; of the exact values
themselves it is that from 2^d subsets on 10 of the features. shapiq plays another game, where the factor of an absent
feature is 1; its error is how far its values are from adding up. Packages that are not installed are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import combinations
from math import comb
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import partial_dependence as brute_force
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from benchmarks._data import Settings
from benchmarks._report import Row, below
from spkm import SPKMClassifier, SPKMRegressor
from spkm.explain import counterfactual, explain, partial_dependence

COLUMNS = ("error",)
PLAIN = {"linear_part": False, "learn_bandwidth": True}  # a model that shapiq can be given, too


def run(settings: Settings) -> Iterator[Row]:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that are cut short, and of other packages
        yield from shapley_rows(settings)
        yield from wide_rows(settings)
        yield from effect_rows(settings)
        yield from counterfactual_rows(settings)


def shapley_rows(settings: Settings) -> Iterator[Row]:
    X, y = load_breast_cancer(return_X_y=True)
    rows, background = X[: settings.size(50, 3)], X[:: len(X) // 100][:100]
    for kernel in ("rbf", "laplacian", "matern", "polynomial"):
        estimator = SPKMClassifier(8, kernel=kernel, max_iter=50, random_state=0, **PLAIN)
        error = enumeration_error(estimator.fit(X[:, :10], y), X[:, :10])
        model = estimator.fit(X, y)
        seconds = seconds_a_row(lambda m=model: explain(m, rows, background), rows)
        yield Row(f"{kernel}, 30 features, ms a sample", 1e3 * seconds, below(10), "{:.2f}", (f"{error:.0e}",))
        if kernel == "rbf":
            seconds = seconds_a_row(lambda m=model: explain(m, rows, background, independent=True), rows)
            yield Row("rbf, independent features, ms a sample", 1e3 * seconds, below(1), "{:.2f}", ("",))
            explanation = explain(model, rows[:3], background)
            seconds = seconds_a_row(explanation.interactions, rows[:3])
            yield Row("rbf, all pairwise interactions, ms a sample", 1e3 * seconds, None, "{:.2f}", ("",))
            yield from shap_rows(model, rows[:2], background, settings)
            yield from shapiq_rows(model, rows[:2])


def shap_rows(model: Any, rows: np.ndarray, background: np.ndarray, settings: Settings) -> Iterator[Row]:
    try:
        import shap
    except ImportError:
        yield Row("shap is not installed", "skipped", more=("",))
        return
    exact = explain(model, rows, background).values[:, :, 0]
    explainer = shap.KernelExplainer(model.decision_function, background)
    ways = {"defaults": {}, "100,000 subsets": {"nsamples": 100_000, "l1_reg": False}}
    for name, options in ways.items():
        if settings.quick and options:
            continue
        start = process_time()
        values = explainer.shap_values(rows, silent=True, **options)
        seconds = (process_time() - start) / len(rows)
        error = np.abs(values - exact).max() / np.abs(exact).max()
        yield Row(f"shap KernelExplainer, {name}, ms a sample", 1e3 * seconds, None, "{:.0f}", (f"{error:.0e}",))


def shapiq_rows(model: Any, rows: np.ndarray) -> Iterator[Row]:
    try:
        from shapiq.explainer.product_kernel import ProductKernelExplainer
    except ImportError:
        yield Row("shapiq is not installed", "skipped", more=("",))
        return
    fitted = model.model_
    (view,) = fitted.terms[0].views
    machine = SVR(kernel="rbf", gamma=view.kernel.gamma).fit(view.basis, fitted.weights[:, 0])
    machine.support_vectors_, machine.dual_coef_ = view.basis, fitted.weights.T  # a model that shapiq knows
    machine.intercept_ = fitted.intercept
    explainer = ProductKernelExplainer(machine)
    Z = fitted.scaled(rows)
    start = process_time()
    found = [explainer.explain(z) for z in Z]
    seconds = (process_time() - start) / len(rows)
    scores, empty = fitted.scores(rows)[:, 0], fitted.intercept[0] + fitted.weights.sum()
    sums = np.array([sum(values.get_n_order(1).values) for values in found])
    error = np.abs(sums - (scores - empty)).max() / np.abs(scores - empty).max()
    yield Row("shapiq ProductKernelExplainer, ms a sample", 1e3 * seconds, None, "{:.0f}", (f"{error:.0e}",))


def wide_rows(settings: Settings) -> Iterator[Row]:
    d = settings.size(1000, 50)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, d))
    model = SPKMClassifier(8, max_iter=3, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    explanation = explain(model, X[:1], X[:100])
    error = np.abs(explanation.base_values + explanation.values.sum(axis=1) - explanation.scores).max()
    seconds = seconds_a_row(lambda: explain(model, X[:1], X[:100]), X[:1])
    yield Row(f"rbf, {d} features, s a sample", seconds, below(5), "{:.2f}", (f"{error:.0e}",))


def effect_rows(settings: Settings) -> Iterator[Row]:
    n = settings.size(20_000, 500)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    model = SPKMRegressor(8, kernel="rbf", max_iter=5, random_state=0).fit(X[:2000], y[:2000])
    effects = partial_dependence(model, X)
    seconds = seconds_a_row(lambda: partial_dependence(model, X), X[:1])
    points = effects[0].grid[0][::20]
    start = process_time()
    truth = brute_force(model, X, [0], kind="average", method="brute", custom_values={0: points})["average"][0]
    brute = (process_time() - start) * 12 * 100 / len(points)
    error = np.abs(effects[0].values[::20, 0] - truth).max() / np.ptp(truth)
    what = f"partial dependence of 12 features, 100 points, n = {n:,}, s"
    yield Row(what, seconds, below(0.2), "{:.3f}", (f"{error:.0e}",))
    yield Row("the same by scikit-learn's brute force (from 5 points), s", brute, None, "{:.0f}", ("",))


def counterfactual_rows(settings: Settings) -> Iterator[Row]:
    X, y = load_breast_cancer(return_X_y=True)
    model = SPKMClassifier(8, max_iter=50, random_state=0).fit(X, y)
    rows = X[: settings.size(20, 2)]
    start = process_time()
    found = [counterfactual(model, x, 1 - label, ranges=X) for x, label in zip(rows, model.predict(rows), strict=True)]
    seconds = (process_time() - start) / len(rows)
    proved = sum(change.found or change.none_exists for change in found)
    yield Row("counterfactual, all pairs of 30 features, s a sample", seconds, None, "{:.2f}", ("",))
    yield Row("samples with an answer or a proof that there is none", proved / len(rows), None, "{:.0%}", ("",))


def enumeration_error(model: Any, X: np.ndarray) -> float:
    """Return the largest difference from Shapley values by all subsets, over the largest value."""
    x, background = X[0], X[::100]
    d = X.shape[1]
    values = {}
    for size in range(d + 1):
        for subset in combinations(range(d), size):
            rows = background.copy()
            rows[:, list(subset)] = x[list(subset)]
            values[frozenset(subset)] = float(model.model_.scores(rows).mean())
    truth = np.zeros(d)
    for subset, value in values.items():
        for j in set(range(d)) - subset:
            truth[j] += (values[subset | {j}] - value) / (d * comb(d - 1, len(subset)))
    found = explain(model, x[None], background).values[0, :, 0]
    return float(np.abs(found - truth).max() / np.abs(truth).max())


def seconds_a_row(call: Any, rows: np.ndarray) -> float:
    """Return the shortest time of three calls, for one of the samples."""
    times = []
    for _ in range(3):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times) / len(rows)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["explain", *sys.argv[1:]])
