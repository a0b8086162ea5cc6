"""One small fitted estimator of every kind, and what it says: what a loaded one must say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator

from spkm import (
    PairwiseSPKMClassifier,
    PairwiseSPKMRegressor,
    SPKMClassifier,
    SPKMClassifierCV,
    SPKMNystroem,
    SPKMRegressor,
    SPKMRegressorCV,
    SPKMSelector,
    Term,
    View,
    kernels,
    losses,
    penalties,
    solvers,
)
from tests.cases import csr
from tests.quick_search import quick_search
from tests.small_data import counts, curve, fingerprints, three_classes, two_classes

QUICK = {"tol": 1e-2, "random_state": 0}
LABELS = (three_classes()[1][:, None] == np.array([0, 1, 2])).astype(int) | np.array([0, 0, 1]) * (
    np.arange(90)[:, None] % 2
)


def frame(X):
    return pd.DataFrame(np.asarray(X), columns=[f"column {j}" for j in range(np.shape(X)[1])])


def pair_data():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((12, 3)), rng.standard_normal((9, 4))
    pairs = np.array([(i, j) for i in range(12) for j in range(9)])
    return left, right, pairs, left[pairs[:, 0], 0] * right[pairs[:, 1], 1]


def _makers():
    two, three, line = two_classes(), three_classes(), curve()
    left, right, pairs, value = pair_data()
    words = np.array(["no", "yes"])[two[1]]
    one = {"n_basis": 3, **QUICK}
    yield "two classes", lambda: SPKMClassifier(**one).fit(*two), two[0]
    yield "two words, frame", lambda: SPKMClassifier(**one).fit(frame(two[0]), words), frame(two[0])
    yield "objects", lambda: SPKMClassifier(**one).fit(two[0], words.astype(object)), two[0]
    yield "float32", lambda: SPKMClassifier(**one).fit(two[0].astype(np.float32), two[1]), two[0].astype(np.float32)
    yield "three classes", lambda: SPKMClassifier(kernel="polynomial", **one).fit(*three), three[0]
    yield "one against the rest", lambda: SPKMClassifier(multi_class="ovr", **one).fit(*three), three[0]
    yield (
        "one against one",
        lambda: SPKMClassifier(multi_class="ovo", loss="squared_hinge", **one).fit(*three),
        three[0],
    )
    yield "labels", lambda: SPKMClassifier(**one).fit(three[0], LABELS), three[0]
    yield "labels, rest", lambda: SPKMClassifier(multi_class="ovr", **one).fit(three[0], LABELS), three[0]
    yield "fingerprints", lambda: SPKMClassifier(kernel="tanimoto", **one).fit(*fingerprints()), fingerprints()[0]
    yield "sparse", lambda: SPKMClassifier(**one).fit(csr(three[0]), three[1]), csr(three[0])
    yield "regression", lambda: SPKMRegressor(**one).fit(*line), line[0]
    yield "counts", lambda: SPKMRegressor(loss="poisson", **one).fit(*counts()), counts()[0]
    yield (
        "several outputs",
        lambda: SPKMRegressor(**one).fit(line[0], np.column_stack([line[1], line[1] ** 2, np.ones(80)])),
        line[0],
    )
    yield (
        "parts as objects",
        lambda: SPKMRegressor(
            kernel=kernels.Sum(kernels.RBF(0.3), kernels.Linear(0.2)),
            loss=losses.Huber(0.5),
            weight_penalty=[penalties.SquaredL2(0.01)],
            solver=solvers.LBFGS(tol=1e-2),
            n_basis=3,
            random_state=0,
        ).fit(*line),
        line[0],
    )
    yield (
        "views",
        lambda: SPKMRegressor(views={"a": [0], "b": slice(1, 2)}, kernel={"a": "rbf", "b": "linear"}, **one).fit(*line),
        line[0],
    )
    terms = [Term(2, (View(kernels.RBF(0.2), [0], "scale", name="a"), View("linear", [1], name="b")))]
    yield "terms", lambda: SPKMClassifier(terms=terms, **QUICK).fit(*two), two[0]
    tables = {"a": two[0][:, :1], "b": frame(two[0][:, 1:])}
    yield "tables", lambda: SPKMClassifier(**one).fit(tables, two[1]), tables
    yield "strict", lambda: SPKMClassifier(kernel="linear", selection="strict", **one).fit(*three), three[0]
    yield "search", lambda: SPKMClassifierCV(cv=2, kernel=["linear", "rbf"], **QUICK).fit(*three), three[0]
    yield (
        "search, regression",
        lambda: SPKMRegressorCV(cv=2, kernel="rbf", **QUICK).fit(frame(line[0]), line[1]),
        frame(line[0]),
    )
    yield "pairs", lambda: PairwiseSPKMRegressor(**one).fit(pairs, value, left=left, right=right), pairs
    yield (
        "pairs, sparse",
        lambda: PairwiseSPKMClassifier(left_kernel=["rbf", "linear"], **one).fit(
            pairs, value > 0, left=csr(left), right=frame(right)
        ),
        pairs,
    )
    yield "landmarks", lambda: SPKMNystroem(4, random_state=0).fit(*two), two[0]
    yield "random landmarks", lambda: SPKMNystroem(4, landmarks="random", random_state=0).fit(two[0]), two[0]
    fitted = SPKMClassifier(**one).fit(*two)
    yield "landmarks of a model", lambda: SPKMNystroem(landmarks=FrozenEstimator(fitted)).fit(*two), two[0]
    strict = SPKMClassifier(kernel="linear", selection="strict", **one)
    yield "selector", lambda: SPKMSelector(strict).fit(frame(three[0]), three[1]), frame(three[0])


MAKERS = {name: (make, X) for name, make, X in _makers()}


@cache
def fitted(name: str):
    """Return the fitted estimator of a name."""
    with quick_search(hasty=True):
        return MAKERS[name][0]()


def samples(name: str):
    """Return samples for its predictions."""
    return MAKERS[name][1]


METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "get_support")


def answers(estimator, X) -> dict[str, object]:
    """Return what an estimator says of samples, by method."""
    found = {}
    for name in METHODS:
        if hasattr(estimator, name):
            found[name] = getattr(estimator, name)() if name == "get_support" else getattr(estimator, name)(X)
    return found
