"""New samples against those of the fit: is the distribution of any column, of the scores or of similarities another?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spkm.persistence._distributions import (
    CHANCE,
    binned,
    chance_shift,
    checked_summary,
    exceeds,
    level_shares,
    lost_levels,
    new_levels,
    numbers_summary,
    shift_of,
)
from spkm.tables.columns import LevelPlan, to_numbers
from spkm.tables.encoder import cells_of
from spkm.tables.pipelines import before_last, columns_read, encoder_of, last_of, names_before_last

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from spkm._arrays import TableLike
    from spkm.core.fitted import FittedModel, ModelEnsemble

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
UNLIKE = 0.01  # share of the samples of the fit that are as unlike the basis vectors as what counts as unlike
MOST_SAMPLES = 10_000  # that a summary uses; beyond, evenly spaced ones


@dataclass(frozen=True)
class Drift:
    """Result of :meth:`spkm.SPKMClassifier.monitor`. ``print(drift)`` names the columns that have moved.

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
    columns : dict of tuples
        For each column of the table that the model reads: its ``name``; ``psi``, the population stability index
        between its distributions, and ``p_value``, how likely so much is by chance; ``missing`` and
        ``missing_before``, shares of missing values, new and of the fit; ``unknown`` and ``unknown_before``, shares of
        levels without a feature of their own; ``new_levels``, pairs of a level and its share; ``lost_levels``. Empty
        where the summary is one of an earlier version.
    scores : dict of tuples
        For each score of the model: its ``name``, ``psi``, ``p_value``, ``mean`` and ``mean_before``; the last one is
        the largest similarity, where there is one.
    """

    n_samples: int
    unlike: float | None
    quantiles: tuple[float, ...]
    similarity: tuple[float, ...] | None
    expected: tuple[float, ...] | None
    shift: float | None
    features: dict[str, tuple[Any, ...]]
    columns: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    scores: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def frame(self) -> Any:
        """Return the columns as a pandas DataFrame, one row for each; the features, if the summary has no columns."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Frames need the package pandas: pip install 'spkm[frames]'.") from error
        return pd.DataFrame(self.columns or self.features)

    def alarms(
        self, *, psi: float = 0.2, unlike: float = 0.05, outside: float = 0.05, shift: float = 0.2
    ) -> tuple[str, ...]:
        """Return what is beyond limits by more than chance explains, in words; the columns are named.

        Parameters
        ----------
        psi : float, default=0.2
            Largest population stability index of a column, of a score or of the similarity.
        unlike : float, default=0.05
            Largest share of samples that are unlike all that was seen.
        outside : float, default=0.05
            Largest share of samples out of the range of a feature, with levels that the fit never had, or with missing
            values in a column that had none.
        shift : float, default=0.2
            Largest difference between the distributions of the similarity.
        """
        n, found = self.n_samples, []
        if self.unlike is not None and exceeds(self.unlike, n, unlike):
            found.append(f"{self.unlike:.1%} of the samples are unlike all that was seen (limit {unlike:.1%})")
        if self.shift is not None and self.shift > shift + chance_shift(n):
            found.append(f"the distribution of the similarity moved by {self.shift:.2f} (limit {shift:.2f})")
        for one in records(self.features):
            share = one["below"] + one["above"]
            if exceeds(share, n, outside):
                found.append(f"{one['name']}: {share:.1%} out of the range of the fit (limit {outside:.1%})")
        for one in records(self.columns):
            found += _column_alarms(one, n, psi, outside, len(self.columns["name"]))
        for one in records(self.scores):
            if _moved(one, psi, len(self.scores["name"])):
                means = f"mean {one['mean']:.3g}, in the fit {one['mean_before']:.3g}"
                found.append(f"{one['name']}: the distribution moved, PSI {one['psi']:.2f} (limit {psi:g}); {means}")
        return tuple(found)

    def __str__(self) -> str:
        found = self.alarms()
        return "\n".join([f"{self.n_samples:,} samples", *(found or ["nothing beyond the limits"])])


