"""The number of basis vectors of a regression: few or many, by held-out samples.

Two models are fitted on four fifths of the samples; the one whose loss on the others is lower tells the number, and is
fitted again on all of them. On a panel of data sets that gained as much as a search among many numbers, which takes
five times as long. The evidence itself does not tell: it kept many vectors where they overfit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from spkm.fitting.search import MOST_ROWS, dealt_folds
from spkm.fitting.spec import Request
from spkm.selection import mean_and_error, row_losses
from spkm.sources import pick_rows

FEW, MANY = 20, 60  # basis vectors; panel: 60 overfit some sets, 20 are too few for others
HELD_OUT = 5  # one in so many samples is held out


def suits_two_sizes(request: Request) -> bool:
    """Whether a number of vectors that is to be found is one of two."""
    views = [view for term in request.terms for view in term.views]
    plain = len(views) == 1 and not views[0].kernel.is_linear and not request.of_pairs
    return request.task == "regression" and request.is_automatic and not request.selects and plain


def sizes_for(n_samples: int, max_basis: int | None) -> list[int]:
    """Return the numbers that are tried: at most half the samples, and at most ``max_basis``."""
    most = max(1, n_samples // 2) if max_basis is None else max(1, min(n_samples // 2, max_basis))
    return sorted({min(FEW, most), min(MANY, most)})


def with_size(request: Request, size: int) -> Request:
    """Return the request with a number of vectors."""
    return replace(request, terms=(replace(request.terms[0], n_basis=size),))


def fit_size(request: Request, samples: Any, fit: Callable[[Request, Any], Any]) -> Any:
    """Return the outcome of ``fit(request, samples)`` with the number of vectors that held-out samples prefer.

    A fit that is interrupted is the last one, and its model the outcome.
    """
    n = samples.X.shape[0]
    sizes = sizes_for(n, request.max_basis)
    records: list[dict[str, Any]] = []
    if n > 1:  # of a single size the held-out loss is reported, too
        rng = request.rng()
        rows = np.sort(rng.choice(n, size=MOST_ROWS, replace=False)) if n > MOST_ROWS else np.arange(n)
        train, test = (rows[part] for part in dealt_folds(samples.Y[rows], request.loss, rng, HELD_OUT)[0])
        some = samples._replace(
            X=pick_rows(samples.X, train),
            Y=samples.Y[train],
            weight=samples.weight[train],
            rows=None if samples.rows is None else samples.rows[train],
        )
        for size in sizes:
            outcome = fit(with_size(request, size), some)
            F = samples.target.encode(outcome.model.scores(pick_rows(samples.X, test)))
            losses = row_losses(request.loss, samples.Y[test], F)
            records.append(_record(request, samples, size, losses, samples.weight[test]))
            if outcome.model.interrupted:
                return replace(outcome, attributes=outcome.attributes | _results(records))
        sizes = [min(records, key=lambda record: record["mean_test_loss"])["n_basis"]]
    outcome = fit(with_size(request, sizes[0]), samples)
    return replace(outcome, attributes=outcome.attributes | _results(records)) if records else outcome


def _record(request: Request, samples: Any, size: int, losses: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    mean, error = mean_and_error(losses, weight)
    return {
        "kernel": type(request.terms[0].views[0].kernel).__name__.lower(),
        "stage": "size",
        "strength_factor": 1.0,
        "mean_n_features": float(samples.X.shape[1]),
        "n_basis": size,
        "mean_test_loss": mean,
        "error_test_loss": error,
    }


def _results(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {"cv_results_": {name: np.array([record[name] for record in records]) for name in records[0]}}
