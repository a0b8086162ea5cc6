"""What no other test looked at, as `python -m benchmarks mutation` found: formulas against independent ones."""

import ast
import inspect
import re

import numpy as np
import pytest
from scipy import sparse

from spkm import kernels, losses, penalties, solvers
from spkm.core import starts
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective, Regularization
from spkm.losses import LOSSES
from spkm.sources import ArraySource


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_the_profile_of_matern_and_its_slope(nu):
    """The profile is what the kernel computes in another way, and the slope its difference quotient."""
    rng = np.random.default_rng(0)
    X, U = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    kernel = kernels.Matern(nu, 0.7)
    s = 0.7 * np.square(X[:, None] - U).sum(axis=2)
    r = np.sqrt(2 * nu) * np.sqrt(2 * s)
    want = (1 + r) * np.exp(-r) if nu == 1.5 else (1 + r + r**2 / 3) * np.exp(-r)
    np.testing.assert_allclose(kernel.profile(s), want, rtol=1e-12)
    np.testing.assert_allclose(kernel(X, U), want, rtol=1e-12)
    step = 1e-6
    quotient = (kernel.profile(s + step) - kernel.profile(s - step)) / (2 * step)
    np.testing.assert_allclose(kernel.slope(s, kernel.profile(s)), quotient, rtol=1e-6)


@pytest.mark.parametrize("scale, want", [(0.5, 0.6), (2.0, 2.1), (0.0, None), (-1.0, None)])
def test_the_largest_diagonal_of_a_scaled_kernel(scale, want):
    found = kernels.Affine(kernels.RBF(1.0), scale=scale, shift=0.1).largest_diagonal()
    assert found == (None if want is None else pytest.approx(want))


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


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_loss_is_free_of_scale_exactly_if_it_says_so(name):
    loss, rng = LOSSES.part(name, "loss"), np.random.default_rng(0)
    Y = np.sign(rng.standard_normal((20, 1))) if loss.target == "signs" else rng.uniform(0.5, 2.0, (20, 1))
    F, w = rng.standard_normal((20, 1)), rng.uniform(0.5, 2.0, (20, 1))
    values = [loss.value(loss.totals(Y, c * F, w)) for c in (1.0, 3.0)]
    assert loss.scale_free == (abs(values[1] - values[0]) < 1e-9)


def test_a_new_column_has_the_mean_relevance_of_the_old_ones():
    model = PreimageModel([Term(2, (View(kernels.RBF(1.0), None, "relevances"),))], 2, 1)
    theta, params = model.zeros()
    params.basis[0][...] = [[1.0, 2.0], [3.0, 4.0]]
    params.log_metric[0][...] = [0.4, 1.0]
    other, moved = model.on_columns(theta, np.array([1, -1, 0]))
    found = other.unpack(moved)
    np.testing.assert_allclose(found.log_metric[0], [1.0, 0.7, 0.4])
    np.testing.assert_array_equal(found.basis[0], [[2.0, 0.0, 1.0], [4.0, 0.0, 3.0]])
    same, kept = model.on_columns(theta, np.array([0, 1]))
    np.testing.assert_array_equal(kept, theta)
    assert same.n_features == 2


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


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", [kernels.Polynomial(2, 0.5, 1.0), kernels.Tanimoto()], ids=str)
def test_the_diagonal_of_a_kernel_that_says_nothing_of_it(kernel, kind):
    """What a kernel of one's own gets: its values, one sample at a time."""
    X = np.abs(np.random.default_rng(0).standard_normal((5, 3)))
    np.testing.assert_allclose(kernels.Kernel.diagonal(kernel, kind(X)), np.diag(kernel(X, X)), rtol=1e-12)


@pytest.mark.parametrize("name", ["linear_variance", "noise"])
def test_variances_of_the_evidence_are_positive(name):
    with pytest.raises(ValueError, match=name):
        penalties.Evidence(**{name: 0.0}).check("weight_penalty")


