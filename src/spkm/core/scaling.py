"""Scaling of the features, and the domain that kernels demand of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from spkm._arrays import Matrix
from spkm.core.model import Term
from spkm.sources import PairTable, Scaling, fit_scaling


def scaling_for(terms: Sequence[Term], scale: bool | str, X: Matrix, weight: np.ndarray) -> Scaling | None:
    """Return the scaling of samples that ``scale`` (True, False or "common") sets; None leaves features alone."""
    return scaling_by(terms, scale, X.shape[1], lambda common: fit_scaling(X, weight, common))


def scaling_by(
    terms: Sequence[Term], scale: bool | str, n_features: int, fit: Callable[[bool], Scaling]
) -> Scaling | None:
    """Return the scaling ``fit(common)``, but for features that a kernel of counts reads: these stay as they are."""
    counts = columns_of_counts(terms, n_features)
    if len(counts) == n_features or not (isinstance(scale, str) or scale):
        return None
    scaling = fit(isinstance(scale, str))
    return scaling.leaving(counts) if len(counts) else scaling


def clipped_at_range(scaling: Scaling, X: np.ndarray, columns: list[int]) -> Scaling:
    """Return a scaling that clips some features at the range of the samples: the model is constant beyond it."""
    Z = replace(scaling, clip=np.full_like(scaling.clip, np.inf)).columns(np.array(columns))(X[:, columns])
    clip, middle = scaling.clip.copy(), scaling.middle.copy()
    low, high = Z.min(axis=0).astype(float), Z.max(axis=0).astype(float)
    clip[columns], middle[columns] = (high - low) / 2, (high + low) / 2
    return replace(scaling, clip=clip, middle=middle)


def columns_of_counts(terms: Sequence[Term], n_features: int) -> np.ndarray:
    """Return the features that kernels of counts read."""
    views = tuple(view for term in terms for view in term.views if view.kernel.nonnegative)
    return Term(1, views).columns(n_features) if views else np.zeros(0, dtype=int)


def check_domain(terms: Sequence[Term], X: Matrix | PairTable) -> None:
    """Raise ValueError if X has negative numbers in features of a kernel that needs non-negative ones."""
    columns = columns_of_counts(terms, X.shape[1])
    if len(columns) == 0:
        return
    table: Any = X if len(columns) == X.shape[1] else X[:, columns]
    low = table.min(axis=0)
    low = np.asarray(low.toarray() if sparse.issparse(low) else low).ravel()
    if low.min() < 0:
        kernel = next(view.kernel for term in terms for view in term.views if view.kernel.nonnegative)
        j = int(np.argmin(low))
        raise ValueError(
            f"kernel={kernel!r} needs non-negative features; feature {columns[j]} of X has minimum {low[j]:g}. "
            "Use fingerprints or counts as they are, or kernel='rbf'."
        )
