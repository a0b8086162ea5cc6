"""Fitted models that the theory can bound, for its tests."""

from copy import copy
from dataclasses import replace

import numpy as np

from spkm import SPKMClassifier
from spkm.kernels import RBF
from tests.small_data import two_classes

FIXED = {"weight_penalty": "rkhs", "learn_bandwidth": False, "scale": False, "random_state": 0, "tol": 1e-3}


def clouds(n, seed, gap=2.0, n_classes=2):
    """Return Gaussian clouds whose centres lie on a circle of radius ``gap``, with the class as label."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    angle = 2 * np.pi * y / n_classes
    return rng.standard_normal((n, 2)) + gap * np.column_stack([np.cos(angle), np.sin(angle)]), y


def fitted(kernel=None, n_basis=3, data=None, **options):
    """Return a model with a kernel fixed beforehand, its samples and labels."""
    X, y = two_classes() if data is None else data
    kernel = RBF(0.5) if kernel is None else kernel
    return SPKMClassifier(n_basis, kernel=kernel, **{**FIXED, **options}).fit(X, y), X, y


def with_model(estimator, **parts):
    """Return a copy of a fitted estimator whose model has other parts."""
    other = copy(estimator)
    other.model_ = replace(estimator.model_, **parts)
    return other


def changed(estimator, change):
    """Return a copy of a fitted estimator whose model has the parameters that ``change(params)`` writes."""
    theta = estimator.model_.theta.copy()
    change(estimator.model_.model.unpack(theta))
    return with_model(estimator, theta=theta)


def scaled_scores(estimator, factor):
    """Return a copy of a fitted estimator whose scores are those of the estimator times ``factor``."""

    def scale(params):
        params.weights[...] *= factor
        params.intercept[...] *= factor

    return changed(estimator, scale)