def test_the_cosine_does_not_need_targets_of_one_size():
    """Signs are all of size one; as a function of any targets it is the cosine of the angle."""
    rng = np.random.default_rng(0)
    Y, F, w = rng.standard_normal((15, 2)), rng.standard_normal((15, 2)), rng.uniform(0.5, 2.0, (15, 1))
    loss = losses.Cosine()
    a, b = np.sqrt(w) * Y, np.sqrt(w) * F
    want = -np.mean((a * b).sum(axis=0) / np.linalg.norm(a, axis=0) / np.linalg.norm(b, axis=0))
    assert loss.value(loss.totals(Y, F, w)) == pytest.approx(want, rel=1e-12)
    mixed = zip(loss.mix(loss.totals(Y, F, w)), loss.directions(Y, F, w), strict=True)
    gradient = sum(amount * direction for amount, direction in mixed)
    for i, k in ((0, 0), (3, 1), (14, 0)):
        step = np.zeros_like(F)
        step[i, k] = 1e-6
        up, down = (loss.value(loss.totals(Y, F + sign * step, w)) for sign in (1, -1))
        assert gradient[i, k] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-9)


def documented_defaults():
    """Yield classes of parts with a parameter, its default in the signature, and what the docstring says it is."""
    for module in (kernels, losses, penalties, solvers, starts):
        for name in sorted(vars(module)):
            cls = getattr(module, name)
            if not inspect.isclass(cls) or "__init__" not in vars(cls):
                continue
            text = inspect.getdoc(cls) or ""
            for parameter in inspect.signature(cls).parameters.values():
                found = re.search(rf"^{parameter.name} : .*default=(\S+)$", text, re.MULTILINE)
                if found and parameter.default is not parameter.empty:
                    yield pytest.param(parameter.default, found.group(1), id=f"{name}.{parameter.name}")


@pytest.mark.parametrize("default, told", list(documented_defaults()))
def test_defaults_are_those_of_the_docstring(default, told):
    assert default == ast.literal_eval(told)


def test_a_kernel_that_reads_nothing_has_the_diagonal_of_zero():
    nothing = kernels.Rescaled(kernels.Linear(0.5), np.zeros(3))
    assert nothing.largest_diagonal(4.0) == 0.0
    assert kernels.Rescaled(kernels.Linear(0.5), np.array([1.0, 3.0])).largest_diagonal(4.0) == pytest.approx(6.0)


def test_what_is_not_said_is_not_so():
    """A kernel or loss of one's own promises nothing that it does not say."""

    class Own(kernels.Kernel):
        pass

    class OwnLoss(losses.Loss):
        pass

    promised = ("is_linear", "is_per_feature", "stationary", "nonnegative", "shifted")
    assert not any(getattr(Own(), name) for name in promised)
    assert not OwnLoss.is_quadratic and not OwnLoss.is_likelihood
    assert kernels.Rescaled(kernels.RBF(1.0), np.ones(2)).is_per_feature


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf, np.nan])
def test_a_bandwidth_is_a_positive_number(gamma):
    with pytest.raises(ValueError, match="gamma"):
        kernels.RBF(gamma)(np.ones((1, 2)), np.ones((1, 2)))


def test_either_part_of_a_combination_may_wait_for_data():
    X, w = np.random.default_rng(0).standard_normal((20, 3)), np.ones(20)
    known, open_ = kernels.RBF(0.3), kernels.RBF()
    for cls in (kernels.Sum, kernels.Product):
        for left, right in ((known, open_), (open_, known), (open_, open_)):
            found = cls(left, right).resolved(X, w)
            assert isinstance(found.left.gamma, float) and isinstance(found.right.gamma, float)
        both = cls(known, known)
        assert both.resolved(X, w) is both


@pytest.mark.parametrize(
    "kernel, plain", [(kernels.Matern(2.5, 1.0), 40), (kernels.RationalQuadratic(0.5, 1.0), 192)], ids=str
)
def test_mixtures_have_fewer_exponentials_than_a_rule_of_equal_steps(kernel, plain):
    (form,) = kernel.forms()
    assert len(form.amounts) < 0.7 * plain  # the trapezoid rule for the same error has so many
    s = np.logspace(-6, 3, 50)
    values = np.exp(-np.outer(s, form.squared[:, 0])) @ form.amounts
    np.testing.assert_allclose(values, kernel.profile(s), atol=1e-11)


