"""Time of an SVC over ours, to fit and to predict, at no less accuracy; n = 20,000, d = 50, two classes.

C and gamma of the SVC are chosen on a subsample, which is not counted; our number of vectors is the first of a list
with which the model, fitted on the same samples, is at least as good as the SVC on validation samples. Accuracies are
those of test samples that neither choice saw. Times are CPU seconds, which other processes hardly change. The SVC is
scikit-learn's and, where scikit-learn-intelex is installed, that one as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._data import Settings, smooth_classes
from benchmarks._report import Row, at_least
from spkm import SPKMClassifier

COLUMNS = ("SVC, s", "ours, s")
SIZES = (10, 20, 50, 100, 200)
C_GRID, GAMMA_GRID = (0.1, 0.3, 1.0, 3.0, 10.0), (0.1, 0.3, 1.0, 3.0)  # gamma over the number of features


def run(settings: Settings) -> Iterator[Row]:
    n, d = settings.size(20_000, 2000), 50
    X, y = smooth_classes(3 * n, d)
    cuts = [slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)]
    (A, a), (B, b), (T, t) = ((X[c], y[c]) for c in cuts)
    svc = chosen_svc(A, a, B[: n // 4], b[: n // 4], settings.size(3000, 500))
    svc_fit = cpu_seconds(lambda: svc.fit(A, a))
    bar = svc.score(B, b)
    for R in SIZES:
        ours = SPKMClassifier(R, random_state=0)
        ours_fit = cpu_seconds(lambda ours=ours: ours.fit(A, a))
        if ours.score(B, b) >= bar:
            break
    svc_predict, ours_predict = (min(cpu_seconds(lambda m=m: m.predict(T)) for _ in range(2)) for m in (svc, ours))
    same = f"{R} vectors against {svc[-1].n_support_.sum():,}"
    yield Row(f"fit, n = {n:,}, {same}", svc_fit / ours_fit, at_least(10), "{:.0f}", _seconds(svc_fit, ours_fit))
    told = _seconds(svc_predict, ours_predict)
    yield Row(f"predict, {len(t):,} samples", svc_predict / ours_predict, at_least(100), "{:.0f}", told)
    if find_spec("sklearnex") is not None:
        from sklearnex.svm import SVC as QuickSVC

        quick = make_pipeline(StandardScaler(), QuickSVC(**svc[-1].get_params()))
        quick_fit = cpu_seconds(lambda: quick.fit(A, a))
        quick_predict = min(cpu_seconds(lambda: quick.predict(T)) for _ in range(2))
        told = _seconds(quick_fit, ours_fit)
        yield Row("fit, SVC of scikit-learn-intelex", quick_fit / ours_fit, None, "{:.1f}", told)
        told = _seconds(quick_predict, ours_predict)
        yield Row("predict, SVC of scikit-learn-intelex", quick_predict / ours_predict, None, "{:.0f}", told)
    accuracies = [100 * m.score(T, t) for m in (svc, ours)]
    yield Row("test accuracy % of SVC", accuracies[0], more=("", ""))
    yield Row("test accuracy % of ours", accuracies[1], at_least(accuracies[0]), more=("", ""))


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of all threads that some work takes."""
    start = process_time()
    work()
    return process_time() - start


def chosen_svc(X: np.ndarray, y: np.ndarray, B: np.ndarray, b: np.ndarray, n: int) -> Any:
    """Return the SVC, not fitted, that does best on validation samples when fitted on the first n samples."""
    models = [
        make_pipeline(StandardScaler(), SVC(C=C, gamma=g / X.shape[1], cache_size=1000))
        for C, g in product(C_GRID, GAMMA_GRID)
    ]
    return max(models, key=lambda model: model.fit(X[:n], y[:n]).score(B, b))


def _seconds(theirs: float, ours: float) -> tuple[str, str]:
    return f"{theirs:.3g}", f"{ours:.3g}"


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["svc", *sys.argv[1:]])