def records(columns: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return columns of a table as a list of its rows."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _moved(one: dict[str, Any], limit: float, n_tests: int) -> bool:
    return one["psi"] > limit and one["p_value"] < CHANCE / n_tests


def _column_alarms(one: dict[str, Any], n: int, psi: float, outside: float, n_tests: int) -> list[str]:
    found = []
    for what, text in (("missing", "missing"), ("unknown", "unknown levels")):
        if one[f"{what}_before"] == 0 and exceeds(one[what], n, outside):
            found.append(f"{one['name']}: {one[what]:.1%} {text} (limit {outside:.1%})")
    if _moved(one, psi, n_tests):
        more = [f"new level {level!r} ({share:.1%})" for level, share in one["new_levels"]]
        more += [f"no sample of the level {level!r}" for level in one["lost_levels"]]
        text = "".join(f"; {part}" for part in more)
        found.append(f"{one['name']}: the distribution moved, PSI {one['psi']:.2f} (limit {psi:g}){text}")
    return found


def summarize(estimator: BaseEstimator, X: TableLike) -> dict[str, Any]:
    """Return what :func:`monitor` needs of the samples of a fit: distributions, and no sample.

    Parameters
    ----------
    estimator : fitted SPKM estimator of samples, or Pipeline
        The model; of a pipeline the last step is watched, and the columns of the table behind an encoder.
    X : array-like, DataFrame or CSR of shape (n_samples, n_features)
        Samples of the fit.

    Returns
    -------
    summary : dict
        ``low`` and ``high`` of the features that the model reads; ``similarity``, quantiles of the largest similarity
        or None; ``n``, the number of samples; deciles and shares of the bins between them of the ``numbers`` and of
        the ``scores``, ``means`` of these, and shares of the ``levels`` of each category.
    """
    check_is_fitted(estimator)
    last, rows, chosen = _seen(estimator, X, MOST_SAMPLES)
    read = _dense(rows, last.selected_features_)
    largest = _largest(last.model_, rows)
    _, numbers, categories = _columns(estimator, X, read, chosen)
    scores = _scores(last.model_, rows, largest)[1]
    return {
        "low": read.min(axis=0),
        "high": read.max(axis=0),
        "similarity": None if largest is None else np.quantile(largest, QUANTILES),
        "n": int(rows.shape[0]),
        "numbers": numbers_summary(numbers),
        "levels": [level_shares(cells, levels)[0] for cells, levels in categories],
        "scores": numbers_summary(scores),
        "means": scores.mean(axis=0),
    }


def monitor(estimator: BaseEstimator, X: TableLike, reference: Any = None) -> Drift:
    """Compare new samples with those of the fit, as a model gets them.

    Parameters
    ----------
    estimator : fitted SPKM estimator of samples, or Pipeline
        The model; of a pipeline the last step is watched, and the columns of the table behind an encoder.
    X : array-like, DataFrame or CSR of shape (n_samples, n_features)
        New samples.
    reference : samples or dict, default=None
        The samples of the fit, or their :func:`summarize`. None is what ``estimator.save(path, data=samples)`` left in
        the file that the estimator was loaded from.

    Returns
    -------
    drift : Drift
        How far columns, scores and similarities are from those of the fit; ``print(drift)`` names what moved.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SPKMClassifier(n_basis=2, random_state=0).fit(X, y)
    >>> model.monitor(X, reference=X).alarms()
    ()
    >>> moved = X.assign(**{"mean texture": X["mean texture"].clip(20, 25)})  # all of it inside the range of the fit
    >>> print(model.monitor(moved, reference=X))
    569 samples
    mean texture: the distribution moved, PSI 4.51 (limit 0.2)
    """
    check_is_fitted(estimator)
    if reference is None:
        reference = vars(last_of(estimator)).get("training_summary_")
        if reference is None:
            raise ValueError(
                "reference must be given: the samples of the fit, or their summary. An estimator that was saved with "
                "data=samples and loaded has a summary of its own."
            )
    is_summary = isinstance(reference, dict) and "similarity" in reference
    summary = reference if is_summary else summarize(estimator, reference)
    last, rows, chosen = _seen(estimator, X)
    read = _dense(rows, last.selected_features_)
    largest, expected = _largest(last.model_, rows), summary["similarity"]
    told = largest is not None and expected is not None
    return Drift(
        n_samples=int(rows.shape[0]),
        unlike=float(np.mean(largest < expected[QUANTILES.index(UNLIKE)])) if told else None,
        quantiles=QUANTILES,
        similarity=tuple(np.quantile(largest, QUANTILES).tolist()) if told else None,  # type: ignore[arg-type]
        expected=tuple(expected.tolist()) if told else None,
        shift=_shift(largest, expected) if told else None,  # type: ignore[arg-type]
        features=_ranges(last, read, summary, names_before_last(estimator)),
        columns=_column_shifts(estimator, _columns(estimator, X, read, chosen), summary, len(read)),
        scores=_score_shifts(*_scores(last.model_, rows, largest), summary),
    )


def _seen(estimator: BaseEstimator, X: TableLike, most: int | None = None) -> tuple[Any, Any, np.ndarray]:
    """Return the model at the end of a pipeline, the samples that it gets, at most so many, and which these are."""
    last = last_of(estimator)
    rows = last._rows(before_last(estimator, X))
    chosen = np.arange(rows.shape[0])
    if most is not None and len(chosen) > most:
        chosen = np.linspace(0, len(chosen) - 1, most).astype(int)
        rows = rows[chosen]
    return last, rows, chosen


def _columns(
    estimator: BaseEstimator, X: TableLike, read: np.ndarray, chosen: np.ndarray
) -> tuple[list[Any], np.ndarray, list[Any]]:
    """Return the plans of the columns of the table that are read, their numbers, (n, d), and cells of categories.

    Without an encoder there are no plans, and the numbers are those of the features that are read.
    """
    encoder, names = encoder_of(estimator), columns_read(estimator)
    if encoder is None or names is None:
        return [], read, []
    plans = {plan.column: plan for plan in encoder.plans_ if plan is not None}
    cells = cells_of(encoder, X)
    numbers, categories = [], []
    for name in names:
        plan, values = plans[name], cells[name][chosen]
        if isinstance(plan, LevelPlan):
            categories.append((values, plan.levels))
        else:
            numbers.append(to_numbers(values, name, plan.boolean))
    stacked = np.column_stack(numbers) if numbers else np.empty((len(chosen), 0))
    return [plans[name] for name in names], stacked, categories


def _column_shifts(
    estimator: BaseEstimator, columns: tuple[list[Any], np.ndarray, list[Any]], summary: dict[str, Any], n: int
) -> dict[str, tuple[Any, ...]]:
    """Return how far each column of the table is from that of the fit; nothing from a summary without columns."""
    plans, numbers, categories = columns
    before, levels = summary.get("numbers"), summary.get("levels")
    if before is None:
        return {}
    fits = checked_summary(before, numbers.shape[1]) and len(levels or ()) == len(categories)
    if not fits or any(len(own) != len(of[1]) + 2 for own, of in zip(levels or (), categories, strict=True)):
        raise ValueError("reference must be a summary of samples of this model; it has other columns.")
    now, n_before = binned(numbers, before["edges"]), int(summary["n"])
    last = last_of(estimator)
    given = names_before_last(estimator)
    names = [plan.column for plan in plans] or [str(name) for name in last.get_feature_names_out(given)]
    is_level = [isinstance(plan, LevelPlan) for plan in plans] or [False] * len(names)
    numbered = iter(zip(before["shares"], now, strict=True))
    leveled = iter(zip(levels or (), categories, strict=True))
    found = []
    for name, category in zip(names, is_level, strict=True):
        one = {"unknown": 0.0, "unknown_before": 0.0, "new_levels": (), "lost_levels": ()}
        if category:
            old, (cells, own) = next(leveled)
            new, others = level_shares(cells, own)
            one["unknown"], one["unknown_before"] = float(new[-2]), float(old[-2])
            one["new_levels"] = new_levels(others, n, float(old[-2]))
            one["lost_levels"] = lost_levels(own, old, new, n)
        else:
            old, new = next(numbered)
        moved = shift_of(old, n_before, new, n)
        shares = {"missing": float(new[-1]), "missing_before": float(old[-1])}
        found.append({"name": name, **moved._asdict(), **shares, **one})
    return _in_columns(found)


def _in_columns(rows: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Return rows of a table as a dict of its columns."""
    return {key: tuple(row[key] for row in rows) for key in rows[0]} if rows else {}


def _scores(model: Any, rows: Any, largest: np.ndarray | None) -> tuple[list[str], np.ndarray]:
    """Return the scores, and the largest similarity where there is one, with their names."""
    F = model.scores(rows)
    names = list(model.target.names) if model.is_joint else list(model.names)
    named = ["score"] if F.shape[1] == 1 else [f"score of {name}" for name in names]
    if largest is None:
        return named, F
    return [*named, "similarity"], np.column_stack([F, largest])


def _score_shifts(names: list[str], values: np.ndarray, summary: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    before = summary.get("scores")
    if before is None:
        return {}
    if not checked_summary(before, values.shape[1]) or np.shape(summary["means"]) != (values.shape[1],):
        raise ValueError("reference must be a summary of samples of this model; it has other scores.")
    now = binned(values, before["edges"])
    moved = [shift_of(old, int(summary["n"]), new, len(values)) for old, new in zip(before["shares"], now, strict=True)]
    means = zip(values.mean(axis=0).tolist(), np.asarray(summary["means"]).tolist(), strict=True)
    rows = [
        {"name": name, **one._asdict(), "mean": mean, "mean_before": usual}
        for name, one, (mean, usual) in zip(names, moved, means, strict=True)
    ]
    return _in_columns(rows)


def _largest(model: FittedModel | ModelEnsemble, rows: Any) -> np.ndarray | None:
    """Return the largest similarity of every sample, over terms whose kernels have a bound; None if no term has."""
    bounded = []
    for term in (term for member in model.members for term in member.terms):
        bounds = [view.kernel.largest_diagonal() for view in term.views]
        has_bound = all(bound is not None and np.isfinite(bound) for bound in bounds)
        bounded += [has_bound] * len(term.weights)
    return model.similarities(rows)[:, bounded].max(axis=1) if any(bounded) else None


def _shift(largest: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference of the distributions at quantiles; equal values count for neither side."""
    up = [p - np.mean(largest <= q) for p, q in zip(QUANTILES, expected, strict=True)]
    down = [np.mean(largest < q) - p for p, q in zip(QUANTILES, expected, strict=True)]
    return float(max(0.0, *up, *down))


def _ranges(
    estimator: BaseEstimator, values: np.ndarray, summary: dict[str, Any], given: object
) -> dict[str, tuple[Any, ...]]:
    low, high = (bound[estimator.selected_features_] for bound in _bounds(estimator.model_))
    shares = {
        "below": np.mean(values < summary["low"], axis=0),
        "above": np.mean(values > summary["high"], axis=0),
        "clipped": np.mean((values < low) | (values > high), axis=0),
    }
    names = tuple(str(name) for name in estimator.get_feature_names_out(given))
    return {"name": names, **{key: tuple(share.tolist()) for key, share in shares.items()}}


def _bounds(model: FittedModel | ModelEnsemble) -> tuple[np.ndarray, np.ndarray]:
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
