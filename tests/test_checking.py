"""The helpers that check a user's own kernel or loss: they pass what is right and name what is wrong."""

import numpy as np
import pytest

from spkm.checking import check_kernel, check_loss, differences
from spkm.kernels import KERNELS, RBF, DotKernel, Polynomial
from spkm.losses import LOSSES, Cosine, Huber, Squared


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_every_kernel_passes(name):
    assert check_kernel(KERNELS[name]()) < 1e-6


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_every_loss_passes(name, n_outputs):
    assert check_loss(LOSSES[name](), n_outputs=n_outputs) < 1e-6


def test_differences_are_exact_for_polynomials_of_degree_four():
    x = np.array([[0.3, -1.2], [2.0, 0.7]])
    np.testing.assert_allclose(differences(lambda a: np.sum(a**4), x), 4 * x**3, rtol=1e-9)


class FlippedSlope(RBF):
    def slope(self, s, value):
        return value


class SumOverVectors(Polynomial):
    """A mistake of research code: the derivative of one vector holds the values of the others."""

    def slope(self, dot, value):
        return np.repeat(super().slope(dot, value).mean(axis=1, keepdims=True), dot.shape[1], axis=1)


class WrongShape(DotKernel):
    gamma = 1.0

    def value(self, dot, xx=None, uu=None):
        return dot[:, :1]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (FlippedSlope(0.5), "FlippedSlope: derivative in u is off by 2.0e"),
        (SumOverVectors(2, 1.0, 0.5), "SumOverVectors: derivative in u is off"),
        (WrongShape(), r"finite values of shape \(12, 3\); got shape \(12, 1\)"),
    ],
    ids=str,
)
def test_a_wrong_kernel_is_named(kernel, message):
    with pytest.raises(ValueError, match=message):
        check_kernel(kernel)


def test_one_vector_would_not_show_a_sum_over_vectors():
    assert check_kernel(SumOverVectors(2, 1.0, 0.5), n_basis=1) < 1e-6


class HalfSlope(Squared):
    def slope(self, Y, F):
        return F - Y


class MeanOfRows(Huber):
    """Totals that are means do not add up."""

    def totals(self, Y, F, w):
        return super().totals(Y, F, w) / w.sum()


class NoMix(Cosine):
    def mix(self, totals):
        return -1.0, 0.0


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (HalfSlope(), "HalfSlope: derivative in the predictions is off by 5.0e-01"),
        (MeanOfRows(), "MeanOfRows: totals of two parts is off"),
        (NoMix(), "NoMix: derivative in the predictions is off"),
    ],
    ids=str,
)
def test_a_wrong_loss_is_named(loss, message):
    with pytest.raises(ValueError, match=message):
        check_loss(loss)


def test_rows_of_the_user_are_used_and_left_alone():
    X = np.random.default_rng(0).standard_normal((6, 2))
    X.setflags(write=False)
    assert check_kernel(RBF(), X=X) < 1e-6
