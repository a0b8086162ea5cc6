"""Short cuts give what the long way gives."""

from __future__ import annotations

import numpy as np
import pytest

from spkm import SPKMClassifier, kernels
from spkm.core.model import PreimageModel, Term, View
from spkm.kernels import RBF, Matern, RationalQuadratic
from spkm.losses import Log
from spkm.sources import ArraySource

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
KERNELS = [RBF(0.3), Matern(1.5, 0.3), Matern(2.5, 0.3), RationalQuadratic(0.7, 0.3)]


class Wide(RBF):
    """A kernel that writes the profile of another one anew."""

    def profile(self, s):
        return np.exp(-0.5 * s)

    def slope(self, s, value):
        return -0.5 * value


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("metric", [1.0, 1.7, RNG.uniform(0.5, 2.0, 4)], ids=["plain", "scale", "relevances"])
def test_pullback_of_an_outer_product(kernel, metric):
    U, s, c = RNG.standard_normal((3, 4)), RNG.standard_normal((60, 1)), RNG.standard_normal((3, 1))
    slow = kernel.vjp(X, U, metric, None, True)[1](s @ c.T)
    quick = kernel.vjp(X, U, metric, None, True)[1].of_outer(s, c)
    for a, b in zip(slow, quick, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("rows", [900, 2001, 2013])
def test_products_in_tiles_are_those_of_parts_of_the_samples(kernel, rows):
    # A million multiplications are done at once: here those of 1,000 samples.
    X, U, G = (RNG.standard_normal(shape) for shape in ((rows, 40), (25, 40), (rows, 25)))
    K, pull = kernel.vjp(X, U, 0.17, None, True)
    dU, d_metric = pull(G.copy())
    parts = [kernel.vjp(X[i : i + 300], U, 0.17, None, True) for i in range(0, rows, 300)]
    np.testing.assert_allclose(K, np.concatenate([part for part, _ in parts]), rtol=1e-12)
    pulled = [pull(G[300 * i : 300 * (i + 1)].copy()) for i, (_, pull) in enumerate(parts)]
    size = np.abs(X).sum() / len(X)
    np.testing.assert_allclose(dU, sum(part for part, _ in pulled), rtol=1e-10, atol=1e-12 * size)
    np.testing.assert_allclose(d_metric, sum(part for _, part in pulled), rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_distance_that_rounding_makes_negative(kernel):
    far = 1e5 + X  # digits of the distances are lost
    K, pull = kernel.vjp(far, far[:5])
    assert np.all((K >= 0) & (K <= 1))
    assert np.all(np.isfinite(pull(np.ones_like(K))[0]))
    np.testing.assert_allclose(np.diagonal(K), 1.0, atol=1e-3)


def test_a_profile_written_anew_is_the_one_that_counts():
    U, G = RNG.standard_normal((3, 4)), RNG.standard_normal((60, 3))
    (K, pull), (K_known, pull_known) = Wide(0.6).vjp(X, U), RBF(0.3).vjp(X, U)
    np.testing.assert_allclose(K, K_known, rtol=1e-12)
    np.testing.assert_allclose(pull(G.copy())[0], pull_known(G.copy())[0], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("metric", ["fixed", "scale", "relevances"])
def test_the_last_pullback_of_a_model_is_as_good_as_any(metric):
    model = PreimageModel([Term(3, (View(RBF(0.3), None, metric),))], 4, 1)
    theta = RNG.standard_normal(model.n_params)
    block = ArraySource(X).load((0, 60))
    S = RNG.standard_normal((60, 1))
    pullback = model.vjp(block, theta)[1]
    np.testing.assert_allclose(pullback(S), pullback(S, last=True), rtol=1e-11, atol=1e-12)


def test_logistic_loss_far_out():
    F = np.array([[-800.0], [-40.0], [-1e-9], [0.0], [3.0], [900.0]])
    for sign in (-1.0, 1.0):
        Y = np.full_like(F, sign)
        np.testing.assert_allclose(Log().pointwise(Y, F), np.logaddexp(0, -Y * F), rtol=1e-14)
        np.testing.assert_allclose(Log().slope(Y, F), -Y * np.exp(-np.logaddexp(0, Y * F)), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_sample_is_predicted_as_among_many(dtype):
    rows = RNG.standard_normal((3000, 4)).astype(dtype)
    model = SPKMClassifier(3, random_state=0, tol=1.0).fit(rows[:300], rows[:300, 0] > 0)
    many = model.decision_function(rows)
    one = np.concatenate([model.decision_function(rows[i : i + 1]) for i in range(20)])
    assert one.dtype == many.dtype
    np.testing.assert_allclose(one, many[:20], rtol=1e-4 if dtype is np.float32 else 1e-9, atol=1e-5)


@pytest.mark.parametrize("bad", [np.array([[0.0, np.nan, 0.0, 0.0]]), np.zeros((1, 3)), np.zeros((0, 4)), np.zeros(4)])
def test_one_bad_sample_is_still_told(bad):
    model = SPKMClassifier(3, random_state=0, tol=1.0).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError):
        model.predict(bad)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("kernel", [kernels.RBF(0.3), kernels.Matern(1.5, 0.3), kernels.Linear(0.5)], ids=str)
def test_the_last_pullback_is_any_pullback(kernel, m):
    """The last one may overwrite what it needs, and has a short way of its own: the gradient is the same."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 3)), rng.standard_normal((12, m))
    model = PreimageModel([Term(2, (View(kernel, None, "scale"),))], 3, m)
    theta = rng.standard_normal(model.n_params)
    source = ArraySource(X, Y, np.ones(12), None)
    block = source.load(source.pieces(3)[0])
    S = rng.standard_normal((12, m))
    first, last = (model.vjp(block, theta)[1](S.copy(), last=is_last) for is_last in (False, True))
    np.testing.assert_allclose(last, first, rtol=1e-10, atol=1e-12)
