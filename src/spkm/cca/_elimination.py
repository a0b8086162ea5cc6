"""Features leave a component one after another, as long as its correlation does not need them."""

from __future__ import annotations

import numpy as np

from spkm.cca._ascent import Found, ascend
from spkm.cca._objective import Correlation, Table

FEW = 8  # of so many features each is left out in turn; of more, those with the smallest weights leave together
SHARE = 0.6  # of more features, so many stay
PATIENCE = 2  # losses in a row that make the criterion worse, after which a path ends


def eliminated(objective: Correlation, found: Found, max_iter: int, tol: float) -> Found:
    """Return the component with fewer features, at the lowest value of an information criterion.

    The criterion is n log(1 - correlation^2) + (log n + 2 log d) per feature (the extended one of Chen and Chen 2008):
    a feature stays if the correlation gains more by it than by the best of d features of noise. The two sides lose
    features in turn, until neither changes; after every loss the rest is fitted again without a bound on its l1 norm.
    """
    tables = [objective.left, objective.right]
    kept = [np.flatnonzero(tables[0].side.selected(found.left)), np.flatnonzero(tables[1].side.selected(found.right))]
    now = _refit(tables, kept, [found.left, found.right], max_iter, tol)
    for _ in range(3):
        before = [len(columns) for columns in kept]
        for k in (0, 1):
            kept, now = _shorter(tables, k, kept, now, max_iter, tol)
        if before == [len(columns) for columns in kept]:
            break
    return _whole(tables, kept, now)


def with_columns(objective: Correlation, found: Found, max_iter: int, tol: float) -> Found:
    """Return the component fitted again on the samples of ``objective``, with the features that it has."""
    tables = [objective.left, objective.right]
    theta = [found.left, found.right]
    kept = [np.flatnonzero(table.side.selected(t)) for table, t in zip(tables, theta, strict=True)]
    end = _refit(tables, kept, theta, max_iter, tol)
    return _whole(tables, kept, end)


def _whole(tables: list[Table], kept: list[np.ndarray], part: Found) -> Found:
    left, right = (
        _widened(table, theta, columns) for table, theta, columns in zip(tables, part[:2], kept, strict=True)
    )
    return part._replace(left=left, right=right)


def _shorter(
    tables: list[Table], k: int, kept: list[np.ndarray], now: Found, max_iter: int, tol: float
) -> tuple[list[np.ndarray], Found]:
    """Return the best of a path on which side k loses its features down to the last one."""
    best = (_criterion(tables, kept, now.correlation), kept, now)
    worse = 0
    while len(kept[k]) > 1 and worse < PATIENCE:
        part = Correlation(*(t.columns(c) for t, c in zip(tables, kept, strict=True)))
        stay = _staying(part, [now.left, now.right], k)
        whole = _whole(tables, kept, now)
        kept = [columns[stay] if side == k else columns for side, columns in enumerate(kept)]
        now = _refit(tables, kept, [whole.left, whole.right], max_iter, tol)
        value = _criterion(tables, kept, now.correlation)
        worse = 0 if value <= best[0] else worse + 1
        if not worse:
            best = (value, kept, now)
    return best[1], best[2]


def _staying(part: Correlation, theta: list[np.ndarray], k: int) -> np.ndarray:
    """Return the features of side k that stay: all but the one missed least or, of many, those of large weights."""
    side = (part.left, part.right)[k].side
    weight = np.abs(theta[k][: side.n_features])
    d = side.n_features
    if d > FEW:
        return np.sort(np.argsort(-weight, kind="stable")[: max(FEW, int(SHARE * d))])
    rest = []
    for j in range(d):
        trial = list(theta)
        trial[k] = theta[k].copy()
        trial[k][j] = 0.0
        rest.append(abs(part(*trial).value))
    return np.delete(np.arange(d), int(np.argmax(rest)))


def _refit(tables: list[Table], kept: list[np.ndarray], whole: list[np.ndarray], max_iter: int, tol: float) -> Found:
    """Return the component fitted again with some features only, from parameters of all features."""
    parts = [table.columns(columns) for table, columns in zip(tables, kept, strict=True)]
    start = [_narrowed(table, theta, columns) for table, theta, columns in zip(tables, whole, kept, strict=True)]
    radii = (np.inf, np.inf)
    return ascend(Correlation(parts[0], parts[1]), (start[0], start[1]), radii, max_iter, tol)


def _criterion(tables: list[Table], kept: list[np.ndarray], correlation: float) -> float:
    n = tables[0].source.n_rows
    fit = n * np.log(max(1.0 - correlation**2, 1e-12))
    costs = [len(c) * (np.log(n) + 2 * np.log(t.side.n_features)) for t, c in zip(tables, kept, strict=True)]
    return float(fit + sum(costs))


def _narrowed(table: Table, theta: np.ndarray, columns: np.ndarray) -> np.ndarray:
    d = table.side.n_features
    parts = [theta[:d][columns], theta[d:-1][columns] if table.side.kernel.reads_zero_features else theta[d:-1]]
    return np.concatenate([*parts, theta[-1:]])


def _widened(table: Table, theta: np.ndarray, columns: np.ndarray) -> np.ndarray:
    parts = []
    for block in np.split(theta[:-1], 2) if table.side.kernel.reads_zero_features else [theta[:-1]]:
        wide = np.zeros(table.side.n_features)
        wide[columns] = block
        parts.append(wide)
    return np.concatenate([*parts, theta[-1:]])
