"""Sparse kernel canonical correlations: features found and correlations on new samples, beside cca-zoo's methods.

Relations are those of the reference (Uurtio, Bhadra, Rousu 2019): columns uniform on [-1, 1], y1 + y2 = f(x1 + x2) +
noise of deviation 0.05 with f linear, square, cube and exponential; and, on [-2 pi, 2 pi], x1, y1 and y2 all sines and
cosines of x2. All other columns are noise. 1,000 samples: two thirds to fit and to choose settings, one to test. F1 is
that of the found features (two of each table are in the relation), a mean over both tables. In the trigonometric
relations x1 is a function of x2, so that x2 alone suffices: 0.83 is the F1 of that answer.

The kernels are those of the relation: a linear one for Y beside a polynomial of degree 1, 2 and 3 without constant for
X (degree 3 with one for the exponential), RBF for both tables in the trigonometric ones. ElasticNetCCA (alpha), PMDCCA
(l1 bound) and KCCA (shrinkage; the same kernels) of cca-zoo are chosen on half of the samples that they may fit, by the
correlation on the other half. KCCA has no features to count: it uses all. ElasticNetCCA would take minutes a fit with
500 columns and is left out there.

"omics" has 200 samples to fit and 200 to test, 600 and 200 columns in correlated blocks of ten, and two relations: a
linear one of three columns of either table, and the square of the sum of two columns of X. "digits" are the Fourier and
Zernike features of the handwritten digits, halves to fit and to test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks._data import MissingData, Settings, parts
from benchmarks._report import Row, progress
from spkm import SPKMCCA
from spkm.kernels import RBF, Kernel, Linear, Polynomial

COLUMNS = ("ElasticNetCCA", "PMDCCA", "KCCA", "seconds", "their seconds")
WIDTHS = (10, 100, 500)
ALPHAS = (1.0, 0.3, 0.1, 0.03)
BOUNDS = (0.1, 0.2, 0.4, 0.8)
SHRINKAGES = (0.9, 0.5, 0.1, 0.01)
FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Kernel, dict[str, Any]]] = {
    "linear": (lambda s: s, Linear(), {"kernel": ["linear", "linear"]}),
    "square": (np.square, Polynomial(2, 0.0), {"kernel": ["poly", "linear"], "degree": 2, "coef0": 0.0}),
    "cube": (lambda s: s**3, Polynomial(3, 0.0), {"kernel": ["poly", "linear"], "degree": 3, "coef0": 0.0}),
    "exponential": (np.exp, Polynomial(3, 1.0), {"kernel": ["poly", "linear"], "degree": 3, "coef0": 1.0}),
}
PERIODS = {"trigonometric 1": (-2, 3, 4), "trigonometric 2": (-2, -4, -6), "trigonometric 3": (-0.5, 2, -2)}
RBF_BOTH: dict[str, Any] = {"kernel": "rbf"}


class Tables(NamedTuple):
    """Two tables of samples to fit and to test, and the columns that are related."""

    fit: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    relevant: tuple[list[int], list[int]]


class Outcome(NamedTuple):
    """Mean F1 of the found features (NaN if the truth is not known), test correlation, seconds, features of X and Y."""

    f1: float
    correlation: float
    seconds: float
    used: tuple[int, int] = (0, 0)


def run(settings: Settings) -> Iterator[Row]:
    if find_spec("cca_zoo") is None:
        raise MissingData("needs the package cca-zoo.")
    n = settings.size(1000, 150)
    for width, name in product(WIDTHS[:1] if settings.quick else WIDTHS, [*FUNCTIONS, *PERIODS]):
        if settings.wants(name):
            seeds = range(settings.n_seeds(3))
            yield from rows(f"{name}, d = {width}", [related(name, n, width, seed) for seed in seeds], *kernels(name))
    if settings.wants("omics"):
        tables = [omics(settings.size(200, 60), settings.size(600, 40), seed) for seed in range(settings.n_seeds(3))]
        yield from rows("omics", tables, Polynomial(2, 1.0), {"kernel": ["poly", "linear"], "degree": 2}, 2)
    if settings.wants("digits"):
        yield from digits(settings)


def kernels(name: str) -> tuple[Kernel, dict[str, Any]]:
    """Return our kernel of X, and the settings of KCCA."""
    return FUNCTIONS[name][1:] if name in FUNCTIONS else (RBF(), RBF_BOTH)


def rows(
    title: str, tables: list[Tables], kernel: Kernel, kcca: dict[str, Any], n_components: int = 1
) -> Iterator[Row]:
    """Yield a row of F1 scores and one of test correlations."""
    ours, others = [], []
    right = RBF() if kcca is RBF_BOTH else Linear()
    for seed, table in enumerate(tables):
        ours.append(our_outcome(SPKMCCA(n_components, kernel_x=kernel, kernel_y=right, random_state=seed), table))
        others.append(their_outcomes(table, kcca, n_components))
        progress(f"{title}, {seed}: {ours[-1]}, {others[-1]}")
    for k, what in enumerate(("F1", "correlation")):
        theirs = [float(np.mean([other[j][k] for other in others])) for j in range(3)]
        times = [float(np.mean([ours_[2] for ours_ in ours])), float(np.mean([sum(o[2] for o in x) for x in others]))]
        more = tuple("" if np.isnan(value) else f"{value:.2f}" for value in theirs)
        yield Row(
            f"{title}, {what}",
            float(np.mean([outcome[k] for outcome in ours])),
            form="{:.2f}",
            more=(*more, *(f"{t:.1f}" for t in times)),
        )


def related(name: str, n: int, d: int, seed: int) -> Tables:
    """Return tables with a relation of the reference."""
    rng = np.random.default_rng(seed)
    edge = 1.0 if name in FUNCTIONS else 2 * np.pi
    X, Y = rng.uniform(-edge, edge, (n, d)), rng.uniform(-edge, edge, (n, d))
    noise = rng.normal(0, 0.05, (3, n))
    if name in FUNCTIONS:
        Y[:, 0] = FUNCTIONS[name][0](X[:, 0] + X[:, 1]) - Y[:, 1] + noise[0]
    else:
        a, b, c = PERIODS[name]
        X[:, 0] = np.sin(X[:, 1] / a) + noise[0]
        Y[:, 0], Y[:, 1] = np.cos(X[:, 1] / b) + noise[1], np.cos(X[:, 1] / c) + noise[2]
    cut = 2 * n // 3
    return _standardised(X, Y, np.arange(cut), np.arange(cut, n), ([0, 1], [0, 1]))


def omics(n: int, d: int, seed: int) -> Tables:
    """Return wide tables with columns in correlated blocks, a linear relation and a square."""
    rng = np.random.default_rng(seed)

    def blocks(width: int) -> np.ndarray:
        shared = np.repeat(rng.standard_normal((2 * n, width // 10)), 10, axis=1)
        return 0.6 * shared + 0.8 * rng.standard_normal((2 * n, width))

    X, Y = blocks(d), blocks(max(d // 3, 20))
    factor = rng.standard_normal(2 * n)
    X[:, [0, 10, 20]] += 1.5 * factor[:, None]
    Y[:, [0, 1, 2]] += 1.5 * factor[:, None]
    Y[:, 10] += (X[:, 30] + X[:, 31]) ** 2
    return _standardised(X, Y, np.arange(n), np.arange(n, 2 * n), ([0, 10, 20, 30, 31], [0, 1, 2, 10]))


def _standardised(X: np.ndarray, Y: np.ndarray, fit: np.ndarray, test: np.ndarray, relevant: Any) -> Tables:
    scaled = [StandardScaler().fit(table[fit]).transform(table) for table in (X, Y)]
    return Tables((scaled[0][fit], scaled[1][fit]), (scaled[0][test], scaled[1][test]), relevant)


def f1_score(found: np.ndarray, relevant: list[int]) -> float:
    """Return the harmonic mean of precision and recall of found features."""
    return 2 * len(set(found.tolist()) & set(relevant)) / max(len(found) + len(relevant), 1)


def our_outcome(model: SPKMCCA, tables: Tables) -> Outcome:
    start = perf_counter()
    model.fit(*tables.fit)
    seconds = perf_counter() - start
    found = [np.flatnonzero(support.any(axis=0)) for support in (model.x_support_, model.y_support_)]
    f1 = np.mean([f1_score(f, r) for f, r in zip(found, tables.relevant, strict=True)])
    return Outcome(float(f1), model.score(*tables.test), seconds, (len(found[0]), len(found[1])))


def their_outcomes(tables: Tables, kcca: dict[str, Any], n_components: int) -> tuple[Outcome, Outcome, Outcome]:
    """Return outcomes of ElasticNetCCA, PMDCCA and KCCA, each with a setting chosen on half of the samples to fit."""
    from cca_zoo.nonparametric import KCCA
    from cca_zoo.sparse import PMDCCA, ElasticNetCCA

    alphas = ALPHAS if tables.fit[0].shape[1] < 500 else ()
    makers: list[tuple[Callable[[float], Any], tuple[float, ...], bool]] = [
        (lambda a: ElasticNetCCA(n_components, alpha=a, l1_ratio=1.0, max_iter=100, random_state=0), alphas, True),
        (lambda b: PMDCCA(n_components, l1_bound=b, random_state=0), BOUNDS, True),
        (lambda s: KCCA(n_components, shrinkage=s, **kcca), SHRINKAGES, False),
    ]
    return tuple(_chosen(make, grid, sparse, tables) for make, grid, sparse in makers)  # type: ignore[return-value]


def _chosen(make: Callable[[float], Any], grid: tuple[float, ...], sparse: bool, tables: Tables) -> Outcome:
    if not grid:
        return Outcome(np.nan, np.nan, 0.0)
    start = perf_counter()
    cut = len(tables.fit[0]) // 2
    first, second = [[table[part] for table in tables.fit] for part in (slice(None, cut), slice(cut, None))]
    scores = [_correlation(make(value).fit(first), second) for value in grid]
    model = make(grid[int(np.argmax(scores))]).fit(list(tables.fit))
    seconds = perf_counter() - start
    f1, used = np.nan, (tables.fit[0].shape[1], tables.fit[1].shape[1])
    if sparse:
        found = [np.flatnonzero(np.abs(np.reshape(w, (len(w), -1))).max(axis=1) > 1e-10) for w in model.weights_]
        f1 = float(np.mean([f1_score(f, r) for f, r in zip(found, tables.relevant, strict=True)]))
        used = len(found[0]), len(found[1])
    return Outcome(f1, _correlation(model, list(tables.test)), seconds, used)


def _correlation(model: Any, tables: list[np.ndarray]) -> float:
    """Return the mean correlation of scores over components; 0 for those that do not vary."""
    left, right = model.transform(tables)
    pairs = [(a, b) for a, b in zip(left.T, right.T, strict=True)]
    return float(np.mean([np.corrcoef(a, b)[0, 1] if a.std() > 0 and b.std() > 0 else 0.0 for a, b in pairs]))


def digits(settings: Settings) -> Iterator[Row]:
    """Yield test correlations of Fourier against Zernike features, one component, and features used."""
    (data,) = settings.load("uci_multiple_features")
    for name, kernel, kcca in (("linear", Linear(), {"kernel": "linear"}), ("RBF", RBF(), RBF_BOTH)):
        ours, theirs = [], []
        for seed in range(settings.n_seeds(3)):
            halves = parts(settings.size(2000, 300), (0.5, 0.5), seed)
            tables = _standardised(data["fou"], data["zer"], halves[0], halves[1], ([], []))
            ours.append(our_outcome(SPKMCCA(kernel_x=kernel, kernel_y=kernel, random_state=seed), tables))
            theirs.append(their_outcomes(tables, kcca, 1))
            progress(f"digits {name}, {seed}: {ours[-1]}, {theirs[-1]}")
        for what, pick in (
            ("correlation", lambda o: o.correlation),
            ("features of Fourier", lambda o: o.used[0]),
            ("features of Zernike", lambda o: o.used[1]),
        ):
            values = [float(np.mean([pick(o) for o in ours]))]
            values += [float(np.mean([pick(t[j]) for t in theirs])) for j in range(3)]
            times = [float(np.mean([o.seconds for o in ours])), float(np.mean([sum(o[2] for o in t) for t in theirs]))]
            form = "{:.3f}" if what == "correlation" else "{:.0f}"
            more = (*(form.format(value) for value in values[1:]), *(f"{t:.1f}" for t in times))
            yield Row(f"digits, {name} kernels, {what}", values[0], form=form, more=more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["cca", *sys.argv[1:]])
