"""First points of the search for a component: pairs of related features, one of each table."""

from __future__ import annotations

import numpy as np

from spkm.cca._objective import Table
from spkm.cca._sides import Side, on_sphere

MOST_ROWS = 2000
MOST_WORK = 2e10  # multiplications that the correlations of all pairs of features may take
FEWEST_ROWS = 100


def pair_starts(
    left: Table, right: Table, count: int, radii: tuple[float, float], rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return parameters of both sides for some of the most correlated pairs of functions of one feature each.

    Each side has the functions k(x_j, c) of every feature j for a few numbers c. A start takes a pair of them that is
    more correlated than others, and weighs all features by their correlation with the other one of the pair.
    """
    work = _n_functions(left.side) * _n_functions(right.side)
    n = left.source.n_rows
    most = int(np.clip(MOST_WORK / max(work, 1), FEWEST_ROWS, MOST_ROWS))
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, size=most, replace=False))
    (left_functions, left_places), (right_functions, right_places) = (_functions(t, rows) for t in (left, right))
    correlations = left_functions.T @ right_functions
    chosen = _distinct(np.abs(correlations), count, [len(_knots(table.side)) for table in (left, right)])
    starts = []
    for i, j in chosen:
        starts.append(
            (
                _parameters(left.side, left_places, correlations[:, j], radii[0], rng),
                _parameters(right.side, right_places, correlations[i], radii[1], rng),
            )
        )
    return starts


def _knots(side: Side) -> np.ndarray:
    return np.array([-1.0, 0.0, 1.0]) if side.kernel.reads_zero_features else np.array([-1.0, 1.0])


def _n_functions(side: Side) -> int:
    return side.n_features * len(_knots(side))


def _functions(table: Table, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return residuals of functions of one feature, made as long as one, (n, features x knots), and c, (knots, d)."""
    X = table.source.subset(rows).dense()
    explained = np.linalg.qr(table.explained[rows])[0]
    knots = _knots(table.side)[:, None]
    places = (
        X.mean(axis=0) + X.std(axis=0) * knots if table.side.kernel.reads_zero_features else knots * np.ones(X.shape[1])
    )
    found = []
    for j in range(X.shape[1]):
        K = table.side.kernel(X[:, j : j + 1], places[:, j : j + 1]).astype(np.float64)
        least = table.rounding * np.linalg.norm(K, axis=0)
        K -= explained @ (explained.T @ K)
        norms = np.linalg.norm(K, axis=0)
        found.append(K / np.where(norms > least, norms, np.inf))
    return np.hstack(found), places


def _distinct(sizes: np.ndarray, count: int, widths: list[int]) -> list[tuple[int, int]]:
    """Return the largest entries, none of them in the row and column block of two features already chosen."""
    sizes = sizes.copy()
    chosen = []
    for _ in range(count):
        i, j = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        if not sizes[i, j] > 0:
            break
        chosen.append((int(i), int(j)))
        x, y = i // widths[0] * widths[0], j // widths[1] * widths[1]
        sizes[x : x + widths[0], y : y + widths[1]] = 0.0
    return chosen


def _parameters(
    side: Side, places: np.ndarray, loadings: np.ndarray, radius: float, rng: np.random.Generator
) -> np.ndarray:
    """Return parameters whose direction weighs features by their loadings."""
    knots = _knots(side)
    loadings = loadings.reshape(side.n_features, len(knots))
    size = np.linalg.norm(loadings, axis=1)
    # Functions that fall together are as good as functions that rise: the sign of the strongest is taken out.
    loadings = loadings * np.sign(loadings.ravel()[np.argmax(np.abs(loadings))])
    if not side.kernel.reads_zero_features:
        slant = loadings @ knots
        signs = np.where(np.abs(slant) > 1e-8 * size, np.sign(slant), rng.choice([-1.0, 1.0], size=len(slant)))
        return np.append(on_sphere(signs * size, radius), 0.0)
    return np.concatenate([on_sphere(size, radius), places[np.argmax(loadings, axis=1), np.arange(len(size))], [0.0]])
