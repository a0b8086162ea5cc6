"""Components of one table after a fit: from samples to canonical scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spkm.cca._objective import component_scores
from spkm.cca._sides import Side
from spkm.core.fitted import FittedModel
from spkm.core.model import PreimageModel, Term, View
from spkm.core.targets import Real
from spkm.kernels import Kernel
from spkm.losses import Squared
from spkm.sources import ArraySource, Scaling


@dataclass(frozen=True, eq=False)
class FittedSide:
    """Kernel, parameters and scaling of one table, and the map from kernel values to scores.

    Attributes
    ----------
    side : Side
        Kernel and layout of the parameters.
    scaling : Scaling or None
        Applied to samples first.
    parameters : ndarray of shape (n_components, size)
        One row for each component.
    mean : ndarray of shape (n_components,)
        Means of the kernel values of the training samples.
    mixing : ndarray of shape (n_components, n_components)
        Upper triangular: scores are (values - mean) @ mixing. They have unit variance and no correlation with one
        another on the training samples.
    """

    side: Side
    scaling: Scaling | None
    parameters: np.ndarray
    mean: np.ndarray
    mixing: np.ndarray

    @property
    def kernel(self) -> Kernel:
        """The kernel, with numbers for all its parameters."""
        return self.side.kernel

    @property
    def directions(self) -> np.ndarray:
        """Directions of length one, (n_components, d), with exact zeros."""
        return self.parameters[:, : self.side.n_features]

    @property
    def support(self) -> np.ndarray:
        """Mask of the features with an influence on a component's kernel values, bool (n_components, d)."""
        return self.directions != 0

    @property
    def bandwidths(self) -> np.ndarray:
        """Learned factors on the kernel's metric, (n_components,)."""
        return np.exp(self.parameters[:, -1])

    def vectors(self) -> np.ndarray:
        """Return the vectors u of the components in the units of the table; NaN in features without influence."""
        d = self.side.n_features
        vectors = self.parameters[:, d : 2 * d] if self.side.kernel.reads_zero_features else self.directions
        if self.scaling is not None and self.side.kernel.reads_zero_features:
            vectors = self.scaling.inverse(vectors)
        elif self.scaling is not None:
            vectors = vectors / self.scaling.scale  # a direction: its product with x is the product on the scale
        return np.where(self.support, vectors, np.nan)

    def model(self) -> FittedModel:
        """Return the scores as a model of as many outputs: a term for each component, with its vector and its metric.

        Later outputs read the vectors of earlier components too, as their scores subtract what these explain.
        """
        read = np.flatnonzero(self.support.any(axis=0))
        own = [np.flatnonzero(row[read]) for row in self.support]
        metric = "relevances" if self.side.kernel.reads_zero_features else "scale"
        names = [f"component {k + 1}" for k in range(len(own))]
        terms = [
            Term(1, (View(self.side.kernel, columns, metric, name=name),))
            for columns, name in zip(own, names, strict=True)
        ]
        model = PreimageModel(terms, len(read), len(own))
        theta, params = model.zeros()
        for k, parameters in enumerate(self.parameters):
            u, factors = self.side.parts(parameters)
            params.basis[k][...] = u[:, read[own[k]]]
            params.log_metric[k][...] = np.log(factors[read[own[k]]] if metric == "relevances" else factors)
        params.weights[...] = self.mixing
        params.intercept[...] = -self.mean @ self.mixing
        count = len(own)
        target = Real(np.full(count, np.nan), np.zeros(count), np.ones(count), two_dimensional=True)
        scaling = None if self.scaling is None else self.scaling.columns(read)
        return FittedModel(
            target, scaling, read, self.side.n_features, model, theta, Squared(), tuple(terms), selected=True
        )

    def scores(self, X: Any, n_threads: int) -> np.ndarray:
        """Return the canonical scores of samples, (n, n_components); features without influence are not read."""
        columns = np.flatnonzero(self.support.any(axis=0))
        d, width = self.side.n_features, len(columns)
        side = replace(self.side, n_features=width)
        scaling = None if self.scaling is None else self.scaling.columns(columns)
        source = ArraySource(X[:, columns], None, None, scaling)
        kept = np.concatenate([columns, columns + d]) if self.side.kernel.reads_zero_features else columns
        with source.threads(n_threads):
            values = [component_scores(side, np.append(theta[kept], theta[-1]), source) for theta in self.parameters]
        return (np.column_stack(values) - self.mean) @ self.mixing


def fitted_side(
    side: Side, scaling: Scaling | None, parameters: np.ndarray, source: ArraySource, signs: np.ndarray
) -> FittedSide:
    """Return the components of a side with the map that makes their scores uncorrelated on the training samples."""
    values = np.column_stack([component_scores(side, theta, source) for theta in parameters])
    mean = values.mean(axis=0)
    # Q R = values - mean: column r of Q is component r without what earlier ones explain, as in the fit.
    triangle = np.linalg.qr(values - mean, mode="r")
    mixing = np.linalg.solve(triangle, np.diag(np.sign(np.diag(triangle)) * signs)) * np.sqrt(len(values))
    return FittedSide(side, scaling, parameters, mean, mixing)
