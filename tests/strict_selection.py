"""Rows, targets and models for tests of strict selection, and what it promises of a model."""

from functools import cache

import numpy as np
from scipy import sparse

from spkm import SPKMClassifier, SPKMRegressor
from tests.quick_search import quick_search
from tests.small_data import read_only

D = 5
STRICT = {"selection": "strict", "n_basis": 2, "max_features": 3, "max_iter": 4, "n_jobs": 1, "random_state": 0}
LINE = {**STRICT, "kernel": "linear", "n_basis": 1}
STORAGE = {"dense": np.asarray, "csr": sparse.csr_array, "float32": lambda X: X.astype(np.float32)}


def rows(n=50, d=D, seed=0):
    """Return rows of which some entries are zero; the targets below depend on columns 1 and 4."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.5, 2, d) + 1.0
    X[rng.random((n, d)) < 0.2] = 0.0
    return read_only(X)[0]


def real_target(X):
    return X[:, 1] + 0.6 * X[:, 4] + 0.1 * np.cos(50 * X[:, 0])


def labels(X):
    return (real_target(X) > np.median(real_target(X))).astype(int)


def whole(X):
    """Return counts, which a Tanimoto kernel wants."""
    return np.round(np.abs(2 * X))


@cache
def fitted(estimator, kernel, storage="dense"):
    """Return a strict model and its rows."""
    X = whole(rows()) if kernel == "tanimoto" else rows()
    X, y = STORAGE[storage](X), (labels if estimator is SPKMClassifier else real_target)(rows())
    with quick_search(hasty=True):
        return estimator(**{**STRICT, "kernel": kernel}).fit(X, y), X


def outputs(model, X):
    """Return all that a model says of some rows."""
    if isinstance(model, SPKMRegressor):
        return [model.predict(X)]
    found = [model.decision_function(X), model.predict(X)]
    return [*found, model.predict_proba(X)] if hasattr(model, "predict_proba") else found


def spoiled(X, selected, value):
    """Return rows with other entries in all columns but the selected ones."""
    dense = X.toarray() if sparse.issparse(X) else np.array(X)
    outside = np.setdiff1d(np.arange(dense.shape[1]), selected)
    dense[:, outside] = value * np.random.default_rng(0).standard_normal((len(dense), len(outside)))
    return type(X)(dense) if sparse.issparse(X) else dense


def assert_only_selected_columns_matter(model, X):
    selected = model.selected_features_
    assert 0 < len(selected) < X.shape[1]
    for value in (0.0, 1.0, 1e30):
        other = spoiled(X, selected, value)
        for before, after in zip(outputs(model, X), outputs(model, other), strict=True):
            np.testing.assert_array_equal(after, before)
    small = model.restricted()
    assert small.n_features_in_ == len(selected)
    for before, after in zip(outputs(model, X), outputs(small, X[:, selected]), strict=True):
        np.testing.assert_array_equal(after, before)
