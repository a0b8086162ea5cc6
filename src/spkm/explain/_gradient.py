"""Derivatives of the scores in the features, in the user's units."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike
from spkm.core.fitted import FittedModel
from spkm.explain._structure import scaled_rows
from spkm.explain._table import dense_columns, model_of, table_of, units_of


def gradient(estimator: BaseEstimator, X: TableLike) -> np.ndarray:
    """Return df/dx, (n, d, m): how much a score changes for one unit of a feature.

    A feature beyond the clip of the model's scaling has derivative 0, as the score does not change there.

    Parameters
    ----------
    estimator : estimator or FittedModel
        A fitted estimator, or its ``model_``.
    X : table of shape (n, d)
        Samples.

    Returns
    -------
    slopes : ndarray of shape (n, d, m)
        Derivatives of each score in each feature.

    Notes
    -----
    Kernels are symmetric, so the derivative in x is the one in u with x and u exchanged: the pullback of the kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import gradient
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> gradient(model, X[:5]).shape
    (5, 4, 3)
    """
    model = model_of(estimator)
    X = table_of(X, estimator, model.n_features, "X")
    return np.concatenate([_of_member(member, X) for member in model.members], axis=2)


def _of_member(model: FittedModel, X: TableLike) -> np.ndarray:
    Z = scaled_rows(model, X)
    result = np.zeros((len(Z), model.n_features, model.n_outputs))
    for term in model.terms:
        pulled = [view.kernel.vjp(view.basis, np.ascontiguousarray(Z[:, view.columns])) for view in term.views]
        for v, view in enumerate(term.views):
            others = [values for k, (values, _) in enumerate(pulled) if k != v]
            for o in range(model.n_outputs):
                G = np.broadcast_to(model.weights[term.rows, o][:, None], pulled[v][0].shape).copy()
                for other in others:
                    G *= other
                result[:, model.features[view.columns], o] += pulled[v][1](G)[0]
    center, scale, least, most = units_of(model)
    raw = (dense_columns(X, model.features) - center) / scale
    result[:, model.features] *= (((raw >= least) & (raw <= most)) / scale)[:, :, None]
    return result
