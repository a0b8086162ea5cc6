"""How much a model needs each feature: by the loss without it, and by the variance it explains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._checks import check_integer, check_real
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._bars import over_refits
from spkm.explain._sobol import shares_of_variance, sobol_indices
from spkm.explain._structure import players_of, scaled_rows
from spkm.explain._table import Named, Pipeline, frames
from spkm.tables.read import target_array


@dataclass(frozen=True)
class Importances:
    """Importances of features, with bootstrap intervals. Made by :func:`importances`.

    Attributes
    ----------
    feature_names : tuple of str
        The d features, or groups.
    loss : float
        The model's loss on the samples; for several binary problems the mean.
    dropped, permuted : ndarray of shape (d,)
        Increase of the loss when the feature leaves the kernel; when its values are shuffled among the samples.
    dropped_interval, permuted_interval : ndarray of shape (d, 2)
        Percentile intervals of these over bootstrap resamples of the samples.
    sobol : ndarray of shape (d,)
        Total Sobol index: share of the scores' variance that the feature has a part in, if features were independent
        of one another; the mean over outputs, weighted by their variances.
    dropped_std, sobol_std : ndarray of shape (d,) or None
        Standard deviations of ``dropped`` and ``sobol`` over the refits of the model; None if it has none.
    """

    feature_names: tuple[str, ...]
    loss: float
    dropped: np.ndarray
    dropped_interval: np.ndarray
    permuted: np.ndarray
    permuted_interval: np.ndarray
    sobol: np.ndarray
    dropped_std: np.ndarray | None = None
    sobol_std: np.ndarray | None = None

    def frame(self) -> Any:
        """Return a pandas frame: a row per feature, the most important by ``dropped`` first."""
        columns = {
            "dropped": self.dropped,
            "dropped_low": self.dropped_interval[:, 0],
            "dropped_high": self.dropped_interval[:, 1],
            "permuted": self.permuted,
            "permuted_low": self.permuted_interval[:, 0],
            "permuted_high": self.permuted_interval[:, 1],
            "sobol": self.sobol,
        }
        if self.dropped_std is not None and self.sobol_std is not None:
            columns |= {"dropped_std": self.dropped_std, "sobol_std": self.sobol_std}
        frame = frames().DataFrame(columns, index=list(self.feature_names))
        return frame.sort_values("dropped", ascending=False, kind="stable")


def importances(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    groups: Mapping[str, Any] | None = None,
    n_repeats: int = 5,
    n_resamples: int = 200,
    confidence_level: float = 0.9,
    random_state: int = 0,
) -> Importances:
    """Return how much the loss grows without each feature, exactly and by permutation, and Sobol indices.

    Parameters
    ----------
    estimator : estimator, pipeline or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``.
    X, y : table of shape (n, d), targets
        Samples, best ones that the model was not fitted on; targets as ``fit`` takes them.
    groups : dict from a name to columns, default=None
        Columns of X that count as one feature. After a TableEncoder the columns of its table, unless others are given.
    n_repeats : int, default=5
        Number of permutations of each feature.
    n_resamples, confidence_level : int and float, default=200 and 0.9
        Bootstrap resamples of the samples, and the level of the intervals.
    random_state : int, default=0
        Seed of permutations and resamples.

    Returns
    -------
    importances : Importances
        Increases of the loss with their intervals, and Sobol indices.

    Notes
    -----
    A feature leaves the kernel when its factor in the metric is 0: distances and inner products are then those of the
    other features, and weights stay as they are. Nothing is fitted anew.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import importances
    >>> X, y = load_iris(return_X_y=True)
    >>> found = importances(SPKMClassifier(n_basis=3, random_state=0).fit(X, y), X, y)
    >>> int(found.dropped.argmax()) in (2, 3)
    True
    """
    pipeline = Pipeline.of(estimator)
    model, X, groups = pipeline.model, pipeline.rows(X), pipeline.groups(groups)
    names, columns = players_of(pipeline.names, groups)
    check_integer("n_repeats", n_repeats, 1)
    level = check_real("confidence_level", confidence_level, 0.0, 1.0, strict=True)
    rng = np.random.default_rng(random_state)
    n = X.shape[0]
    Y = _encoded(pipeline.estimator, model, y, n)
    counts = rng.multinomial(n, np.full(n, 1 / n), check_integer("n_resamples", n_resamples, 1))
    weights = np.vstack([np.ones(n), counts])
    read = [j for j, own in enumerate(columns) if np.isin(own, model.features_read()).any()]

    def dropped(model: FittedModel | ModelEnsemble, weights: np.ndarray) -> np.ndarray:
        problems, found = _problems(model, X, Y), np.zeros((len(names), len(weights)))
        for j in read:
            found[j] = _losses(problems, weights, without=columns[j])
        found[read] -= _losses(problems, weights)
        return found

    def sobol(model: FittedModel | ModelEnsemble) -> np.ndarray:
        named = Named(model, pipeline.names)
        return shares_of_variance(sobol_indices(named, X, groups=groups, random_state=random_state))

    problems = _problems(model, X, Y)
    before, permuted = _losses(problems, weights), np.zeros((len(names), len(weights)))
    for j in read:
        for _ in range(n_repeats):
            after = _losses(problems, weights, shuffled=columns[j], order=rng.permutation(n))
            permuted[j] += (after - before) / n_repeats
    found = [dropped(model, weights), permuted]
    tails = [50 * (1 - level), 50 * (1 + level)]
    intervals = [np.percentile(part[:, 1:], tails, axis=1).T for part in found]
    return Importances(
        *(names, float(before[0]), found[0][:, 0], intervals[0], permuted[:, 0], intervals[1], sobol(model)),
        dropped_std=over_refits(model, lambda refit: dropped(refit, weights[:1])[:, 0]),
        sobol_std=over_refits(model, sobol),
    )


@dataclass(frozen=True)
class _Problem:
    """One model, the samples as it gets them, its targets, and which samples are of its problem."""

    model: FittedModel
    Z: np.ndarray
    Y: np.ndarray
    rows: np.ndarray

    def scores(self, without: Any = (), shuffled: Any = (), order: Any = ()) -> np.ndarray:
        """Return the scores, on the scale of the loss.

        Some of the user's features may be out of the kernels, others have the values of the samples in another order.
        """
        Z, features = self.Z, np.asarray(self.model.features)
        metric = np.where(np.isin(features, without), 0.0, 1.0)
        if len(order):
            Z = np.where(np.isin(features, shuffled), Z[order], Z)
        F: Any = self.model.intercept
        for term in self.model.terms:
            product: Any = 1.0
            for view in term.views:
                c = view.columns
                product = product * view.kernel(Z[:, c], view.basis, metric[c])
            F = F + product @ term.weights
        target = self.model.target
        return (F[:, target.learned] - target.mean) / target.scale

    def losses(self, F: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the loss under each of the weightings of the samples."""
        w = weights * self.rows
        w = w / np.maximum(w.sum(axis=1, keepdims=True), 1e-300)
        loss = self.model.loss
        if loss.has_pointwise:
            return w @ loss.pointwise(self.Y, F).sum(axis=1)
        return np.array([loss.value(loss.totals(self.Y, F, row[:, None])) for row in w])


