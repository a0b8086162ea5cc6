"""What depends on the kind of the features: their scaling, and what kernels demand of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from spkm.core.model import Term
from spkm.sources import Scaling, fit_scaling


def scaling_for(terms: tuple[Term, ...], scale: Any, X: Any, weight: np.ndarray) -> Scaling | None:
    """Return the scaling that ``scale`` (True, False or "common") asks for; None if features stay as they are.

    Features that a kernel of counts looks at do.
    """
    counts = columns_of_counts(terms, X.shape[1])
    if len(counts) == X.shape[1] or not (isinstance(scale, str) or scale):
        return None
    common = isinstance(scale, str)
    scaling = X.scaling(weight, common) if hasattr(X, "entities") else fit_scaling(X, weight, common)
    return scaling.leaving(counts) if len(counts) else scaling


def columns_of_counts(terms: Sequence[Term], n_features: int) -> np.ndarray:
    """Return the features that kernels of counts look at."""
    views = tuple(view for term in terms for view in term.views if view.kernel.nonnegative)
    return Term(1, views).columns(n_features) if views else np.zeros(0, dtype=int)


def check_domain(terms: Sequence[Term], X: Any) -> None:
    """Raise ValueError where a kernel wants features without numbers below zero and X has some."""
    columns = columns_of_counts(terms, X.shape[1])
    if len(columns) == 0:
        return
    low = (X if len(columns) == X.shape[1] else X[:, columns]).min(axis=0)
    low = np.asarray(low.toarray() if sparse.issparse(low) else low).ravel()
    if low.min() < 0:
        kernel = next(view.kernel for term in terms for view in term.views if view.kernel.nonnegative)
        j = int(np.argmin(low))
        raise ValueError(
            f"kernel={kernel!r} needs non-negative features; feature {columns[j]} of X has minimum {low[j]:g}. "
            "Use fingerprints or counts as they are, or kernel='rbf'."
        )
