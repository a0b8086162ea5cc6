"""Models of several classes by binary ones, for tests."""

import numpy as np
import pytest

from spkm import SPKMClassifier
from spkm.losses import LOSSES
from tests.small_data import assert_same_fit, three_classes

#: Folds of binary models are those of any (test_multiclass has them with weights): here the penalty is given.
QUICK = {"n_basis": 2, "tol": 1e-2, "weight_penalty": "rkhs", "random_state": 0}
FOLDS = {**QUICK, "weight_penalty": "auto"}
STRICT = {"n_basis": 1, "kernel": "linear", "selection": "strict", "weight_penalty": "rkhs", "random_state": 0}
CLASS_LOSSES = sorted(name for name, loss in LOSSES.items() if loss.for_classes)
each_kind = pytest.mark.parametrize("kind", ["ovr", "ovo"])


def three_class_models():
    """Return models of three classes by kind, with rows and labels."""
    X, y = three_classes()
    return {kind: SPKMClassifier(multi_class=kind, **QUICK).fit(X, y) for kind in ("ovr", "ovo")}, X, y


def four_classes():
    """Return three clouds of which the first is cut in two."""
    X, y = three_classes(160)
    return X, np.where((y == 0) & (X[:, 2] > 0), 3, y)


def same_fit(a, b, X):
    """Compare two models of several parts bit by bit."""
    assert len(a.estimators_) == len(b.estimators_)
    for one, other in zip(a.estimators_, b.estimators_, strict=True):
        assert_same_fit(one, other, X)
