"""Error bars of explanations beside what they stand for: the same numbers of models that are fitted to fresh samples.

Five functions of five normal features, of which one to three matter; targets are numbers with noise of deviation 0.3,
or classes of which f(x) is the logarithm of the odds. Shapley values of ten fixed samples against 60 fixed others, and
effects at nine points of each feature, are read off the models of 40 fresh draws, each with 15 refits. "Deviation over
bar" is the root mean square over all numbers of their deviation over draws, over that of the bars; "held" the share of
90 % bars that hold the number of the function itself. Seconds are CPU time of 15 refits, on one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, progress
from spkm import SPKMClassifier, SPKMRegressor
from spkm.explain import explain, partial_dependence

COLUMNS = ("held", "effects", "held", "seconds")
FEATURES = 5
POINTS, BACKGROUND, GRID = 10, 60, 9
N_REFITS = 15
NOISE = 0.3

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sine and product": lambda X: np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2],
    "linear": lambda X: X[:, 0] - 0.5 * X[:, 1],
    "squares": lambda X: 0.5 * X[:, 0] ** 2 - 0.5 * X[:, 1] ** 2 + 0.5 * X[:, 2],
    "bump": lambda X: 3 * np.exp(-0.5 * (X[:, 0] ** 2 + X[:, 1] ** 2)) - 1,
    "step": lambda X: 1.5 * np.tanh(2 * X[:, 0]),
}


@dataclass(frozen=True)
class Measured:
    """Numbers of one model: values (k,), their bars (k,) and half-widths (k,), of Shapley values and of effects."""

    values: np.ndarray
    bars: np.ndarray
    halves: np.ndarray
    effects: np.ndarray
    effect_bars: np.ndarray
    effect_halves: np.ndarray
    seconds: float


def run(settings: Settings) -> Iterator[Row]:
    sizes = (settings.size(200, 60), settings.size(1000, 80))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for classes in (False, True):
            for n in sizes:
                found = {}
                for name, f in FUNCTIONS.items():
                    draws = [measured(f, n, seed, classes) for seed in range(settings.n_seeds(40))]
                    found[name] = figures(draws, truth(f), effect_truth(f))
                    progress(f"{name}, {n} samples: " + ", ".join(f"{value:.2f}" for value in found[name]))
                kind = "log loss" if classes else "squared loss"
                for name, (ratio, *more) in found.items():
                    yield Row(f"{kind}, {n} samples, {name}: deviation over bar", ratio, None, "{:.2f}", texts(more))
                ratio, *more = np.mean(list(found.values()), axis=0)
                yield Row(f"{kind}, {n} samples, mean: deviation over bar", ratio, None, "{:.2f}", texts(more))


def texts(values: Any) -> tuple[str, ...]:
    """Return figures as they are shown."""
    return tuple(f"{value:.2f}" for value in values)


def samples(f: Callable[[np.ndarray], np.ndarray], n: int, seed: int, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return a draw of samples and targets."""
    rng = np.random.default_rng([seed, n])
    X = rng.normal(size=(n, FEATURES))
    if classes:
        return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-2 * f(X)))).astype(int)
    return X, f(X) + NOISE * rng.normal(size=n)


def fixed() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the samples that are explained, the background, and the points of effects."""
    rng = np.random.default_rng(12345)
    X = rng.normal(size=(POINTS + BACKGROUND, FEATURES))
    return X[:POINTS], X[POINTS:], np.linspace(-1.5, 1.5, GRID)


def measured(f: Callable[[np.ndarray], np.ndarray], n: int, seed: int, classes: bool) -> Measured:
    """Return the numbers of the model of one draw, with their bars."""
    X, y = samples(f, n, seed, classes)
    points, background, grid = fixed()
    model: Any = (SPKMClassifier if classes else SPKMRegressor)(random_state=seed, n_jobs=1).fit(X, y)
    start = process_time()
    model = model.with_uncertainty(X, y, n_refits=N_REFITS, random_state=seed)
    seconds = process_time() - start
    explanation = explain(model, points, background)
    bars = explanation.bars()
    effects = partial_dependence(model, background, list(range(FEATURES)), grid=dict.fromkeys(range(FEATURES), grid))
    factor = 0.5 if classes else 1.0  # scores of classes are twice the function
    parts = (
        explanation.values,
        bars.values,
        bars.half_width * bars.values,
        np.array([effect.values for effect in effects]),
        np.array([effect.std for effect in effects]),
        np.array([effect.interval()[1] - effect.values for effect in effects]),
    )
    return Measured(*(factor * part.ravel() for part in parts), seconds)


def truth(f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the Shapley values of the function itself, by all subsets of features, (points x features,)."""
    points, background, _ = fixed()
    subsets = (np.arange(2**FEATURES)[:, None] >> np.arange(FEATURES)) & 1 == 1
    game = np.empty((len(subsets), len(points)))
    for k, inside in enumerate(subsets):
        mixed = np.where(inside, points[:, None], background[None])
        game[k] = f(mixed.reshape(-1, FEATURES)).reshape(len(points), -1).mean(axis=1)
    values = np.zeros((len(points), FEATURES))
    size = subsets.sum(axis=1)
    weight = np.array([1 / (FEATURES * binomial(FEATURES - 1, s)) for s in range(FEATURES)])
    for j in range(FEATURES):
        without = np.flatnonzero(~subsets[:, j])
        values[:, j] = weight[size[without]] @ (game[without + 2**j] - game[without])
    return values.ravel()


def binomial(n: int, k: int) -> float:
    """Return the number of subsets of k among n."""
    return float(np.prod([(n - i) / (i + 1) for i in range(k)]))


def effect_truth(f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the effects of the function itself, (features x points,)."""
    _, background, grid = fixed()
    found = np.empty((FEATURES, len(grid)))
    for j in range(FEATURES):
        for g, value in enumerate(grid):
            rows = background.copy()
            rows[:, j] = value
            found[j, g] = f(rows).mean()
    return found.ravel()


def figures(draws: list[Measured], values: np.ndarray, effects: np.ndarray) -> tuple[float, ...]:
    """Return deviation over bar and share held, of Shapley values and of effects, and the seconds of refits."""
    shapley = ratio_and_held(*(np.array([getattr(d, k) for d in draws]) for k in ("values", "bars", "halves")), values)
    names = ("effects", "effect_bars", "effect_halves")
    effect = ratio_and_held(*(np.array([getattr(d, k) for d in draws]) for k in names), effects)
    return (*shapley, *effect, float(np.mean([d.seconds for d in draws])))


def ratio_and_held(found: np.ndarray, bars: np.ndarray, halves: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Return the deviation over draws over the bar, and the share of bars that hold what is wanted."""
    deviation = np.sqrt(np.mean(found.var(axis=0, ddof=1))) if len(found) > 1 else np.nan
    return float(deviation / np.sqrt(np.mean(bars**2))), float(np.mean(np.abs(found - wanted) <= halves))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["error_bars", *sys.argv[1:]])
