"""New samples against those of the fit: are there any unlike all that was seen, or out of range?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spkm.persistence._pipelines import before_last, last_of, names_before_last

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
UNLIKE = 0.01  # share of the samples of the fit that are as unlike the basis vectors as what counts as unlike
MOST_SAMPLES = 10_000  # that a summary looks at; beyond, evenly spaced ones


@dataclass(frozen=True)
class Drift:
    """What :meth:`spkm.SPKMClassifier.monitor` finds.

    Attributes
    ----------
    n_samples : int
        Number of new samples.
    unlike : float or None
        Share of them whose largest similarity to a basis vector is below that of 99 % of the samples of the fit: 0.01
        is to be expected. None where similarities have no largest value, as those of a linear kernel.
    quantiles, similarity, expected : tuple of float, or None
        Quantiles of the largest similarity, in new samples and in those of the fit.
    shift : float or None
        Largest difference between the distributions of the largest similarity, new and of the fit, at those quantiles:
        0 where they are the same, 1 where they share nothing.
    features : dict of tuples
        For each feature that the model reads: its ``name``, and the shares of new samples ``below`` and ``above`` the
        range of the fit, and ``clipped``, so far out that the model no longer follows.
    """

    n_samples: int
    unlike: float | None
    quantiles: tuple[float, ...]
    similarity: tuple[float, ...] | None
    expected: tuple[float, ...] | None
    shift: float | None
    features: dict[str, tuple[Any, ...]]

    def frame(self) -> Any:
        """Return the features as a pandas DataFrame, one row for each."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Frames need the package pandas: pip install 'spkm[frames]'.") from error
        return pd.DataFrame(self.features)


def summarize(estimator: Any, X: Any) -> dict[str, Any]:
    """Return what :func:`monitor` needs of the samples of a fit: ranges, and quantiles of the largest similarity.

    Parameters
    ----------
    estimator : fitted SPKM estimator of samples, or Pipeline
        The model; of a pipeline the last step is watched, and features are those that it sees.
    X : array-like, DataFrame or CSR of shape (n_samples, n_features)
        Samples of the fit.

    Returns
    -------
    summary : dict
        ``low`` and ``high`` of the features that the model reads, and ``similarity``, quantiles or None.
    """
    check_is_fitted(estimator)
    estimator, rows = _seen(estimator, X)
    if rows.shape[0] > MOST_SAMPLES:
        rows = rows[np.linspace(0, rows.shape[0] - 1, MOST_SAMPLES).astype(int)]
    read = _dense(rows, estimator.selected_features_)
    largest = _largest(estimator.model_, rows)
    return {
        "low": read.min(axis=0),
        "high": read.max(axis=0),
        "similarity": None if largest is None else np.quantile(largest, QUANTILES),
    }


def monitor(estimator: Any, X: Any, reference: Any = None) -> Drift:
    """Compare new samples with those of the fit, as a model sees them.

    Parameters
    ----------
    estimator : fitted SPKM estimator of samples, or Pipeline
        The model; of a pipeline the last step is watched, and features are those that it sees.
    X : array-like, DataFrame or CSR of shape (n_samples, n_features)
        New samples.
    reference : samples or dict, default=None
        The samples of the fit, or their :func:`summarize`. None is what ``estimator.save(path, data=samples)`` left in
        the file that the estimator was loaded from.

    Returns
    -------
    drift : Drift
        Shares of new samples that are unlike those of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=2, random_state=0).fit(X, y)
    >>> same, other = model.monitor(X, reference=X), model.monitor(3 * X, reference=X)
    >>> same.unlike <= 0.011, other.unlike > 0.5, max(other.features["above"]) > 0.5
    (True, True, True)
    """
    check_is_fitted(estimator)
    if reference is None:
        reference = getattr(last_of(estimator), "training_summary_", None)
        if reference is None:
            raise ValueError(
                "reference must be given: the samples of the fit, or their summary. An estimator that was saved with "
                "data=samples and loaded has a summary of its own."
            )
    is_summary = isinstance(reference, dict) and "similarity" in reference
    summary = reference if is_summary else summarize(estimator, reference)
    names = names_before_last(estimator)
    estimator, rows = _seen(estimator, X)
    largest, expected = _largest(estimator.model_, rows), summary["similarity"]
    told = largest is not None and expected is not None
    return Drift(
        n_samples=int(rows.shape[0]),
        unlike=float(np.mean(largest < expected[QUANTILES.index(UNLIKE)])) if told else None,
        quantiles=QUANTILES,
        similarity=tuple(np.quantile(largest, QUANTILES).tolist()) if told else None,  # type: ignore[arg-type]
        expected=tuple(expected.tolist()) if told else None,
        shift=_shift(largest, expected) if told else None,  # type: ignore[arg-type]
        features=_ranges(estimator, rows, summary, names),
    )


def _seen(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the model at the end of a pipeline, and the samples that it sees."""
    return last_of(estimator), last_of(estimator)._rows(before_last(estimator, X))


def _largest(model: Any, rows: Any) -> np.ndarray | None:
    """Return the largest similarity of every sample, over terms whose kernels have a bound; None if no term has."""
    members = model.members
    bounded = []
    for term in (term for member in members for term in member.terms):
        bounds = [view.kernel.largest_diagonal() for view in term.views]
        has_bound = all(bound is not None and np.isfinite(bound) for bound in bounds)
        bounded += [has_bound] * len(term.weights)
    return model.similarities(rows)[:, bounded].max(axis=1) if any(bounded) else None


def _shift(largest: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference of the distributions at quantiles; equal values count for neither side."""
    up = [p - np.mean(largest <= q) for p, q in zip(QUANTILES, expected, strict=True)]
    down = [np.mean(largest < q) - p for p, q in zip(QUANTILES, expected, strict=True)]
    return float(max(0.0, *up, *down))


def _ranges(estimator: Any, rows: Any, summary: dict[str, Any], given: Any) -> dict[str, tuple[Any, ...]]:
    read = estimator.selected_features_
    values = _dense(rows, read)
    low, high = _bounds(estimator.model_)
    clipped = (values < low[read]) | (values > high[read])
    shares = {
        "below": np.mean(values < summary["low"], axis=0),
        "above": np.mean(values > summary["high"], axis=0),
        "clipped": np.mean(clipped, axis=0),
    }
    names = tuple(str(name) for name in estimator.get_feature_names_out(given))
    return {"name": names, **{key: tuple(share.tolist()) for key, share in shares.items()}}


def _bounds(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of every feature beyond which some member clips it, in the user's units."""
    low, high = np.full(model.n_features, -np.inf), np.full(model.n_features, np.inf)
    for member in model.members:
        if member.scaling is not None:
            s, at = member.scaling, member.features
            low[at] = np.maximum(low[at], s.inverse(s.middle - s.clip))
            high[at] = np.minimum(high[at], s.inverse(s.middle + s.clip))
    return low, high


def _dense(rows: Any, columns: np.ndarray) -> np.ndarray:
    part = rows[:, columns]
    return part.toarray() if sparse.issparse(part) else part
