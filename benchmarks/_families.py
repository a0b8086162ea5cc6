"""Made-up problems of known relevant features: 28 families with something to find, and 5 kinds of pure noise.

A family is a function of a generator and a number of samples that returns X, y and the sets of features that matter.
A set of more than one feature holds near copies of each other, of which no data tell the right one: any of them counts.
Features are drawn first, then a random place for each that matters, so that no rule can profit from their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.datasets import make_sparse_relation

Sets = list[tuple[int, ...]]
Draw = tuple[np.ndarray, np.ndarray, Sets]


@dataclass(frozen=True)
class Family:
    """A made-up problem: its name, how it is drawn, and the number of training samples."""

    name: str
    task: str  # "classes", "numbers", or that of a noise
    n: int
    make: Callable[[np.random.Generator, int], Draw]

    def draw(self, seed: int, n_test: int = 0) -> Draw:
        """Return n + n_test samples; the first n are for training."""
        return self.make(np.random.default_rng([seed, *self.name.encode()]), self.n + n_test)


def precision(columns: np.ndarray, relevant: Sets) -> float:
    """Return the share of selected features that are of a relevant set; NaN if none is selected."""
    known = {j for members in relevant for j in members}
    return float(np.mean([int(j) in known for j in columns])) if len(columns) else np.nan


def recall(columns: np.ndarray, relevant: Sets) -> float:
    """Return the share of relevant sets of which a feature is selected."""
    chosen = {int(j) for j in columns}
    return float(np.mean([bool(chosen.intersection(members)) for members in relevant]))


def _normal(d: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: rng.standard_normal((n, d))


def _binary(d: int, share: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: (rng.random((n, d)) < share).astype(float)


def _student(d: int, degrees: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: rng.standard_t(degrees, (n, d))


def _autoregressive(d: int, rho: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        X = rng.standard_normal((n, d))
        for j in range(1, d):
            X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
        return X

    return draw


def _blocks(d: int, size: int, rho: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Return what draws blocks of features of correlation rho."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        shared = np.repeat(rng.standard_normal((n, d // size)), size, axis=1)
        return np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.standard_normal((n, d))

    return draw


def _family(
    name: str,
    task: str,
    n: int,
    features: Callable[[np.random.Generator, int], np.ndarray],
    relevant: int,
    target: Callable[[np.ndarray, np.random.Generator], np.ndarray],
    block: int = 1,
) -> Family:
    """Return a family whose targets are a function of some features; with ``block``, of the first of some blocks."""

    def make(rng: np.random.Generator, n: int) -> Draw:
        X = features(rng, n)
        places = rng.choice(X.shape[1] // block, relevant, replace=False) * block
        y = target(X[:, places].T, rng)
        return X, y, [tuple(range(int(j), int(j) + block)) for j in places]

    return Family(name, task, n, make)


def _of_relation(name: str, kind: str) -> Family:
    def make(rng: np.random.Generator, n: int) -> Draw:
        X, y, relevant = make_sparse_relation(kind, n, 100, random_state=rng)
        return X, y, [(int(j),) for j in relevant]

    return Family(name, "classes", 500, make)


def _above(f: np.ndarray, quantile: float = 0.5) -> np.ndarray:
    return (f > np.quantile(f, quantile)).astype(int)


def _logistic(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(f)) < 1 / (1 + np.exp(-f))).astype(int)


def _flipped(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(y)) < share, 1 - y, y)


def _noisy(f: np.ndarray, ratio: float, rng: np.random.Generator, degrees: float = np.inf) -> np.ndarray:
    """Return f plus noise of ``ratio`` times its deviation; Student's t with the given degrees of freedom."""
    noise = rng.standard_normal(len(f)) if np.isinf(degrees) else rng.standard_t(degrees, len(f))
    return f + ratio * f.std() * noise


def _signs(count: int) -> np.ndarray:
    return np.where(np.arange(count) % 2, -1.0, 1.0)


def _friedman(z: np.ndarray) -> np.ndarray:
    """Return Friedman's first function of five normal features, taken to uniform ones by a logistic curve."""
    u = 1 / (1 + np.exp(-1.7 * z))  # 1.7: the usual factor between a normal and a logistic distribution function
    return 10 * np.sin(np.pi * u[0] * u[1]) + 20 * (u[2] - 0.5) ** 2 + 10 * u[3] + 5 * u[4]


