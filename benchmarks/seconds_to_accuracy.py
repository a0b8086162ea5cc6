"""Seconds of a fit against accuracy on new samples, beside what users would pick, for two classes of 20 features.

The relation holds products, a sine and a sum (:mod:`benchmarks.out_of_core`). Each method runs at a few sizes of its
own (vectors, landmarks, rounds), so that a curve shows what a second buys; the tuned ones choose by 20 % of the
training samples that are held out, and their seconds include the choice. Seconds are those of the CPU, all threads
together, on one thread each. The SVC is that of scikit-learn-intelex where it is installed, and else scikit-learn's.
"predict" are seconds for 100,000 samples.

Every fit is a process of its own, which is stopped after 90 CPU seconds: then the row says "> 90". What ran out is not
tried with more samples, nor with a larger size of its own; Nystroem's features of ten million samples take more memory
than most have. Outcomes are written to a file as they come
(``benchmark_results/seconds_to_accuracy.csv``, or ``--results``); a run that was stopped goes on from there, and ours
are measured again if our code has changed. ``--families`` picks rows by their names; the figure
(``seconds_to_accuracy.png`` in the folder that SPKM_FIGURES names) is drawn from all that the file holds.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks._data import Settings
from benchmarks._report import Reach, Row, at_least, progress
from benchmarks._results import FOLDER, append, code_of_library, read
from benchmarks.out_of_core import new_samples, samples
from spkm import SPKMClassifier

COLUMNS = ("accuracy, %", "predict, s")
SIZES = (20_000, 100_000, 1_000_000, 10_000_000)
BUDGET = 90  # CPU seconds of a fit
OURS = "spkm"
NYSTROEM_UP_TO = 1_000_000  # samples: the features of ten million, by 100 landmarks, are 8 GB
REACH = {20_000: 5.0, 100_000: 30.0}  # seconds of the SVC over ours to its accuracy
Fit = Callable[[np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class Outcome:
    """What a fit gave; ``accuracy`` is NaN where it ran out of time, and ``seconds`` are then those it had."""

    code: str
    n: int
    method: str
    size: str
    seconds: float
    accuracy: float
    predict: float

    @property
    def ran_out(self) -> bool:
        return bool(np.isnan(self.accuracy))


class Outcomes:
    """Outcomes in a file, each written as soon as it is there; without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[tuple[str, int, str, str], Outcome] = {}
        for outcome in read(path, Outcome):
            self.add(outcome)

    def add(self, outcome: Outcome) -> Outcome:
        """Keep an outcome."""
        self.known[outcome.code, outcome.n, outcome.method, outcome.size] = outcome
        return outcome

    def write(self, outcome: Outcome) -> Outcome:
        """Keep an outcome, in the file, too."""
        append(self.path, outcome)
        return self.add(outcome)


def run(settings: Settings) -> Iterator[Row]:
    code = code_of_library()
    outcomes = Outcomes(None if settings.quick else settings.results or FOLDER / "seconds_to_accuracy.csv")
    for n in SIZES[: settings.size(len(SIZES), 1)]:
        n = settings.size(n, 1_000)
        for method, size, _ in methods(n, settings.quick):
            if settings.wants(what := f"n = {n:,}, {method}, {size}"):
                found = outcome_of(outcomes, code if method == OURS else "", n, method, size, settings.quick)
                yield row_of(what, found)
        yield from ratios(outcomes, code, n)
    if os.environ.get("SPKM_FIGURES"):
        draw(list(outcomes.known.values()), Path(os.environ["SPKM_FIGURES"]) / "seconds_to_accuracy.png")


def row_of(what: str, found: Outcome) -> Row:
    """Return the line of the table."""
    if found.ran_out:
        return Row(what, found.seconds, form="{:.0f}", more=("", ""), bound="> ")
    return Row(what, found.seconds, form="{:.2f}", more=(f"{found.accuracy:.2f}", f"{found.predict:.3f}"))


def outcome_of(outcomes: Outcomes, code: str, n: int, method: str, size: str, quick: bool) -> Outcome:
    """Return the outcome of the file, or measure it; what ran out with less has run out."""
    found = outcomes.known.get((code, n, method, size))
    if found is not None:
        return found
    sizes = [name for kind, name, _ in methods(n, quick) if kind == method]
    less = [(n, name) for name in sizes[: sizes.index(size)]] + [(m, size) for m in SIZES if m < n]
    for m, name in less:
        before = outcomes.known.get((code, m, method, name))
        if before is not None and before.ran_out:
            return outcomes.write(Outcome(code, n, method, size, before.seconds, np.nan, np.nan))
    found = outcomes.write(Outcome(code, n, method, size, *measured(n, method, size, quick)))
    progress(f"{n:,} {method} {size}: {found.seconds:.2f} s, {found.accuracy:.2f} %")
    return found


def measured(n: int, method: str, size: str, quick: bool) -> tuple[float, float, float]:
    """Return CPU seconds of a fit in a process of its own, accuracy in per cent, and CPU seconds of predictions."""
    code = f"from benchmarks.seconds_to_accuracy import child; child({n}, {method!r}, {size!r}, {quick})"
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **threads}, capture_output=True, text=True)
    if done.returncode == 0:
        seconds, accuracy, predict = json.loads(done.stdout.splitlines()[-1])
        return seconds, accuracy, predict
    if "fitting" in done.stdout and done.returncode < 0:  # by the signal for too many seconds, or for want of memory
        return float(BUDGET), np.nan, np.nan
    raise RuntimeError(f"{method}, {size} failed for n = {n:,}: {done.stderr[-2000:]}")


