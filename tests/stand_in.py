"""Models for tests of explanations: what a fit leaves behind, without a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from spkm.sources import Scaling


@dataclass(frozen=True)
class View:
    name: str
    kernel: Any
    columns: np.ndarray
    basis: np.ndarray


@dataclass(frozen=True)
class Term:
    name: str
    views: tuple
    weights: np.ndarray
    rows: slice


class Score:
    """A target of real numbers, or of the sign of the score: just what counterfactuals ask."""

    def __init__(self, count=1):
        self.names = ["f"] if count == 1 else [f"f{o}" for o in range(count)]

    def region(self, value, scores):
        low, high = value if isinstance(value, tuple) else (value, np.inf) if scores[0] < value else (-np.inf, value)
        sides = [side for side in ((1.0, -low), (-1.0, high)) if np.isfinite(side[1])]
        return np.array([[side] for side, _ in sides]), np.array([bound for _, bound in sides])


@dataclass(frozen=True)
class Model:
    scaling: Any
    features: np.ndarray
    n_features: int
    terms: tuple
    weights: np.ndarray
    intercept: np.ndarray
    target: Any
    loss: Any = None

    @property
    def n_basis(self):
        return len(self.weights)

    @property
    def n_outputs(self):
        return len(self.intercept)

    def scaled(self, X):
        X = X[:, self.features]
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
        return X if self.scaling is None else self.scaling(X)

    def similarities(self, X):
        Z = self.scaled(X)
        parts = []
        for term in self.terms:
            value = 1.0
            for view in term.views:
                value = value * view.kernel(Z[:, view.columns], view.basis)
            parts.append(value)
        return np.hstack(parts)

    def contributions(self, X):
        return self.similarities(X)[:, :, None] * self.weights

    def scores(self, X):
        return self.similarities(X) @ self.weights + self.intercept

    def features_read(self):
        return self.features


def make_model(terms, n_features, n_outputs=1, seed=0, scaling=True, features=None):
    """Return a model with random basis vectors; a term is a list of (kernel, columns of the model)."""
    rng = np.random.default_rng(seed)
    features = np.arange(n_features) if features is None else np.asarray(features)
    d = len(features)
    made, weights, first = [], [], 0
    for n_basis, views in terms:
        columns = [np.arange(d) if c is None else np.asarray(c) for _, c in views]
        bases = [rng.normal(size=(n_basis, len(c))) for c in columns]
        parts = zip(views, columns, bases, strict=True)
        views = tuple(View(f"v{k}", kernel, c, U) for k, ((kernel, _), c, U) in enumerate(parts))
        C = rng.normal(size=(n_basis, n_outputs))
        made.append(Term(" × ".join(v.name for v in views), views, C, slice(first, first + n_basis)))
        weights.append(C)
        first += n_basis
    scale = Scaling(rng.normal(size=d), np.exp(rng.normal(size=d)), np.full(d, 2.5)) if scaling else None
    return Model(
        scale, features, n_features, tuple(made), np.vstack(weights), rng.normal(size=n_outputs), Score(n_outputs)
    )


def make_rows(model, n, seed=1):
    """Return rows in the user's units, some beyond the clip."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, model.n_features))
    if model.scaling is not None:
        X[:, model.features] = model.scaling.inverse(1.3 * X[:, model.features])
    return X
