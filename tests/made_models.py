"""Fitted models with random parameters, for tests of what is read off a model: no fit is needed."""

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.core.model import PreimageModel, Term, View
from spkm.core.targets import Real
from spkm.losses import Squared
from spkm.sources import Scaling


def make_model(terms, n_features, n_outputs=1, seed=0, scaling=True, features=None, basis=None):
    """Return a model with random basis vectors and weights.

    Parameters
    ----------
    terms : list of (n_basis, list of (kernel, columns))
        The views of each term, on columns of the model; None are all.
    n_features, n_outputs, seed : int
        Columns of the table, outputs, seed.
    scaling : bool
        Whether features are centred, scaled and clipped at 2.5 standard deviations.
    features : list of int
        The columns that the model holds; None are all.
    basis : ndarray
        The basis vectors of the only view, in place of random ones.
    """
    rng = np.random.default_rng(seed)
    features = np.arange(n_features) if features is None else np.asarray(features, dtype=int)
    d = len(features)
    made = [
        Term(
            n_basis,
            tuple(
                View(kernel, np.arange(d) if columns is None else np.asarray(columns), name=f"v{k}")
                for k, (kernel, columns) in enumerate(views)
            ),
        )
        for n_basis, views in terms
    ]
    model = PreimageModel(made, d, n_outputs)
    theta, params = model.zeros()
    theta[:] = rng.normal(size=len(theta))
    if basis is not None:
        params.basis[0][...] = basis
    parts = (rng.normal(size=d), np.exp(rng.normal(size=d)), np.full(d, 2.5), 0.3 * rng.normal(size=d))
    target = Real(np.full(n_outputs, np.nan), np.zeros(n_outputs), np.ones(n_outputs), n_outputs > 1)
    return FittedModel(target, Scaling(*parts) if scaling else None, features, n_features, model, theta, Squared())


def make_rows(model, n, seed=1):
    """Return samples in the user's units, some of them beyond the clip."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, model.n_features))
    if model.scaling is not None:
        X[:, model.features] = model.scaling.inverse(1.3 * X[:, model.features])
    return X
