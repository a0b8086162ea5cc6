"""Seconds of a fit against accuracy on new samples, beside what users would pick, for two classes of 20 features.

The relation holds products, a sine and a sum (:mod:`benchmarks.out_of_core`). Each method runs at a few sizes of its
own (vectors, landmarks, rounds), so that a curve shows what a second buys; the tuned ones choose by 20 % of the
training samples that are held out, and their seconds include the choice. Seconds are those of the CPU, all threads
together, on one thread each. The SVC is that of scikit-learn-intelex where it is installed, and else scikit-learn's;
it takes part up to 20,000 samples, 100,000 with intelex. "predict" are seconds for 100,000 samples. ``--families``
picks rows by their names. A figure is drawn to ``seconds_to_accuracy.png`` in the folder that SPKM_FIGURES names.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks._data import Settings
from benchmarks._report import Row
from benchmarks.out_of_core import new_samples, samples
from spkm import SPKMClassifier

COLUMNS = ("accuracy, %", "predict, s")
SIZES = (20_000, 100_000, 1_000_000)
Fit = Callable[[np.ndarray, np.ndarray], Any]


def run(settings: Settings) -> Iterator[Row]:
    known, labels = new_samples()
    points: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for n in SIZES[: settings.size(len(SIZES), 1)]:
        n = settings.size(n, 1_000)
        X, y = samples(0, n)
        for method, size, fit in methods(n, settings.quick):
            what = f"n = {n:,}, {method}, {size}"
            if not settings.wants(what):
                continue
            started = time.process_time()
            model = fit(X, y)
            seconds = time.process_time() - started
            started = time.process_time()
            accuracy = 100 * float(np.mean(model.predict(known) == labels))
            predict = time.process_time() - started
            points.setdefault(n, {}).setdefault(method, []).append((seconds, accuracy))
            yield Row(what, seconds, form="{:.2f}", more=(f"{accuracy:.2f}", f"{predict:.3f}"))
    if os.environ.get("SPKM_FIGURES"):
        draw(points, Path(os.environ["SPKM_FIGURES"]) / "seconds_to_accuracy.png")


def methods(n: int, quick: bool) -> Iterator[tuple[str, str, Fit]]:
    """Yield the name, the size and the fit of each method that takes part with n samples."""
    for R in (5,) if quick else (10, 20, 50):
        yield "spkm", f"{R} vectors", SPKMClassifier(R, n_jobs=1, random_state=0).fit
    for rounds in (10,) if quick else (30, 100, 400):
        yield "HistGradientBoosting", f"{rounds} rounds", HistGradientBoostingClassifier(max_iter=rounds).fit
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        pass
    else:
        for rounds in (10,) if quick else (30, 100, 400):
            yield "LightGBM", f"{rounds} rounds", LGBMClassifier(n_estimators=rounds, n_jobs=1, verbose=-1).fit
    if n > 100_000:
        return
    for landmarks in (20,) if quick else (100, 400):
        yield "Nystroem + LogisticRegression, tuned", f"{landmarks} landmarks", tuned_nystroem(landmarks)
    name, kind, largest = svc()
    if n <= largest:
        yield name, "tuned", tuned(lambda C, gamma: kind(C=C, gamma=gamma), 5_000)


def svc() -> tuple[str, type, int]:
    """Return the quicker SVC that there is, and how many samples it takes."""
    try:
        from sklearnex.svm import SVC as Quick
    except ImportError:
        return "SVC of scikit-learn", SVC, 20_000
    return "SVC of scikit-learn-intelex", Quick, 100_000


def tuned_nystroem(landmarks: int) -> Fit:
    def made(C: float, gamma: float) -> Any:
        features = Nystroem(gamma=gamma, n_components=landmarks, random_state=0)
        return make_pipeline(features, LogisticRegression(C=C, max_iter=300))

    return tuned(made, 20_000)


def tuned(made: Callable[[float, float], Any], most: int) -> Fit:
    """Return a fit that chooses C and gamma by held-out samples, of at most so many, and then takes all."""

    def fit(X: np.ndarray, y: np.ndarray) -> Any:
        some, cut = min(len(X), most), int(0.8 * min(len(X), most))
        scores = {
            (C, gamma): made(C, gamma / X.shape[1]).fit(X[:cut], y[:cut]).score(X[cut:some], y[cut:some])
            for C in (1.0, 10.0, 100.0)
            for gamma in (0.25, 1.0, 4.0)
        }
        C, gamma = max(scores, key=lambda key: scores[key])
        return made(C, gamma / X.shape[1]).fit(X, y)

    return fit


def draw(points: dict[int, dict[str, list[tuple[float, float]]]], path: Path) -> None:
    """Draw a panel for each number of samples, a line for each method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(points), 3.6), layout="constrained")
    axes = figure.subplots(1, len(points), sharey=True, squeeze=False)[0]
    names = list(dict.fromkeys(name for found in points.values() for name in found))
    for ax, (n, found) in zip(axes, points.items(), strict=True):
        for method, pairs in found.items():
            seconds, accuracy = zip(*sorted(pairs), strict=True)
            bold = {"linewidth": 2.5, "zorder": 3} if method == "spkm" else {}
            ax.plot(seconds, accuracy, "o-", label=method, color=f"C{names.index(method)}", **bold)
        ax.set(xscale="log", xlabel="seconds of CPU for the fit", title=f"{n:,} samples")
        low, high = ax.get_xlim()
        ticks = [t for t in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if low <= t <= high]
        ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
        ax.set_xticks([], minor=True)
    axes[0].set_ylabel("accuracy on new samples, %")
    handles = {h.get_label(): h for ax in axes for h in ax.get_lines()}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["seconds_to_accuracy", *sys.argv[1:]])
