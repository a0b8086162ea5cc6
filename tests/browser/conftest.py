"""One browser for all tests of pages, and the pages they look at."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.pipeline import make_pipeline

from spkm import (
    PairwiseSPKMRegressor,
    SPKMClassifier,
    SPKMOrdinalClassifier,
    SPKMRegressor,
    SPKMSurvival,
    TableEncoder,
)
from spkm.inspection import report
from tests.browser.driver import Browser, missing

DATA = Path(__file__).parents[2] / "examples/data"


@pytest.fixture(scope="session")
def browser():
    if missing():
        pytest.skip(f"{' and '.join(missing())} not installed: make test-browser installs them")
    with Browser() as one:
        yield one


def two_classes():
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    return SPKMClassifier(n_basis=4, random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2]


def ten_classes():
    data = load_digits()
    model = SPKMClassifier(n_basis=12, random_state=0, scale="common", tol=1e-1)
    return model.fit(data.data[:400], data.target[:400]), data.data[400:700], data.target[400:700]


def regression():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return SPKMRegressor(n_basis=5, random_state=0).fit(X, y), X, y


def five_features():
    X = np.random.default_rng(0).standard_normal((300, 5))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    return SPKMRegressor(n_basis=6, random_state=0, tol=1e-2).fit(X, y), X, y


def many_features():
    X = np.random.default_rng(0).standard_normal((200, 500))
    y = (X[:, 0] > 0).astype(int)
    return SPKMClassifier(n_basis=3, random_state=0, tol=1e-1).fit(X, y), X, y


def views():
    data = load_breast_cancer(as_frame=True)
    parts = {"means": slice(0, 10), "errors": slice(10, 20), "worst": slice(20, 30)}
    model = SPKMClassifier(n_basis=2, views=parts, random_state=0, tol=1e-2)
    return model.fit(data.data, data.target), data.data, data.target


def pairs():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((15, 3)), rng.standard_normal((12, 4))
    index = np.array([(i, j) for i in range(15) for j in range(12)])
    y = left[index[:, 0], 0] * right[index[:, 1], 1]
    return PairwiseSPKMRegressor(n_basis=4, random_state=0).fit(index, y, left=left, right=right), index, y


def one_against_one():
    data = load_iris(as_frame=True)
    y = data.target_names[data.target]
    return SPKMClassifier(n_basis=2, multi_class="ovo", random_state=0).fit(data.data, y), data.data, y


def linear():
    X, y = load_iris(return_X_y=True)
    return SPKMClassifier(kernel="linear", n_basis=2, random_state=0).fit(X, y), X, y


def polynomial():
    X, y = load_diabetes(return_X_y=True)
    return SPKMRegressor(kernel="polynomial", n_basis=3, random_state=0).fit(X, y), X, y


def labels():
    X = load_iris().data
    y = (X > X.mean(axis=0)).astype(int)
    return SPKMClassifier(n_basis=3, random_state=0).fit(X, y), X, y


def evil():
    data = load_iris(as_frame=True)
    names = ["</script><script>document.title='x'</script>", "<img src=x onerror=alert(1)>", '"a, b"', "=1+1\u2028"]
    X = data.data.set_axis(names, axis=1)
    y = np.array(["<b>x</b>", "</script>", "\u2029c"])[data.target]
    return SPKMClassifier(n_basis=3, random_state=0).fit(X, y), X, y


def categories():
    table = pd.read_csv(DATA / "seedlings.csv")
    X, y = table.drop(columns=["seedling", "thrives"]), table["thrives"].to_numpy()
    model = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=6, random_state=0)).fit(X[::2], y[::2])
    return model, X[1::2].reset_index(drop=True), y[1::2]


def survival():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((150, 3)), columns=["a", "b", "c"])
    time, end = rng.exponential(np.exp(-X["a"] - X["b"] ** 2)), rng.uniform(0.2, 3, 150)
    y = np.rec.fromarrays([time <= end, np.minimum(time, end)], names="event,time")
    return SPKMSurvival(n_basis=4, random_state=0).fit(X, y), X, y


def ordered():
    data = load_diabetes(as_frame=True)
    y = np.array(["low", "mid", "high", "top"])[np.digitize(data.target, [90, 150, 220])]
    order = ["low", "mid", "high", "top"]
    return SPKMOrdinalClassifier(n_basis=4, order=order, random_state=0).fit(data.data, y), data.data, y


def outputs():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    Y = pd.DataFrame({"flux, W/m² per sample of the day": 1e-14 * y, "square": y**2})
    return SPKMRegressor(n_basis=4, random_state=0, tol=1e-2).fit(X, Y), X, Y


KINDS = {
    f.__name__: f
    for f in (
        two_classes,
        ten_classes,
        regression,
        five_features,
        many_features,
        views,
        pairs,
        one_against_one,
        linear,
        polynomial,
        labels,
        evil,
        categories,
        survival,
        ordered,
        outputs,
    )
}


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Return a function from the name of a kind to (model, X, y, path of its page)."""
    made = {}

    def page(kind, **options):
        key = kind, *sorted(options.items())
        if key not in made:
            model, X, y = KINDS[kind]()
            path = tmp_path_factory.mktemp("pages") / f"{kind}.html"
            made[key] = model, X, y, report(model, path, X, y, title=f"{kind} <title>", **options)
        return made[key]

    return page