def test_the_best_scale_of_the_cosine_is_one_where_nothing_is_known():
    loss = losses.Cosine()
    totals = np.array([[1.0, -1.0, 1.0, -1.0], [2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_allclose(loss.best_scale(totals), [0.5, 1.0, 1.0, 1.0])


def test_new_columns_alone_have_a_relevance_of_one():
    model = PreimageModel([Term(1, (View(kernels.RBF(1.0), None, "relevances"),))], 2, 1)
    theta, params = model.zeros()
    params.log_metric[0][...] = [0.4, 1.0]
    other, moved = model.on_columns(theta, np.array([-1, -1]))
    np.testing.assert_array_equal(other.unpack(moved).log_metric[0], [0.0, 0.0])


def test_a_term_of_fewer_columns_keeps_its_views_of_all():
    whole, some = View(kernels.RBF(1.0), None), View(kernels.Linear(1.0), np.array([1, 3]))
    found = Term(2, (whole, some)).on(np.array([0, 1, 3])).views
    assert found[0].columns is None
    np.testing.assert_array_equal(found[1].columns, [1, 2])


def test_small_relevances_and_single_numbers_are_regularized():
    model = PreimageModel([Term(1, (View(kernels.RBF(1.0), None, "relevances"),))], 1, 1)
    regularization = Regularization(model, [penalties.L1(0.5)], [], relevance_prior=2.0)
    theta, params = model.zeros()
    for log_weight, value, slope in ((0.5, 0.25, 1.0), (0.0, 0.0, 0.0), (-3.0, 0.0, 0.0)):
        params.log_metric[0][...] = log_weight
        found, gradient = regularization.smooth(theta)
        assert found == pytest.approx(value) and model.unpack(gradient).log_metric[0][0] == pytest.approx(slope)
    params.basis[0][...] = 2.0
    assert model.unpack(regularization.prox(theta, 1.0)).basis[0][0, 0] == pytest.approx(1.5)


def test_poisson_goes_on_as_a_straight_line():
    loss, Y = losses.Poisson(), np.full((3, 1), 2.0)
    F = np.array([[29.0], [30.0], [33.0]])
    line = np.exp(30.0)
    np.testing.assert_allclose(loss.pointwise(Y, F).ravel(), [np.exp(29.0) - 58, line - 60, 4 * line - 66])
    np.testing.assert_allclose(loss.slope(Y, F).ravel(), [np.exp(29.0) - 2, line - 2, line - 2])


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_logarithms_of_probabilities(labels, m):
    F = np.array([[-1.0, 0.5, 2.0], [3.0, -0.25, 0.0]])[:, :m]
    loss = losses.Log().for_labels(labels)
    np.testing.assert_allclose(loss.log_probabilities(F), np.log(loss.probabilities(F)), rtol=1e-12)
    assert np.all(np.isfinite(loss.log_probabilities(1e3 * F)))


@pytest.mark.parametrize("name", sorted(name for name, loss in LOSSES.items() if loss.target == "real"))
def test_a_loss_is_robust_exactly_if_far_targets_pull_no_more_than_near_ones(name):
    loss, F = LOSSES.part(name, "loss"), np.zeros((1, 1))
    near, far = (np.abs(loss.slope(np.full((1, 1), y), F)).item() for y in (100.0, 1e6))
    assert loss.robust == (far <= near * (1 + 1e-9))


def test_a_solver_that_cannot_is_told_what_it_needs():
    X, Y = np.zeros((4, 2)), np.zeros((4, 1))
    model = PreimageModel([Term(1, (View(kernels.RBF(1.0), None),))], 2, 1)
    objective = Objective(model, losses.Squared(), ArraySource(X, Y), penalties.L1(0.5))
    assert "gradient" not in objective.offers
    assert "penalties with a gradient" in objective.why_not("gradient")
    assert "penalties with a gradient" not in objective.why_not("elimination")


def test_the_diagonal_of_a_scaled_kernel_whose_diagonal_is_not_one():
    X = np.random.default_rng(0).standard_normal((5, 3))
    kernel = kernels.Affine(kernels.Polynomial(2, 0.5, 1.0), scale=2.0, shift=0.25)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)), rtol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_gradient_of_a_coupled_loss_with_any_number_of_outputs(m):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((8, 2)), np.sign(rng.standard_normal((8, m)))
    model = PreimageModel([Term(3, (View(kernels.RBF(0.5), None),))], 2, m)
    loss = losses.Cosine()
    objective = Objective(model, loss, ArraySource(X, Y))
    assert loss.coupled
    theta, h = rng.standard_normal(model.n_params), 1e-6
    gradient = objective.value_and_gradient(theta)[1]
    steps = h * np.eye(len(theta))
    quotients = [(objective.value(theta + step) - objective.value(theta - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(gradient, quotients, atol=1e-8)
