"""View of a fitted estimator for displays and reports: its model, names, samples as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm._checks import check_integer
from spkm.core.decisions import decision, probabilities
from spkm.explain import Explanation
from spkm.explain._structure import players_of
from spkm.explain._table import (
    Named,
    Pipeline,
    dense,
    entities_of,
    fitted_part,
    model_of,
    names_of,
    output_names,
    output_place,
)
from spkm.tables.read import read_like


@dataclass(frozen=True)
class Reading:
    """A fitted estimator with its model, its names and its tables.

    Attributes
    ----------
    estimator : object
        The estimator, or its model.
    model : FittedModel or ModelEnsemble
        Its model.
    names : tuple of str
        Names of the features of ``table(X)``; of several tables, each with the name of its table first.
    outputs : tuple of str
        Names of the scores.
    labels : ndarray or None
        The classes or labels; None in regression.
    pipeline : Pipeline
        The estimator with the steps before it.
    """

    estimator: Any
    model: Any
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    labels: np.ndarray | None
    pipeline: Pipeline

    @staticmethod
    def of(estimator: BaseEstimator) -> Reading:
        """Return the reading of a fitted estimator of this library, of a pipeline that ends with one, or of a model."""
        pipeline = Pipeline.of(estimator)
        model = model_of(pipeline.estimator)
        names = names_of(pipeline.named, model.n_features)
        labels = model.target.labels if model.target.of_classes else None
        return Reading(pipeline.estimator, model, names, output_names(model), labels, pipeline)

    def grouped_by_hand(self) -> Reading:
        """Return the same with the features as columns, whatever an encoder before the last step makes of the table."""
        return (
            self
            if self.pipeline.before is not None
            else replace(self, pipeline=Pipeline(Named(self.model, self.names)))
        )

    def table(self, X: Any) -> Any:
        """Return samples as one array or CSR matrix; pairs as a table that gives dense rows on request.

        For an estimator of pairs X holds the pairs, or (pairs, left, right) with tables of new entities.
        """
        X = self.pipeline.table(X)
        entities = entities_of(self.estimator)
        if entities is not None:
            given = X if isinstance(X, tuple) else (X, None, None)
            return entities.like(*given)
        if self.estimator is self.model:
            X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
            if X.ndim != 2 or X.shape[1] != self.model.n_features:
                raise ValueError(f"X must have {self.model.n_features} features; got shape {X.shape}.")
            return X
        return read_like(self.estimator, X)

    def dense(self, X: TableLike) -> np.ndarray:
        """Return samples as a dense array in double precision."""
        return dense(self.table(X))

    def column(self, feature: Any, argument: str = "feature") -> int:
        """Return the index of a feature given by name or index."""
        if isinstance(feature, str):
            if feature not in self.names:
                raise ValueError(
                    f"{argument} must name a feature of X; got {feature!r}. The first are {self.names[:5]}."
                )
            return self.names.index(feature)
        if check_integer(argument, feature, 0) >= len(self.names):
            raise ValueError(f"{argument} must be below {len(self.names)}; got {feature!r}.")
        return int(feature)

    def output(self, output: Any) -> int:
        """Return the index of a score given by name or index."""
        return output_place(output, self.outputs)

    @property
    def read(self) -> np.ndarray:
        """The features that the model reads."""
        return self.model.features_read()

    @property
    def is_pairs(self) -> bool:
        """Whether samples are pairs of two kinds of entities."""
        return entities_of(self.estimator) is not None

    @property
    def is_survival(self) -> bool:
        """Whether the model is one of censored times."""
        return fitted_part(self.estimator, "baseline_hazard_") is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the user's table, as far as they reach the model: a category is one of them."""
        return players_of(self.names, self.groups)[0]

    @property
    def groups(self) -> Mapping[str, Any] | None:
        """The features of each column of the user's table; None without an encoder."""
        return self.pipeline.groups(None)

    def cells(self, table: np.ndarray) -> np.ndarray:
        """Return samples by :attr:`columns`: numbers, and names of levels."""
        encoding = self.pipeline.encoding
        return table if encoding is None else encoding.cells(table)

    @property
    def monotone(self) -> dict[str, int]:
        """Directions that hold by construction: 1 or -1 for some features, by name."""
        found = fitted_part(self.estimator, "monotone_", {})
        return {key if isinstance(key, str) else self.names[int(key)]: int(sign) for key, sign in found.items()}

    @property
    def fold_shares(self) -> np.ndarray | None:
        """The share of a search's folds that chose each feature; None if features were not selected."""
        return fitted_part(self.estimator, "fold_frequency_")

    @property
    def half_shares(self) -> np.ndarray | None:
        """The share of random halves of the training samples that chose each feature; None if that is not known."""
        return fitted_part(self.estimator, "half_frequency_")

    def score_name(self, output: int = 0) -> str:
        """Return the label of an axis of a score."""
        if self.is_survival:
            return "log hazard"
        if self.labels is None:
            probe = np.array([[0.37]])  # a loss with a link has scores that are no predictions
            name = "prediction" if self.model.loss.predict(probe)[0, 0] == probe[0, 0] else "score"
            return name if len(self.outputs) == 1 else f"{name} of output {self.outputs[output]}"
        if self.model.target.task == "ordered":
            return f"score ({self.outputs[0]})"
        if len(self.outputs) == 1:
            return f"score (positive: {self.labels[1]})"
        return f"score of {self.outputs[output]}"

    def deviations(self, values: np.ndarray, X: np.ndarray | None = None) -> np.ndarray:
        """Return values (n, d) in standard deviations from the mean, of the fit or else of the samples X."""
        center, scale = self.centre(X)
        return (values - center) / scale

    def centre(self, X: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of every feature: of the samples X, or those of the scaling."""
        if X is not None:
            spread = X.std(axis=0)
            return X.mean(axis=0), np.where(spread > 0, spread, 1.0)
        center, scale = np.zeros(len(self.names)), np.ones(len(self.names))
        for member in self.model.members:
            if member.scaling is not None:
                scale[member.features] = member.scaling.scale
                center[member.features] = member.scaling.center + member.scaling.middle * member.scaling.scale
        return center, scale

    @property
    def is_scaled(self) -> bool:
        """Whether the model has mean and standard deviation of its features."""
        return all(member.scaling is not None for member in self.model.members)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Return predictions from the model's scores, (n, m)."""
        if self.labels is None:
            return self.model.target.decode(self.model.loss.predict(scores))
        return self.model.target.decode(decision(self.model, scores))

    def probabilities(self, scores: np.ndarray) -> np.ndarray | None:
        """Return probabilities of classes or labels from the model's scores; None where the loss has none."""
        return probabilities(self.model, scores) if self.has_probabilities else None

    @property
    def has_probabilities(self) -> bool:
        """Whether scores become probabilities of classes or labels: not every loss has a formula for it."""
        return self.labels is not None and self.model.loss.has_probabilities


def order_along(centred: np.ndarray) -> np.ndarray:
    """Return an order of rows in which neighbours are similar: along the first principal component of columns."""
    left, _, _ = np.linalg.svd(centred, full_matrices=False)
    first = left[:, 0] * (1.0 if left[np.argmax(np.abs(left[:, 0])), 0] > 0 else -1.0)
    return np.argsort(first, kind="stable")


def half_widths(explanation: Explanation, name: str, output: int, sample: int | None = None) -> np.ndarray | None:
    """Return half-widths of the 90 % error bars of one output, of all samples or of one; None without refits."""
    if not model_of(explanation._estimator).refits:
        return None
    bars = explanation.bars()
    half = bars.half_width * getattr(bars, name)[..., output]
    return half if sample is None else half[sample]
