"""How much a model needs each feature: by the loss without it, and by the variance it explains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_integer, check_real
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._bars import over_refits
from spkm.explain._sobol import shares_of_variance, sobol_indices
from spkm.explain._structure import players_of, scaled_rows
from spkm.explain._table import Named, Pipeline, frames, model_of, names_of, table_of
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
        Samples, best ones that the model was not fitted on.
    groups : dict from a name to columns, default=None
        Columns of X that count as one feature. After a TableEncoder the columns of its table, unless others are given.
    n_repeats : int, default=5
        Number of permutations of each feature.
    n_resamples, confidence_level : int and float, default=200 and 0.9
        Bootstrap resamples of the samples, and the level of the intervals.
    random_state : int, default=0
        Seed of permutations and resamples.

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
    estimator, X, groups = pipeline.named, pipeline.table(X), pipeline.groups(groups)
    model = model_of(estimator)
    X = table_of(X, estimator, model.n_features, "X")
    names, columns = players_of(names_of(estimator, model.n_features), groups)
    check_integer("n_repeats", n_repeats, 1)
    level = check_real("confidence_level", confidence_level, 0.0, 1.0, strict=True)
    rng = np.random.default_rng(random_state)
    n = X.shape[0]
    Y = _encoded(pipeline.estimator, model, y, n)
    problems = _problems(model, X, Y)
    counts = rng.multinomial(n, np.full(n, 1 / n), check_integer("n_resamples", n_resamples, 1))
    weights = np.vstack([np.ones(n), counts])
    before = _losses(problems, weights, lambda problem: problem.Z, None)
    read = set(model.features_read().tolist())
    found = np.zeros((2, len(names), len(weights)))
    for j, members in enumerate(columns):
        if not read & set(members.tolist()):
            continue
        found[0, j] = _losses(problems, weights, lambda problem: problem.Z, members) - before
        for _ in range(n_repeats):
            order = rng.permutation(n)
            after = _losses(problems, weights, lambda problem, o=order, c=members: problem.shuffled(c, o), None)  # type: ignore[misc]
            found[1, j] += (after - before) / n_repeats
    tails = [50 * (1 - level), 50 * (1 + level)]
    intervals = np.percentile(found[:, :, 1:], tails, axis=2)
    seen = names_of(estimator, model.n_features)
    return Importances(
        names,
        float(before[0]),
        found[0, :, 0],
        intervals[:, 0].T,
        found[1, :, 0],
        intervals[:, 1].T,
        _sobol_shares(model, seen, X, groups, random_state),
        over_refits(model, lambda refit: _dropped(refit, X, Y, columns)),
        over_refits(model, lambda refit: _sobol_shares(refit, seen, X, groups, random_state)),
    )


def _dropped(
    model: FittedModel | ModelEnsemble, X: TableLike, Y: np.ndarray, columns: Sequence[np.ndarray]
) -> np.ndarray:
    """Return by how much the loss grows when each feature leaves the kernel, (d,)."""
    problems, once = _problems(model, X, Y), np.ones((1, len(Y)))
    before = _losses(problems, once, lambda problem: problem.Z, None)[0]
    return np.array([_losses(problems, once, lambda problem: problem.Z, own)[0] - before for own in columns])


def _sobol_shares(
    model: FittedModel | ModelEnsemble,
    names: tuple[str, ...],
    X: TableLike,
    groups: Mapping[str, Any] | None,
    random_state: int,
) -> np.ndarray:
    """Return the total Sobol index of each feature, the mean over outputs weighted by their variances, (d,)."""
    return shares_of_variance(sobol_indices(Named(model, names), X, groups=groups, random_state=random_state))


@dataclass(frozen=True)
class _Problem:
    """One model, the samples as it gets them, its targets, and which samples are of its problem."""

    model: FittedModel
    Z: np.ndarray
    Y: np.ndarray
    rows: np.ndarray

    def places(self, columns: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.isin(self.model.features, columns))

    def shuffled(self, columns: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Return the samples with the values of some of the user's features taken from others."""
        Z = self.Z.copy()
        places = self.places(columns)
        Z[:, places] = self.Z[order][:, places]
        return Z

    def scores(self, Z: np.ndarray, without: np.ndarray | None) -> np.ndarray:
        """Return the scores, on the scale of the loss, with some of the user's features out of the kernels."""
        metric = np.ones(Z.shape[1])
        if without is not None:
            metric[self.places(without)] = 0.0
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


def _losses(
    problems: list[_Problem], weights: np.ndarray, table: Callable[[_Problem], np.ndarray], without: np.ndarray | None
) -> np.ndarray:
    return np.mean([p.losses(p.scores(table(p), without), weights) for p in problems], axis=0)


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
    everywhere = np.ones(len(Y))
    if model.is_joint:
        return [_Problem(model, scaled_rows(model, X), Y, everywhere)]
    found = []
    for k, member in enumerate(model.members):
        if model.pairs is None:
            own, rows = Y[:, [k]], everywhere
        else:
            first, second = model.pairs[k]
            own, rows = Y[:, [second]], ((Y[:, first] > 0) | (Y[:, second] > 0)).astype(float)
        found.append(_Problem(member, scaled_rows(member, X), own, rows))
    return found
