"""Sums by which a page solves weights again after an edit by hand: as many numbers as pairs of basis vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.explain._edit import is_monotone, products
from spkm.inspection._reading import Reading

ROWS = 20_000  # samples that the sums are taken over, about
NUMBERS = 1000  # of all sums; a page of larger models does not edit


def edit_facts(reading: Reading, table: Any) -> dict[str, Any]:
    """Return for each member the lower triangle of :func:`spkm.explain._edit.products`, by rows.

    The sums are means over samples and hold no single sample. ``why`` is the reason if there are none, else empty.

    Parameters
    ----------
    reading : Reading
        The estimator.
    table : array, CSR or pairs
        Samples whose scores an edit changes least, in all columns.
    """
    members = reading.model.members
    sizes = [int(member.vector_rows.sum()) + 1 for member in members]
    why = ""
    if reading.is_pairs:
        why = "Models of pairs cannot be edited by hand."
    elif any(is_monotone(member) for member in members):
        why = "It is monotone by the signs of its weights, which an edit may change."
    elif sum(n * (n + 1) // 2 for n in sizes) > NUMBERS:
        why = "It has too many basis vectors to be edited in a page; spkm.explain.edited does it."
    if why:
        return {"members": None, "n": 0, "why": why}
    rows = table[np.arange(0, table.shape[0], max(1, table.shape[0] // ROWS))]
    weight = np.ones(rows.shape[0])
    found = []
    for member, n in zip(members, sizes, strict=True):
        M = products(member, np.flatnonzero(member.vector_rows), rows, weight)
        found.append({"sums": M[np.tril_indices(n)].tolist(), "intercept": bool(member.model.fit_intercept)})
    return {"members": found, "n": len(weight), "why": ""}
