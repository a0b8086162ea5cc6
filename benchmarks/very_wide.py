"""A table of 500 rows and 100,000 columns, 10 of which make the classes: seconds, peak memory, columns found.

``SPKMClassifierCV`` with its defaults, five folds. The class is whether the sum of five columns less that of five
others, or the same of their squares, is above its median. The CSR table holds 1 % of its entries, but half of those of
the 10 columns. Extra is the peak above what the process held once X and y were made. Each fit runs in a process of its
own, after a small fit that loads what fits load.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._data import Settings
from benchmarks._report import Row, below, progress
from benchmarks._selection import columns_read, timed
from benchmarks.memory import held_after_reset, peak
from spkm import SPKMClassifierCV

COLUMNS = ("seconds (to reach)", "X, MB", "extra, MB", "found of 10", "selected", "test accuracy")
N, D, RELEVANT = 500, 100_000, 10
CASES = (("linear", "dense"), ("squares", "dense"), ("linear", "CSR"))
SECONDS = below(180)


def run(settings: Settings) -> Iterator[Row]:
    n, d = settings.size(N, 100), settings.size(D, 600)
    for relation, kind in CASES:
        fresh = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=fresh) as process:
            seconds, size, extra, found, selected, accuracy = process.submit(fit, relation, kind, n, d).result()
        progress(
            f"{relation}, {kind}: {seconds:.0f} s, X {size:.0f} MB, extra {extra:.0f} MB, "
            f"{found} of {selected} selected columns are among the {RELEVANT}, test accuracy {accuracy:.1f} %"
        )
        more = (
            f"{seconds:.0f} (< {SECONDS.limit:.0f}){'' if SECONDS.met_by(seconds) else ' *'}",
            f"{size:.0f}",
            f"{extra:.0f}",
            f"{found}",
            f"{selected}",
            f"{accuracy:.1f} %",
        )
        yield Row(f"{relation}, {kind}, n = {n}, d = {d:,}: extra over X", extra / size, below(2), more=more)


def fit(relation: str, kind: str, n: int, d: int) -> tuple[float, float, float, int, int, float]:
    """Return seconds, MB of X, MB that a fit adds, columns found and selected, test accuracy; for its own process."""
    warnings.simplefilter("ignore")
    X, y, T, t, relevant = problem(relation, kind, n, d)
    size = (sum(a.nbytes for a in (X.data, X.indices, X.indptr)) if sparse.issparse(X) else X.nbytes) / 1e6
    some = np.sort(np.concatenate([relevant, np.setdiff1d(np.arange(40), relevant)]))
    SPKMClassifierCV(random_state=0).fit(X[:, some], y)
    before = held_after_reset()
    model, seconds = timed(partial(SPKMClassifierCV(random_state=0).fit, X, y))
    extra = (peak() - before) / 1e6
    chosen = columns_read(model)
    return seconds, size, extra, int(np.isin(relevant, chosen).sum()), len(chosen), 100 * model.score(T, t)


def problem(relation: str, kind: str, n: int, d: int, seed: int = 0) -> tuple[Any, np.ndarray, Any, np.ndarray, Any]:
    """Return rows and classes to fit and, as many, to test, and the columns that make the classes."""
    rng = np.random.default_rng(seed)
    relevant = np.sort(rng.choice(d, RELEVANT, replace=False))
    signs = np.repeat([1.0, -1.0], RELEVANT // 2)
    Z = rng.standard_normal((2 * n, RELEVANT))
    if kind == "CSR":
        Z *= rng.random(Z.shape) < 0.5
    f = (Z if relation == "linear" else Z**2) @ signs
    y = (f > np.median(f)).astype(int)
    halves: list[Any] = []
    for rows in (Z[:n], Z[n:]):
        if kind == "CSR":
            X: Any = sparse.random_array((n, d), density=0.01, rng=rng, data_sampler=rng.standard_normal).tolil()
            X[:, relevant] = rows
            halves.append(X.tocsr())
        else:
            X = rng.standard_normal((n, d))
            X[:, relevant] = rows
            halves.append(X)
    return halves[0], y[:n], halves[1], y[n:], relevant


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["very_wide", *sys.argv[1:]])
