"""Facts of a report about a choice of features: which, how surely, what could stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from spkm._checks import check_integer
from spkm.estimators import StabilitySelection, stability_selection
from spkm.inspection._reading import Reading
from spkm.inspection._report._features import Told
from spkm.inspection._report._findings import Evidence
from spkm.inspection._report._samples import dense_rows, rounded
from spkm.selection import DEFAULTS

ENTRIES = 2e7  # numbers of the samples that correlations are computed on
ALIKE = 0.7  # correlation from which on a feature could stand for another: half of the variance is shared
STANDS = 3  # features that could stand for one
MOST = 40  # features in the table
STABLE = 0.75  # share of halves of a stable feature: that of stability_selection


def measured(reading: Reading, stability: Any, known: Any, seed: int) -> StabilitySelection | None:
    """Return a stability selection: the one given, a new one on so many pairs of halves, or that of the fit if any."""
    if stability is None:
        return _of_fit(reading)
    if isinstance(stability, StabilitySelection):
        return stability
    pairs = check_integer("stability", stability, 1)
    if known is None:
        raise ValueError("stability as a number needs the training samples. Pass train=(X_train, y_train).")
    if reading.estimator is reading.model:
        raise ValueError("stability as a number needs an estimator, which can be fitted again; got a model.")
    return stability_selection(clone(reading.estimator), known[0], known[1], n_pairs=pairs, random_state=seed)


def _of_fit(reading: Reading) -> StabilitySelection | None:
    """Return the shares of halves that a strict selection has drawn by itself."""
    shares = reading.half_shares
    if shares is None:
        return None
    order, count, d = np.argsort(-shares, kind="stable"), len(reading.read), len(shares)
    return StabilitySelection(
        *(shares, STABLE, order[shares[order] >= STABLE], np.array(reading.names), count),
        *(count**2 / ((2 * STABLE - 1) * d), np.nan, False, DEFAULTS.n_halves),
    )


def selection_facts(seen: Evidence, told: Told, took_part: bool | None) -> dict[str, Any] | None:
    """Return the table of the features that were chosen; None if the model reads most of what there is.

    ``took_part`` is whether samples of the report were in the fit; None if that is not known.
    """
    samples, stability, columns, listed = seen.samples, seen.stability, told.columns, told.listed
    reading, folds = samples.reading, samples.reading.fold_shares is not None
    chosen = folds or stability is not None or len(reading.read) <= len(reading.names) // 4
    if not chosen or not columns or reading.is_pairs or reading.pipeline.encoding is not None:
        return None
    order = sorted(range(len(columns)), key=lambda c: -columns[c]["variance"])[:MOST]
    own = [int(listed[columns[c]["features"][0]]) for c in order]
    stands = _stand_ins(reading, own, samples.source)
    shares = {"stability": "chosen on halves"} if stability is not None else {}
    shares |= {"folds": "chosen by folds"} if folds else {}
    rows = []
    for column, j in zip((columns[c] for c in order), own, strict=True):
        shapes = "–" if column["effect"] is None else " ".join(column["effect"]["shapes"][:6])
        rows.append([column["name"], column["variance"], *(column[key] for key in shares), shapes, stands[j] or "–"])
    return {
        "title": f"The {len(reading.read):,} features it chose of {len(reading.names):,}",
        "head": ["feature", "importance", *shares.values(), "effect", "could stand for it"],
        "rows": rows,
        "shares": list(range(2, 2 + len(shares))),
        "text": _texts(reading, stability, took_part),
    }


def _texts(reading: Reading, stability: Any, took_part: bool | None) -> list[str]:
    """Return what the shares mean, and whether the quality counts the choice."""
    found = []
    if took_part is None:
        found.append(
            "If the samples of this report took part in the choice, its quality is overstated: choose within the folds "
            "of a cross-validation, or pass train and other samples."
        )
    elif took_part:
        found.append("Samples of this report took part in the choice: its quality is overstated.")
    else:
        found.append("The samples of this report took no part in the choice: its quality counts the choice, too.")
    if stability is None:
        found.append(
            "How often other samples would choose the same features was not measured: report(..., stability=5) draws "
            "halves of the training samples."
        )
    else:
        firm = int((stability.probabilities[reading.read] >= stability.threshold).sum())
        found.append(
            f"{firm} of {len(reading.read)} were chosen on at least {100 * stability.threshold:.0f}\u00a0% of "
            f"{stability.n_halves} halves of the samples; the others are one choice among several."
        )
    if reading.fold_shares is not None:
        found.append("Folds share most of their samples: new samples choose a feature less often than folds do.")
    return found


def _stand_ins(reading: Reading, own: list[int], table: Any) -> dict[int, str]:
    """Return for each feature those that are not read and correlate with it most, with their correlation."""
    count = int(max(20, ENTRIES // max(len(reading.names), 1)))
    rows = np.arange(0, table.shape[0], max(1, -(-table.shape[0] // count)))
    X = dense_rows(table, rows, np.arange(len(reading.names)))
    X = X - X.mean(axis=0)
    size = np.sqrt(np.square(X).sum(axis=0))
    correlation = (X[:, own].T @ X) / np.maximum(np.outer(size[own], size), 1e-300)
    correlation[:, reading.read] = 0.0
    found = {}
    for j, row in zip(own, correlation, strict=True):
        best = [k for k in np.argsort(-np.abs(row), kind="stable")[:STANDS] if abs(row[k]) >= ALIKE]
        found[j] = ", ".join(f"{reading.names[k]} ({rounded(row[k], 2):+.2f})" for k in best)
    return found
