"""Integrals of products of linear functions, which Shapley values of product kernels are made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from spkm.explain import _mixtures
from spkm.explain._quadrature import gauss_legendre, product_shapley, rule
from spkm.explain._structure import ProductPiece, structure_of
from spkm.kernels import RBF, Affine, Laplacian, Matern, Sum
from tests.made_models import make_model


def without_one(factors):
    """Return the products of all factors but one, for each of them."""
    return np.array([np.prod(np.delete(factors, j, axis=0), axis=0) for j in range(len(factors))])


@pytest.mark.parametrize("degree", [1, 2, 9, 30, 31, 100, 300, 1000, 4000])
def test_few_nodes_integrate_products_of_linear_functions(degree):
    # Such a product has non-negative Bernstein coefficients, so the worst Bernstein polynomial bounds the error.
    t, w = gauss_legendre(degree, True)
    N, k = degree - 1, np.arange(degree)[:, None]
    bernstein = np.exp(gammaln(N + 1) - gammaln(k + 1) - gammaln(N - k + 1) + k * np.log(t) + (N - k) * np.log1p(-t))
    assert np.abs(degree * (bernstein @ w) - 1).max() < 1e-10


@settings(max_examples=60)
@given(
    s=st.integers(1, 40),
    log_steepness=st.floats(-8, 4),
    zeros=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 1000),
)
def test_products_get_as_many_nodes_as_they_need(s, log_steepness, zeros, seed):
    rng = np.random.default_rng(seed)
    exponents = np.exp(log_steepness) * rng.exponential(size=(2, s, 3, 2, 2))
    p, q = np.exp(-exponents) * (rng.uniform(size=exponents.shape) >= zeros)
    amounts = rng.normal(size=2)
    piece = ProductPiece(np.arange(s), amounts, ())
    t, w = gauss_legendre(s, False)
    factors = q[:, None] + t[:, None, None, None] * (p - q)[:, None]
    truth = ((p - q) * np.einsum("t,stnrq->snrq", w, without_one(factors))) @ amounts
    np.testing.assert_allclose(product_shapley(piece, p, q), truth, atol=1e-13)


@settings(max_examples=25)
@given(
    s=st.integers(1, 25),
    log_gamma=st.floats(-8, 6),
    log_spread=st.floats(-3, 3),
    blocks=st.sampled_from([20, 2**19]),
    seed=st.integers(0, 99),
)
def test_polynomials_of_a_mixture_do_what_its_products_do(s, log_gamma, log_spread, blocks, seed):
    rng = np.random.default_rng(seed)
    model = make_model([(2, [(Matern(1.5, gamma=np.exp(log_gamma)), None)])], s + 1, scaling=False, seed=seed)
    structure = structure_of(model, [f"x{j}" for j in range(s + 1)], {"two": [0, s]})
    (piece,) = structure.terms[0].factors[0].pieces
    Z, B = (np.exp(log_spread * rng.normal(size=(rows, 1))) * rng.normal(size=(rows, s + 1)) for rows in (2, 4))
    B[0], B[1, 0] = Z[0], Z[1, 0]
    present, absent = piece.state(Z), piece.state(B)
    truth = np.stack([product_shapley(piece, present[:, i : i + 1], absent).sum(axis=1) for i in range(2)], axis=1)
    with pytest.MonkeyPatch.context() as patch:
        for constant in ("BLOCK", "PAIRS"):
            patch.setattr(_mixtures, constant, blocks)
        np.testing.assert_allclose(_mixtures.mixture_shapley(piece, Z, B), truth, atol=1e-12)


def test_polynomials_of_a_mixture_keep_to_their_bound():
    for most in (0.1, 3.0, 12.0):
        fit = _mixtures._fit(most, 6, 20)
        t, w = rule(6)
        u = most * np.linspace(-1, 1, 7)
        polynomial = np.polynomial.chebyshev.chebval(u / most, fit.shares.T)
        truth = np.expm1(u) / (1 + np.multiply.outer(t, np.expm1(u)))
        assert np.abs(w @ (polynomial - truth)).max() <= np.exp(fit.log_error)


def test_kernels_that_are_no_mixtures_of_one_shape_have_no_common_rates():
    names = [f"x{j}" for j in range(4)]
    affine = Affine(Matern(2.5, gamma=0.3))
    for kernel, has in ((Matern(2.5, gamma=0.3), True), (affine, True), (Sum(RBF(0.2), Laplacian(0.1)), False)):
        (piece,) = structure_of(make_model([(2, [(kernel, None)])], 4), names).terms[0].factors[0].pieces
        assert (piece.rates is not None) == has