def _nearest_of_four(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return four classes: the quadrant of two features, which moves with the sum of two others."""
    return 2 * (z[0] + z[2] > 0).astype(int) + (z[1] - z[3] > 0).astype(int)


CLASSES = [
    _of_relation("linear, 10 of 100", "linear"),
    _of_relation("degree 2, 10 of 100", "quadratic"),
    _of_relation("degree 5, 10 of 100", "quintic"),
    _family("sine, 1 of 50", "classes", 500, _normal(50), 1, lambda z, rng: (np.sin(4 * z[0]) > 0).astype(int)),
    _family("product, 2 of 1,000", "classes", 500, _normal(1000), 2, lambda z, rng: (z[0] * z[1] > 0).astype(int)),
    _family(
        "weak linear, 30 of 200",
        "classes",
        1000,
        _normal(200),
        30,
        lambda z, rng: _logistic(0.7 * _signs(30) @ z, rng),
    ),
    _family(
        "AND of binaries, 3 of 50",
        "classes",
        400,
        _binary(50, 0.7),
        3,
        lambda z, rng: _flipped((z.sum(axis=0) == 3).astype(int), 0.05, rng),
    ),
    _family(
        "OR of ANDs of binaries, 4 of 50",
        "classes",
        400,
        _binary(50, 0.5),
        4,
        lambda z, rng: np.maximum(z[0] * z[1], z[2] * z[3]).astype(int),
    ),
    _family(
        "20 % flips, linear, 5 of 50",
        "classes",
        500,
        _normal(50),
        5,
        lambda z, rng: _flipped(_above(_signs(5) @ z), 0.2, rng),
    ),
    _family(
        "20 % flips, products, 4 of 50",
        "classes",
        800,
        _normal(50),
        4,
        lambda z, rng: _flipped((z[0] * z[1] + z[2] * z[3] > 0).astype(int), 0.2, rng),
    ),
    _family(
        "t2 features, linear, 5 of 100",
        "classes",
        500,
        _student(100, 2),
        5,
        lambda z, rng: _logistic(_signs(5) @ z, rng),
    ),
    _family(
        "blocks of correlation .8, 4 of 100",
        "classes",
        500,
        _blocks(100, 5, 0.8),
        4,
        lambda z, rng: _logistic(2 * _signs(4) @ z, rng),
    ),
    _family(
        "three-way product, 3 of 50",
        "classes",
        1000,
        _normal(50),
        3,
        lambda z, rng: (z[0] * z[1] * z[2] > 0).astype(int),
    ),
    _family(
        "products, 4 of 100",
        "classes",
        500,
        _normal(100),
        4,
        lambda z, rng: (z[0] * z[1] + z[2] * z[3] > 0).astype(int),
    ),
    _family("ball, 4 of 100", "classes", 500, _normal(100), 4, lambda z, rng: _above((z**2).sum(axis=0))),
    _family(
        "additive and product, 4 of 50",
        "classes",
        500,
        _normal(50),
        4,
        lambda z, rng: (np.sin(2 * z[0]) + z[1] * z[2] + z[3] ** 2 / 2 > 0.5).astype(int),
    ),
    _family(
        "rare class, linear, 5 of 100",
        "classes",
        600,
        _normal(100),
        5,
        lambda z, rng: _above(_noisy(_signs(5) @ z, 0.2, rng), 0.9),
    ),
    _family("four classes, 4 of 100", "classes", 500, _normal(100), 4, _nearest_of_four),
    _family(
        "Friedman above its median, 5 of 50",
        "classes",
        500,
        _normal(50),
        5,
        lambda z, rng: _above(_noisy(_friedman(z), 0.1, rng)),
    ),
]
NUMBERS = [
    _family("Friedman 1, 5 of 50", "numbers", 300, _normal(50), 5, lambda z, rng: _noisy(_friedman(z), 0.2, rng)),
    _family(
        "AR(1) linear, 5 of 200",
        "numbers",
        200,
        _autoregressive(200, 0.7),
        5,
        lambda z, rng: _noisy(_signs(5) @ z, 0.5, rng),
    ),
    _family(
        "sine, t2 noise, 1 of 50", "numbers", 500, _normal(50), 1, lambda z, rng: _noisy(np.sin(3 * z[0]), 0.3, rng, 2)
    ),
    _family(
        "weak linear, 30 of 200", "numbers", 500, _normal(200), 30, lambda z, rng: _noisy(_signs(30) @ z, 1.0, rng)
    ),
    _family(
        "product and linear, 3 of 100",
        "numbers",
        300,
        _normal(100),
        3,
        lambda z, rng: _noisy(z[0] * z[1] + z[2], 0.3, rng),
    ),
    _family(
        "three-way product and linear, 4 of 50",
        "numbers",
        500,
        _normal(50),
        4,
        lambda z, rng: _noisy(z[0] * z[1] * z[2] + z[3], 0.2, rng),
    ),
    _family(
        "linear, t2 noise, 5 of 100", "numbers", 300, _normal(100), 5, lambda z, rng: _noisy(_signs(5) @ z, 0.5, rng, 2)
    ),
    _family(
        "near copies, 4 of 20 triples",
        "numbers",
        300,
        _blocks(60, 3, 0.99),
        4,
        lambda z, rng: _noisy(_signs(4) @ z + z[0] ** 2, 0.3, rng),
        block=3,
    ),
    _family("squares, 4 of 100", "numbers", 400, _normal(100), 4, lambda z, rng: _noisy(_signs(4) @ z**2, 0.3, rng)),
]


def _noise(
    name: str, task: str, n: int, features: Any, target: Callable[[np.random.Generator, int], np.ndarray]
) -> Family:
    return Family(name, task, n, lambda rng, n: (features(rng, n), target(rng, n), []))


NOISE = [
    _noise("normal, 100 x 1,000, two classes", "classes", 100, _normal(1000), lambda rng, n: rng.integers(2, size=n)),
    _noise("normal, 300 x 30, numbers", "numbers", 300, _normal(30), lambda rng, n: rng.standard_normal(n)),
    _noise("t2, 200 x 50, t2 numbers", "numbers", 200, _student(50, 2), lambda rng, n: rng.standard_t(2, n)),
    _noise(
        "binary, 200 x 100, a rare class",
        "classes",
        200,
        _binary(100, 0.3),
        lambda rng, n: rng.permutation(np.arange(n) < n // 5).astype(int),
    ),
    _noise(
        "AR(1), 150 x 200, three classes",
        "classes",
        150,
        _autoregressive(200, 0.9),
        lambda rng, n: rng.integers(3, size=n),
    ),
]


def halves(families: list[Family]) -> dict[str, list[Family]]:
    """Return the half to explore on and the half to confirm on: families by alternate position."""
    return {"A": families[0::2], "B": families[1::2]}
