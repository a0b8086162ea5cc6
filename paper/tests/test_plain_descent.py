"""Algorithm 1 as the experiments write it down once more."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from spkm_paper.experiments._plain import Descent, PlainModel, cosine_loss


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    return X, y, PlainModel(rng.standard_normal((3, 4)), rng.standard_normal(3), 0.2, 1.7)


def loss_of_basis(model, X, y):
    return lambda flat: cosine_loss(PlainModel(flat.reshape(model.U.shape), model.c, model.b, 1.7).decision(X), y)[0]


def test_the_gradient_for_several_vectors(problem):
    X, y, model = problem
    expected = approx_fprime(model.U.ravel(), loss_of_basis(model, X, y), 1e-7)
    np.testing.assert_allclose(Descent(3).gradient_of_basis(model, X, y).ravel(), expected, atol=1e-6)


def test_the_summed_gradient_is_right_for_one_vector_and_wrong_for_three(problem):
    X, y, model = problem
    exact, summed = (Descent(3, gradient=name).gradient_of_basis(model, X, y) for name in ("exact", "summed"))
    assert np.linalg.norm(summed - exact) > 0.1 * np.linalg.norm(exact)
    one = PlainModel(model.U[:1], model.c[:1], 0.0, 1.7)
    exact, summed = (Descent(1, gradient=name).gradient_of_basis(one, X, y) for name in ("exact", "summed"))
    np.testing.assert_allclose(summed, exact)


def test_weights_have_the_least_cosine_loss(problem):
    X, y, model = problem
    found = Descent(3)._with_weights(model, X, y)
    lowest = cosine_loss(found.decision(X), y)[0]
    rng = np.random.default_rng(1)
    others = [PlainModel(model.U, found.c + 0.3 * rng.standard_normal(3), 0.0, 1.7) for _ in range(50)]
    assert all(lowest <= cosine_loss(other.decision(X), y)[0] + 1e-6 for other in others)


def test_it_learns_unless_it_starts_where_the_kernel_is_flat():
    X, labels = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.where(labels == 1, 1.0, -1.0)
    near = Descent(2, n_steps=50).fit(X, y, 0)
    assert near.score(X, y) > 0.9
    far = Descent(1, n_steps=50, start="normal").fit(X / 50, y, 0)  # 30 columns within a tenth: all rows are far
    assert far.kernel(X / 50).max() < 1e-6 and far.score(X, y) == max(np.mean(y > 0), np.mean(y < 0))