def child(n: int, method: str, size: str, quick: bool) -> None:
    """Fit and predict, and print what :func:`measured` returns; the process ends when the fit takes too long."""
    X, y = samples(0, n)
    known, labels = new_samples()
    fit = next(fit for kind, name, fit in methods(n, quick) if (kind, name) == (method, size))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    print("fitting", flush=True)
    started = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(started) + BUDGET + 1, hard))
    model = fit(X, y)
    seconds = time.process_time() - started
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    started = time.process_time()
    accuracy = 100 * float(np.mean(model.predict(known) == labels))
    print(json.dumps([seconds, accuracy, time.process_time() - started]))


def ratios(outcomes: Outcomes, code: str, n: int) -> Iterator[Row]:
    """Yield the seconds of the SVC over those of our quickest fit that is as accurate; a bound where it ran out."""
    name, _ = svc()
    ours = [o for o in outcomes.known.values() if (o.code, o.n, o.method) == (code, n, OURS) and not o.ran_out]
    other = outcomes.known.get(("", n, name, "tuned"))
    if other is None or not ours:
        return
    enough = [o.seconds for o in ours if other.ran_out or o.accuracy >= other.accuracy]
    reach: Reach | None = at_least(REACH[n]) if n in REACH else None
    bound = "> " if other.ran_out else ""
    value = other.seconds / min(enough) if enough else np.nan
    yield Row(f"n = {n:,}, seconds to the accuracy of {name}: its over ours", value, reach, "{:.1f}", ("", ""), bound)


def methods(n: int, quick: bool) -> Iterator[tuple[str, str, Fit]]:
    """Yield the name, the size and the fit of each method that takes part with n samples; sizes of one method rise."""
    for R in (5,) if quick else (10, 20, 50):
        yield OURS, f"{R} vectors", SPKMClassifier(R, n_jobs=1, random_state=0).fit
    for rounds in (10,) if quick else (30, 100, 400):
        yield "HistGradientBoosting", f"{rounds} rounds", HistGradientBoostingClassifier(max_iter=rounds).fit
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        pass
    else:
        for rounds in (10,) if quick else (30, 100, 400):
            yield "LightGBM", f"{rounds} rounds", LGBMClassifier(n_estimators=rounds, n_jobs=1, verbose=-1).fit
    for landmarks in (20,) if quick else (100, 400) if n <= NYSTROEM_UP_TO else ():
        yield "Nystroem + LogisticRegression, tuned", f"{landmarks} landmarks", tuned_nystroem(landmarks)
    name, kind = svc()
    yield name, "tuned", tuned(lambda C, gamma: kind(C=C, gamma=gamma), 5_000)


def svc() -> tuple[str, type]:
    """Return the quicker SVC that there is."""
    try:
        from sklearnex.svm import SVC as Quick
    except ImportError:
        return "SVC of scikit-learn", SVC
    return "SVC of scikit-learn-intelex", Quick


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


def draw(outcomes: list[Outcome], path: Path) -> None:
    """Draw a panel for each number of samples, a line for each method; a cross at the right is one that ran out."""
    from matplotlib.figure import Figure

    latest = {(o.n, o.method, o.size): o for o in outcomes}  # those of our code now come last
    counts = sorted({o.n for o in outcomes})
    names = list(dict.fromkeys(o.method for o in sorted(outcomes, key=lambda o: o.n)))
    names.sort(key=lambda name: name != OURS)
    figure = Figure(figsize=(2.9 * len(counts) + 1.2, 4.2), layout="constrained")
    axes = figure.subplots(1, len(counts), sharey=True, squeeze=False)[0]
    for ax, n in zip(axes, counts, strict=True):
        for k, method in enumerate(names):
            found = [o for key, o in latest.items() if key[:2] == (n, method)]
            points = sorted((o.seconds, o.accuracy) for o in found if not o.ran_out)
            bold: dict[str, Any] = {"linewidth": 2.5, "zorder": 3} if method == OURS else {}
            ax.plot([p[0] for p in points], [p[1] for p in points], "o-", label=method, color=f"C{k}", **bold)
            if len(points) < len(found):
                height = 0.04 + 0.05 * k
                ax.plot(BUDGET, height, "x", color=f"C{k}", transform=ax.get_xaxis_transform())
        ax.axvline(BUDGET, color="0.8", linewidth=1, zorder=0)
        ticks = (0.1, 1, 10, BUDGET)
        ax.set(xscale="log", xlim=(0.1, 1.5 * BUDGET), title=f"{n:,} samples")
        ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
        ax.set_xticks([], minor=True)
    axes[0].set_ylabel("accuracy on new samples, %")
    figure.supxlabel(f"CPU seconds of the fit; crosses: some size took more than {BUDGET}", fontsize="medium")
    handles = {h.get_label(): h for ax in axes for h in ax.get_lines() if not str(h.get_label()).startswith("_")}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["seconds_to_accuracy", *sys.argv[1:]])
