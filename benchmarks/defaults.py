"""What the regressor's defaults do beside accuracy: samples of new subjects, collapses, time of "auto", and no harm.

Parkinson's telemonitoring, 42 subjects with about 140 samples each, motor and total score, five folds by subject:
squared error over that of predicting the training mean, and how often intervals of 90 % hold the target. Collapses:
six made-up functions of 5 to 32 features (300 to 1,200 samples) and the sets of the panel (at most 1,200 training
samples), three seeds, with 20 and with 60 vectors, the first two with "auto" as well: 200 fits; a model has collapsed
if it predicts a constant where it, or a kernel ridge regression with scikit-learn's defaults, could have an R² above
.25. Time: "auto" over a fit of 20 vectors on sets of the panel, side by
side, at most 700 samples, processor time. No harm: R² in per cent of weights that are one over the variance of uneven
noise, beside no weights; of two outputs of different features in one model, beside a model of each; and of uneven noise
itself, beside noise of one size and equal mean square. `--families` takes "subjects", "collapses", "time" and "harm".
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._data import Settings
from benchmarks._panel import REAL_TARGETS, halves, load, split, timed_fit
from benchmarks._report import Row, at_most, progress
from spkm import SPKMRegressor

COLUMNS = ("least", "most")
NORMAL = 1.6448536269514722  # the normal quantile that leaves 5 % on either side
SLOW = ("gas_drift",)  # 128 features: left out where time is measured
MOST_SAMPLES = 1200  # for training, of a set that is looked at for collapses
SEEDS_OF_AUTO = 2  # of a search for collapses: "auto" is three fits
Drawn = tuple[str, int, tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def run(settings: Settings) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, rows in PARTS.items():
            if settings.wants(name):
                yield from rows(settings)


def subject_rows(settings: Settings) -> Iterator[Row]:
    """Yield error and coverage of intervals on subjects that were not seen."""
    (arrays,) = settings.load("parkinsons_telemonitoring")
    step = settings.size(1, 20)
    X, Y, subjects = (arrays[name][::step] for name in ("X", "y", "groups"))
    for n_basis in (20, "auto"):
        errors, held = [], []
        for output in range(settings.size(2, 1)):
            for train, test in GroupKFold(5).split(X, groups=subjects):
                y = Y[:, output]
                model = SPKMRegressor(n_basis, random_state=0).fit(X[train], y[train])
                mean, deviation = model.predict(X[test], return_std=True)
                errors.append(np.mean((y[test] - mean) ** 2) / np.mean((y[test] - y[train].mean()) ** 2))
                held.append(100 * np.mean(np.abs(y[test] - mean) < NORMAL * deviation))
                progress(f"subjects, {n_basis}: error {errors[-1]:.2f}, intervals hold {held[-1]:.0f} %")
        what = f"new subjects, {n_basis} vectors" if n_basis != "auto" else "new subjects, n_basis='auto'"
        yield Row(f"{what}: squared error over the mean's", np.mean(errors), at_most(1.3), more=ends(errors))
        yield Row(f"{what}: 90 % intervals that hold, %", np.mean(held), None, "{:.0f}", ends(held, "{:.0f}"))


def collapse_rows(settings: Settings) -> Iterator[Row]:
    """Yield how many fits end at the constant model where there is something to say."""
    collapses, fits = [], 0
    seeds = range(settings.n_seeds(3))
    for name, seed, train, test in chain(made_up(seeds), tables(settings, seeds)):
        kernel = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=0.1)).fit(train[0], train[1])
        sizes = (20, 60, "auto") if seed < SEEDS_OF_AUTO else (20, 60)
        models = [SPKMRegressor(size, random_state=seed, n_jobs=1).fit(*train) for size in sizes]
        scores = [model.score(*test) for model in models]
        spreads = [np.std(model.predict(test[0])) / np.std(test[1]) for model in models]
        best = max(*scores, kernel.score(*test))
        collapses += [name for spread in spreads if spread < 0.1 and best > 0.25]
        fits += len(models)
        progress(f"{name}: " + ", ".join(f"{100 * score:.1f}" for score in scores))
    beside = (", ".join(sorted(set(collapses))), "")
    yield Row(f"collapses to a constant in {fits} fits", len(collapses), at_most(0), "{:.0f}", beside)


def made_up(seeds: range) -> Iterator[Drawn]:
    """Yield names, seeds, training and test samples of six functions with noise of a tenth."""
    functions = {
        "product with a sine": (1200, 32, lambda X: X[:, 0] * np.sin(2 * X[:, 1])),
        "product": (600, 20, lambda X: X[:, 0] * X[:, 1]),
        "sine": (300, 10, lambda X: np.sin(3 * X[:, 0])),
        "square": (300, 20, lambda X: X[:, 0] ** 2),
        "sum of sines": (600, 5, lambda X: np.sin(2 * X).sum(axis=1)),
        "bump": (600, 8, lambda X: np.exp(-np.sum(X[:, :4] ** 2, axis=1))),
    }
    for name, (n, d, function) in functions.items():
        for seed in seeds:
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n + 1000, d))
            f = function(X)
            y = f + 0.1 * f.std() * rng.standard_normal(len(f))
            yield name, seed, (X[:n], y[:n]), (X[n:], y[n:])


def tables(settings: Settings, seeds: range) -> Iterator[Drawn]:
    """Yield names, seeds, training and test samples of the panel."""
    for name in REAL_TARGETS[: settings.size(len(REAL_TARGETS), 1)]:
        X, y = load(settings, name)
        for seed in seeds:
            train, _, test = split(X, y.astype(np.float64), seed, classes=False, few=MOST_SAMPLES)
            yield name, seed, train, test


def time_rows(settings: Settings) -> Iterator[Row]:
    """Yield the time of "auto" over that of a fit of 20 vectors."""
    for half, names in halves([name for name in REAL_TARGETS if name not in SLOW]):
        ratios = []
        for name in names[: settings.size(len(names), 1)]:
            X, y = load(settings, name)
            train, _, _ = split(X, y.astype(np.float64), 0, classes=False)
            some = train[0][:700], train[1][:700]
            once, auto = (timed_fit(SPKMRegressor(size, random_state=0), *some) for size in (20, "auto"))
            ratios.append(auto / once)
        what = f"time of 'auto' over a fit of 20 vectors, half {half}, geometric mean"
        yield Row(what, np.exp(np.mean(np.log(ratios))), at_most(5.0), "{:.1f}", ends(ratios, "{:.1f}"))


def harm_rows(settings: Settings) -> Iterator[Row]:
    """Yield R² in per cent under uneven noise, with and without weights, and of several outputs."""
    found: dict[str, list[float]] = {}
    for seed in range(settings.n_seeds(5)):
        for what, score in scores_of_draw(np.random.default_rng(seed)).items():
            found.setdefault(what, []).append(score)
    for what, scores in found.items():
        yield Row(f"R², %: {what}", np.mean(scores), None, "{:.1f}", ends(scores, "{:.1f}"))


def scores_of_draw(rng: np.random.Generator) -> dict[str, float]:
    """Return the scores of one draw of 300 training samples, of whose eight features a function has three."""
    X = rng.uniform(-2, 2, (1300, 8))
    F = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], np.cos(2 * X[:, 3]) + X[:, 4] * X[:, 5]])
    f, noise = F[:, 0], rng.standard_normal(1300)
    size = np.where(rng.random(1300) < 0.5, 1.0, 0.2)
    uneven, even = f + size * noise, f + np.sqrt(np.mean(size**2)) * noise
    Y = F + 0.2 * rng.standard_normal(F.shape)
    apart = [score(X, Y[:, k], F[:, k], n_basis=10) for k in range(2)]
    return {
        "uneven noise": score(X, uneven, f),
        "noise of one size and equal mean square": score(X, even, f),
        "uneven noise, weights of one over its variance": score(X, uneven, f, 1.0 / size**2),
        "two outputs of different features, one model of 20 vectors": score(X, Y, F),
        "two outputs of different features, two models of 10": float(np.mean(apart)),
    }


def score(
    X: np.ndarray, y: np.ndarray, truth: np.ndarray, weight: np.ndarray | None = None, n_basis: int = 20
) -> float:
    """Return R² in per cent of the truth at samples beyond the first 300, which are learned from."""
    weight = None if weight is None else weight[:300]
    model = SPKMRegressor(n_basis, random_state=0).fit(X[:300], y[:300], sample_weight=weight)
    return 100 * float(model.score(X[300:], truth[300:]))


PARTS = {"subjects": subject_rows, "collapses": collapse_rows, "time": time_rows, "harm": harm_rows}


def ends(values: list[float], form: str = "{:.2f}") -> tuple[str, str]:
    """Return the least and the largest of some values."""
    return form.format(min(values)), form.format(max(values))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["defaults", *sys.argv[1:]])
