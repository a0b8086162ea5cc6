"""Constraints of direction: kept by construction, proved from the numbers, and seen on grids far beyond the data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressor, TableEncoder, kernels, load
from spkm.core.bounds import signs
from spkm.core.monotone import certificate, is_falling
from spkm.explain import summary
from spkm.solvers import LBFGS
from tests.cases import csr

QUICK = {"n_basis": 5, "max_iter": 60, "tol": 1e-3, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FALLING = [
    "rbf",
    "matern",
    "laplacian",
    "rational_quadratic",
    kernels.Affine(kernels.Sum(kernels.RBF(), kernels.Matern())),
]


def made(n=150, seed=0):
    """Return samples whose targets rise and fall with the first feature, and fall with the third."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * np.array([1.0, 5.0, 0.1, 100.0]) + np.array([0.0, 10.0, 3.0, -50.0])
    y = np.sin(2 * X[:, 0]) + 0.2 * X[:, 0] * X[:, 1] / 5 - 5 * X[:, 2] + 0.2 * rng.standard_normal(n)
    return X, y


def worst_step(score, X, column, direction, seed=1):
    """Return the largest step against a direction along grids through random points, far beyond the data."""
    rng = np.random.default_rng(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    starts = rng.uniform(low - (high - low), high + (high - low), (60, X.shape[1]))
    grid = np.linspace(low[column] - 3 * (high - low)[column], high[column] + 3 * (high - low)[column], 301)
    points = np.repeat(starts, len(grid), axis=0)
    points[:, column] = np.tile(grid, len(starts))
    F = np.reshape(score(points), (len(starts), len(grid), -1))
    return float(np.max(-direction * np.diff(F, axis=1))) / float(np.abs(F).max())


@pytest.mark.parametrize("kernel", [*FALLING, "linear"], ids=str)
def test_regressions_are_monotone_everywhere(kernel):
    X, y = made()
    model = SPKMRegressor(kernel=kernel, monotone={0: 1, 2: -1}, **QUICK).fit(X, y)
    assert model.monotone_ == {0: 1, 2: -1}
    assert certificate(model.model_, 0, 1) and certificate(model.model_, 2, -1)
    assert worst_step(model.predict, X, 0, 1) <= 1e-12 and worst_step(model.predict, X, 2, -1) <= 1e-12
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize("loss", ["log", "squared_hinge"])
def test_scores_and_probabilities_of_two_classes_are_monotone(loss):
    X, y = made()
    frame = pd.DataFrame(X, columns=["income", "age", "debt", "code"])
    model = SPKMClassifier(monotone={"income": 1, "debt": -1}, loss=loss, **QUICK).fit(
        frame, np.where(y > -15, "yes", "no")
    )

    def rise(Z):
        return model.decision_function(pd.DataFrame(Z, columns=frame.columns))

    def share(Z):
        return model.predict_proba(pd.DataFrame(Z, columns=frame.columns))[:, 1]

    assert worst_step(rise, X, 0, 1) <= 1e-12 and worst_step(rise, X, 2, -1) <= 1e-12
    if loss == "log":
        assert worst_step(share, X, 0, 1) <= 1e-12
    assert model.monotone_ == {"income": 1, "debt": -1} and model.score(frame, np.where(y > -15, "yes", "no")) > 0.6


def test_the_same_data_without_constraints_are_not():
    X, y = made()
    free = SPKMRegressor(**QUICK).fit(X, y)
    assert worst_step(free.predict, X, 0, 1) > 1e-3 and not certificate(free.model_, 0, 1)
    assert not hasattr(free, "monotone_")


@pytest.mark.parametrize(
    "options", [{"loss": "huber"}, {"loss": "poisson"}, {"linear_part": False}, {"basis_bounds": None}]
)
def test_other_losses_and_settings(options):
    X, y = made()
    y = np.exp(y / 10) if options.get("loss") == "poisson" else y
    model = SPKMRegressor(kernel="rbf", monotone={0: -1}, **options, **QUICK).fit(X.astype(np.float32), y)
    assert worst_step(lambda Z: model.predict(Z.astype(np.float32)), X, 0, -1) <= 1e-6
    several = SPKMRegressor(kernel="rbf", monotone={2: 1}, **QUICK).fit(X, np.column_stack([y, -y]))
    assert worst_step(several.predict, X, 2, 1) <= 1e-12


def test_constraints_travel_and_are_told(tmp_path):
    X, y = made()
    frame = pd.DataFrame(X, columns=["income", "age", "debt", "code"])
    model = SPKMRegressor(monotone={"income": 1}, **QUICK).fit(frame, y)
    model.save(tmp_path / "model.spkm")
    loaded = load(tmp_path / "model.spkm")
    assert loaded.monotone_ == {"income": 1} and loaded.monotone == {"income": 1}
    assert certificate(loaded.model_, 0, 1)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    light = load(tmp_path / "model.spkm", runtime="numpy")
    assert worst_step(light.predict, X, 0, 1) <= 1e-12
    assert "rises with income" in summary(model) and "falls with" not in summary(model)
    again = SPKMRegressor(monotone={"income": 1}, warm_start=True, **QUICK).fit(frame, y).fit(frame, y)
    assert certificate(again.model_, 0, 1)


def test_a_certificate_looks_at_the_numbers():
    X, y = made()
    fitted = SPKMRegressor(kernel="rbf", monotone={0: 1}, **QUICK).fit(X, y).model_
    assert not certificate(fitted, 0, -1) and not certificate(fitted, 1, 1)
    theta = fitted.theta.copy()
    heaviest = int(np.argmax(np.abs(fitted.terms[0].weights)))
    fitted.model.unpack(theta).basis[0][heaviest, 0] = 0.0
    assert not certificate(replace(fitted, theta=theta), 0, 1)
    theta = fitted.theta.copy()
    fitted.model.unpack(theta).basis[-1][0, 0] = -1e-9
    assert not certificate(replace(fitted, theta=theta), 0, 1)
    assert signs(5).tolist() == [1, 1, 1, -1, -1] and signs(1).tolist() == [1]


@pytest.mark.parametrize(
    "options, says",
    [
        ({"kernel": "polynomial"}, "cannot be kept by Polynomial"),
        ({"kernel": kernels.Product(kernels.RBF(), kernels.Linear())}, "cannot be kept by"),
        ({"kernel": kernels.Affine(kernels.RBF(), scale=-1.0)}, "cannot be kept by"),
        ({"views": {"a": [0, 1]}}, "neither with views"),
        ({"selection": "strict"}, "neither with views"),
        ({"n_basis": "auto"}, "neither with views"),
        ({"solver": "adam"}, "solver='auto' or 'lbfgs'"),
        ({"scale": False}, "scale=True"),
        ({"weight_penalty": "evidence"}, "evidence"),
        ({"monotone": {7: 1}}, "one of the 4 features"),
        ({"monotone": {"income": 1}}, "one of the 4 features, by number; got 'income'"),
        ({"monotone": {0: 2}}, r"monotone\[0\] must be 1 or -1; got 2"),
        ({"monotone": {0: True}}, "must be 1 or -1"),
        ({"monotone": {True: 1}}, "one of the 4 features"),
    ],
)
def test_what_cannot_be_kept_is_refused(options, says):
    X, y = made(60)
    with pytest.raises(ValueError, match=says):
        SPKMRegressor(**{**QUICK, "monotone": {0: 1}, **options}).fit(X, y)


def test_what_else_is_refused():
    X, y = made(60)
    with pytest.raises(TypeError, match="must be a dict"):
        SPKMRegressor(monotone=[0], **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="twice"):
        frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        SPKMRegressor(monotone={"a": 1, 0: 1}, **QUICK).fit(frame, y)
    with pytest.raises(ValueError, match="two classes"):
        SPKMClassifier(monotone={0: 1}, **QUICK).fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="dense samples"):
        SPKMRegressor(monotone={0: 1}, **QUICK).fit(csr(X), y)
    with pytest.raises(ValueError, match="monotone needs samples in memory"):
        SPKMRegressor(monotone={0: 1}, **QUICK).fit(lambda: iter([(X, y)]))
    assert not hasattr(SPKMRegressor(monotone={0: 1}, n_basis=3), "partial_fit")
    assert "monotone" not in SPKMClassifierCV().get_params()
    assert SPKMRegressor(monotone={0: 1}, **{**QUICK, "solver": LBFGS()}).fit(X, y).monotone_ == {0: 1}


