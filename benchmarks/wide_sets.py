"""Leukemia (72 x 7,070) and BASEHOCK (1,993 x 4,862 counts): test accuracy and number of columns.

Thirds of the rows for training, validation and test. Ours either fits the training third and chooses on the validation
third, or takes five folds of both; nothing is set by hand but ``max_features``. l1-logistic regression and SVC choose C
and gamma on the validation third and are fitted on the training third, and then, with what was chosen, on both: ours is
compared with the l1-logistic regression of the same rows. Seconds are those of the whole choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.base import clone

from benchmarks._data import Settings, thirds
from benchmarks._neighbours import tuned_l1_logistic, tuned_svc
from benchmarks._report import Row, at_least, at_most, progress, standard_error, with_error
from benchmarks._selection import OURS, Outcome, mean_of, summary, timed

COLUMNS = ("±", "minus l1-logistic", "columns (to reach)", "seconds")
SETS = {"leukemia": (10, 20, None), "basehock": (2, 150, 95.5)}  # splits, max_features, accuracy to reach (None: l1's)
BOTH = "train + val"


def run(settings: Settings) -> Iterator[Row]:
    for (name, (splits, most, limit)), data in zip(SETS.items(), settings.load(*SETS), strict=True):
        if not settings.wants(name):
            continue
        X, y = data["X"], data["y"]
        if settings.quick:
            some = slice(None, None, 1 + len(y) // 200)
            X, y = X[some, ::20], y[some]
        X = X.astype(float)
        found: dict[str, list[Outcome]] = {}
        for seed in range(settings.n_seeds(splits)):
            for who, outcome in outcomes(X, y, seed, most, settings.quick):
                found.setdefault(who, []).append(outcome)
                progress(f"{name}, split {seed}, {who}: {outcome}")
        for who, results in found.items():
            accuracy = np.array([o.accuracy for o in results])
            same_rows = BOTH if who.endswith(BOTH) else "train"
            theirs = np.array([o.accuracy for o in found[f"l1-logistic, fitted on {same_rows}"]])
            ours = who.startswith("ours")
            reach = at_least(mean_of(theirs) if limit is None else limit) if ours else None
            more = (
                f"{standard_error(accuracy):.2f}" if len(accuracy) > 1 else "",
                "" if who.startswith("l1") else with_error(accuracy - theirs),
                summary([len(o.columns) for o in results], "{:.1f}", at_most(most) if ours else None),
                summary([o.seconds for o in results], "{:.1f}"),
            )
            yield Row(f"{name}, {who}", mean_of(accuracy), reach, more=more)


def outcomes(X: np.ndarray, y: np.ndarray, seed: int, most: int, quick: bool) -> Iterator[tuple[str, Outcome]]:
    """Yield names and outcomes of one split."""
    train, validation, test = thirds(len(y), seed)
    rows, judge = (X, y, train, validation), (X[test], y[test])
    both = np.concatenate([train, validation])
    tunings = {
        "l1-logistic": partial(tuned_l1_logistic, *rows, quick),
        "SVC": partial(tuned_svc, *rows, 4 if quick else 2),
    }
    for name, tuning in tunings.items():
        model, seconds = timed(tuning)
        yield f"{name}, fitted on train", Outcome.of(model, *judge, seconds)
        again, more = timed(partial(clone(model).fit, X[both], y[both]))
        yield f"{name}, fitted on {BOTH}", Outcome.of(again, *judge, seconds + more)
    for way, fit in OURS.items():
        model, seconds = timed(partial(fit, *rows, random_state=seed, max_features=most))
        yield way, Outcome.of(model, *judge, seconds)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["wide_sets", *sys.argv[1:]])
