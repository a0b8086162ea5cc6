"""Figures of time: processor time over that of a fixed piece of arithmetic in the same process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.svm import SVC

from benchmarks.ratchet.made import affinities, classes, waves
from benchmarks.ratchet.record import COST, figure
from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor, explain
from spkm.datasets import make_sparse_relation
from spkm.kernels import RBF
from spkm.penalties import RKHSNorm


def seconds(call: Callable[[], Any], times: int = 1, rounds: int = 3) -> float:
    """Return the least processor time of a few rounds."""
    found = []
    for _ in range(rounds):
        start = process_time()
        for _ in range(times):
            call()
        found.append(process_time() - start)
    return min(found)


def unit() -> float:
    """Return the time of the arithmetic that others are divided by: products and exponentials."""
    A = np.random.default_rng(0).standard_normal((600, 600))
    return seconds(lambda: (A @ A, np.exp(A)), 10)


@figure("cost.fits", "time of three default fits of both estimators, in units", COST)
def fits(seed: int) -> float:
    (Xc, yc), (Xr, yr) = load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True)

    def both() -> None:
        for i in range(3):
            SPKMClassifier(random_state=3 * seed + i, n_jobs=1).fit(Xc, yc)
            SPKMRegressor(random_state=3 * seed + i, n_jobs=1).fit(Xr, yr)

    return seconds(both, 1, 2) / unit()


@figure("cost.pass", "time of 30 iterations over that of their bare matrix products", COST)
def one_pass(seed: int) -> float:
    X, y = waves(40_000, 50)
    settings: dict[str, Any] = {"kernel": RBF(0.01), "weight_penalty": RKHSNorm(1e-4), "learn_bandwidth": False}
    settings |= {"linear_part": False, "scale": False, "solver": "lbfgs", "tol": 0.0, "start": X[:20], "n_jobs": 1}
    U, G = X[:20], np.ones((len(X), 20))
    bare = seconds(lambda: (X @ U.T, G.T @ X), 10)
    many = seconds(lambda: SPKMRegressor(20, max_iter=32, **settings).fit(X, y), 1, 2)
    few = seconds(lambda: SPKMRegressor(20, max_iter=2, **settings).fit(X, y), 1, 2)
    return (many - few) / (3 * bare)


@figure("cost.large", "time of a default fit to 50,000 samples, in units", COST)
def large(seed: int) -> float:
    X, y = classes(50_000, 10)
    return seconds(lambda: SPKMClassifier(20, random_state=seed, n_jobs=1).fit(X, y), 1, 1) / unit()


@figure("cost.strict", "time of a strict selection, 50 features, in units", COST)
def strict(seed: int) -> float:
    X, y, _ = make_sparse_relation("quadratic", 500, 50, random_state=1)
    model = SPKMClassifier(5, selection="strict", random_state=seed, n_jobs=1)
    return seconds(lambda: model.fit(X, y), 1, 1) / unit()


@figure("cost.pairs", "time of a fit to pairs, in units", COST)
def pairs(seed: int) -> float:
    D = affinities()
    model = PairwiseSPKMRegressor(10, random_state=seed, n_jobs=1)
    fit = lambda: model.fit(D["pairs"], D["y"], left=D["left"], right=D["right"])  # noqa: E731
    return seconds(fit, 1, 1) / unit()


@figure("cost.predict", "time to predict 20,000 samples over that of a support vector machine", COST)
def predict(seed: int) -> float:
    X, y = classes(20_000, 10)
    ours = SPKMClassifier(10, random_state=0, n_jobs=1).fit(X[:1000], y[:1000])
    peer = SVC().fit(X[:1000], y[:1000])
    return seconds(lambda: ours.predict(X), 3) / seconds(lambda: peer.predict(X), 1)


@figure("cost.explain", "time to explain 200 samples, in units", COST)
def explanations(seed: int) -> float:
    X, y = load_breast_cancer(return_X_y=True)
    model = SPKMClassifier(10, random_state=0, n_jobs=1).fit(X, y)
    return seconds(lambda: explain.explain(model, X[:200], X[::3]), 1) / unit()


@figure("cost.import", "time of `import spkm` and an estimator over that of scikit-learn's", COST)
def imports(seed: int) -> float:
    code = "import time; a = time.process_time(); {}; print(time.process_time() - a)"

    def of(statement: str) -> float:
        command = [sys.executable, "-c", code.format(statement)]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
        return min(float(run.stdout) for run in runs)

    return of("from spkm import SPKMClassifier") / of("from sklearn.linear_model import LogisticRegression")