class Wave(kernels.RBF):
    def profile(self, s):
        return np.cos(s)

    def slope(self, s, value):
        return -np.sin(s)


def test_a_kernel_of_ones_own_proves_nothing():
    assert not is_falling(Wave()) and is_falling(kernels.RBF()) and not is_falling(kernels.Tanimoto())
    assert not is_falling(
        kernels.Product(kernels.Affine(kernels.RBF()), kernels.RBF())
    )  # 2k - 1 may be negative: then the product may rise


def test_names_of_a_table_reach_the_model_after_an_encoder():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"income": rng.normal(size=80), "job": rng.choice(["cook", "judge"], 80)})
    y = (table["income"] + rng.normal(size=80) > 0).to_numpy()
    model = SPKMClassifier(2, monotone={"income": 1}, random_state=0)
    assert make_pipeline(TableEncoder(), model).fit(table, y)[-1].monotone_ == {"income": 1}
    with pytest.raises(ValueError, match=r"X came without names: give a frame, or use set_output"):
        make_pipeline(TableEncoder(), StandardScaler(), model).fit(table, y)
    with pytest.raises(ValueError, match=r"or name \(income, job = cook, job = judge\); got 'job'"):
        make_pipeline(TableEncoder(), SPKMClassifier(2, monotone={"job": 1})).fit(table, y)
    named = make_pipeline(TableEncoder().set_output(transform="pandas"), model).fit(table, y)
    assert named[-1].monotone_ == {"income": 1}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_fit_does_not_end_as_a_linear_model(seed):
    # The classes come in an order in which all first weights had the wrong sign.
    rng = np.random.default_rng(seed)
    X = rng.lognormal(0, 1, (2000, 3))
    y = np.log(X[:, 0]) + np.sin(2 * np.log(X[:, 1])) > 0
    linear = SPKMClassifier(2, kernel="linear", random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    model = SPKMClassifier(monotone={0: 1}, random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > linear + 0.07


def test_a_feature_whose_range_is_far_wider_than_its_deviation():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(0, 1, 20_000), rng.uniform(-2, 2, 20_000), rng.standard_normal(20_000)])
    y = X[:, 1] ** 2 - np.log(X[:, 0]) > 1
    assert np.ptp(X[:, 0]) > 20 * X[:, 0].std()
    model = SPKMClassifier(monotone={0: -1}, random_state=0).fit(X[:10_000], y[:10_000])
    assert model.score(X[10_000:], y[10_000:]) > 0.95  # a linear model has 0.69
