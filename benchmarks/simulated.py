"""Made-up classes that depend on 10 of 100 standard normal columns: test accuracy, and precision and recall of columns.

n rows each to train, to validate and to test. Ours either fits the training rows and chooses on the validation rows, or
takes five folds of both together; the neighbours fit the training rows and choose C, gamma or the point of LassoNet's
path on the validation rows, and the oracle is an SVC on the 10 columns alone. Seconds are those of the whole choice.
Means over the seeds with their standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._neighbours import LassoNetOnPath, has_lassonet, tuned_l1_logistic, tuned_svc
from benchmarks._report import Row, at_least, progress, standard_error
from benchmarks._selection import OURS, RELATIONS, Outcome, hidden_relation, mean_of, summary, timed

COLUMNS = ("±", "precision (to reach)", "recall (to reach)", "columns", "seconds", "seeds")
FIRST_SEED = 5000
LASSONET_SEEDS, LASSONET_ROWS = 3, 500  # at most: it is slow
REACH = {  # accuracy, precision, recall
    (500, "linear"): (98.5, 0.98, 0.93),
    (500, "degree 2"): (96.0, 0.98, 0.98),
    (500, "degree 5"): (93.5, 0.98, 0.95),
    (2000, "linear"): (99.6, 0.98, 0.97),
    (2000, "degree 2"): (98.8, 1.0, 1.0),
    (2000, "degree 5"): (97.5, 1.0, 1.0),
}


def run(settings: Settings) -> Iterator[Row]:
    d = settings.size(100, 30)
    for n in (150,) if settings.quick else (500, 2000):
        for relation in RELATIONS:
            if not settings.wants(f"{relation}, n = {n}"):
                continue
            found: dict[str, list[tuple[Outcome, np.ndarray]]] = {}
            for i in range(settings.n_seeds(10)):
                seed = FIRST_SEED + i
                X, y, relevant = hidden_relation(relation, 3 * n, d, seed)
                test = slice(2 * n, None)
                for name, fit in fits(X, y, n, relevant, seed, settings.quick, i < LASSONET_SEEDS).items():
                    model, seconds = timed(fit)
                    outcome = Outcome.of(model, X[test], y[test], seconds)
                    found.setdefault(name, []).append((outcome, relevant))
                    rates = f"{outcome.precision(relevant):.2f} {outcome.recall(relevant):.2f}"
                    progress(f"{relation}, n = {n}, seed {seed}, {name}: {outcome}, precision and recall {rates}")
            for name, outcomes in found.items():
                yield row(f"{relation}, n = {n}: {name}", outcomes, REACH.get((n, relation)) if name in OURS else None)


def fits(
    X: np.ndarray, y: np.ndarray, n: int, relevant: np.ndarray, seed: int, quick: bool, lassonet: bool
) -> dict[str, Callable[[], Any]]:
    """Return by name what fits a model: ours in two ways, and the neighbours."""
    rows = (X, y, np.arange(n), np.arange(n, 2 * n))
    step = 4 if quick else 2
    found: dict[str, Callable[[], Any]] = {name: partial(fit, *rows, random_state=seed) for name, fit in OURS.items()}
    found["l1-logistic"] = partial(tuned_l1_logistic, *rows, quick)
    found["SVC, all columns"] = partial(tuned_svc, *rows, step)
    found["SVC, oracle"] = partial(tuned_svc, *rows, step, relevant)
    if lassonet and n <= LASSONET_ROWS and has_lassonet():
        found["LassoNet"] = partial(LassoNetOnPath, *rows, seed, quick)
    return found


def row(what: str, outcomes: list[tuple[Outcome, np.ndarray]], reach: tuple[float, float, float] | None) -> Row:
    accuracy = [outcome.accuracy for outcome, _ in outcomes]
    to_reach = [None] * 3 if reach is None else [at_least(limit) for limit in reach]
    more = (
        f"{standard_error(np.array(accuracy)):.2f}" if len(accuracy) > 1 else "",
        summary([o.precision(relevant) for o, relevant in outcomes], reach=to_reach[1]),
        summary([o.recall(relevant) for o, relevant in outcomes], reach=to_reach[2]),
        f"{np.mean([len(o.columns) for o, _ in outcomes]):.1f}",
        summary([o.seconds for o, _ in outcomes], "{:.1f}"),
        f"{len(outcomes)}",
    )
    return Row(what, mean_of(accuracy), to_reach[0], more=more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["simulated", *sys.argv[1:]])
