"""``SPKMSelector(fdr=0.1)`` on ten designs: the share of false features among those selected, and that of those found.

Means over draws, with the standard error of the former. Every design but the last has 20 relevant features, which are
linear, wavy, squared or multiplied; features are normal, of heavy tails, binary or skewed, independent or not. The last
is noise: any feature is false. Beside it, where they are installed, Gaussian knockoffs of knockpy and hidimstat with
their statistics of the lasso, which read linear effects alone; two classes are given to them as numbers.

Two designs are outside of the promise. In "functions of others" features are noisy absolute values and squares of
others, so that no Gaussian copula fits; "misfit" is the mean of ``knockoff_misfit_``, above 1 where a warning says so.
In "four features" too few are relevant for a rate of 0.1; with ``knockoff_offset=0`` the figure is the mean of
V / (R + 1 / fdr), which that offset bounds.

Below them ``stability_selection`` without an estimator, ``max_false=1``: the mean number of false features among the
stable ones, which its bound says is at most 1, and the share of the relevant ones found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, at_most, progress, standard_error
from spkm import SPKMSelector, stability_selection

COLUMNS = ("±", "found", "features", "CPU s", "draws")
RATE = 0.1
RELEVANT = 20
Draw = tuple[np.ndarray, np.ndarray, np.ndarray]
Features = Callable[[np.random.Generator, int, int], np.ndarray]
Target = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def correlated(rng: np.random.Generator, n: int, d: int, rho: float) -> np.ndarray:
    """Return normal features of which neighbours have the correlation rho."""
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


def blocks(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return normal features in blocks of five of correlation one half."""
    return np.sqrt(0.5) * (np.repeat(rng.standard_normal((n, d // 5)), 5, axis=1) + rng.standard_normal((n, d)))


def sum_of(z: np.ndarray) -> np.ndarray:
    return z @ np.where(np.arange(z.shape[1]) % 2, -1.0, 1.0)


def noisy(f: np.ndarray, ratio: float, rng: np.random.Generator) -> np.ndarray:
    return f + ratio * f.std() * rng.standard_normal(len(f))


def products(z: np.ndarray) -> np.ndarray:
    half = z.shape[1] // 2
    return (z[:, :half] * z[:, half:]).sum(axis=1)


def positive(f: np.ndarray) -> np.ndarray:
    return (f > np.median(f)).astype(int)


DESIGNS: dict[str, tuple[int, int, Features, Target]] = {
    "AR(.5), linear": (500, 100, partial(correlated, rho=0.5), lambda z, rng: noisy(sum_of(z), 1.0, rng)),
    "AR(.5), linear classes": (
        800,
        100,
        partial(correlated, rho=0.5),
        lambda z, rng: positive(noisy(sum_of(z), 0.5, rng)),
    ),
    "n < d: AR(.5), linear": (200, 300, partial(correlated, rho=0.5), lambda z, rng: noisy(sum_of(z), 0.3, rng)),
    "AR(.3), sines": (800, 100, partial(correlated, rho=0.3), lambda z, rng: noisy(sum_of(np.sin(2 * z)), 0.7, rng)),
    "blocks, squares in classes": (
        1000,
        100,
        blocks,
        lambda z, rng: positive(noisy(sum_of(z**2), 0.2, rng)),
    ),
    "normal, products": (800, 80, partial(correlated, rho=0.0), lambda z, rng: noisy(products(z), 0.5, rng)),
    "t2 features, linear classes": (
        800,
        100,
        lambda rng, n, d: rng.standard_t(2, (n, d)),
        lambda z, rng: positive(noisy(sum_of(np.clip(z, -3, 3)), 0.5, rng)),
    ),
    "binary from AR(.5), linear": (
        600,
        100,
        lambda rng, n, d: (correlated(rng, n, d, 0.5) > 0.5).astype(float),
        lambda z, rng: noisy(sum_of(z), 1.0, rng),
    ),
    "skewed AR(.5), three classes": (
        1000,
        80,
        lambda rng, n, d: np.exp(correlated(rng, n, d, 0.5)),
        lambda z, rng: np.digitize(noisy(sum_of(np.log(z)), 0.3, rng), [-2.0, 2.0]),
    ),
    "AR(.5), noise": (300, 60, partial(correlated, rho=0.5), lambda z, rng: rng.standard_normal(len(z))),
}


def functions_of_others(seed: int) -> Draw:
    """Return 20 relevant features, with noisy absolute values and squares of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 20))
    X = np.hstack([X, np.abs(X) + 0.3 * rng.standard_normal(X.shape), X**2 + 0.5 * rng.standard_normal(X.shape)])
    return X, np.abs(X[:, :10]).sum(axis=1) + X[:, 10:20].sum(axis=1) + rng.standard_normal(300), np.arange(20)


def four_features(seed: int) -> Draw:
    """Return 60 features of which four are relevant."""
    rng = np.random.default_rng(seed)
    X, relevant = correlated(rng, 300, 60, 0.5), np.arange(0, 60, 15)
    return X, X[:, relevant].sum(axis=1) + 0.5 * rng.standard_normal(300), relevant


STABILITY = ("AR(.5), linear", "AR(.3), sines", "t2 features, linear classes", "AR(.5), noise")


def drawn(name: str, seed: int) -> Draw:
    """Return X, y and the relevant features of a draw."""
    n, d, features, target = DESIGNS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    X = features(rng, n, d)
    relevant = rng.choice(d, RELEVANT, replace=False)
    return X, target(X[:, relevant], rng), relevant if "noise" not in name else relevant[:0]


def ours(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    return SPKMSelector(fdr=RATE, random_state=seed).fit(X, y).get_support(indices=True)


def of_knockpy(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    from knockpy import KnockoffFilter  # type: ignore[import-not-found]

    np.random.seed(seed)  # noqa: NPY002 (the package draws from it)
    found = KnockoffFilter(ksampler="gaussian", fstat="lasso").forward(
        X=X, y=y.astype(float), fdr=RATE, shrinkage="ledoitwolf"
    )
    return np.flatnonzero(found)


def of_hidimstat(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    from hidimstat import ModelXKnockoff  # type: ignore[import-not-found]

    knockoff = ModelXKnockoff(random_state=seed)
    knockoff.fit_importance(X, y.astype(float))
    return np.flatnonzero(knockoff.fdr_selection(fdr=RATE))


def peers() -> dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]]:
    """Return who is measured: ours, and the packages that are installed."""
    known = {"ours": ours}
    if find_spec("knockpy") is not None:
        known["knockpy"] = of_knockpy
    if find_spec("hidimstat") is not None:
        known["hidimstat"] = of_hidimstat
    return known


def run(settings: Settings) -> Iterator[Row]:
    for who, select in peers().items():
        rates = []
        for name in [name for name in DESIGNS if settings.wants(name)][: settings.size(len(DESIGNS), 1)]:
            if who != "ours" and "three classes" in name:
                continue  # they take two classes as numbers, and no more
            row = row_of_design(name, who, select, settings.n_seeds(50 if who == "ours" else 10))
            rates.append(row.measured)
            yield row
        if rates:
            yield Row(f"**{who}, mean of {len(rates)} designs**", float(np.mean(rates)), at_most(RATE), more=("",) * 5)
    yield outside_row("functions of others", functions_of_others, 1, settings.n_seeds(40))
    yield outside_row("four features", four_features, 1, settings.n_seeds(40))
    yield outside_row("four features, knockoff_offset=0", four_features, 0, settings.n_seeds(40))
    for name in [name for name in STABILITY if settings.wants(name)][: settings.size(len(STABILITY), 1)]:
        yield stability_row(name, settings.n_seeds(10))


def outside_row(name: str, make: Callable[[int], Draw], offset: int, draws: int) -> Row:
    """Return the mean of the rate that is promised, on draws outside of the promise."""
    false, found, sizes, seconds, misfit = [], [], [], [], []
    for seed in range(draws):
        X, y, relevant = make(seed)
        start = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            selector = SPKMSelector(fdr=RATE, knockoff_offset=offset, random_state=seed).fit(X, y)
        seconds.append(process_time() - start)
        chosen = selector.get_support(indices=True)
        right = np.isin(chosen, relevant).sum()
        false.append((len(chosen) - right) / (max(len(chosen), 1) if offset else len(chosen) + 1 / RATE))
        found.append(right / len(relevant))
        sizes.append(len(chosen))
        misfit.append(selector.knockoff_misfit_)
    what = f"outside of the promise: {name}, misfit {np.mean(misfit):.2f}"
    progress(f"{what}: {np.mean(false):.3f}, {np.mean(found):.2f}")
    return Row(what, float(np.mean(false)), None, "{:.3f}", _details(false, found, sizes, seconds))


def stability_row(name: str, draws: int) -> Row:
    """Return the mean number of false features that are stable."""
    false, found, sizes, seconds = [], [], [], []
    for seed in range(draws):
        X, y, relevant = drawn(name, seed)
        start = process_time()
        stable = stability_selection(None, X, y, max_false=1, random_state=seed).selected
        seconds.append(process_time() - start)
        right = np.isin(stable, relevant).sum()
        false.append(len(stable) - right)
        found.append(right / len(relevant) if len(relevant) else np.nan)
        sizes.append(len(stable))
    progress(f"{name}, stability_selection: {np.mean(false):.2f}, {np.mean(found):.2f}")
    return Row(
        f"{name}: stability_selection, false features",
        float(np.mean(false)),
        at_most(1.0),
        "{:.2f}",
        _details(false, found, sizes, seconds),
    )


def _details(false: list, found: list, sizes: list, seconds: list) -> tuple[str, ...]:
    return (
        f"{standard_error(np.array(false)):.3f}",
        "" if np.isnan(found[0]) else f"{np.mean(found):.2f}",
        f"{np.mean(sizes):.1f}",
        f"{np.mean(seconds):.2f}",
        f"{len(false)}",
    )


def row_of_design(name: str, who: str, select: Any, draws: int) -> Row:
    """Return the mean false discovery proportion of a design, and what was found."""
    false, found, sizes, seconds = [], [], [], []
    for seed in range(draws):
        X, y, relevant = drawn(name, seed)
        start = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chosen = select(X, y, seed)
        seconds.append(process_time() - start)
        right = np.isin(chosen, relevant).sum()
        false.append((len(chosen) - right) / max(len(chosen), 1))
        found.append(right / len(relevant) if len(relevant) else np.nan)
        sizes.append(len(chosen))
    progress(f"{name}, {who}: {np.mean(false):.3f}, {np.mean(found):.2f}")
    return Row(f"{name}: {who}", float(np.mean(false)), at_most(RATE), "{:.3f}", _details(false, found, sizes, seconds))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["fdr", *sys.argv[1:]])
