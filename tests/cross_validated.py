"""Rows, targets and quick estimators for tests of those that cross-validate."""

import numpy as np
import pandas as pd

from spkm import SPKMClassifierCV, SPKMRegressorCV
from tests.small_data import read_only

LINE = {"kernel": "linear", "cv": 2, "max_iter": 4, "n_jobs": 1, "random_state": 0}
RESULTS = ("kernel", "stage", "strength_factor", "mean_n_features", "n_basis", "mean_test_loss", "error_test_loss")


def rows(n=48, d=5, seed=0):
    """Return rows; the targets below depend on columns 1 and 3."""
    return read_only(np.random.default_rng(seed).standard_normal((n, d)))[0]


def real_target(X):
    return X[:, 1] - X[:, 3] + 0.2 * np.cos(50 * X[:, 0])


def labels(X):
    return (real_target(X) > 0).astype(int)


def frame(X):
    return pd.DataFrame(X, columns=list("abcde"))


def quick_case(kind):
    """Return a quick estimator of either kind with rows and targets."""
    X = rows()
    if kind == "classifier":
        return SPKMClassifierCV(**LINE), X, labels(X)
    return SPKMRegressorCV(**LINE), X, real_target(X)
