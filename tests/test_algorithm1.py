"""The paper's setting under one name: what it asks for, one round by hand, and no advice that it did not want."""

import warnings

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import pdist

from spkm import algorithm1
from spkm.core.model import Term, View
from spkm.core.starts import Random, Sample, Start
from spkm.kernels import RBF
from spkm.penalties import L1, SquaredL2


class Given(Start):
    """Given points, with given signs for their first weights."""

    def __init__(self, given=None, signs=None):
        self.given = given
        self.signs = signs

    def points(self, sample, term, rng):
        return np.array(self.given), np.array(self.signs, dtype=float)[:, None]


def halves(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(np.sin(X[:, 0]) + X[:, 1] > 0, 1, -1)


def test_the_settings_are_those_of_the_paper():
    X, y = halves()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one round is what the paper asks for
        model = algorithm1(2, random_state=0).fit(X, y)
    fitted = model.model_
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    U = (model.basis_vectors_ - X.mean(axis=0)) / X.std(axis=0)
    k = np.exp(-((Z[:, None] - U) ** 2).sum(axis=2) / (2 * pdist(Z).mean() ** 2))
    np.testing.assert_allclose(model.decision_function(X), (2 * k - 1) @ model.dual_coef_, rtol=1e-8, atol=1e-8)
    assert fitted.loss.scale_free and fitted.intercept == 0 and len(fitted.terms) == 1 and model.n_iter_ == 1
    assert model.get_params()["n_restarts"] == 5 and model.score(X, y) > 0.9


def test_vectors_leave_the_range_of_the_samples():
    """The paper's vectors may lie anywhere."""
    X, y = halves(60)
    far = algorithm1(2, random_state=1, basis_steps=1, n_restarts=1).set_params(start=np.full((2, 2), 9.0) + np.eye(2))
    U = far.fit(X, y).basis_vectors_
    assert (U > X.max(axis=0)).all()


def test_first_steps_go_down_the_gradient_of_the_signs():
    """With a tiny number of steps the vectors move against the gradient at weights of the given signs."""
    X, y = halves(80)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    s2 = pdist(Z).mean() ** 2

    def loss(U, c):
        f = (2 * np.exp(-((Z[:, None] - U.reshape(2, 2)) ** 2).sum(axis=2) / (2 * s2)) - 1) @ c
        return -(y @ f) / (np.linalg.norm(y) * np.linalg.norm(f))

    start = np.array([[0.4, -0.3], [1.5, 0.7]])
    for signs in ((1, 1), (1, -1)):
        model = algorithm1(2, basis_steps=1, n_restarts=1, scale=False, random_state=0)
        model.set_params(start=Given(start, signs)).fit(Z, y)
        moved = (model.basis_vectors_ - start).ravel()
        slope = approx_fprime(start.ravel(), loss, 1e-7, np.array(signs, dtype=float))
        assert moved @ slope < -0.999 * np.linalg.norm(moved) * np.linalg.norm(slope)


def test_signs_are_the_labels_of_random_points():
    assert algorithm1(3, signs=[1, -1, -1]).start.signs == (1, -1, -1) and algorithm1().start.signs is None
    X, y = halves(40)
    sample = Sample(X, y[:, None].astype(float), np.full(40, 1 / 40))
    points, labels = Random((1, -1, -1)).points(sample, Term(3, (View(RBF(1.0)),)), np.random.default_rng(0))
    assert points.shape == (3, 2) and labels.tolist() == [[1], [-1], [-1]]


@pytest.mark.parametrize("limit", [{"l1_radius": 2.0}, {"l1_strength": 0.05}], ids=str)
def test_an_entry_is_zero_where_the_slope_is_below_its_price(limit):
    """One vector converges, and then the optimality conditions of the l1 norm hold entry by entry."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 12))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1, -1)
    model = algorithm1(1, scale=False, random_state=0, n_restarts=1, basis_steps=2000, **limit).fit(X, y)
    (u,), sign = model.basis_vectors_, np.sign(model.dual_coef_[0])
    s2 = pdist(X).mean() ** 2
    k = np.exp(-((X - u) ** 2).sum(axis=1) / (2 * s2))
    f = sign * (2 * k - 1)
    pull = sign * k * (f * (f @ y) / (f @ f) - y) / (np.linalg.norm(f) * np.linalg.norm(y))
    slope = 2 * pull @ (X - u) / s2
    price = limit.get("l1_strength", np.abs(slope).max())  # in a ball the steepest entries set it
    assert (u[np.abs(slope) < 0.99 * price] == 0).all() and np.count_nonzero(u == 0) >= 10
    np.testing.assert_allclose(slope[u != 0], -price * np.sign(u[u != 0]), rtol=1e-5)


def test_vectors_stay_in_the_ball():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 12))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    U = algorithm1(2, l1_radius=0.5, scale=False, random_state=0, n_restarts=1).fit(X, y).basis_vectors_
    assert (np.abs(U).sum(axis=1) <= 0.5 * (1 + 1e-9)).all()


def test_regression_and_views_and_other_losses():
    X, y = halves(80)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = algorithm1(5, task="regression", random_state=0).fit(X, X[:, 0] ** 2)
        assert model.n_iter_ == 5 and model.score(X, X[:, 0] ** 2) > 0.8
        views = {"a": [0], "b": [1]}
        several = algorithm1(1, loss="squared", weight_penalty=L1(1e-3), views=views, random_state=0).fit(X, y)
        assert set(several.view_usage_) == {"a", "b"}
    assert algorithm1(task="regression", weight_penalty=SquaredL2(0.1)).weight_penalty.strength == 0.1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"task": "ranking"}, "task must be one of"),
        ({"n_rounds": 0}, "n_rounds must be"),
        ({"basis_steps": 0}, "basis_steps must be"),
        ({"l1_radius": 1.0, "l1_strength": 1.0}, "exclude one another"),
        ({"l1_radius": -1.0}, "l1_radius must be"),
        ({"signs": (1, 2)}, "signs must hold 1 or -1"),
        ({"signs": (1,)}, "signs must hold 1 or -1 for each of the 2"),
        ({"weight_penalty": "l2"}, "takes no weight_penalty: it is the same"),
    ],
)
def test_wrong_settings_are_named(wrong, message):
    X, y = halves(30)
    with pytest.raises(ValueError, match=message):
        algorithm1(**wrong).fit(X, y)


def test_signs_are_for_one_output():
    X, _ = halves(30)
    with pytest.raises(ValueError, match="signs must be None for 3 outputs"):
        algorithm1(2, signs=(1, -1), loss="squared").fit(X, np.arange(30) % 3)
