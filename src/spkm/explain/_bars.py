"""Error bars: how far a number that is read off a model varies over refits of its samples.

Refits have random weights of the samples, so that they vary as models of other samples of the same kind would. Bias is
not in the bars: what all of these models smooth away, none of them shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.base import BaseEstimator

from spkm._arrays import RandomState, TableLike, TargetLike, WeightLike
from spkm._checks import check_real
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._table import basis_labels, frames, model_of, output_names
from spkm.tables.pipelines import before_last, last_of, with_last

NUMBERS = ("scores", "base_values", "values", "contributions")  # of an explanation that have error bars
LEVEL = 0.9  # of intervals, where none is given
MEANING = (
    "Bars show how much the model would vary over other samples of the same kind ({n} refits with random weights); "
    "they do not hold the bias that all of these models share."
)


def half_width(n_refits: int, level: float) -> float:
    """Return the half-width of an interval over the standard deviation of ``n_refits``: a quantile of Student's t."""
    level = check_real("confidence_level", level, 0.0, 1.0, strict=True)
    return float(stdtrit(n_refits - 1, 0.5 + 0.5 * level))


def over_refits(model: FittedModel | ModelEnsemble, read: Callable[[Any], np.ndarray]) -> np.ndarray | None:
    """Return the standard deviation over refits of what ``read`` makes of a model; None if it has no refits."""
    return deviation(model, [read(refit) for refit in model.refits]) if model.refits else None


