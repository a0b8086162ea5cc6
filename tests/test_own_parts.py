"""Losses, penalties and kernels of a user's own: a formula written anew is the one that is used everywhere."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from spkm import SPKMClassifier, SPKMRegressor
from spkm.checking import check_kernel, check_loss
from spkm.kernels import RBF, Affine, DotKernel, Linear, Rescaled
from spkm.losses import Log, Loss, Squared
from spkm.penalties import RKHSNorm, SquaredL2
from spkm.selection import DEFAULTS, FeatureGroups, has_path, row_losses, sparse_support
from spkm.solvers import Adam, Alternating, VarPro, choose_solver
from spkm.sources import ArraySource
from tests import cases
from tests.small_data import curve, scores, two_classes


class Quartic(Squared):
    """r^2 + r^4, by formulas in place of those of the squared loss."""

    def pointwise(self, Y, F):
        return (F - Y) ** 2 + (F - Y) ** 4

    def slope(self, Y, F):
        return 2 * (F - Y) + 4 * (F - Y) ** 3


class Steeper(SquaredL2):
    """strength * (sum of squares / 2 + sum of fourth powers)."""

    def value(self, A):
        return super().value(A) + self.strength * float(np.sum(A**4))

    def gradient(self, A):
        return super().gradient(A) + 4 * self.strength * A**3


class SteeperNorm(RKHSNorm):
    """The RKHS norm and its square."""

    def value_of_gram(self, C, K):
        value, dC, dK = super().value_of_gram(C, K)
        return value + value**2, (1 + 2 * value) * dC, (1 + 2 * value) * dK


class Bent(Linear):
    """s + s^2 / 2 with s = gamma x.u, in place of s."""

    def value(self, dot):
        return dot + 0.5 * dot**2

    def slope(self, dot, value):
        return 1 + dot


class Exponential(DotKernel):
    """exp(gamma x.u), written as docs/extend.md says."""

    def __init__(self, gamma=0.1):
        self.gamma = gamma

    def value(self, dot):
        return np.exp(dot)

    def slope(self, dot, value):
        return value


def predictions(**settings):
    """Return the scores of a short regression on a curve."""
    X, y = curve()
    settings = {"weight_penalty": RKHSNorm(1e-3), "random_state": 0} | settings
    return scores(SPKMRegressor(3, **settings).fit(X, y), X)


def far_apart(a, b):
    return np.max(np.abs(a - b)) > 1e-3 * np.max(np.abs(b))


# Claims of formulas.


def test_a_loss_loses_its_claims_with_its_formula():
    assert Squared().is_quadratic and Log().is_likelihood
    assert not Quartic().is_quadratic and not Quartic().coupled

    class OwnSlope(Log):
        def slope(self, Y, F):
            return 0.5 * super().slope(Y, F)

    class Fused(Squared):
        def totals(self, Y, F, w):
            return 2 * super().totals(Y, F, w)

    class Sure(Quartic):
        is_quadratic = True

    class Renamed(Squared):
        def working_target(self, Y):
            return Y

    class Heir(Quartic):
        pass

    class Mixin:
        def pointwise(self, Y, F):
            return np.abs(F - Y)

    class Mixed(Mixin, Squared):
        pass

    assert not OwnSlope().is_likelihood and not Mixed().is_quadratic
    assert not Fused().is_quadratic and Fused().coupled
    Y, F, w = np.array([[1.0], [-1.0]]), np.array([[0.3], [0.4]]), np.full((2, 1), 0.5)
    for loss in (OwnSlope(), Mixed(), Fused()):  # nor may they go on with what the known one computes at once
        totals, directions = loss.totals_and_directions(Y, F, w)
        np.testing.assert_array_equal(totals, loss.totals(Y, F, w))
        np.testing.assert_array_equal(directions, loss.directions(Y, F, w))
    assert Sure().is_quadratic and Renamed().is_quadratic and not Heir().is_quadratic


def test_a_penalty_loses_its_quadratic_form_with_its_formula():
    assert SquaredL2(0.3).quadratic == (0.3, 0.0) and RKHSNorm(0.3).quadratic == (0.0, 0.3)
    assert Steeper(0.3).quadratic is None and SteeperNorm(0.3).quadratic is None
    assert Steeper(0.3).is_smooth and SteeperNorm(0.3).uses_gram

    class Named(SquaredL2):
        def support(self, A):
            return A > 1

    assert Named(0.3).quadratic == (0.3, 0.0)


def test_a_kernel_loses_its_claims_with_its_formula():
    class Shifted(RBF):
        def vjp(self, X, U, metric=1.0, xx=None, learn_metric=False):
            return super().vjp(X, U + 1.0, metric, xx, learn_metric)

    class Wider(RBF):
        def profile(self, s):
            return 1 / (1 + s)

        def slope(self, s, value):
            return -(value**2)

    assert Linear().is_linear and RBF().stationary
    assert not Bent().is_linear and not Bent().reads_zero_features
    assert not Shifted().stationary and Shifted().reads_zero_features
    assert Wider().stationary  # a formula of the distance leaves that as it is
    for wrapped in (Rescaled(Bent(1.0), 2.0), Affine(Bent(1.0))):
        assert not wrapped.is_linear and not wrapped.reads_zero_features


# Formulas.


def test_formulas_of_ones_own_pass_the_checks():
    assert check_loss(Quartic()) < 1e-6
    assert check_kernel(Bent(0.5)) < 1e-6
    assert check_kernel(Exponential(0.3)) < 1e-6


OBJECTIVES = {
    "loss": {"loss": Quartic()},
    "basis penalty": {"basis_penalty": Steeper(0.3)},
    "weight penalty": {"weight_penalty": Steeper(0.3)},
    "rkhs": {"weight_penalty": SteeperNorm(0.3)},
    "kernel": {"kernel": Bent(0.4)},
    "dot kernel": {"kernel": Exponential(0.2), "weight_penalty": RKHSNorm(0.1)},
}


@pytest.mark.parametrize("settings", OBJECTIVES.values(), ids=OBJECTIVES)
@pytest.mark.parametrize("m", [1, 3])
def test_gradients_are_those_of_the_formula(settings, m):
    settings = {"kernel": RBF(0.3), "loss": Squared()} | settings
    objective = cases.make_objective(**settings, m=m, metric="scale")
    theta = cases.random_theta(objective.model)
    assert cases.gradient_error(objective, theta) < 1e-6
    own = set(OBJECTIVES["loss"]) | {"weight_penalty"}
    if any(type(settings.get(key)) in (Quartic, Steeper, SteeperNorm) for key in own):
        assert not objective.can_eliminate and "elimination" not in objective.offers
        assert VarPro().refuses(objective) is not None
        assert choose_solver(objective).refuses(objective) is None


def test_held_out_losses_are_those_of_the_formula():
    Y, F = cases.targets(Squared(), 8, 2), cases.targets(Squared(), 8, 2, seed=5)
    np.testing.assert_allclose(row_losses(Quartic(), Y, F), np.sum((F - Y) ** 2 + (F - Y) ** 4, axis=1))

    class Median(Squared):
        """A loss that is no sum over samples any more, whatever its parent was."""

        def totals(self, Y, F, w):
            return np.array([np.median(np.abs(F - Y))])

        def pointwise(self, Y, F):
            raise AssertionError("of a sum over samples")

    np.testing.assert_allclose(row_losses(Median(), Y, F), np.sum((F - Y) ** 2, axis=1))


def test_values_are_those_of_the_formula():
    objective = cases.make_objective(Bent(0.4), Quartic(), weight_penalty=Steeper(0.3))
    theta = cases.random_theta(objective.model)
    params = objective.model.unpack(theta)
    X, Y = cases.rows(12), cases.targets(Squared(), 12, 1)
    s = 0.4 * X @ params.basis[0].T
    r = (s + s**2 / 2) @ params.weights + params.intercept - Y
    C = params.weights
    expected = np.mean(r**2 + r**4) + 0.3 * (np.sum(C**2) / 2 + np.sum(C**4))
    assert objective.value(theta) == pytest.approx(expected, rel=1e-12)


# Fits.


FITS = {
    "loss": ({"loss": Quartic()}, {"loss": "squared"}),
    "weight penalty": ({"weight_penalty": Steeper(1e-2)}, {"weight_penalty": SquaredL2(1e-2)}),
    "rkhs": ({"weight_penalty": SteeperNorm(1e-2)}, {"weight_penalty": RKHSNorm(1e-2)}),
    "basis penalty": ({"basis_penalty": Steeper(1e-2)}, {"basis_penalty": SquaredL2(1e-2)}),
    "kernel": ({"kernel": Bent()}, {"kernel": Linear()}),
}


@pytest.mark.parametrize("name", FITS)
def test_fits_are_those_of_the_formula(name):
    own, parent = (predictions(**settings) for settings in FITS[name])
    assert np.all(np.isfinite(own)) and far_apart(own, parent)


def test_a_fit_with_a_loss_of_ones_own_ends_where_its_gradient_vanishes():
    X, y = curve()
    model = SPKMRegressor(2, loss=Quartic(), weight_penalty=RKHSNorm(1e-2), tol=1e-10, random_state=0).fit(X, y)
    residual = (scores(model, X) - y) / y.std()
    assert abs(np.mean(2 * residual + 4 * residual**3)) < 1e-4  # the derivative in the intercept


def test_a_path_of_a_kernel_that_bends_is_not_the_convex_one():
    X, Y = cases.rows(40, 6), cases.targets(Log(), 40, 1)
    assert has_path(Bent()) and has_path(Exponential()) and has_path(Linear())
    sizes = [
        len(sparse_support(ArraySource(X, Y), Log(), kernel, 1, FeatureGroups(6), True, np.random.default_rng(0)).basis)
        for kernel in (Linear(1.0), Bent(1.0), Exponential(1.0))
    ]
    assert sizes == [1, DEFAULTS.vectors_per_output, DEFAULTS.vectors_per_output]


def test_a_dot_kernel_of_ones_own_fits():
    X, y = two_classes()
    model = SPKMClassifier(4, kernel=Exponential(0.2), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.score(X, y) > SPKMClassifier(4, kernel="linear", random_state=0).fit(X, y).score(X, y)


# A loss that is no sum over samples.


class RootMeanSquare(Loss):
    """sum over outputs of |f - y| + mean(f)^2 / 10: two totals for each output."""

    def totals(self, Y, F, w):
        return np.stack([(w * (F - Y) ** 2).sum(axis=0), (w * F).sum(axis=0)]).astype(np.float64)

    def value(self, totals):
        return float(np.sum(np.sqrt(totals[0] + 1e-6) + 0.1 * totals[1] ** 2))

    def directions(self, Y, F, w):
        return w * (F - Y), w * np.ones_like(F)

    def mix(self, totals):
        return 1 / np.sqrt(totals[0] + 1e-6), 0.2 * totals[1]


class LogMeanSquare(Loss):
    """log(1 + |f - y|^2) + |f| / 10: two totals over all outputs."""

    def totals(self, Y, F, w):
        return np.array([np.sum(w * (F - Y) ** 2, dtype=float), np.sum(w * F**2, dtype=float)])

    def value(self, totals):
        return float(np.log1p(totals[0]) + 0.1 * np.sqrt(totals[1] + 1e-6))

    def directions(self, Y, F, w):
        return w * (F - Y), w * F

    def mix(self, totals):
        return 2 / (1 + totals[0]), 0.1 / np.sqrt(totals[1] + 1e-6)


each_coupled = pytest.mark.parametrize("loss", [RootMeanSquare(), LogMeanSquare()], ids=["by output", "of all"])


@each_coupled
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("size", [5, 1000])
def test_gradients_of_a_coupled_loss_equal_differences(blocks_of, loss, m, size):
    blocks_of(size)
    assert loss.coupled and not loss.is_quadratic
    assert check_loss(loss, n_outputs=m) < 1e-6
    objective = cases.make_objective(RBF(0.3), loss, m=m, metric="scale", weight_penalty=RKHSNorm(0.1))
    theta = cases.random_theta(objective.model)
    assert cases.gradient_error(objective, theta) < 1e-6
    value = objective.value_and_gradient(theta)[0]
    assert value == pytest.approx(objective.value(theta), rel=1e-12)


@each_coupled
@pytest.mark.parametrize("solver", ["auto", Adam(max_iter=200), Alternating(tol=0.03)], ids=str)
def test_a_coupled_loss_of_several_outputs_fits(loss, solver):
    X, y = curve()
    Y = np.column_stack([y, X[:, 0] * X[:, 1]])
    settings = {"weight_penalty": RKHSNorm(1e-4), "max_iter": 3000, "random_state": 0}
    model = SPKMRegressor(8, loss=loss, solver=solver, **settings).fit(X, Y)
    of_line = LinearRegression().fit(X, Y)
    # A line explains next to nothing here, and any of the minima more than half of what it leaves.
    ours, theirs = (np.mean(np.square(fitted.predict(X) - Y), axis=0) for fitted in (model, of_line))
    assert np.all(ours < 0.5 * theirs)


class AutoExponential(DotKernel):
    """k(x, u) = exp(gamma x.u)."""

    def __init__(self, gamma="auto"):
        self.gamma = gamma

    def value(self, dot):
        return np.exp(dot)

    def slope(self, dot, value):
        return value


def test_a_kernel_of_a_dot_product_is_two_formulas():
    assert check_kernel(AutoExponential(gamma=0.2)) < 1e-6
    X, y = two_classes()
    assert SPKMClassifier(kernel=AutoExponential(), n_basis=4, n_jobs=1, random_state=0).fit(X, y).score(X, y) > 0.9
