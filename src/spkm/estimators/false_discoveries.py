"""A selection whose false discovery rate is controlled: a model compares every feature with a copy of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm, rankdata
from sklearn.base import BaseEstimator, clone

from spkm._arrays import TableLike, TargetLike, WeightLike
from spkm._checks import check_choice, check_real, generator, warn_user
from spkm.selection import (
    additive_importances,
    knockoff_threshold,
    knockoffs,
    misfit_of_copies,
)
from spkm.tables.read import Table, holds_labels, read_table, target_array

MOST_FEATURES = 2_000  # the copies take a time of d^3: minutes from here on
DEPENDENT = 1e-8  # least eigenvalue of a correlation matrix, below which it is one of exactly dependent columns


def controlled_selection(
    selector: Any, X: TableLike, y: TargetLike | None, sample_weight: WeightLike
) -> dict[str, Any]:
    """Return the fitted attributes of an :class:`spkm.SPKMSelector` with ``fdr``."""
    estimator, offset = selector.estimator, selector.knockoff_offset
    fdr = check_real("fdr", selector.fdr, most=1.0, strict=True)
    check_choice("knockoff_offset", offset, (0, 1))
    if estimator is not None and estimator.get_params(deep=False).get("feature_groups") is not None:
        raise ValueError("fdr has copies of single features, not of groups; leave feature_groups of the estimator out.")
    X, Y, weight, table = dense_samples("fdr", selector, X, y, sample_weight)
    _check_size(X, fdr, offset)
    rng = generator(selector.random_state)
    d = X.shape[1]
    first = rng.random(d) < 0.5  # whether a feature stands before its copy: no rule can prefer the one or the other
    copies = knockoffs(X, rng)
    both = np.hstack([np.where(first, X, copies), np.where(first, copies, X)])
    if estimator is None:
        importances = additive_importances(both, Y, weight, rng)
    else:
        importances = clone(estimator).fit(both, table.y, sample_weight=sample_weight).feature_importances_
    W = np.where(first, 1.0, -1.0) * (importances[:d] - importances[d:])
    threshold = knockoff_threshold(W, fdr, offset)
    if not np.isfinite(threshold):
        _warn_of_nothing(fdr, offset)
    return {
        **table.attributes,
        "support_": W >= threshold,
        "knockoff_statistics_": W,
        "knockoff_threshold_": threshold,
        "knockoff_misfit_": _checked_copies(X, copies, table),
    }


def _warn_of_nothing(fdr: float, offset: int) -> None:
    least = int(np.ceil(1 / fdr))
    fewest = (
        f"no set of at least {least} features, the fewest that fdr={fdr:g} allows, stands out from its copies. With "
        f"fewer than {least} features to be found, knockoff_offset=0 has a weaker promise that one feature can meet."
        if offset
        else "no feature stands out from the copies."
    )
    warn_user(
        f"No feature is selected: {fewest} More samples, a larger fdr, or spkm.stability_selection, which bounds "
        "the number of false features, may find more.",
        UserWarning,
    )


def _checked_copies(X: np.ndarray, copies: np.ndarray, table: Table) -> float:
    """Return the largest sign of copies that are no knockoffs, over its limit; warn above 1."""
    misfit = misfit_of_copies(X, copies)
    if misfit.z > misfit.limit:
        names = table.attributes.get("feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
        warn_user(
            f"The false discovery rate is not controlled: {names[misfit.feature]} depends on {names[misfit.other]} in "
            f"a way that its copy does not (z = {misfit.z:.1f}; knockoffs stay below {misfit.limit:.1f}), so the "
            "features have no Gaussian copula with the estimated correlations. Leave out features that are functions "
            "of others or have few distinct values, or use spkm.stability_selection, which assumes no distribution.",
            UserWarning,
        )
    return misfit.z / misfit.limit


def dense_samples(
    what: str, estimator: BaseEstimator, X: TableLike, y: TargetLike | None, sample_weight: WeightLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Table]:
    """Return samples, targets for least squares and weights, checked; ``what`` it is that needs them dense."""
    table = read_table(estimator, X, y, sample_weight, multi_output=True)
    if sparse.issparse(table.X):
        raise ValueError(f"{what} needs a dense X, as it ranks the values of every feature. Give X.toarray().")
    return np.asarray(table.X, dtype=np.float64), _columns_of(table.y), table.weight, table


def _check_size(X: np.ndarray, fdr: float, offset: int) -> None:
    n, d = X.shape
    if d > MOST_FEATURES:
        raise ValueError(
            f"fdr takes at most {MOST_FEATURES:,} features, as their copies take a time of d³; got {d:,}. Choose "
            "features on other samples first."
        )
    if fdr * d < offset:
        raise ValueError(
            f"fdr must be at least 1 / {d}, one over the number of features: fewer than 1 / fdr features are never "
            f"selected; got {fdr:g}."
        )
    varied = X[:, np.ptp(X, axis=0) > 0]
    if n <= d:
        warn_user(
            f"{n} samples are too few to estimate the correlations of {d} features well: the false discovery rate "
            "holds only approximately.",
            UserWarning,
        )
    elif varied.shape[1] and np.linalg.eigvalsh(np.corrcoef(varied.T))[0] < DEPENDENT:
        warn_user(
            "Some features are exactly a combination of others, such as the columns of a one-hot code: their copies "
            "do not meet the condition of the guarantee. Leave one column of each code out.",
            UserWarning,
        )


def _columns_of(y: np.ndarray) -> np.ndarray:
    """Return targets for least squares: normal scores of numbers, an indicator of each class but the first."""
    y = target_array(y)
    if not holds_labels(y):
        ranks = rankdata(y.reshape(len(y), -1), axis=0)  # equal numbers share one: zeros of counts must not be ordered
        return np.asarray(norm.ppf(ranks / (len(y) + 1)))
    if y.ndim == 2:
        return y.astype(float)
    labels = np.unique(y)
    return (y[:, None] == labels[1 if len(labels) == 2 else 0 :]).astype(float)
