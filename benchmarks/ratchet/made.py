"""Data of the figures: tables that ship with scikit-learn, and made ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ratchet.record import Skipped


def halves(X: Any, y: Any, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Return a training half and a test half: X, y, X, y."""
    order = np.random.default_rng(1000 + seed).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    return X[train], y[train], X[test], y[test]


def held_out(model: Any, X: Any, y: Any, splits: int = 3) -> float:
    """Return 100 times the mean score on test halves of a few fixed splits."""
    parts = [halves(X, y, split) for split in range(splits)]
    return 100 * float(np.mean([model.fit(Xa, ya).score(Xb, yb) for Xa, ya, Xb, yb in parts]))


def waves(n: int = 600, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return samples with a smooth non-linear target of unit size plus noise: sin(2 x1) + x2 x3 + 0.2 noise."""
    rng = np.random.default_rng(2000 + seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(n)


def classes(n: int = 600, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of :func:`waves` with two classes."""
    X, y = waves(n, d, seed)
    return X, (y > 0).astype(int)


def counts(n: int = 600, d: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return sparse counts, as fingerprints are, and two classes: whether more of one half of the columns is there."""
    rng = np.random.default_rng(3000 + seed)
    X = rng.poisson(0.5, (n, d)).astype(float)
    left, right = X[:, : d // 2].sum(axis=1), X[:, d // 2 :].sum(axis=1)
    return X, (left * (1 + (X[:, 0] > 0)) > right).astype(int)


def affinities(seed: int = 0, n_left: int = 50, n_right: int = 100) -> dict[str, Any]:
    """Return drugs, targets, and the affinities of all their pairs, two thirds of them for training.

    Drugs are fingerprints of 400 bits, targets compositions of 150 parts, as in tables of kinase inhibitors. A family
    of drugs binds a few families of targets; most affinities are at the detection limit of 5.
    """
    rng = np.random.default_rng(4000 + seed)
    family, kin = rng.integers(8, size=n_left), rng.integers(10, size=n_right)
    bits = (rng.random((8, 400)) < 0.08)[family]
    left = np.where(rng.random(bits.shape) < 0.4, rng.random(bits.shape) < 0.08, bits).astype(float)
    parts = rng.dirichlet(np.full(150, 0.3), 10)
    right = np.array([rng.dirichlet(150 * parts[k] + 0.01) for k in kin])
    table = 2.0 * rng.standard_normal((8, 10)) * (rng.random((8, 10)) < 0.35)
    own = 0.6 * rng.standard_normal(n_left)
    pairs = np.array([(i, j) for i in range(n_left) for j in range(n_right)])
    i, j = pairs.T
    y = 5 + np.maximum(0, table[family[i], kin[j]] + own[i] - 0.5 + 0.5 * rng.standard_normal(len(pairs)))
    order = rng.permutation(len(pairs))
    cut = 2 * len(order) // 3
    return {"left": left, "right": right, "pairs": pairs, "y": y, "train": order[:cut], "test": order[cut:]}


def people(n: int = 600, seed: int = 0) -> Any:
    """Return a frame with numbers, categories, missing values and a column ``good`` of two classes."""
    import pandas as pd

    rng = np.random.default_rng(5000 + seed)
    age, income = rng.uniform(18, 80, n), rng.lognormal(10, 0.5, n)
    work = rng.choice(["private", "state", "own", "none"], n, p=[0.5, 0.2, 0.2, 0.1])
    worth = {"private": 0.5, "state": 0.0, "own": 1.0, "none": -1.5}
    score = np.sin(age / 12) + np.log(income) - 10 + np.array([worth[w] for w in work]) + 0.3 * rng.standard_normal(n)
    frame = pd.DataFrame({"age": age, "income": income, "work": work, "good": np.where(score > 0, "yes", "no")})
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "work"] = None
    return frame


def apart(one: Any, other: Any) -> float:
    """Return the largest difference over the largest value."""
    one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    return float(np.abs(one - other).max() / np.abs(one).max())


def f1_percent(chosen: Any, true: Any) -> float:
    """Return 100 times the F1 of chosen features."""
    chosen, true = set(np.asarray(chosen).tolist()), set(np.asarray(true).tolist())
    return 200 * len(chosen & true) / max(1, len(chosen) + len(true))


def stored(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of NAME.npz in the folder SPKM_DATA."""
    folder = os.environ.get("SPKM_DATA", "")
    path = Path(folder) / f"{name}.npz"
    if not folder or not path.is_file():
        raise Skipped(f"needs {name}.npz in the folder SPKM_DATA")
    return dict(np.load(path, allow_pickle=False))