def deviation(model: FittedModel | ModelEnsemble, found: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Return the standard deviation of numbers that were read off each refit of a model."""
    return model.refit_spread * np.std(found, axis=0, ddof=1)


def needed_refits(model: FittedModel | ModelEnsemble) -> tuple[Any, ...]:
    """Return the refits of a model; ValueError if it has none."""
    if not model.refits:
        raise ValueError(
            "Error bars need refits: use the estimator that with_uncertainty(X, y) returns, or "
            "spkm.explain.with_uncertainty(pipeline, X, y)."
        )
    return model.refits


@dataclass(frozen=True, repr=False)
class Bars:
    """Error bars of an explanation. Made by :meth:`Explanation.bars`.

    Shapes are those of :class:`Explanation`.

    Attributes
    ----------
    scores, base_values, values, contributions : ndarray
        Standard deviations over refits.
    n_refits : int
        Number of refits.
    confidence_level : float
        Level of the intervals.
    half_width : float
        Half-width of an interval over the standard deviation.
    """

    scores: np.ndarray
    base_values: np.ndarray
    values: np.ndarray
    contributions: np.ndarray
    n_refits: int
    confidence_level: float
    half_width: float
    _explanation: Any

    def __repr__(self) -> str:
        tables = "frame() and contribution_frame() are tables of them"
        return f"Error bars from {self.n_refits} refits: {self._explanation!r}; {tables}"

    @property
    def meaning(self) -> str:
        """Sentence on what the bars are."""
        return MEANING.format(n=self.n_refits)

    def interval(self, name: str = "values") -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends of the bars of ``scores``, ``base_values``, ``values`` or ``contributions``.

        Parameters
        ----------
        name : str, default="values"
            Name of an attribute.

        Returns
        -------
        lower, upper : ndarray
            The ends.
        """
        if name not in NUMBERS:
            raise ValueError(f"name must be 'scores', 'base_values', 'values' or 'contributions'; got {name!r}.")
        middle, half = getattr(self._explanation, name), self.half_width * getattr(self, name)
        return middle - half, middle + half

    def frame(self, output: int | str = 0) -> Any:
        """Return the Shapley values of one output with their bars: a row for each sample and feature that is read."""
        read = np.unique(np.concatenate([member.structure.read for member in self._explanation._members]))
        return self._long("values", "feature", np.array(self._explanation.feature_names, dtype=object), output, read)

    def contribution_frame(self, output: int | str = 0) -> Any:
        """Return the contributions to one output with their bars: a row for each sample and basis vector."""
        names = np.array(basis_labels(model_of(self._explanation._estimator)), dtype=object)
        return self._long("contributions", "basis vector", names, output, np.arange(len(names)))

    def _long(self, name: str, title: str, names: np.ndarray, output: int | str, kept: np.ndarray) -> Any:
        o = self._explanation._output(output)
        values, std = getattr(self._explanation, name), getattr(self, name)
        parts = {"value": values, "std": std, **dict(zip(("lower", "upper"), self.interval(name), strict=True))}
        columns = {"sample": np.repeat(np.arange(len(values)), len(kept)), title: np.tile(names[kept], len(values))}
        columns |= {key: part[:, kept, o].ravel() for key, part in parts.items()}
        return frames().DataFrame(columns)


@dataclass(frozen=True)
class VectorStability:
    """How far basis vectors and their weights move over refits. Made by :func:`vector_stability`.

    Attributes
    ----------
    names : tuple of str
        The R basis vectors.
    similarity : ndarray of shape (R,)
        Mean of the kernel between the vector and where it is in each refit: near 1 if it stays.
    weight_std : ndarray of shape (R, m)
        Standard deviation of its weights.
    same_sign : ndarray of shape (R, m)
        Share of refits in which the weight has the sign that it has in the model.
    output_names : tuple of str
        Names along m.
    """

    names: tuple[str, ...]
    similarity: np.ndarray
    weight_std: np.ndarray
    same_sign: np.ndarray
    output_names: tuple[str, ...]

    def frame(self) -> Any:
        """Return a pandas frame: a row for each basis vector."""
        columns: dict[str, Any] = {"similarity": self.similarity}
        for o, name in enumerate(self.output_names):
            columns |= {f"weight std {name}": self.weight_std[:, o], f"same sign {name}": self.same_sign[:, o]}
        return frames().DataFrame(columns, index=list(self.names))


def vector_stability(estimator: BaseEstimator) -> VectorStability:
    """Return how stable each basis vector of a model with refits is.

    Parameters
    ----------
    estimator : estimator or FittedModel
        The estimator that ``with_uncertainty(X, y)`` returned, or its ``model_``.

    Returns
    -------
    stability : VectorStability
        Similarities, and standard deviations and signs of weights.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import vector_stability
    >>> X = np.random.default_rng(0).normal(size=(150, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = SPKMClassifier(4, random_state=0).fit(X, y).with_uncertainty(X, y, random_state=0)
    >>> stability = vector_stability(model)
    >>> bool(stability.similarity.max() <= 1 + 1e-12)
    True
    """
    model = model_of(estimator)
    refits = needed_refits(model)
    rows = model.vector_rows
    own, weights = model.weights[rows], np.array([refit.weights[rows] for refit in refits])  # (refits, R, m)
    similar = [np.mean([_moved(one, refit) for refit in one.refits], axis=0) for one in model.members]
    spread = np.concatenate([np.full((one.n_basis, 1), one.refit_spread) for one in model.members])[rows]
    same = np.mean(np.sign(weights) == np.sign(own), axis=0)
    names = tuple(np.array(basis_labels(model))[rows].tolist())
    std = spread * np.std(weights, axis=0, ddof=1)
    return VectorStability(names, np.concatenate(similar), std, same, output_names(model))


def _moved(member: FittedModel, refit: FittedModel) -> np.ndarray:
    """Return the kernel of each vector and the place of the same vector in a refit, in the metric of the model, (R,).

    Values are cosines of the two in the space of the kernel, which for a stationary kernel are its own values.
    """
    found = []
    for term, other in zip(member.terms, refit.terms, strict=True):
        if term.is_linear_part:
            continue
        values: Any = 1.0
        for view, moved in zip(term.views, other.views, strict=True):
            kernel = view.kernel.rkhs()
            cross = np.diagonal(kernel(view.basis, moved.basis))
            sizes = kernel.diagonal(view.basis) * kernel.diagonal(moved.basis)
            values = values * cross / np.sqrt(np.maximum(sizes, np.finfo(float).tiny))
        found.append(values)
    return np.concatenate(found) if found else np.zeros(0)


def with_uncertainty(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike,
    sample_weight: WeightLike = None,
    *,
    n_refits: int = 15,
    random_state: RandomState = None,
) -> Any:
    """Return a copy of a fitted estimator, or of a pipeline that ends with one, whose explanations have error bars.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted SPKMClassifier, SPKMRegressor or one of their CV variants, or a pipeline that ends with one.
    X, y, sample_weight
        The samples of the fit, as the pipeline takes them.
    n_refits, random_state
        As in :meth:`spkm.SPKMClassifier.with_uncertainty`.

    Returns
    -------
    estimator : estimator or Pipeline
        It predicts the same.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from spkm import SPKMClassifier, TableEncoder
    >>> from spkm.explain import explain, with_uncertainty
    >>> X = pd.DataFrame({"age": range(60), "job": ["nurse", "baker", "judge"] * 20})
    >>> y = [(age > 30) != (job == "judge") for age, job in zip(X["age"], X["job"])]
    >>> model = make_pipeline(TableEncoder(), SPKMClassifier(random_state=0)).fit(X, y)
    >>> model = with_uncertainty(model, X, y, n_refits=5, random_state=0)
    >>> explain(model, X[:2]).bars().frame().columns.tolist()
    ['sample', 'feature', 'value', 'std', 'lower', 'upper']
    """
    last, seen = last_of(estimator), before_last(estimator, X)
    if not hasattr(last, "with_uncertainty"):  # any estimator may come
        raise TypeError(
            "estimator must be a fitted SPKMClassifier, SPKMRegressor or one of their CV variants, or a pipeline that "
            f"ends with one; got {type(last).__name__}."
        )
    found = last.with_uncertainty(seen, y, sample_weight, n_refits=n_refits, random_state=random_state)
    return with_last(estimator, found)
