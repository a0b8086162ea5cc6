"""Closed forms of kernels: equal to the kernels that claim them."""

import numpy as np
import pytest

from spkm import kernels
from spkm.kernels import (
    RBF,
    Affine,
    Laplacian,
    Linear,
    Matern,
    NormalizedPolynomial,
    Polynomial,
    Product,
    RationalQuadratic,
    Rescaled,
    Sum,
    Tanimoto,
)

FACTORS = np.array([0.5, 0.0, 2.0])
KERNELS = [
    RBF(0.7),
    Laplacian(0.4),
    Matern(1.5, gamma=0.3),
    Matern(2.5, gamma=0.3),
    RationalQuadratic(alpha=1.0, gamma=0.5),
    RationalQuadratic(alpha=3.0, gamma=0.5),
    Linear(0.5),
    Polynomial(degree=4, coef0=0.5, gamma=0.3),
    Rescaled(Matern(2.5, gamma=0.3), FACTORS),
    Rescaled(Polynomial(degree=2, coef0=1.0, gamma=0.3), FACTORS),
    Affine(RBF(0.7)),
    Affine(Rescaled(Laplacian(0.3), FACTORS), 0.5, 0.25),
    Affine(Polynomial(degree=3, gamma=0.2), 3.0, 1.0),
    Sum(RBF(0.3), Matern(2.5, gamma=0.2)),
    Sum(Linear(0.5), Polynomial(degree=2, gamma=0.25)),
    Sum(RBF(0.5), Linear(0.3)),
    Sum(Affine(RBF(0.2)), Rescaled(RBF(0.2), FACTORS)),
    Product(RBF(0.3), Laplacian(0.2)),
    Product(Linear(0.5), Polynomial(degree=2, gamma=0.25)),
    Product(Affine(RBF(0.2)), Rescaled(RBF(0.2), FACTORS)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_forms_add_up_to_the_kernel(kernel):
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    values = sum(form.values(X, U) for form in kernel.forms())
    np.testing.assert_allclose(values, kernel(X, U), atol=1e-11, rtol=1e-12)
    if all(
        isinstance(form, kernels.DotForm) for form in kernel.forms()
    ):  # along a line its differences vanish from there on
        degree = max(form.degree for form in kernel.forms())
        along = kernel(np.arange(degree + 2.0)[:, None] * X[:1], U[:1])[:, 0]
        size = np.abs(along).max()
        assert abs(np.diff(along, degree).item(0)) > 1e-6 * size and np.ptp(np.diff(along, degree)) < 1e-9 * size


@pytest.mark.parametrize("kernel", [NormalizedPolynomial(gamma=1.0), Tanimoto(), Affine(Tanimoto())], ids=str)
def test_other_kernels_claim_none(kernel):
    assert kernel.forms() is None
    assert Rescaled(kernel, 2.0).forms() is None
    assert Sum(kernel, RBF(1.0)).forms() is None
    assert Product(kernel, RBF(1.0)).forms() is None


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_the_mixture_of_a_matern_kernel_holds_at_all_distances(nu):
    kernel = Matern(nu, gamma=0.5)
    X = np.concatenate([[0.0], np.logspace(-6, 3, 2000)])[:, None]
    (form,) = kernel.forms()
    error = np.abs(form.values(X, np.zeros((1, 1))) - kernel(X, np.zeros((1, 1)))).max()
    assert error < 1e-11
    assert (form.amounts > 0).all()


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.0, 50.0])
def test_the_mixture_of_a_rational_quadratic_kernel_holds_at_all_distances(alpha):
    kernel = RationalQuadratic(alpha=alpha, gamma=0.5)
    X = np.concatenate([[0.0], np.logspace(-6, 3, 2000)])[:, None]
    (form,) = kernel.forms()
    assert np.abs(form.values(X, np.zeros((1, 1))) - kernel(X, np.zeros((1, 1)))).max() < 1e-11


def test_the_mixtures_need_few_components():
    assert len(Matern(2.5, gamma=1.0).forms()[0].amounts) <= 48
    assert len(Matern(1.5, gamma=1.0).forms()[0].amounts) <= 80


def test_a_form_follows_the_parameters_of_the_kernel():
    X, U = np.array([[0.3, 1.0]]), np.array([[0.0, 0.0]])
    for gamma in (0.1, 2.0):
        np.testing.assert_allclose(RBF(gamma).forms()[0].values(X, U), RBF(gamma)(X, U), rtol=1e-14)
    with pytest.raises(ValueError, match="gamma='mean' of RBF is chosen from data"):
        RBF().forms()


def test_a_subclass_with_a_formula_of_its_own_loses_the_claim():
    class Flat(RBF):
        def profile(self, s):
            return np.exp(-np.sqrt(s))

    class Steep(Polynomial):
        def value(self, dot):
            return dot**5

    class Doubled(Affine):
        def vjp(self, *arguments, **more):
            K, pull = super().vjp(*arguments, **more)
            return 2 * K, pull

    class Same(RBF):
        pass

    assert Flat(0.5).forms() is None and Steep(gamma=1.0).forms() is None
    assert Rescaled(Flat(0.5), 2.0).forms() is None and Doubled(RBF(0.5)).forms() is None
    assert Same(0.5).forms() is not None


def test_products_and_sums_of_dot_forms():
    X, U = np.random.default_rng(0).standard_normal((2, 5, 3))
    one, other = kernels.Polynomial(2, 0.5, 1.0), kernels.Polynomial(1, 0.25, 2.0)
    forms = kernels.Product(one, other).forms()
    assert forms is not None and len(forms) == 1  # both are polynomials of one inner product
    np.testing.assert_allclose(forms[0].values(X, U), one(X, U) * other(X, U), rtol=1e-10)
    added = kernels.Sum(one, other).forms()
    assert added is not None and len(added) == 1
    np.testing.assert_allclose(added[0].values(X, U), one(X, U) + other(X, U), rtol=1e-10)
    apart = kernels.Sum(one, kernels.Rescaled(other, np.array([1.0, 2.0, 3.0]))).forms()
    assert apart is not None and len(apart) == 2  # of two inner products
    total = sum(form.values(X, U) for form in apart)
    np.testing.assert_allclose(total, one(X, U) + kernels.Rescaled(other, np.array([1.0, 2.0, 3.0]))(X, U), rtol=1e-10)


@pytest.mark.parametrize(
    "kernel, plain", [(kernels.Matern(2.5, 1.0), 40), (kernels.RationalQuadratic(0.5, 1.0), 192)], ids=str
)
def test_mixtures_have_fewer_exponentials_than_a_rule_of_equal_steps(kernel, plain):
    (form,) = kernel.forms()
    assert len(form.amounts) < 0.7 * plain  # the trapezoid rule for the same error has so many
    s = np.logspace(-6, 3, 50)
    values = np.exp(-np.outer(s, form.squared[:, 0])) @ form.amounts
    np.testing.assert_allclose(values, kernel.profile(s), atol=1e-11)