def _losses(problems: list[_Problem], weights: np.ndarray, **change: np.ndarray) -> np.ndarray:
    """Return the mean loss over the problems under each of the weightings, of features that a change is made to."""
    return np.mean([problem.losses(problem.scores(**change), weights) for problem in problems], axis=0)


def _encoded(estimator: Any, model: FittedModel | ModelEnsemble, y: Any, n: int) -> np.ndarray:
    """Return the targets as the model's loss takes them, (n, m)."""
    if model.loss.censored:
        if estimator is model:
            raise ValueError("Losses of censored times need the baseline hazard: give the estimator, not its model_.")
        times, at = estimator.times_of(y), estimator._baseline.at
        hazard = at(times.time) - (0.0 if times.entry is None else at(times.entry))
        y = np.where(times.event, np.maximum(hazard, 1e-300), -hazard)  # an event has a positive target
    y = target_array(y)
    if len(y) != n:
        raise ValueError(f"y must have an entry for each of the {n} samples of X; got {len(y)}.")
    labels = model.target.labels if model.target.of_classes else None
    if labels is not None and y.ndim == 1 and not np.isin(y, labels).all():
        unknown = np.setdiff1d(y, labels).tolist()
        raise ValueError(f"y must hold classes of the model, {labels.tolist()}; got {unknown}.")
    return model.target.encode(y)


def _problems(model: Any, X: Any, Y: np.ndarray) -> list[_Problem]:
    found = []
    for k, member in enumerate(model.members):
        own, rows = Y if model.is_joint else Y[:, [k]], np.ones(len(Y))
        if not model.is_joint and model.pairs is not None:
            first, second = model.pairs[k]
            own, rows = Y[:, [second]], ((Y[:, first] > 0) | (Y[:, second] > 0)).astype(float)
        found.append(_Problem(member, scaled_rows(member, X), own, rows))
    return found
